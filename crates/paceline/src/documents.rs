//! The JSON documents of commands whose result is not a record, a report or a gate: their keys, which stay as they are.
//!
//! Published in `docs/schema/`: `UPDATE=1 cargo test -p paceline --bin paceline documents`.

use paceline_import::ReportAudit;
use paceline_record::{Blame, Check, Severity, Startup};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What `paceline doctor` found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoctorDocument {
    /// Whether measurements made now are valid.
    pub valid: bool,
    /// Processors online.
    pub cores: u32,
    /// The processor's name.
    pub cpu_model: String,
    /// Whether the machine is a virtual one.
    pub virtual_machine: bool,
    /// The kernel's name and version.
    pub kernel: String,
    /// Each check of a setting.
    pub checks: Vec<DoctorCheck>,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Nothing to do.
    Good,
    /// Measurements are valid, and would be better with another setting.
    Better,
    /// Measurements made now would be invalid.
    Invalid,
}

/// The result of one check.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoctorCheck {
    /// How much it matters.
    pub grade: Grade,
    /// What was checked.
    pub what: &'static str,
    /// What was found.
    pub found: String,
    /// What to do, and why.
    pub advice: Option<String>,
}

/// What `paceline selftest` found. Times are in nanoseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SelftestDocument {
    /// Whether reported times are the true ones.
    pub correct: bool,
    /// Whether this machine can measure now.
    pub suitable: bool,
    /// What is wrong, in sentences.
    pub wrong: Vec<String>,
    /// What adds noise, in sentences.
    pub notes: Vec<String>,
    /// Reported against true times.
    pub times: Vec<TrueTime>,
    /// The generator's lag at 1,000 requests per second, by pace.
    pub generator_lag_ns: Vec<PaceLag>,
    /// Requests per second of one core.
    pub max_rate_per_s: f64,
    /// CPU time per request of the generator in that run.
    pub cpu_ns_per_request: f64,
    /// What waking a sleeping server adds to the median; none if it cannot be measured.
    pub wake_up_ns: Option<u64>,
    /// Share of the time that the generator waited for a processor.
    pub run_delay_share: f64,
    /// Share of the time that the hypervisor took from the core in use that lost the most.
    pub steal_share: f64,
}

/// A percentile of known times, as reported.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TrueTime {
    /// The distribution of the server's times.
    pub service: &'static str,
    /// The quantile, 0 to 1.
    pub quantile: f64,
    /// The true time.
    pub true_ns: u64,
    /// The reported time.
    pub reported_ns: u64,
}

/// How late requests were sent at a pace.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PaceLag {
    /// How the generator waits: by sleeping or spinning.
    pub pace: &'static str,
    /// The median lag.
    pub p50: Option<u64>,
    /// The 99th percentile of the lag.
    pub p99: Option<u64>,
    /// The longest lag.
    pub max: Option<u64>,
}

/// What `paceline round --estimate` expects.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EstimateDocument {
    /// The name of the plan.
    pub plan: String,
    /// Number of servers.
    pub servers: usize,
    /// Number of combinations of server, workload and load.
    pub combinations: usize,
    /// How often each combination is measured.
    pub repeats: u32,
    /// Number of launches.
    pub launches: usize,
    /// Number of trials.
    pub trials: usize,
    /// The expected time, in seconds.
    pub expected_s: u64,
    /// What differs from the plan, in sentences.
    pub changes: Vec<String>,
    /// What the plan leaves out, in sentences.
    pub notes: Vec<String>,
}

/// What `paceline explain` knows of a name, or of all names.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExplainDocument {
    /// The verdicts of that name.
    pub verdicts: Vec<ExplainedVerdict>,
    /// The metrics of that name.
    pub metrics: Vec<ExplainedMetric>,
}

/// A verdict.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExplainedVerdict {
    /// Its name in records.
    pub name: &'static str,
    /// The problem, in one line.
    pub title: &'static str,
    /// The severities that it can have.
    pub severity: &'static [Severity],
    /// Who or what can be to blame.
    pub blame: &'static [Blame],
    /// When it is given, and what it means.
    pub description: String,
    /// The keys of its evidence, with their meaning.
    pub evidence: BTreeMap<&'static str, &'static str>,
    /// What to do, as an example.
    pub remedy: String,
}

