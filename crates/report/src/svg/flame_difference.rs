//! A differential flame graph: the calls of one profile, coloured by what each function itself costs more (red) or less
//! (blue) than in another (Gregg, "Differential Flame Graphs", 2014).
//!
//! Costs are CPU time per request where both runs have it, because shares of two profiles hide a change of the whole.
//! The threads of a profile are added up: their names differ between programs.

use super::canvas::{Anchor, Canvas, MARGIN};
use super::flame::{HEADING, MIN_WIDTH, ROW, WIDTH};
use paceline_escape::HtmlText;
use paceline_record::{CodeKind, Profile, ProfiledCall, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Own costs that differ by less than these shares of the whole are drawn in the first three colours.
const LEVELS: [f64; 3] = [0.005, 0.02, 0.08];
/// Colours of unchanged to much more expensive functions, which black text can be read on.
const MORE: [&str; 4] = ["#e6e8eb", "#fddbc7", "#f4a582", "#e8684a"];
/// Colours of unchanged to much cheaper functions.
const LESS: [&str; 4] = ["#e6e8eb", "#d1e5f0", "#92c5de", "#5b9fd0"];

/// What a function itself costs in two profiles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionChange {
    /// Its name.
    pub name: String,
    /// Its share of the CPU time in the first and in the second profile, 0 to 1.
    pub shares: [f64; 2],
    /// The same as CPU time per request, in nanoseconds; none if a run lacks the CPU time of its server.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu_ns_per_request: Option<[f64; 2]>,
    /// The change of its cost as a share of the second profile, with its sign.
    pub change: f64,
}

impl FunctionChange {
    /// `parse: 40.0 % before, 70.0 % after (+30.0 % of all CPU time)`, with CPU time per request if it is known.
    pub fn sentence(&self) -> String {
        let costs = self.cpu_ns_per_request.unwrap_or(self.shares);
        let unit = self.cpu_ns_per_request.map_or(CostUnit::Share, |_| CostUnit::PerRequest);
        let [before, after] = costs.map(|cost| unit.words(cost));
        let change = 100.0 * self.change;
        format!("{}: {before} before, {after} after ({change:+.1} % of all CPU time)", self.name)
    }
}

/// Two profiles, call by call.
struct ProfilePair {
    root: CallNode,
    unit: CostUnit,
}

/// The unit of costs.
#[derive(Clone, Copy)]
enum CostUnit {
    /// CPU time per request, in nanoseconds.
    PerRequest,
    /// Share of the profile.
    Share,
}

impl CostUnit {
    fn words(self, cost: f64) -> String {
        match self {
            Self::PerRequest => paceline_stats::time_text(cost),
            Self::Share => format!("{:.1} %", 100.0 * cost),
        }
    }
}

/// A call with its costs in both profiles, callees included.
#[derive(Default)]
struct CallNode {
    costs: [f64; 2],
    callees: BTreeMap<String, CallNode>,
}

/// Draws the profile of the second run with its differences from the first, and lists the functions that changed, the
/// largest change first; none if one of them has no profile.
pub fn flame_difference(names: [&str; 2], runs: [&Run; 2]) -> Option<(HtmlText, Vec<FunctionChange>)> {
    let pair = ProfilePair::of_runs(runs)?;
    let mut canvas = Canvas::default();
    let deepest = pair.draw(&mut canvas, None);
    let bottom = HEADING + f64::from(deepest + 1) * ROW;
    let mut canvas = Canvas::default();
    canvas.text(
        (MARGIN, 26.0),
        Anchor::Start,
        "h",
        &format!("CPU time of {} compared with {}", names[1], names[0]),
    );
    let [before, after] = pair.root.costs.map(|cost| pair.unit.words(cost));
    let about = match pair.unit {
        CostUnit::PerRequest => format!(
            "{after} per request, before: {before} · width: {} · red: the function itself costs more, blue: less",
            names[1]
        ),
        CostUnit::Share => format!(
            "width: {} · red: a larger share of the CPU time than before, blue: a smaller one",
            names[1]
        ),
    };
    canvas.text((MARGIN, 46.0), Anchor::Start, "m", &about);
    pair.draw(&mut canvas, Some(bottom));
    let title = format!("Differential flame graph of {} and {}", names[0], names[1]);
    Some((canvas.finish(WIDTH, bottom + MARGIN, &title), pair.changes()))
}

