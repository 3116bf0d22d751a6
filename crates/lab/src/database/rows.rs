//! Rows and counters in the format of a database's commands.

use paceline_record::DatabaseCounts;
use paceline_stats::Random;
use std::collections::{BTreeMap, BTreeSet};

/// Number of rows of `world`.
const ROWS: u32 = 10_000;

/// The rows of `world`, `ID<TAB>NUMBER` each, with uniform numbers from 1 to 10,000: the same for a seed in
/// every later version.
pub(super) fn world(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut draw = || random.below(ROWS.into()) + 1;
    (1..=ROWS).map(|id| format!("{id}\t{}\n", draw())).collect()
}

/// Parses printed rows, by id.
pub(super) fn numbers(printed: &str) -> Result<BTreeMap<u32, u32>, String> {
    let row = |line: &str| {
        let (id, number) = line.split_once('\t').ok_or_else(|| format!("{line:?} has no tab"))?;
        let parse =
            |text: &str| text.trim().parse().map_err(|_| format!("expected two numbers, found {line:?}"));
        Ok((parse(id)?, parse(number)?))
    };
    printed.lines().filter(|line| !line.trim().is_empty()).map(row).collect()
}

/// Parses printed counters, `NAME NUMBER` each.
pub(super) fn counts(printed: &str) -> Result<DatabaseCounts, String> {
    let mut counts = DatabaseCounts::default();
    let mut seen = 0;
    for line in printed.lines().filter(|line| !line.trim().is_empty()) {
        let (name, number) = line
            .trim()
            .split_once([' ', '\t'])
            .ok_or_else(|| format!("expected a name and a number, found {line:?}"))?;
        let number: u64 = number.trim().parse().map_err(|_| format!("{line:?} has no number"))?;
        seen += 1;
        match name {
            "selects" => counts.selects = number,
            "rows_read" => counts.rows_read = number,
            "updates" => counts.updates = number,
            "rows_updated" => counts.rows_updated = number,
            "commits" => counts.commits = Some(number),
            "connections" => counts.connections = Some(number),
            unknown => return Err(format!("unknown counter {unknown:?}")),
        }
    }
    if seen < 4 { Err(format!("it has {seen} counters; at least 4 are required")) } else { Ok(counts) }
}

/// The rows in a JSON body of the updates test: the numbers of each id. A response may draw a row twice; if one
/// statement updates all rows, either number may be the stored one.
pub(crate) fn returned(body: &[u8]) -> BTreeMap<u32, BTreeSet<u32>> {
    let rows: Vec<serde_json::Value> = serde_json::from_slice(body).unwrap_or_default();
    // The case of the names does not count in TechEmpower's rules.
    let number = |row: &serde_json::Value, name: &str| {
        let (_, value) = row.as_object()?.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        value.as_u64()?.try_into().ok()
    };
    let mut numbers: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for row in &rows {
        if let (Some(id), Some(drawn)) = (number(row, "id"), number(row, "randomNumber")) {
            numbers.entry(id).or_default().insert(drawn);
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_rows_again() {
        let rows = numbers(&world(7)).unwrap();
        assert_eq!(rows.len(), 10_000);
        assert!(rows.values().all(|number| (1..=10_000).contains(number)));
        assert_eq!(world(7), world(7));
        assert_ne!(world(7), world(8));
        assert!(numbers("1 2").is_err() && numbers("1\tx").is_err());
    }

    #[test]
    fn counters_are_named_and_complete() {
        let printed = "selects 20\nrows_read\t240\nupdates 1\nrows_updated 19\ncommits 3\nconnections 8\n";
        let counts = counts(printed).unwrap();
        assert_eq!((counts.selects, counts.rows_read, counts.rows_updated), (20, 240, 19));
        assert_eq!((counts.commits, counts.connections), (Some(3), Some(8)));
        for wrong in ["", "selects 1", "selects x", "selects", "hits 1"] {
            assert!(super::counts(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_row_that_is_returned_twice_has_both_numbers() {
        let body = br#"[{"id":1,"randomNumber":2},{"id":1,"randomNumber":3},{"ID":4,"randomnumber":5}]"#;
        assert_eq!(returned(body), BTreeMap::from([(1, BTreeSet::from([2, 3])), (4, BTreeSet::from([5]))]));
        assert!(returned(b"no").is_empty());
    }
}
