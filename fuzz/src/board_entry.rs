//! Descriptions of other boards' entries, and their Dockerfiles: every manifest that is made from one can be read.

use paceline_catalogue::{BuildNeeds, EntryFolder, Manifest, read_httparena, read_techempower};
use std::path::Path;

pub fn run(text: &str) {
    let has_file = |name: &str| name != "build.sh";
    let entry = EntryFolder { folder: Path::new("/entry"), text, has_file: &has_file };
    for read in [read_techempower(&entry), read_httparena(&entry)].into_iter().flatten() {
        for server in read.servers {
            let id = Path::new("/servers").join(&server.id);
            if let Err(error) = Manifest::parse(&id, &server.manifest) {
                panic!("{}\n{error}\n{}", server.id, server.manifest);
            }
        }
    }
    let needs = BuildNeeds::from_dockerfile(text, &Default::default());
    assert!(needs.images.iter().all(|image| !image.is_empty() && image != "scratch"));
}
