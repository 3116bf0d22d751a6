//! Flags of gRPC: the schema of its messages, and the expected status.

use paceline_http::GrpcCode;
use paceline_job::{Job, Protocol};
use std::path::PathBuf;

/// How the body of a call becomes a message, and how a call has to end.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "WebSocket and gRPC")]
pub struct GrpcFlags {
    /// A grpc:// service (.proto); may be repeated [default: ask it]
    ///
    /// --body has the message as JSON, and {line:FILE} in it stands for the next line of a file; for a stream of requests
    /// it has a list. Without --proto the server is asked for its schema (server reflection). -H adds metadata:
    /// 'grpc-timeout: 500m' sets a deadline, 'grpc-encoding: gzip' compresses the message. docs/streams.md has examples.
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    proto: Vec<PathBuf>,

    /// Folder of its imports; may be repeated [default: the file's]
    #[arg(hide_short_help = true, long, value_name = "DIR")]
    proto_path: Vec<PathBuf>,

    /// --body is an encoded message, without its length prefix
    #[arg(hide_short_help = true, long)]
    grpc_raw: bool,

    /// Required status, such as NOT_FOUND or 5 [default: OK]
    #[arg(hide_short_help = true, long, value_name = "STATUS", value_parser = code)]
    expect_grpc_status: Option<GrpcCode>,
}

impl GrpcFlags {
    /// Puts the flags that were given into a job. Calls use HTTP/2, unless another version was `given`.
    pub fn fill(&self, job: &mut Job, given: Option<Protocol>) {
        let Self { proto, proto_path, grpc_raw, expect_grpc_status } = self;
        if !proto.is_empty() {
            job.grpc.proto.clone_from(proto);
        }
        if !proto_path.is_empty() {
            job.grpc.proto_path.clone_from(proto_path);
        }
        job.grpc.raw |= grpc_raw;
        if expect_grpc_status.is_some() {
            job.requests.iter_mut().for_each(|request| request.expect_grpc_status = *expect_grpc_status);
        }
        if job.url.scheme.is_grpc() && given.is_none() {
            job.protocol = Protocol::Http2;
        }
    }
}

fn code(text: &str) -> Result<GrpcCode, String> {
    let names = || GrpcCode::ALL.map(GrpcCode::name).join(", ");
    GrpcCode::parse(text).ok_or_else(|| format!("the statuses of gRPC are {}, or their numbers", names()))
}
