//! Fuzz targets for all code that reads bytes from outside.
//!
//! Each module except `scratch` is a target: a function that panics if the code under test violates a property.
//! [`for_each_target`] lists them. The tests of this crate run every target on its seeds and on a few thousand
//! mutations of them; `scripts/fuzz` runs them under libFuzzer (`fuzz/libfuzzer/`), which looks for inputs that reach
//! new code.

mod access_log;
mod archive;
mod balancer;
mod board_entry;
mod chunked;
mod events;
mod gc_log;
mod generator_output;
mod grpc_messages;
mod histogram;
mod http2_fields;
mod http2_frames;
mod http3_stream;
mod imported_report;
mod job;
mod manifest;
mod metrics_page;
mod perf_script;
mod plan;
mod proc_text;
mod record;
mod report;
mod request_file;
mod response;
mod schedule;
mod scratch;
mod store_document;
mod template;
mod tls_records;
mod url;
mod websocket;
mod workload;

use arbitrary::{Arbitrary, Unstructured};

/// Calls a macro with the list of all targets: `name: number of mutations in a test,`. The compiler reports a module
/// that is missing here.
///
/// The numbers are below 2,500 for slow targets, so that all tests together take at most 15 s of CPU time.
#[macro_export]
macro_rules! for_each_target {
    ($call:ident) => {
        $call! {
            access_log: 2_500,
            archive: 800,
            balancer: 2_500,
            board_entry: 2_500,
            chunked: 2_500,
            events: 2_500,
            gc_log: 2_500,
            generator_output: 2_500,
            grpc_messages: 2_500,
            histogram: 2_500,
            http2_fields: 2_500,
            http2_frames: 2_500,
            http3_stream: 2_500,
            imported_report: 2_500,
            job: 2_500,
            manifest: 2_500,
            metrics_page: 2_500,
            perf_script: 2_500,
            plan: 2_500,
            proc_text: 2_500,
            record: 1_500,
            report: 800,
            request_file: 2_500,
            response: 2_500,
            schedule: 2_500,
            store_document: 1_500,
            template: 2_500,
            tls_records: 2_500,
            url: 2_500,
            websocket: 2_500,
            workload: 2_500,
        }
    };
}

/// A fuzz target.
pub struct Target {
    /// The name of its module, and of its folders in `fuzz/seeds`, `fuzz/corpus` and `fuzz/artifacts`.
    pub name: &'static str,
    /// Runs it on an input; panics if a property is violated.
    pub run: fn(&[u8]),
    /// Number of mutated seeds that a test runs.
    pub mutations: usize,
}

macro_rules! table {
    ($($name:ident: $mutations:literal,)*) => {
        /// All targets.
        pub const TARGETS: &[Target] = &[$(Target {
            name: stringify!($name),
            run: |bytes| run_typed(bytes, $name::run),
            mutations: $mutations,
        }),*];
    };
}
for_each_target!(table);

/// Runs a target on the input that these bytes encode: text ends at the first byte that is not UTF-8. Bytes that encode
/// no input are ignored.
fn run_typed<'a, Input: Arbitrary<'a>>(bytes: &'a [u8], run: impl FnOnce(Input)) {
    if let Ok(input) = Input::arbitrary_take_rest(Unstructured::new(bytes)) {
        run(input);
    }
}
