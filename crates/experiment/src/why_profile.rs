//! What the functions of a profile say: the kinds of work that CPU time goes to, and locks for which code had to wait.

use crate::why_cause::Cause;
use paceline_record::{Profile, ProfiledCall};
use paceline_stats::ratio;

/// A kind of function is named from this share of the CPU time on.
const MIN_KIND_SHARE: f64 = 0.1;

/// A kind of work that functions with these words in their names do.
pub(crate) struct WorkKind {
    pub cause: Cause,
    pub name: &'static str,
    words: &'static [&'static str],
    pub advice: &'static str,
}

/// What to do about a lock.
pub(crate) const DIVIDE_LOCK: &str =
    "Threads compete for a lock: hold it for a shorter time, or divide what it protects.";
/// What to do about a garbage collector.
pub(crate) const COLLECT_LESS: &str = "Allocate less for each request, or give the runtime a larger heap.";

/// Garbage collection, by the names of the functions and the threads of runtimes.
static COLLECTION: WorkKind = WorkKind {
    cause: Cause::GarbageCollection,
    name: "garbage collection",
    words: &[
        // Go.
        "gcBgMarkWorker",
        "gcDrain",
        "gcAssistAlloc",
        "scanobject",
        "runtime.bgsweep",
        // JVM: its threads, which have names, and their code. The serial collector runs in the thread of the VM.
        "GC Thread#",
        "GC task thread#",
        "G1 Conc#",
        "G1 Main Marker",
        "ZWorker",
        "ZDriver",
        "Shenandoah GC",
        "G1ParTask",
        "G1YoungGC",
        "VM Thread",
        // node.
        "Scavenge",
        "MarkCompact",
        "v8::internal::ConcurrentMarking",
        "v8::internal::Sweeper",
        // Python, PHP, Ruby.
        "gc_collect",
        "_PyGC",
        "deduce_unreachable",
        "zend_gc",
        "gc_marks",
        "gc_sweep",
        "rb_gc",
        // .NET, Erlang, Haskell, OCaml.
        "gc_heap::",
        "erts_garbage_collect",
        "GarbageCollect",
        "scavenge_block",
        "caml_major_collection",
        "caml_empty_minor_heap",
    ],
    advice: COLLECT_LESS,
};

/// Other kinds that a profile can show, with the names that kernels, C libraries and runtimes use.
static KINDS: [WorkKind; 4] = [
    WorkKind {
        cause: Cause::Lock,
        name: "locks",
        words: &[
            "futex",
            "spin_lock_slowpath",
            "mutex_lock",
            "lll_lock",
            "osq_lock",
            "rwsem_down",
            "runtime.lock2",
            "(*Mutex)",
            "RawMutex",
        ],
        advice: DIVIDE_LOCK,
    },
    WorkKind {
        cause: Cause::MemoryAllocation,
        name: "memory allocation",
        words: &[
            "malloc",
            "_int_free",
            "operator new",
            "mallocgc",
            "do_anonymous_page",
            "clear_page",
            "exc_page_fault",
        ],
        advice: "Reuse buffers between requests, or use another allocator.",
    },
    WorkKind {
        cause: Cause::File,
        name: "writing files",
        words: &[
            "vfs_fsync",
            "ext4_file_write",
            "xfs_file_write",
            "generic_perform_write",
            "btrfs_file_write",
        ],
        advice: "Write logs in another thread or in larger pieces, or log less.",
    },
    WorkKind {
        cause: Cause::NewConnections,
        name: "opening connections",
        words: &["tcp_v4_syn_recv_sock", "inet_csk_accept", "tcp_v6_syn_recv_sock", "inet_stream_connect"],
        advice: "Keep connections open, between client and server and to the services behind it.",
    },
];

/// What code calls only if a lock is held by another, or another waits for it: of Go, parking_lot, Rust's library, glibc
/// and the JVM. Locks of Go and of the JVM are kept in the program, so that no thread is seen waiting for them. They cost
/// little CPU time, so that few samples count: they say that there is a lock, not how long requests wait for it.
const CONTENDED: [&str; 6] =
    ["lockSlow", "lock_slow", "lock_contended", "lll_lock_wait", "SemacquireRWMutex", "ObjectMonitor::enter"];

/// A lock is named from this number of samples on: almost every program has a lock that two threads want now and then,
/// so that a long profile has single samples of it.
const MIN_LOCK_SAMPLES: u64 = 10;

/// A lock for which code had to wait.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ContendedLock {
    /// Share of the CPU time that waiting and waking cost, 0 to 1.
    pub share: f64,
    /// The function that uses the lock of most samples, if it has a name.
    pub user: Option<String>,
}

/// The kinds of work that are a large part of the CPU time, with their shares, the largest first.
pub(crate) fn kinds_of_work(profile: &Profile) -> Vec<(f64, &'static WorkKind)> {
    let all = profile.samples as f64;
    let others = KINDS.iter().map(|kind| (samples_of(profile, kind.words, COLLECTION.words), kind));
    let collection = (samples_of(profile, COLLECTION.words, &[]), &COLLECTION);
    let kinds = std::iter::once(collection).chain(others);
    let mut shares: Vec<(f64, &WorkKind)> =
        kinds.map(|(samples, kind)| (ratio(samples as f64, all), kind)).collect();
    shares.retain(|(share, _)| *share >= MIN_KIND_SHARE);
    shares.sort_by(|one, other| other.0.total_cmp(&one.0));
    shares
}

