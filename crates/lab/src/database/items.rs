//! The rows of `items`, the table of HttpArena's database profiles: as many, with the same columns, and other values.
//!
//! They are the same in every launch, as on that board, whose script has a fixed seed.

use paceline_stats::Random;
use std::fmt::Write as _;

/// Raised with every change of a row: prepared data folders are named after it.
pub(super) const VERSION: u32 = 1;
/// The file of the rows, beside the data.
pub(super) const FILE: &str = "items.tsv";

/// The board's number of rows.
const ROWS: u32 = 100_000;
/// The seed of all values.
const SEED: u64 = 45;

/// The board lists `electronics` in its checks and `office` under load.
const CATEGORIES: [&str; 6] = ["electronics", "office", "kitchen", "garden", "travel", "workshop"];
const ADJECTIVES: [&str; 8] = ["Amber", "Birch", "Coral", "Delta", "Ember", "Fjord", "Grove", "Harbor"];
const NOUNS: [&str; 8] = ["Lamp", "Kettle", "Ladder", "Basket", "Clock", "Mirror", "Saddle", "Ticket"];
const TAGS: [&str; 8] = ["blue", "compact", "durable", "folding", "gift", "light", "refill", "wood"];
/// No common divisor with the number of tags, so that those of a row differ.
const TAG_STEP: u64 = 3;

/// The rows by id, with tabs between the columns in PostgreSQL's format of text: id, name, category, price, quantity,
/// active, tags as JSON, and the score and number of ratings.
pub(super) fn rows() -> String {
    let mut random = Random::new(SEED);
    let mut text = String::new();
    for id in 1..=ROWS {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{id}\t{} {} {id}\t{}\t{}\t{}\t{}\t[{}]\t{}\t{}",
            one_of(&mut random, &ADJECTIVES),
            one_of(&mut random, &NOUNS),
            one_of(&mut random, &CATEGORIES),
            random.below(500) + 1,
            random.below(100) + 1,
            if random.below(4) > 0 { 't' } else { 'f' },
            tags(&mut random),
            random.below(50) + 1,
            random.below(400) + 1,
        );
    }
    text
}

fn one_of(random: &mut Random, texts: &[&'static str]) -> &'static str {
    texts[random.below(texts.len() as u64) as usize]
}

/// One to four different tags, as the elements of a JSON array.
fn tags(random: &mut Random) -> String {
    let (first, count) = (random.below(TAGS.len() as u64), random.below(4) + 1);
    let place = |nth: u64| ((first + nth * TAG_STEP) % TAGS.len() as u64) as usize;
    let tags: Vec<String> = (0..count).map(|nth| format!("\"{}\"", TAGS[place(nth)])).collect();
    tags.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn rows_have_the_columns_and_the_ranges_that_the_board_asks_for() {
        let text = rows();
        assert_eq!(text, rows(), "they differ the second time");
        let rows: Vec<Vec<&str>> = text.lines().map(|row| row.split('\t').collect()).collect();
        assert_eq!(rows.len(), 100_000);
        let number = |text: &str| text.parse::<u32>().unwrap();
        for (row, id) in rows.iter().zip(1..) {
            let [own, name, category, price, quantity, active, tags, score, count] = row[..] else {
                panic!("{row:?}")
            };
            assert_eq!(number(own), id);
            assert!(!name.is_empty() && CATEGORIES.contains(&category), "{row:?}");
            assert!((1..=500).contains(&number(price)) && (1..=100).contains(&number(quantity)), "{row:?}");
            assert!(number(score) > 0 && number(count) > 0 && ["t", "f"].contains(&active), "{row:?}");
            let tags: Vec<String> = serde_json::from_str(tags).unwrap();
            assert!(tags.iter().collect::<BTreeSet<_>>().len() == tags.len() && !tags.is_empty(), "{row:?}");
        }
        // A page of the board's list, at most the tenth with ten rows, and its query for prices are full.
        let office = rows.iter().filter(|row| row[2] == "office").count();
        let cheap = rows.iter().filter(|row| (10..=50).contains(&number(row[3]))).count();
        assert!(office > 10_000 && cheap > 1_000, "{office} {cheap}");
    }
}
