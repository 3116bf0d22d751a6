//! Tests which trials share a table, and which of several attempts counts.
//!
//! Each case is a round of a few trials, made with `built.rs`. Only the relevant words of the rendered text are
//! checked; `formats.rs` checks the whole text, and `src/rank/tests.rs` the order of rows.

use crate::built::{self, Seen};
use paceline_judge::Metric;
use paceline_record::{
    Blame, FrameworkPackage, Limit, LimitKind, Load, PackageEnergy, Severity, Stage, Tool, Trial, WarmUp,
};
use paceline_report::{CopyTally, Options, Report, Standing, copies_text};

/// The default result of a server in a trial.
pub const SEEN: Seen = Seen {
    per_s: 1000.0,
    server_cpu_us: 20.0,
    p50_us: 100.0,
    p99_us: 200.0,
    p99_9_us: 300.0,
    rss_mb: 10.0,
    start_ms: 5.0,
    generator: 0.1,
};

fn text(report: &Report) -> String {
    report.text(Options { width: 80, colour: false, full: true }).to_string()
}

/// A text without line breaks.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn another_machine_has_another_table_with_the_differences() {
    let first = built::trial("go-nethttp", &built::closed(), 0, SEEN);
    let mut second = built::trial("go-nethttp", &built::closed(), 1, SEEN);
    second.run.as_mut().unwrap().environment.kernel = "Linux 6.9.0".to_owned();
    let report = Report::new(&built::round(), &[first, second]);
    assert_eq!(report.machines.len(), 2);
    assert_eq!(report.tables.iter().map(|table| table.machine.as_str()).collect::<Vec<_>>(), ["A", "B"]);
    assert!(text(&report).contains("kernel: Linux 6.9.0 instead of Linux 6.1.0-18-amd64"));
}

#[test]
fn frameworks_from_system_packages_are_below_the_tables() {
    let packaged = |server: &str, version: &str| {
        let mut trial = built::trial(server, &built::closed(), 0, SEEN);
        trial.server.framework_package =
            Some(FrameworkPackage { name: "a-package".to_owned(), version: version.to_owned() });
        trial
    };
    let other = built::trial("python-fastapi", &built::closed(), 0, SEEN);
    let trials = [
        packaged("ruby-rails", "2:6.1.7.10+dfsg-1~deb12u4"),
        packaged("c-h2o", "2.2.5+dfsg2-7"),
        packaged("c-h2o-copy", "2.2.5+dfsg2-7"),
        other.clone(),
    ];
    let report = Report::new(&built::round(), &trials);
    let sentence = "Framework from system packages (Debian 12), which may be years older than the newest releases: \
                    c-h2o 2.2.5, ruby-rails 6.1.7.10.";
    for full in [false, true] {
        let text = report.text(Options { width: 80, colour: false, full }).to_string();
        assert_eq!(words(&text).matches(sentence).count(), 1, "{text}");
    }
    // Markdown escapes some of the sentence's characters.
    let markdown = report.markdown().to_string();
    assert_eq!(
        markdown.matches("which may be years older than the newest releases").count(),
        1,
        "{markdown}"
    );
    assert!(report.csv().to_string().contains("a-package 2:6.1.7.10+dfsg-1~deb12u4"));
    let json: serde_json::Value = serde_json::from_str(&report.json().to_string()).unwrap();
    let rows = json["tables"][0]["rows"].as_array().unwrap();
    let row = |id: &str| rows.iter().find(|row| row["server"]["id"] == id).unwrap();
    assert_eq!(row("c-h2o")["server"]["framework_package"]["version"], "2.2.5+dfsg2-7");
    assert!(row("python-fastapi")["server"].get("framework_package").is_none());
    assert!(!text(&Report::new(&built::round(), &[other])).contains("system packages"));
}

#[test]
fn a_limit_of_the_process_does_not_make_another_machine() {
    let first = built::trial("go-nethttp", &built::closed(), 0, SEEN);
    let mut second = built::trial("go-nethttp", &built::closed(), 1, SEEN);
    let environment = &mut second.run.as_mut().unwrap().environment;
    environment.open_files_soft += 1;
    environment.memory_bytes += 4096;
    assert_eq!(Report::new(&built::round(), &[first, second]).machines.len(), 1);
}