/// Samples below functions with such names. A function that is called by another of them is not counted again. What is
/// below the other functions belongs to these alone: collectors use locks, and run where memory is allocated.
fn samples_of(profile: &Profile, words: &[&str], others: &[&str]) -> u64 {
    let mut samples: u64 = 0;
    let mut inside: Option<u32> = None;
    let mut inside_other: Option<u32> = None;
    for call in &profile.calls {
        inside = inside.filter(|depth| call.depth > *depth);
        inside_other = inside_other.filter(|depth| call.depth > *depth);
        if inside_other.is_some() {
            continue;
        }
        if is_one_of(call, others) {
            inside_other = Some(call.depth);
            // It was counted with its caller.
            samples = samples.saturating_sub(inside.map_or(0, |_| call.samples));
        } else if inside.is_none() && is_one_of(call, words) {
            samples += call.samples;
            inside = Some(call.depth);
        }
    }
    samples
}

fn is_one_of(call: &ProfiledCall, words: &[&str]) -> bool {
    words.iter().any(|word| call.name.contains(word))
}

/// The locks for which code had to wait; none below [`MIN_LOCK_SAMPLES`].
pub(crate) fn contended_lock(profile: &Profile) -> Option<ContendedLock> {
    let samples = samples_of(profile, &CONTENDED, &[]);
    let mut callers: Vec<&str> = Vec::new();
    let mut most: (u64, Option<&str>) = (0, None);
    for call in &profile.calls {
        callers.truncate(call.depth as usize);
        if is_one_of(call, &CONTENDED) && call.samples > most.0 {
            // `sync.(*Mutex).Unlock` and the like are not the user; the first name is that of the threads.
            let is_user = |name: &&&str| !name.contains("utex");
            most = (call.samples, callers.iter().skip(1).rev().find(is_user).copied());
        }
        callers.push(&call.name);
    }
    (samples >= MIN_LOCK_SAMPLES).then(|| ContendedLock {
        share: ratio(samples as f64, profile.samples as f64),
        user: most.1.map(str::to_owned),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use paceline_record::CodeKind;

    /// A profile of 1,000 samples with these calls: depth, name and percent of the samples.
    pub(crate) fn profile(calls: &[(u32, &str, u64)]) -> Profile {
        let call = |(depth, name, percent): &(u32, &str, u64)| ProfiledCall {
            depth: *depth,
            name: (*name).to_owned(),
            code: CodeKind::User,
            samples: percent * 10,
        };
        Profile { samples: 1_000, calls: calls.iter().map(call).collect(), ..Profile::default() }
    }

    fn kinds(calls: &[(u32, &str, u64)]) -> Vec<(f64, Cause)> {
        kinds_of_work(&profile(calls)).into_iter().map(|(share, kind)| (share, kind.cause)).collect()
    }

    #[test]
    fn kinds_of_work_are_counted_once_along_a_stack() {
        let calls = [
            (0, "worker", 100),
            (1, "pthread_mutex_lock", 40),
            (2, "futex_wait", 35),
            (1, "handler", 60),
            (2, "futex_wake", 5),
        ];
        assert_eq!(kinds(&calls), [(0.45, Cause::Lock)]);
    }

    #[test]
    fn garbage_collection_is_named_by_threads_and_functions() {
        for (thread, function) in [
            ("GC Thread#0", "start_thread"),
            ("VM Thread", "start_thread"),
            ("node", "v8::internal::MarkCompactCollector::MarkLiveObjects"),
            ("server", "runtime.gcBgMarkWorker"),
            ("python3", "gc_collect_main"),
        ] {
            let calls = [(0, thread, 20), (1, function, 20), (0, "main", 80)];
            assert_eq!(kinds(&calls), [(0.2, Cause::GarbageCollection)], "{thread}");
        }
    }

    /// As Go's allocator and collector call each other.
    #[test]
    fn what_a_collector_does_is_not_allocation_and_no_lock() {
        let calls = [
            (0, "server", 100),
            (1, "main.handler", 70),
            (2, "runtime.mallocgc", 65),
            (3, "runtime.deductAssistCredit", 50),
            (4, "runtime.gcAssistAlloc", 50),
            (5, "runtime.lock2", 15),
            (3, "runtime.nextFreeFast", 15),
            (1, "runtime.gcBgMarkWorker", 30),
            (2, "runtime.mallocgc", 10),
        ];
        assert_eq!(kinds(&calls), [(0.8, Cause::GarbageCollection), (0.15, Cause::MemoryAllocation)]);
    }

    #[test]
    fn a_lock_for_which_code_waited_is_named_with_its_user() {
        let calls = [
            (0, "server", 100),
            (1, "net/http.(*conn).serve", 60),
            (2, "main.handler", 50),
            (3, "sync.(*Mutex).Unlock", 3),
            (4, "internal/sync.(*Mutex).unlockSlow", 3),
            (3, "internal/sync.(*Mutex).lockSlow", 1),
        ];
        let expected = ContendedLock { share: 0.04, user: Some("main.handler".to_owned()) };
        assert_eq!(contended_lock(&profile(&calls)), Some(expected));
        assert_eq!(contended_lock(&profile(&calls[..3])), None);
        let alone = contended_lock(&profile(&[(0, "server", 9), (1, "__lll_lock_wait", 9)])).unwrap();
        assert_eq!(alone, ContendedLock { share: 0.09, user: None });
    }

    #[test]
    fn a_lock_with_few_samples_is_not_named() {
        let with = |samples: u64| {
            let mut long = profile(&[(0, "server", 100), (1, "main.handler", 90), (2, "lockSlow", 0)]);
            long.samples = 20_000;
            long.calls[2].samples = samples;
            contended_lock(&long).map(|lock| lock.share)
        };
        assert_eq!([with(1), with(9)], [None, None]);
        assert_eq!(with(10), Some(0.0005));
    }
}
