//! What the kernel of the generator's machine counted of lost and repeated packets during a run. What it counted on the
//! run's own connections is beside those, in `generator.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counts of the kernel of the generator's machine, from before the first connection to the end of the window. They are
/// those of its network namespace, of other programs too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelCounts {
    /// Connection attempts that were repeated, because no answer came: after 1, 3 and 7 s.
    pub syn_retransmits: u64,
    /// Segments of TCP that were sent again, handshakes included.
    pub retransmits: u64,
    /// Handshakes that were dropped at a listening socket, for any reason.
    pub listen_drops: u64,
    /// Packets that were dropped before any protocol read them, because the queue of a core was full; on the whole machine.
    pub packets_dropped: u64,
    /// Datagrams that were dropped because the buffer of their socket was full.
    pub udp_buffer_errors: u64,
}
