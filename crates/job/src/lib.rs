//! The settings of a run: one description, which flags fill in, the engine reads and records contain.
//!
//! [`Job`] is plain data with serde. [`Job::check`] validates it once and returns all its problems. This crate does not
//! open files, resolve names or read the machine's state; the run crate does.

mod check;
mod connection_plan;
mod duration;
mod file;
mod form;
mod grpc;
mod job;
mod load;
mod path_pattern;
mod replay;
mod request;
mod segment;
mod shape;
mod stream;
mod target;
mod time;
mod websocket;

pub use check::{JobError, JobProblem, MAX_STREAMS};
pub use connection_plan::{ConnectionPart, ConnectionPlan};
pub use duration::{DurationError, MAX_DURATION, format_duration, parse_duration};
pub use file::JobFileError;
pub use form::{FormError, FormFault, JsonForm};
pub use grpc::GrpcSpec;
pub use job::{Bound, FragmentSpec, Job, PaceChoice, PaceKind, Protocol, Timestamps};
pub use load::{Arrivals, Distribution, LoadModel, LoaderShare, Think};
pub use paceline_http::{GrpcCode, MAX_CHUNK_BYTES};
pub use path_pattern::{PathPattern, PathPatternError};
pub use replay::{LogTime, LogTimeError, ReplaySpec};
pub use request::{
    BodyExpectation, Content, ExpectedValue, ExtractFrom, Extraction, FormPart, Headers, MASKED,
    PointerError, RequestSpec, check_pointer, hexadecimal,
};
pub use segment::LoadSegment;
pub use shape::{RatePart, Shape, Trace};
pub use stream::{StreamFormat, StreamSpec};
pub use target::{IpVersion, Proxy, ProxyError, TlsSpec, TlsVersion};
pub use time::{Nanos, Rate};
pub use websocket::{AnswerRule, WebSocketSpec};
