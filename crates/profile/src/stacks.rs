//! Stacks of samples, added up to a table of functions and a tree of calls.

use paceline_record::{CodeKind, Profile, ProfiledCall, ProfiledFunction};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// The name that perf gives to code without a symbol.
pub(crate) const UNKNOWN: &str = "[unknown]";
/// Functions in the table.
const FUNCTIONS: usize = 10;
/// Calls with less than this share of the samples are left out of the tree: they are narrower than a pixel.
const MIN_CALL_SHARE: f64 = 0.0005;
/// Calls in the tree at most: a picture of more cannot be read.
const MAX_CALLS: usize = 20_000;

/// A function on a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Frame {
    pub name: String,
    pub module: String,
    pub code: CodeKind,
}

impl Frame {
    pub(crate) fn user(name: &str, module: &str) -> Self {
        Self { name: name.to_owned(), module: module.to_owned(), code: CodeKind::User }
    }

    fn is_named(&self) -> bool {
        self.name != UNKNOWN
    }
}

/// The samples of a profile: how often each stack occurred.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    /// Each function once.
    frames: Vec<Frame>,
    places: HashMap<Frame, u32>,
    /// A stack is its thread's name, and its functions from the outermost to the innermost.
    counts: HashMap<(String, Vec<u32>), u64>,
}

impl Stacks {
    /// Adds a sample with its stack, the innermost function first. Unnamed code that calls unnamed code of the same
    /// module is one entry: without frame pointers perf follows whatever is on the stack, up to 127 steps.
    pub(crate) fn add(&mut self, thread: String, mut frames: Vec<Frame>) {
        frames.dedup_by(|next, frame| !frame.is_named() && next == frame);
        let stack: Vec<u32> = frames.into_iter().rev().map(|frame| self.place(frame)).collect();
        *self.counts.entry((thread, stack)).or_default() += 1;
    }

    fn place(&mut self, frame: Frame) -> u32 {
        if let Some(place) = self.places.get(&frame) {
            return *place;
        }
        let place = self.frames.len() as u32;
        self.frames.push(frame.clone());
        self.places.insert(frame, place);
        place
    }

    fn frame(&self, place: u32) -> &Frame {
        &self.frames[place as usize]
    }

    /// Number of samples.
    pub(crate) fn samples(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The shares, the functions and the calls of a profile.
    pub(crate) fn profile(&self) -> Profile {
        let samples = self.samples();
        let leaf_share = |is_counted: fn(&Frame) -> bool| {
            let innermost = self.counts.iter().filter_map(|((_, stack), count)| Some((stack.last()?, count)));
            let counted = innermost.filter(|(place, _)| is_counted(self.frame(**place)));
            counted.map(|(_, count)| count).sum::<u64>() as f64 / samples.max(1) as f64
        };
        Profile {
            samples,
            kernel_share: Some(leaf_share(|frame| frame.code == CodeKind::Kernel)),
            named_share: leaf_share(Frame::is_named),
            functions: self.functions(samples),
            calls: self.calls(samples),
            ..Profile::default()
        }
    }

    /// The functions with the most samples of their own. A recursive function counts once in a stack.
    fn functions(&self, samples: u64) -> Vec<ProfiledFunction> {
        let mut counts = vec![(0_u64, 0_u64); self.frames.len()];
        for ((_, stack), count) in &self.counts {
            if let Some(own) = stack.last() {
                counts[*own as usize].0 += count;
            }
            let mut distinct = stack.clone();
            distinct.sort_unstable();
            distinct.dedup();
            distinct.into_iter().for_each(|place| counts[place as usize].1 += count);
        }
        let share = |count: u64| count as f64 / samples.max(1) as f64;
        let mut functions: Vec<ProfiledFunction> = self
            .frames
            .iter()
            .zip(counts)
            .filter(|(_, (own, _))| *own > 0)
            .map(|(frame, (own, total))| ProfiledFunction {
                name: frame.name.clone(),
                module: frame.module.clone(),
                code: frame.code,
                own_share: share(own),
                total_share: share(total),
            })
            .collect();
        functions.sort_by(|a, b| b.own_share.total_cmp(&a.own_share).then_with(|| a.name.cmp(&b.name)));
        functions.truncate(FUNCTIONS);
        functions
    }

    /// The tree of calls, the most frequent first.
    fn calls(&self, samples: u64) -> Vec<ProfiledCall> {
        let mut threads: BTreeMap<&str, CallNode> = BTreeMap::new();
        for ((thread, stack), count) in &self.counts {
            let mut node = threads.entry(thread.as_str()).or_default();
            node.samples += count;
            for place in stack {
                node = node.callees.entry(*place).or_default();
                node.samples += count;
            }
        }
        let least = (samples as f64 * MIN_CALL_SHARE).ceil() as u64;
        let mut sorted: Vec<(&str, &CallNode)> = threads.iter().map(|(name, node)| (*name, node)).collect();
        sorted.sort_by_key(|(_, node)| Reverse(node.samples));
        // A stack of calls that are still to be listed, the next one last: no recursion, whatever the depth.
        let mut calls = Vec::new();
        for (thread, node) in sorted {
            let root = ProfiledCall {
                depth: 0,
                name: thread.to_owned(),
                code: CodeKind::Thread,
                samples: node.samples,
            };
            let mut open = vec![(root, node)];
            while let Some((call, node)) = open.pop() {
                if call.samples < least || calls.len() >= MAX_CALLS {
                    continue;
                }
                let mut callees: Vec<(&u32, &CallNode)> = node.callees.iter().collect();
                callees.sort_by_key(|(_, callee)| callee.samples);
                open.extend(callees.into_iter().map(|(place, callee)| {
                    let frame = self.frame(*place);
                    let (depth, samples) = (call.depth + 1, callee.samples);
                    (ProfiledCall { depth, name: frame.name.clone(), code: frame.code, samples }, callee)
                }));
                calls.push(call);
            }
        }
        calls
    }
}

/// A node of the tree of calls. Its depth is bounded by the reader of the stacks, so that dropping it does not recurse
/// far.
#[derive(Default)]
struct CallNode {
    samples: u64,
    callees: BTreeMap<u32, CallNode>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks() -> Stacks {
        let kernel = |name: &str| Frame { code: CodeKind::Kernel, ..Frame::user(name, "kernel") };
        let user = |name: &str| Frame::user(name, "app");
        let mut stacks = Stacks::default();
        let add = |stacks: &mut Stacks, count: usize, frames: &[Frame]| {
            (0..count).for_each(|_| stacks.add("worker".to_owned(), frames.to_vec()));
        };
        add(&mut stacks, 6, &[kernel("send"), user("write"), user("main")]);
        add(&mut stacks, 3, &[user("parse"), user("parse"), user("main")]);
        add(&mut stacks, 1, &[user(UNKNOWN)]);
        stacks
    }

