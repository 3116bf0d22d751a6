//! Converts the messages of a job to those of the engine, and makes the request that opens a WebSocket.

use crate::content::ContentReader;
use crate::requests::{CompileError, check, read_lines, request, without_literals};
use crate::{Inputs, RunError};
use paceline_engine::{BodyCheck, RequestKind, Requests, ResponseCheck, UpgradeRequest};
use paceline_http::websocket::{MessageType, SUBPROTOCOL_FIELD};
use paceline_http::{LineFiles, Request, RequestTemplate};
use paceline_job::{AnswerRule, Job, RequestSpec};
use std::sync::Arc;

/// The status of an answer to an upgrade request, with which the answers to messages are counted.
const SWITCHING_PROTOCOLS: u16 = 101;

/// Prepares the messages of a job.
pub(crate) fn messages(job: &Job, inputs: &mut Inputs) -> Result<Requests, RunError> {
    let kind = if job.websocket.binary { MessageType::Binary } else { MessageType::Text };
    let mut files = LineFiles::default();
    let mut contents = ContentReader::default();
    let mut kinds = Vec::new();
    let mut upgrade = None;
    for spec in &job.requests {
        let invalid = |error: CompileError| {
            if job.is_mix() { error.of_request(spec) } else { error.into() }
        };
        // The body of a message is never read while it is sent.
        let (request, _) = request(job, spec, &mut contents, inputs)?;
        if !spec.literal {
            read_lines(&request, spec, &mut files, inputs).map_err(invalid)?;
        }
        let request = without_literals(&request, spec);
        let template = request.compile_message(kind, &files).map_err(|error| invalid(error.into()))?;
        let body = answer_check(job, spec, &template, &mut contents, inputs)?;
        let check = ResponseCheck { status: Some(SWITCHING_PROTOCOLS), body };
        kinds.push(RequestKind { weight: spec.weight, template, method: request.method_kind(), check });
        if upgrade.is_none() {
            upgrade = Some(upgrade_request(&request, kind, &files).map_err(invalid)?);
        }
    }
    let requests = Requests::from_kinds(kinds, files.count());
    Ok(match upgrade {
        Some(upgrade) => requests.with_upgrade(upgrade),
        None => requests,
    })
}

/// The request that opens the connections.
fn upgrade_request(
    request: &Request,
    kind: MessageType,
    files: &LineFiles,
) -> Result<UpgradeRequest, CompileError> {
    let offers = |name: &str| name.eq_ignore_ascii_case(SUBPROTOCOL_FIELD);
    let offered = request.headers.iter().filter(|(name, _)| offers(name));
    Ok(UpgradeRequest {
        template: request.compile_upgrade(files)?,
        subprotocols: offered.map(|(_, value)| value.clone()).collect(),
        kind,
    })
}

/// The check of the answers to a message: as expected, or else equal to the message.
fn answer_check(
    job: &Job,
    spec: &RequestSpec,
    template: &RequestTemplate,
    contents: &mut ContentReader,
    inputs: &mut Inputs,
) -> Result<BodyCheck, RunError> {
    if spec.stream.is_some() || spec.expect_body.is_some() {
        return check(job, spec, contents, inputs);
    }
    Ok(match (job.websocket.answer, template.as_fixed()) {
        (AnswerRule::Any, _) => BodyCheck::Any,
        (AnswerRule::Next | AnswerRule::Match, Some(message)) => BodyCheck::Exact(Arc::from(message)),
        (AnswerRule::Next | AnswerRule::Match, None) => BodyCheck::Echo,
    })
}
