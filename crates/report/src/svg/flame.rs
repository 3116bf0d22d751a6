//! A flame graph: each call of a profile as a box above its caller, as wide as its share of the samples (Gregg, "The
//! Flame Graph", CACM 59(6), 2016). The order from left to right has no meaning; the most frequent calls are on the left.

use super::canvas::{Anchor, Canvas, MARGIN};
use paceline_escape::Printable;
use paceline_record::{CodeKind, Profile, ProfiledCall, Run};

pub(super) const WIDTH: f64 = 1_200.0;
/// Height of a box with its gap.
pub(super) const ROW: f64 = 17.0;
/// Height of the lines above the graph.
pub(super) const HEADING: f64 = 62.0;
/// Narrower boxes are not drawn.
pub(super) const MIN_WIDTH: f64 = 0.5;

/// A box of the graph.
#[derive(Debug, PartialEq)]
struct FlameBox<'p> {
    call: &'p ProfiledCall,
    /// Samples to the left of it.
    from: u64,
}

/// Draws the profile of a run's server; none if it has no profile. Without a name the server has that of its record.
pub fn flame_graph(run: &Run, name: Option<&str>) -> Option<Printable> {
    let profile = run.profile.as_ref()?;
    let boxes = boxes(&profile.calls);
    let deepest = boxes.iter().map(|drawn| drawn.call.depth).max().unwrap_or(0);
    let bottom = HEADING + f64::from(deepest + 1) * ROW;
    let scale = (WIDTH - 2.0 * MARGIN) / (profile.samples.max(1) as f64);
    let mut canvas = Canvas::default();
    let of_record = run.server.as_ref().map(|server| server.name.as_str());
    let name = name.or(of_record).unwrap_or("the server");
    heading(&mut canvas, name, &run.target.url, profile);
    for drawn in boxes {
        let width = drawn.call.samples as f64 * scale;
        if width < MIN_WIDTH {
            continue;
        }
        let at = (MARGIN + drawn.from as f64 * scale, bottom - f64::from(drawn.call.depth + 1) * ROW);
        let share = 100.0 * drawn.call.samples as f64 / profile.samples.max(1) as f64;
        let about = format!("{}: {} samples, {share:.1} %", drawn.call.name, drawn.call.samples);
        canvas.named_box(at, (width, ROW - 1.0), colour(drawn.call), &drawn.call.name, &about);
    }
    Some(canvas.finish(WIDTH, bottom + MARGIN, &format!("Flame graph of {name}")).into())
}

fn heading(canvas: &mut Canvas, name: &str, url: &str, profile: &Profile) {
    canvas.text((MARGIN, 26.0), Anchor::Start, "h", &format!("CPU time of {name} under load"));
    let kernel = profile.kernel_share.map_or("kernel not sampled".to_owned(), |share| {
        format!("{} in the kernel (blue)", paceline_stats::percent_text(share))
    });
    let about = format!(
        "{} · {} samples of {} · {kernel} · width: share of CPU time, waiting not included",
        url, profile.samples, profile.event
    );
    canvas.text((MARGIN, 46.0), Anchor::Start, "m", &about);
}

/// The colours of Okabe and Ito that black text can be read on; grey for what is no named function.
fn colour(call: &ProfiledCall) -> &'static str {
    match call.code {
        CodeKind::Thread => "#d5d9de",
        _ if call.name.starts_with("[unknown") => "#c2c7cd",
        CodeKind::Kernel => "#8ccdf2",
        CodeKind::User => "#f0b840",
    }
}

/// The boxes of calls in depth-first order. A call that has no place, because the caller above it is missing, is left out.
fn boxes(calls: &[ProfiledCall]) -> Vec<FlameBox<'_>> {
    // For each depth, the samples to the left of the next call there.
    let mut next = vec![0];
    let mut boxes = Vec::new();
    for call in calls {
        let depth = call.depth as usize;
        let Some(from) = next.get(depth).copied() else { continue };
        next.truncate(depth);
        next.extend([from + call.samples, from]);
        boxes.push(FlameBox { call, from });
    }
    boxes
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::fixture;

    fn call(depth: u32, name: &str, samples: u64) -> ProfiledCall {
        ProfiledCall { depth, name: name.to_owned(), code: CodeKind::User, samples }
    }

    #[test]
    fn boxes_are_beside_each_other_and_above_their_callers() {
        let calls = [
            call(0, "worker", 10),
            call(1, "a", 6),
            call(2, "b", 5),
            call(1, "c", 4),
            call(2, "d", 4),
            call(0, "other", 3),
            call(4, "lost", 1),
        ];
        let places: Vec<(&str, u64)> =
            boxes(&calls).iter().map(|drawn| (drawn.call.name.as_str(), drawn.from)).collect();
        assert_eq!(places, [("worker", 0), ("a", 0), ("b", 0), ("c", 6), ("d", 6), ("other", 10)]);
    }

    #[test]
    fn names_are_escaped_and_fit_their_boxes() {
        let mut run = fixture::run(0);
        assert!(flame_graph(&run, None).is_none());
        let long = format!("Vec<{}>", "x".repeat(400));
        run.profile = Some(Profile {
            samples: 1_000,
            kernel_share: Some(0.25),
            calls: vec![
                call(0, "worker", 1_000),
                call(1, &long, 990),
                call(1, "narrow", 10),
                call(1, "thin", 0),
            ],
            ..Profile::default()
        });
        let drawn = flame_graph(&run, None).unwrap().to_string();
        assert!(drawn.contains("Vec&lt;x") && !drawn.contains("Vec<x"), "{drawn}");
        assert_eq!(drawn.matches("<rect x=").count(), 3, "the last has no width: {drawn}");
        let text = drawn.lines().find(|line| line.contains("\u{2026}</text>"));
        assert!(text.is_some(), "the long name is shortened: {drawn}");
        assert!(!drawn.contains(">narrow</text>"), "{drawn}");
        assert!(drawn.contains("25 % in the kernel"));
    }
}
