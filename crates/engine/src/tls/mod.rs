//! Implements TLS as a transport around a transport. The worker sees plain bytes.
//!
//! `run.rs` puts it around the kernel's transport if the target uses TLS. The worker is compiled a second time
//! for it, so that plain text has no extra cost. A connection is open once its handshake is done: until then the slot
//! is connecting. It reads no file: certificates and keys come as bytes in [`TlsSettings`].
//!
//! rustls makes the handshakes; the records that follow are encrypted here (`records.rs`), because rustls allocates
//! memory for each. The cryptography of both is ring's, and CPU time of the generator.

mod certificate;
mod fault;
mod outcome;
mod quic;
mod records;
mod session;
mod settings;
mod tickets;
mod transport;
mod tunnel;

pub use fault::{TlsError, TlsFault};
pub use outcome::{TlsOutcome, TlsParameters};
pub use paceline_job::TlsVersion;
pub(crate) use quic::QuicTls;
pub use settings::{ClientIdentity, TlsOptions, TlsSettings, Trust};
pub use transport::TlsTransport;
