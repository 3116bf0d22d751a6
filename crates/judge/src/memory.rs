//! Judges the server's memory: whether it was the limit, and whether it grows.
//!
//! Growth is judged with its interval, as that of a queue is. A heap or a cache that fills grows for a while and levels
//! off, so that the end of the window must still show the growth; the warm-up is not judged.

use crate::TypedVerdict;
use paceline_record::{MemoryUse, Phase, Run, Trial};
use paceline_stats::{bytes_text, counted, growth, ratio, slope};

/// From this share of its memory limit on, a server has no room left.
const MIN_OF_LIMIT: f64 = 0.9;
/// Above this multiple of its limit, the memory of a server is not known: it is a sum over processes, in which pages
/// that they share count several times. Pages of files, which other groups may be charged for, are the tenth.
const MAX_OF_LIMIT: f64 = 1.1;
/// Samples in the window that a judgement needs: about as many seconds.
const MIN_SAMPLES: usize = 10;
/// Growth over the window below this share of the memory at its beginning is that of buffers and pools.
const MIN_SHARE: f64 = 0.05;
/// The same in bytes: an allocator takes memory from the kernel in pieces of a megabyte and more.
const MIN_BYTES: f64 = 4e6;
/// The growth of the last third as a share of the mean growth, below which it levels off.
const MIN_LATE_SHARE: f64 = 0.5;

/// The memory of an observed server grew through the window of a run.
pub(crate) fn growing(run: &Run) -> Option<TypedVerdict> {
    let points: Vec<(f64, f64)> = run
        .server_samples_of_window()
        .map(|sample| (sample.at_ns as f64 / 1e9, sample.rss_bytes as f64))
        .collect();
    finding(&points, run)
}

/// The same of a trial, whose samples are the lab's: one for each second, since the lab takes several.
pub(crate) fn growing_in_trial(trial: &Trial) -> Option<TypedVerdict> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for sample in trial.samples.iter().filter(|sample| sample.phase == Phase::Window) {
        let at_s = sample.at_ns as f64 / 1e9;
        if points.last().is_none_or(|(before_s, _)| at_s - before_s >= 1.0) {
            points.push((at_s, sample.rss_bytes as f64));
        }
    }
    finding(&points, trial.run.as_ref()?)
}

fn finding(points: &[(f64, f64)], run: &Run) -> Option<TypedVerdict> {
    let ((from_s, first), (to_s, last)) = (*points.first()?, *points.last()?);
    let growth = growth(points).filter(|growth| points.len() >= MIN_SAMPLES && growth.interval.low > 0.0)?;
    let late = slope(&points[points.len() - points.len() / 3..])?;
    let is_material = last - first >= MIN_BYTES.max(MIN_SHARE * first);
    if !is_material || late < MIN_LATE_SHARE * growth.per_s {
        return None;
    }
    let responses = run.rate_per_s.achieved * (to_s - from_s);
    Some(TypedVerdict::MemoryGrowing {
        growth_bytes_per_s: growth.per_s.round(),
        growth_bytes_per_s_low: growth.interval.low.round(),
        growth_bytes_per_s_high: growth.interval.high.round(),
        growth_bytes_per_response: (responses > 0.0).then(|| ((last - first) / responses).round()),
        rss_bytes_first: first as u64,
        rss_bytes_last: last as u64,
        grown: bytes_text(growth.per_s),
        try_s: (10.0 * run.window_s).clamp(60.0, 600.0),
    })
}

/// Memory was the limit of an observed server.
pub(crate) fn bound(run: &Run) -> Option<TypedVerdict> {
    bound_by(&run.server.as_ref()?.memory?)
}

/// The same of a trial, whose memory the lab observed.
pub(crate) fn bound_in_trial(trial: &Trial) -> Option<TypedVerdict> {
    bound_by(&trial.memory?)
}

fn bound_by(memory: &MemoryUse) -> Option<TypedVerdict> {
    let is_server_s = is_server_short_of_memory(memory);
    let has_swapped = memory.swapped_bytes >= MemoryUse::MIN_SWAPPED_BYTES;
    let advice = match (memory.oom_kills > 0, has_swapped) {
        (_, _) if !is_server_s => {
            "The machine was short of memory, and the server is not known to be the reason: find what else used it (journalctl -k, ps aux --sort -rss), and free it or add memory."
        }
        (true, _) => {
            "The kernel killed a process because memory ran out (see journalctl -k). Raise the memory limit, or give the server a smaller heap or fewer processes."
        }
        (false, true) => {
            "The machine swapped. Free memory on it, or give the server a smaller heap or fewer processes."
        }
        (false, false) => {
            "The server used at least 90 % of the memory that it may use. Raise its limit (memory.max of its control group or of one above it) or, without a limit, add memory to the machine; or give the server a smaller heap or fewer processes."
        }
    };
    memory_shortage(memory).map(|_| TypedVerdict::MemoryBound {
        limit_bytes: memory.limit_bytes,
        rss_bytes_peak: memory.rss_bytes_peak,
        swapped_bytes: memory.swapped_bytes,
        oom_kills: memory.oom_kills,
        advice,
    })
}

/// Whether a shortage of memory was the server's: the kernel killed a process of its own control group, or it used
/// nearly all that it may use. Otherwise any process of the machine may be the reason.
pub fn is_server_short_of_memory(memory: &MemoryUse) -> bool {
    memory.group_oom_kills.is_some_and(|kills| kills > 0) || near_limit(memory).is_some()
}

/// The limit of a server and the highest memory that it used, if that was near it.
fn near_limit(memory: &MemoryUse) -> Option<(u64, u64)> {
    let is_near =
        |limit: u64, peak: u64| (MIN_OF_LIMIT..=MAX_OF_LIMIT).contains(&ratio(peak as f64, limit as f64));
    memory.limit_bytes.zip(memory.rss_bytes_peak).filter(|(limit, peak)| is_near(*limit, *peak))
}

