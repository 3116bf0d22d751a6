//! A pseudo-terminal for tests, with a screen that shows what was drawn on it.
//!
//! Used by `screen.rs`. The vt100 crate emulates the screen, so that an independent implementation interprets the
//! output; other terminals may differ from it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Long enough for a machine with ten other jobs; every wait here normally ends much earlier.
const LIMIT: Duration = Duration::from_secs(60);

/// A terminal with a command running on it.
pub struct Terminal {
    master: File,
    child: Child,
    screen: vt100::Parser,
    /// Every byte received.
    pub bytes: Vec<u8>,
    before: libc::termios,
}

impl Terminal {
    /// Runs a command with a terminal of this size as its controlling terminal.
    pub fn run(mut command: Command, rows: u16, columns: u16) -> Self {
        let (mut master, mut slave) = (0, 0);
        let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: the pointers are to live integers and a live winsize, or null where that is allowed.
        let opened = unsafe {
            libc::openpty(
                &raw mut master,
                &raw mut slave,
                std::ptr::null_mut(),
                std::ptr::null(),
                &raw const size,
            )
        };
        assert_eq!(opened, 0);
        // SAFETY: both descriptors were just opened and have no other owner.
        let (master, slave) = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        let end = || Stdio::from(slave.try_clone().unwrap());
        command.stdin(end()).stdout(end()).stderr(end()).env("TERM", "xterm-256color");
        // SAFETY: setsid and ioctl are async-signal-safe; descriptor 0 is the terminal by then.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let before = state(&master);
        let child = command.spawn().unwrap();
        let mut screen = vt100::Parser::new(at_least_one(rows), at_least_one(columns), 1_000);
        screen.process(b"what was here before\r\n");
        Self { master, child, screen, bytes: Vec::new(), before }
    }

    /// Reads until the screen satisfies `wanted`.
    pub fn wait_until(&mut self, wanted: impl Fn(&str) -> bool) {
        self.wait_for(wanted).unwrap();
    }

    /// The same for content that a busy machine may have no time to draw: an error if the run ends before.
    pub fn wait_for(&mut self, wanted: impl Fn(&str) -> bool) -> Result<(), String> {
        self.wait_while(|terminal| !wanted(&terminal.shown()))
    }

    /// The same for a whole frame of the live view, which leaves the cursor where the view begins: below one line. Ctrl-C
    /// in the middle of a frame discards the rest of it (termios(3), NOFLSH), and the view then stays in part.
    pub fn wait_for_frame(&mut self, wanted: impl Fn(&str) -> bool) -> Result<(), String> {
        self.wait_while(|terminal| {
            !wanted(&terminal.shown()) || terminal.screen.screen().cursor_position() != (1, 0)
        })
    }

    fn wait_while(&mut self, is_missing: impl Fn(&Self) -> bool) -> Result<(), String> {
        let begun = Instant::now();
        while is_missing(self) {
            if !self.read(begun) {
                return Err(format!("the run is over, and the screen is:\n{}", self.shown()));
            }
        }
        Ok(())
    }

    /// Reads until the end of the run.
    pub fn wait_end(&mut self) -> ExitStatus {
        let begun = Instant::now();
        while self.read(begun) {}
        self.child.wait().unwrap()
    }

    /// Reads the available bytes; false at the end.
    fn read(&mut self, begun: Instant) -> bool {
        let left = LIMIT.checked_sub(begun.elapsed()).expect("nothing comes any more");
        let mut polled = libc::pollfd { fd: self.master.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, which is open.
        unsafe { libc::poll(&raw mut polled, 1, left.as_millis() as i32) };
        let mut buffer = [0; 4096];
        // Reading from a terminal whose last process has ended is an error.
        let Ok(length @ 1..) = self.master.read(&mut buffer) else { return false };
        self.screen.process(&buffer[..length]);
        self.bytes.extend_from_slice(&buffer[..length]);
        true
    }

    /// The text on the screen, without trailing blanks.
    pub fn shown(&self) -> String {
        self.screen.screen().contents()
    }

    /// Resizes the terminal.
    pub fn resize(&mut self, rows: u16, columns: u16) {
        let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: the descriptor is open, the pointer is to a live winsize.
        assert_eq!(unsafe { libc::ioctl(self.master.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) }, 0);
        self.screen.screen_mut().set_size(at_least_one(rows), at_least_one(columns));
    }

    /// Sends keys to the terminal.
    pub fn type_in(&mut self, keys: &[u8]) {
        self.master.write_all(keys).unwrap();
    }

    /// Sends a signal to the foreground process.
    pub fn signal(&self, signal: i32) {
        // SAFETY: sends a signal to a child that has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    /// Whether the terminal modes are unchanged and the cursor is visible.
    pub fn is_as_it_was(&self) -> bool {
        let now = state(&self.master);
        let modes = |of: &libc::termios| (of.c_iflag, of.c_oflag, of.c_cflag, of.c_lflag, of.c_cc);
        let screen = self.screen.screen();
        modes(&now) == modes(&self.before) && !screen.hide_cursor() && !screen.alternate_screen()
    }
}

/// For a terminal that does not report its size, the emulator has the smallest screen: a test reads `bytes` then.
fn at_least_one(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap_or(NonZero::<u16>::MIN)
}

fn state(terminal: &File) -> libc::termios {
    // SAFETY: termios is plain old data, for which zeroes are a valid value; the descriptor is open.
    unsafe {
        let mut state: libc::termios = std::mem::zeroed();
        assert_eq!(libc::tcgetattr(terminal.as_raw_fd(), &raw mut state), 0);
        state
    }
}
