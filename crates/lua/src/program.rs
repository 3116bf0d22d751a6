//! The program of one thread: what the engine calls.

use crate::calls;
use crate::error::ScriptError;
use crate::interrupt::RunWatch;
use crate::state::State;
use crate::thread::SharedThread;
use paceline_engine::Nanos;
use paceline_engine::script::RequestScript;
use std::sync::Arc;

/// The longest pause: a day.
const MAX_DELAY_MS: f64 = 86_400_000.0;

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

impl RequestScript for Program {
    fn request(&mut self, bytes: &mut Vec<u8>) -> bool {
        if let Some(fixed) = &self.fixed {
            bytes.extend_from_slice(fixed);
            return true;
        }
        self.called(|lua, file| calls::request(lua, file, bytes)).is_some()
    }

    fn delay(&mut self) -> Nanos {
        let ms = self.called(|lua, _| calls::delay(lua)).unwrap_or(0.0);
        Nanos::from_millis(ms.clamp(0.0, MAX_DELAY_MS) as u64)
    }

    fn response(&mut self, status: u16, head: &[u8], body: &[u8]) {
        self.called(|lua, _| calls::response(lua, status, head, body));
    }

    fn has_stopped(&self) -> bool {
        self.thread.shared.has_stopped() || self.watch.has_failed()
    }
}
