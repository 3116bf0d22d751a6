//! The causes that a step of `paceline why` can name.

use paceline_judge::VerdictName;
use paceline_record::{Verdict, WaitKind};
use schemars::JsonSchema;
use serde::Serialize;

/// What makes requests slow, or keeps the server from answering more of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A lock, for which requests wait.
    Lock,
    /// A wait that grows with the load: a pool, a consumer, or a lock that was not seen.
    Pool,
    /// A sleep or a timer of each request.
    Sleep,
    /// Reading, writing or syncing a file.
    File,
    /// Looking up names at a name server.
    NameLookup,
    /// Waiting for another service.
    Service,
    /// Many messages to another service for each request.
    ManyCalls,
    /// A wait that is the same at both rates, whose reason was not seen.
    FixedWait,
    /// One thread does most of the work.
    OneThread,
    /// Garbage collection.
    GarbageCollection,
    /// Allocating and freeing memory.
    MemoryAllocation,
    /// Opening connections.
    NewConnections,
    /// Many system calls for each request.
    SystemCalls,
    /// The CPU limit of the server's control group.
    CpuLimit,
    /// The server's queue of connections that it has not accepted yet.
    ListenQueue,
    /// Attempts to connect that got no answer.
    LostPackets,
    /// Delayed acknowledgements of TCP between two writes of the server.
    DelayedAck,
    /// Pages of the server's memory that were read from a disk.
    MajorFaults,
    /// Connections that the server closes after a response.
    KeepAlive,
    /// What limited the closed loop: the `kind` of the limit.
    Limit,
    /// What a verdict on one of the loads says.
    Verdict,
    /// There is no profile, so that functions are not known.
    NoProfile,
}

/// Verdicts that name a cause, most of them notes.
const CAUSES: [(VerdictName, Cause); 6] = [
    (VerdictName::ServerThrottled, Cause::CpuLimit),
    (VerdictName::ListenOverflows, Cause::ListenQueue),
    (VerdictName::SynRetransmits, Cause::LostPackets),
    (VerdictName::DelayedAck, Cause::DelayedAck),
    (VerdictName::MajorFaults, Cause::MajorFaults),
    (VerdictName::KeepAliveRefused, Cause::KeepAlive),
];

impl Cause {
    /// The cause that a verdict names, if it names one.
    pub(crate) fn of_verdict(verdict: &Verdict) -> Option<Self> {
        let name = VerdictName::parse(&verdict.name)?;
        CAUSES.iter().find(|(known, _)| *known == name).map(|(_, cause)| *cause)
    }

    /// The cause of a wait of threads.
    pub(crate) fn of_wait(kind: WaitKind) -> Self {
        match kind {
            WaitKind::Lock => Self::Lock,
            WaitKind::Timer => Self::Sleep,
            WaitKind::File => Self::File,
            WaitKind::NameLookup => Self::NameLookup,
            WaitKind::Service => Self::Service,
        }
    }
}
