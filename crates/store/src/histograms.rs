//! Removes the histograms from a trial's document, and restores them.
//!
//! Each text under a key `histogram` is moved out of the document and replaced by an empty one, so that the document
//! alone is still a readable trial. Its place is stored as a JSON pointer (RFC 6901).

use serde_json::Value;

/// The key of an encoded histogram in a record.
const KEY: &str = "histogram";

/// A histogram that was removed: the JSON pointer of the object that contained it, and its text.
#[derive(Debug, PartialEq, Eq)]
pub struct RemovedHistogram {
    pub path: String,
    pub histogram: String,
}

/// Removes every histogram from the document.
pub fn cut(document: &mut Value) -> Vec<RemovedHistogram> {
    let mut cuts = Vec::new();
    cut_below(document, &mut String::new(), &mut cuts);
    cuts
}

fn cut_below(value: &mut Value, path: &mut String, cuts: &mut Vec<RemovedHistogram>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(text)) = members.get_mut(KEY).filter(|text| **text != "") {
                cuts.push(RemovedHistogram { path: path.clone(), histogram: std::mem::take(text) });
            }
            for (key, member) in members {
                descend(member, &key.replace('~', "~0").replace('/', "~1"), path, cuts);
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter_mut().enumerate() {
                descend(item, &place.to_string(), path, cuts);
            }
        }
        _ => {}
    }
}

fn descend(value: &mut Value, step: &str, path: &mut String, cuts: &mut Vec<RemovedHistogram>) {
    let length = path.len();
    path.push('/');
    path.push_str(step);
    cut_below(value, path, cuts);
    path.truncate(length);
}

/// Restores a histogram at its place. A place that is missing in the document is ignored: reading the trial reports
/// what is missing.
pub fn put_back(document: &mut Value, cut: RemovedHistogram) {
    if let Some(Value::Object(members)) = document.pointer_mut(&cut.path) {
        members.insert(KEY.to_owned(), Value::String(cut.histogram));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn histograms_are_removed_and_restored() {
        let whole = json!({
            "run": { "total": { "service_time_ns": { "histogram": "AAA", "p50": 1 } },
                     "intervals": [{ "block": { "first_byte_ns": { "histogram": "BBB" } } }] },
            "odd/key~": { "histogram": "CCC" },
            "none": { "histogram": "" }
        });
        let mut document = whole.clone();
        let cuts = cut(&mut document);
        let mut paths: Vec<_> = cuts.iter().map(|cut| cut.path.as_str()).collect();
        paths.sort_unstable();
        assert_eq!(
            paths,
            ["/odd~1key~0", "/run/intervals/0/block/first_byte_ns", "/run/total/service_time_ns"]
        );
        assert_eq!(document["run"]["total"]["service_time_ns"]["histogram"], "");
        cuts.into_iter().for_each(|cut| put_back(&mut document, cut));
        assert_eq!(document, whole);
    }
}
