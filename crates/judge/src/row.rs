//! Verdicts on a row of a table, from the runs of its launches together.

use crate::{TypedVerdict, verdict};
use paceline_record::{Run, Tool, Verdict};
use std::collections::BTreeSet;

/// From this difference of body sizes, servers did not do the same work. Smaller differences come from blanks in JSON
/// (716 bytes instead of 637 for twenty rows of `queries`) and random numbers.
const BODY_DIFFERS: f64 = 0.15;
/// Heads differ between servers; above this factor head and body together are a different transfer.
const WHOLE_DIFFERS: f64 = 2.0;

/// Every verdict on a row of these runs, except those on each run.
pub fn row_verdicts<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Vec<Verdict> {
    verdict::verdicts(generator_changed(runs))
}

/// For each row of a table, given as its runs: whether its responses differ in size from those of the others.
pub fn unequal_work(rows: &[Vec<&Run>]) -> Vec<Option<Verdict>> {
    let sizes: Vec<Option<[f64; 2]>> = rows.iter().map(|runs| bytes_per_response(runs)).collect();
    // Of an even number of rows two are in the middle. If these differ, neither is the one that is right: each row
    // differs from one of them.
    let middles = [0, 1].map(|of| {
        let mut known: Vec<f64> = sizes.iter().flatten().map(|size| size[of]).collect();
        known.sort_by(f64::total_cmp);
        let places = [known.len().saturating_sub(1) / 2, known.len() / 2];
        places.map(|place| known.get(place).copied().unwrap_or_default())
    });
    let judge = |size: &Option<[f64; 2]>| {
        let [body, whole] = (*size)?;
        let [typical_body, typical_whole] = middles.map(|[low, high]| f64::midpoint(low, high));
        let [bodies, wholes] = middles;
        let other_body = bodies.into_iter().any(|middle| (body - middle).abs() > BODY_DIFFERS * middle);
        let is_other = |middle: f64| whole > WHOLE_DIFFERS * middle || middle > WHOLE_DIFFERS * whole;
        let other_size = wholes.into_iter().any(is_other);
        (other_body || other_size).then(|| {
            let finding = TypedVerdict::UnequalWork {
                body_bytes_per_response: if other_body { body } else { typical_body },
                body_bytes_typical: typical_body,
                bytes_per_response: whole,
                bytes_typical: typical_whole,
            };
            finding.verdict()
        })
    };
    sizes.iter().map(judge).collect()
}

/// Bytes of body, and of head and body, per response of some runs.
fn bytes_per_response(runs: &[&Run]) -> Option<[f64; 2]> {
    let (mut read, mut body, mut received) = (0.0, 0.0, 0.0);
    for total in runs.iter().map(|run| &run.total) {
        let counts = total.counts;
        read +=
            [counts.ok, counts.bad_status, counts.bad_body].iter().map(|count| *count as f64).sum::<f64>();
        body += total.bytes.body as f64;
        received += total.bytes.received as f64;
    }
    (read > 0.0 && received > 0.0).then(|| [body / read, received / read])
}

fn generator_changed<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Option<TypedVerdict> {
    let name = |Tool { name, version, commit }: &Tool| {
        let commit = commit.as_ref().map(|commit| format!(" ({commit})")).unwrap_or_default();
        format!("{name} {version}{commit}")
    };
    let tools: BTreeSet<String> = runs.into_iter().map(|run| name(&run.tool)).collect();
    (tools.len() > 1).then(|| TypedVerdict::GeneratorChanged { tools: tools.into_iter().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::fixture;

    #[test]
    fn launches_measured_by_two_builds_are_named() {
        let tool = |version: &str, commit: Option<&str>| Tool {
            name: "paceline".to_owned(),
            version: version.to_owned(),
            commit: commit.map(str::to_owned),
        };
        let names = |tools: &[Tool]| -> Vec<String> {
            let run = |tool: &Tool| Run { tool: tool.clone(), ..fixture::run(0) };
            let runs: Vec<Run> = tools.iter().map(run).collect();
            row_verdicts(&runs).into_iter().map(|verdict| verdict.name).collect()
        };
        let first = tool("0.1.0", Some("1fa9ae1"));
        assert_eq!(names(&[first.clone(), first.clone()]), [] as [&str; 0]);
        for other in [tool("0.1.0", Some("adbce85")), tool("0.2.0", Some("1fa9ae1")), tool("0.1.0", None)] {
            assert_eq!(names(&[first.clone(), other]), ["generator_changed"]);
        }
    }
}
