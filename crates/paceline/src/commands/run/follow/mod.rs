//! Follows a run as it goes: files with a line for each second, and the live view.
//!
//! Workers hand over a second when it is over ([`paceline_engine::Observer::second`]). A thread of its own, of the lowest
//! priority so that it takes no time from them, adds up what the workers saw, writes it and draws it. It measures
//! nothing: the result is made of what the engine returns.

mod files;
mod gather;
mod row;
mod screen;

pub use files::Files;
pub use row::Plan;
pub use screen::clear_on_exit;

use super::health::Health;
use crate::exit::Complaint;
use anyhow::Context as _;
use gather::Gather;
use paceline_engine::{Nanos, Observer, Phase, Second, Stop};
use row::Rows;
use screen::Screen;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Between two drawings of the live view.
const REDRAW: Duration = Duration::from_millis(200);

/// What is told to the thread that follows.
enum News {
    Phase(Phase, Nanos),
    Second(Second),
}

/// Tells the thread that follows, beside watching the generator's health.
#[derive(Debug)]
pub struct Follower {
    health: Health,
    news: Option<Sender<News>>,
    thread: Option<JoinHandle<Vec<anyhow::Error>>>,
}

impl Follower {
    /// Follows a run of this plan, if there is anything to write or to show it on.
    pub fn new(
        health: Health,
        plan: Plan,
        files: Files,
        with_view: bool,
        stop: &'static Stop,
    ) -> anyhow::Result<Self> {
        let screen = if with_view { Screen::of_stderr() } else { None };
        if files.is_empty() && screen.is_none() {
            return Ok(Self { health, news: None, thread: None });
        }
        let (news, heard) = mpsc::channel();
        let follow = move || Following { rows: Rows::new(plan, stop), files, screen }.until_the_end(&heard);
        let thread = thread::Builder::new().name("follow".to_owned()).spawn(follow).with_context(|| {
            Complaint::environment("no thread can be started to follow the run")
                .hint("raise the limit of processes (`ulimit -u`)")
        })?;
        Ok(Self { health, news: Some(news), thread: Some(thread) })
    }

    /// The run is over, well or not: everything is written, the view is gone. What could not be written is returned.
    pub fn end(mut self) -> (Health, Vec<anyhow::Error>) {
        drop(self.news.take());
        let lost = || vec![anyhow::anyhow!("the thread that writes seconds died")];
        let errors = self.thread.map_or(Vec::new(), |thread| thread.join().unwrap_or_else(|_| lost()));
        (self.health, errors)
    }

    fn tell(&self, news: News) {
        if let Some(sender) = &self.news {
            // It hears until the sender is gone.
            let _ = sender.send(news);
        }
    }
}

impl Observer for Follower {
    fn phase(&self, phase: Phase, at: Nanos) {
        self.health.phase(phase, at);
        self.tell(News::Phase(phase, at));
    }

    fn thread_phase(&self, worker: u32, phase: Phase) {
        self.health.thread_phase(worker, phase);
    }

    fn wants_seconds(&self) -> bool {
        self.news.is_some()
    }

    fn second(&self, second: Second) {
        self.tell(News::Second(second));
    }
}

/// The thread's own.
struct Following {
    rows: Rows,
    files: Files,
    screen: Option<Screen>,
}

impl Following {
    fn until_the_end(mut self, news: &Receiver<News>) -> Vec<anyhow::Error> {
        yield_to_workers();
        let mut gather = Gather::new(self.rows.workers());
        loop {
            let heard = match self.screen {
                Some(_) => news.recv_timeout(REDRAW),
                None => news.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match heard {
                Ok(News::Phase(phase, at)) => self.rows.phase(phase, at),
                Ok(News::Second(second)) => gather.add(second),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.tell(gather.whole());
            if let Some(screen) = &mut self.screen {
                screen.draw_if_due(REDRAW, || self.rows.live());
            }
        }
        self.tell(gather.rest());
        if let Some(screen) = &mut self.screen {
            screen.clear();
        }
        self.files.end()
    }

    fn tell(&mut self, seconds: Vec<Second>) {
        for second in seconds {
            let row = self.rows.row(&second);
            self.files.second(&row, &second, &self.rows);
        }
    }
}

/// Writing and drawing can wait, sending cannot: on a core that is shared this thread comes last (nice 19).
fn yield_to_workers() {
    // SAFETY: of PRIO_PROCESS with 0 the kernel takes the calling thread alone (setpriority(2), "C library/kernel
    // differences"). A refusal leaves the priority as it was.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
}
