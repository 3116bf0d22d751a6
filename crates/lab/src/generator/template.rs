//! A generator's command as a person writes it, with `{url}` and the like where a job's values go.

use super::Job;

/// The names a template may use.
const NAMES: [&str; 4] = ["url", "connections", "duration_s", "threads"];

/// Checks that every `{name}` is known and `{url}` is among them.
pub fn check(words: &[String]) -> Result<(), String> {
    let mut names = Vec::new();
    for word in words {
        for piece in word.split('{').skip(1) {
            let name = piece.split_once('}').ok_or_else(|| format!("`{word}` lacks a `}}`"))?.0;
            if !NAMES.contains(&name) {
                return Err(format!(
                    "`{{{name}}}` is unknown; a template may use {{{}}}",
                    NAMES.join("}, {")
                ));
            }
            names.push(name);
        }
    }
    if names.contains(&"url") { Ok(()) } else { Err("the template has no {url}".to_owned()) }
}

/// The words with a job's values in place.
pub fn fill(words: &[String], job: &Job) -> Vec<String> {
    // Whole seconds: common generators take no fraction. Checked by whoever accepts the job.
    let duration_s = job.load.duration_s.unwrap_or_default().round().max(1.0);
    let values = [
        ("{url}", job.url.clone()),
        ("{connections}", job.load.connections.to_string()),
        ("{duration_s}", format!("{duration_s}")),
        ("{threads}", job.threads.to_string()),
    ];
    let fill_word =
        |word: &String| values.iter().fold(word.clone(), |word, (name, value)| word.replace(name, value));
    words.iter().map(fill_word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_misspelt_name_is_told() {
        assert_eq!(check(&words("wrk -c{connections} {url}")), Ok(()));
        assert!(
            check(&words("wrk -c{conections} {url}")).unwrap_err().starts_with("`{conections}` is unknown")
        );
        assert_eq!(check(&words("wrk -c64")), Err("the template has no {url}".to_owned()));
        assert_eq!(check(&words("wrk {url")), Err("`{url` lacks a `}`".to_owned()));
    }
}
