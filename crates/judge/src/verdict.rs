//! The macro behind the verdict table, and the parts common to all verdicts.
//!
//! `table.rs` calls the macro once with every verdict. It generates the enum of findings, the names, the wire form in a
//! record and the reference page `docs/reference/verdicts.md`.

use paceline_record::{Blame, Severity, Verdict};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The subject of a verdict, which determines when it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A run, from its own record.
    Run,
    /// A trial: the run, the server's launch and the machine.
    Trial,
    /// A row of a report: the launches of one server under one load.
    Row,
}

/// The documentation of one verdict.
#[derive(Clone, Copy, Debug)]
pub struct VerdictDoc {
    /// Its name in records.
    pub name: &'static str,
    /// Its subject.
    pub scope: Scope,
    /// The possible parties to blame.
    pub blame: &'static [Blame],
    /// The possible severities.
    pub severity: &'static [Severity],
    /// One line: the problem.
    pub title: &'static str,
    /// When it is given and its meaning, line by line.
    pub(crate) lines: &'static [&'static str],
    /// Each key of its evidence with its meaning. A report of a round shows the first figure beside the title.
    pub evidence: &'static [(&'static str, &'static str)],
    /// The remedy, with placeholders in braces.
    pub remedy: &'static str,
    /// Examples in the documentation for some of those placeholders.
    pub examples: &'static [(&'static str, &'static str)],
}

impl VerdictDoc {
    /// When it is given and its meaning, as one paragraph of Markdown.
    pub fn description(&self) -> String {
        paragraph(self.lines)
    }

    /// The remedy with an example, or a word in angle brackets, for each placeholder.
    pub fn remedy_example(&self) -> String {
        let mut text = String::new();
        let mut rest = self.remedy;
        while let Some((before, after)) = rest.split_once('{') {
            let (field, remainder) = after.split_once('}').unwrap_or((after, ""));
            let name = field.split(':').next().unwrap_or_default();
            text.push_str(before);
            match self.examples.iter().find(|(known, _)| *known == name) {
                Some((_, example)) => text.push_str(example),
                None => text.push_str(&format!("`<{}>`", name.to_uppercase())),
            }
            rest = remainder;
        }
        text + rest
    }
}

/// Lines of documentation as one paragraph of Markdown.
pub(crate) fn paragraph(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

/// Adds a key to the evidence if the value is present.
pub(crate) fn put(evidence: &mut BTreeMap<String, Value>, key: &str, value: &impl Serialize) {
    let value = serde_json::to_value(value).unwrap_or_default();
    if !value.is_null() {
        evidence.insert(key.to_owned(), value);
    }
}

/// Makes the enum, the names and the documentation from the table. An entry is
///
/// ```text
/// /// When it is given.
/// Variant "name" Scope [Blame, ...: expression] [Severity, ...: expression] "title"
/// { evidence_key: Type = "meaning", ... } with { context: Type = "example", ... }
/// => "remedy with {fields}";
/// ```
///
/// The expressions choose one of several listed values; evidence and context fields are in scope, by reference. Context
/// is needed for the remedy or the choice, and is not part of the record. Its optional example replaces it in the
/// documentation.
macro_rules! verdict_table {
    ($(
        $(#[doc = $line:literal])+
        $variant:ident $name:literal $scope:ident
        [$($blame:ident),+ $(: $blame_choice:expr)?] [$($severity:ident),+ $(: $severity_choice:expr)?]
        $title:literal
        { $($key:ident: $type:ty = $meaning:literal),* $(,)? } $(with { $($context:ident: $context_type:ty $(= $example:literal)?),+ $(,)? })?
        => $remedy:literal;
    )+) => {
        /// A verdict with its evidence as typed fields; [`TypedVerdict::verdict`] makes the wire form.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "the table has the meaning of each field, and the reference page is generated from it")]
        pub enum TypedVerdict {
            $( $(#[doc = $line])+ $variant { $($key: $type,)* $($($context: $context_type,)+)? }, )+
        }

        /// The name of a verdict.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "each name is documented at its variant")]
        pub enum VerdictName { $( $variant, )+ }

        impl VerdictName {
            /// Every verdict, in the order of the table.
            pub const ALL: &[VerdictName] = &[$( VerdictName::$variant, )+];

            /// The name in records.
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $name, )+ }
            }

            /// The documentation.
            pub fn doc(self) -> &'static $crate::verdict::VerdictDoc {
                match self {
                    $( Self::$variant => &$crate::verdict::VerdictDoc {
                        name: $name,
                        scope: $crate::verdict::Scope::$scope,
                        blame: &[$( paceline_record::Blame::$blame ),+],
                        severity: &[$( paceline_record::Severity::$severity ),+],
                        title: $title,
                        lines: &[$( $line ),+],
                        evidence: &[$( (stringify!($key), $meaning) ),*],
                        remedy: $remedy,
                        examples: &[$($( $((stringify!($context), $example),)? )+)?],
                    }, )+
                }
            }
        }

        #[allow(unused_variables, reason = "few arms need every field")]
        impl TypedVerdict {
            /// Its name.
            pub fn name(&self) -> VerdictName {
                match self { $( Self::$variant { .. } => VerdictName::$variant, )+ }
            }

            /// The party to blame.
            pub fn blame(&self) -> paceline_record::Blame {
                match self {
                    $( Self::$variant { $($key,)* $($($context,)+)? } =>
                        verdict_table!(@choose paceline_record::Blame, [$($blame),+] $(, $blame_choice)?), )+
                }
            }

            /// The severity.
            pub fn severity(&self) -> paceline_record::Severity {
                match self {
                    $( Self::$variant { $($key,)* $($($context,)+)? } =>
                        verdict_table!(@choose paceline_record::Severity, [$($severity),+] $(, $severity_choice)?), )+
                }
            }

            /// What to do about it: the remedy as a sentence.
            pub fn remedy(&self) -> String {
                match self { $( Self::$variant { $($key,)* $($($context,)+)? } => format!($remedy), )+ }
            }

            /// The figures that support it, units in the keys. Unknown figures are left out.
            pub fn evidence(&self) -> std::collections::BTreeMap<String, serde_json::Value> {
                let mut evidence = std::collections::BTreeMap::new();
                match self {
                    $( Self::$variant { $($key,)* .. } => {
                        $( $crate::verdict::put(&mut evidence, stringify!($key), $key); )*
                    } )+
                }
                evidence
            }
        }
    };
    (@choose $kind:ty, [$one:ident]) => { <$kind>::$one };
    (@choose $kind:ty, [$($several:ident),+], $choice:expr) => { $choice };
}
pub(crate) use verdict_table;

