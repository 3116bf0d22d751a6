//! Simulates how often the intervals, ranks and decisions of this crate are right: 2,000 rounds with a known truth.
//!
//! `cargo run --release -p paceline-stats --example coverage [ROUNDS [SECTION]]` prints the Markdown tables of
//! docs/methodology.md. Seeds are fixed: the same program prints the same figures.

// The result of this program goes to standard output.
#![allow(clippy::print_stdout)]

use paceline_stats::{
    BlockFit, BlockRow, CapacitySearch, Decision, Draws, Histogram, MAX_PAIRS, Random, SearchWindow,
    ServerLaunches, compare_pairs, launch_means, next_look, normal_quantile, run_percentile,
};

/// One launch's deviation, in units of the standard deviation.
type Noise = fn(&mut Random) -> f64;

/// Prints one table.
type Section = fn(usize);

const NOISES: [(&str, Noise); 4] = [
    ("normal", Random::normal),
    ("5 % outliers", |random| if random.uniform() < 0.05 { 5.0 * random.normal() } else { random.normal() }),
    // Two modes, three and seven of ten launches, with mean 0.
    ("bimodal", |random| if random.uniform() < 0.3 { 1.4 } else { -0.6 } + 0.3 * random.normal()),
    ("one-sided", |random| random.exponential() - 1.0),
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().and_then(|rounds| rounds.parse().ok()).unwrap_or(2_000);
    let only = arguments.next();
    let sections: [(&str, Section); 4] = [
        ("launches", over_launches),
        ("percentiles", within_a_run),
        ("capacity", searches),
        ("compare", pairs),
    ];
    for (_, print) in sections.iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name)) {
        print(rounds);
    }
}

fn over_launches(rounds: usize) {
    println!(
        "| launches | servers | interval of a figure | of a ratio, drift between blocks | rank sets | order claimed of equal servers |"
    );
    println!("|---|---|---|---|---|---|");
    for (name, noise) in NOISES {
        for (servers, launches) in [(7, 3), (7, 5), (31, 3)] {
            let (figure, ratio) = figures_and_ratios(noise, servers, launches, rounds);
            let (ranks, claimed) = ranks(noise, servers, launches, rounds);
            println!(
                "| {name}, {launches} | {servers} | {figure:.3} | {ratio:.3} | {ranks:.3} | {claimed:.3} |"
            );
        }
    }
}

fn within_a_run(rounds: usize) {
    println!(
        "\n| queue, percentile, requests | runs with an interval | of these, it holds the truth |\n|---|---|---|"
    );
    for (utilization, p, requests) in [
        (0.5, 0.5, 10_000),
        (0.5, 0.99, 20_000),
        (0.5, 0.99, 40_000),
        (0.8, 0.5, 60_000),
        (0.8, 0.99, 120_000),
    ] {
        let (given, covered) = percentiles(utilization, p, requests, (rounds / 4).max(1));
        println!("| {utilization}, p{}, {requests} | {given:.2} | {covered:.3} |", p * 100.0);
    }
}

fn searches(rounds: usize) {
    println!(
        "\n| service rate varies by | capacity's interval holds it | windows | said that stalls decide |\n|---|---|---|---|"
    );
    for sd in [0.005, 0.02, 0.06] {
        let (covered, windows, stalls) = capacities(sd, (rounds / 10).max(1));
        println!("| {:.1} % | {covered:.3} | {windows:.0} | {stalls:.3} |", sd * 100.0);
    }
}

fn pairs(rounds: usize) {
    println!(
        "\n| noise of a pair | true difference | different | equivalent | pairs |\n|---|---|---|---|---|"
    );
    for sd in [0.03, 0.06, 0.13] {
        for difference in [0.0, 0.03, 0.05, 0.10] {
            let (different, equivalent, pairs) = comparisons(sd, difference, rounds);
            println!(
                "| {sd} | {:.0} % | {different:.3} | {equivalent:.3} | {pairs:.1} |",
                difference * 100.0
            );
        }
    }
}

/// ln value = effect + block + noise, with sd 0.1 for both.
fn table(random: &mut Random, noise: Noise, effects: &[f64], blocks: usize, block_sd: f64) -> Vec<BlockRow> {
    let drift: Vec<f64> = (0..blocks).map(|_| block_sd * random.normal()).collect();
    let mut row = |effect: &f64| BlockRow {
        values: drift.iter().map(|block| Some((effect + block + 0.1 * noise(random)).exp())).collect(),
        is_steady: true,
    };
    effects.iter().map(&mut row).collect()
}

fn figures_and_ratios(noise: Noise, servers: usize, launches: usize, rounds: usize) -> (f64, f64) {
    let mut random = Random::new(1);
    let (mut figures, mut ratios) = (0, 0);
    for _ in 0..rounds {
        let still = table(&mut random, noise, &vec![0.0; servers], launches, 0.0);
        let values: Vec<Vec<f64>> =
            still.iter().map(|row| row.values.iter().flatten().copied().collect()).collect();
        let rows: Vec<ServerLaunches> =
            values.iter().map(|values| ServerLaunches { values, is_steady: true }).collect();
        figures += launch_means(&rows)
            .into_iter()
            .flatten()
            .filter(|row| row.interval.is_some_and(|interval| interval.contains(1.0)))
            .count();
        let drifting = BlockFit::from_rows(&table(&mut random, noise, &vec![0.0; servers], launches, 0.1));
        let ratio = drifting.and_then(|fit| fit.ratio(0, 1));
        ratios += usize::from(ratio.is_some_and(|ratio| ratio.interval.contains(1.0)));
    }
    (figures as f64 / (rounds * servers) as f64, ratios as f64 / rounds as f64)
}

