//! Parses loads that may change over the window: rates (`-r`) and numbers of connections (`-c`), in one grammar.
//!
//! `N` is constant, `A:B` changes linearly over the window. Several parts follow each other, each `N` or `A:B`:
//! `10,50@30s` gives all of them one length, `1:50@20s,50@1m` each its own.

use super::values::duration;
use paceline_job::Nanos;

/// A load over the window.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangingLoad<V> {
    /// It stays the same.
    Constant(V),
    /// It changes linearly from the beginning of the window to its end.
    Ramp(V, V),
    /// It consists of parts with lengths.
    Parts(Vec<ChangingPart<V>>),
}

/// A part of the window in which a load is constant or changes linearly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangingPart<V> {
    pub from: V,
    pub to: V,
    pub length: Nanos,
}

impl<V: Copy> ChangingLoad<V> {
    /// Parses a load whose single values `value` parses; errors call one of them `noun`.
    pub fn parse(text: &str, noun: &str, value: fn(&str) -> Result<V, String>) -> Result<Self, String> {
        let parts: Vec<(&str, Option<&str>)> = text
            .split(',')
            .map(|part| part.split_once('@').map_or((part, None), |(load, length)| (load, Some(length))))
            .collect();
        let lengths = parts.iter().filter(|(_, length)| length.is_some()).count();
        let shared = match (parts.as_slice(), lengths) {
            ([(load, None)], _) => {
                return Ok(match load.contains(':') {
                    true => {
                        let [from, to] = ends(load, value)?;
                        Self::Ramp(from, to)
                    }
                    false => Self::Constant(value(load)?),
                });
            }
            (_, 0) => return Err(no_length(text, noun)),
            ([.., (_, Some(length))], 1) => Some(Nanos::from(duration(length)?)),
            (parts, lengths) if lengths == parts.len() => None,
            _ => {
                return Err(format!(
                    "{text} has parts with and without a length: write @T after each part, or only after the last"
                ));
            }
        };
        let part = |(load, length): (&str, Option<&str>)| {
            let [from, to] = ends(load, value)?;
            let length = match shared {
                Some(length) => length,
                None => Nanos::from(duration(length.unwrap_or_default())?),
            };
            Ok(ChangingPart { from, to, length })
        };
        parts.into_iter().map(part).collect::<Result<_, String>>().map(Self::Parts)
    }
}

/// The loads at both ends of a part: `N`, or `A:B`.
fn ends<V: Copy>(load: &str, value: fn(&str) -> Result<V, String>) -> Result<[V; 2], String> {
    match load.split_once(':') {
        Some((from, to)) => Ok([value(from)?, value(to)?]),
        None => value(load).map(|load| [load; 2]),
    }
}

/// The error for parts without a length, which may be one number with a comma between thousands.
fn no_length(text: &str, noun: &str) -> String {
    let parts: Vec<&str> = text.split(',').collect();
    let are_thousands = parts[1..].iter().all(|part| part.len() == 3);
    let one =
        if are_thousands { format!("; for a single {noun} write {}", parts.concat()) } else { String::new() };
    format!("the length of the steps is missing; write {text}@10s{one}")
}

#[cfg(test)]
mod tests {
    use super::super::values::whole;
    use super::*;

    fn part(from: u32, to: u32, seconds: u64) -> ChangingPart<u32> {
        ChangingPart { from, to, length: Nanos::from_secs(seconds) }
    }

    #[test]
    fn loads_that_change() {
        let parse = |text: &str| ChangingLoad::parse(text, "number", whole::<u32>);
        assert_eq!(parse("64"), Ok(ChangingLoad::Constant(64)));
        assert_eq!(parse("1:50"), Ok(ChangingLoad::Ramp(1, 50)));
        let steps = vec![part(10, 10, 30), part(50, 50, 30), part(100, 100, 30)];
        assert_eq!(parse("10,50,100@30s"), Ok(ChangingLoad::Parts(steps)));
        let unequal = vec![part(1, 50, 20), part(50, 50, 60), part(50, 1, 10)];
        assert_eq!(parse("1:50@20s,50@1m,50:1@10s"), Ok(ChangingLoad::Parts(unequal)));
        assert_eq!(parse("1:9@2s"), Ok(ChangingLoad::Parts(vec![part(1, 9, 2)])));
        for (text, said) in [
            ("10,20", "the length of the steps is missing; write 10,20@10s"),
            ("1,000", "for a single number write 1000"),
            ("1@2s,3,4@5s", "with and without a length"),
            ("1@2s,3", "with and without a length"),
            ("1:2:3", "write a whole number"),
            ("1:@2s", "write a whole number"),
            ("1,,2@1s", "write a whole number"),
            ("1,2@ten", "not a duration"),
            ("1,2@", "not a duration"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
