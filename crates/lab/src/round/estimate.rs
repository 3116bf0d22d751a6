//! Estimates how much of a round is left, and how long it will take: from the plan, corrected by the trials so far.
//!
//! A round includes it in its events; before one begins, `plan/size.rs` reduces repeats by it and `--estimate` shows
//! it. Set-up and builds are not included, nor are retries before they are known to be needed. The time limit of a
//! trial is separate: see its load.

use super::attempts::{Pass, RoundAttempts};
use paceline_catalogue::{COUNTED_GUESS, Cell, LAUNCH_GUESS, LaunchWarmUp, PlannedLaunch, TRIAL_EXTRA_GUESS};
use paceline_record::Trial;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The rest of a round.
#[derive(Clone, Debug)]
pub struct RoundEstimate {
    /// Trials kept, earlier sittings included.
    pub trials_done: usize,
    /// Trials planned, retries included.
    pub trials_planned: usize,
    /// Processes to start.
    launches_left: usize,
    /// Launches to warm up: all processes of a launch together.
    warm_ups_left: usize,
    load_left_s: f64,
    /// The expected length of the capacity searches that are left.
    searches_left_s: f64,
    /// The expected length of a trial of each load, by the load's name.
    lengths_s: HashMap<String, f64>,
    /// How many processes the current launch starts.
    launching: usize,
    launch_s: GuessedMean,
    warm_up_s: GuessedMean,
    trial_extra_s: GuessedMean,
    /// How much longer than expected a search takes, as a factor.
    search_factor: GuessedMean,
    trial_began: Option<Instant>,
    launch_began: Option<Instant>,
    warm_up_began: Option<Instant>,
}

/// A mean that begins with a guess, which counts as one observation.
#[derive(Clone, Copy, Debug)]
struct GuessedMean {
    sum: f64,
    count: f64,
}

impl GuessedMean {
    fn guess(value: f64) -> Self {
        Self { sum: value, count: 1.0 }
    }

    fn see(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    fn value(self) -> f64 {
        self.sum / self.count
    }
}

impl RoundEstimate {
    /// The estimate before a round begins, for all its launches.
    pub fn from_launches(launches: &[PlannedLaunch], warm_up: LaunchWarmUp) -> Self {
        Self::new(launches, warm_up, &RoundAttempts::default())
    }

    pub(super) fn new(launches: &[PlannedLaunch], warm_up: LaunchWarmUp, tally: &RoundAttempts) -> Self {
        let planned: usize = launches.iter().map(|launch| launch.cells.len()).sum();
        let mut estimate = Self {
            trials_done: planned,
            trials_planned: planned,
            launches_left: 0,
            warm_ups_left: 0,
            load_left_s: 0.0,
            searches_left_s: 0.0,
            lengths_s: HashMap::new(),
            launching: 1,
            launch_s: GuessedMean::guess(LAUNCH_GUESS.as_secs_f64()),
            warm_up_s: GuessedMean::guess(warm_up.guess().as_secs_f64()),
            trial_extra_s: GuessedMean::guess(TRIAL_EXTRA_GUESS.as_secs_f64()),
            search_factor: GuessedMean::guess(1.0),
            trial_began: None,
            launch_began: None,
            warm_up_began: None,
        };
        let left = tally.left(launches, Pass::First);
        let trials: usize = left.iter().map(|launch| launch.cells.len()).sum();
        estimate.trials_done -= trials;
        estimate.trials_planned -= trials;
        estimate.add(&left);
        estimate
    }

    /// Adds further launches.
    pub(super) fn add(&mut self, launches: &[PlannedLaunch]) {
        self.launches_left += launches.iter().map(|launch| launch.processes() as usize).sum::<usize>();
        self.warm_ups_left += launches.iter().filter(|launch| launch.is_warmed()).count();
        for cell in launches.iter().flat_map(|launch| &launch.cells) {
            self.trials_planned += 1;
            let length_s = cell.load.expected_length().as_secs_f64();
            self.lengths_s.insert(cell.load.name.clone(), length_s);
            *self.left_of_kind(cell.load.is_search()) += length_s;
        }
    }

    /// A cell is to be tried once more on its launch.
    pub(super) fn repeats(&mut self, cell: &Cell) {
        self.trials_planned += 1;
        *self.left_of_kind(cell.load.is_search()) += cell.load.expected_length().as_secs_f64();
    }

    pub(super) fn launch_begins(&mut self, launch: &PlannedLaunch) {
        self.launching = launch.processes() as usize;
        self.launches_left = self.launches_left.saturating_sub(self.launching);
        self.warm_ups_left = self.warm_ups_left.saturating_sub(usize::from(launch.is_warmed()));
        self.launch_began = Some(Instant::now());
        // That of a launch that failed meanwhile.
        self.warm_up_began = None;
    }

