//! The scripts of a run: one state for `setup` and `done`, and one for each thread, loaded in the order of wrk.

use crate::calls;
use crate::error::ScriptError;
use crate::interrupt::RunWatch;
use crate::program::{FailedChecks, Program, ScriptThread};
use crate::request_text;
use crate::state::State;
use crate::statistics::{Statistics, summary};
use crate::thread::{SharedThread, ThreadHandle};
use mlua::Function;
use paceline_engine::script::{RequestScript, ScriptPlan, Scripts};
use paceline_engine::{Address, Requests, Settings};
use paceline_http::Method;
use paceline_peers::{ScriptCall, ScriptResults};
use std::sync::Arc;

/// The scripts of a run.
#[derive(Debug)]
pub struct LuaScripts {
    call: ScriptCall,
    main: State,
    threads: Vec<Arc<ScriptThread>>,
    watch: Arc<RunWatch>,
    plan: ScriptPlan,
    /// The first request of the first thread.
    first: Vec<u8>,
    /// Whether the script makes each request.
    is_dynamic: bool,
    checks: Arc<FailedChecks>,
}

impl LuaScripts {
    /// Loads a script, once for `setup` and `done` and once for each thread, and calls `setup` and `init`. The first
    /// thread makes one request, which is not sent.
    ///
    /// # Errors
    /// [`ScriptError`] of the script.
    pub fn load(
        call: ScriptCall,
        source: &[u8],
        threads: u32,
        watch: Arc<RunWatch>,
    ) -> Result<Self, ScriptError> {
        let main = load_watched(&call, source, &watch)?;
        if call.has_connections && main.has("delay") {
            return Err(ScriptError::Delay(call.file));
        }
        if !call.has_connections {
            let service = call.port.clone().unwrap_or_else(|| call.scheme.clone());
            main.call_wrk::<()>("resolve", (call.host.as_str(), service))?;
        }
        let mut scripts = Self {
            call,
            main,
            threads: Vec::with_capacity(threads as usize),
            watch,
            plan: ScriptPlan::default(),
            first: Vec::new(),
            is_dynamic: false,
            checks: Arc::default(),
        };
        for number in 0..threads {
            scripts.start_thread(source)?;
            if number == 0 {
                scripts.read_plan()?;
            }
        }
        scripts.main.flush();
        Ok(scripts)
    }

    fn start_thread(&mut self, source: &[u8]) -> Result<(), ScriptError> {
        let state = load_watched(&self.call, source, &self.watch)?;
        let shared = Arc::<SharedThread>::default();
        let handle = ThreadHandle::new(&state.lua, &shared);
        let set = state.wrk().and_then(|wrk| wrk.raw_set("thread", handle.clone()));
        set?;
        self.main.call_wrk::<()>("setup", handle)?;
        let arguments = state.lua.create_table().and_then(|table| {
            let numbered = self.call.arguments.iter().enumerate();
            numbered.into_iter().try_for_each(|(place, text)| table.raw_set(place, text.as_str()))?;
            Ok(table)
        });
        state.call_wrk::<()>("init", arguments?)?;
        self.threads.push(Arc::new(ScriptThread { state, shared }));
        Ok(())
    }

    /// What the first thread's script has decides for all.
    fn read_plan(&mut self) -> Result<(), ScriptError> {
        let Some(thread) = self.threads.first() else { return Ok(()) };
        self.is_dynamic = thread.state.has("request");
        let reads_responses = thread.state.has("response");
        if self.call.has_connections {
            // Each request belongs to a connection, so none is made in advance.
            self.plan = ScriptPlan { reads_responses, ..ScriptPlan::default() };
            return Ok(());
        }
        let first = self.request_of(thread)?;
        self.plan = ScriptPlan {
            batch: request_text::count(&first)?,
            reads_responses,
            delays: thread.state.has("delay") && !self.call.is_wrk2,
        };
        self.first = first;
        Ok(())
    }

    /// The text of a thread's next request.
    fn request_of(&self, thread: &ScriptThread) -> Result<Vec<u8>, ScriptError> {
        let mut bytes = Vec::new();
        let inside = thread.state.calls.enter();
        let made = calls::request(&thread.state.lua, &self.call.file, None, &mut bytes);
        drop(inside);
        made.map(|()| bytes)
    }

