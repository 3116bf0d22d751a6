//! `paceline why URL|SERVER`: the limit of a server, where the time of a request goes, and what to try next.
//!
//! Called by `main`. The loads are runs in child processes: a closed loop and an open loop at half of its rate, each with a
//! profile in a window after it, and the closed loop with its system calls in another. `paceline_experiment::explain_why`
//! makes the answer from their records.

use super::child::LoadFlags;
use super::output::{ResultFlags, ResultFormats};
use super::{ExperimentContext, ExperimentTarget, complaint};
use crate::commands::format::Format;
use crate::exit::{self, Status};
use paceline_escape::{TerminalText, shell_word};
use paceline_experiment::{LoadError, LoadRequest, LoadResult, Why, explain_why, why_text};
use paceline_stats::count_text;
use std::path::Path;
use std::time::Duration;

/// Flags of `paceline why`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  paceline why http://127.0.0.1:8080/
  paceline why http://127.0.0.1:8080/search -c 200 -d 20s
  paceline why go-nethttp --json
  paceline why http://127.0.0.1:8080/ -- --pid 4711 --mix shop.toml

Exit status: 0 done, 1 no valid response, 2 usage, 3 environment,
130 interrupted")]
pub struct Arguments {
    /// A URL, or the id of a server of the lab
    target: String,
    /// Length of the window of each of the two loads
    #[arg(short, long, default_value = "10s", value_name = "T", value_parser = super::super::run::duration)]
    duration: Duration,
    #[command(flatten)]
    output: ResultFlags<WhyFormats>,
    #[command(flatten)]
    load: LoadFlags,
}

/// The formats of the answer.
#[derive(Clone, Copy, Debug)]
struct WhyFormats;

impl ResultFormats for WhyFormats {
    const FORMATS: &'static [Format] = &[Format::Text, Format::Json];
}

/// Loads the server and prints the answer.
pub fn run(arguments: Arguments) -> anyhow::Result<Status> {
    exit::check_printable()?;
    arguments.output.check(&[])?;
    let context = ExperimentContext { is_profiled: true, ..ExperimentContext::new(arguments.load)? };
    let target = ExperimentTarget::from_text(&arguments.target);
    let why = answer(&context, &target, arguments.duration).map_err(complaint)?;
    arguments.output.write(|format| match format {
        Format::Text => {
            let records = format!("records      {}\n", context.records.display());
            let flames = why.flame_graph.as_ref().map(|path| format!("flame graph  {path}\n"));
            let text = format!("{}\n{}{records}", why_text(&why), flames.unwrap_or_default());
            Ok(TerminalText::lines(&exit::fitted_lines(&text)).into())
        }
        Format::Json => exit::json(&why),
        Format::Markdown | Format::Csv | Format::Html | Format::Svg | Format::Hgrm | Format::Junit => {
            Err(format.unavailable())
        }
    })?;
    Ok(if why.closed.achieved_per_s > 0.0 { Status::Done } else { Status::Failed })
}

fn answer(
    context: &ExperimentContext,
    target: &ExperimentTarget,
    window: Duration,
) -> Result<Why, LoadError> {
    let id = match target {
        ExperimentTarget::Server(id) => Some(id.as_str()),
        ExperimentTarget::Url(_) => None,
    };
    let mut target = context.open(target, "")?;
    let started = id.zip(target.server.as_ref());
    let serve = started.map(|(id, server)| serve_again(id, &server.url, &context.flags));
    if !target.warm(context.flags.warm_limit())? {
        exit::say("the server was still getting faster when --warm-limit was reached");
    }
    let request = |rate_per_s| LoadRequest { rate_per_s, warmup: context.flags.warm_up(), window };
    let flame_graph = context.records.join("flame.svg");
    exit::say("closed loop, then the same load with a profile, and with its system calls counted");
    let profile = format!("--profile={}", flame_graph.display());
    let observed = [profile, "--syscalls".to_owned()];
    let (closed, closed_record) = target.load.record(&request(None), &observed)?;
    let half_per_s = LoadResult::from_run(&closed).achieved_in_unit_per_s() / 2.0;
    let half = match half_per_s > 0.0 {
        true => {
            exit::say(&format!("open loop at half of the rate: {}/s", count_text(half_per_s)));
            let profile = format!("--profile={}", context.records.join("flame-half.svg").display());
            Some(target.load.record(&request(Some(half_per_s)), &[profile])?)
        }
        false => None,
    };
    let half_run = half.as_ref().map(|(run, _)| run);
    let mut why = explain_why(target.load.url(), &closed_record, serve, &closed, half_run);
    why.flame_graph = existing(&flame_graph);
    why.records = std::iter::once(closed_record).chain(half.map(|(_, record)| record)).collect();
    Ok(why)
}

/// The command that starts a server of the lab again as it was started, on the same port: URLs in commands stay valid.
fn serve_again(id: &str, url: &str, flags: &LoadFlags) -> String {
    let mut command = format!("paceline lab serve {} --form {} --profiled", shell_word(id), flags.lab_form());
    if let Some(user) = &flags.user {
        command += &format!(" --user {}", shell_word(user));
    }
    let port = url.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
    command + &port.map_or(String::new(), |port| format!(" --port {port}"))
}

fn existing(path: &Path) -> Option<String> {
    path.exists().then(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Flags {
        #[command(flatten)]
        load: LoadFlags,
    }

    #[test]
    fn a_server_is_started_again_on_its_port() {
        let flags = Flags::try_parse_from(["why", "--form", "cores", "--user", "nobody"]).unwrap().load;
        assert_eq!(
            serve_again("go-nethttp", "http://127.0.0.1:20123/", &flags),
            "paceline lab serve go-nethttp --form cores --profiled --user nobody --port 20123"
        );
    }
}
