//! Addresses as scripts see them: looked up by name, tried, and shown.

use crate::error::located;
use mlua::{FromLua, Lua, MetaMethod, UserData, UserDataMethods, UserDataRef, Value};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// The longest wait for a connection when a script tries an address: the time of a run's own attempts.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub SocketAddr);

impl UserData for Address {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        // As getnameinfo gives it: without brackets around IPv6.
        methods.add_meta_method(MetaMethod::ToString, |_, Self(address), ()| {
            Ok(format!("{}:{}", address.ip(), address.port()))
        });
    }
}

impl FromLua for Address {
    fn from_lua(value: Value, lua: &Lua) -> mlua::Result<Self> {
        Ok(*UserDataRef::<Self>::from_lua(value, lua)?)
    }
}

/// `wrk.lookup(host, service)`: all addresses of a name.
pub fn lookup(lua: &Lua, (host, service): (String, Option<String>)) -> mlua::Result<Vec<Address>> {
    let service = service.unwrap_or_default();
    let failed = |why: &str| located(lua, &format!("unable to resolve {host}:{service} {why}"));
    let port = port(&service).ok_or_else(|| failed("unknown service"))?;
    let found = (host.as_str(), port).to_socket_addrs().map_err(|error| failed(&error.to_string()))?;
    Ok(found.map(Address).collect())
}

/// `wrk.connect(address)`: whether a connection can be made.
pub fn connect(_: &Lua, Address(address): Address) -> mlua::Result<bool> {
    Ok(TcpStream::connect_timeout(&address, CONNECT_LIMIT).is_ok())
}

/// The port of a service: those of URLs, or a number.
fn port(service: &str) -> Option<u16> {
    match service {
        "http" => Some(80),
        "https" => Some(443),
        number => number.parse().ok(),
    }
}