    /// Lets the scripts make the requests of a run. Those of a script that is not called in the run are requests like
    /// any others.
    ///
    /// # Errors
    /// [`ScriptError`] if the requests cannot be sent.
    pub fn apply_to(&self, settings: &mut Settings) -> Result<(), ScriptError> {
        if self.call.has_connections {
            self.set_addresses(settings);
            let programs = self.programs(self.fixed_requests()?);
            settings.scripts = Some(Scripts::new(self.plan, programs));
            return Ok(());
        }
        if self.plan.batch > 1 && settings.job.load.is_open() {
            return Err(ScriptError::BatchWithRate(self.call.file.clone(), self.plan.batch));
        }
        let fixed = self.fixed_requests()?;
        let kind = settings.requests.kinds().first();
        let check = kind.map(|kind| kind.check.clone()).unwrap_or_default();
        let method = if self.first.starts_with(b"HEAD ") { Method::Head } else { Method::Other };
        settings.requests = Arc::new(Requests::fixed(self.first.clone(), method, check));
        (settings.job.depth, settings.job.batch) = (self.plan.batch, self.plan.batch > 1);
        self.set_addresses(settings);
        let is_plain = fixed
            .as_ref()
            .is_some_and(|fixed| fixed.iter().all(|text| request_text::are_alike(text, &self.first)))
            && !self.plan.reads_responses
            && !self.plan.delays
            && self.plan.batch == 1;
        if !is_plain {
            settings.scripts = Some(Scripts::new(self.plan, self.programs(fixed)));
        }
        Ok(())
    }

    /// The addresses that the script has set for threads.
    fn set_addresses(&self, settings: &mut Settings) {
        let default = settings.address.clone();
        let addresses = self.threads.iter().map(|thread| {
            let set = thread.shared.address().map(Address::from);
            set.filter(|address| *address != default)
        });
        settings.thread_addresses = addresses.collect();
    }

    /// The requests of all threads, if the script does not make each.
    fn fixed_requests(&self) -> Result<Option<Vec<Vec<u8>>>, ScriptError> {
        if self.is_dynamic {
            return Ok(None);
        }
        self.threads.iter().map(|thread| self.request_of(thread)).collect::<Result<_, _>>().map(Some)
    }

    fn programs(&self, fixed: Option<Vec<Vec<u8>>>) -> Vec<Box<dyn RequestScript>> {
        let file: Arc<str> = Arc::from(self.call.file.as_str());
        let mut fixed = fixed.into_iter().flatten();
        let program = |thread: &Arc<ScriptThread>| {
            let program = Program {
                thread: Arc::clone(thread),
                fixed: fixed.next(),
                watch: Arc::clone(&self.watch),
                file: Arc::clone(&file),
                has_begun: false,
                checks: self.call.has_connections.then(|| Arc::clone(&self.checks)),
                has_made: false,
                head: Vec::new(),
            };
            Box::new(program) as Box<dyn RequestScript>
        };
        self.threads.iter().map(program).collect()
    }

    /// The reasons for which `response` refused responses of the window, with their counts, the most frequent first.
    pub fn failed_checks(&self) -> Vec<(String, u64)> {
        self.checks.counted()
    }

    /// Writes what the scripts have printed.
    pub fn flush(&self) {
        self.main.flush();
    }

    /// Calls `done` with the results of the run, if the script has it; it may take as long as it needs.
    ///
    /// # Errors
    /// [`ScriptError::Lua`] with the error of the function.
    pub fn done(&self, results: &ScriptResults) -> Result<(), ScriptError> {
        self.watch.end();
        let lua = &self.main.lua;
        let Ok(done) = lua.globals().get::<Function>("done") else { return Ok(()) };
        let summary = summary(lua, results)?;
        let latency = Statistics::new(results.latency_us.clone(), self.call.is_wrk2);
        let rates = Statistics::new(results.rates.clone(), self.call.is_wrk2);
        let called = self.main.call::<()>(&done, (summary, latency, rates));
        self.flush();
        called
    }
}

fn load_watched(call: &ScriptCall, source: &[u8], watch: &RunWatch) -> Result<State, ScriptError> {
    let state = State::load(call, source)?;
    watch.watch(state.interruptible());
    Ok(state)
}

#[cfg(test)]
mod tests;