/// A metric.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExplainedMetric {
    /// Its key in JSON and CSV.
    pub key: &'static str,
    /// Its name in sentences.
    pub name: &'static str,
    /// What it measures, and how.
    pub description: String,
}

/// What `paceline audit` found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AuditDocument {
    /// Each file with its findings.
    pub reports: Vec<ReportAudit>,
}

/// What `paceline store check` read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StoreCheckDocument {
    /// The store that was read.
    pub store: String,
    /// Number of rounds.
    pub rounds: u64,
    /// Number of trials.
    pub trials: u64,
    /// Number of histograms.
    pub histograms: u64,
    /// Number of those that an older version wrote without a checksum.
    pub without_checksum: u64,
    /// Each problem, in a sentence.
    pub problems: Vec<String>,
}

/// What `paceline lab list` knows of the servers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListDocument {
    /// Every server with a sound manifest.
    pub servers: Vec<ListedServer>,
    /// Servers whose manifest cannot be read.
    pub broken_servers: Vec<BrokenFolder>,
    /// Load balancers whose manifest cannot be read.
    pub broken_balancers: Vec<BrokenFolder>,
    /// Workloads that cannot be read.
    pub broken_workloads: Vec<BrokenFolder>,
    /// What else is odd about the folders.
    pub notes: Vec<String>,
}

/// A server of the list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedServer {
    /// Its id: the folder's name.
    pub server: String,
    /// Its name, for people.
    pub name: String,
    /// The language that it is written in.
    pub language: String,
    /// Name of the framework.
    pub framework: String,
    /// The HTTP server below the framework.
    pub engine: String,
    /// The kind of framework, as in its manifest.
    pub kind: String,
    /// The tags of its manifest.
    pub tags: Vec<String>,
    /// The documents that measured it.
    pub sources: Vec<String>,
    /// The workloads that it serves.
    pub workloads: Vec<String>,
    /// The forms that it runs in.
    pub forms: Vec<String>,
    /// Whether it has each trait.
    pub traits: BTreeMap<String, bool>,
    /// Whether it is set up, in words.
    pub state: String,
    /// Why it was not tried where it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untried: Option<String>,
}

/// A folder that cannot be read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BrokenFolder {
    /// The folder's name.
    pub name: String,
    /// Why it cannot be read.
    pub error: String,
}

/// What `paceline lab setup` did.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SetupDocument {
    /// The servers that are set up.
    pub set_up: Vec<String>,
    /// Why others are not, by server.
    pub failed: BTreeMap<String, String>,
    /// How long it took, in seconds.
    pub took_s: f64,
    /// Bytes written to the build folders.
    pub written_bytes: u64,
    /// By how many bytes the installed packages grew; none if unknown.
    pub packages_bytes: Option<u64>,
}

/// What `paceline lab setup --dry-run` would do.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SetupPlanDocument {
    /// The packages that are missing.
    pub packages: Vec<String>,
    /// Their download size in bytes; none if unknown.
    pub packages_bytes: Option<u64>,
    /// The commands that would run.
    pub commands: Vec<SetupCommand>,
    /// Programs that the user of servers cannot run, with the remedy, by server.
    pub inaccessible_tools: BTreeMap<String, Vec<String>>,
}

/// The set-up command of a server.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SetupCommand {
    /// The server's id.
    pub server: String,
    /// The command of its manifest.
    pub command: String,
    /// What it downloads, in megabytes; none if unknown.
    pub download_mb: Option<f64>,
}

/// What `paceline lab build` built.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BuildDocument {
    /// The servers that are built.
    pub built: Vec<BuiltServer>,
    /// The servers that are not.
    pub failed: Vec<String>,
}

/// A server that is built.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BuiltServer {
    /// Its id.
    pub server: String,
    /// How long it took, in seconds; none if nothing had changed.
    pub built_in_s: Option<f64>,
    /// The versions of its framework and tools.
    pub versions: String,
}

