//! Tests of ratios and ranks.

use super::*;
use crate::random::Random;

fn rows(table: &[&[f64]]) -> Vec<BlockRow> {
    let row = |values: &&[f64]| BlockRow {
        values: values.iter().map(|value| (*value > 0.0).then_some(*value)).collect(),
        is_steady: true,
    };
    table.iter().map(row).collect()
}

fn assert_ratio(ratio: RatioEstimate, expected: (f64, f64, f64)) {
    let found = [ratio.ratio, ratio.interval.low, ratio.interval.high];
    for (found, expected) in found.into_iter().zip([expected.0, expected.1, expected.2]) {
        assert!((found / expected - 1.0).abs() < 1e-8, "{ratio:?}, expected {expected}");
    }
}

#[test]
fn two_servers_are_a_paired_t_test() {
    let fit =
        BlockFit::from_rows(&rows(&[&[100.0, 130.0, 90.0, 110.0], &[95.0, 128.0, 84.0, 108.0]])).unwrap();
    let ratio = fit.ratio(0, 1).unwrap();
    // scipy.stats.ttest_rel(ln a, ln b): p, and exp of its confidence_interval().
    assert_ratio(ratio, (1.0392869705411885, 0.997163598655168, 1.0831897680514906));
    assert!((ratio.p_value - 0.059354491639545655).abs() < 1e-9, "{ratio:?}");
}

#[test]
fn ratios_of_a_table_match_numpy() {
    // Least squares by numpy.linalg, leverages from the hat matrix, moderation and Satterthwaite as in the header;
    // one launch is missing from the second table.
    let table: [&[f64]; 5] = [
        &[100.0, 120.0, 95.0],
        &[90.0, 115.0, 88.0],
        &[210.0, 230.0, 190.0],
        &[50.0, 58.0, 49.0],
        &[75.0, 99.0, 71.0],
    ];
    let fit = BlockFit::from_rows(&rows(&table)).unwrap();
    assert_ratio(fit.ratio(0, 1).unwrap(), (1.0776902236302408, 1.0073948660333911, 1.152890745494133));
    let mut with_hole = table;
    with_hole[1] = &[90.0, 0.0, 88.0];
    let fit = BlockFit::from_rows(&rows(&with_hole)).unwrap();
    assert_ratio(fit.ratio(0, 1).unwrap(), (1.0969805532895294, 1.0133428557649822, 1.1875214074381266));
}

#[test]
fn incomparable_servers_have_no_ratio_or_rank() {
    let fit = BlockFit::from_rows(&rows(&[&[5.0], &[6.0]])).unwrap();
    assert_eq!((fit.ratio(0, 1), fit.rank(true, &Draws::new(1))), (None, None));
    assert_eq!(fit.ratio(0, 7), None);
    assert!(BlockFit::from_rows(&[]).is_none() && BlockFit::from_rows(&rows(&[&[0.0]])).is_none());
    let fit = BlockFit::from_rows(&rows(&[&[5.0, 5.1], &[6.0, 6.2], &[0.0, 0.0]])).unwrap();
    let ranking = fit.rank(true, &Draws::new(1)).unwrap();
    assert!(ranking.ranks[2].is_none() && ranking.ranks[0].is_some());
}

#[test]
fn the_largest_t_is_the_largest_of_all_quotients_to_the_last_bit() {
    let mut random = Random::new(6);
    for round in 0..400 {
        // Every fourth table has servers that do not vary, every third pairs that are equal up to rounding.
        let mut draw = |place: usize| {
            let scale = if round % 3 == 0 && place > 1 { 1e-16 } else { 1.0 };
            let variance = if round % 4 == 0 && place < 3 { 0.0 } else { random.variance_ratio(2.0) };
            (1.0 + scale * random.normal(), variance)
        };
        let drawn: Vec<(f64, f64)> = (0..12).map(&mut draw).collect();
        let places = (0..12).flat_map(|i| (i + 1..12).map(move |j| (i, j)));
        let pairs: Vec<(usize, usize, f64)> = places.map(|(i, j)| (i, j, random.uniform())).collect();
        let of_pair = |(i, j, factor): &(usize, usize, f64)| {
            let (a, b) = (drawn[*i], drawn[*j]);
            (a.1 + b.1 > 0.0).then(|| (a.0 - b.0).powi(2) * factor / (a.1 + b.1))
        };
        let quotients = pairs.iter().filter_map(of_pair);
        let largest = quotients.fold(0.0, f64::max);
        assert_eq!(largest_squared(&drawn, &pairs).to_bits(), largest.to_bits(), "{round}");
    }
}

#[test]
fn servers_that_share_no_block_are_compared_without_blocks() {
    let fit = BlockFit::from_rows(&rows(&[&[10.0, 11.0, 0.0, 0.0], &[0.0, 0.0, 20.0, 21.0]])).unwrap();
    assert!((fit.ratio(1, 0).unwrap().ratio - (420f64 / 110.0).sqrt()).abs() < 1e-9);
}

