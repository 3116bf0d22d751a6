//! Runs scripts in Lua with wrk's interface (`wrk -s`, `run --lua`): they make the requests of a run and read the
//! responses.
//!
//! [`LuaScripts`] loads a script as wrk does: one state for `setup` and `done`, and one for each thread (`state.rs`,
//! `wrk.lua`). The engine calls a thread's program ([`paceline_engine::script`]); `calls.rs` passes that on to Lua. A
//! script that only sets the method, the headers or the body is never called during the run: its request is prepared
//! once.
//!
//! Errors name file and line. A call that does not return is ended when the run is over (`interrupt.rs`).

mod address;
mod calls;
mod error;
mod interrupt;
mod program;
mod request_text;
mod scripts;
mod state;
mod statistics;
mod thread;
#[cfg(target_env = "musl")]
mod unwind;

pub use error::ScriptError;
pub use interrupt::RunWatch;
pub use scripts::LuaScripts;
