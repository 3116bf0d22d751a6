//! Carries a plan out: round after round, in each round one contender after the other (A B A B).
//!
//! Called by `main` for each experiment. Each run has a server of its own. A contender that fails leaves a sample with
//! the error, never a missing row; one that cannot run here at all is left out, with the reason. No number is compared
//! and no run repeated: medians, ratios and goals are `page`'s.

use crate::plan::{Contender, Plan, Sample, Side};
use crate::server::Server;
use crate::tools::Report;
use crate::workplace::Workplace;
use crate::{cores, process};
use anyhow::{Context as _, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Longer than any run here takes: what is not over by then hangs.
const RUN_LIMIT: Duration = Duration::from_secs(180);

/// What a plan came to.
pub struct Outcome {
    /// Every run, in the order in which they were made.
    pub samples: Vec<Sample>,
    /// Rounds carried out.
    pub rounds: u32,
    /// Rows left out, and why.
    pub left_out: Vec<String>,
}

/// Carries out so many rounds.
pub fn run(plan: &mut Plan, rounds: u32, workplace: &Workplace) -> Outcome {
    let left_out = leave_out(plan, workplace);
    let rounds = plan.rounds_most.map_or(rounds, |most| rounds.min(most));
    let mut samples = Vec::new();
    for round in 0..rounds {
        let mut of_round: Vec<Sample> =
            plan.contenders.iter().map(|contender| sample(contender, round, workplace)).collect();
        of_round.extend(plan.derive.map(|derive| derive(&of_round)).unwrap_or_default());
        crate::say(&format!("{}: round {} of {rounds}: {}", plan.name, round + 1, in_short(&of_round)));
        samples.extend(of_round);
    }
    Outcome { samples, rounds, left_out }
}

/// Takes contenders out that cannot run here, and says why.
fn leave_out(plan: &mut Plan, workplace: &Workplace) -> Vec<String> {
    let mut reasons = Vec::new();
    plan.contenders.retain(|contender| {
        let flag = contender.needs_flag.filter(|flag| !workplace.paceline_has(flag));
        if let Some(flag) = flag {
            reasons.push(format!("{}: this Paceline has no `{flag}`", contender.name));
        } else if workplace.find(contender.command.program).is_none() {
            reasons.push(format!("{}: not installed", contender.name));
        } else {
            return true;
        }
        false
    });
    reasons
}

fn in_short(samples: &[Sample]) -> String {
    let short = samples.iter().map(|sample| match (&sample.error, sample.cpu_us()) {
        (Some(_), _) => format!("{} failed", sample.contender),
        (None, Some(us)) => format!("{} {us:.2} us", sample.contender),
        (None, None) => sample.contender.clone(),
    });
    short.collect::<Vec<_>>().join(", ")
}

/// One run of one contender.
fn sample(contender: &Contender, round: u32, workplace: &Workplace) -> Sample {
    let named = Sample { contender: contender.name.clone(), round, ..Sample::default() };
    match measure(contender, workplace) {
        Ok(sample) => Sample { contender: named.contender, round, ..sample },
        Err(error) => Sample { error: Some(workplace.shown(&format!("{error:#}"))), ..named },
    }
}

fn measure(contender: &Contender, workplace: &Workplace) -> anyhow::Result<Sample> {
    let server = Server::start(&contender.server, workplace)?;
    let (out, err) = (workplace.folder.join("generator.out"), workplace.folder.join("generator.err"));
    let mut command = command(contender, &server, workplace)?;
    let (started, busy, server_s) = (Instant::now(), cores::busy_s()?, cores::process_s(server.pid()));
    let ended = process::start(&mut command, &out, &err)?.wait(RUN_LIMIT)?;
    let all_s = started.elapsed().as_secs_f64();
    let busy: Vec<f64> = cores::busy_s()?.iter().zip(&busy).map(|(after, before)| after - before).collect();
    let server_s = cores::process_s(server.pid()) - server_s;
    drop(server);

    let output = fs::read_to_string(&out).with_context(|| out.display().to_string())?;
    let mut report = match (contender.tool.read(&output), ended.well) {
        (Ok(report), _) => report,
        (Err(_), false) => bail!("ended with wait status {}: {}", ended.status, last_words(&err)),
        (Err(error), true) => return Err(error),
    };
    if !ended.well {
        report.remarks.push(format!("ended with wait status {}", ended.status));
    }
    report.extra.insert("body_bytes", contender.server.body_bytes as f64);
    let others_s = busy.iter().sum::<f64>() - ended.user_s - ended.system_s - server_s;
    let core_busy_s = (contender.cores == Side::Generator).then(|| {
        workplace.core_numbers(contender.cores).iter().filter_map(|core| busy.get(*core as usize)).sum()
    });
    Ok(to_sample(report, ended, all_s, core_busy_s, (others_s / all_s).max(0.0)))
}

fn to_sample(
    report: Report,
    ended: process::Ended,
    all_s: f64,
    core_busy_s: Option<f64>,
    others_share: f64,
) -> Sample {
    let (user_s, system_s) = report.cpu_s.unwrap_or((ended.user_s, ended.system_s));
    Sample {
        requests: report.requests,
        failures: report.failures,
        wall_s: report.wall_s.unwrap_or(all_s),
        user_s,
        system_s,
        core_busy_s,
        others_share,
        rss_bytes_peak: report.rss_bytes_peak.unwrap_or(ended.rss_bytes_peak),
        extra: report.extra,
        remarks: report.remarks,
        ..Sample::default()
    }
}

fn command(contender: &Contender, server: &Server, workplace: &Workplace) -> anyhow::Result<Command> {
    let places = BTreeMap::from([
        ("url", format!("http://127.0.0.1:{}/", server.port)),
        ("port", server.port.to_string()),
        ("response_bytes", server.response_bytes.to_string()),
        ("body", workplace.body(contender.server.body_bytes)?.display().to_string()),
        ("work", workplace.folder.display().to_string()),
    ]);
    let program = workplace.find(contender.command.program);
    let program = program.with_context(|| format!("{} has gone", contender.command.program))?;
    let mut command = Command::new("taskset");
    command.arg("-c").arg(workplace.cores(contender.cores)).arg(program);
    command.args(contender.command.arguments.iter().map(|text| Workplace::fill(text, &places)));
    let environment = contender.command.environment.iter();
    command.envs(environment.map(|(name, value)| (name, Workplace::fill(value, &places))));
    Ok(command)
}

/// The end of what a program said on standard error.
fn last_words(path: &Path) -> String {
    let said = fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join(" / ")
}