#[test]
fn forms_workloads_and_loads_have_separate_tables() {
    let single = built::trial("go-nethttp", &built::closed(), 0, SEEN);
    let mut cores = single.clone();
    cores.form = "cores".to_owned();
    let mut page = single.clone();
    page.workload = "page".to_owned();
    let open = built::trial("go-nethttp", &built::open(), 0, SEEN);
    let report = Report::new(&built::round(), &[open, page, cores, single]);
    let keys: Vec<_> =
        report.tables.iter().map(|t| (t.workload.as_str(), t.form.as_str(), t.load.name.as_str())).collect();
    let expected = [
        ("hello", "cores", "closed-64"),
        ("hello", "single", "closed-64"),
        ("hello", "single", "rate-2000"),
        ("page", "single", "closed-64"),
    ];
    assert_eq!(keys, expected);
}

#[test]
fn a_second_try_replaces_the_first() {
    let failed = built::failed("go-nethttp", &built::closed(), 0, Stage::Start, "port taken");
    let mut again = built::trial("go-nethttp", &built::closed(), 0, SEEN);
    again.started_at = "2026-11-21T02:00:00.000Z".to_owned();
    let report = Report::new(&built::round(), &[again, failed]);
    let row = &report.tables[0].rows[0];
    assert_eq!((row.launches_usable, row.launches_planned, row.failures.len()), (1, 1, 0));
    assert_eq!((report.round.trials_done, report.round.trials_retried), (1, 1));
}

#[test]
fn launches_are_observations_and_are_never_pooled() {
    let trials: Vec<_> = [1000.0, 4000.0, 2000.0]
        .iter()
        .zip(0..)
        .map(|(per_s, repeat)| {
            built::trial("go-nethttp", &built::closed(), repeat, Seen { per_s: *per_s, ..SEEN })
        })
        .collect();
    let report = Report::new(&built::round(), &trials);
    let achieved = report.tables[0].rows[0].figures.get(&Metric::ACHIEVED_PER_S).unwrap();
    assert_eq!((achieved.min, achieved.median, achieved.max, achieved.launches), (1000.0, 2000.0, 4000.0, 3));
}

#[test]
fn the_energy_of_the_packages_is_shown_where_it_is_known() {
    let mut trial = built::trial("go-nethttp", &built::closed(), 0, SEEN);
    let silent = built::trial("rust-axum", &built::closed(), 0, SEEN);
    let lead = "nergy of the CPU packages per request: go-nethttp 214 µJ";
    let shown_in = |trials: &[Trial]| {
        let report = Report::new(&built::round(), trials);
        [words(&text(&report)), report.markdown().to_string()]
    };
    assert!(shown_in(&[trial.clone(), silent.clone()]).iter().all(|shown| !shown.contains("packages")));
    trial.energy =
        Some(PackageEnergy { over_s: 3.0, packages: 2, joules: 96.0, joules_per_request: 0.000_214 });
    for shown in shown_in(&[trial, silent]) {
        assert!(shown.contains(lead) && !shown.contains("rust-axum 214"), "{shown}");
    }
}

#[test]
fn a_table_too_noisy_to_rank_says_what_to_do() {
    let report = |spread: f64| {
        let launches = |server: &'static str, rates: [f64; 4]| {
            rates.into_iter().zip(0..).map(move |(change, repeat)| {
                let per_s = 1000.0 + spread * change;
                built::trial(server, &built::closed(), repeat, Seen { per_s, ..SEEN })
            })
        };
        let go = launches("go-nethttp", [0.0, 100.0, -50.0, 50.0]);
        let trials: Vec<_> = go.chain(launches("rust-axum", [10.0, -60.0, 80.0, -10.0])).collect();
        Report::new(&built::round(), &trials)
    };
    let quiet = report(0.1);
    let factor = 1.0 + quiet.tables[0].smallest_difference.unwrap();
    let expected = format!("4 launches: rows must differ by a factor of {factor:.2} to be ranked apart.");
    assert!(words(&text(&quiet)).contains(&expected), "{}", text(&quiet));
    let noisy = report(5.0);
    let noise = &noisy.tables[0].noise;
    let of_rate = noise.iter().find(|noise| noise.metric == Metric::ACHIEVED_PER_S.key).unwrap();
    let (claimed, found) =
        (of_rate.launches_for_5_percent.unwrap(), of_rate.launches_to_find_5_percent.unwrap());
    assert!(found > 50 && (1.9..2.2).contains(&(found as f64 / claimed as f64)), "{claimed} {found}");
    let shown = words(&text(&noisy));
    assert!(shown.contains("4 launches: too noisy to rank; use a quieter machine."), "{shown}");
    assert!(!shown.contains("--repeats"), "{shown}");
}

