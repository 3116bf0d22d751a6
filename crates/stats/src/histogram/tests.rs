//! Compares the histogram with a sorted list, and with the library whose layout it uses.
//!
//! Includes tests of the encoding, the compact form and the spectrum, and inputs found by fuzzing.

use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use proptest::prelude::*;

fn histogram_of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|value| histogram.record(*value));
    histogram
}

fn library_to_base64(histogram: &hdrhistogram::Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(histogram, &mut bytes).unwrap();
    STANDARD.encode(bytes)
}

fn library_from_base64(text: &str) -> hdrhistogram::Histogram<u64> {
    let bytes = STANDARD.decode(text).unwrap();
    Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
}

#[test]
fn cells_are_contiguous_and_three_digits_wide() {
    let mut expected = 0;
    for cell in 0..CELLS {
        let (lowest, width) = values_of(cell);
        assert_eq!(lowest, expected, "cell {cell} starts where the one before ended");
        assert_eq!(cell_of(lowest), cell);
        assert_eq!(cell_of(lowest + width - 1), cell);
        assert!(width == 1 || width as f64 / lowest as f64 <= 0.001, "cell {cell} keeps three digits");
        expected = lowest + width;
    }
    assert_eq!(expected, HIGHEST + 1);
}

#[test]
fn an_empty_histogram_has_no_numbers() {
    let empty = Histogram::new();
    assert_eq!((empty.count(), empty.min(), empty.max(), empty.quantile(0.5)), (0, None, None, None));
    assert!(empty.mean().is_none());
    assert_eq!(Histogram::from_base64(&empty.to_base64()).unwrap(), empty);
}

#[test]
fn a_value_beyond_the_highest_is_kept_in_sum_and_maximum() {
    let histogram = histogram_of(&[1, u64::MAX]);
    assert_eq!(histogram.max(), Some(u64::MAX));
    assert_eq!(histogram.sum(), u128::from(u64::MAX) + 1);
    assert_eq!(histogram.count_at_or_below(HIGHEST), 2);
}

#[test]
fn published_ranks() {
    // Ten values: the 70 % quantile is the seventh, although 0.7 * 10 may be rounded in binary.
    let histogram = histogram_of(&[10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
    for (q, value) in [(0.0, 10), (0.1, 10), (0.7, 70), (0.71, 80), (0.95, 100), (1.0, 100)] {
        assert_eq!(histogram.quantile(q), Some(value), "quantile {q}");
    }
}

#[test]
fn invalid_text_is_an_error() {
    for text in ["", "!!", "AAAA", "HISTFAAAAB542pNpmSzMwMDAxQABzFCaEUozQ", "HIST"] {
        assert!(Histogram::from_base64(text).is_err(), "{text:?}");
    }
}

#[test]
fn compact_keeps_the_largest_counts() {
    let mut current = Histogram::new();
    for (value, count) in
        [(0, 1), (1, 127), (2, 128), (3_000_000, u64::from(u32::MAX) + 9), (HIGHEST, 1 << 60)]
    {
        current.record_n(value, count);
    }
    let (whole, mut again) = (current.clone(), Histogram::new());
    again.merge_compact(&current.drain_into(&mut Histogram::new()));
    assert_eq!(again, whole);
}

#[test]
fn announced_length_is_checked_before_allocating() {
    // Found by fuzzing: forty bytes that announce two gigabytes of counts.
    let mut inner = vec![0x1c, 0x84, 0x93, 0x13];
    inner.extend(0x7fff_ffffu32.to_be_bytes());
    let mut outer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut outer, &inner).unwrap();
    let compressed = outer.finish().unwrap();
    let mut bytes = vec![0x1c, 0x84, 0x93, 0x14];
    bytes.extend((compressed.len() as u32).to_be_bytes());
    bytes.extend(compressed);
    let error = Histogram::from_base64(&STANDARD.encode(bytes)).unwrap_err();
    assert!(error.to_string().contains("declares 2147483647 bytes of counts"), "{error}");
}

/// A histogram whose header is changed at one place.
fn with_header(at: usize, bytes: &[u8]) -> String {
    let text = histogram_of(&[5]).to_base64();
    let mut plain = Vec::new();
    let compressed = STANDARD.decode(text).unwrap();
    std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&compressed[8..]), &mut plain).unwrap();
    plain[at..at + bytes.len()].copy_from_slice(bytes);
    let mut outer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut outer, &plain).unwrap();
    let compressed = outer.finish().unwrap();
    let length = (compressed.len() as u32).to_be_bytes();
    STANDARD.encode([&[0x1c, 0x84, 0x93, 0x14], &length[..], &compressed].concat())
}

