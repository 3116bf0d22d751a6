//! The results that a script sees in `done(summary, latency, requests)`.

use mlua::{IntoLua, Lua, MetaMethod, Table, UserData, UserDataMethods, Value};
use paceline_peers::{SampleValues, ScriptErrors, ScriptResults};
use std::time::{SystemTime, UNIX_EPOCH};

/// Values with how often each occurred.
pub struct Statistics {
    samples: SampleValues,
    is_wrk2: bool,
}

impl Statistics {
    /// In the dialect of wrk or of wrk2.
    pub fn new(samples: SampleValues, is_wrk2: bool) -> Self {
        Self { samples, is_wrk2 }
    }

    /// The smallest value whose rank is at least that of a percentile.
    fn percentile(&self, percent: f64) -> u64 {
        let count = self.samples.count();
        let rank = (percent / 100.0 * count as f64 + 0.5).round().min(count as f64);
        let mut seen = 0;
        let reached = self.samples.values.iter().find(|(_, count)| {
            seen += count;
            seen as f64 >= rank
        });
        reached.map_or(0, |(value, _)| *value)
    }

    fn field(&self, lua: &Lua, name: Value) -> mlua::Result<Value> {
        let index = match name {
            Value::Integer(index) => Some(index as f64),
            Value::Number(index) => Some(index),
            _ => None,
        };
        if let (true, Some(index)) = (self.is_wrk2, index) {
            // wrk2 gives the value at this share of the samples.
            let percent = index * 100.0 / self.samples.count().max(1) as f64;
            return self.percentile(percent).into_lua(lua);
        }
        let text = name.as_string().map(|name| name.to_string_lossy()).unwrap_or_default();
        match text.as_str() {
            "min" => self.samples.min().into_lua(lua),
            "max" => self.samples.max().into_lua(lua),
            "mean" => self.samples.mean().into_lua(lua),
            "stdev" => self.samples.stdev().into_lua(lua),
            // An unknown field is its own name, as with wrk.
            _ => Ok(name),
        }
    }
}

impl UserData for Statistics {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("percentile", |_, this, percent: f64| Ok(this.percentile(percent)));
        methods.add_meta_method(MetaMethod::Index, |lua, this, name: Value| this.field(lua, name));
        methods.add_meta_method(MetaMethod::Call, |_, this, index: usize| {
            let found = this.samples.values.get(index.wrapping_sub(1)).copied();
            Ok(found.unwrap_or_default())
        });
        methods.add_meta_method(MetaMethod::Len, |_, this, ()| {
            Ok(if this.is_wrk2 { this.samples.count() } else { this.samples.values.len() as u64 })
        });
    }
}

/// The table `summary`.
pub fn summary(lua: &Lua, results: &ScriptResults) -> mlua::Result<Table> {
    let summary = lua.create_table()?;
    summary.raw_set("duration", results.duration_us)?;
    summary.raw_set("requests", results.requests)?;
    summary.raw_set("bytes", results.bytes)?;
    let ScriptErrors { connect, read, write, status, timeout } = results.errors;
    let errors = lua.create_table()?;
    for (name, count) in
        [("connect", connect), ("read", read), ("write", write), ("status", status), ("timeout", timeout)]
    {
        errors.raw_set(name, count)?;
    }
    summary.raw_set("errors", errors)?;
    Ok(summary)
}

/// The time of day in microseconds.
pub fn time_us() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_micros() as f64)
}
