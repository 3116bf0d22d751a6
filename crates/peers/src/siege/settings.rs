//! siege's settings file: `key = value` lines. Only keys that change a run or its report are read.

use std::collections::BTreeMap;

/// The settings of a file; of several values of a key the last counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    values: BTreeMap<String, String>,
    /// The values of `header`, of which there may be several.
    pub headers: Vec<String>,
}

impl Settings {
    /// Reads the text of a file.
    pub fn read(text: &str) -> Self {
        let mut settings = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            let Some((key, value)) = line.split_once('=') else { continue };
            let (key, value) = (key.trim().to_lowercase(), value.trim().to_owned());
            match key.as_str() {
                "header" => settings.headers.push(value),
                _ if value.is_empty() => {}
                _ => _ = settings.values.insert(key, value),
            }
        }
        settings
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// Whether a key is switched on; `default` if it is missing.
    pub fn is_on(&self, key: &str, default: bool) -> bool {
        self.get(key).map_or(default, |value| {
            ["true", "on", "yes", "1"].iter().any(|on| value.eq_ignore_ascii_case(on))
        })
    }

    /// The value of a key as a number.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.get(key)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_with_values_are_read() {
        let text = "# verbose = true\nverbose = false\nconcurrent=25\n delay = 0.5 \nlogfile =\nheader = A: 1\nheader = B: 2\njson_output = ON\n";
        let settings = Settings::read(text);
        assert_eq!((settings.is_on("verbose", true), settings.is_on("json_output", false)), (false, true));
        assert_eq!((settings.number("concurrent"), settings.number("delay")), (Some(25.0), Some(0.5)));
        assert_eq!((settings.get("logfile"), settings.headers.len()), (None, 2));
        assert!(settings.is_on("parser", true));
    }
}
