//! Progress on standard error: the running trial, the main figure of each completed trial, the remaining trials, and
//! the expected end.
//! On a terminal one line is rewritten; elsewhere each event is a plain line.
//!
//! Called by `mod.rs` for each event of the lab. The report at the end is separate and goes to standard output.

use crate::exit::fitted;
use paceline_catalogue::PlannedLaunch;
use paceline_escape::TerminalText;
use paceline_lab::{RoundEstimate, RoundEvent};
use paceline_record::{LoopKind, Round, Trial};
use paceline_stats::{count_text, counted, span_text, time_text};
use std::io::{IsTerminal as _, Write as _};

/// Back to the beginning of the line and clear it: ECMA-48, EL.
const CLEAR_LINE: &str = "\r\x1b[2K";

/// Prints events.
pub struct RoundProgress {
    is_quiet: bool,
    is_terminal: bool,
    width: usize,
}

impl RoundProgress {
    /// On standard error, or disabled.
    pub fn new(is_quiet: bool) -> Self {
        let width = crate::terminal::width().saturating_sub(1).max(20);
        Self { is_quiet, is_terminal: std::io::stderr().is_terminal(), width }
    }

    /// A permanent line, even with `--quiet`: an error, or something that was left out.
    pub fn note(&mut self, text: &str) {
        self.line(text);
    }

    /// A function that prints such lines, for code that cannot borrow this value.
    pub fn notice(&self) -> impl Fn(&str) + Send + Sync + 'static {
        let clear = if self.is_terminal { CLEAR_LINE } else { "" };
        move |text| print_line(clear, text)
    }

    /// The message after the first Ctrl-C, printed immediately: stopping a server may take a while.
    pub fn stopping(&self) -> String {
        let clear = if self.is_terminal { CLEAR_LINE } else { "" };
        format!(
            "{clear}stopping the current trial (a few seconds); earlier trials are stored; press Ctrl-C again to kill the current one\n"
        )
    }

    /// Prints the beginning of the round.
    pub fn begin(&mut self, round: &Round, is_resumed: bool, whole: &RoundEstimate) {
        let verb = if is_resumed { "resuming round" } else { "round" };
        self.done(&format!(
            "{verb} {} of plan {}: {}, seed {}; about {} in total; if interrupted, --resume continues it",
            round.id,
            round.plan,
            counted(round.planned, "trial", "trials"),
            round.seed,
            span_text(whole.left().as_secs())
        ));
    }

    /// Clears the rewritten line.
    pub fn end(&mut self) {
        self.now("");
    }

    /// Prints one event.
    pub fn handle_event(&mut self, event: RoundEvent<'_>) {
        match event {
            RoundEvent::Building { server, of, nth } => {
                self.doing(&format!("building {server} ({nth} of {of})"))
            }
            RoundEvent::CannotUse { id, fault } => {
                self.line(&format!("{id} cannot be used: {}", first_line(&fault.message)));
            }
            RoundEvent::Launching { launch, estimate } => {
                self.now(&with_estimate(&starting(launch), estimate))
            }
            RoundEvent::WarmingUp { launch, estimate } => {
                self.now(&with_estimate(&format!("warming up {}", launch.server.id), estimate));
            }
            RoundEvent::Loading { trial, estimate } => self.now(&with_estimate(&cell(trial), estimate)),
            RoundEvent::Kept { trial, estimate } => self.kept(trial, estimate),
            RoundEvent::Profiling { launch } => self.doing(&format!("profiling {}", launch.server.id)),
            // The profiles are listed after the report.
            RoundEvent::Profiled { .. } => {}
            RoundEvent::Again { trials } => {
                self.done(&format!(
                    "repeating {} that other activity on the machine disturbed",
                    counted(trials, "trial", "trials")
                ));
            }
        }
    }

    fn kept(&mut self, trial: &Trial, estimate: &RoundEstimate) {
        let text = format!("{}  {}", cell(trial), headline(trial));
        // Without a terminal this is the only line of a trial.
        let text = if self.is_terminal { text } else { with_estimate(&text, estimate) };
        if trial.error.is_some() { self.line(&text) } else { self.done(&text) }
    }

    /// What is running now: a separate line if it cannot be rewritten.
    fn doing(&mut self, text: &str) {
        if self.is_terminal { self.now(text) } else { self.done(text) }
    }

    fn done(&mut self, text: &str) {
        if !self.is_quiet {
            self.line(text);
        }
    }

    fn now(&mut self, text: &str) {
        if self.is_quiet || !self.is_terminal {
            return;
        }
        let text: String = TerminalText::from_text(text).as_str().chars().take(self.width).collect();
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "{CLEAR_LINE}{text}").and_then(|()| stderr.flush());
    }

    fn line(&mut self, text: &str) {
        print_line(if self.is_terminal { CLEAR_LINE } else { "" }, text);
    }
}

/// Prints a permanent line, broken at spaces where the terminal is too narrow for it.
fn print_line(clear: &str, text: &str) {
    let text = fitted(text, "  ", crate::terminal::width_of_stderr());
    // A closed standard error is ignored and does not stop the round.
    let _ = writeln!(std::io::stderr(), "{clear}{}", TerminalText::lines(&text));
}

fn starting(launch: &PlannedLaunch) -> String {
    format!("starting {} ({}), repeat {}", launch.server.id, launch.form, launch.block + 1)
}

fn cell(trial: &Trial) -> String {
    let form = if trial.form == "single" { String::new() } else { format!(" ({})", trial.form) };
    format!("{}{form} {} {} #{}", trial.server.id, trial.workload, trial.load.name, trial.repeat + 1)
}

/// The main figure of a trial: the achieved rate in a closed loop, the CPU cost at a fixed rate.
fn headline(trial: &Trial) -> String {
    if let Some(fault) = &trial.error {
        return format!("FAILED {}: {}", fault.stage.words(), first_line(&fault.message));
    }
    let Some(run) = &trial.run else { return "no result".to_owned() };
    let cpu = match &trial.usage {
        Some(usage) => format!(", {} of server CPU per request", time_text(usage.cpu_ns_per_request)),
        None => String::new(),
    };
    let not_ok = match run.total.counts.not_ok() {
        0 => String::new(),
        count => format!(", {} failed", counted(count, "request", "requests")),
    };
    let time = match (run.loop_.kind, &run.total.response_time_ns) {
        (LoopKind::Open, Some(times)) => format!(", response time p99 {}", time_text(times.p99 as f64)),
        _ => String::new(),
    };
    format!("{} requests/s{cpu}{time}{not_ok}", count_text(run.rate_per_s.achieved))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn with_estimate(text: &str, estimate: &RoundEstimate) -> String {
    let left = estimate.left();
    let (done, planned) = (estimate.trials_done, estimate.trials_planned);
    if done >= planned {
        return format!("[{done}/{planned}] {text}");
    }
    format!(
        "[{done}/{planned}] {text} | about {} left, until {}",
        span_text(left.as_secs()),
        paceline_run::wall_clock::clock_in(left)
    )
}