#[test]
fn ranks_of_clear_differences_are_single() {
    let fit =
        BlockFit::from_rows(&rows(&[&[10.0, 10.1, 9.9], &[20.0, 20.1, 20.2], &[40.0, 40.3, 39.9]])).unwrap();
    let ranks =
        |higher| fit.rank(higher, &Draws::new(1)).unwrap().ranks.into_iter().flatten().collect::<Vec<_>>();
    let single = |rank| RankSet { best: rank, worst: rank };
    assert_eq!(ranks(true), [single(3), single(2), single(1)]);
    assert_eq!(ranks(false), [single(1), single(2), single(3)]);
    assert_eq!(fit.rank(true, &Draws::new(5)), fit.rank(true, &Draws::new(5)));
}

/// A simulated table: ln value = effect + block + noise.
fn table(random: &mut Random, effects: &[f64], blocks: usize, sd: f64, block_sd: f64) -> Vec<BlockRow> {
    let drift: Vec<f64> = (0..blocks).map(|_| block_sd * random.normal()).collect();
    let mut row = |effect: &f64| BlockRow {
        values: drift.iter().map(|block| Some((effect + block + sd * random.normal()).exp())).collect(),
        is_steady: true,
    };
    effects.iter().map(&mut row).collect()
}

#[test]
fn ratios_cover_the_truth_whatever_the_blocks_do() {
    let mut random = Random::new(3);
    for block_sd in [0.0, 0.1, 0.3] {
        let covered = (0..600)
            .filter(|_| {
                let rows = table(&mut random, &[0.0; 7], 3, 0.1, block_sd);
                BlockFit::from_rows(&rows).unwrap().ratio(0, 1).unwrap().interval.contains(1.0)
            })
            .count();
        assert!((555..=591).contains(&covered), "block sd {block_sd}: {covered} of 600");
    }
}

#[test]
fn the_launches_for_a_difference_are_enough_for_it() {
    let mut random = Random::new(6);
    let few = BlockFit::from_rows(&table(&mut random, &[0.0; 8], 5, 0.06, 0.1)).unwrap();
    assert!(few.smallest_ratio_difference(1).unwrap() > 0.05);
    assert!(few.smallest_ratio_difference(28) > few.smallest_ratio_difference(1));
    let launches = few.launches_for_difference(0.05).unwrap();
    // t (n - 1 degrees of freedom) * 0.06 * sqrt(2 / n) <= ln 1.05 from n = 15 on.
    assert!((10..=21).contains(&launches), "{launches}");
    let many = BlockFit::from_rows(&table(&mut random, &[0.0; 8], launches, 0.06, 0.1)).unwrap();
    let smallest = many.smallest_ratio_difference(1).unwrap();
    assert!((0.03..=0.06).contains(&smallest), "{smallest} with {launches} launches");
    assert_eq!(few.launches_for_difference(0.0), None);
}

#[test]
fn a_difference_of_the_half_width_is_found_in_half_of_the_cases_and_with_the_launches_to_find_it_in_four_of_five()
 {
    let mut random = Random::new(8);
    let found = |random: &mut Random, launches: usize| {
        let claims = (0..400).filter(|_| {
            let rows = table(random, &[1.1f64.ln(), 0.0], launches, 0.06, 0.1);
            BlockFit::from_rows(&rows).unwrap().ratio(0, 1).unwrap().interval.low > 1.0
        });
        claims.count() as f64 / 400.0
    };
    let deviation = 0.06 * 2f64.sqrt();
    let (half, four_of_five) =
        (launches_needed(deviation, 0.1).unwrap(), launches_to_find(deviation, 0.1).unwrap());
    assert_eq!((half, four_of_five), (6, 9));
    let (half, four_of_five) = (found(&mut random, half), found(&mut random, four_of_five));
    assert!((0.4..0.68).contains(&half), "{half}");
    assert!((0.74..0.9).contains(&four_of_five), "{four_of_five}");
}

#[test]
fn equal_servers_are_rarely_ordered() {
    let mut random = Random::new(4);
    for blocks in [3, 5] {
        let claims = (0..60)
            .filter(|_| {
                let rows = table(&mut random, &[0.0; 8], blocks, 0.1, 0.1);
                let ranking = BlockFit::from_rows(&rows).unwrap().rank(true, &Draws::new(1)).unwrap();
                ranking.ranks.into_iter().flatten().any(|rank| rank != RankSet { best: 1, worst: 8 })
            })
            .count();
        assert!(claims <= 7, "{blocks} blocks: {claims} of 60 tables of equal servers claim an order");
    }
}

#[test]
fn rank_sets_hold_the_true_ranks() {
    let mut random = Random::new(5);
    let effects: Vec<f64> = (0..12).map(|i| f64::from(i) * 0.1).collect();
    let mut widths = 0;
    for _ in 0..30 {
        let rows = table(&mut random, &effects, 5, 0.06, 0.1);
        let ranking = BlockFit::from_rows(&rows).unwrap().rank(true, &Draws::new(1)).unwrap();
        for (server, rank) in ranking.ranks.iter().flatten().enumerate() {
            let truth = effects.len() - server;
            assert!(rank.best <= truth && truth <= rank.worst, "{rank:?} for {truth}");
            widths += rank.worst - rank.best + 1;
        }
    }
    let mean_width = widths as f64 / (30.0 * 12.0);
    assert!(mean_width < 5.0, "sets of {mean_width} ranks say little");
}