#[test]
fn a_launch_that_was_only_disturbed_leaves_a_minimum() {
    let with = |name: &str, load: &Load, other: Option<&str>| {
        let seen = Seen { per_s: load.rate_per_s.unwrap_or(SEEN.per_s), ..SEEN };
        let mut trials: Vec<Trial> =
            (0..3).map(|repeat| built::trial("go-nethttp", load, repeat, seen)).collect();
        for name in std::iter::once(name).chain(other) {
            let verdict = built::verdict(name, Blame::Environment, Severity::Invalid, "Repeat it.");
            trials[1].run.as_mut().unwrap().verdicts.push(verdict);
        }
        Report::new(&built::round(), &trials).tables.swap_remove(0).rows.swap_remove(0)
    };
    for name in ["generator_descheduled", "generator_stall", "steal", "stolen_time"] {
        let row = with(name, &built::closed(), None);
        assert_eq!((row.standing, row.rank), (Standing::Disturbed, Some(1)), "{name}");
        assert!(row.counts(&Metric::ACHIEVED_PER_S) && row.is_minimum(&Metric::ACHIEVED_PER_S));
        assert!(!row.counts(&Metric::TIME_P99) && !row.is_sound());
    }
    assert_eq!(with("steal", &built::open(), None).standing, Standing::Invalid, "the schedule sets the rate");
    assert_eq!(with("steal", &built::closed(), Some("failed_requests")).standing, Standing::Invalid);
}

#[test]
fn spoiled_launches_are_left_out_where_enough_others_are_sound() {
    let row = |verdicts: &[(&str, Blame)], launches: u32| {
        let mut trials: Vec<Trial> =
            (0..launches).map(|repeat| built::trial("go-nethttp", &built::closed(), repeat, SEEN)).collect();
        for (name, blame) in verdicts {
            trials[1].verdicts.push(built::verdict(name, *blame, Severity::Invalid, "Repeat it."));
        }
        Report::new(&built::round(), &trials).tables.swap_remove(0).rows.swap_remove(0)
    };
    let steal = ("steal", Blame::Environment);
    let sound = row(&[steal], 4);
    assert_eq!((sound.standing, sound.launches_usable, sound.launches_planned), (Standing::Ranked, 3, 4));
    assert_eq!(sound.left_out.into_iter().collect::<Vec<_>>(), [("steal".to_owned(), 1)]);
    assert_eq!(sound.verdicts, [] as [&str; 0]);
    assert_eq!(row(&[steal], 3).standing, Standing::Disturbed, "two sound launches are too few");
    let with_fault = row(&[steal, ("failed_requests", Blame::Server)], 4);
    assert_eq!((with_fault.standing, with_fault.left_out.len()), (Standing::Invalid, 0));
    let bound = row(&[("generator_bound", Blame::Generator)], 4);
    assert_eq!(bound.left_out.len(), 0, "it would be so again");
}

#[test]
fn the_cpu_time_of_a_request_is_divided_where_every_figure_is_shown() {
    let mut trial = built::trial("go-nethttp", &built::closed(), 0, SEEN);
    let usage = trial.usage.as_mut().unwrap();
    (usage.user_s, usage.system_s) = (Some(usage.cpu_s * 0.25), Some(usage.cpu_s * 0.75));
    let older = built::trial("node-http", &built::closed(), 0, SEEN);
    let report = Report::new(&built::round(), &[trial, older.clone()]);
    let markdown = report.markdown().to_string();
    let bar = "\u{2588}".repeat(6) + &"\u{2593}".repeat(18);
    assert!(markdown.contains("| server | CPU | \u{2588} user | \u{2593} kernel | shares |\n"), "{markdown}");
    assert!(markdown.contains(&format!("| go-nethttp | 20.0 | 5.00 | 15.0 | {bar} |\n")), "{markdown}");
    assert!(text(&report).contains(&bar));
    let brief = report.text(Options { width: 80, colour: false, full: false }).to_string();
    assert!(!brief.contains(&bar), "{brief}");
    let csv = report.csv().to_string();
    for key in ["server_user", "server_system", "server_interrupt"] {
        assert!(csv.contains(&format!(",{key}_us_per_request_median,")), "{csv}");
    }
    let of_older = Report::new(&built::round(), &[older]).markdown().to_string();
    assert!(!of_older.contains("kernel |"), "{of_older}");
}

