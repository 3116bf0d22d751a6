//! Mutates seeds: a small part of what libFuzzer does, without coverage, and the same on every machine.

use paceline_engine::Random;
use std::ops::Range;

/// Numbers at the limits of types and parsers, for text.
const NUMBERS: [&str; 12] = [
    "0",
    "-1",
    "00",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "9223372036854775807",
    "18446744073709551616",
    "0.000000001",
    "1e308",
    "1e999",
];

/// Integers at the limits of types, for binary formats.
const INTEGERS: [u64; 9] = [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, u32::MAX as u64, i64::MAX as u64];

/// The longest range that is deleted, duplicated or copied from another seed, except at the end of an input.
const RANGE_BITS: usize = 7;

/// A generator of inputs; the same seed gives the same inputs.
pub struct Mutator {
    random: Random,
}

impl Mutator {
    pub fn new(seed: u64) -> Self {
        Self { random: Random::new(seed) }
    }

    /// One of the seeds with one to four changes.
    pub fn mutate(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = self.pick(seeds).clone();
        for _ in 0..=self.below(4) {
            let other = self.pick(seeds);
            self.change(&mut bytes, other);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let range = self.range(bytes.len());
        let (start, piece) = (range.start, self.range(other.len()));
        match self.below(8) {
            0 => bytes[range].iter_mut().take(1).for_each(|byte| *byte ^= 1 << self.below(8)),
            1 => drop(bytes.drain(range)),
            2 => drop(bytes.splice(start..start, bytes[range.clone()].to_vec())),
            3 => drop(bytes.splice(start..start, other[piece].iter().copied())),
            4 => drop(bytes.splice(range, other[piece].iter().copied())),
            5 => {
                let mut integer = self.pick(&INTEGERS).to_le_bytes()[..1 << self.below(4)].to_vec();
                if self.below(2) == 0 {
                    integer.reverse();
                }
                bytes.splice(start..bytes.len().min(start + integer.len()), integer);
            }
            6 => {
                // The first number after the start.
                let is_digit = |byte: &u8| byte.is_ascii_digit();
                let from = start + bytes[start..].iter().take_while(|byte| !is_digit(byte)).count();
                let to = from + bytes[from..].iter().take_while(|byte| is_digit(byte)).count();
                bytes.splice(from..to, self.pick(&NUMBERS).bytes());
            }
            _ => drop(bytes.splice(start.., other[piece.start..].iter().copied())),
        }
    }

    /// A range of a text of this length, more often a short one; empty only if the text is.
    fn range(&mut self, length: usize) -> Range<usize> {
        let start = self.below(length);
        let most = 1 << self.below(RANGE_BITS);
        start..length.min(start + 1 + self.below(most))
    }

    fn pick<'a, Item>(&mut self, items: &'a [Item]) -> &'a Item {
        &items[self.below(items.len())]
    }

    /// A number below the limit, or 0 if the limit is 0.
    fn below(&mut self, limit: usize) -> usize {
        self.random.below(limit as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn inputs(random_seed: u64, seeds: &[&str], count: usize) -> Vec<String> {
        let seeds: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect();
        let mut mutator = Mutator::new(random_seed);
        (0..count).map(|_| mutator.mutate(&seeds).escape_ascii().to_string()).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_inputs_everywhere() {
        let seeds = ["GET /a?b=10 HTTP/1.1", "{\"rate\": 250}"];
        assert_eq!(inputs(1, &seeds, 1_000), inputs(1, &seeds, 1_000));
        assert_ne!(inputs(1, &seeds, 3), inputs(2, &seeds, 3));
        let first = [r"{0 HTTP/1.1", r#"{\"raET /a?b=10 HTTP/1.1"#, r"{TTP\x7f\xff\xff\xff\xff\xff\xff\xff"];
        assert_eq!(inputs(1, &seeds, 3), first);
    }

    #[test]
    fn every_kind_of_change_occurs_and_inputs_stay_short() {
        let found = BTreeSet::from_iter(inputs(1, &["ab1", "xy2"], 20_000));
        assert!(found.iter().all(|input| input.len() < 200));
        // A flipped bit; a deleted, a duplicated, an inserted, an overwritten range; integers; a number; an end.
        for change in ["`b1", "b1", "abab1", "axb1", "xb1", "ab\\xff", "ab65536", "ay2"] {
            assert!(found.contains(change), "{change}");
        }
    }

    #[test]
    fn an_empty_seed_can_be_mutated() {
        assert!(inputs(1, &[""], 1_000).contains(&"1e308".to_owned()));
    }
}
