//! `paceline lab clean`: lists what rounds and servers left behind, and removes it.
//!
//! The lab finds and removes it. Results are never touched.

use super::selection::provisioner;
use crate::exit::{Complaint, Status, print, say};
use paceline_catalogue::Catalogue;
use paceline_host::{Id, JoinResult, Neighbours};
use paceline_lab::LeftOver;
use paceline_run::wall_clock;
use paceline_stats::bytes_text;
use std::collections::BTreeMap;

/// Flags of `paceline lab clean`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  paceline lab clean --dry-run    what would be removed
  paceline lab clean              logs, scratch folders, files of launches
  paceline lab clean --all        builds and caches too: servers must be set up and built again

Exit status: 0 done, 3 a round is running, or something could not be removed.")]
pub struct Arguments {
    /// Also delete the builds and environments of every server, and the home of the user that servers run as
    #[arg(long)]
    all: bool,
    /// Only show what would be removed
    #[arg(long)]
    dry_run: bool,
}

/// Lists, then removes.
pub fn run(arguments: &Arguments, catalogue: &Catalogue) -> anyhow::Result<Status> {
    // Held until the end, so that no round begins meanwhile.
    let _place = match Neighbours::join(&Id::parse(&wall_clock::new_id())?, false) {
        Ok(JoinResult::Occupied(others)) => {
            let what = format!("a round is running: {}", others.join(", "));
            return Err(Complaint::environment(what).hint("wait for that round to end").into());
        }
        joined => joined.ok(),
    };
    let left = provisioner(catalogue)?.left_overs(catalogue, arguments.all);
    print(&described(&left))?;
    if arguments.dry_run {
        return Ok(Status::Done);
    }
    let mut failed = 0;
    for one in &left {
        if let Err(error) = one.remove() {
            failed += 1;
            say(&format!("cannot remove {}: {error}", one.path.display()));
        }
    }
    if failed < left.len() {
        print("removed\n")?;
    }
    Ok(if failed == 0 { Status::Done } else { Status::Environment })
}

/// The number and size of each kind.
fn described(left: &[LeftOver]) -> String {
    let mut kinds: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for one in left {
        let (count, bytes) = kinds.entry(one.what).or_default();
        *count += 1;
        *bytes += one.bytes;
    }
    if kinds.is_empty() {
        return "nothing to remove\n".to_owned();
    }
    let line = |(what, (count, bytes)): (&&str, &(usize, u64))| {
        format!("{what}: {count}, {}\n", bytes_text(*bytes as f64))
    };
    kinds.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_added_up() {
        let of = |what, bytes| LeftOver { what, path: "x".into(), bytes };
        let left = [of("log", 600_000), of("log", 600_000), of("scratch", 0)];
        assert_eq!(described(&left), "log: 2, 1.20 MB\nscratch: 1, 0 B\n");
        assert_eq!(described(&[]), "nothing to remove\n");
    }
}
