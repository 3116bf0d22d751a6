//! What the system calls of a server say: how many a request costs, and whether they are more than most servers make.

use paceline_record::{SystemCall, SystemCalls};

/// Kinds of calls that are named.
const NAMED: usize = 3;
/// From this number of calls per request on, they are many: a small request takes about three, to wait, read and write.
const MANY: f64 = 20.0;
/// From this number of calls per request on, one kind may be most of them. Below, two reads beside one write would be.
const SEVERAL: f64 = 6.0;
/// From this share of all calls on, one kind is most of them.
const MOST: f64 = 2.0 / 3.0;

/// `4.02 system calls per request: epoll_wait 1.01, read 1.00, write 1.00`.
pub(crate) fn call_words(calls: &SystemCalls) -> String {
    let bound = if calls.is_lower_bound() { "at least " } else { "" };
    let name = |call: &SystemCall| format!("{} {:.2}", call.name, call.calls_per_request);
    let named: Vec<String> = calls.calls.iter().take(NAMED).map(name).collect();
    format!("{bound}{:.2} system calls per request: {}", calls.calls_per_request, named.join(", "))
}

/// Whether a request makes many calls, or several of which most are of one kind.
pub(crate) fn are_many(calls: &SystemCalls) -> bool {
    let most = calls.calls.first().map_or(0.0, |call| call.calls_per_request);
    let is_one_kind = calls.calls_per_request >= SEVERAL && most >= MOST * calls.calls_per_request;
    calls.calls_per_request >= MANY || is_one_kind
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// System calls of these names and numbers per request.
    pub(crate) fn calls(rows: &[(&str, f64)]) -> SystemCalls {
        let call = |(name, calls_per_request): &(&str, f64)| SystemCall {
            name: (*name).to_owned(),
            calls_per_request: *calls_per_request,
            ..SystemCall::default()
        };
        SystemCalls {
            calls_per_request: rows.iter().map(|(_, calls_per_request)| calls_per_request).sum(),
            calls: rows.iter().map(call).collect(),
            ..SystemCalls::default()
        }
    }

    #[test]
    fn the_most_frequent_calls_are_named() {
        let mut few = calls(&[("read", 2.0), ("write", 1.0), ("epoll_wait", 0.5), ("futex", 0.25)]);
        let words = "3.75 system calls per request: read 2.00, write 1.00, epoll_wait 0.50";
        assert_eq!(call_words(&few), words);
        few.lost_events = 1;
        assert_eq!(call_words(&few), format!("at least {words}"));
    }

    #[test]
    fn many_calls_and_many_of_one_kind_stand_out() {
        assert!(are_many(&calls(&[("stat", 10.0), ("read", 10.0)])));
        assert!(are_many(&calls(&[("write", 5.0), ("read", 1.0)])));
        assert!(!are_many(&calls(&[("read", 2.0), ("write", 1.0)])), "few, most of one kind");
        assert!(!are_many(&calls(&[("read", 5.0), ("write", 5.0), ("epoll_wait", 5.0)])));
        assert!(!are_many(&SystemCalls::default()));
    }
}
