//! The rest of a round's plan when the round is resumed: the cells that it began with, as far as they still exist.
//!
//! For `--resume`. In the meantime servers may have been removed, retagged or have lost a form, and others added.
//! Planned cells are measured even if the plan would not select them now; new ones are not; missing ones are reported.

use super::resolve::key_of;
use super::{Cell, Plan, Resolution, Select};
use crate::{Catalogue, CatalogueError};
use paceline_record::Trial;
use std::collections::BTreeSet;

impl Plan {
    /// The remaining plan on `catalogue`, and the keys of the cells that are gone. A plan stored without its cells, as
    /// by earlier versions, uses the cells of the trials that were `kept`.
    ///
    /// # Errors
    /// As [`Plan::resolve`]; [`CatalogueError::Plan`] when none of its servers exists any more.
    pub fn resolve_resumed(
        &self,
        catalogue: &Catalogue,
        kept: &[Trial],
    ) -> Result<(Resolution, Vec<String>), CatalogueError> {
        if self.cells.is_empty() {
            let resolution = self.resolve(catalogue)?;
            let tried: BTreeSet<String> = kept.iter().map(key_of).collect();
            return Ok(with_gone(resolution, tried.iter()));
        }
        let planned: BTreeSet<&str> = self.cells.iter().map(String::as_str).collect();
        let ids: BTreeSet<&str> = planned.iter().filter_map(|key| key.split(' ').next()).collect();
        let there: Vec<_> =
            catalogue.servers.iter().filter(|server| ids.contains(server.id.as_str())).collect();
        let servers: Vec<String> = there.iter().map(|server| glob::Pattern::escape(&server.id)).collect();
        let broken = catalogue.broken_servers.iter().filter(|broken| ids.contains(broken.id.as_str()));
        let broken: Vec<String> = broken
            .map(|broken| {
                format!("server {} is skipped, because its files have errors: {}", broken.id, broken.error)
            })
            .collect();
        if servers.is_empty() {
            let ids: Vec<&str> = ids.into_iter().collect();
            let none = format!("none of the plan's servers can be used any more: {}", ids.join(", "));
            return Err(self.wrong([vec![none], broken].concat().join("; ")));
        }
        // A copy whose original is gone is gone too, and so is a form that no server has any more.
        let is_copied = |id: &&String| catalogue.servers.iter().any(|server| server.id == **id);
        let is_form = |form: &&String| there.iter().any(|server| server.form(form).is_some());
        let rest = Plan {
            select: Select { servers, ..Select::default() },
            copies: self.copies.iter().filter(is_copied).cloned().collect(),
            forms: self.forms.iter().filter(is_form).cloned().collect(),
            ..self.clone()
        };
        let mut resolution = rest.resolve(catalogue)?;
        let mut came_since = BTreeSet::new();
        resolution.cells.retain(|cell| {
            let is_planned = planned.contains(cell.key().as_str());
            came_since.extend((!is_planned).then(|| cell.key()));
            is_planned
        });
        resolution.notes.extend(broken);
        resolution.notes.extend(
            came_since
                .into_iter()
                .map(|key| format!("not measured, because it was added after the round began: {key}")),
        );
        Ok(with_gone(resolution, self.cells.iter()))
    }
}

fn with_gone<'a>(
    resolution: Resolution,
    planned: impl Iterator<Item = &'a String>,
) -> (Resolution, Vec<String>) {
    let left: BTreeSet<String> = resolution.cells.iter().map(Cell::key).collect();
    let gone = planned.filter(|key| !left.contains(*key)).cloned().collect();
    (resolution, gone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{MANIFEST, TestTree};

    const PLAN: &str = "name = \"p\"\nrepeats = 1\nforms = [\"single\", \"cores\"]\nworkloads = [\"hello\"]\n\
                        [select]\ntags = [\"idiomatic\"]\n\
                        [[load]]\nname = \"c\"\nconnections = 1\nduration = \"1s\"\n";

    /// The plan as a round keeps it, with its cells on the tree.
    fn kept(tree: &TestTree) -> Plan {
        let plan = Plan::parse("p.toml", PLAN).unwrap();
        let cells = plan.resolve(&tree.catalogue()).unwrap().cells.iter().map(Cell::key).collect();
        Plan::parse("kept", &Plan { cells, ..plan }.to_toml().unwrap()).unwrap()
    }

    fn left(plan: &Plan, tree: &TestTree) -> (Vec<String>, Vec<String>, Vec<String>) {
        let (resolution, gone) = plan.resolve_resumed(&tree.catalogue(), &[]).unwrap();
        (resolution.cells.iter().map(Cell::key).collect(), gone, resolution.notes)
    }

    #[test]
    fn removed_cells_are_named_and_added_ones_are_left_out() {
        let tree = TestTree::with(&["a-one", "b-two", "c-three"]);
        tree.write("servers/c-three/server.toml", &MANIFEST.replace("[forms.single]\n", ""));
        let plan = kept(&tree);
        assert_eq!(plan.cells.len(), 5);
        assert_eq!(left(&plan, &tree).0, plan.cells);
        std::fs::remove_dir_all(tree.path("servers/a-one")).unwrap();
        tree.write("servers/b-two/server.toml", &MANIFEST.replace("\"idiomatic\"", "\"tuned\""));
        tree.write("servers/c-three/server.toml", MANIFEST);
        tree.write("servers/d-four/server.toml", MANIFEST);
        let (cells, gone, notes) = left(&plan, &tree);
        assert_eq!(cells, ["b-two single hello c", "b-two cores hello c", "c-three cores hello c"]);
        assert_eq!(gone, ["a-one single hello c", "a-one cores hello c"]);
        assert_eq!(
            notes,
            ["not measured, because it was added after the round began: c-three single hello c"]
        );
    }

    #[test]
    fn a_copy_without_its_original_and_a_form_that_no_server_has_are_gone() {
        let tree = TestTree::with(&["a-one", "b-two"]);
        let plan = Plan { copies: vec!["a-one".into()], ..Plan::parse("p.toml", PLAN).unwrap() };
        let cells = plan.resolve(&tree.catalogue()).unwrap().cells.iter().map(Cell::key).collect();
        let plan = Plan { cells, ..plan };
        assert_eq!(plan.cells.len(), 6);
        std::fs::remove_dir_all(tree.path("servers/a-one")).unwrap();
        let without = MANIFEST.replace("[forms.cores]\nenv = { WORKERS = \"$PACELINE_CORES\" }\n", "");
        tree.write("servers/b-two/server.toml", &without);
        let (cells, gone, _) = left(&plan, &tree);
        assert_eq!(cells, ["b-two single hello c"]);
        assert_eq!(gone.len(), 5);
        assert!(gone.contains(&"a-one-copy cores hello c".to_owned()), "{gone:?}");
    }

    #[test]
    fn a_plan_without_stored_cells_is_resolved_again() {
        let tree = TestTree::with(&["a-one"]);
        let plan = Plan::parse("p.toml", PLAN).unwrap();
        let (cells, gone, _) = left(&plan, &tree);
        assert_eq!((cells.len(), gone.len()), (2, 0));
        let gone = Plan { cells: vec!["z-gone single hello c".into()], ..plan }
            .resolve_resumed(&tree.catalogue(), &[]);
        assert!(gone.unwrap_err().to_string().contains("can be used any more: z-gone"));
    }
}