#[test]
fn a_share_is_the_same_figure_in_every_output() {
    let launch = |(repeat, server_cpu_us): (u32, f64)| {
        built::trial("go-nethttp", &built::closed(), repeat, Seen { per_s: 1000.0, server_cpu_us, ..SEEN })
    };
    let report = Report::new(&built::round(), &[(0, 980.0), (1, 970.0), (2, 500.0)].map(launch));
    let busy = report.tables[0].rows[0].figures.shown(&Metric::SERVER_UTILIZATION).unwrap();
    let mean = (0.98f64 * 0.97 * 0.5).cbrt();
    assert!((busy - mean).abs() < 1e-9, "{busy} {mean}");
    let markdown = report.markdown().to_string();
    assert!(markdown.contains(&format!("| {:.0}% |", 100.0 * mean)), "{markdown}");
}

#[test]
fn a_row_has_the_limit_of_most_of_its_launches() {
    let launch = |(repeat, server_cpu_us): (u32, f64)| {
        built::trial("go-nethttp", &built::closed(), repeat, Seen { per_s: 1000.0, server_cpu_us, ..SEEN })
    };
    let trials: Vec<_> = [(0, 950.0), (1, 300.0), (2, 960.0)].into_iter().map(launch).collect();
    let report = Report::new(&built::round(), &trials);
    let limit = report.tables[0].rows[0].limit.clone().unwrap();
    assert_eq!(limit.kind, LimitKind::ServerCpu);
    assert!(limit.evidence.ends_with("in 1 of 3 launches the limit was: waiting"), "{}", limit.evidence);
}

#[test]
fn an_invalid_launch_removes_the_rank() {
    let mut trial = built::trial("go-nethttp", &built::closed(), 0, SEEN);
    trial.verdicts.push(built::verdict("noisy", Blame::Environment, Severity::Invalid, "Repeat it."));
    let report = Report::new(&built::round(), &[trial]);
    let row = &report.tables[0].rows[0];
    assert_eq!((row.standing, row.rank), (Standing::Invalid, None));
}

#[test]
fn an_invalid_launch_is_not_ranked_because_the_generator_was_busy_too() {
    let mut trial = built::trial("go-nethttp", &built::closed(), 0, Seen { generator: 0.95, ..SEEN });
    assert_eq!(standing(&trial), Standing::GeneratorBound);
    trial.verdicts.push(built::verdict("failed_requests", Blame::Server, Severity::Invalid, "See to it."));
    assert_eq!(standing(&trial), Standing::Invalid);
}

#[test]
fn a_busy_generator_is_not_the_limit_of_a_full_server() {
    let full = Seen { generator: 0.95, server_cpu_us: 990.0, ..SEEN };
    let mut trial = built::trial("go-nethttp", &built::closed(), 0, full);
    let run = trial.run.as_mut().unwrap();
    run.verdicts.push(built::verdict(
        "generator_bound",
        Blame::Generator,
        Severity::Caution,
        "More threads.",
    ));
    trial.limit = Some(Limit { kind: LimitKind::Generator, evidence: String::new() });
    let row = Report::new(&built::round(), &[trial]).tables[0].rows[0].clone();
    assert_eq!((row.standing, row.verdicts), (Standing::Ranked, Vec::new()));
    assert_eq!(row.limit.map(|limit| limit.kind), Some(LimitKind::ServerCpu));
}

#[test]
fn a_disturbed_retry_does_not_replace_a_sound_trial() {
    let sound = built::trial("go-nethttp", &built::closed(), 0, SEEN);
    let mut later = built::trial("go-nethttp", &built::closed(), 0, Seen { per_s: 500.0, ..SEEN });
    later.started_at = "2026-11-21T02:00:00.000Z".to_owned();
    let achieved = |trials: &[paceline_record::Trial]| {
        Report::new(&built::round(), trials).tables[0].rows[0]
            .figures
            .get(&Metric::ACHIEVED_PER_S)
            .unwrap()
            .median
    };
    assert_eq!(achieved(&[sound.clone(), later.clone()]), 500.0, "the last of several");
    later.verdicts.push(built::verdict("steal", Blame::Environment, Severity::Invalid, "Repeat it."));
    assert_eq!(achieved(&[sound.clone(), later.clone()]), 1000.0);
    assert_eq!(achieved(&[later]), 500.0, "where there is no other");
}

#[test]
fn a_growing_queue_is_overload_even_if_most_requests_are_answered() {
    let mut trial = built::trial("go-nethttp", &built::open(), 0, Seen { per_s: 2000.0, ..SEEN });
    assert_eq!(standing(&trial), Standing::Ranked);
    trial.verdicts.push(built::verdict("saturated", Blame::Server, Severity::Caution, "Offer less."));
    assert_eq!(standing(&trial), Standing::Overloaded);
}

