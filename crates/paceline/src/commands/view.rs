//! `paceline view`: kept results in a browser, from the store, an exported folder or a run's JSON.
//!
//! It finds the results and prints the address. The web crate serves the pages and controls access to them.

use crate::exit::{Complaint, Status, error_text, say};
use crate::lab_folders::path_or_nothing;
use crate::store_location::{StoreArguments, complain as complain_of_store, state_dir};
use paceline_record::Run;
use paceline_run::{Rows, Sink};
use paceline_store::{Store, StoreError};
use paceline_web::{Library, LiveFeed, ShownLibrary, WebError, WebServer};
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const EXAMPLES: &str = "\
Examples:
  paceline view                         the stored rounds, or `history` if none
  paceline view history                 the rounds stored with the project
  paceline view run.json                a run written by `paceline run -o run.json`
  paceline view capacity.json           a result of `paceline capacity`
  paceline view --listen 10.0.0.5:8080  for other machines: open the printed URL";

/// The folder of exported rounds in a project.
const HISTORY: &str = "history";

/// Flags of `paceline view`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Listen on this address; any address other than loopback requires a token, which is printed
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Also accept requests for this host name; may be repeated
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Print the address without opening a browser
    #[arg(long)]
    no_open: bool,
}

/// The results that pages are made of.
#[derive(clap::Args)]
pub struct Source {
    /// An exported round, a folder with several, or the JSON of a run or a capacity [default: the store]
    path: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArguments,
    /// Folder for builds, logs and results [default: `.paceline` next to the servers' folder]
    #[arg(long, value_name = "DIR", env = "PACELINE_HOME", hide_env_values = true, value_parser = path_or_nothing())]
    state_dir: Option<PathBuf>,
}

/// Serves the results until it is stopped.
pub fn run(arguments: Arguments) -> anyhow::Result<Status> {
    let library = arguments.source.library()?;
    let Arguments { listen, allow_host, no_open, .. } = arguments;
    let server = WebServer::bind(listen, allow_host, library, LiveFeed::default()).map_err(complain)?;
    server.prepare().map_err(complain)?;
    let url = server.url();
    crate::exit::print(&format!("{url}\n"))?;
    say("Press Ctrl-C to stop.");
    if !no_open && std::io::stdout().is_terminal() {
        open(&url);
    }
    server.serve().map_err(complain)?;
    Ok(Status::Done)
}

impl Source {
    /// Opens them.
    pub fn library(&self) -> anyhow::Result<Library> {
        match &self.path {
            Some(path) if path.exists() && !path.is_dir() => Library::of_file(path).map_err(complain),
            Some(path) => Library::of_folder(path).map_err(complain),
            None => self.kept(),
        }
    }

    /// The rounds of the store. If there are none yet, those in the project's history, so that the pages are not empty.
    fn kept(&self) -> anyhow::Result<Library> {
        let state = state_dir(self.state_dir.clone());
        let place = self.store.path(&state);
        let opened = Store::open_existing(&place);
        let is_empty = match &opened {
            Ok(store) => store.counts().map_err(complain_of_store)?.is_empty(),
            Err(error) => matches!(error, StoreError::Missing { .. }),
        };
        let beside = state.parent().unwrap_or(Path::new("")).join(HISTORY);
        let history = [beside.as_path(), Path::new(HISTORY)].into_iter().find(|folder| folder.is_dir());
        match history.filter(|_| is_empty && !self.store.is_named()) {
            Some(history) => {
                let library = Library::of_folder(history).map_err(complain)?;
                say(&format!(
                    "No round is stored in {} yet. `paceline round` measures one.",
                    place.display()
                ));
                say(&format!("Showing the rounds in {0} instead (`paceline view {0}`).", history.display()));
                Ok(library)
            }
            None => opened.map(Library::of_store).map_err(without_store),
        }
    }
}

/// Why no store could be opened, with what can be viewed instead.
fn without_store(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::Missing { .. } => Complaint::usage(error_text(&error))
            .hint(
                "`paceline round` measures and stores results; `paceline view history` shows the rounds stored with a project, and \
                 `paceline view run.json` shows a run",
            )
            .into(),
        error => complain_of_store(error),
    }
}

/// A web server during a run or a round.
pub struct LiveServer {
    live: LiveFeed,
    shown: ShownLibrary,
}

impl LiveServer {
    /// Starts serving `library` on loopback, and prints the address on standard error.
    pub fn start(what: &str, round: Option<&str>, library: Library) -> anyhow::Result<Self> {
        let live = LiveFeed::default();
        live.publish("start", &serde_json::json!({ "what": what, "round": round }));
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = WebServer::bind(address, Vec::new(), library, live.clone()).map_err(complain)?;
        let url = format!("{}#/live", server.url());
        let shown = server.shown();
        say(&format!("live view: {url}"));
        std::thread::Builder::new().name("view".to_owned()).spawn(move || {
            if let Err(error) = server.serve() {
                say(&format!("paceline: the live page in the browser stopped: {}", error.chain()));
            }
        })?;
        if std::io::stderr().is_terminal() {
            open(&url);
        }
        Ok(Self { live, shown })
    }

    /// Where events go.
    pub fn live(&self) -> LiveFeed {
        self.live.clone()
    }

    /// Shows the results of a finished run.
    pub fn show(&self, run: &Run) {
        self.shown.replace(Library::of_run(run.clone()));
    }

    /// Serves until Ctrl-C, which from now on ends the process.
    pub fn serve_until_interrupted(self) -> ! {
        self.live.publish("end", &());
        paceline_host::system::end_by_signals();
        say("The page in the browser stays available until Ctrl-C.");
        loop {
            std::thread::park();
        }
    }
}

/// Sends the seconds of a run to the live view.
pub struct Seconds(pub LiveFeed);

impl Sink for Seconds {
    fn second(&mut self, row: &paceline_record::Second, _: &paceline_engine::WorkerSecond, rows: &Rows) {
        let left_s = rows.progress().left.map(|left| left.as_secs_f64());
        self.0.publish_second(row.clone(), left_s);
    }

    fn end(self: Box<Self>) -> Vec<std::io::Error> {
        Vec::new()
    }
}

/// A web error as a complaint, with the exit status for its cause.
pub fn complain(error: WebError) -> anyhow::Error {
    let what = error.chain();
    let complaint = match error {
        WebError::Listen { .. } => Complaint::environment(what)
            .hint("choose another address with --listen; port 0 selects any free port"),
        WebError::NoExport { .. } => Complaint::usage(what)
            .hint("`paceline report --export DIR` writes a folder that `paceline view DIR` shows"),
        WebError::Read { .. }
        | WebError::Record { .. }
        | WebError::Archive(_)
        | WebError::NotFound { .. }
        | WebError::Unreadable(_)
        | WebError::SameRound { .. }
        | WebError::LongId { .. }
        | WebError::Request(_) => Complaint::usage(what),
        WebError::NotSite { .. } => Complaint::usage(what)
            .hint("name a new folder with -o, or an empty one: files in the folder of a site are removed"),
        WebError::Write { .. } | WebError::Store(_) | WebError::Start(_) | WebError::Json(_) => {
            Complaint::environment(what)
        }
    };
    complaint.into()
}

/// Asks the desktop to open an address. Without a desktop, the user opens the printed address.
fn open(url: &str) {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if has_desktop {
        let quiet = Stdio::null;
        let _ = Command::new("xdg-open").arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    }
}
