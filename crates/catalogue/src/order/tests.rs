//! Tests of the order: the number of each cell, the same order from the same seed, whole blocks.
//!
//! One order is written out and must never change: `--resume` depends on it. The cells come from a plan on made-up
//! servers; the plan's own tests cover how it is expanded into cells.

use super::*;
use crate::fixture::TestTree;
use crate::{Cell, Plan};
use proptest::prelude::*;
use std::collections::HashMap;

/// The cells of four servers in two forms, three cases and two loads.
fn cells() -> Vec<Cell> {
    let tree = TestTree::with(&["a-one", "b-two", "c-three", "d-four"]);
    let plan = r#"
        name = "all"
        repeats = 1
        forms = ["single", "cores"]
        workloads = ["hello", "tetra"]
        [[load]]
        name = "closed"
        connections = 64
        duration = "3s"
        [[load]]
        name = "open"
        connections = 64
        rate_per_s = 2000
        duration = "3s"
    "#;
    Plan::parse("all.toml", plan).unwrap().resolve(&tree.catalogue()).unwrap().cells
}

fn keys(launches: &[PlannedLaunch]) -> Vec<(u32, String)> {
    let keys = |launch: &PlannedLaunch| {
        launch.cells.iter().map(|cell| (launch.block, cell.key())).collect::<Vec<_>>()
    };
    launches.iter().flat_map(keys).collect()
}

#[test]
fn a_stored_seed_keeps_its_order() {
    // Golden: if an order changes, no interrupted round can be resumed.
    let launches = order(&cells(), 1, 42);
    let names: Vec<String> =
        launches.iter().map(|launch| format!("{} {}", launch.server.id, launch.form)).collect();
    let expected = [
        "d-four single",
        "c-three single",
        "b-two single",
        "a-one single",
        "b-two cores",
        "c-three cores",
        "a-one cores",
        "d-four cores",
    ];
    assert_eq!(names, expected);
    let first: Vec<String> =
        launches[0].cells.iter().map(|cell| format!("{} {}", cell.case.address, cell.load.name)).collect();
    assert_eq!(
        first,
        ["tetra/2 closed", "hello open", "tetra/3 open", "tetra/3 closed", "hello closed", "tetra/2 open"]
    );
}

#[test]
fn every_position_is_equally_likely_for_every_server() {
    let cells = cells();
    let mut first = HashMap::new();
    for seed in 0..4_000 {
        *first.entry(order(&cells, 1, seed)[0].server.id.clone()).or_insert(0_u32) += 1;
    }
    // Binomial with p = 1/4: the standard deviation is 27, the limits are at five of them.
    assert!(first.values().all(|count| count.abs_diff(1_000) < 137), "{first:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn each_cell_is_measured_once_in_each_block(seed: u64, repeats in 0..6_u32) {
        let cells = cells();
        let mut planned = keys(&order(&cells, repeats, seed));
        planned.sort();
        let mut expected: Vec<(u32, String)> =
            (0..repeats).flat_map(|block| cells.iter().map(move |cell| (block, cell.key()))).collect();
        expected.sort();
        prop_assert_eq!(planned, expected);
    }

    #[test]
    fn a_launch_is_one_server_in_one_form(seed: u64) {
        let launches = order(&cells(), 2, seed);
        prop_assert_eq!(launches.len(), 4 * 2 * 2);
        for launch in launches {
            prop_assert!(launch.cells.iter().all(|cell| cell.server.id == launch.server.id && cell.form == launch.form));
        }
    }

    #[test]
    fn the_order_depends_on_the_seed_and_not_on_the_input_order(seed: u64, turn in 0..48_usize) {
        let cells = cells();
        let mut turned = cells.clone();
        turned.rotate_left(turn);
        prop_assert_eq!(keys(&order(&cells, 3, seed)), keys(&order(&turned, 3, seed)));
    }

    #[test]
    fn more_repeats_only_append_launches(seed: u64) {
        let (few, many) = (order(&cells(), 2, seed), order(&cells(), 5, seed));
        prop_assert_eq!(keys(&few), keys(&many[..few.len()]));
    }
}

#[test]
fn fresh_seeds_differ_and_stay_within_bounds() {
    let seeds: Vec<u64> = (0..8).map(|_| fresh_seed()).collect();
    assert!(seeds.iter().all(|seed| *seed <= MAX_SEED));
    assert!(seeds.iter().any(|seed| *seed != seeds[0]));
}