fn ranks(noise: Noise, servers: usize, launches: usize, rounds: usize) -> (f64, f64) {
    let (mut random, draws) = (Random::new(2), Draws::new(1));
    let spaced: Vec<f64> = (0..servers).map(|i| 0.05 * i as f64).collect();
    let (mut covered, mut claimed) = (0, 0);
    for _ in 0..rounds {
        let rank = |rows: &[BlockRow]| BlockFit::from_rows(rows).and_then(|fit| fit.rank(true, &draws));
        let Some(ranking) = rank(&table(&mut random, noise, &spaced, launches, 0.1)) else { continue };
        let holds = |(i, rank): (usize, _)| {
            let rank: Option<paceline_stats::RankSet> = rank;
            rank.is_some_and(|rank| rank.best <= servers - i && servers - i <= rank.worst)
        };
        covered += usize::from(ranking.ranks.into_iter().enumerate().all(holds));
        let Some(equal) = rank(&table(&mut random, noise, &vec![0.0; servers], launches, 0.1)) else {
            continue;
        };
        claimed +=
            usize::from(equal.ranks.iter().flatten().any(|rank| (rank.best, rank.worst) != (1, servers)));
    }
    (covered as f64 / rounds as f64, claimed as f64 / rounds as f64)
}

/// Response times of an M/M/1 queue with mean interarrival time 1, by Lindley's recursion.
fn queue(random: &mut Random, utilization: f64, requests: usize) -> impl Iterator<Item = f64> {
    let mut wait: f64 = 0.0;
    let mut response = move || {
        let service = random.exponential() * utilization;
        let response = wait + service;
        wait = (response - random.exponential()).max(0.0);
        response
    };
    (0..2_000).for_each(|_| {
        response();
    });
    (0..requests).map(move |_| response())
}

fn percentiles(utilization: f64, p: f64, requests: usize, rounds: usize) -> (f64, f64) {
    let truth = -(1.0 - p).ln() * utilization / (1.0 - utilization) * 1e6;
    let mut random = Random::new(3);
    let (mut given, mut covered) = (0, 0);
    for _ in 0..rounds {
        let mut intervals = vec![Histogram::new(); 10];
        for (i, response) in queue(&mut random, utilization, requests).enumerate() {
            intervals[i * 10 / requests].record((response * 1e6) as u64);
        }
        if let Some(interval) = run_percentile(&intervals, p).and_then(|percentile| percentile.interval) {
            given += 1;
            covered += usize::from(interval.contains(truth));
        }
    }
    (given as f64 / rounds as f64, covered as f64 / given as f64)
}

/// Windows of 5 s with the objective p99 < 10 ms on an M/M/1 queue whose service rate has a new error in each window.
/// By queueing theory a window at rate r passes if (service rate - r) 10 ms > ln 100, up to noise in the window.
fn capacities(sd: f64, rounds: usize) -> (f64, f64, f64) {
    let mut random = Random::new(4);
    let (mut covered, mut windows, mut stalls) = (0, 0, 0);
    for _ in 0..rounds {
        let service_rate = 2_000.0 * (1.0 + random.uniform());
        let room = 100f64.ln() / 0.010;
        let mut search = CapacitySearch::new(service_rate, 0.05, 40);
        while search.end().is_none() {
            let rate = search.next_rate();
            let rate_now = service_rate * (sd * normal_quantile(random.uniform())).exp();
            search.add(SearchWindow { rate, passed: rate_now - rate > room });
        }
        covered += usize::from(search.estimate().interval.contains(service_rate - room));
        windows += search.windows().len();
        stalls += usize::from(search.stalls_decide().is_some());
    }
    let share = |count: usize| count as f64 / rounds as f64;
    (share(covered), share(windows), share(stalls))
}

fn comparisons(sd: f64, difference: f64, rounds: usize) -> (f64, f64, f64) {
    let mut random = Random::new(5);
    let (mut different, mut equivalent, mut pairs) = (0, 0, 0);
    for _ in 0..rounds {
        let all: Vec<f64> = (0..MAX_PAIRS).map(|_| f64::ln_1p(difference) + sd * random.normal()).collect();
        let mut decision = None;
        let mut looked = 0;
        while let (None | Some(Decision::Undecided { .. }), Some(look)) = (decision, next_look(looked)) {
            looked = look;
            decision = compare_pairs(&all[..look], 0.05).map(|comparison| comparison.decision);
        }
        pairs += looked;
        match decision {
            Some(Decision::Higher | Decision::Lower) => different += 1,
            Some(Decision::Equivalent) => equivalent += 1,
            Some(Decision::Undecided { .. }) | None => {}
        }
    }
    let share = |count: usize| count as f64 / rounds as f64;
    (share(different), share(equivalent), share(pairs))
}
