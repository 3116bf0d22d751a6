//! Which series of a metrics page are kept: those that the user names, or those that usually say why a server paused.

use crate::RunError;

/// Series kept at most.
pub(super) const MAX_SERIES: usize = 32;

/// What is kept without a choice: garbage collection, pools and queues under the names that the usual clients give them.
/// The first of them count most.
const USUAL: &[&str] = &[
    // Go: client_golang.
    "go_gc_duration_seconds_sum",
    "go_gc_duration_seconds_count",
    "go_goroutines",
    "go_memstats_heap_inuse_bytes",
    "go_sql_in_use_connections",
    "go_sql_wait_count_total",
    // JVM: Micrometer, then client_java; pools and executors of Spring Boot.
    "jvm_gc_pause_seconds_sum",
    "jvm_gc_pause_seconds_count",
    "jvm_gc_collection_seconds_sum",
    "jvm_gc_collection_seconds_count",
    "jvm_memory_used_bytes",
    "jvm_threads_live_threads",
    "jvm_threads_current",
    "hikaricp_connections_active",
    "hikaricp_connections_pending",
    "tomcat_threads_busy_threads",
    "executor_queued_tasks",
    // node: prom-client.
    "nodejs_eventloop_lag_seconds",
    "nodejs_eventloop_lag_p99_seconds",
    "nodejs_gc_duration_seconds_sum",
    "nodejs_gc_duration_seconds_count",
    "nodejs_heap_size_used_bytes",
    // Python: prometheus_client; .NET: prometheus-net.
    "python_gc_collections_total",
    "dotnet_collection_count_total",
    "dotnet_total_memory_bytes",
    // PostgreSQL: postgres_exporter.
    "pg_stat_activity_count",
    "pg_locks_count",
    "pg_stat_database_xact_commit",
    "pg_stat_database_blks_read",
    // Any process; queues of proxies.
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_open_fds",
    "process_threads",
    "nginx_connections_waiting",
    "haproxy_backend_current_queue",
];

/// A choice of series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SeriesSelector {
    /// The name, without the `*` of a prefix; or a JSON pointer.
    name: String,
    is_prefix: bool,
    /// Labels that the series must have with these values.
    labels: Vec<(String, String)>,
}

impl SeriesSelector {
    /// `NAME`, `NAME*`, `NAME{label="value",...}` or `/json/pointer`.
    pub(super) fn parse(text: &str) -> Result<Self, RunError> {
        let invalid = |what: &str| {
            RunError::usage(format!("--scrape-series {text}: {what}"))
                .hint("write a name (go_goroutines), a prefix (jvm_gc_*), labels (pg_locks_count{mode=\"exclusivelock\"}) or a JSON pointer (/pool/active)")
        };
        if text.starts_with('/') {
            return Ok(Self { name: text.to_owned(), is_prefix: false, labels: Vec::new() });
        }
        let (name, labels) = match text.split_once('{') {
            Some((name, rest)) => {
                let labels =
                    super::labels::labels(rest).ok_or_else(|| invalid("the labels are not valid"))?;
                (name, labels.0)
            }
            None => (text, Vec::new()),
        };
        let (name, is_prefix) = name.strip_suffix('*').map_or((name, false), |name| (name, true));
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        if name.is_empty() || !name.chars().all(is_part) {
            return Err(invalid("this is no name of a series"));
        }
        Ok(Self { name: name.to_owned(), is_prefix, labels })
    }

    /// Those that are kept without a choice.
    pub(super) fn usual() -> Vec<Self> {
        let selector = |name: &&str| Self { name: (*name).to_owned(), is_prefix: false, labels: Vec::new() };
        USUAL.iter().map(selector).collect()
    }

    /// Whether a series of this name may be meant.
    pub(super) fn takes_name(&self, name: &str) -> bool {
        if self.is_prefix { name.starts_with(&self.name) } else { name == self.name }
    }

    /// Whether a series with these labels is meant.
    pub(super) fn takes_labels(&self, labels: &[(String, String)]) -> bool {
        self.labels.iter().all(|label| labels.contains(label))
    }

    /// The JSON pointer that it is.
    pub(super) fn pointer(&self) -> Option<&str> {
        self.name.starts_with('/').then_some(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_prefixes_labels_and_pointers() {
        let parse = |text| SeriesSelector::parse(text).unwrap();
        assert!(parse("jvm_gc_*").takes_name("jvm_gc_pause") && !parse("jvm_gc").takes_name("jvm_gc_pause"));
        let labelled = parse("pool{name=\"a b\",kind=\"x\"}");
        let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let all = [label("kind", "x"), label("host", "h"), label("name", "a b")];
        assert!(labelled.takes_name("pool") && labelled.takes_labels(&all));
        assert!(!labelled.takes_labels(&all[..2]));
        assert_eq!(parse("/pool/0/active").pointer(), Some("/pool/0/active"));
        for wrong in ["", "*", "a b", "x{", "x{a}", "x{a=b}", "x{a=\"b\""] {
            assert!(SeriesSelector::parse(wrong).is_err(), "{wrong}");
        }
    }
}
