//! `paceline selftest`: checks how accurate Paceline is on this machine.
//!
//! Runs the engine against the reference server, whose service times are known, and reports how far the reported times
//! are from the true ones, how late the generator sends, its highest rate, and whether the machine is quiet enough for
//! measurements. Wrong times are fatal; a noisy machine is a note.

mod child;
mod experiment;
mod judge;
mod print;

use super::format::PrintFormatFlag;
use crate::exit::Status;
use crate::reference::Service;
use std::time::Duration;

/// Enough for a hundred requests, the fewest for a p99.
const MIN_DURATION: Duration = Duration::from_millis(100);

/// Flags of `paceline selftest`.
#[derive(clap::Args, Debug)]
pub struct Arguments {
    /// Length of each measurement: one for each distribution of service times
    #[arg(long, default_value = "4s", value_name = "T", value_parser = some_time)]
    duration: Duration,
    #[command(flatten)]
    print: PrintFormatFlag,
}

/// Flags of the hidden `paceline reference-server`.
#[derive(clap::Args, Debug)]
pub struct ServerArguments {
    /// The distribution of service times
    #[arg(long, value_enum)]
    service: Service,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Poll without sleeping
    #[arg(long)]
    spin: bool,
    /// The core to run on
    #[arg(long)]
    core: Option<u32>,
    /// The address and port to listen on
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDR:PORT")]
    listen: std::net::SocketAddr,
}

/// Parses a duration that is long enough for a measurement.
fn some_time(text: &str) -> Result<Duration, String> {
    let time = super::run::duration(text)?;
    if time < MIN_DURATION {
        return Err("this duration is too short to measure; write 100ms or more".to_owned());
    }
    Ok(time)
}

/// Runs the self-test.
pub fn run(arguments: Arguments) -> anyhow::Result<Status> {
    crate::exit::check_printable()?;
    let results = experiment::carry_out(arguments.duration, &mut |line| crate::exit::say(line))?;
    let verdict = judge::judge(&results);
    if !arguments.print.is_json() {
        crate::exit::print(&print::text(&results, &verdict))?;
    }
    arguments.print.print_document(&print::document(&results, &verdict))?;
    Ok(if verdict.is_fatal() { Status::Failed } else { Status::Done })
}

/// Serves until standard input ends.
pub fn serve(arguments: ServerArguments) -> anyhow::Result<Status> {
    if let Some(core) = arguments.core {
        paceline_host::pin_self(&[core])?;
    }
    crate::reference::serve(arguments.listen, arguments.service, arguments.seed, arguments.spin)?;
    Ok(Status::Done)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    #[test]
    fn too_short_a_time_is_a_usage_error() {
        let error =
            |time| crate::Arguments::try_parse_from(["paceline", "selftest", "--duration", time]).err();
        for time in ["0", "0ms", "1ns", "99ms"] {
            let error = error(time).unwrap();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains("this duration is too short to measure"), "{error}");
        }
        assert!(error("500ms").is_none());
    }
}
