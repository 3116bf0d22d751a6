//! What the kernel counted in a run: lost packets, its connections' round trips and limits, waits for a disk, and the
//! clock frequency of cores.
//!
//! Called by `mod.rs` for `--full`. A count that changed a number is a verdict; these lines show the others too.

use super::lines::Style;
use super::quantity::{bytes, count, counted};
use paceline_record::{CoreFrequency, Run};

/// What the kernel counted of lost packets, on the run's connections and on this machine.
pub(super) fn lost_packets(run: &Run) -> String {
    let of_run = run.connections.tcp.map(|tcp| {
        format!(
            "{}: {} segments sent again, {} received out of order",
            counted(tcp.connections as f64, "connection"),
            count(tcp.retransmits as f64),
            count(tcp.out_of_order as f64)
        )
    });
    let of_machine = run.kernel.map(|kernel| {
        let counts = [
            (kernel.syn_retransmits, "attempts to connect repeated"),
            (kernel.retransmits, "segments sent again"),
            (kernel.listen_drops, "handshakes dropped at a listening socket"),
            (kernel.packets_dropped, "packets dropped by a full queue of a core"),
            (kernel.udp_buffer_errors, "datagrams dropped by a full buffer"),
        ];
        let counts = counts.map(|(number, what)| format!("{} {what}", count(number as f64)));
        format!("this machine: {}", counts.join(", "))
    });
    of_run.into_iter().chain(of_machine).collect::<Vec<_>>().join("; ")
}

/// Round trips and congestion windows of the run's TCP connections, and what limited sending on them.
pub(super) fn connections(run: &Run, style: Style) -> String {
    let Some(tcp) = run.connections.tcp else { return String::new() };
    let round_trips = tcp.round_trip_time_ns.map(|times| {
        let [min, median, max] = [times.min, times.median, times.max].map(|time| style.time(time as f64));
        format!("round trips min {min}, median {median}, max {max}")
    });
    let windows = tcp.congestion_window_segments.map(|windows| {
        let [min, median] = [windows.min, windows.median].map(|segments| count(segments as f64));
        format!("congestion window min {min}, median {median} segments")
    });
    let limits = tcp.send_limits.map(|limits| {
        let limited = |time_ns: u64, connections: u64| match connections {
            0 => "never".to_owned(),
            _ => format!("{} on {}", style.time(time_ns as f64), counted(connections as f64, "connection")),
        };
        format!(
            "sending limited by the server's receive window: {}, by the send buffer: {}",
            limited(limits.receive_window_ns, limits.receive_window_connections),
            limited(limits.send_buffer_ns, limits.send_buffer_connections)
        )
    });
    [round_trips, windows, limits].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The clock frequency of the cores in use when the window began and when it ended, and how often heat reduced it.
pub(super) fn frequencies(run: &Run) -> String {
    let cores = run.generator.core_frequencies.iter().map(core_frequency);
    cores.filter(|core| !core.is_empty()).collect::<Vec<_>>().join("; ")
}

fn core_frequency(core: &CoreFrequency) -> String {
    let frequency = core
        .frequency_mhz_start
        .zip(core.frequency_mhz_end)
        .map(|(start, end)| format!("{} MHz, then {} MHz", count(start as f64), count(end as f64)));
    let events = core.heat_events();
    let heat = events.map(|events| format!("throttled by heat {}", counted(events as f64, "time")));
    let parts: Vec<String> = frequency.into_iter().chain(heat).collect();
    if parts.is_empty() { String::new() } else { format!("core {}: {}", core.core, parts.join(", ")) }
}

/// Page faults of the server from a disk, and swapping.
pub(super) fn disk_waits(run: &Run) -> String {
    let Some(server) = &run.server else { return String::new() };
    let faults = server
        .major_faults
        .map(|faults| format!("{} page faults of the server from a disk", count(faults as f64)));
    let swapped = server.memory.map(|memory| format!("this machine swapped {}", bytes(memory.swapped_bytes)));
    faults.into_iter().chain(swapped).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::{SendLimits, Served, TcpCounts, fixture};

    #[test]
    fn connections_and_cores_are_shown_as_far_as_they_are_known() {
        let mut run = fixture::run(0);
        let style = Style::new(false, 100);
        assert_eq!((connections(&run, style), frequencies(&run)), (String::new(), String::new()));
        let round_trips = Served { min: 20_000, median: 35_000, max: 1_200_000 };
        run.connections.tcp =
            Some(TcpCounts { round_trip_time_ns: Some(round_trips), ..TcpCounts::default() });
        let plain = |text: String| text.replace('\u{a0}', " ");
        let shown = plain(connections(&run, style));
        assert_eq!(shown, "round trips min 20.0 \u{b5}s, median 35.0 \u{b5}s, max 1.20 ms");
        let limits = SendLimits {
            receive_window_ns: 2_500_000_000,
            receive_window_connections: 3,
            ..SendLimits::default()
        };
        run.connections.tcp = Some(TcpCounts { send_limits: Some(limits), ..TcpCounts::default() });
        let shown = plain(connections(&run, style));
        let by_server = "sending limited by the server's receive window: 2.50 s on 3 connections";
        assert_eq!(shown, format!("{by_server}, by the send buffer: never"));
        let hot = CoreFrequency {
            core: 1,
            frequency_mhz_start: Some(3_600),
            frequency_mhz_end: Some(2_400),
            throttle_events: Some(2),
            ..CoreFrequency::default()
        };
        run.generator.core_frequencies = vec![CoreFrequency::default(), hot];
        let shown = plain(frequencies(&run));
        assert_eq!(shown, "core 1: 3,600 MHz, then 2,400 MHz, throttled by heat 2 times");
    }
}