impl ProfilePair {
    fn of_runs(runs: [&Run; 2]) -> Option<Self> {
        let profiles = [runs[0].profile.as_ref()?, runs[1].profile.as_ref()?];
        let cpu_ns = |run: &Run| Some(run.server.as_ref()?.cpu_ns_per_request).filter(|cpu_ns| *cpu_ns > 0.0);
        let (unit, wholes) = match [cpu_ns(runs[0]), cpu_ns(runs[1])] {
            [Some(before), Some(after)] => (CostUnit::PerRequest, [before, after]),
            _ => (CostUnit::Share, [1.0, 1.0]),
        };
        let mut root = CallNode { costs: wholes, callees: BTreeMap::new() };
        for (side, (profile, whole)) in profiles.into_iter().zip(wholes).enumerate() {
            root.add(side, profile, whole / profile.samples.max(1) as f64);
        }
        Some(Self { root, unit })
    }

    /// Draws the boxes above this line; without one it only finds the deepest that would be drawn.
    fn draw(&self, canvas: &mut Canvas, bottom: Option<f64>) -> u32 {
        let whole = self.root.costs[1];
        let scale = (WIDTH - 2.0 * MARGIN) / whole;
        let mut deepest = 0;
        // Calls that are still to be drawn: no recursion, whatever the depth.
        let mut open = vec![("all threads", &self.root, 0_u32, 0.0)];
        while let Some((name, node, depth, from)) = open.pop() {
            let width = node.costs[1] * scale;
            if width < MIN_WIDTH {
                continue;
            }
            deepest = deepest.max(depth);
            let mut callees: Vec<(&String, &CallNode)> = node.callees.iter().collect();
            callees.sort_by(|one, other| other.1.costs[1].total_cmp(&one.1.costs[1]));
            let mut left = from;
            for (callee, called) in callees {
                open.push((callee, called, depth + 1, left));
                left += called.costs[1];
            }
            let Some(bottom) = bottom else { continue };
            let at = (MARGIN + from * scale, bottom - f64::from(depth + 1) * ROW);
            let own = node.own();
            let change = (own[1] - own[0]) / whole;
            let about = format!(
                "{name}: {} (before: {}), itself {} (before: {})",
                self.unit.words(node.costs[1]),
                self.unit.words(node.costs[0]),
                self.unit.words(own[1]),
                self.unit.words(own[0])
            );
            canvas.named_box(at, (width, ROW - 1.0), colour(change), name, &about);
        }
        deepest
    }

    /// The functions whose own cost changed most, in all places together.
    fn changes(&self) -> Vec<FunctionChange> {
        let mut own: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
        let mut open = vec![("", &self.root)];
        while let Some((name, node)) = open.pop() {
            let costs = own.entry(name).or_default();
            let more = node.own();
            (0..2).for_each(|side| costs[side] += more[side]);
            open.extend(node.callees.iter().map(|(name, node)| (name.as_str(), node)));
        }
        own.remove("");
        let mut changes: Vec<(&str, [f64; 2])> = own.into_iter().collect();
        let size = |costs: &[f64; 2]| (costs[1] - costs[0]).abs();
        changes.retain(|(_, costs)| size(costs) >= LEVELS[0] * self.root.costs[1]);
        changes.sort_by(|one, other| size(&other.1).total_cmp(&size(&one.1)));
        let change = |(name, costs): (&str, [f64; 2])| FunctionChange {
            name: name.to_owned(),
            shares: [0, 1].map(|side| costs[side] / self.root.costs[side]),
            cpu_ns_per_request: matches!(self.unit, CostUnit::PerRequest).then_some(costs),
            change: (costs[1] - costs[0]) / self.root.costs[1],
        };
        changes.into_iter().map(change).collect()
    }
}

