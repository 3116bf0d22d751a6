//! Calls a script's functions during the run, through Lua's C interface: they are called for every request.
//!
//! As with wrk, a function is looked up by its name at each call, so that a script may replace it.

use crate::error::ScriptError;
use mlua::{Lua, ffi};
use std::ffi::{CStr, c_int};
use std::slice;

/// A longer reason is cut.
const MAX_REASON_BYTES: usize = 200;

/// Appends the text that `request()` returns, or `wrk.request()` if the script has none. With the number of a user,
/// `request` gets the table of its connection. `file` is the script's, for errors.
pub fn request(lua: &Lua, file: &str, user: Option<usize>, bytes: &mut Vec<u8>) -> Result<(), ScriptError> {
    let (mut wrong, before) = (None, bytes.len());
    // SAFETY: the calls keep to the stack that they filled, in a protected call; nothing here needs to be dropped if one
    // of them fails. The text is copied before it leaves the stack.
    unsafe {
        lua.exec_raw::<()>((), |state| {
            ffi::lua_getglobal(state, c"request".as_ptr());
            if ffi::lua_isfunction(state, -1) == 0 {
                get_wrk(state, c"request");
                ffi::lua_call(state, 0, 1);
            } else if let Some(user) = user {
                get_wrk(state, c"request_of");
                ffi::lua_pushinteger(state, user as ffi::lua_Integer);
                ffi::lua_call(state, 1, 1);
            } else {
                ffi::lua_call(state, 0, 1);
            }
            let mut length = 0;
            let text = ffi::lua_tolstring(state, -1, &raw mut length);
            if text.is_null() {
                wrong = Some(ffi::lua_type(state, -1));
            } else {
                bytes.extend_from_slice(slice::from_raw_parts(text.cast(), length));
            }
            ffi::lua_settop(state, 0);
        })?;
    }
    let result =
        |found, expected| ScriptError::Result { file: file.to_owned(), function: "request", found, expected };
    match wrong {
        Some(kind) => Err(result(type_name(lua, kind), "a string")),
        None if bytes.len() == before => Err(result("an empty string".to_owned(), "a request")),
        None => Ok(()),
    }
}

/// Pushes a function of the table `wrk`.
///
/// # Safety
/// The state has room for two values, and errors of Lua may leave this function.
unsafe fn get_wrk(state: *mut ffi::lua_State, name: &CStr) {
    // SAFETY: as for this function.
    unsafe {
        ffi::lua_getglobal(state, c"wrk".as_ptr());
        ffi::lua_getfield(state, -1, name.as_ptr());
    }
}

/// The number that `delay()` returns.
pub fn delay(lua: &Lua) -> Result<f64, ScriptError> {
    let mut number = 0.0;
    // SAFETY: as in `request`.
    unsafe {
        lua.exec_raw::<()>((), |state| {
            ffi::lua_getglobal(state, c"delay".as_ptr());
            ffi::lua_call(state, 0, 1);
            number = ffi::lua_tonumber(state, -1);
            ffi::lua_settop(state, 0);
        })?;
    }
    Ok(number)
}

/// Calls `response(status, headers, body)`. Of several fields with one name the last counts.
pub fn response(lua: &Lua, status: u16, head: &[u8], body: &[u8]) -> Result<(), ScriptError> {
    // SAFETY: as in `request`; Lua copies the texts.
    unsafe {
        lua.exec_raw::<()>((), |state| {
            ffi::lua_getglobal(state, c"response".as_ptr());
            ffi::lua_pushinteger(state, status.into());
            ffi::lua_createtable(state, 0, 8);
            for (name, value) in fields(head) {
                ffi::lua_pushlstring(state, name.as_ptr().cast(), name.len());
                ffi::lua_pushlstring(state, value.as_ptr().cast(), value.len());
                ffi::lua_rawset(state, -3);
            }
            ffi::lua_pushlstring(state, body.as_ptr().cast(), body.len());
            ffi::lua_call(state, 3, 0);
        })?;
    }
    Ok(())
}