#[test]
fn an_open_loop_with_a_busy_generator_has_no_rank() {
    let seen = Seen { per_s: 1500.0, generator: 0.99, ..SEEN };
    assert_eq!(standing(&built::trial("go-nethttp", &built::open(), 0, seen)), Standing::GeneratorBound);
    let report = Report::new(&built::round(), &[built::trial("go-nethttp", &built::open(), 0, seen)]);
    assert_eq!(report.tables[0].rows[0].rank, None);
}

#[test]
fn a_note_of_every_row_is_shown_once() {
    let trials = ["go-nethttp", "node-http"].map(|server| {
        let mut trial = built::trial(server, &built::closed(), 0, SEEN);
        trial.verdicts.push(built::verdict(
            "cpu_lower_bound",
            Blame::Environment,
            Severity::Note,
            "Run as root.",
        ));
        trial
    });
    let text = text(&Report::new(&built::round(), &trials));
    assert_eq!(text.matches("cpu_lower_bound").count(), 1, "{text}");
    assert!(text.contains("cpu_lower_bound  every row"), "{text}");
}

fn standing(trial: &paceline_record::Trial) -> Standing {
    Report::new(&built::round(), std::slice::from_ref(trial)).tables[0].rows[0].standing
}

#[test]
fn a_run_without_a_valid_response_is_a_failure_with_a_reason() {
    let mut trial = built::trial("go-nethttp", &built::closed(), 0, SEEN);
    let run = trial.run.as_mut().unwrap();
    (run.total.counts.ok, run.total.counts.bad_body) = (0, 3000);
    let report = Report::new(&built::round(), std::slice::from_ref(&trial));
    assert!(text(&report).contains("all 3,000 requests failed"), "{}", text(&report));
    let run = trial.run.as_mut().unwrap();
    (run.total.counts.bad_body, run.total.counts.scheduled) = (0, 0);
    let report = text(&Report::new(&built::round(), &[trial]));
    let reported = words(&report);
    assert!(
        reported.contains("no request was sent in the window: every connection was waiting for a response"),
        "{report}"
    );
}

#[test]
fn too_few_answers_for_a_percentile_leave_it_out() {
    let few = Seen { per_s: 300.0, ..SEEN };
    let report = Report::new(&built::round(), &[built::trial("go-nethttp", &built::closed(), 0, few)]);
    let figures = &report.tables[0].rows[0].figures;
    // 900 answers: enough for p99 (370), too few for p99.9 (3,700).
    assert!(
        figures.get(&Metric::TIME_P99).unwrap().enough.unwrap()
            && !figures.get(&Metric::TIME_P99_9).unwrap().enough.unwrap()
    );
    assert!(text(&report).contains("too few requests"));
}

#[test]
fn a_round_without_trials_is_reported() {
    let report = Report::new(&built::round(), &[]);
    assert!(text(&report).contains("This round has no readable trials"));
    for page in [report.markdown(), report.csv(), report.json()] {
        assert!(page.ends_with('\n'));
    }
}

#[test]
fn a_table_on_a_very_narrow_terminal_still_renders() {
    let report = Report::new(&built::round(), &[built::trial("go-nethttp", &built::closed(), 0, SEEN)]);
    for width in [0, 1, 20, 40] {
        assert!(report.text(Options { width, colour: false, full: true }).contains("go-nethttp"));
    }
}

/// A form on two cores, with limits, started once after its build and once more.
fn on_two_cores() -> Vec<paceline_record::Trial> {
    let load = built::closed();
    let mut trials =
        vec![built::trial("go-nethttp", &load, 0, SEEN), built::trial("go-nethttp", &load, 1, SEEN)];
    for trial in &mut trials {
        trial.form = "cores".into();
        trial.pinning.server = vec![0, 1];
        trial.server.traits = [("pipelining".to_owned(), false), ("keep_alive".to_owned(), true)].into();
    }
    trials
}

#[test]
fn results_on_several_cores_and_on_one_are_separate() {
    let (one, two) = ([built::trial("go-nethttp", &built::closed(), 0, SEEN)], on_two_cores());
    let per_core = |trials: &[paceline_record::Trial]| {
        let report = Report::new(&built::round(), trials);
        let figures = &report.tables[0].rows[0].figures;
        figures.get(&Metric::ACHIEVED_PER_S).unwrap().median
            / figures.get(&Metric::ACHIEVED_PER_CORE).unwrap().median
    };
    assert_eq!((per_core(&one), per_core(&two)), (1.0, 2.0));
    let has_column = |trials: &[paceline_record::Trial]| {
        let wide = Options { width: 160, colour: false, full: true };
        Report::new(&built::round(), trials).text(wide).contains("per core")
    };
    assert_eq!((has_column(&one), has_column(&two)), (false, true));
}