/// Why memory was the limit of a server, in words; none if it was not.
pub(crate) fn memory_shortage(memory: &MemoryUse) -> Option<String> {
    let amount = |bytes: u64| bytes_text(bytes as f64);
    let of = match is_server_short_of_memory(memory) {
        true => "",
        false => " of the machine (not known to be the server's)",
    };
    match (memory.oom_kills, near_limit(memory)) {
        (kills @ 1.., _) => Some(format!(
            "the kernel killed {}{of} because memory ran out",
            counted(kills, "process", "processes")
        )),
        (0, Some((limit, peak))) => {
            Some(format!("the server used {} of the {} that it may use", amount(peak), amount(limit)))
        }
        (0, None) if memory.swapped_bytes >= MemoryUse::MIN_SWAPPED_BYTES => {
            Some(format!("the machine swapped {}", amount(memory.swapped_bytes)))
        }
        (0, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::{ServerSample, fixture};

    /// The verdict on a window of this many seconds, by the memory of each second in megabytes.
    fn judged(seconds: u64, megabytes: impl Fn(f64) -> f64) -> Option<TypedVerdict> {
        let mut run = fixture::run(0);
        run.phases.window.end_ns = run.phases.window.start_ns + seconds * 1_000_000_000;
        // The warm-up grows in every case.
        run.server_samples = vec![ServerSample { rss_bytes: 1, ..ServerSample::default() }];
        let sample = |second: u64| ServerSample {
            at_ns: run.phases.window.start_ns + second * 1_000_000_000,
            rss_bytes: (megabytes(second as f64) * 1e6) as u64,
            ..ServerSample::default()
        };
        let of_window: Vec<ServerSample> = (0..=seconds).map(sample).collect();
        run.server_samples.extend(of_window);
        growing(&run)
    }

    #[test]
    fn a_leak_is_found_with_its_size_for_each_response() {
        let Some(TypedVerdict::MemoryGrowing {
            growth_bytes_per_s,
            growth_bytes_per_s_low,
            growth_bytes_per_response,
            rss_bytes_first,
            rss_bytes_last,
            ..
        }) = judged(10, |second| 50.0 + 2.0 * second + if second % 2.0 < 1.0 { 0.3 } else { 0.0 })
        else {
            panic!("no verdict")
        };
        assert!((growth_bytes_per_s - 2e6).abs() < 1e5, "{growth_bytes_per_s}");
        assert!(growth_bytes_per_s_low > 1.5e6 && growth_bytes_per_s_low < growth_bytes_per_s);
        // 20 MB over 10 s at 1,000 responses per second.
        assert_eq!(growth_bytes_per_response, Some(2_000.0));
        assert_eq!((rss_bytes_first, rss_bytes_last), (50_300_000, 70_300_000));
    }

    #[test]
    fn memory_that_levels_off_or_varies_does_not_grow() {
        type Megabytes = fn(f64) -> f64;
        let cases: [(&str, Megabytes); 6] = [
            ("constant", |_| 50.0),
            ("one step", |second| if second < 5.0 { 50.0 } else { 90.0 }),
            ("a sawtooth of garbage collection", |second| 50.0 + 10.0 * (second % 4.0)),
            ("a heap that fills", |second| 150.0 - 100.0 * (-second / 2.0).exp()),
            ("less than 5 %", |second| 500.0 + second),
            ("shrinks", |second| 90.0 - 2.0 * second),
        ];
        for (name, megabytes) in cases {
            assert_eq!(judged(10, megabytes), None, "{name}");
        }
        assert_eq!(judged(8, |second| 50.0 + 5.0 * second), None, "too few samples");
    }

    #[test]
    fn a_shortage_is_the_machine_s_unless_the_server_s_figures_show_it() {
        let killed = MemoryUse { oom_kills: 1, limit_bytes: Some(100), ..MemoryUse::default() };
        let names_machine = |memory: &MemoryUse| {
            let Some(TypedVerdict::MemoryBound { advice, .. }) = bound_by(memory) else {
                panic!("no verdict")
            };
            let is_named = memory_shortage(memory).unwrap().contains("machine");
            assert_eq!(is_named, advice.starts_with("The machine"), "{advice}");
            is_named
        };
        assert!(names_machine(&killed));
        assert!(names_machine(&MemoryUse { group_oom_kills: Some(0), ..killed }));
        assert!(!names_machine(&MemoryUse { group_oom_kills: Some(1), ..killed }));
        assert!(!names_machine(&MemoryUse { rss_bytes_peak: Some(95), ..killed }));
        let swapped = MemoryUse { swapped_bytes: 16 << 20, ..MemoryUse::default() };
        assert!(names_machine(&swapped));
    }

    #[test]
    fn samples_of_a_trial_are_taken_once_a_second() {
        let mut trial = fixture::trial();
        trial.run = Some(fixture::run(0));
        let sample = |tenth: u64| paceline_record::Sample {
            at_ns: tenth * 100_000_000,
            phase: if tenth < 20 { Phase::Warmup } else { Phase::Window },
            cpu_s: 0.0,
            rss_bytes: 50_000_000 + tenth * 300_000,
            processes: 1,
            threads: 1,
            voluntary_switches: 0,
            involuntary_switches: 0,
            run_delay_s: 0.0,
        };
        trial.samples = (0..=130).map(sample).collect();
        assert!(matches!(growing_in_trial(&trial), Some(TypedVerdict::MemoryGrowing { .. })));
        trial.samples.truncate(100);
        assert_eq!(growing_in_trial(&trial), None, "eight seconds of the window");
    }
}
