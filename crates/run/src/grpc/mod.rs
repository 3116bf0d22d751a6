//! The calls of a `grpc://` URL: request bodies in JSON become messages, and the methods decide which responses are
//! streams.
//!
//! The schema comes from `.proto` files or from the server (`reflection.rs`). Everything is encoded before the run. A
//! body with `{line:FILE}` becomes one message for each line of the file, of which each request sends the next.

mod fields;
mod reflection;

use crate::content::ContentReader;
use crate::content::read;
use crate::target::Destination;
use crate::{Inputs, RunError};
use fields::CallFields;
use paceline_engine::{CallCheck, decoded};
use paceline_files::without_byte_order_mark;
use paceline_grpc::{Method, Schema, SourceFiles};
use paceline_http::{
    COMPRESSED_FLAG, ContentCoding, EventStep, GrpcCode, LineFiles, MessageReader, Request, framed_message,
};
use paceline_job::{BodyExpectation, Content, Job, RequestSpec, StreamFormat, StreamSpec};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The calls of a run.
#[derive(Debug)]
pub(crate) struct Calls {
    /// By request; none if its body is an encoded message.
    methods: Vec<Option<Method>>,
}

impl Calls {
    /// Finds the methods of a job's requests; none if they are no calls. A response with several messages is a stream.
    pub(crate) fn find(
        job: &mut Job,
        destination: &Destination,
        inputs: &mut Inputs,
    ) -> Result<Option<Self>, RunError> {
        if !job.url.scheme.is_grpc() {
            return Ok(None);
        }
        let methods = if job.grpc.raw {
            vec![None; job.requests.len()]
        } else {
            let schema = schema(job, destination, inputs)?;
            let path = |spec: &RequestSpec| spec.path.clone().unwrap_or_else(|| job.url.path.clone());
            let method = |spec| schema.method(&path(spec)).map(Some);
            let found: Result<_, _> = job.requests.iter().map(method).collect();
            found.map_err(|error| {
                RunError::usage("the call is not possible")
                    .because(error)
                    .hint("write the URL as grpc://HOST:PORT/package.Service/Method")
            })?
        };
        for (spec, method) in job.requests.iter_mut().zip(&methods) {
            "POST".clone_into(&mut spec.method);
            if method.as_ref().is_some_and(Method::is_server_streaming) && spec.stream.is_none() {
                spec.stream = Some(StreamSpec::new(StreamFormat::Messages));
            }
        }
        Ok(Some(Self { methods }))
    }

    /// The request of a call, made from the `plain` one, with its body as messages.
    pub(crate) fn request(
        &self,
        kind: usize,
        spec: &RequestSpec,
        plain: Request,
        files: &mut LineFiles,
        inputs: &mut Inputs,
    ) -> Result<Request, RunError> {
        let fields = CallFields::of_request(spec)?;
        let bodies = match &self.methods[kind] {
            None => vec![fields.frame(&plain.body)?],
            Some(method) => {
                let encode = |json: &str| {
                    let messages = method.encode_request(json).map_err(|error| not_encoded(spec, error))?;
                    messages.iter().map(|message| fields.frame(message)).collect::<Result<Vec<_>, _>>()
                };
                let texts = texts(spec, plain.body.clone(), inputs)?;
                texts.iter().map(|json| Ok(encode(json)?.concat())).collect::<Result<Vec<_>, RunError>>()?
            }
        };
        let body = match bodies.as_slice() {
            [only] if spec.literal => only.clone(),
            [only] => Request { body: only.clone(), ..placeholders_of_body() }.with_doubled_braces().body,
            _ => {
                let name = format!("messages of request {kind}");
                files.add_records(&name, &bodies);
                format!("{{line:{name}}}").into_bytes()
            }
        };
        Ok(Request { body, headers: fields.all(plain.headers), omit: vec!["Accept".to_owned()], ..plain })
    }