impl CallNode {
    /// Adds the calls of a profile below the threads' names.
    fn add(&mut self, side: usize, profile: &Profile, cost_per_sample: f64) {
        let mut path: Vec<&str> = Vec::new();
        let functions = profile.calls.iter().filter(|call| call.code != CodeKind::Thread && call.depth > 0);
        for ProfiledCall { depth, name, samples, .. } in functions {
            path.truncate(*depth as usize - 1);
            path.push(name);
            let mut node = &mut *self;
            for name in &path {
                node = node.callees.entry((*name).to_owned()).or_default();
            }
            node.costs[side] += *samples as f64 * cost_per_sample;
        }
    }

    /// The costs without those of its callees.
    fn own(&self) -> [f64; 2] {
        [0, 1].map(|side| {
            let of_callees: f64 = self.callees.values().map(|callee| callee.costs[side]).sum();
            (self.costs[side] - of_callees).max(0.0)
        })
    }
}

/// The colour of a change of a function's own cost, as a share of the whole.
fn colour(change: f64) -> &'static str {
    let level = LEVELS.iter().filter(|least| change.abs() >= **least).count();
    if change > 0.0 { MORE[level] } else { LESS[level] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::fixture;

    fn run(cpu_ns_per_request: f64, thread: &str, calls: &[(u32, &str, u64)]) -> Run {
        let mut run = fixture::run(0);
        let mut server = fixture::server_use(1, 1.0);
        server.cpu_ns_per_request = cpu_ns_per_request;
        run.server = Some(server);
        let root = ProfiledCall { depth: 0, name: thread.to_owned(), code: CodeKind::Thread, samples: 100 };
        let call = |(depth, name, samples): &(u32, &str, u64)| ProfiledCall {
            depth: *depth,
            name: (*name).to_owned(),
            code: CodeKind::User,
            samples: *samples,
        };
        let calls = std::iter::once(root).chain(calls.iter().map(call)).collect();
        run.profile = Some(Profile { samples: 100, calls, ..Profile::default() });
        run
    }

    #[test]
    fn costs_are_cpu_time_per_request_and_threads_are_added_up() {
        let before = run(10_000.0, "app", &[(1, "main", 100), (2, "parse", 40), (2, "send", 60)]);
        let after = run(20_000.0, "app2", &[(1, "main", 100), (2, "parse", 70), (2, "send", 30)]);
        let (picture, changes) = flame_difference(["old", "new"], [&before, &after]).unwrap();
        let names: Vec<(&str, f64)> =
            changes.iter().map(|change| (change.name.as_str(), change.change)).collect();
        assert_eq!(names, [("parse", 0.5)], "send costs 6 \u{b5}s in both, though its share fell");
        assert_eq!(
            (changes[0].shares, changes[0].cpu_ns_per_request),
            ([0.4, 0.7], Some([4_000.0, 14_000.0]))
        );
        let picture = picture.to_string();
        assert!(picture.contains(MORE[3]) && !picture.contains(LESS[1]), "{picture}");
        assert!(picture.contains("parse: 14"), "{picture}");
    }

    #[test]
    fn without_the_cpu_time_of_both_costs_are_shares() {
        let before = run(10_000.0, "app", &[(1, "parse", 40), (1, "send", 60)]);
        let mut after = run(20_000.0, "app", &[(1, "parse", 70), (1, "send", 30)]);
        after.server = None;
        let (picture, changes) = flame_difference(["old", "new"], [&before, &after]).unwrap();
        let sentences: Vec<String> = changes.iter().map(FunctionChange::sentence).collect();
        assert_eq!(sentences[0], "parse: 40.0 % before, 70.0 % after (+30.0 % of all CPU time)");
        assert_eq!((sentences.len(), changes[1].shares), (2, [0.6, 0.3]));
        assert!(picture.to_string().contains(LESS[3]));
        after.profile = None;
        assert!(flame_difference(["old", "new"], [&before, &after]).is_none());
    }
}
