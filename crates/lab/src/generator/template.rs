//! A generator's command template, with `{url}` and other placeholders for an assignment's values.
//!
//! `third_party` checks it when the command is given and fills it for each assignment. It does not pass through a
//! shell: words are separated by spaces, and quotes have no meaning. `third_party` rejects loads that a program does
//! not support with any arguments.

use super::assignment::Assignment;
use paceline_record::Load;

/// The names a template may use.
const NAMES: [&str; 6] = ["url", "connections", "requests", "rate_per_s", "duration_s", "threads"];

/// The placeholder of the window's length.
const DURATION: &str = "{duration_s}";
/// The placeholder of the number of requests.
const REQUESTS: &str = "{requests}";
/// The placeholder of the offered rate.
const RATE: &str = "{rate_per_s}";
/// The placeholder of the number of threads.
const THREADS: &str = "{threads}";

/// Checks that every `{name}` is known and `{url}` occurs.
pub fn check(words: &[String]) -> Result<(), String> {
    let mut names = Vec::new();
    for word in words {
        for piece in word.split('{').skip(1) {
            let name = piece.split_once('}').ok_or_else(|| format!("`{word}` lacks a `}}`"))?.0;
            if !NAMES.contains(&name) {
                return Err(format!(
                    "unknown placeholder `{{{name}}}`; the placeholders are {{{}}}",
                    NAMES.join("}, {")
                ));
            }
            names.push(name);
        }
    }
    if names.contains(&"url") { Ok(()) } else { Err("the command has no placeholder {url}".to_owned()) }
}

/// The words that contain a placeholder.
fn uses(words: &[String], name: &str) -> bool {
    words.iter().any(|word| word.contains(name))
}

/// Why a load cannot be expressed in the words: common generators do not accept a fraction of a second.
pub fn refuses(words: &[String], load: &Load) -> Option<String> {
    let lacking = [(REQUESTS, load.requests.is_none()), (RATE, load.rate_per_s.is_none())];
    if let Some((name, _)) = lacking.into_iter().find(|(name, is_missing)| *is_missing && uses(words, name)) {
        return Some(format!("needs a value for {name}, which the load does not have"));
    }
    let seconds = load.duration_s.filter(|seconds| uses(words, DURATION) && seconds.fract() != 0.0)?;
    Some(format!("accepts only whole seconds, but the window is {seconds} s"))
}

/// The number of threads for the words: the largest allowed number that divides the connections evenly. wrk gives each
/// thread a whole number of connections and does not open the rest.
pub fn threads(words: &[String], assignment: &Assignment) -> u32 {
    if !uses(words, THREADS) {
        return assignment.threads;
    }
    (1..=assignment.threads)
        .rev()
        .find(|threads| assignment.load.connections.is_multiple_of(*threads))
        .unwrap_or(1)
}

/// The words with an assignment's values in place.
pub fn fill(words: &[String], assignment: &Assignment) -> Vec<String> {
    // `refuses` has made sure that this is exact.
    let duration_s = assignment.load.duration_s.unwrap_or_default().round().max(1.0);
    let values = [
        ("{url}", assignment.url.clone()),
        ("{connections}", assignment.load.connections.to_string()),
        (REQUESTS, assignment.load.requests.unwrap_or_default().to_string()),
        (RATE, assignment.load.rate_per_s.unwrap_or_default().to_string()),
        (DURATION, format!("{duration_s}")),
        (THREADS, threads(words, assignment).to_string()),
    ];
    words.iter().map(|word| filled(word, &values)).collect()
}

/// A word with the values of placeholders in place. A value is not searched for further placeholders: a URL may contain
/// such a text.
fn filled(word: &str, values: &[(&str, String)]) -> String {
    let (mut done, mut rest) = (String::new(), word);
    while let Some((before, from)) = rest.find('{').map(|at| rest.split_at(at)) {
        let known = values.iter().find_map(|(name, value)| Some((value.as_str(), from.strip_prefix(*name)?)));
        let (value, after) = known.unwrap_or_else(|| from.split_at(1));
        done.push_str(before);
        done.push_str(value);
        rest = after;
    }
    done + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::tests::assignment;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn an_unknown_placeholder_is_rejected() {
        assert_eq!(check(&words("wrk -c{connections} {url}")), Ok(()));
        assert!(
            check(&words("wrk -c{conections} {url}"))
                .unwrap_err()
                .starts_with("unknown placeholder `{conections}`")
        );
        assert_eq!(check(&words("wrk -c64")), Err("the command has no placeholder {url}".to_owned()));
        assert_eq!(check(&words("wrk {url")), Err("`{url` lacks a `}`".to_owned()));
    }

    #[test]
    fn threads_share_the_connections_evenly() {
        let threads = |connections, threads| {
            let load = Load { connections, ..assignment().load };
            fill(&words("wrk -t{threads} {url}"), &Assignment { load, threads, ..assignment() })[1].clone()
        };
        assert_eq!(threads(64, 4), "-t4");
        assert_eq!(threads(100, 3), "-t2");
        assert_eq!(threads(7, 3), "-t1");
        assert_eq!(threads(7, 7), "-t7");
    }

    #[test]
    fn a_url_is_put_in_place_as_it_is() {
        let url = "http://h/{threads}?{url}=é{x}";
        let assignment = Assignment { url: url.to_owned(), ..assignment() };
        let filled = fill(&words("wrk -H{é {url}#{connections}/{url}"), &assignment);
        let connections = assignment.load.connections;
        assert_eq!(filled, ["wrk".to_owned(), "-H{é".to_owned(), format!("{url}#{connections}/{url}")]);
    }

    #[test]
    fn a_fraction_of_a_second_is_refused_where_it_is_not_supported() {
        let refuses = |text: &str, seconds| {
            refuses(&words(text), &Load { duration_s: Some(seconds), ..assignment().load }).is_some()
        };
        assert!(!refuses("wrk -d{duration_s}s {url}", 3.0));
        assert!(refuses("wrk -d{duration_s}s {url}", 2.5));
        assert!(!refuses("wrk -d3s {url}", 2.5), "the words say how long");
    }
}
