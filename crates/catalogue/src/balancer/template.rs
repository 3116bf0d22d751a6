//! The template of a balancer's configuration, and the values that fill it.
//!
//! A placeholder is a name in capitals between two `@`. A line with a placeholder of an instance is repeated for each
//! instance. An `@` that does not begin a placeholder is copied: HAProxy writes addresses with it.

use crate::nearest;
use std::net::SocketAddr;

/// The placeholders of a whole configuration.
const ONCE: [&str; 8] = ["HOST", "PORT", "POLICY", "THREADS", "STATISTICS", "CONNECTIONS", "FILES", "FOLDER"];
/// The placeholders of a line that is repeated for each instance: its number from 0, its address with its port.
const EACH: [&str; 2] = ["INSTANCE", "ADDRESS"];

/// The values for a template.
#[derive(Clone, Debug)]
pub struct TemplateValues<'a> {
    /// The address it listens on.
    pub listen: SocketAddr,
    /// The port of its statistics.
    pub statistics_port: u16,
    /// The balancer's text for the policy.
    pub policy: &'a str,
    /// How many threads or workers it may have.
    pub threads: u32,
    /// How many connections it must be able to hold.
    pub connections: u64,
    /// A separate folder for it.
    pub folder: String,
    /// The instances' addresses.
    pub instances: &'a [SocketAddr],
}

/// Problems with their lines: unknown placeholders, or no line for an instance.
pub(super) fn problems(template: &str) -> Vec<(usize, String)> {
    let mut problems = Vec::new();
    let mut has_instance = false;
    for (number, line) in template.lines().enumerate() {
        for (name, _) in placeholders(line) {
            has_instance |= EACH.contains(&name);
            if !ONCE.contains(&name) && !EACH.contains(&name) {
                let all = ONCE.into_iter().chain(EACH);
                let hint = nearest(name, all).map(|near| format!("; did you mean `@{near}@`?"));
                let problem = format!("unknown placeholder `@{name}@`{}", hint.unwrap_or_default());
                problems.push((number + 1, problem));
            }
        }
    }
    if !has_instance && problems.is_empty() {
        problems
            .push((1, "no line contains `@ADDRESS@`: add a line that lists one server instance".to_owned()));
    }
    problems
}

impl TemplateValues<'_> {
    /// `template` with its placeholders filled.
    pub fn fill(&self, template: &str) -> String {
        let mut text = String::new();
        for line in template.lines() {
            if !placeholders(line).any(|(name, _)| EACH.contains(&name)) {
                self.line(&mut text, line, None);
                continue;
            }
            for instance in self.instances.iter().enumerate() {
                self.line(&mut text, line, Some(instance));
            }
        }
        text
    }

    fn line(&self, text: &mut String, line: &str, instance: Option<(usize, &SocketAddr)>) {
        let mut done = 0;
        for (name, at) in placeholders(line) {
            text.push_str(&line[done..at]);
            text.push_str(&self.value(name, instance));
            done = at + name.len() + 2;
        }
        text.push_str(&line[done..]);
        text.push('\n');
    }

    fn value(&self, name: &str, instance: Option<(usize, &SocketAddr)>) -> String {
        match (name, instance) {
            ("HOST", _) => self.listen.ip().to_string(),
            ("PORT", _) => self.listen.port().to_string(),
            ("POLICY", _) => self.policy.to_owned(),
            ("THREADS", _) => self.threads.to_string(),
            ("STATISTICS", _) => self.statistics_port.to_string(),
            ("CONNECTIONS", _) => self.connections.to_string(),
            ("FILES", _) => (self.connections * 2 + 100).to_string(),
            ("FOLDER", _) => self.folder.clone(),
            ("INSTANCE", Some((number, _))) => number.to_string(),
            ("ADDRESS", Some((_, address))) => address.to_string(),
            // `check` has rejected it.
            _ => String::new(),
        }
    }
}

/// The placeholders of a line, each with the offset of its first `@`.
fn placeholders(line: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + line.get(from..)?.find('@')?;
            let name = line[at + 1..].split('@').next().unwrap_or_default();
            let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase());
            if is_name && line[at + 1 + name.len()..].starts_with('@') {
                from = at + name.len() + 2;
                return Some((name, at));
            }
            from = at + 1;
        }
    })
}
