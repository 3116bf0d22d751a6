//! A terminal of our own to run on: a pseudo-terminal, and a screen that shows what was drawn there.
//!
//! For `screen.rs`. The screen is the vt100 crate's, so that what is drawn is understood by somebody else; other
//! terminals may differ from it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Long enough for a machine that does ten other things; what waits here ends on its own much earlier.
const LIMIT: Duration = Duration::from_secs(60);

/// A terminal with somebody running on it.
pub struct Terminal {
    master: File,
    child: Child,
    screen: vt100::Parser,
    /// Every byte that came.
    pub bytes: Vec<u8>,
    before: libc::termios,
}

impl Terminal {
    /// Runs a command on a terminal of so many rows and columns, as its controlling terminal.
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
        // SAFETY: both were opened just now, for us.
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

    /// Reads until the screen is as wanted.
    pub fn wait_until(&mut self, wanted: impl Fn(&str) -> bool) {
        self.wait_for(wanted).unwrap();
    }

    /// The same of what a busy machine may have no time to draw: an error where the run is over before.
    pub fn wait_for(&mut self, wanted: impl Fn(&str) -> bool) -> Result<(), String> {
        let begun = Instant::now();
        while !wanted(&self.shown()) {
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

    /// Reads what there is; false at the end.
    fn read(&mut self, begun: Instant) -> bool {
        let left = LIMIT.checked_sub(begun.elapsed()).expect("nothing comes any more");
        let mut polled = libc::pollfd { fd: self.master.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, which is open.
        unsafe { libc::poll(&raw mut polled, 1, left.as_millis() as i32) };
        let mut buffer = [0; 4096];
        // A terminal whose last process has gone is an error to read from.
        let Ok(length @ 1..) = self.master.read(&mut buffer) else { return false };
        self.screen.process(&buffer[..length]);
        self.bytes.extend_from_slice(&buffer[..length]);
        true
    }

    /// What the screen shows, without blanks at the ends of lines.
    pub fn shown(&self) -> String {
        self.screen.screen().contents()
    }

    /// Gives the terminal another size.
    pub fn resize(&mut self, rows: u16, columns: u16) {
        let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: the descriptor is open, the pointer is to a live winsize.
        assert_eq!(unsafe { libc::ioctl(self.master.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) }, 0);
        self.screen.screen_mut().set_size(at_least_one(rows), at_least_one(columns));
    }

    /// Types.
    pub fn type_in(&mut self, keys: &[u8]) {
        self.master.write_all(keys).unwrap();
    }

    /// Sends a signal to the foreground process.
    pub fn signal(&self, signal: i32) {
        // SAFETY: a signal to a child that has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    /// Whether the terminal's modes are as they were, and the cursor is to be seen.
    pub fn is_as_it_was(&self) -> bool {
        let now = state(&self.master);
        let modes = |of: &libc::termios| (of.c_iflag, of.c_oflag, of.c_cflag, of.c_lflag, of.c_cc);
        let screen = self.screen.screen();
        modes(&now) == modes(&self.before) && !screen.hide_cursor() && !screen.alternate_screen()
    }
}

fn at_least_one(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

fn state(terminal: &File) -> libc::termios {
    // SAFETY: termios is plain old data, for which zeroes are a valid value; the descriptor is open.
    unsafe {
        let mut state: libc::termios = std::mem::zeroed();
        assert_eq!(libc::tcgetattr(terminal.as_raw_fd(), &raw mut state), 0);
        state
    }
}
