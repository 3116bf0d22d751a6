//! The CPU time of requests, by where it was spent.

use crate::cpu_bar::{FILLS, cpu_bar};
use crate::format::sheet::{Sheet, shown};
use crate::{Row, Table};
use paceline_judge::Metric;

/// The parts of the CPU time of a request, in the order of their characters in a bar.
const CPU_PARTS: [(&str, Metric); 4] = [
    ("user", Metric::SERVER_USER),
    ("kernel", Metric::SERVER_SYSTEM),
    ("interrupts", Metric::SERVER_INTERRUPT),
    ("database", Metric::DATABASE_CPU),
];

/// The CPU time of the requests of each row by where it was spent; none if no row has it.
pub(super) fn cpu_parts(table: &Table, on: &str) -> Option<Sheet> {
    let is_divided = |row: &&Row| row.figures.get(&Metric::SERVER_USER).is_some();
    let rows: Vec<&Row> = table.rows.iter().filter(is_divided).collect();
    let is_measured = |metric: &Metric| rows.iter().any(|row| row.figures.get(metric).is_some());
    let parts = CPU_PARTS.into_iter().zip(FILLS);
    let measured: Vec<((&str, Metric), char)> =
        parts.filter(|((_, metric), _)| is_measured(metric)).collect();
    let heads = measured.iter().map(|((name, _), fill)| format!("{fill} {name}"));
    let heads = ["server", "CPU"].map(str::to_owned).into_iter().chain(heads).chain(["shares".to_owned()]);
    let cells = |row: &&Row| -> Vec<String> {
        let cell = |metric: &Metric| shown(row.figures.get(metric), 1.0);
        let parts = measured.iter().map(|((_, metric), _)| cell(metric));
        let bar = cpu_bar(&CPU_PARTS.map(|(_, metric)| row.figures.shown(&metric)));
        [row.server.id.clone(), cell(&Metric::SERVER_CPU)].into_iter().chain(parts).chain([bar]).collect()
    };
    let (form, load) = (&table.form, &table.load.name);
    (!rows.is_empty()).then(|| Sheet {
        title: format!("{}: CPU time per request, {load} ({form}{on})", table.workload),
        lead: "In µs. User and kernel time are those of the server's processes. Interrupts are those of the server's \
               cores, other programs included; if the kernel does not separate them, a part is in kernel time too. A \
               bar shows the shares."
            .to_owned(),
        heads: heads.collect(),
        words: 1,
        rows: rows.iter().map(cells).collect(),
        lines: Vec::new(),
    })
}
