//! Loads a script in Lua for a run: for `paceline run --lua`, and for `paceline wrk -s`.

use paceline_engine::{Settings, StopFlag};
use paceline_job::{Bound, Nanos};
use paceline_lua::{LuaScripts, RunWatch};
use paceline_peers::ScriptCall;
use std::sync::Arc;

/// A script that makes the requests of a run.
pub struct LoadedScript {
    pub scripts: LuaScripts,
    watch: Arc<RunWatch>,
}

impl LoadedScript {
    /// Loads a script, and lets it make the requests of a run. If it fails in the run, that ends.
    ///
    /// # Errors
    /// A text that names file and line.
    pub fn load(
        call: ScriptCall,
        source: &[u8],
        settings: &mut Settings,
        stop: &'static StopFlag,
    ) -> anyhow::Result<Self> {
        let length = match settings.job.window {
            Bound::Duration(window) => settings.job.warmup + window,
            Bound::Requests(_) => Nanos::NEVER,
        };
        let watch = RunWatch::start(stop, length)?;
        let scripts = LuaScripts::load(call, source, settings.threads, Arc::clone(&watch))?;
        scripts.apply_to(settings)?;
        Ok(Self { scripts, watch })
    }

    /// The failure that ended the run, after which its output is written.
    pub fn end(&self) -> Option<String> {
        self.scripts.flush();
        self.watch.failure()
    }
}
