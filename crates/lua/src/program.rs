//! The program of one thread: what the engine calls.

use crate::calls;
use crate::error::ScriptError;
use crate::interrupt::RunWatch;
use crate::request_text;
use crate::state::State;
use crate::thread::SharedThread;
use paceline_engine::Nanos;
use paceline_engine::script::{RequestScript, ScriptedResponse};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The longest pause: a day.
const MAX_DELAY_MS: f64 = 86_400_000.0;

/// Further reasons are counted together.
const MAX_REASONS: usize = 100;
/// Their name.
const OTHER_REASONS: &str = "other reasons";

/// One thread's state of Lua, and its thread.
#[derive(Debug)]
pub struct ScriptThread {
    pub state: State,
    pub shared: Arc<SharedThread>,
}

/// The program of one thread.
pub struct Program {
    pub thread: Arc<ScriptThread>,
    /// The request, if it is the same every time.
    pub fixed: Option<Vec<u8>>,
    pub watch: Arc<RunWatch>,
    /// The file, for errors.
    pub file: Arc<str>,
    pub has_begun: bool,
    /// The reasons for which responses were refused, if functions get the table of a connection.
    pub checks: Option<Arc<FailedChecks>>,
    /// Whether a request was made.
    pub has_made: bool,
    /// The head of a response, for the names of its fields.
    pub head: Vec<u8>,
}

/// How often responses of the window were refused for a reason, in all threads.
#[derive(Debug, Default)]
pub struct FailedChecks(Mutex<BTreeMap<String, u64>>);

impl FailedChecks {
    fn count(&self, reason: &str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = counts.contains_key(reason) || counts.len() < MAX_REASONS;
        *counts.entry(if is_known { reason } else { OTHER_REASONS }.to_owned()).or_default() += 1;
    }

    /// The reasons with their counts, the most frequent first.
    pub fn counted(&self) -> Vec<(String, u64)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counted: Vec<_> = counts.iter().map(|(reason, count)| (reason.clone(), *count)).collect();
        counted.sort_by_key(|(_, count)| Reverse(*count));
        counted
    }
}

impl Program {
    /// Calls the script, with its file. A failure stops the run.
    #[inline]
    fn called<R>(&mut self, call: impl FnOnce(&mlua::Lua, &str) -> Result<R, ScriptError>) -> Option<R> {
        if !self.has_begun {
            self.has_begun = true;
            self.watch.begin();
        }
        let inside = self.thread.state.calls.enter();
        let called = call(&self.thread.state.lua, &self.file);
        drop(inside);
        called.map_err(|error| self.fail(&error)).ok()
    }

    #[cold]
    fn fail(&self, error: &ScriptError) {
        self.watch.fail(error.to_string());
    }
}

/// Checks that a text is one request.
fn check_single(file: &str, text: &[u8]) -> Result<(), ScriptError> {
    match request_text::count(text) {
        Ok(1) => Ok(()),
        Ok(several) => Err(ScriptError::SeveralRequests(file.to_owned(), several)),
        Err(error) => Err(ScriptError::Lua(format!("{file}: request(): {error}"))),
    }
}

impl RequestScript for Program {
    fn request(&mut self, user: usize, bytes: &mut Vec<u8>) -> Option<u16> {
        if let Some(fixed) = &self.fixed {
            bytes.extend_from_slice(fixed);
            return Some(0);
        }
        let user = self.checks.is_some().then_some(user);
        let is_first = user.is_some() && !std::mem::replace(&mut self.has_made, true);
        self.called(|lua, file| {
            calls::request(lua, file, user, bytes)?;
            if is_first { check_single(file, bytes) } else { Ok(()) }
        })
        .map(|()| 0)
    }

    fn delay(&mut self) -> Nanos {
        let ms = self.called(|lua, _| calls::delay(lua)).unwrap_or(0.0);
        Nanos::from_millis(ms.clamp(0.0, MAX_DELAY_MS) as u64)
    }

    fn response(&mut self, user: usize, response: &ScriptedResponse<'_>) -> Option<String> {
        let ScriptedResponse { status, head, body, is_windows } = *response;
        let Some(checks) = self.checks.clone() else {
            self.called(|lua, _| calls::response(lua, status, head, body));
            return None;
        };
        let mut lowered = std::mem::take(&mut self.head);
        lowered.clear();
        lowered.extend_from_slice(head);
        let refusal = self.called(|lua, _| calls::refusal(lua, user, status, &mut lowered, body)).flatten();
        self.head = lowered;
        if is_windows {
            refusal.iter().for_each(|reason| checks.count(reason));
        }
        refusal
    }

    fn has_stopped(&self) -> bool {
        self.thread.shared.has_stopped() || self.watch.has_failed()
    }
}
