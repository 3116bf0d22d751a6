//! A thread of the run as scripts see it: `wrk.thread`, and the argument of `setup`.

use crate::address::Address;
use crate::error::located;
use mlua::{Lua, MetaMethod, Table, UserData, UserDataFields, UserDataMethods, Value, WeakLua};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Tables in tables, to this depth, are copied to another state: a table may contain itself.
const MAX_DEPTH: u32 = 100;

/// A thread.
#[derive(Clone)]
pub struct ThreadHandle {
    lua: WeakLua,
    shared: Arc<SharedThread>,
}

/// What the engine needs of a thread.
#[derive(Debug, Default)]
pub struct SharedThread {
    has_stopped: AtomicBool,
    address: Mutex<Option<SocketAddr>>,
}

impl SharedThread {
    /// Whether the script has stopped it.
    #[inline]
    pub fn has_stopped(&self) -> bool {
        self.has_stopped.load(Ordering::Relaxed)
    }

    /// Stops it.
    pub fn stop(&self) {
        self.has_stopped.store(true, Ordering::Relaxed);
    }

    /// The address that its connections go to, if one was set.
    pub fn address(&self) -> Option<SocketAddr> {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_address(&self, address: Option<SocketAddr>) {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }
}

impl ThreadHandle {
    /// The thread whose state this is.
    pub fn new(lua: &Lua, shared: &Arc<SharedThread>) -> Self {
        Self { lua: lua.weak(), shared: Arc::clone(shared) }
    }

    fn state(&self, caller: &Lua) -> mlua::Result<Lua> {
        self.lua.try_upgrade().ok_or_else(|| located(caller, "the thread has ended"))
    }
}

impl UserData for ThreadHandle {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("addr", |_, this| Ok(this.shared.address().map(Address)));
        fields.add_field_method_set("addr", |_, this, address: Option<Address>| {
            this.shared.set_address(address.map(|Address(address)| address));
            Ok(())
        });
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("get", |caller, this, name: Value| {
            let state = this.state(caller)?;
            let value: Value = state.globals().get(copied(caller, &name, &state, 0)?)?;
            copied(caller, &value, caller, 0)
        });
        methods.add_method("set", |caller, this, (name, value): (Value, Value)| {
            let state = this.state(caller)?;
            state.globals().set(copied(caller, &name, &state, 0)?, copied(caller, &value, &state, 0)?)
        });
        methods.add_method("stop", |_, this, ()| {
            this.shared.stop();
            Ok(())
        });
        // An unknown field is its own name, as with wrk.
        methods.add_meta_method(MetaMethod::Index, |_, _, name: Value| Ok(name));
        methods.add_meta_method(MetaMethod::NewIndex, |lua, _, (_, value): (Value, Value)| {
            let message = format!("cannot set '{}' on thread", type_name(&value));
            Err::<(), _>(located(lua, &message))
        });
    }
}

/// A copy of a value in another state.
fn copied(caller: &Lua, value: &Value, to: &Lua, depth: u32) -> mlua::Result<Value> {
    Ok(match value {
        Value::Nil => Value::Nil,
        Value::Boolean(value) => Value::Boolean(*value),
        Value::Integer(value) => Value::Integer(*value),
        Value::Number(value) => Value::Number(*value),
        Value::String(text) => Value::String(to.create_string(text.as_bytes())?),
        Value::Table(table) if depth < MAX_DEPTH => Value::Table(copied_table(caller, table, to, depth + 1)?),
        Value::Table(_) => return Err(located(caller, "cannot transfer a table that contains itself")),
        other => {
            let message = format!("cannot transfer '{}' to thread", type_name(other));
            return Err(located(caller, &message));
        }
    })
}

/// The type of a value as Lua names it.
fn type_name(value: &Value) -> &'static str {
    if value.is_number() || value.is_integer() { "number" } else { value.type_name() }
}

fn copied_table(caller: &Lua, table: &Table, to: &Lua, depth: u32) -> mlua::Result<Table> {
    let copy = to.create_table()?;
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair?;
        copy.raw_set(copied(caller, &key, to, depth)?, copied(caller, &value, to, depth)?)?;
    }
    Ok(copy)
}