impl crate::TypedVerdict {
    /// The wire form, as records keep it.
    pub fn verdict(&self) -> Verdict {
        Verdict {
            name: self.name().as_str().to_owned(),
            blame: self.blame(),
            severity: self.severity(),
            evidence: self.evidence(),
            remedy: self.remedy(),
        }
    }
}

impl crate::VerdictName {
    /// The verdict of this name; none if the name comes from another version of Paceline.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.as_str() == name)
    }

    /// Whether one of these verdicts has this name.
    pub fn is_in(self, verdicts: &[Verdict]) -> bool {
        verdicts.iter().any(|verdict| verdict.name == self.as_str())
    }
}

/// Findings as verdicts, the most severe first, in the order given among equals.
pub(crate) fn verdicts(findings: impl IntoIterator<Item = crate::TypedVerdict>) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = findings.into_iter().map(|finding| finding.verdict()).collect();
    verdicts.sort_by_key(|verdict| std::cmp::Reverse(verdict.severity));
    verdicts
}

/// The text above the verdicts in the reference page.
const INTRODUCTION: &str = "# Reading a verdict

<!-- Generated from crates/judge/src/table.rs by: UPDATE=1 cargo test -p paceline-judge --test it -->

A verdict is a named reason why a number may not mean what it seems to mean. It is shown beside the number in every
report and stored in the record under `verdicts`. Each verdict has

- a **severity**: a *note* is good to know; a *caution* asks you to read the number with care; *invalid* means that the
  number does not answer the question (`paceline run` exits 1 and a report does not rank the row);
- a **blame**: the server, the load generator, the environment (the machine, or something else running on it) or the
  user (the requested load);
- **evidence**: the figures behind the verdict, with units in the keys;
- a **remedy**: what to do about it.

Verdicts are pure functions of a record (`crates/judge/`), so a stored record can be judged again by a later version. A
result without verdicts is not proven right: it means that Paceline found none of the problems that it looks for.

A round retries once, at its end, every trial that the environment made invalid. The retry counts, even if it is
disturbed too; its verdict is then shown.
";

/// The reference page of all verdicts: `docs/reference/verdicts.md`.
pub fn verdict_reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    for (scope, title) in [
        (Scope::Run, "Verdicts on a run"),
        (Scope::Trial, "Verdicts on a trial"),
        (Scope::Row, "Verdicts on a row of a report"),
    ] {
        let _ = write!(page, "\n## {title}\n");
        let docs = crate::VerdictName::ALL.iter().map(|name| name.doc()).filter(|doc| doc.scope == scope);
        docs.for_each(|doc| entry(&mut page, doc));
    }
    page
}

fn entry(page: &mut String, doc: &VerdictDoc) {
    let list = |words: Vec<String>| words.join(" or ");
    let severity = list(doc.severity.iter().map(|severity| format!("{severity:?}").to_lowercase()).collect());
    let blame = list(doc.blame.iter().map(|blame| format!("{blame:?}").to_lowercase()).collect());
    let _ =
        write!(page, "\n### `{}`\n\n**{}** Severity: {severity}. Blame: {blame}.\n\n", doc.name, doc.title);
    for line in doc.lines {
        page.push_str(line.trim());
        page.push('\n');
    }
    if !doc.evidence.is_empty() {
        page.push_str("\nEvidence:\n\n");
        for (key, meaning) in doc.evidence {
            let _ = writeln!(page, "- `{key}`: {meaning}");
        }
    }
    let _ = write!(page, "\nRemedy: {}\n", doc.remedy_example());
}
