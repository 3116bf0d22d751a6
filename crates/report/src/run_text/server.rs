//! The server of a run, where it was observed: what it used over the window, its memory, and its seconds.
//!
//! Called by `mod.rs`; `--full` adds the memory and the seconds.

use super::lines::{Style, table};
use super::quantity::{bytes, count, counted, microjoules, nanos};
use crate::cpu_bar::{FILLS, cpu_bar};
use paceline_record::{LoopKind, PackageEnergy, Run, ServerSample, ServerUse};
use paceline_stats::ratio;

/// Rows of the table of seconds at most; a longer run has one for several.
const MAX_ROWS: usize = 60;

/// CPU and memory of the server.
pub(super) fn used(run: &Run) -> String {
    let Some(server) = &run.server else { return String::new() };
    let limit = match (run.loop_.kind, paceline_judge::server_limit(run)) {
        (LoopKind::Closed, Some(limit)) => format!("; bottleneck: {limit}"),
        (LoopKind::Open, _) | (LoopKind::Closed, None) => String::new(),
    };
    format!("{}{limit}", words(server))
}

/// CPU and memory of the servers behind it.
pub(super) fn used_behind(run: &Run) -> String {
    let servers: Vec<String> = run.behind_server.iter().map(words).collect();
    servers.join("; ")
}

/// The Unix sockets of servers behind it (`Run::unix_sockets`), which are not observed; empty if there are none.
pub fn unix_sockets_words(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!("{}: the processes behind are not observed (--pid)", names.join(", ")),
    }
}

fn words(server: &ServerUse) -> String {
    let cores = server.utilization * f64::from(server.cores_allowed);
    let busiest = server.busiest_thread_utilization;
    let busiest = busiest.map_or_else(String::new, |busy| format!(", busiest thread {:.0}%", 100.0 * busy));
    let processes = match server.processes {
        1 => String::new(),
        several => format!(", {several} processes"),
    };
    format!(
        "{} (process {}){processes}, {}, {cores:.2} of {} busy{busiest}, {} of CPU per request, {} of memory",
        server.name,
        server.pid,
        counted(f64::from(server.threads), "thread"),
        counted(f64::from(server.cores_allowed), "core"),
        nanos(server.cpu_ns_per_request),
        bytes(server.rss_bytes)
    )
}

/// The CPU time of a request by where it was spent, as a bar with its values.
pub(super) fn cpu_parts(run: &Run) -> String {
    let Some(parts) = paceline_judge::cpu_parts_of_run(run) else { return String::new() };
    let bar = cpu_bar(&parts.map(|part| part.ns_per_request));
    let value = |(part, fill): (paceline_judge::CpuPart, char)| {
        let value = nanos(part.ns_per_request?);
        let whose = if part.name == "interrupts" { " (of its cores, other programs included)" } else { "" };
        Some(format!("{fill}\u{a0}{} {value}{whose}", part.name))
    };
    let values: Vec<String> = parts.into_iter().zip(FILLS).filter_map(value).collect();
    format!("{bar} {}", values.join(", "))
}

/// The energy of the CPU packages in words: it is not that of the server alone.
pub fn energy_words(energy: &PackageEnergy) -> String {
    format!(
        "{} per request, {}\u{a0}W: {} with all processes of the machine, the load generator too",
        microjoules(energy.joules_per_request),
        count(ratio(energy.joules, energy.over_s)),
        counted(f64::from(energy.packages), "CPU package")
    )
}

/// The server's memory before the load, at its highest, and for each connection.
pub(super) fn memory(run: &Run) -> String {
    let Some((before, peak)) =
        run.server.as_ref().and_then(|server| server.rss_bytes_before.zip(server.rss_bytes_peak))
    else {
        return String::new();
    };
    let each = run.server_bytes_per_connection().map(|each| {
        format!(
            "; {} more for each of {}",
            bytes(each as u64),
            counted(run.connections.had as f64, "connection")
        )
    });
    format!("{} before the load, peak {}{}", bytes(before), bytes(peak), each.unwrap_or_default())
}

/// A row for each second of the run, from the beginning of the warm-up.
pub(super) fn by_second(run: &Run, style: Style) -> String {
    let pairs: Vec<&[ServerSample]> = run.server_samples.windows(2).collect();
    let each = pairs.len().div_ceil(MAX_ROWS).max(1);
    let row = |group: &[&[ServerSample]]| {
        let (first, last) = (group.first()?.first()?, group.last()?.last()?);
        Some(vec![
            format!("{:.0}", last.at_ns as f64 / 1e9),
            format!("{:.2}", last.cores_used_since(first)),
            bytes(last.rss_bytes),
            count(f64::from(last.threads)),
            count(f64::from(last.processes)),
        ])
    };
    let rows: Vec<Vec<String>> = pairs.chunks(each).filter_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let header = ["server at second", "cores busy", "memory", "threads", "processes"];
    table(&header, &rows, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::fixture;

    #[test]
    fn services_behind_unix_sockets_are_named_as_not_observed() {
        assert_eq!(unix_sockets_words(&[]), "");
        let text = unix_sockets_words(&["/run/php/fpm.sock".to_owned(), "@queue".to_owned()]);
        assert_eq!(text, "/run/php/fpm.sock, @queue: the processes behind are not observed (--pid)");
    }

    #[test]
    fn a_long_run_has_a_bounded_number_of_rows() {
        let mut run = fixture::run(0);
        assert_eq!(by_second(&run, Style::new(false, 100)), "");
        let sample = |second: u64| ServerSample {
            at_ns: second * 1_000_000_000,
            cpu_s: second as f64 * 1.5,
            rss_bytes: second * 1_000_000,
            processes: 1,
            threads: 4,
        };
        run.server_samples = (0..=150).map(sample).collect();
        let text = by_second(&run, Style::new(false, 100));
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines.len(), 51, "a row for three seconds each, and the header:\n{text}");
        assert_eq!(lines[1], ["3", "1.50", "3.00", "MB", "4", "1"], "{text}");
        assert_eq!(lines[50][0], "150", "{text}");
    }

    #[test]
    fn the_parts_of_a_request_are_shown_with_their_values() {
        let mut run = fixture::run(0);
        let mut server = fixture::server_use(1, 2.0);
        run.server = Some(server.clone());
        assert_eq!(cpu_parts(&run), "", "an older record");
        (server.user_s, server.system_s) = (Some(0.5), Some(1.5));
        run.server = Some(server);
        let text = cpu_parts(&run).replace('\u{a0}', " ");
        let bar = "\u{2588}".repeat(6) + &"\u{2593}".repeat(18);
        assert_eq!(text, format!("{bar} \u{2588} user 50.0 \u{b5}s, \u{2593} kernel 150 \u{b5}s"));
    }

    #[test]
    fn memory_of_connections_is_that_beyond_the_memory_before_the_load() {
        let mut run = fixture::run(0);
        run.server = Some(fixture::server_use(1, 1.0));
        assert_eq!(memory(&run), "");
        if let Some(server) = &mut run.server {
            (server.rss_bytes_before, server.rss_bytes_peak) = (Some(5_000_000), Some(6_000_000));
        }
        let expected = "5.00 MB before the load, peak 6.00 MB; 50.0 kB more for each of 20 connections";
        assert_eq!(memory(&run).replace('\u{a0}', " "), expected);
    }
}
