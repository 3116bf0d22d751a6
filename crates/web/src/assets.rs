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

/// A digest of the sources of these files, which changes whenever one of them does.
const DIGEST: &str = include_str!("../../../ui/dist/source.sha256");

/// The digits of the digest that stand in addresses.
const DIGITS: usize = 16;

/// The folder of the files in addresses: it changes with their contents, so that browsers may keep them for ever.
pub fn folder() -> String {
    format!("/assets/{}", DIGEST.get(..DIGITS).unwrap_or(DIGEST))
}

/// The page that loads the others, which refers to the files by that folder.
pub fn index() -> String {
    let folder = format!(".{}", folder());
    let rewritten =
        |text: String, name: &str| text.replace(&format!("./{name}"), &format!("{folder}/{name}"));
    ["app.js", "app.css", "icon.svg"].into_iter().fold(INDEX.to_owned(), rewritten)
}

/// The files that the page loads.
pub const ASSETS: [Asset; 5] = [
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_refers_to_files_by_their_digest() {
        let (page, folder) = (index(), folder());
        for name in ["app.js", "app.css"] {
            assert!(page.contains(&format!("\".{folder}/{name}\"")), "{name}: {page}");
        }
        assert_eq!(folder.len(), "/assets/".len() + DIGITS);
    }
}