#[test]
fn launches_with_different_generator_builds_are_noted() {
    let by = |commits: [&str; 2]| {
        let trials: Vec<_> = (0..2)
            .zip(commits)
            .map(|(repeat, commit)| {
                let mut trial = built::trial("go-nethttp", &built::closed(), repeat, SEEN);
                let tool = &mut trial.run.as_mut().unwrap().tool;
                *tool = Tool { commit: Some(commit.to_owned()), ..tool.clone() };
                trial
            })
            .collect();
        Report::new(&built::round(), &trials)
    };
    assert_eq!(by(["1fa9ae1", "1fa9ae1"]).tables[0].rows[0].verdicts, [] as [&str; 0]);
    let mixed = by(["1fa9ae1", "adbce85"]);
    assert_eq!(mixed.tables[0].rows[0].verdicts, ["generator_changed"]);
    let note = &mixed.tables[0].notes[0];
    assert_eq!((note.severity, note.launches_by_server["go-nethttp"]), (Severity::Caution, 2));
    assert!(text(&mixed).contains("generator_changed"), "{}", text(&mixed));
}

#[test]
fn a_report_states_the_smallest_difference_it_can_show() {
    let report = |repeats: u32| {
        let of = |server, per_s: f64| {
            let noise = move |repeat: u32| 20.0 * f64::from((repeat * 7 + server_number(server)) % 5);
            let seen = move |repeat| Seen { per_s: per_s + noise(repeat), ..SEEN };
            (0..repeats).map(move |repeat| built::trial(server, &built::closed(), repeat, seen(repeat)))
        };
        let trials: Vec<_> = of("go-nethttp", 1000.0).chain(of("node-http", 1010.0)).collect();
        Report::new(&built::round(), &trials)
    };
    assert!(words(&text(&report(1))).contains("Not ranked: one launch per row."));
    let ranked = report(3);
    let row = &ranked.tables[0].rows[0];
    assert_eq!((row.rank, row.rank_worst), (Some(1), Some(2)));
    assert!(ranked.tables[0].smallest_difference.unwrap() > 0.01);
    let shown = words(&text(&ranked));
    assert!(
        shown.contains("3 launches: rows must differ by a factor of") && shown.contains("1–2 go-nethttp"),
        "{shown}"
    );
}

fn server_number(server: &str) -> u32 {
    server.len() as u32
}

#[test]
fn hostile_names_are_escaped_in_all_output() {
    let hostile = "x\u{1b}[2J\u{202e}|`=<b>";
    let mut trials: Vec<_> = (0..2).map(|repeat| built::trial("c", &built::closed(), repeat, SEEN)).collect();
    for trial in &mut trials {
        trial.server.id = format!("={hostile}");
        trial.server.versions = hostile.to_owned();
        trial.workload = hostile.to_owned();
        trial.load.name = hostile.to_owned();
        trial.verdicts.push(built::verdict(hostile, Blame::Server, Severity::Note, hostile));
    }
    let mut failed = built::failed("d", &built::closed(), 0, Stage::Load, hostile);
    failed.log_tail = hostile.to_owned();
    trials.push(failed);
    let mut round = built::round();
    (round.plan, round.id) = (hostile.to_owned(), hostile.to_owned());
    round.environment.cpu_model = hostile.to_owned();
    let report = Report::new(&round, &trials);
    let text = |full| report.text(Options { width: 100, colour: false, full });
    for page in [text(false), text(true), report.markdown(), report.csv()] {
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "{page}");
    }
    assert!(!report.markdown().contains("<b>") && !report.csv().contains(",="));
}

