//! Launches: the start-up of servers, and their warm-up.

use crate::format::number;
use crate::format::sheet::{Sheet, shown};
use crate::{Figure, StartRow, StartTable, Starts, WarmUpRow, WarmUpTable};
use paceline_stats::counted;

pub(super) fn start(table: &StartTable, on: &str) -> Sheet {
    let heads = [
        "server",
        "first start: first response ms",
        "listens ms",
        "from disk MB",
        "later starts: first response ms",
        "listens ms",
        "from disk MB",
        "memory MB",
        "after load MB",
    ];
    let row = |row: &StartRow| {
        let of = |starts: &Option<Starts>, get: fn(&Starts) -> Option<&Figure>, scale| {
            shown(starts.as_ref().and_then(get), scale)
        };
        let memory = if row.later.is_some() { &row.later } else { &row.first };
        vec![
            row.server.clone(),
            of(&row.first, |s| s.first_answer_ms.as_ref(), 1.0),
            of(&row.first, |s| s.listening_ms.as_ref(), 1.0),
            of(&row.first, |s| s.disk_read_bytes.as_ref(), 1e6),
            of(&row.later, |s| s.first_answer_ms.as_ref(), 1.0),
            of(&row.later, |s| s.listening_ms.as_ref(), 1.0),
            of(&row.later, |s| s.disk_read_bytes.as_ref(), 1e6),
            of(memory, |s| s.rss_bytes.as_ref(), 1e6),
            shown(row.rss_bytes_after.as_ref(), 1e6),
        ]
    };
    Sheet {
        title: format!("start-up, form {}{on}", table.form),
        lead: "First start: the first since the server was built. First response: time until the first valid \
               response; listens: time until the port is open. 0 MB read from disk means the files were already in \
               the page cache. Memory is resident memory at the first valid response and after the last load."
            .to_owned(),
        heads: heads.map(str::to_owned).into(),
        words: 1,
        rows: table.rows.iter().map(row).collect(),
        lines: Vec::new(),
    }
}

/// Seconds of the curve that a table shows.
const CURVE_SECONDS: [usize; 4] = [1, 2, 4, 8];

pub(super) fn warm_up(table: &WarmUpTable, on: &str) -> Sheet {
    let shares = CURVE_SECONDS.map(|second| format!("in second {second}"));
    let heads = ["server", "steady after s", "1st second req/s", "last 4 s req/s"].map(str::to_owned);
    let row = |row: &WarmUpRow| {
        let shares = CURVE_SECONDS
            .map(|second| row.share_in_second(second).map(number::whole_percent).unwrap_or_default());
        let steady = match (row.steady_after_s.as_ref(), row.launches_not_steady) {
            (None, _) => format!("not within {}", number::whole(table.limit_s)),
            (steady, 0) => shown(steady, 1.0),
            (steady, not) => {
                let launches = counted(not, "launch", "launches");
                format!("{} ({launches}: not within {})", shown(steady, 1.0), number::whole(table.limit_s))
            }
        };
        let rates = [&row.first_second_per_s, &row.last_per_s].map(|rate| shown(rate.as_ref(), 1.0));
        let curve = row.curves.first().map(|curve| sparkline(&curve.rate_per_s)).unwrap_or_default();
        [row.server.clone(), steady].into_iter().chain(rates).chain(shares).chain([curve]).collect()
    };
    let end = match &table.bursts {
        None => "ends when".to_owned(),
        Some(bursts) => format!(
            "in {} of {} s, each followed by a pause of {} s; seconds of load are counted, and it is steady when",
            counted(bursts.count, "burst", "bursts"),
            number::value(bursts.length_s),
            number::value(bursts.pause_s)
        ),
    };
    Sheet {
        title: format!("warm-up, form {}{on}", table.form),
        lead: format!(
            "A closed loop with {} on {} {end} the rate of the last 4 s is at most 5 % above that of the 4 s before. Percentages \
             are shares of the rate in the last 4 s; the curve shows the first launch, one character per second.",
            counted(table.connections, "connection", "connections"),
            table.workloads.join(", ")
        ),
        heads: heads.into_iter().chain(shares).chain(["rate over time".to_owned()]).collect(),
        words: 1,
        rows: table.rows.iter().map(row).collect(),
        lines: Vec::new(),
    }
}

/// A curve in block characters, at most 60: of a longer curve only the start is shown.
fn sparkline(values: &[f64]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let block = |value: &f64| BLOCKS[((value / most * 8.0).ceil() as usize).clamp(1, 8) - 1];
    values.iter().take(60).map(block).collect()
}
