//! TLS: a transport around a transport. The worker sees plain bytes; what goes over the wire is rustls's affair.
//!
//! [`crate::run`] puts it around the kernel's transport where a target is spoken to by TLS. The worker is compiled a
//! second time for it, so that plain text pays nothing. A connection is made when its handshake is: until then the slot
//! is connecting. It reads no file: certificates and keys come as bytes in [`TlsSettings`].
//!
//! What differs from plain text: rustls allocates a buffer for each record it sends or receives, and its cryptography is
//! CPU time of the generator.

mod certificate;
mod fault;
mod outcome;
mod session;
mod settings;
mod tickets;
mod transport;
mod tunnel;

pub use fault::{TlsError, TlsFault};
pub use outcome::{TlsAgreed, TlsOutcome};
pub use paceline_job::TlsVersion;
pub use settings::{Identity, TlsAsked, TlsSettings, Trust};
pub use transport::Tls;
