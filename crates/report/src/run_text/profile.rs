//! The profile of a run's server: the table of its functions, and what its threads wait for.
//!
//! Called by `mod.rs`. The flame graph is drawn in `svg/flame.rs`.

use super::lines::{Style, columns, table};
use super::quantity::{count, counted, percent};
use paceline_record::{Profile, ProfiledFunction, Run, ServerWaits, ServiceCalls, ThreadWait, WaitKind};
use paceline_stats::time_text;

/// Columns of a function's name at most; a longer one is cut in its middle, because both of its ends tell it apart.
const MAX_NAME: usize = 36;
/// Columns of a module's name at most.
const MAX_MODULE: usize = 18;
/// Below this share of samples with names, the table has little to say.
const MIN_NAMED: f64 = 0.5;

/// A sentence about the samples, and the functions with the most of them; or why there are none.
pub(super) fn of_run(run: &Run, style: Style) -> String {
    let waits = run.server_waits.as_ref().map(|waits| waits_text(waits, style)).unwrap_or_default();
    if let Some(failure) = &run.profile_failure {
        return style.lines(&format!("no profile: {failure}"), 2, Style::warn) + &waits;
    }
    let Some(profile) = &run.profile else { return waits };
    let mut text = style.lines(&about(profile, run), 2, Style::dim);
    if profile.named_share < MIN_NAMED {
        let advice = "most samples have no function name: keep the symbols of the program, or let its runtime write a perf map (docs/recipes.md)";
        text.push_str(&style.lines(advice, 2, Style::warn));
    }
    let rows: Vec<Vec<String>> = profile.functions.iter().map(row).collect();
    text + &table(&["CPU time by function", "of", "own", "total"], &rows, style) + &waits
}

/// What the threads of the server wait for, and what it sends to others for each request.
fn waits_text(waits: &ServerWaits, style: Style) -> String {
    let wait = |wait: &ThreadWait| {
        let kind = match wait.kind {
            WaitKind::Lock => "lock",
            WaitKind::Timer => "sleep",
            WaitKind::File => "file",
            WaitKind::NameLookup => "name server",
            WaitKind::Service => "service",
        };
        vec![kind.to_owned(), cut(&wait.on, MAX_NAME), format!("{:.1}", wait.threads)]
    };
    let of_loops = waits.loop_timers.map(|loops| {
        let due = format!("a timer due in {}", time_text(loops.due_ns_mean));
        vec!["event loop".to_owned(), due, format!("{:.1}", loops.threads)]
    });
    let call = |calls: &ServiceCalls| {
        vec![cut(&calls.address, MAX_NAME), format!("{:.1}", calls.messages_per_request)]
    };
    let listed = |header: &[&str], rows: Vec<Vec<String>>| match rows.is_empty() {
        true => String::new(),
        false => table(header, &rows, style),
    };
    listed(&["waiting", "on", "threads"], waits.waits.iter().map(wait).chain(of_loops).collect())
        + &listed(&["sends to", "messages/request"], waits.calls.iter().map(call).collect())
}

/// `profile: 4,980 samples of cycles in 10 s of the same load; 61% in the kernel, 98% with a name`.
fn about(profile: &Profile, run: &Run) -> String {
    let kernel = profile
        .kernel_share
        .map_or("kernel not sampled".to_owned(), |share| format!("{:.0}% in the kernel", 100.0 * share));
    let cost = cost(profile.achieved_per_s, "profiled", run);
    format!(
        "profile: {} of {} in a separate window; {kernel}, {:.0}% with a name{cost}",
        counted(profile.samples as f64, "sample"),
        profile.event,
        100.0 * profile.named_share
    )
}

/// What observing the server cost, as the end of a sentence: `; 970 requests/s while profiled (97% of the run)`.
pub(super) fn cost(achieved_per_s: f64, observed: &str, run: &Run) -> String {
    let rate = paceline_stats::ratio(achieved_per_s, run.rate_per_s.achieved);
    match achieved_per_s > 0.0 && rate > 0.0 {
        true => format!(
            "; {} requests/s while {observed} ({:.0}% of the run)",
            count(achieved_per_s),
            100.0 * rate
        ),
        false => String::new(),
    }
}

fn row(function: &ProfiledFunction) -> Vec<String> {
    vec![
        cut(&function.name, MAX_NAME),
        cut(&function.module, MAX_MODULE),
        percent(function.own_share),
        percent(function.total_share),
    ]
}

/// A name of at most `most` columns.
fn cut(name: &str, most: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if columns(name) <= most {
        return name.to_owned();
    }
    let first = (most - 1) / 2;
    let last = most - 1 - first;
    letters[..first].iter().chain(&['\u{2026}']).chain(&letters[letters.len() - last..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::{CodeKind, LoopTimers, fixture};

    #[test]
    fn functions_are_listed_below_a_sentence_about_the_samples() {
        let mut run = fixture::run(0);
        let style = Style::new(false, 100);
        assert_eq!(of_run(&run, style), "");
        let function = ProfiledFunction {
            name: "tcp_sendmsg".to_owned(),
            module: "kernel".to_owned(),
            code: CodeKind::Kernel,
            own_share: 0.25,
            total_share: 0.5,
        };
        run.profile = Some(Profile {
            event: "cycles".to_owned(),
            samples: 4_980,
            kernel_share: Some(0.61),
            named_share: 0.98,
            achieved_per_s: 970.0,
            functions: vec![function],
            ..Profile::default()
        });
        let text = of_run(&run, style);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.starts_with(
                "profile: 4,980 samples of cycles in a separate window; 61% in the kernel, 98% with"
            ),
            "{text}"
        );
        assert!(words.contains("970 requests/s while profiled (97% of the run)"), "{text}");
        assert!(words.ends_with("tcp_sendmsg kernel 25.0% 50.0%"), "{text}");
        if let Some(profile) = &mut run.profile {
            (profile.named_share, profile.kernel_share) = (0.1, None);
        }
        let text = of_run(&run, style);
        assert!(text.contains("kernel not sampled") && text.contains("perf map"), "{text}");
        run.profile_failure = Some("perf is not installed".to_owned());
        assert_eq!(of_run(&run, style), "  no profile: perf is not installed\n");
    }

    #[test]
    fn what_threads_wait_for_is_listed_with_event_loops() {
        let mut run = fixture::run(0);
        let wait = ThreadWait { kind: WaitKind::File, on: "audit.log".to_owned(), threads: 9.0 };
        let loop_timers = Some(LoopTimers { threads: 0.7, due_ns_mean: 1.2e6 });
        run.server_waits = Some(ServerWaits { waits: vec![wait], loop_timers, ..ServerWaits::default() });
        let text = of_run(&run, Style::new(false, 100));
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("file audit.log 9.0 event loop a timer due in 1.20 ms 0.7"), "{text}");
    }

    #[test]
    fn a_long_name_keeps_both_ends() {
        assert_eq!(cut("short", 9), "short");
        assert_eq!(cut("beginning_and_end", 9), "begi\u{2026}_end");
    }
}