#[test]
fn a_server_restarted_within_a_block_is_noted_and_keeps_its_row() {
    let launch = |repeat: u32, load: &Load, launch: &str| {
        let mut trial = built::trial("go-nethttp", load, repeat, Seen { per_s: 2000.0, ..SEEN });
        trial.launch = launch.to_owned();
        trial
    };
    let mut busy = launch(0, &built::closed(), "first");
    let remedy = "its clients had gone, and it was still at work: it was started anew for the next load";
    busy.verdicts.push(built::verdict("busy_after_load", Blame::Server, Severity::Note, remedy));
    let after = launch(0, &built::open(), "anew");
    let others = [launch(1, &built::closed(), "second"), launch(1, &built::open(), "second")];
    let report = Report::new(&built::round(), &[vec![busy, after], others.into()].concat());
    for table in &report.tables {
        let row = &table.rows[0];
        assert_eq!((row.standing, row.launches_usable, row.launches_planned), (Standing::Ranked, 2, 2));
    }
    assert_eq!(report.tables[0].rows[0].verdicts, ["busy_after_load"]);
    let reported = words(&text(&report));
    assert!(reported.contains("busy_after_load go-nethttp (1 launch) (note, server)"), "{reported}");
    assert!(reported.contains(remedy), "{reported}");
}

#[test]
fn first_starts_are_separate_and_limits_are_shown() {
    let mut trials = on_two_cores();
    // A second trial of the first launch is not a second start.
    let mut again = trials[0].clone();
    (again.id, again.load) = ("again".into(), built::open());
    trials.push(again);
    let report = Report::new(&built::round(), &trials);
    let row = &report.starts[0].rows[0];
    let launches = |starts: &Option<paceline_report::Starts>| {
        starts.as_ref().unwrap().first_answer_ms.as_ref().unwrap().launches
    };
    assert_eq!(
        (launches(&row.first), launches(&row.later), row.rss_bytes_after.as_ref().unwrap().launches),
        (1, 1, 2)
    );
    let text = text(&report);
    assert!(text.contains("start-up, form cores") && text.contains("go-nethttp  no pipelining"), "{text}");
    trials.iter_mut().for_each(|trial| trial.startup.as_mut().unwrap().first_since_build = None);
    assert!(Report::new(&built::round(), &trials).starts.is_empty(), "an old record does not say");
}

#[test]
fn time_to_steady_state_and_the_warm_up_curve_are_shown_launch_by_launch() {
    let mut trials = on_two_cores();
    let warm_up = |steady_after_s, rates: &[f64]| WarmUp {
        warmed_s: rates.len() as f64,
        steady_after_s,
        limit_s: 60.0,
        bursts: None,
        connections: 64,
        workloads: vec!["hello".to_owned()],
        rate_per_s: rates.to_vec(),
    };
    let rising = [100.0, 400.0, 800.0, 1_000.0, 1_000.0, 1_000.0, 1_000.0, 1_000.0];
    let slower = [300.0, 500.0, 500.0, 900.0];
    let curves = [warm_up(Some(8.0), &rising), warm_up(None, &slower)];
    for (trial, warm_up) in trials.iter_mut().zip(curves) {
        trial.startup.as_mut().unwrap().warm_up = Some(warm_up);
    }
    let report = Report::new(&built::round(), &trials);
    let row = &report.warm_ups[0].rows[0];
    assert_eq!((row.curves.len(), row.launches_not_steady), (2, 1));
    assert_eq!(row.steady_after_s.as_ref().unwrap().median, 8.0);
    let share = row.first_second_share.unwrap();
    assert!((share - (0.1 + 300.0 / 550.0) / 2.0).abs() < 1e-9, "{share}");
    assert!(row.share_in_second(9).is_none());
    let page = report.markdown();
    assert!(
        page.contains("form cores") && page.contains("rate over time") && page.contains("▁▄▇█████"),
        "{page}"
    );
    assert!(page.contains("(1 launch: not within 60)"), "{page}");
    let brief = report.text(Options { width: 80, colour: false, full: false });
    assert!(!brief.contains("warm-up, form cores"), "{brief}");
}

#[test]
fn a_failure_shows_what_was_printed_last() {
    let mut trial =
        built::failed("c-libuv", &built::closed(), 0, Stage::Build, "build ended with exit status 2");
    trial.log_tail = "cc server.c\nserver.c:3: uv.h: No such file\n\n".into();
    let report = Report::new(&built::round(), &[trial]);
    assert_eq!(report.tables[0].rows[0].failures[0].printed_last, "server.c:3: uv.h: No such file");
    assert!(text(&report).contains("last line printed: server.c:3: uv.h: No such file"));
    let page = report.markdown();
    assert!(page.contains("; last line printed: server.c:3"), "{page}");
}

