//! `--profile`: writes the flame graph of each server that the lab profiles after the round, and one text with the
//! functions of all.

use crate::commands::run::explain_profiler;
use crate::exit::{Complaint, failure_text};
use crate::file::write_whole;
use paceline_catalogue::PlannedLaunch;
use paceline_escape::TerminalText;
use paceline_record::Run;
use paceline_report::{flame_graph, profile_text};
use std::path::{Path, PathBuf};

/// The file with the functions of all servers.
const FUNCTIONS: &str = "functions.txt";
/// Columns of that file.
const WIDTH: usize = 100;

/// The profiles of a round.
pub struct RoundProfiles {
    folder: PathBuf,
    /// A section for each server.
    text: TerminalText,
    /// Messages for the user that are still to be printed.
    notes: Vec<String>,
}

impl RoundProfiles {
    /// Makes the folder. Without perf there are no profiles, and a note says what to install.
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)
            .map_err(|error| Complaint::environment(format!("cannot make {}: {error}", folder.display())))?;
        Ok(Self { folder: folder.to_owned(), text: TerminalText::default(), notes: Vec::new() })
    }

    /// Why there can be no profile on this machine, if that is known before the round.
    pub fn missing() -> Option<String> {
        let error = paceline_profile::perf_version().err()?;
        Some(format!("no profiles: {}", failure_text(&explain_profiler(error).into())))
    }

    /// Adds the profile of a server, or why there is none.
    pub fn add(&mut self, launch: &PlannedLaunch, run: Result<&Run, &str>) {
        let server = &launch.server.id;
        let load = launch.cells.first().map(|cell| format!("{}, {}", cell.case.address, cell.load.name));
        let title = format!("{server} ({}), {}", launch.form, load.unwrap_or_default());
        let section = match run {
            Ok(run) => profile_text(run, WIDTH),
            Err(why) => TerminalText::lines(&format!("  no profile: {why}\n")),
        };
        self.text.push(&TerminalText::lines(&format!("{title}\n")));
        self.text.push(&section);
        self.text.push(&TerminalText::literal("\n"));
        let Some(picture) = run.ok().and_then(|run| flame_graph(run, Some(server))) else {
            let why = run.map_or_else(Some, |run| run.profile_failure.as_deref()).unwrap_or("it has none");
            return self.notes.push(format!("no profile of {server}: {why}"));
        };
        self.write(&format!("{server}.svg"), picture.as_bytes());
    }

    /// Writes the functions. Returns what to print: the functions, and the messages.
    pub fn finish(mut self) -> (TerminalText, Vec<String>) {
        if !self.text.as_str().is_empty() {
            let text = self.text.as_str().to_owned();
            self.write(FUNCTIONS, text.as_bytes());
        } else {
            self.notes.push("no profiles: no server has a closed load of one process".to_owned());
        }
        (self.text, self.notes)
    }

    fn write(&mut self, name: &str, bytes: &[u8]) {
        let path = self.folder.join(name);
        self.notes.push(match write_whole(&path, bytes) {
            Ok(()) => format!("profile: {}", path.display()),
            Err(error) => failure_text(&error),
        });
    }
}
