//! Asks a server for its schema (gRPC Server Reflection): one call for each file, over the engine's own HTTP/2.

use super::fields::with_required;
use crate::RunError;
use crate::exchange::{Message, over_http2};
use crate::target::Destination;
use paceline_engine::session::SessionPlan;
use paceline_engine::{
    BodyCheck, Bound, LoadModel, Nanos, RequestKind, Requests, ResponseCheck, Settings, run_tapped,
};
use paceline_grpc::Schema;
use paceline_grpc::reflection::{Description, METHODS};
use paceline_http::{
    GrpcCode, LineFiles, MESSAGE_PREFIX_BYTES, Request, RequestError, RequestTemplate, framed_message,
};
use paceline_job::{Job, RequestSpec};
use std::sync::Arc;

/// What to do if a server has no reflection.
const HINT: &str =
    "give the .proto file of the service (--proto FILE), or send an encoded message (--grpc-raw)";

/// Asks the server of a job for the schema of the services that it calls.
pub(super) fn schema(job: &Job, destination: &Destination) -> Result<Schema, RunError> {
    let paths = job.requests.iter().map(|spec| spec.path.as_deref().unwrap_or(&job.url.path));
    let invalid = |error| {
        RunError::usage("the URL names no method")
            .because(error)
            .hint("write the URL as grpc://HOST:PORT/package.Service/Method")
    };
    let mut description = Description::of_paths(paths).map_err(invalid)?;
    let failed = || RunError::environment(format!("server reflection at {}", destination.address)).hint(HINT);
    let mut method = METHODS[0];
    while let Some(request) = description.next_request() {
        let mut response = call(job, destination, method, &request)?;
        if response.code() == Some(GrpcCode::Unimplemented) && method != METHODS[1] {
            method = METHODS[1];
            response = call(job, destination, method, &request)?;
        }
        let Some(message) = response.content() else {
            return Err(failed().because(response.fault()));
        };
        description.add(message).map_err(|error| failed().because(error))?;
    }
    description.into_schema().map_err(|error| failed().because(error))
}

/// The response to one call of server reflection.
struct ReflectionResponse {
    message: Message,
}

impl ReflectionResponse {
    fn code(&self) -> Option<GrpcCode> {
        self.message.grpc_status()
    }

    /// Its only message, without the prefix.
    fn content(&self) -> Option<&[u8]> {
        let length = self.message.body.get(1..MESSAGE_PREFIX_BYTES)?.try_into().ok()?;
        self.message.body[MESSAGE_PREFIX_BYTES..].get(..u32::from_be_bytes(length) as usize)
    }

    /// Why it has no message.
    fn fault(&self) -> String {
        match (self.message.status, self.code()) {
            (200, Some(code)) => format!("the server answered with {code}"),
            (200, None) => "the response is not one of gRPC".to_owned(),
            (status, _) => format!("the server answered with status {status}"),
        }
    }
}

/// The request of one call, with the metadata of the job's first request, such as a token. Fields that describe its own
/// call, or the length of its body, are left out.
fn request(job: &Job, method: &str, message: &[u8]) -> Request {
    let mut metadata = job.requests.first().map(|spec| spec.headers.0.clone()).unwrap_or_default();
    metadata.retain(|(name, _)| {
        let name = name.to_ascii_lowercase();
        !name.starts_with("grpc-") && name != "content-length"
    });
    Request {
        method: "POST".to_owned(),
        path: method.to_owned(),
        headers: with_required(metadata).0,
        omit: vec!["Accept".to_owned()],
        body: framed_message(0, message),
        ..Request::get(&job.url)
    }
}

/// Makes one call on a new connection.
fn call(
    job: &Job,
    destination: &Destination,
    method: &str,
    message: &[u8],
) -> Result<ReflectionResponse, RunError> {
    let spec =
        RequestSpec { method: "POST".to_owned(), path: Some(method.to_owned()), ..RequestSpec::default() };
    let request = request(job, method, message);
    let invalid = |error: RequestError| RunError::usage(error.to_string());
    let over_http2_request = request
        .with_doubled_braces()
        .compile_http2(job.url.scheme, &LineFiles::default())
        .map_err(invalid)?;
    let kind = RequestKind {
        weight: 1,
        template: RequestTemplate::fixed(request.encode().map_err(invalid)?),
        method: request.method_kind(),
        check: ResponseCheck { status: None, body: BodyCheck::Any },
    };
    let kinds = vec![kind];
    // The tap takes sessions: one of one step.
    let plan = SessionPlan { takes_cookies: false, ..SessionPlan::of_single_steps(&kinds) };
    let requests = Requests::from_kinds(kinds, 0).with_http2(vec![over_http2_request]).with_sessions(plan);
    let requests = Arc::new(requests);
    let settings = Settings {
        tls: destination.tls.clone(),
        ..Settings::new(job.clone(), destination.address.clone(), requests)
    };
    let settings = Settings { threads: 1, ..settings }.with(|job| {
        job.requests = vec![spec];
        (job.connections, job.threads, job.depth, job.batch) = (1, 1, 1, false);
        job.connection_plan = None;
        (job.load, job.window, job.warmup) = (LoadModel::Closed, Bound::Requests(1), Nanos::ZERO);
        (job.think, job.requests_per_connection, job.share) = (None, None, None);
    });
    let (outcome, events) = run_tapped(&settings);
    outcome.map_err(RunError::Engine)?;
    let complete = over_http2(&events).into_iter().find(|message| message.complete.is_some());
    let unanswered = || {
        RunError::environment(format!("no answer to server reflection from {}", destination.address))
            .hint(HINT)
    };
    complete.map(|message| ReflectionResponse { message }).ok_or_else(unanswered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_job::Headers;

    #[test]
    fn no_field_is_sent_twice() {
        let fields = |given: &[&str]| {
            let headers = Headers(given.iter().filter_map(|field| Headers::parse(field)).collect());
            let spec = RequestSpec { headers, ..RequestSpec::default() };
            let job = Job { requests: vec![spec], ..Job::default() };
            let request = request(&job, METHODS[0], b"asked");
            request.encode().unwrap();
            request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
        };
        assert_eq!(fields(&[]), ["Content-Type: application/grpc", "TE: trailers"]);
        let given = [
            "content-type: application/grpc+proto",
            "te: trailers",
            "Grpc-Timeout: 1S",
            "content-length: 3",
            "x-token: a",
        ];
        assert_eq!(fields(&given), ["content-type: application/grpc+proto", "te: trailers", "x-token: a"]);
    }
}
