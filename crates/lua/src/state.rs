//! One state of Lua with the table `wrk`, in which a script is loaded.

use crate::address;
use crate::error::ScriptError;
use crate::interrupt::{CallCounter, Interruptible};
use crate::statistics;
use mlua::{Function, IntoLuaMulti, Lua, Table, ffi};
use paceline_peers::ScriptCall;
use std::sync::Arc;

/// The part of a state that is in Lua.
const WRK: &str = include_str!("wrk.lua");
/// The chunk's name, as it appears in errors.
const WRK_NAME: &str = "=wrk";
/// What is added for scripts whose functions get the table of a connection.
const CONNECTIONS: &str = include_str!("connections.lua");
/// Its name.
const CONNECTIONS_NAME: &str = "=paceline";

/// What `require "socket"` returns: of LuaSocket, which is in C, the clock that scripts seed random numbers with.
fn clock_module(lua: &Lua, _: mlua::MultiValue) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    module.raw_set("gettime", lua.create_function(|_, ()| Ok(statistics::time_us() / 1e6))?)?;
    Ok(module)
}

/// A state.
#[derive(Debug)]
pub struct State {
    pub lua: Lua,
    /// The calls into it.
    pub calls: Arc<CallCounter>,
}

impl State {
    /// A state in which a script was loaded.
    ///
    /// # Errors
    /// [`ScriptError::Lua`] if the script has a fault.
    pub fn load(call: &ScriptCall, source: &[u8]) -> Result<Self, ScriptError> {
        // SAFETY: scripts of wrk may use every library, `ffi` included: like the program itself, a script is code that
        // the user runs.
        let lua = unsafe { Lua::unsafe_new() };
        let state = Self { calls: Arc::default(), lua };
        state.prepare(call)?;
        Ok(state).and_then(|state| {
            let chunk = state.lua.load(without_first_comment(source)).set_name(format!("@{}", call.file));
            let script = chunk.into_function()?;
            state.call::<()>(&script, ())?;
            Ok(state)
        })
    }

    fn prepare(&self, call: &ScriptCall) -> mlua::Result<()> {
        self.lua.load(WRK).set_name(WRK_NAME).exec()?;
        let wrk = self.wrk()?;
        wrk.raw_set("lookup", self.lua.create_function(address::lookup)?)?;
        wrk.raw_set("connect", self.lua.create_function(address::connect)?)?;
        wrk.raw_set("scheme", call.scheme.as_str())?;
        wrk.raw_set("host", call.host.as_str())?;
        wrk.raw_set("port", call.port.as_deref())?;
        wrk.raw_set("path", call.path.as_str())?;
        if let Some(method) = &call.method {
            wrk.raw_set("method", method.as_str())?;
        }
        if let Some(body) = &call.body {
            wrk.raw_set("body", self.lua.create_string(body)?)?;
        }
        if call.has_connections {
            self.lua.load(CONNECTIONS).set_name(CONNECTIONS_NAME).exec()?;
        }
        if call.is_wrk2 {
            wrk.raw_set("time_us", self.lua.create_function(|_, ()| Ok(statistics::time_us()))?)?;
        }
        let preload: Table = self.lua.globals().get::<Table>("package")?.get("preload")?;
        preload.raw_set("socket", self.lua.create_function(clock_module)?)?;
        let headers: Table = wrk.raw_get("headers")?;
        call.headers.iter().try_for_each(|(name, value)| headers.raw_set(name.as_str(), value.as_str()))
    }

    /// The table `wrk`, which a script may have replaced.
    pub fn wrk(&self) -> mlua::Result<Table> {
        self.lua.globals().raw_get("wrk")
    }

    /// Calls a function, so that it can be interrupted.
    ///
    /// # Errors
    /// [`ScriptError::Lua`] with the error of the function.
    pub fn call<R: mlua::FromLuaMulti>(
        &self,
        function: &Function,
        arguments: impl IntoLuaMulti,
    ) -> Result<R, ScriptError> {
        let _inside = self.calls.enter();
        Ok(function.call(arguments)?)
    }

    /// Calls a function of the table `wrk`.
    ///
    /// # Errors
    /// [`ScriptError::Lua`] with the error of the function.
    pub fn call_wrk<R: mlua::FromLuaMulti>(
        &self,
        name: &str,
        arguments: impl IntoLuaMulti,
    ) -> Result<R, ScriptError> {
        let function = self.wrk().and_then(|wrk| wrk.get::<Function>(name));
        self.call(&function?, arguments)
    }

    /// Whether a global of the script is a function.
    pub fn has(&self, name: &str) -> bool {
        self.lua.globals().raw_get::<Function>(name).is_ok()
    }

    /// Writes what Lua has printed: its buffer is not that of this program.
    pub fn flush(&self) {
        // A closed output shows when this program prints.
        let _ = self.lua.load("io.stdout:flush()").exec();
    }

    /// The state, to be interrupted from another thread.
    pub fn interruptible(&self) -> Interruptible {
        let mut pointer = std::ptr::null_mut::<ffi::lua_State>();
        // SAFETY: the closure only takes the pointer.
        let taken = unsafe { self.lua.exec_raw::<()>((), |state| pointer = state) };
        debug_assert!(taken.is_ok());
        Interruptible::new(self.lua.clone(), pointer, Arc::clone(&self.calls))
    }
}

/// The text of a script without the line that names its interpreter (`#!`), which stays counted.
fn without_first_comment(source: &[u8]) -> &[u8] {
    match source.first() {
        Some(b'#') => memchr::memchr(b'\n', source).map_or(&[], |end| &source[end..]),
        _ => source,
    }
}
