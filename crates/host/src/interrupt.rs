//! Ctrl-C and termination, as a flag that every wait checks.
//!
//! The binary installs the handler once; the lab only reads the flag. A second signal kills by force what is being
//! stopped; a third ends the process at once: the shepherds then stop every server.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

/// The first signal arrived. A static, since a signal handler can only use statics.
static ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
static NEVER: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
/// A second signal arrived.
static INSISTED: AtomicBool = AtomicBool::new(false);
/// The message that the first signal prints.
static SAID: OnceLock<String> = OnceLock::new();
/// The exit status of an interrupted command.
const INTERRUPTED: i32 = 130;

/// Whether this process was asked to end.
#[derive(Clone, Copy, Debug)]
pub struct Interrupt(&'static Arc<AtomicBool>);

impl Interrupt {
    /// How often a wait checks for an interrupt.
    pub const CHECK_INTERVAL: Duration = Duration::from_millis(50);

    /// Handles SIGINT, SIGTERM and, except under nohup, SIGHUP from now on.
    ///
    /// # Errors
    /// When the system refuses to install a handler.
    pub fn listen() -> io::Result<Self> {
        // Created before a signal can arrive: the handler may not allocate.
        let asked = &*ASKED;
        for signal in crate::system::end_signals() {
            crate::system::handle_signal(signal, on_signal)?;
        }
        Ok(Self(asked))
    }

    /// As [`Interrupt::listen`]; the first signal also writes `text` to standard error, unchanged. The handler writes
    /// it, since the code that checks the flag may do so seconds later.
    ///
    /// # Errors
    /// As [`Interrupt::listen`].
    pub fn listen_saying(text: String) -> io::Result<Self> {
        // The first text stays: a second listener's text is ignored.
        let _ = SAID.set(text);
        Self::listen()
    }

    /// An interrupt that never arrives.
    pub fn never() -> Self {
        Self(&NEVER)
    }

    /// An interrupt that the caller triggers, with its flag.
    pub fn by_hand() -> (Self, &'static AtomicBool) {
        let flag: &'static Arc<AtomicBool> = Box::leak(Box::default());
        (Self(flag), flag)
    }

    /// Whether the interrupt has arrived.
    pub fn requested(self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether a second signal arrived after the interrupt: what is being stopped is killed.
    pub fn is_repeated(self) -> bool {
        self.requested() && requested_twice()
    }

    /// The flag itself, for the lab's `Provisioner`.
    pub fn flag(self) -> Arc<AtomicBool> {
        Arc::clone(self.0)
    }
}

/// Whether a second signal arrived: waits end at once.
pub(crate) fn requested_twice() -> bool {
    INSISTED.load(Ordering::Relaxed)
}

/// Uses only calls that signal-safety(7) allows: the flag and the text were created by `listen`.
extern "C" fn on_signal(_signal: i32) {
    if !ASKED.swap(true, Ordering::Relaxed) {
        if let Some(text) = SAID.get() {
            // SAFETY: write is async-signal-safe and the text is never freed. A closed standard error is ignored.
            let _ = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
        }
    } else if INSISTED.swap(true, Ordering::Relaxed) {
        // SAFETY: _exit is async-signal-safe.
        unsafe { libc::_exit(INTERRUPTED) }
    }
}