    #[test]
    fn own_and_total_shares_count_each_sample_once() {
        let profile = stacks().profile();
        assert_eq!((profile.samples, profile.kernel_share, profile.named_share), (10, Some(0.6), 0.9));
        let table: Vec<(&str, f64, f64)> = profile
            .functions
            .iter()
            .map(|function| (function.name.as_str(), function.own_share, function.total_share))
            .collect();
        assert_eq!(table, [("send", 0.6, 0.6), ("parse", 0.3, 0.3), (UNKNOWN, 0.1, 0.1)]);
    }

    #[test]
    fn calls_are_in_depth_first_order_the_most_frequent_first() {
        let profile = stacks().profile();
        let calls: Vec<(u32, &str, u64)> =
            profile.calls.iter().map(|call| (call.depth, call.name.as_str(), call.samples)).collect();
        let expected = [
            (0, "worker", 10),
            (1, "main", 9),
            (2, "write", 6),
            (3, "send", 6),
            (2, "parse", 3),
            (3, "parse", 3),
            (1, UNKNOWN, 1),
        ];
        assert_eq!(calls, expected);
    }

    #[test]
    fn unnamed_code_that_calls_itself_is_one_call() {
        let mut stacks = Stacks::default();
        let unknown = |module| Frame::user(UNKNOWN, module);
        let frames =
            [vec![Frame::user("write", "libc"), unknown("libc")], vec![unknown("app"); 120]].concat();
        stacks.add("t".to_owned(), [frames, vec![Frame::user("f", "app"), Frame::user("f", "app")]].concat());
        let names: Vec<String> = stacks.profile().calls.into_iter().map(|call| call.name).collect();
        assert_eq!(names, ["t", "f", "f", UNKNOWN, UNKNOWN, "write"], "calls of a named function are kept");
    }

    #[test]
    fn calls_that_cannot_be_drawn_are_left_out() {
        let mut stacks = Stacks::default();
        (0..9_999).for_each(|_| stacks.add("t".to_owned(), vec![Frame::user("often", "app")]));
        stacks.add("t".to_owned(), vec![Frame::user("once", "app")]);
        let profile = stacks.profile();
        let names: Vec<&str> = profile.calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["t", "often"]);
        assert_eq!(Stacks::default().profile().samples, 0);
    }
}