#[test]
fn impossible_headers_are_errors() {
    assert_eq!(Histogram::from_base64(&with_header(0, &[0x1c])).unwrap(), histogram_of(&[5]));
    for (at, bytes, reason) in [
        (0, vec![0], "does not begin with the signature of the encoding"),
        (7, vec![200], "of 200 bytes of counts"),
        (11, vec![1], "shifted and scaled"),
        (15, vec![6], "6 significant digits"),
        (16, [[2u8; 8], [0x7f; 8]].concat(), "needs more than 64 bits"),
        (23, vec![0], "invalid histogram header: "),
        (24, vec![0, 0, 0, 0, 0, 0, 0, 4], "above its maximum"),
        (32, vec![0], "shifted and scaled"),
        (40, vec![0x80, 0x80], "truncated"),
    ] {
        let error = Histogram::from_base64(&with_header(at, &bytes)).unwrap_err().to_string();
        assert!(error.contains(reason), "{at}: {error}");
    }
}

#[test]
fn spectrum_ends_at_the_maximum() {
    assert!(Histogram::new().spectrum(5).is_empty() && Histogram::new().standard_deviation().is_none());
    let histogram = histogram_of(&(1..=1_000).collect::<Vec<_>>());
    let steps = histogram.spectrum(5);
    let first: Vec<f64> = steps.iter().take(7).map(|step| step.quantile).collect();
    assert_eq!(first, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55]);
    assert_eq!(steps.last(), Some(&SpectrumStep { quantile: 1.0, value: 1_000, count: 1_000 }));
    let half = steps.iter().find(|step| step.quantile == 0.5).unwrap();
    assert_eq!((half.value, half.count), (500, 500));
    // Of the values 1 to n: sqrt((n^2 - 1) / 12).
    assert!((histogram.standard_deviation().unwrap() - 288.675).abs() < 0.001);
}

#[test]
fn spectrum_matches_the_hdrhistogram_library() {
    // 9,973 is a prime: no level falls exactly on a rank, where rounding would decide the result.
    let values: Vec<u64> = (1..9_973).map(|i| i * i * 37 % 1_000_003).chain([2_000_000]).collect();
    let mut library = hdrhistogram::Histogram::<u64>::new_with_bounds(1, HIGHEST, 3).unwrap();
    values.iter().for_each(|value| library.record(*value).unwrap());
    let theirs: Vec<_> = library.iter_quantiles(5).collect();
    let ours = histogram_of(&values).spectrum(5);
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!((ours.quantile - theirs.quantile_iterated_to()).abs() < 1e-9, "{ours:?} {theirs:?}");
        assert!(library.equivalent(ours.value, theirs.value_iterated_to()), "{ours:?} {theirs:?}");
    }
}

