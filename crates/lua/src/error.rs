//! Errors of scripts, as text that names file and line.

use mlua::Lua;
use std::io;

/// The beginning of the names of functions that mlua puts between a script and a function of this crate.
const INTERNAL: &str = "__mlua";
/// The most levels of the stack in which the place in the script is searched.
const MAX_LEVELS: usize = 4;

/// The reason why a script cannot be used, or ended.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// Lua reports an error: in the text of the script, or while it ran.
    #[error("{0}")]
    Lua(String),
    /// The text that is to be sent is not a request, at a line and a column of it.
    #[error("{reason} at {line}:{column}")]
    Request {
        /// What is wrong.
        reason: &'static str,
        /// The line, from 1 on.
        line: usize,
        /// The column, from 1 on.
        column: usize,
    },
    /// A function returned a value of another type.
    #[error("{file}: {function}() returned {found} instead of {expected}")]
    Result {
        /// The file of the script.
        file: String,
        /// The function.
        function: &'static str,
        /// The type of the value.
        found: String,
        /// What it has to return.
        expected: &'static str,
    },
    /// Several requests at once, in an open loop.
    #[error(
        "{0}: request() returns {1} requests at once, which a rate (-R) cannot send: return one, or use wrk"
    )]
    BatchWithRate(String, u16),
    /// Several requests at once, for the table of one connection.
    #[error("{0}: request() returns {1} requests at once: return one")]
    SeveralRequests(String, u16),
    /// `delay()`, which `paceline run` does not call.
    #[error("{0}: delay() is not called: use --think, or `paceline wrk -s`")]
    Delay(String),
    /// A thread could not be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
}

impl From<mlua::Error> for ScriptError {
    /// An error of Lua, without the stack.
    fn from(error: mlua::Error) -> Self {
        Self::Lua(message(&error))
    }
}

fn message(error: &mlua::Error) -> String {
    match error {
        mlua::Error::CallbackError { cause, .. } => message(cause),
        mlua::Error::RuntimeError(text) | mlua::Error::MemoryError(text) => without_stack(text),
        mlua::Error::SyntaxError { message, .. } => without_stack(message),
        other => without_stack(&other.to_string()),
    }
}

fn without_stack(text: &str) -> String {
    text.split("\nstack traceback:").next().unwrap_or_default().trim().to_owned()
}

/// An error at the place in the script that called the running function.
pub fn located(lua: &Lua, message: &str) -> mlua::Error {
    let place = |level: usize| {
        let place = lua.inspect_stack(level, |caller| {
            let source = caller.source().short_src.map(|name| name.into_owned())?;
            Some(format!("{source}:{}: ", caller.current_line()?))
        });
        place.flatten().filter(|place| !place.starts_with(INTERNAL))
    };
    let place = (1..=MAX_LEVELS).find_map(place).unwrap_or_default();
    mlua::Error::RuntimeError(format!("{place}{message}"))
}