/// Calls `response(connection, status, headers, body)` for a user; returns the reason if it refuses the response. The
/// names of fields are in lower case, as HTTP/2 sends them; the values of several fields with one name are joined. `head`
/// is overwritten.
pub fn refusal(
    lua: &Lua,
    user: usize,
    status: u16,
    head: &mut [u8],
    body: &[u8],
) -> Result<Option<String>, ScriptError> {
    lower_names(head);
    let (head, mut refusal) = (&*head, None);
    // SAFETY: as in `request`; Lua copies the texts.
    unsafe {
        lua.exec_raw::<()>((), |state| {
            get_wrk(state, c"refusal_of");
            ffi::lua_pushinteger(state, user as ffi::lua_Integer);
            ffi::lua_pushinteger(state, status.into());
            ffi::lua_createtable(state, 0, 8);
            for (name, value) in fields(head) {
                push_joined(state, name, value);
            }
            ffi::lua_pushlstring(state, body.as_ptr().cast(), body.len());
            ffi::lua_call(state, 4, 1);
            let mut length = 0;
            let text = ffi::lua_tolstring(state, -1, &raw mut length);
            if !text.is_null() {
                let reason = slice::from_raw_parts(text.cast(), length.min(MAX_REASON_BYTES));
                refusal = Some(String::from_utf8_lossy(reason).into_owned());
            }
            ffi::lua_settop(state, 0);
        })?;
    }
    Ok(refusal)
}

/// Sets a field in the table on the stack, after those of the same name: cookies on lines of their own, other values
/// separated by commas (RFC 9110, section 5.3).
///
/// # Safety
/// The state has a table on top of its stack and room for four values, and errors of Lua may leave this function.
unsafe fn push_joined(state: *mut ffi::lua_State, name: &[u8], value: &[u8]) {
    // SAFETY: as for this function; Lua copies the texts.
    unsafe {
        let push = |text: &[u8]| ffi::lua_pushlstring(state, text.as_ptr().cast(), text.len());
        push(name);
        push(name);
        ffi::lua_rawget(state, -3);
        if ffi::lua_isstring(state, -1) == 0 {
            ffi::lua_settop(state, -2);
            push(value);
        } else {
            push(if name == b"set-cookie" { b"\n" } else { b", " });
            push(value);
            ffi::lua_concat(state, 3);
        }
        ffi::lua_rawset(state, -3);
    }
}

/// Writes the names of the fields of a head in lower case.
fn lower_names(head: &mut [u8]) {
    for line in head.split_mut(|byte| *byte == b'\n').skip(1) {
        if let Some(colon) = memchr::memchr(b':', line) {
            line[..colon].make_ascii_lowercase();
        }
    }
}

/// The fields of a head, after its first line.
fn fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = next_line(head).map_or(&[][..], |(_, rest)| rest);
    std::iter::from_fn(move || {
        loop {
            let (line, after) = next_line(rest)?;
            rest = after;
            if let Some(colon) = memchr::memchr(b':', line) {
                return Some((&line[..colon], line[colon + 1..].trim_ascii()));
            }
        }
    })
}

fn next_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b'\n', text)?;
    Some((&text[..end], &text[end + 1..]))
}

/// The name of a type of values.
fn type_name(lua: &Lua, kind: c_int) -> String {
    let mut name = String::new();
    // SAFETY: Lua's names of types are static texts.
    let _ = unsafe {
        lua.exec_raw::<()>((), |state| {
            name = CStr::from_ptr(ffi::lua_typename(state, kind)).to_string_lossy().into_owned();
        })
    };
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_fields_are_in_lower_case() {
        let mut head = *b"HTTP/1.1 200 OK\r\nSet-Cookie: A=B\r\nX-ID:C\r\n\r\n";
        lower_names(&mut head);
        assert_eq!(&head, b"HTTP/1.1 200 OK\r\nset-cookie: A=B\r\nx-id:C\r\n\r\n");
    }

    #[test]
    fn the_fields_of_a_head() {
        let head = b"HTTP/1.1 200 OK\r\nServer:  nginx \r\nX-A:b\r\nodd\r\nEmpty:\r\n\r\n";
        let found: Vec<_> =
            fields(head).map(|(name, value)| [name, value].map(|text| text.to_vec())).collect();
        let expected = [["Server", "nginx"], ["X-A", "b"], ["Empty", ""]];
        assert_eq!(found, expected.map(|pair| pair.map(|text| text.as_bytes().to_vec())));
    }
}