/// What `paceline lab check` found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckDocument {
    /// The seed of the random numbers in requests.
    pub seed: u64,
    /// Each server with its result.
    pub servers: Vec<CheckedServer>,
}

/// The result of a server.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct CheckedServer {
    /// Its id.
    pub server: String,
    /// `pass`, `warn`, `fail`, `not_set_up` or `without_this_form`.
    pub result: String,
    /// Each check, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<Vec<Check>>,
    /// What it did with an idle connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_connection: Option<String>,
    /// Its first start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup: Option<Startup>,
    /// Its second start, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_startup: Option<Startup>,
    /// Why it was not checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What `paceline lab import` wrote.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ImportDocument {
    /// Number of folders that were read.
    pub folders: usize,
    /// The servers that were written.
    pub servers: Vec<WrittenServer>,
    /// The tests that were not, each with its reason.
    pub skipped: Vec<UnwrittenTest>,
}

/// A test that is a server now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WrittenServer {
    /// The server's id.
    pub server: String,
    /// The language that it is written in.
    pub language: String,
    /// What of the test has no workload here.
    pub left_out: Vec<String>,
}

/// A test that was not imported.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnwrittenTest {
    /// Its name on the board.
    pub test: String,
    /// The language, if it is known.
    pub language: String,
    /// Why it was not imported.
    pub reason: String,
}

/// What `paceline help --json` prints: a command, its flags and its commands.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HelpDocument {
    /// Its name.
    pub name: String,
    /// What it does, in one line.
    pub about: Option<String>,
    /// Whether it has `--json`.
    pub has_json: bool,
    /// Its flags and arguments.
    pub flags: Vec<HelpFlag>,
    /// The commands below it.
    pub commands: Vec<HelpDocument>,
}

/// A flag or an argument.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HelpFlag {
    /// Its long form, with `--`; none of an argument.
    pub long: Option<String>,
    /// Its short form, with `-`.
    pub short: Option<String>,
    /// The names of its values; none of a switch.
    pub value: Option<Vec<String>>,
    /// The values that it can have, if they are a list.
    pub values: Vec<String>,
    /// Its values where it is not given.
    pub default: Vec<String>,
    /// Whether the command needs it.
    pub is_required: bool,
    /// What it does, in one line.
    pub about: Option<String>,
    /// What it does, in detail, if that is more.
    pub more: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_experiment::{Capacity, CellComparison, PairedComparison, SampleSet, Why};
    use paceline_record::schema_of;
    use std::path::Path;

    #[test]
    fn the_schemas_of_documents_are_published() {
        for (name, schema) in [
            ("audit", schema_of::<AuditDocument>()),
            ("baseline", schema_of::<SampleSet>()),
            ("capacity", schema_of::<Capacity>()),
            ("compare", schema_of::<PairedComparison>()),
            ("compare-rounds", schema_of::<Vec<CellComparison>>()),
            ("doctor", schema_of::<DoctorDocument>()),
            ("explain", schema_of::<ExplainDocument>()),
            ("help", schema_of::<HelpDocument>()),
            ("lab-build", schema_of::<BuildDocument>()),
            ("lab-check", schema_of::<CheckDocument>()),
            ("lab-import", schema_of::<ImportDocument>()),
            ("lab-list", schema_of::<ListDocument>()),
            ("lab-setup", schema_of::<SetupDocument>()),
            ("lab-setup-plan", schema_of::<SetupPlanDocument>()),
            ("round-estimate", schema_of::<EstimateDocument>()),
            ("selftest", schema_of::<SelftestDocument>()),
            ("store-check", schema_of::<StoreCheckDocument>()),
            ("why", schema_of::<Why>()),
        ] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
            let (path, current) = (folder.join(format!("{name}.schema.json")), format!("{schema:#}\n"));
            if std::env::var_os("UPDATE").is_some() {
                std::fs::write(&path, &current).unwrap();
            }
            let published = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(published == current, "{} is not up to date; write it with UPDATE=1", path.display());
        }
    }
}
