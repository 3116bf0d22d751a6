//! Ends calls into Lua that do not return when the run is over, and stops the run when a script fails.
//!
//! A watching thread sees from a counter whether a call is the same as before. To end it, it sets a hook, which is the
//! one function of Lua that another thread may call. Compiled code checks for hooks in loops only if LuaJIT is built
//! with `LUAJIT_ENABLE_CHECKHOOK` (`.cargo/config.toml`).

use mlua::{Lua, ffi};
use paceline_engine::kernel::KernelClock;
use paceline_engine::{Clock as _, Nanos, StopFlag};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;
use std::{io, thread};

/// The time between two looks at the calls.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The time that a call may go on after the end of the run, or after Ctrl-C.
const GRACE: Nanos = Nanos::from_millis(1_000);

/// Counts calls into a state: odd while one runs. Written by the calling thread alone.
#[derive(Debug, Default)]
pub struct CallCounter(AtomicU64);

/// A call that runs until this is dropped.
pub struct Inside<'c>(&'c CallCounter);

impl CallCounter {
    /// Begins a call.
    #[inline]
    pub fn enter(&self) -> Inside<'_> {
        self.add();
        Inside(self)
    }

    #[inline]
    fn add(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.add();
    }
}

/// A state whose calls can be ended.
pub struct Interruptible {
    /// Keeps the state.
    _lua: Lua,
    state: *mut ffi::lua_State,
    calls: Arc<CallCounter>,
    last: u64,
}

// SAFETY: the pointer is used only for lua_sethook, which may be called from any thread; the state lives as long.
unsafe impl Send for Interruptible {}

impl Interruptible {
    pub(crate) fn new(lua: Lua, state: *mut ffi::lua_State, calls: Arc<CallCounter>) -> Self {
        Self { _lua: lua, state, calls, last: 0 }
    }

    /// Whether the same call ran at the last look.
    fn is_stuck(&mut self) -> bool {
        let count = self.calls.0.load(Ordering::Relaxed);
        std::mem::replace(&mut self.last, count) == count && count % 2 == 1
    }

    fn interrupt(&self) {
        // SAFETY: the state is alive, and LuaJIT lets another thread set the hook (src/lj_record.c).
        unsafe { ffi::lua_sethook(self.state, Some(end_call), ffi::LUA_MASKCOUNT, 1) };
    }
}

/// Ends the running call with an error at its place in the script.
unsafe extern "C-unwind" fn end_call(state: *mut ffi::lua_State, _: *mut ffi::lua_Debug) {
    // SAFETY: called by Lua, in the thread of the call, whose frames are Lua's.
    unsafe {
        ffi::luaL_where(state, 0);
        ffi::lua_pushstring(state, c"the run is over, and the script was still running".as_ptr());
        ffi::lua_concat(state, 2);
        ffi::lua_error(state);
    }
}

/// Connects a run with its scripts: a script that fails stops the run, and a run that is over ends the calls of its
/// scripts.
pub struct RunWatch {
    stop: &'static StopFlag,
    window: Nanos,
    began: OnceLock<Nanos>,
    failure: Mutex<Option<String>>,
    has_failed: AtomicBool,
    watched: Mutex<Vec<Interruptible>>,
}

impl fmt::Debug for RunWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunWatch").field("window", &self.window).field("failure", &self.failure()).finish()
    }
}

impl RunWatch {
    /// Starts watching, for a run with a window of this length.
    ///
    /// # Errors
    /// The error of the system if no thread can be started.
    pub fn start(stop: &'static StopFlag, window: Nanos) -> io::Result<Arc<Self>> {
        let watch = Arc::new(Self {
            stop,
            window,
            began: OnceLock::new(),
            failure: Mutex::default(),
            has_failed: AtomicBool::new(false),
            watched: Mutex::default(),
        });
        let weak = Arc::downgrade(&watch);
        thread::Builder::new().name("script watch".to_owned()).spawn(move || look(&weak))?;
        Ok(watch)
    }

    /// The first failure of a script, with its place.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes a failure and stops the run.
    #[cold]
    pub(crate) fn fail(&self, message: String) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(message);
        self.has_failed.store(true, Ordering::Relaxed);
        self.stop.request();
    }

    /// Whether a script has failed.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Notes that the run has begun, at the first call.
    #[cold]
    pub(crate) fn begin(&self) {
        let _ = self.began.set(KernelClock.now());
    }

    /// Watches the calls into a state.
    pub(crate) fn watch(&self, state: Interruptible) {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).push(state);
    }

    /// Ends watching: what is called from now on is not part of the run.
    pub(crate) fn end(&self) {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The moment from which no call should run.
    fn over_at(&self) -> Nanos {
        let end = self.began.get().map_or(Nanos::NEVER, |began| *began + self.window);
        let over = end.min(self.stop.at());
        if over == Nanos::NEVER { over } else { over + GRACE }
    }
}

/// Looks at the calls again and again, until the run is dropped.
fn look(watch: &Weak<RunWatch>) {
    while let Some(watch) = watch.upgrade() {
        let is_over = KernelClock.now() >= watch.over_at();
        let mut watched = watch.watched.lock().unwrap_or_else(PoisonError::into_inner);
        for state in watched.iter_mut() {
            if state.is_stuck() && is_over {
                state.interrupt();
            }
        }
        drop(watched);
        drop(watch);
        thread::sleep(LOOK_EVERY);
    }
}