    /// All processes of the launch have started.
    pub(super) fn warm_up_begins(&mut self) {
        self.launch_done();
        self.warm_up_began = Some(Instant::now());
    }

    pub(super) fn trial_begins(&mut self) {
        self.launch_done();
        if let Some(began) = self.warm_up_began.take() {
            self.warm_up_s.see(began.elapsed().as_secs_f64());
        }
        self.trial_began = Some(Instant::now());
    }

    fn launch_done(&mut self) {
        if let Some(began) = self.launch_began.take() {
            self.launch_s.see(began.elapsed().as_secs_f64() / self.launching.max(1) as f64);
        }
    }

    pub(super) fn trial_done(&mut self, trial: &Trial) {
        self.trials_done += 1;
        let length = self.lengths_s.get(&trial.load.name).copied().unwrap_or(COUNTED_GUESS.as_secs_f64());
        let is_search = trial.load.capacity.is_some();
        let left_s = self.left_of_kind(is_search);
        *left_s = (*left_s - length).max(0.0);
        let Some(began) = self.trial_began.take().filter(|_| trial.error.is_none()) else { return };
        let took_s = began.elapsed().as_secs_f64();
        if is_search {
            self.search_factor.see(took_s / length.max(f64::MIN_POSITIVE));
        } else {
            self.trial_extra_s.see((took_s - length).max(0.0));
        }
    }

    /// The expected length of the searches that are left, or of the other loads.
    fn left_of_kind(&mut self, is_search: bool) -> &mut f64 {
        if is_search { &mut self.searches_left_s } else { &mut self.load_left_s }
    }

    /// The estimated time that is left.
    pub fn left(&self) -> Duration {
        let trials = self.trials_planned.saturating_sub(self.trials_done) as f64;
        let launches_s = self.launches_left as f64 * self.launch_s.value()
            + self.warm_ups_left as f64 * self.warm_up_s.value();
        let searches_s = self.searches_left_s * self.search_factor.value();
        let left_s = self.load_left_s + searches_s + trials * self.trial_extra_s.value() + launches_s;
        // The requests of a plan may take longer than a `Duration` can hold.
        Duration::try_from_secs_f64(left_s).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_catalogue::fixture::{BALANCER, TestTree};
    use paceline_catalogue::{Plan, estimate as planned_length, order};
    use paceline_record::fixture::trial;

    #[test]
    fn a_round_is_announced_with_the_length_of_its_plan() {
        let load = "[[load]]\nname = \"c\"\nconnections = 4\nduration = \"3s\"\n";
        let tree = TestTree::with(&["a-one"]);
        tree.write("balancers/plain/balancer.toml", BALANCER);
        tree.write("balancers/plain/plain.conf", "to @ADDRESS@\n");
        for (keys, of_load) in
            [("", ""), ("instances = 4\nbalancer = \"plain\"\n", ""), ("", "first_run = true\n")]
        {
            let plan = format!(
                "name = \"one\"\nrepeats = 2\nworkloads = [\"hello\"]\nforms = [\"single\"]\n{keys}{load}{of_load}"
            );
            let cells = Plan::parse("one.toml", &plan).unwrap().resolve(&tree.catalogue()).unwrap().cells;
            let launches = order(&cells, 2, 7);
            let warm_up = LaunchWarmUp::Continuous { limit: Duration::from_secs(60) };
            let announced = RoundEstimate::from_launches(&launches, warm_up).left();
            let difference = announced.abs_diff(planned_length(&launches, warm_up));
            assert!(difference < Duration::from_millis(1), "{announced:?} for {plan}");
        }
    }

    #[test]
    fn a_finished_search_corrects_the_length_of_the_next() {
        let plan = "name = \"one\"\nrepeats = 2\nworkloads = [\"hello\"]\nforms = [\"single\"]\n\
                    [[load]]\nname = \"most\"\nload = \"capacity\"\nconnections = 4\nduration = \"100s\"\n\
                    objective = \"response.p99<10ms\"\n";
        let tree = TestTree::with(&["a-one"]);
        let cells = Plan::parse("one.toml", plan).unwrap().resolve(&tree.catalogue()).unwrap().cells;
        let launches = order(&cells, 2, 7);
        let search = cells[0].load.expected_length();
        let mut estimate =
            RoundEstimate::from_launches(&launches, LaunchWarmUp::Continuous { limit: Duration::ZERO });
        assert!(estimate.left() > search * 2, "{:?}", estimate.left());
        // This search takes hardly any time. The factor is then about 0.5: the mean of the guess (1) and this search
        // (0).
        estimate.launch_begins(&launches[0]);
        estimate.trial_begins();
        estimate.trial_done(&Trial { load: cells[0].load.record(), error: None, ..trial() });
        let left = estimate.left();
        assert!(search / 4 < left && left < search * 3 / 4, "{left:?} of {search:?}");
    }
}