    /// The check of the response to a call.
    pub(crate) fn check(
        &self,
        kind: usize,
        spec: &RequestSpec,
        contents: &mut ContentReader,
        inputs: &mut Inputs,
    ) -> Result<CallCheck, RunError> {
        let code = spec.expect_grpc_status.unwrap_or(GrpcCode::Ok);
        let message = match &spec.expect_body {
            None => None,
            Some(BodyExpectation::Exact(content)) => {
                Some(self.expected(kind, spec, content, contents, inputs)?)
            }
            Some(_) => {
                return Err(RunError::usage(
                    "the response to a call of gRPC can only be compared with a message",
                )
                .hint("use --expect-body with the JSON of the message"));
            }
        };
        Ok(CallCheck { code, accepts_gzip: CallFields::of_request(spec)?.accepts_gzip(), message })
    }

    /// The expected message, with its prefix.
    fn expected(
        &self,
        kind: usize,
        spec: &RequestSpec,
        content: &Content,
        contents: &mut ContentReader,
        inputs: &mut Inputs,
    ) -> Result<std::sync::Arc<[u8]>, RunError> {
        if spec.stream.is_some() {
            return Err(RunError::usage("--expect-body cannot be combined with a stream of messages"));
        }
        let bytes = contents.read("--expect-body", content, inputs)?;
        let message = match &self.methods[kind] {
            None => bytes,
            Some(method) => method
                .encode_response(&String::from_utf8_lossy(without_byte_order_mark(&bytes)))
                .map_err(|error| RunError::usage("--expect-body").because(error))?,
        };
        Ok(framed_message(0, &message).into())
    }

    /// The messages in the body of a response as JSON, a line each; none if their type is not known.
    pub(crate) fn decoded(&self, kind: usize, body: &[u8]) -> Option<Vec<String>> {
        let method = self.methods.get(kind)?.as_ref()?;
        let shown = |(flag, message): &(u8, Vec<u8>)| {
            let coding = if *flag == COMPRESSED_FLAG { ContentCoding::Gzip } else { ContentCoding::Identity };
            match decoded(coding, message).map(|message| method.decode_response(&message)) {
                Ok(Ok(value)) => value.to_string(),
                Ok(Err(error)) => error.to_string(),
                Err(error) => error.to_string(),
            }
        };
        Some(messages(body).iter().map(shown).collect())
    }
}

/// The whole messages of a body, without their prefixes, each with its flag.
fn messages(mut body: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let (mut messages, mut current) = (Vec::new(), Vec::new());
    let mut reader = MessageReader::new();
    loop {
        let (step, consumed) = reader.next(body);
        body = &body[consumed..];
        match step {
            EventStep::NeedMore => return messages,
            EventStep::Data(data) => current.extend_from_slice(data),
            EventStep::End => {
                messages.push((reader.flags(), std::mem::take(&mut current)));
                reader = MessageReader::new();
            }
        }
    }
}

/// A request body that is no message.
fn not_encoded(spec: &RequestSpec, error: paceline_grpc::SchemaError) -> RunError {
    let request = spec.name.as_ref().map_or_else(|| "--body".to_owned(), |name| format!("request `{name}`"));
    RunError::usage(request).because(error).hint("--grpc-raw sends a body that is already encoded")
}

/// The texts of a body: one, or one for each line of the file that it names. An empty body is the empty message.
fn texts(spec: &RequestSpec, body: Vec<u8>, inputs: &mut Inputs) -> Result<Vec<String>, RunError> {
    let text = paceline_files::text(body).map_err(|error| {
        RunError::usage(format!("request `{}`: the body is not text", spec.shown_name()))
            .because(error)
            .hint("write the message as JSON; --grpc-raw sends a body that is already encoded")
    })?;
    let text = if text.trim().is_empty() { "{}".to_owned() } else { text };
    if spec.literal {
        return Ok(vec![text]);
    }
    let named = Request { body: text.clone().into_bytes(), ..placeholders_of_body() };
    let files = named.line_files().map_err(|error| RunError::usage(error.to_string()))?;
    let texts = match files.as_slice() {
        [] => vec![text],
        [file] => lines(spec, file, inputs)?
            .iter()
            .map(|line| text.replace(&format!("{{line:{file}}}"), line))
            .collect(),
        _ => {
            return Err(RunError::usage("a message can take lines of one file only")
                .hint("put whole messages in one file, and use {line:FILE} as the body"));
        }
    };
    texts.into_iter().map(fixed_text).collect()
}

