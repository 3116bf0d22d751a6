//! Parses gates: `--slo 'response.p99<10ms'`, `--slo 'achieved>=99%'`, `--max-errors 0.1%`.
//!
//! An error suggests the nearest valid word. The judge crate judges whether a run passes a gate, from the record
//! alone.

use crate::exit::Complaint;
use paceline_catalogue::nearest;
use paceline_job::{Arrivals, Bound, Job, LoadModel, RequestSpec, Shape};
use paceline_judge::gate::{self, Gate, GateRequirement, GateTime, Statistic};
use paceline_record::TimeKind;
use paceline_stats::whole;

/// Statistics to suggest.
const STATISTICS: [&str; 9] = ["p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "max", "mean"];

/// Flags of checks on the run as a whole.
#[derive(clap::Args, Debug)]
pub struct GateFlags {
    /// Exit 1 unless this limit is met
    ///
    /// May be repeated. A time is one of response, service, connect, handshake, first_byte and lag (generator lag), with a percentile
    /// (p50 to p99.999), max or mean: 'response.p99<10ms'. With --mix also session (whole sessions, pauses included) and
    /// step(NAME) (one request, by its name): 'session.p99<2s', 'step(login).p99<200ms', 'sessions>=50'. With --stream also
    /// first_body, first_event, gap (between events), longest_gap (of each stream), stream (its duration) and message_delay:
    /// 'first_event.p99<500ms', 'gap.p99<100ms', 'events>=100' (in each stream), 'events>=2k/s' (per second). A rate is a share of the offered rate or a number per second:
    /// 'achieved>=99%', 'achieved>=20k'. A gate also fails if the run does not show that the limit was met: the
    /// requested load was not reached, the run is invalid or was interrupted, the value is only a lower bound (it falls
    /// among requests that got no response), or there were too few requests (p99 needs 1,000, so that 10 are above it).
    /// Every failed request counts as slower than the limit.
    #[arg(long = "slo", value_name = "EXPRESSION", value_parser = slo, help_heading = "Checks")]
    pub slos: Vec<Gate>,

    /// Exit 1 if more requests fail: 0.1% or 10
    ///
    /// A share of the requests, or a number of requests.
    #[arg(long, value_name = "SHARE|N", value_parser = max_errors, allow_hyphen_values = true, help_heading = "Checks")]
    pub max_errors: Option<Gate>,

    /// Exit 0 even if the run is invalid or the server overloaded; --slo and --max-errors still set the exit status
    #[arg(hide_short_help = true, long, help_heading = "Checks")]
    pub allow_invalid: bool,
}

impl GateFlags {
    /// All requested gates; an error if a closed loop, or a target without TLS, cannot evaluate one of them.
    pub fn all(&self, is_open: bool, is_tls: bool) -> anyhow::Result<Vec<Gate>> {
        let gates: Vec<Gate> = self.slos.iter().chain(&self.max_errors).cloned().collect();
        let refused = |gate: &Gate| {
            refusal(gate).filter(|_| !is_open).or_else(|| without_tls(gate).filter(|_| !is_tls))
        };
        match gates.iter().find_map(refused) {
            Some(refusal) => Err(refusal.into()),
            None => Ok(gates),
        }
    }
}

/// Refuses a gate on sessions, or on a request of a mix, that the job does not have.
pub fn check_requests(gates: &[Gate], job: &Job) -> anyhow::Result<()> {
    for gate in gates {
        let expression = &gate.expression;
        let of_sessions = match &gate.demand {
            GateRequirement::SessionsPerS(_) => true,
            GateRequirement::Time { of: GateTime::Session, .. } => true,
            GateRequirement::Time { of: GateTime::Step(step), .. } => {
                let names: Vec<&str> = job.requests.iter().map(RequestSpec::shown_name).collect();
                if !names.iter().any(|name| gate::without_spaces(name) == *step) {
                    let why = format!("--slo {expression:?}: no request is called {step:?}");
                    return Err(Complaint::usage(why)
                        .hint(format!("the names are {}", names.join(", ")))
                        .into());
                }
                false
            }
            _ => false,
        };
        let of_streams = match &gate.demand {
            GateRequirement::EventsPerS(_) | GateRequirement::EventsPerStream(_) => true,
            GateRequirement::Time { of, .. } => of.needs_streams(),
            _ => false,
        };
        let of_delays = GateTime::Of(TimeKind::MessageDelay);
        let is_of_delays = matches!(&gate.demand, GateRequirement::Time { of, .. } if *of == of_delays);
        let mut streams = job.requests.iter().filter_map(|request| request.stream.as_ref());
        if is_of_delays && streams.all(|stream| stream.message_time.is_none()) {
            let why = format!("--slo {expression:?}: it is not known where events have their times");
            return Err(Complaint::usage(why)
                .hint("say where: --stream messages --message-time /sent")
                .into());
        }
        if of_streams && job.requests.iter().all(|request| request.stream.is_none()) {
            let why = format!("--slo {expression:?}: the responses are not read as streams");
            return Err(Complaint::usage(why)
                .hint("say how they are divided into events: --stream sse")
                .into());
        }
        if of_sessions && !job.has_sessions() {
            let why = format!("--slo {expression:?}: the load has no sessions");
            return Err(Complaint::usage(why).hint("give a request file with sessions (--mix FILE)").into());
        }
    }
    Ok(())
}

/// A notice for each gate that fails because the run will have too few requests, if the job determines their number:
/// not with sessions, nor with random arrivals.
pub fn notices(gates: &[Gate], job: &Job) -> Vec<String> {
    if job.has_sessions() {
        return Vec::new();
    }
    let per_s = match &job.load {
        LoadModel::Open { shape: Shape::Steady { rate }, arrivals: Arrivals::Constant } => Some(rate.get()),
        _ => None,
    };
    let requests = match (job.window, per_s) {
        (Bound::Requests(requests), _) => requests,
        (Bound::Duration(window), Some(per_s)) => (per_s * window.as_secs_f64()).round() as u64,
        (Bound::Duration(_), None) => return Vec::new(),
    };
    let notice = |gate: &Gate| {
        let GateRequirement::Time { ref of, statistic, .. } = gate.demand else { return None };
        let needed = statistic.samples_needed();
        // Connections are counted apart from requests.
        let is_per_request = !matches!(
            of,
            GateTime::Of(
                TimeKind::Connect | TimeKind::Handshake | TimeKind::EventGap | TimeKind::MessageDelay
            ) | GateTime::Session
                | GateTime::Step(_)
        );
        let flag = match per_s.filter(|_| matches!(job.window, Bound::Duration(_))) {
            Some(per_s) => format!("-d {:.0}s", (needed as f64 / per_s).ceil()),
            None => format!("-n {needed}"),
        };
        (is_per_request && requests < needed).then(|| {
            format!(
                "--slo {:?} will fail: it needs {} requests, and the run has {}; use {flag} or more",
                gate.expression,
                whole(needed as f64),
                whole(requests as f64)
            )
        })
    };
    gates.iter().filter_map(notice).collect()
}

/// Why a target without TLS cannot evaluate a gate.
fn without_tls(gate: &Gate) -> Option<Complaint> {
    let expression = &gate.expression;
    matches!(gate.demand, GateRequirement::Time { of: GateTime::Of(TimeKind::Handshake), .. }).then(|| {
        Complaint::usage(format!("--slo {expression:?}: an http:// URL has no TLS handshakes"))
            .hint("use an https:// URL, or an objective for the connect time: connect.p99")
    })
}

/// Why a closed loop cannot evaluate a gate, with an alternative.
fn refusal(gate: &Gate) -> Option<Complaint> {
    let expression = &gate.expression;
    match gate.demand {
        GateRequirement::Time { of: GateTime::Of(TimeKind::Response), .. } => Some(
            Complaint::usage(format!(
                "--slo {expression:?}: a closed loop has no response times: it has no schedule from which they could be \
                 measured, and sends nothing while the server stalls (coordinated omission)"
            ))
            .hint(format!(
                "use an offered rate (-r 1000), or limit the service time, which begins when a request is sent: {:?}",
                expression.replacen("response", "service", 1)
            )),
        ),
        GateRequirement::Time { ref of, .. } if of.needs_open_loop() => Some(
            Complaint::usage(format!("--slo {expression:?}: generator lag cannot be limited in a closed loop, which has no schedule"))
                .hint("use an offered rate (-r 1000)"),
        ),
        GateRequirement::AchievedShare(_) => Some(
            Complaint::usage(format!("--slo {expression:?}: a closed loop has no offered rate, so `achieved` cannot be a share"))
                .hint("use an offered rate (-r 1000), or require a number per second: \"achieved>=1000\""),
        ),
        _ => None,
    }
}

/// Parses a value of `--slo`.
fn slo(text: &str) -> Result<Gate, String> {
    let dense: String = text.split_whitespace().collect();
    let at = dense
        .find(['<', '>'])
        .ok_or("the expression has no < or >=; write 'response.p99<10ms' or 'achieved>=99%', in quotes")?;
    let (subject, rest) = dense.split_at(at);
    let (operator, value) = rest.split_at(if rest[1..].starts_with('=') { 2 } else { 1 });
    if value.is_empty() {
        return Err(format!(
            "the limit after {operator:?} is missing; write for example 'response.p99<10ms'"
        ));
    }
    let demand = match gate::split_subject(subject) {
        None if subject == "achieved" => achieved(operator, value)?,
        None if subject == "sessions" => sessions(operator, value)?,
        None if subject == "events" => events(operator, value)?,
        _ => time(subject, operator, value)?,
    };
    Ok(Gate { expression: dense, demand })
}

fn achieved(operator: &str, value: &str) -> Result<GateRequirement, String> {
    if operator != ">=" {
        return Err(format!("achieved supports only >=; write 'achieved>={value}'"));
    }
    if value.ends_with('%') {
        return share(value).map(GateRequirement::AchievedShare);
    }
    let rate = super::values::rate(value)
        .map_err(|_| format!("{value:?} is not a rate; write 20000, 20k or 99%"))?;
    Ok(GateRequirement::AchievedPerS(rate.get()))
}

fn sessions(operator: &str, value: &str) -> Result<GateRequirement, String> {
    if operator != ">=" {
        return Err(format!("sessions supports only >=; write 'sessions>={value}'"));
    }
    let rate = super::values::rate(value).map_err(|_| format!("{value:?} is not a rate; write 50 or 2k"))?;
    Ok(GateRequirement::SessionsPerS(rate.get()))
}

fn events(operator: &str, value: &str) -> Result<GateRequirement, String> {
    if operator != ">=" {
        return Err(format!("events supports only >=; write 'events>={value}'"));
    }
    let wrong = || format!("{value:?} is not a number of events; write 100 (in each stream), or 2k/s");
    match value.strip_suffix("/s") {
        Some(rate) => {
            super::values::rate(rate).map(|rate| GateRequirement::EventsPerS(rate.get())).map_err(|_| wrong())
        }
        None => super::values::whole(value).map(GateRequirement::EventsPerStream).map_err(|_| wrong()),
    }
}

fn time(subject: &str, operator: &str, value: &str) -> Result<GateRequirement, String> {
    let (name, figure) = gate::split_subject(subject).map_or((subject, None), |(name, f)| (name, Some(f)));
    let names = || GateTime::all().map(|time| time.name());
    if figure.is_none() && statistic(name).is_ok() {
        let value = if value.parse::<f64>().is_ok() { &format!("{value}ms") } else { value };
        return Err(format!(
            "{name:?} does not say which time is meant; write 'response.{name}{operator}{value}' with -r, or \
                            'service.{name}{operator}{value}'"
        ));
    }
    // An objective of `paceline capacity` may name errors.
    if name == "errors" {
        return Err(format!("errors have a separate flag; write --max-errors {value}"));
    }
    let of_step = gate::step_name(name).map(|step| GateTime::Step(step.to_owned()));
    let Some(of) = of_step.or_else(|| GateTime::all().find(|time| time.name() == name)) else {
        let all = names().chain(["step(NAME)", "achieved", "sessions", "events"]);
        let meant =
            nearest(name, all.clone()).map_or(".".to_owned(), |word| format!("; did you mean {word:?}?"));
        return Err(format!(
            "{name:?} is not a known metric{meant} The metrics are {}",
            all.collect::<Vec<_>>().join(", ")
        ));
    };
    let Some(figure) = figure else {
        return Err(format!("{name} needs a statistic; write {name}.p99, {name}.max or {name}.mean"));
    };
    let statistic = statistic(figure)?;
    if operator.starts_with('>') {
        return Err(format!("a time can only have an upper limit; write '{subject}<{value}'"));
    }
    let unit_less = value.parse::<f64>().is_ok();
    if unit_less {
        return Err(format!("{value} has no unit; write {value}ms, {value}us or {value}s"));
    }
    let limit = super::duration(&value.replace('\u{b5}', "u"))
        .map_err(|_| format!("{value:?} is not a duration; write 10ms, 250us or 1.5s"))?;
    if limit.is_zero() {
        return Err("the limit must be above 0".to_owned());
    }
    let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
    Ok(GateRequirement::Time { of, statistic, limit_ns, or_equal: operator == "<=" })
}

fn statistic(figure: &str) -> Result<Statistic, String> {
    match figure {
        "max" => return Ok(Statistic::Max),
        "mean" => return Ok(Statistic::Mean),
        _ => {}
    }
    if let Some(percentile) = figure.strip_prefix('p').and_then(percentile) {
        return Ok(Statistic::Percentile(percentile));
    }
    // p99.9 is often written p999.
    let dotted =
        figure.strip_prefix("p99").filter(|nines| !nines.is_empty()).map(|nines| format!("p99.{nines}"));
    let meant = dotted.filter(|dotted| STATISTICS.contains(&dotted.as_str()));
    let all = (figure == "p100").then_some("max");
    let meant = all.or(meant.as_deref()).or_else(|| nearest(figure, STATISTICS));
    let meant = meant.map_or(".".to_owned(), |word| format!("; did you mean {word:?}?"));
    Err(format!("{figure:?} is not a known statistic{meant} The statistics are p50 to p99.999, max and mean"))
}

/// A percentile from 50 to 99.999: two digits, and optionally decimals.
fn percentile(text: &str) -> Option<f64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = whole.len() == 2 && are_digits(whole) && are_digits(rest);
    let number: f64 = text.parse().ok().filter(|_| is_plain)?;
    (50.0..=99.999).contains(&number).then_some(number)
}

