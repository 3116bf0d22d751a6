//! What the page says of the machine.
//!
//! `main` puts date, commit and machine into each section as it is taken, since sections may be of different days. How
//! quiet the machine was is not known here: `runner` measures that, for each run.

use std::fs;
use std::process::Command;

/// The machine in a line: processor, cores, memory, kernel.
pub fn describe() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = field(&cpuinfo, "model name").unwrap_or("unknown processor").to_owned();
    let cores = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let virtual_machine = if cpuinfo.contains(" hypervisor") { ", virtual" } else { "" };
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = field(&meminfo, "MemTotal").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    let memory = kib.map_or(String::new(), |kib| format!(", {:.0} GiB", kib / 1024.0 / 1024.0));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{model}, {cores} cores{virtual_machine}{memory}, Linux {}", kernel.trim())
}

/// The commit of the tree, with a mark where the tree differs from it.
pub fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    match (git(&["rev-parse", "--short=12", "HEAD"]), git(&["status", "--porcelain", "-uno"])) {
        (Some(commit), Some(changes)) if changes.is_empty() => commit,
        (Some(commit), _) => format!("{commit} with changes"),
        (None, _) => "an unknown commit".to_owned(),
    }
}

/// Today, UTC.
pub fn today() -> String {
    jiff::Timestamp::now().to_string().chars().take(10).collect()
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        let text = "processor\t: 0\nmodel name\t: A Processor 9000 @ 3 GHz\nMemTotal:  24684412 kB\n";
        assert_eq!(field(text, "model name"), Some("A Processor 9000 @ 3 GHz"));
        assert_eq!(field(text, "MemTotal"), Some("24684412 kB"));
        assert_eq!(field(text, "bogomips"), None);
    }

    #[test]
    fn today_is_a_date() {
        let today = today();
        assert!(today.len() == 10 && today.as_bytes()[4] == b'-' && today.as_bytes()[7] == b'-', "{today}");
    }
}
