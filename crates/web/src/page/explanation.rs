//! The meaning of each verdict, from the table of which the documents are generated.
//!
//! Pages show it one click away from a verdict's name.

use paceline_judge::{VerdictDoc, VerdictName};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a verdict means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Explanation {
    /// One line: what is wrong.
    pub about: String,
    /// When it is given and what it means.
    pub text: String,
}

/// The explanations of the verdicts that occur, by name.
pub fn explanations(occurs: impl Fn(&str) -> bool) -> BTreeMap<String, Explanation> {
    let docs = VerdictName::ALL.iter().map(|name| name.doc()).filter(|doc| occurs(doc.name));
    docs.map(|doc| (doc.name.to_owned(), explanation(doc))).collect()
}

fn explanation(doc: &VerdictDoc) -> Explanation {
    Explanation { about: doc.title.replace('`', ""), text: doc.description().replace('`', "") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_is_explained() {
        let all = explanations(|_| true);
        assert_eq!(all.len(), VerdictName::ALL.len());
        assert!(
            all.values().all(|explanation| !explanation.about.is_empty() && !explanation.text.is_empty())
        );
        assert_eq!(explanations(|name| name == "generator_bound").len(), 1);
    }
}