/// A round of a server and its copy, whose rates differ by `factor`, beside two others.
fn with_copy(factor: f64) -> Report {
    let launches = |server: &str, per_s: f64| -> Vec<Trial> {
        let seen = |noise| Seen { per_s: per_s * noise, ..SEEN };
        let noise = [0.99, 1.0, 1.01];
        (0..3)
            .map(|repeat| {
                built::trial(
                    server,
                    &built::closed(),
                    repeat as u32,
                    seen(noise[(repeat + server.len()) % 3]),
                )
            })
            .collect()
    };
    let mut trials = launches("go-nethttp", 1_000.0);
    trials.extend(launches("go-nethttp-copy", 1_000.0 * factor));
    trials.extend(launches("node-http", 500.0));
    trials.extend(launches("python-tornado", 100.0));
    Report::new(&built::round(), &trials)
}

#[test]
fn a_copy_verifies_the_claims_of_the_table() {
    let same = with_copy(1.001);
    let checks = &same.tables[0].copies;
    let rate = checks.iter().find(|check| check.is_deciding).unwrap();
    assert_eq!((rate.server.as_str(), rate.metric, rate.is_claimed), ("go-nethttp", "achieved_per_s", false));
    assert!(
        (rate.ratio - 1.001).abs() < 1e-9 && rate.interval[0] < 1.0 && rate.interval[1] > 1.0,
        "{rate:?}"
    );
    let shown = words(&text(&same));
    assert!(shown.contains("A/A: two copies of go-nethttp differ by 0.10%."), "{shown}");
    let different = with_copy(1.2);
    assert!(different.tables[0].copies.iter().any(|check| check.is_deciding && check.is_claimed));
    assert!(words(&text(&different)).contains(", a false positive at 95 % confidence"));
}

#[test]
fn copies_count_false_claims() {
    let (same, different) = (with_copy(1.001), with_copy(1.2));
    let kept = CopyTally::from_reports(&[vec![same; 9], vec![different.clone()]].concat());
    assert_eq!((kept.rounds, kept.deciding.claimed, kept.deciding.compared), (10, 1, 10));
    assert!(kept.is_kept() && kept.deciding.claimed_most == 2);
    let broken = vec![different; 3];
    assert!(!CopyTally::from_reports(&broken).is_kept());
    let text = copies_text(&broken).to_string();
    assert!(text.contains("3 of 3 comparisons found a difference; at most 1 are expected"), "{text}");
    assert_eq!(text.matches("FALSE POSITIVE").count(), 3);
}

#[test]
fn a_rate_that_was_measured_at_many_sizes_is_fitted() {
    // The law with contention 5 % and its peak at about 44 connections.
    let rate = |n: f64| 1_000.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.000_5 * n * (n - 1.0));
    let mut trials = Vec::new();
    for connections in [1, 4, 16, 64, 256] {
        for (repeat, noise) in [0.99, 1.01].into_iter().enumerate() {
            let load = Load { name: format!("c-{connections}"), connections, ..built::closed() };
            let seen = Seen { per_s: rate(f64::from(connections)) * noise, ..SEEN };
            trials.push(built::trial("go-nethttp", &load, repeat as u32, seen));
        }
    }
    let report = Report::new(&built::round(), &trials);
    let [table] = report.scaling.as_slice() else { panic!("{:?}", report.scaling) };
    let row = &table.rows[0];
    assert_eq!((row.server.as_str(), row.sizes.as_slice()), ("go-nethttp", [1, 4, 16, 64, 256].as_slice()));
    assert!(row.contention_interval[0] < 0.05 && row.contention_interval[1] > 0.05, "{row:?}");
    let [low, high] = row.peak_interval.map(Option::unwrap_or_default);
    assert!(low < 43.6 && high > 43.6 && low > 30.0, "{row:?}");
    let shown = words(&text(&report));
    assert!(shown.contains("hello: requests/s by connections"), "{shown}");
    for trial in &mut trials {
        trial.run.as_mut().unwrap().rate_per_s.achieved = 1_000.0;
    }
    let flat = Report::new(&built::round(), &trials);
    assert_eq!(flat.scaling[0].undetermined, ["go-nethttp"], "{:?}", flat.scaling);
    trials.retain(|trial| trial.load.connections < 256 && trial.load.connections > 1);
    assert!(Report::new(&built::round(), &trials).scaling.is_empty(), "three sizes determine nothing");
}

#[test]
fn the_least_noisy_metric_comes_first() {
    let report = with_copy(1.0);
    let noise: Vec<&str> = report.tables[0].noise.iter().map(|noise| noise.metric).collect();
    assert_eq!(noise.last(), Some(&"achieved_per_s"), "the others do not vary: {noise:?}");
    let shown = words(&text(&report));
    assert_eq!(shown.matches("to be ranked apart").count(), 1, "one sentence for a table: {shown}");
}