/// A request for reading the placeholders of a body.
fn placeholders_of_body() -> Request {
    Request { method: "POST".to_owned(), ..Request::get(&Job::default().url) }
}

/// The lines of a file that a body names.
fn lines(spec: &RequestSpec, file: &str, inputs: &mut Inputs) -> Result<Vec<String>, RunError> {
    let path = spec.folder.as_ref().map_or_else(|| PathBuf::from(file), |folder| folder.join(file));
    let named_by = format!("{{line:{file}}}");
    let wrong = || RunError::usage(format!("{named_by}: cannot read {}", path.display()));
    let bytes = read(&named_by, &path, inputs).map_err(|error| wrong().because(error))?;
    let text = paceline_files::text(bytes).map_err(|error| wrong().because(error))?;
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() { Err(wrong().because("the file has no line")) } else { Ok(lines) }
}

/// A text whose braces are not doubled; an error if it has a placeholder: the length of a message would differ in each
/// request, so that it cannot be encoded before the run.
fn fixed_text(text: String) -> Result<String, RunError> {
    let request = Request { body: text.into_bytes(), ..placeholders_of_body() };
    let template =
        request.compile(&LineFiles::default()).map_err(|error| RunError::usage(error.to_string()))?;
    let fixed = template.as_fixed().and_then(|bytes| {
        let head = memchr::memmem::find(bytes, b"\r\n\r\n")? + 4;
        std::str::from_utf8(&bytes[head..]).ok().map(str::to_owned)
    });
    fixed.ok_or_else(|| {
        RunError::usage(
            "a message of gRPC cannot have {seq}, {rand:...} or {var:...}: it is encoded before the run",
        )
        .hint(
            "write one message per line to a file, and send them in turn with {line:FILE}; or use --literal",
        )
    })
}

/// The schema of the services, from files or from the server.
fn schema(job: &Job, destination: &Destination, inputs: &mut Inputs) -> Result<Schema, RunError> {
    if job.grpc.proto.is_empty() {
        return reflection::schema(job, destination);
    }
    let reader = ReadFiles(Mutex::new(inputs));
    Schema::from_sources(&job.grpc.proto, &job.grpc.proto_path, &reader)
        .map_err(|error| RunError::usage("--proto").because(error))
}

/// Reads `.proto` files.
struct ReadFiles<'i>(Mutex<&'i mut Inputs>);

impl SourceFiles for ReadFiles<'_> {
    fn read(&self, path: &Path) -> std::io::Result<Option<String>> {
        let mut inputs = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match inputs.read_text("--proto", path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_messages_are_taken_from_a_body() {
        let body = [framed_message(0, b"one"), framed_message(1, b""), framed_message(0, b"cut")].concat();
        assert_eq!(messages(&body[..body.len() - 1]), [(0, b"one".to_vec()), (1, Vec::new())]);
    }

    #[test]
    fn bodies_are_encoded_before_the_run() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ids"), "1\n2\n").unwrap();
        let of = |body: &str| {
            let spec = RequestSpec { folder: Some(folder.path().to_owned()), ..RequestSpec::default() };
            texts(&spec, body.as_bytes().to_vec(), &mut Inputs::default()).map_err(|error| error.to_string())
        };
        assert_eq!(of("").unwrap(), ["{}"]);
        assert_eq!(of("{\"a\": {\"b\": 1}}").unwrap(), ["{\"a\": {\"b\": 1}}"]);
        assert_eq!(of("{\"id\": {line:ids}}").unwrap(), ["{\"id\": 1}", "{\"id\": 2}"]);
        assert_eq!(of("{line:ids}").unwrap(), ["1", "2"]);
        std::fs::write(folder.path().join("marked"), "\u{feff}1\r\n2").unwrap();
        assert_eq!(of("\u{feff}{line:marked}").unwrap(), ["1", "2"]);
        assert!(of("{\"id\": {seq}}").unwrap_err().contains("{seq}"));
        assert!(of("{\"id\": {rand:1:9}}").unwrap_err().contains("encoded before the run"));
        assert!(of("{\"id\": {line:none}}").unwrap_err().contains("cannot read"));
    }
}