/// A checked value of `--max-errors` as text, for commands that start runs.
pub fn checked_max_errors(text: &str) -> Result<String, String> {
    max_errors(text).map(|_| text.to_owned())
}

/// Parses a value of `--max-errors`.
fn max_errors(text: &str) -> Result<Gate, String> {
    let demand = if text.ends_with('%') {
        GateRequirement::ErrorShare(share(text)?)
    } else {
        let count = text.replace('_', "").parse::<u64>();
        GateRequirement::ErrorCount(
            count.map_err(|_| "write a percentage such as 0.1%, or a whole number of requests")?,
        )
    };
    Ok(Gate { expression: format!("errors<={text}"), demand })
}

fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    let share = percent.map(|percent| percent / 100.0).filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("{text:?} is not a percentage from 0% to 100%"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    /// The notices about a run with these flags.
    fn notices_of(flags: &str) -> Vec<String> {
        let line = ["paceline", "run", "http://a/"].into_iter().chain(flags.split(' '));
        let crate::Command::Run(arguments) = crate::Arguments::try_parse_from(line).unwrap().command else {
            panic!("it is a run")
        };
        notices(&arguments.gates.slos, &arguments.job(&mut paceline_run::Inputs::default()).unwrap())
    }

    #[test]
    fn too_few_requests_are_reported_if_their_number_is_known() {
        for (flags, enough) in [
            ("-r 200 -d 4s --slo response.p99<50ms", "-d 5s"),
            ("-n 999 --slo service.p99<50ms", "-n 1000"),
            ("-r 200 -n 999 --slo service.p99<50ms", "-n 1000"),
        ] {
            let notices = notices_of(flags);
            assert!(
                matches!(&notices[..], [one] if one.contains(&format!("; use {enough} or more"))),
                "{notices:?}"
            );
        }
        for flags in [
            "-r 200 -d 5s --slo response.p99<50ms",
            "-n 1000 --slo service.p99<50ms",
            "-d 1s --slo service.p99<50ms",
            "-r 200 -d 4s --arrivals poisson --slo response.p99<50ms",
            "-n 10 --slo connect.p99<50ms",
        ] {
            assert_eq!(notices_of(flags), [""; 0], "{flags}");
        }
        let folder = tempfile::tempdir().unwrap();
        let mix = folder.path().join("mix.toml");
        let step = |path: &str| format!("[[request]]\nsession = \"user\"\npath = \"{path}\"\n");
        std::fs::write(&mix, step("/a") + &step("/b")).unwrap();
        let flags = format!("-r 200 -d 4s --slo response.p99<50ms --mix {}", mix.display());
        assert_eq!(notices_of(&flags), [""; 0], "-r is the rate of sessions");
    }

    #[test]
    fn gates_are_parsed() {
        let time =
            |of, statistic, limit_ns, or_equal| GateRequirement::Time { of, statistic, limit_ns, or_equal };
        for (text, demand) in [
            (
                "response.p99<10ms",
                time(GateTime::Of(TimeKind::Response), Statistic::Percentile(99.0), 10_000_000, false),
            ),
            (
                " service.p99.9 <= 1.5s ",
                time(GateTime::Of(TimeKind::Service), Statistic::Percentile(99.9), 1_500_000_000, true),
            ),
            (
                "lag.max<250\u{b5}s",
                time(GateTime::Of(TimeKind::GeneratorLag), Statistic::Max, 250_000, false),
            ),
            (
                "first_byte.mean<1s",
                time(GateTime::Of(TimeKind::FirstByte), Statistic::Mean, 1_000_000_000, false),
            ),
            (
                "handshake.max<1s",
                time(GateTime::Of(TimeKind::Handshake), Statistic::Max, 1_000_000_000, false),
            ),
            (
                "connect.p50<=5ms",
                time(GateTime::Of(TimeKind::Connect), Statistic::Percentile(50.0), 5_000_000, true),
            ),
            ("achieved>=99%", GateRequirement::AchievedShare(0.99)),
            ("achieved >= 20k", GateRequirement::AchievedPerS(20_000.0)),
            ("sessions >= 50", GateRequirement::SessionsPerS(50.0)),
            ("events >= 50", GateRequirement::EventsPerStream(50)),
            ("events>=2k/s", GateRequirement::EventsPerS(2_000.0)),
            (
                "gap.p99<100ms",
                time(GateTime::Of(TimeKind::EventGap), Statistic::Percentile(99.0), 100_000_000, false),
            ),
            ("session.p99<200ms", time(GateTime::Session, Statistic::Percentile(99.0), 200_000_000, false)),
            (
                "step(log in).max<1s",
                time(GateTime::Step("login".into()), Statistic::Max, 1_000_000_000, false),
            ),
            (
                "step(a.b).p99.9<1s",
                time(GateTime::Step("a.b".into()), Statistic::Percentile(99.9), 1_000_000_000, false),
            ),
        ] {
            assert_eq!(slo(text).unwrap().demand, demand, "{text}");
        }
        assert_eq!(max_errors("0.1%").unwrap().demand, GateRequirement::ErrorShare(0.001));
        assert_eq!(max_errors("1_000").unwrap().demand, GateRequirement::ErrorCount(1_000));
    }

    #[test]
    fn invalid_gates_are_answered_with_valid_ones() {
        for (text, part) in [
            ("respons.p99<10ms", "did you mean \"response\"?"),
            ("database.p99<10ms", "lag, connect, handshake, session, step(NAME), achieved, sessions, events"),
            ("events<5", "write 'events>=5'"),
            ("events>=many", "write 100 (in each stream), or 2k/s"),
            ("gaps.p99<1ms", "did you mean \"gap\"?"),
            ("response<10ms", "write response.p99"),
            ("p99<10ms", "write 'response.p99<10ms' with -r, or 'service.p99<10ms'"),
            ("response.p999<10ms", "did you mean \"p99.9\"?"),
            ("response.maximum<10ms", "The statistics are p50"),
            ("response.p100<10ms", "did you mean \"max\"?"),
            ("response.p49<10ms", "The statistics are p50"),
            ("response.p5e1<10ms", "The statistics are p50"),
            ("response.p050<10ms", "The statistics are p50"),
            ("response.p0.001<10ms", "The statistics are p50"),
            ("response.p99.9999<10ms", "The statistics are p50"),
            ("response.p99.<10ms", "The statistics are p50"),
            ("response.p99<10", "write 10ms, 10us or 10s"),
            ("response.p99<10 parsecs", "is not a duration"),
            ("response.p99<0s", "above 0"),
            ("response.p99>=10ms", "write 'response.p99<10ms'"),
            ("response.p99=10ms", "no < or >="),
            ("response.p99<", "the limit after"),
            ("achieved<99%", "write 'achieved>=99%'"),
            ("achieved>=101%", "from 0% to 100%"),
            ("achieved>=fast", "write 20000, 20k or 99%"),
            ("", "no < or >="),
        ] {
            let error = slo(text).unwrap_err();
            assert!(error.contains(part), "{text:?}: {error}");
        }
        for text in ["", "-1", "101%", "many", "%"] {
            assert!(max_errors(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn gates_that_need_an_open_loop_are_refused_in_a_closed_loop() {
        let flags =
            |text| GateFlags { slos: vec![slo(text).unwrap()], max_errors: None, allow_invalid: false };
        for (text, part) in [
            ("response.p99<1s", "coordinated omission"),
            ("lag.p99<1s", "no schedule"),
            ("achieved>=99%", "no offered rate"),
        ] {
            let error = flags(text).all(false, false).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
            assert_eq!(flags(text).all(true, false).unwrap().len(), 1);
        }
        assert_eq!(flags("service.p99<1s").all(false, false).unwrap().len(), 1);
        let handshake = flags("handshake.p50<1s");
        assert!(handshake.all(true, false).unwrap_err().to_string().contains("no TLS handshakes"));
        assert_eq!(handshake.all(false, true).unwrap().len(), 1);
    }
}
