//! The files of the user interface as built by `ui/`, embedded so that building and using Paceline need no Node.
//!
//! A test compares `ui/dist/source.sha256` with the sources.

/// A file of the user interface.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Its path on the server.
    pub path: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// What it holds.
    pub bytes: &'static [u8],
}

/// The page that loads the others.
pub const INDEX: &str = include_str!("../../../ui/dist/index.html");
/// The drawing library, which pages with charts load.
pub const PLOT: &str = include_str!("../../../ui/dist/plot.js");
/// The program.
pub const SCRIPT: &str = include_str!("../../../ui/dist/app.js");
/// The styles.
pub const STYLE: &str = include_str!("../../../ui/dist/app.css");

/// Every file that is served.
pub const ASSETS: [Asset; 6] = [
    Asset { path: "/", media_type: "text/html; charset=utf-8", bytes: INDEX.as_bytes() },
    Asset { path: "/app.js", media_type: "text/javascript; charset=utf-8", bytes: SCRIPT.as_bytes() },
    Asset { path: "/plot.js", media_type: "text/javascript; charset=utf-8", bytes: PLOT.as_bytes() },
    Asset { path: "/app.css", media_type: "text/css; charset=utf-8", bytes: STYLE.as_bytes() },
    Asset {
        path: "/icon.svg",
        media_type: "image/svg+xml",
        bytes: include_bytes!("../../../ui/dist/icon.svg"),
    },
    Asset {
        path: "/licenses.txt",
        media_type: "text/plain; charset=utf-8",
        bytes: include_bytes!("../../../ui/dist/licenses.txt"),
    },
];
