//! Ctrl-C and termination, as a flag that everything which waits looks at.
//!
//! The binary listens once; the lab only asks. A second signal has what is being stopped killed by force; a third
//! ends the process at once: the shepherds then stop every server by themselves.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

/// A signal handler reaches nothing but statics.
static ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
static NEVER: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
/// Whether it was asked twice.
static INSISTED: AtomicBool = AtomicBool::new(false);
/// What the first signal has told to a person.
static SAID: OnceLock<String> = OnceLock::new();
/// The exit status of an interrupted command.
const INTERRUPTED: i32 = 130;

/// Whether somebody asked this process to end.
#[derive(Clone, Copy, Debug)]
pub struct Interrupt(&'static Arc<AtomicBool>);

impl Interrupt {
    /// Listens to SIGINT, SIGTERM and SIGHUP from now on.
    ///
    /// # Errors
    /// When the system refuses to install a handler.
    pub fn listen() -> io::Result<Self> {
        // Made before any signal can come: the handler may not allocate.
        let asked = &*ASKED;
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            crate::system::handle_signal(signal, on_signal)?;
        }
        Ok(Self(asked))
    }

    /// As [`Interrupt::listen`]; the moment the first signal comes, `text` is written to standard error as it is. Not by
    /// whoever notices it: between a signal and its notice a stop may take seconds.
    ///
    /// # Errors
    /// As [`Interrupt::listen`].
    pub fn listen_saying(text: String) -> io::Result<Self> {
        // A second listener's text would be told too late to matter: the first stands.
        let _ = SAID.set(text);
        Self::listen()
    }

    /// One that never comes.
    pub fn never() -> Self {
        Self(&NEVER)
    }

    /// One of the caller's own, with the flag that makes it come.
    pub fn by_hand() -> (Self, &'static AtomicBool) {
        let flag: &'static Arc<AtomicBool> = Box::leak(Box::default());
        (Self(flag), flag)
    }

    /// Whether it has come.
    pub fn asked(self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for a [`crate::Workshop`].
    pub fn flag(self) -> Arc<AtomicBool> {
        Arc::clone(self.0)
    }
}

/// Whether somebody asked a second time: nothing is waited for any more.
pub(crate) fn insisted() -> bool {
    INSISTED.load(Ordering::Relaxed)
}

/// Does only what signal-safety(7) allows: the flag and the text were made when listening began.
extern "C" fn on_signal(_signal: i32) {
    if !ASKED.swap(true, Ordering::Relaxed) {
        if let Some(text) = SAID.get() {
            // SAFETY: write is async-signal-safe and the text lives for ever. A closed standard error hears nothing.
            let _ = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
        }
    } else if INSISTED.swap(true, Ordering::Relaxed) {
        // SAFETY: _exit is async-signal-safe.
        unsafe { libc::_exit(INTERRUPTED) }
    }
}
