//! The nearest right word to a wrong one, for every message that has a list of right ones.
//!
//! Asked where keys, servers, workloads, plans, forms, policies or variables are looked up, and by the binary for the
//! words of a gate (`--slo`). It only suggests: nobody's word is ever taken for another.

/// The candidate closest to `word`, unless none is close enough to have been meant: at most a third of the letters,
/// and at least one, may differ (Damerau-Levenshtein, so that two swapped letters count once).
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).max(1) + 1;
    let distance =
        |candidate: &str| strsim::damerau_levenshtein(&word.to_lowercase(), &candidate.to_lowercase());
    candidates
        .into_iter()
        .map(|candidate| (distance(candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_word_that_was_meant() {
        let workloads = ["hello", "byte", "page", "tetra"];
        assert_eq!(nearest("helo", workloads), Some("hello"));
        assert_eq!(nearest("paeg", workloads), Some("page"));
        assert_eq!(nearest("Tetra", workloads), Some("tetra"));
    }

    #[test]
    fn suggests_nothing_for_a_word_unlike_all() {
        assert_eq!(nearest("database", ["hello", "byte"]), None);
        assert_eq!(nearest("x", []), None);
    }
}
