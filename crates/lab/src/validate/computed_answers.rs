//! Checks answers that can be computed for any x, at random values and at the edges, against the lab's own arithmetic.
//!
//! A workload has few cases, which a server's author knows; these values are not known in advance. The big integers
//! come from a crate that the server does not use, so that the two share no mistake.

use super::client::{CheckClient, same};
use super::difference;
use crate::probe::{ProbeError, ProbeRequest};
use paceline_catalogue::Computed;
use paceline_record::Check;
use sha2::{Digest as _, Sha256};

/// How many values are drawn, beside the edges.
const DRAWN: u64 = 5;

/// Checks each edge, and some values drawn from `seed`.
pub(super) fn checks(
    client: &CheckClient<'_>,
    computed: &Computed,
    seed: u64,
) -> Result<Vec<Check>, ProbeError> {
    let mut checks = Vec::new();
    for x in values(computed, seed) {
        let (path, expect) = (computed.path_of(x), computed.expect_of(x));
        let wrong = match client.ask(ProbeRequest::new("GET", &path))? {
            Ok(answer) => difference(&expect, &answer),
            Err(error) => Some(error.to_string()),
        };
        checks.push(same(format!("GET {path}: computed value"), wrong));
    }
    Ok(checks)
}

/// The edges, then the drawn values, each once.
fn values(computed: &Computed, seed: u64) -> Vec<u32> {
    let span = u64::from(computed.most - computed.least) + 1;
    let drawn = (0..DRAWN).map(|place| {
        let digest = Sha256::digest(format!("{seed} {place}"));
        let number = digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        computed.least + (number % span) as u32
    });
    let inner = [computed.least.saturating_add(1), computed.most.saturating_sub(1)];
    let inner = inner.into_iter().filter(|x| (computed.least..=computed.most).contains(x));
    let mut values: Vec<u32> = Vec::new();
    for x in [computed.least, computed.most].into_iter().chain(inner).chain(drawn) {
        if !values.contains(&x) {
            values.push(x);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_catalogue::ExpectedBody;
    use paceline_catalogue::fixture::TestTree;

    fn computed() -> Computed {
        let tree = TestTree::new();
        let more = "\n[[computed]]\npath = \"/tetra/{x}\"\nanswer = \"x^x\"\nleast = 0\nmost = 10000\ncontent_type = \"text/plain\"\n";
        tree.write("workloads/tetra.toml", &format!("{}{more}", paceline_catalogue::fixture::TETRA));
        tree.catalogue().workload("tetra").unwrap().computed[0].clone()
    }

    #[test]
    fn powers_are_exact() {
        let computed = computed();
        let power = |x| match computed.expect_of(x).body {
            ExpectedBody::Exact(digits) => String::from_utf8(digits).unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            (power(0), power(1), power(2), power(10)),
            ("1".into(), "1".into(), "4".into(), "10000000000".into())
        );
        assert_eq!(power(26), "6156119580207157310796674288400203776");
        assert_eq!((power(10_000).len(), computed.path_of(7)), (40_001, "/tetra/7".to_owned()));
    }

    #[test]
    fn edge_values_are_always_tested_and_random_ones_are_reproducible() {
        let computed = computed();
        let drawn = values(&computed, 7);
        assert_eq!(drawn[..4], [0, 10_000, 1, 9_999]);
        assert_eq!(drawn, values(&computed, 7));
        assert_ne!(drawn, values(&computed, 8));
        assert!(drawn.len() > 4 && drawn.iter().all(|x| *x <= 10_000));
        assert_eq!(values(&Computed { least: 3, most: 3, ..computed }, 7), [3]);
    }
}
