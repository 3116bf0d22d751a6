//! Kept results as pages: a read-only server, sites of files, and reports of one file.
//!
//! The binary opens a [`Library`] (a store, an export, a run) and hands it to a [`WebServer`], to [`write_site`] or to
//! [`single_file`].
//! What a page shows is computed in `page`; the browser's part is in `ui/` and embedded here as built. No endpoint
//! writes, and no page refers to another host.

mod assets;
mod connections;
mod content;
mod download;
mod error;
pub mod export;
mod guard;
mod library;
mod live;
pub mod page;
mod server;
mod single_file;
mod site;

pub use error::WebError;
pub use guard::Access;
pub use library::{Library, ReadRound};
pub use live::{LiveFeed, LiveSecond};
pub use page::Records;
pub use server::{ShownLibrary, WebServer};
pub use single_file::{SingleFilePages, single_file};
pub use site::{SiteContents, write_site};
