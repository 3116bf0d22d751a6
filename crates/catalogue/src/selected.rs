//! The servers that conditions select in a catalogue, without those that are marked as untried.
//!
//! A choice of all servers, of `--all` or of a plan, must not fail because of a server that nobody has tried. One that is
//! named, or was built on this machine, is included.

use crate::{Catalogue, Manifest, Select};
use paceline_stats::counted;
use std::sync::Arc;

/// The servers that conditions select.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectedServers {
    /// Those to use, by id.
    pub servers: Vec<Arc<Manifest>>,
    /// Those that meet the conditions and are left out, by id.
    pub left_out: Vec<Arc<Manifest>>,
}

impl SelectedServers {
    /// A line that counts and names the servers that are left out; `None` if there are none.
    pub fn note(&self) -> Option<String> {
        let ids: Vec<&str> = self.left_out.iter().map(|server| server.id.as_str()).collect();
        (!ids.is_empty()).then(|| {
            format!(
                "{} left out, marked as not tried (name a server or build it to include it): {}",
                counted(ids.len(), "server", "servers"),
                ids.join(", ")
            )
        })
    }
}

impl Catalogue {
    /// The servers that `select` admits. One that is marked as untried is left out, unless `select` names servers, by id
    /// or by pattern, or it was built on this machine ([`Catalogue::built_untried`]).
    pub fn selected(&self, select: &Select) -> SelectedServers {
        let is_left_out = |server: &Arc<Manifest>| {
            server.untried.is_some()
                && select.servers.is_empty()
                && !self.built_untried.contains(server.build_id())
        };
        let admitted = self.servers.iter().filter(|server| select.admits(server)).cloned();
        let (left_out, servers) = admitted.partition(is_left_out);
        SelectedServers { servers, left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::TestTree;
    use crate::{Cell, Plan};

    const UNTRIED: &str = "name = 'x'\nlanguage = 'Go'\nframework = 'x'\nengine = 'x'\nkind = 'micro'\n\
                           tags = ['idiomatic']\nworkloads = ['hello']\nuntried = 'no registry'\n\
                           [container]\ndockerfile = 'Dockerfile'\n";

    const PLAN: &str = "name = \"p\"\nrepeats = 1\nworkloads = [\"hello\"]\n[[load]]\nname = \"c\"\n\
                        connections = 1\nduration = \"1s\"\n[select]\n";

    const NOTE: &str =
        "2 servers left out, marked as not tried (name a server or build it to include it): b-two, c-three";

    fn catalogue() -> Catalogue {
        let tree = TestTree::with(&["a-one"]);
        ["b-two", "c-three"].iter().for_each(|id| tree.write(&format!("servers/{id}/server.toml"), UNTRIED));
        tree.catalogue()
    }

    /// The servers that a plan with these conditions measures, and its notes.
    fn measured(conditions: &str, catalogue: &Catalogue) -> (Vec<String>, Vec<String>) {
        let resolution =
            Plan::parse("p.toml", &format!("{PLAN}{conditions}\n")).unwrap().resolve(catalogue).unwrap();
        let id = |cell: &Cell| cell.server.id.clone();
        (resolution.cells.iter().map(id).collect(), resolution.notes)
    }

    #[test]
    fn a_choice_of_all_servers_leaves_out_untried_ones() {
        let catalogue = catalogue();
        let all = catalogue.selected(&Select::default());
        assert_eq!(all.servers.iter().map(|server| server.id.as_str()).collect::<Vec<_>>(), ["a-one"]);
        assert_eq!(all.note().as_deref(), Some(NOTE));
        for conditions in ["", "tags = [\"idiomatic\"]"] {
            assert_eq!(
                measured(conditions, &catalogue),
                (vec!["a-one".to_owned()], vec![NOTE.to_owned()]),
                "{conditions}"
            );
        }
        let none = Select { tags: vec!["tuned".into()], ..Select::default() };
        assert_eq!(catalogue.selected(&none).note(), None);
    }

    #[test]
    fn an_untried_server_is_included_when_named_or_built() {
        let mut catalogue = catalogue();
        let named = ["servers = [\"b-two\"]", "servers = [\"b-*\"]"];
        for conditions in named {
            assert_eq!(measured(conditions, &catalogue), (vec!["b-two".to_owned()], vec![]), "{conditions}");
        }
        catalogue.built_untried.insert("b-two".to_owned());
        let (ids, notes) = measured("", &catalogue);
        assert_eq!(ids, ["a-one", "b-two"]);
        assert_eq!(
            notes,
            ["1 server left out, marked as not tried (name a server or build it to include it): c-three"]
        );
    }

    #[test]
    fn a_plan_of_untried_servers_alone_says_why_it_has_nothing_to_measure() {
        let plan = Plan::parse("p.toml", &format!("{PLAN}frameworks = [\"x\"]\n")).unwrap();
        let error = plan.resolve(&catalogue()).unwrap_err().to_string();
        assert!(error.contains(&format!("nothing to measure: {NOTE}")), "{error}");
    }
}