proptest! {
    #[test]
    fn spectrum_contains_quantiles(values in prop::collection::vec(0..HIGHEST, 1..300)) {
        let histogram = histogram_of(&values);
        for step in histogram.spectrum(5) {
            prop_assert_eq!(Some(step.value), histogram.quantile(step.quantile), "{:?}", step);
            prop_assert_eq!(step.count, histogram.count_at_or_below(step.value));
        }
    }

    #[test]
    fn quantiles_agree_with_a_sorted_list(mut values in prop::collection::vec(0..10_000_000_000u64, 1..400), q in 0.0..=1.0f64) {
        let histogram = histogram_of(&values);
        values.sort_unstable();
        let rank = ((q * values.len() as f64) * (1.0 - 1e-12)).ceil().max(1.0) as usize;
        let exact = values[rank - 1];
        let answer = histogram.quantile(q).unwrap();
        let [low, same, _] = histogram.quantiles([q / 2.0, q, 1.0]).unwrap();
        prop_assert_eq!((Some(low), same), (histogram.quantile(q / 2.0), answer));
        prop_assert!(answer >= exact && answer as f64 <= exact as f64 * 1.001 + 1.0, "{answer} for {exact}");
        prop_assert_eq!(histogram.sum(), values.iter().map(|value| u128::from(*value)).sum::<u128>());
    }

    #[test]
    fn merging_equals_recording_everything(a in prop::collection::vec(any::<u64>(), 0..200), b in prop::collection::vec(any::<u64>(), 0..200)) {
        let mut merged = histogram_of(&a);
        merged.merge(&histogram_of(&b));
        prop_assert_eq!(merged, histogram_of(&[a, b].concat()));
    }

    #[test]
    fn drain_moves_every_count(a in prop::collection::vec(0..HIGHEST, 0..200), b in prop::collection::vec(0..HIGHEST, 0..200)) {
        let (mut total, mut current) = (histogram_of(&a), histogram_of(&b));
        let kept = current.drain_into(&mut total);
        prop_assert!(current == Histogram::new());
        prop_assert_eq!(&total, &histogram_of(&[a, b.clone()].concat()));
        let mut again = Histogram::new();
        again.merge_compact(&kept);
        prop_assert_eq!(again, histogram_of(&b));
    }

    #[test]
    fn compacts_merge(a in prop::collection::vec(0..HIGHEST, 0..200), b in prop::collection::vec(0..HIGHEST, 0..200)) {
        let compact = |values: &[u64]| histogram_of(values).drain_into(&mut Histogram::new());
        let mut sum = compact(&a);
        sum.merge(&compact(&b));
        prop_assert_eq!(&sum, &compact(&[a, b].concat()));
    }

    #[test]
    fn encoding_keeps_every_count(values in prop::collection::vec(0..HIGHEST, 0..300)) {
        let histogram = histogram_of(&values);
        let back = Histogram::from_base64(&histogram.to_base64()).unwrap();
        prop_assert_eq!(back.bars().collect::<Vec<_>>(), histogram.bars().collect::<Vec<_>>());
    }

    #[test]
    fn the_hdrhistogram_library_reads_the_encoding(values in prop::collection::vec(0..=HIGHEST, 0..300)) {
        let histogram = histogram_of(&values);
        let library = library_from_base64(&histogram.to_base64());
        let cells = library.iter_recorded().map(|cell| (library.lowest_equivalent(cell.value_iterated_to()), cell.count_at_value()));
        prop_assert_eq!(cells.collect::<Vec<_>>(), histogram.bars().map(|(lowest, _, count)| (lowest, count)).collect::<Vec<_>>());
    }

    #[test]
    fn reads_the_encoding_of_other_layouts(values in prop::collection::vec((1000..10_000_000u64, 1..1_000_000_000_000_000u64), 0..100), digits in 0..=5u8, lowest in 1..1000u64) {
        let mut library = hdrhistogram::Histogram::<u64>::new_with_bounds(lowest, 10_000_000, digits).unwrap();
        values.iter().for_each(|(value, count)| library.saturating_record_n(*value, *count));
        let ours = Histogram::from_base64(&library_to_base64(&library)).unwrap();
        let mut expected = Histogram::new();
        library.iter_recorded().for_each(|cell| expected.record_n(library.lowest_equivalent(cell.value_iterated_to()), cell.count_at_value()));
        prop_assert_eq!(ours, expected);
    }

    #[test]
    fn agrees_with_the_hdrhistogram_library(values in prop::collection::vec(0..HIGHEST, 1..300), q in 0.0..=1.0f64) {
        let mut library = hdrhistogram::Histogram::<u64>::new_with_bounds(1, HIGHEST, 3).unwrap();
        values.iter().for_each(|value| library.record(*value).unwrap());
        let ours = histogram_of(&values).quantile(q).unwrap();
        prop_assert!(library.equivalent(ours, library.value_at_quantile(q)));
    }
}
