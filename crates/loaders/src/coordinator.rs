//! The coordinator: starts the loaders, lets them begin together, and collects their results.
//!
//! Each wait has a limit. Before the start, a loader that fails ends the attempt; after it, a loader that fails is
//! lost, and the others continue: their parts of the schedule do not depend on it.

use crate::message::{Done, FromLoader, LoaderFailure, LoaderOrder, MAX_LINE_BYTES, ToLoader};
use crate::overlap::Overlap;
use crate::{LoaderPart, LoadersError, Merge};
use paceline_engine::{Nanos, Phase, scheduled_in_window};
use paceline_host::channel::{Channel, ChannelEvent};
use paceline_host::clock::{ours, theirs};
use paceline_host::system::monotonic_ns;
use paceline_host::{Interrupt, KeptOutput, Place, ProgramCopy, SshConnection, StartedProgram};
use paceline_job::{BodyExpectation, Bound, Content, Job, LoadModel, LoaderShare, RequestSpec, Shape};
use paceline_record::{ClockOffset, Loader, Run, Span};
use paceline_run::{Inputs, KEPT_FILE_BYTES, PhaseEventWriter, Prepared};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

/// The command of a loader.
const LOADER: &str = "loader";
/// Longest time until a started loader has read its order, on a busy machine behind a slow link.
const START_LIMIT: Duration = Duration::from_secs(30);
/// Longest time for a round trip, and for a result after its run should be over.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// Time between the last start message and the start: some round trips, with a margin for a busy machine.
const START_LEAD: Nanos = Nanos::from_millis(250);
/// Longest time that a loader takes to end when it is no longer needed.
const END_LIMIT: Duration = Duration::from_secs(5);
/// Length of the kept end of a lost loader's output, in bytes.
const MAX_SAID_BYTES: usize = 4096;
/// Messages of loaders that wait to be handled: one that sends without end waits.
const MAX_MESSAGES: usize = 64;

/// Progress, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoaderProgress {
    /// All loaders are connected and their clocks compared: the load begins.
    Started,
    /// A loader is lost; the others continue.
    Lost,
}

/// The program of the loaders.
#[derive(Clone, Debug)]
pub enum LoaderProgram {
    /// A file of this machine, for loaders here.
    Here(PathBuf),
    /// Sent to the places that do not have it.
    Sent(ProgramCopy),
}

/// Runs one job on several loaders.
#[derive(Debug)]
pub struct Coordinator {
    /// As for one generator: its settings contain the whole job, its gates are judged by the whole record.
    prepared: Prepared,
    /// The whole job, with the seed of all.
    job: Job,
    loaders: Vec<RunningLoader>,
    messages: Receiver<(usize, LoaderMessage)>,
    interrupt: Interrupt,
    begun_ns: u64,
}

/// One loader, seen from here.
#[derive(Debug)]
struct RunningLoader {
    host: String,
    channel: Channel,
    had: Option<u64>,
    before: Option<ClockOffset>,
    after: Option<ClockOffset>,
    done: Option<Box<Done>>,
    lost: Option<LoaderFailure>,
}

/// A message from a loader's channel.
#[derive(Debug)]
enum LoaderMessage {
    Message(FromLoader),
    /// Its output has ended, with its standard error.
    Ended(String),
}

impl LoaderMessage {
    fn from_event(event: ChannelEvent) -> Self {
        let message = match event {
            ChannelEvent::Message(_, line) => serde_json::from_slice(&line).map_err(io::Error::from),
            ChannelEvent::Invalid(error) => Err(error),
            ChannelEvent::Ended(said) => return Self::Ended(said),
        };
        Self::Message(message.unwrap_or_else(|error| {
            let what = format!("cannot read a message of the loader: {error}");
            FromLoader::Failed(LoaderFailure { what, hint: None, is_usage: false })
        }))
    }
}

impl Coordinator {
    /// Starts a loader on each place, and gives it its share of the job. `prepared` is made of
    /// [`Coordinator::share_of_first`], `connections` are those of all loaders.
    ///
    /// # Errors
    /// [`LoadersError`] when a process does not start or the connections do not suffice.
    pub fn start(
        prepared: Prepared,
        connections: u32,
        places: &[Place],
        program: &LoaderProgram,
        interrupt: Interrupt,
    ) -> Result<Self, LoadersError> {
        let (sender, messages) = mpsc::sync_channel(MAX_MESSAGES);
        let seed = Some(prepared.settings.seed);
        let job = Job { connections, seed, ..prepared.settings.job.clone() };
        let mut coordinator =
            Self { prepared, job, loaders: Vec::new(), messages, interrupt, begun_ns: monotonic_ns() };
        let started = start_all(places, |index, place| {
            RunningLoader::start(place, program, index, sender.clone(), interrupt)
        });
        let mut failed = None;
        for result in started {
            match result {
                Ok(loader) => coordinator.loaders.push(loader),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if let Some(error) = failed {
            return Err(if interrupt.requested() { LoadersError::Interrupted } else { error });
        }
        let orders = orders(&coordinator.job, places.len() as u32);
        for (loader, order) in coordinator.loaders.iter().zip(orders) {
            loader.send_message(&ToLoader::Order(Box::new(order)));
        }
        Ok(coordinator)
    }

    /// The job of one loader, by which the job of all is prepared and checked on this machine.
    ///
    /// # Errors
    /// [`LoadersError::TooFewConnections`].
    pub fn share_of_first(job: &Job, loaders: u32) -> Result<Job, LoadersError> {
        if job.connections < loaders.saturating_mul(job.threads) {
            let (connections, threads) = (job.connections, job.threads);
            return Err(LoadersError::TooFewConnections { connections, loaders, threads });
        }
        Ok(Job { connections: job.connections_of(0, loaders), ..job.clone() })
    }

    /// Carries the run out and returns its judged record. `events` receives phases as they begin, on this machine's
    /// clock; `progress` receives other events, with the host.
    ///
    /// # Errors
    /// [`LoadersError`] when there is no result.
    pub fn carry_out(
        mut self,
        argv: Vec<String>,
        events: Option<&PhaseEventWriter>,
        mut progress: impl FnMut(LoaderProgress, &str),
    ) -> Result<Run, LoadersError> {
        let started_at = paceline_run::wall_clock::now_rfc3339();
        let report_phase = |phase, at_ns| events.into_iter().for_each(|events| events.write(phase, at_ns));
        report_phase(Phase::Connect, self.begun_ns);
        self.await_connections(Duration::from(self.job.connect_timeout) + START_LIMIT)?;
        self.compare_clocks_before()?;
        let epoch = Nanos(monotonic_ns()) + START_LEAD + Nanos(self.worst_uncertainty_ns());
        let epoch_ns = epoch.0;
        for loader in &self.loaders {
            let before = loader.before.unwrap_or_default();
            loader.send_message(&ToLoader::Start { epoch_ns: theirs(epoch_ns, &before) });
        }
        progress(LoaderProgress::Started, "");
        let phases = planned_phases(epoch, self.job.warmup, self.window_length());
        self.await_results(epoch_ns, phases, &report_phase, &mut progress);
        report_phase(Phase::End, monotonic_ns());
        for loader in self.loaders.iter_mut().filter(|loader| loader.lost.is_none()) {
            // A loader that no longer answers still has a result.
            loader.after = loader.channel.compare_clocks(ANSWER_LIMIT).unwrap_or_default();
        }
        self.record(argv, started_at, epoch_ns)
    }

    /// Processes the next message of any loader; false after a time without one.
    fn receive_message(&mut self, wait: Duration) -> bool {
        match self.messages.recv_timeout(wait) {
            Ok((index, message)) => {
                if let Some(loader) = self.loaders.get_mut(index) {
                    loader.handle_message(message);
                }
                true
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => false,
        }
    }

    fn await_connections(&mut self, limit: Duration) -> Result<(), LoadersError> {
        let deadline = Instant::now() + limit;
        while let Some(missing) = self.loaders.iter().position(|loader| loader.had.is_none()) {
            if self.interrupt.requested() {
                return Err(LoadersError::Interrupted);
            }
            if let Some(loader) = self.loaders.iter().find(|loader| loader.lost.is_some()) {
                return Err(loader.not_ready());
            }
            if Instant::now() > deadline {
                let what = format!("did not open its connections within {} s", limit.as_secs());
                let host = self.loaders[missing].host.clone();
                return Err(LoadersError::NotReady { host, what, hint: None });
            }
            self.receive_message(Interrupt::CHECK_INTERVAL);
        }
        Ok(())
    }

    /// Compares the clock of each loader, one loader after the other, so that none waits for another's.
    fn compare_clocks_before(&mut self) -> Result<(), LoadersError> {
        for loader in &mut self.loaders {
            loader.before = loader.channel.compare_clocks(ANSWER_LIMIT).map_err(|_| loader.silent())?;
        }
        while self.receive_message(Duration::ZERO) {}
        match self.loaders.iter().find(|loader| loader.lost.is_some()) {
            Some(loader) => Err(loader.not_ready()),
            None => Ok(()),
        }
    }

    /// The largest uncertainty of any loader's clock.
    fn worst_uncertainty_ns(&self) -> u64 {
        let offsets = self.loaders.iter().filter_map(|loader| loader.before);
        offsets.map(|offset| offset.high_ns.abs_diff(offset.low_ns)).max().unwrap_or(0)
    }

    /// Planned length of the window; none where a closed loop sends a number of requests.
    fn window_length(&self) -> Option<Nanos> {
        match (self.job.window, self.job.load.is_open()) {
            (Bound::Duration(window), _) => Some(window),
            (Bound::Requests(_), true) => {
                Some(paceline_engine::WindowLength::from_settings(&self.prepared.settings).length())
            }
            (Bound::Requests(_), false) => None,
        }
    }

    /// Waits for the result of every loader that is not lost, and reports phases that begin meanwhile. Without a
    /// planned end there is no limit: a loader gives up when its server no longer answers, and a lost connection ends
    /// its output.
    fn await_results(
        &mut self,
        epoch_ns: u64,
        mut phases: Vec<(Phase, u64)>,
        report_phase: &dyn Fn(Phase, u64),
        progress: &mut impl FnMut(LoaderProgress, &str),
    ) {
        let (length, warmup, drain) = (self.window_length(), self.job.warmup, self.job.drain);
        let limit = |length: Nanos| {
            let end = Nanos(epoch_ns) + warmup + length + drain;
            Instant::now() + Duration::from(end.since(Nanos(monotonic_ns()))) + ANSWER_LIMIT
        };
        let mut deadline = length.map(limit);
        let mut stopped = false;
        let mut reported = vec![false; self.loaders.len()];
        while self.loaders.iter().any(|loader| loader.done.is_none() && loader.lost.is_none()) {
            if self.interrupt.requested() && !stopped {
                stopped = true;
                self.loaders.iter().for_each(|loader| loader.send_message(&ToLoader::Stop));
                deadline = Some(Instant::now() + ANSWER_LIMIT);
            }
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                self.loaders.iter_mut().for_each(RunningLoader::give_up);
            }
            let next_ns = phases.first().map_or(u64::MAX, |(_, at_ns)| at_ns.saturating_sub(monotonic_ns()));
            self.receive_message(Interrupt::CHECK_INTERVAL.min(Duration::from_nanos(next_ns)));
            while phases.first().is_some_and(|(_, at_ns)| *at_ns <= monotonic_ns()) {
                let (phase, at_ns) = phases.remove(0);
                report_phase(phase, at_ns);
            }
            for (loader, reported) in self.loaders.iter().zip(&mut reported) {
                if loader.lost.is_some() && !std::mem::replace(reported, true) {
                    progress(LoaderProgress::Lost, &loader.host);
                }
            }
        }
    }

    /// The record of all.
    fn record(mut self, argv: Vec<String>, started_at: String, epoch_ns: u64) -> Result<Run, LoadersError> {
        let shares = scheduled_in_window(&self.prepared.settings, self.loaders.len() as u32);
        let begun_ns = self.begun_ns;
        let mut parts = Vec::with_capacity(self.loaders.len());
        for (index, running) in self.loaders.iter_mut().enumerate() {
            running.channel.close();
            let share = shares.as_ref().and_then(|shares| shares.get(index)).copied();
            parts.push(running.part(share, epoch_ns, begun_ns));
        }
        let mut merge = Merge::new(Overlap::from_parts(&parts));
        for part in parts {
            merge.add(part)?;
        }
        merge.finish(&self.prepared, &self.job, argv, started_at)
    }
}

impl Drop for Coordinator {
    /// No loader outlives the run: each ends when its input does, and is killed if it does not.
    fn drop(&mut self) {
        self.loaders.iter().for_each(|loader| loader.channel.close());
        let deadline = Instant::now() + END_LIMIT;
        self.loaders.iter_mut().for_each(|loader| loader.channel.end(deadline));
    }
}

impl RunningLoader {
    fn start(
        place: &Place,
        program: &LoaderProgram,
        index: usize,
        sender: SyncSender<(usize, LoaderMessage)>,
        interrupt: Interrupt,
    ) -> Result<Self, LoadersError> {
        let host = place.name().to_owned();
        let failed = |source| LoadersError::Start { host: host.clone(), source };
        let program = match program {
            LoaderProgram::Here(path) => spawn(place, path).map_err(failed)?,
            LoaderProgram::Sent(shipment) => {
                shipment.start(place, SshConnection::Shared, &[LOADER], interrupt)?
            }
        };
        let deliver = move |event| sender.send((index, LoaderMessage::from_event(event))).is_ok();
        let channel = Channel::new(program, MAX_LINE_BYTES, deliver).map_err(failed)?;
        let (had, before, after, done, lost) = (None, None, None, None, None);
        Ok(Self { host, channel, had, before, after, done, lost })
    }

    /// Sends a message. An unreachable loader is noticed by the end of its output.
    fn send_message(&self, message: &ToLoader) {
        let _ = self.channel.send(message);
    }

    fn handle_message(&mut self, message: LoaderMessage) {
        match message {
            LoaderMessage::Message(FromLoader::Connected { had }) => self.had = Some(had),
            LoaderMessage::Message(FromLoader::Done(done)) => self.done = Some(done),
            LoaderMessage::Message(FromLoader::Failed(failed)) => self.lost = Some(failed),
            LoaderMessage::Ended(_) if self.done.is_some() || self.lost.is_some() => {}
            LoaderMessage::Ended(said) => {
                let what = if said.is_empty() { "ended without a result".to_owned() } else { said };
                self.lost = Some(LoaderFailure { what, hint: None, is_usage: false });
            }
        }
    }

    /// No result in time.
    fn give_up(&mut self) {
        if self.done.is_none() && self.lost.is_none() {
            let what = "the result did not arrive within the time limit".to_owned();
            self.lost = Some(LoaderFailure { what, hint: None, is_usage: false });
        }
    }

    fn not_ready(&self) -> LoadersError {
        let host = self.host.clone();
        match self.lost.clone() {
            Some(LoaderFailure { what, hint, is_usage: true }) => LoadersError::Refused { host, what, hint },
            Some(LoaderFailure { what, hint, is_usage: false }) => {
                LoadersError::NotReady { host, what, hint }
            }
            None => self.silent(),
        }
    }

    fn silent(&self) -> LoadersError {
        let what = format!("did not respond within {} s", ANSWER_LIMIT.as_secs());
        LoadersError::NotReady { host: self.host.clone(), what, hint: None }
    }

    /// Its contribution to the record, on the coordinator's clock.
    fn part(&mut self, share: Option<u64>, epoch_ns: u64, begun_ns: u64) -> LoaderPart {
        let done = self.done.take();
        let mut loader = Loader {
            host: self.host.clone(),
            share,
            clock_before: self.before,
            clock_after: self.after,
            ..Loader::default()
        };
        let Some(done) = done else {
            loader.lost = Some(self.lost.take().map_or_else(String::new, |lost| lost.what));
            return LoaderPart { loader, run: None, noted: Vec::new() };
        };
        let run = done.run;
        // Uses the bounds after the run: if the clocks drifted apart, so did the windows.
        let offset = self.after.or(self.before).unwrap_or_default();
        let from_epoch = |at_ns: u64| at_ns.saturating_sub(run.phases.warmup.start_ns);
        let theirs_at = |at_ns: u64| done.epoch_ns.saturating_add(from_epoch(at_ns));
        let at = |at_ns: u64| ours(theirs_at(at_ns), &offset).saturating_sub(begun_ns);
        let agreed_ns = self.before.map_or(epoch_ns, |before| theirs(epoch_ns, &before));
        loader.late_ns = Some(done.epoch_ns.saturating_sub(agreed_ns)).filter(|late_ns| *late_ns > 0);
        loader.window =
            Some(Span { start_ns: at(run.phases.window.start_ns), end_ns: at(run.phases.window.end_ns) });
        loader.connections = Some(run.connections.clone());
        loader.generator = Some(run.generator.clone());
        loader.network = done.network;
        let noted = done.noted_ns.into_iter().map(|sends| sends.into_iter().map(Nanos).collect()).collect();
        LoaderPart { loader, run: Some(run), noted }
    }
}

/// The phases of a load that begins at `epoch`, each with its begin; without a planned end of the window, the drain is
/// not among them.
fn planned_phases(epoch: Nanos, warmup: Nanos, window: Option<Nanos>) -> Vec<(Phase, u64)> {
    let window_at = epoch + warmup;
    let drain = window.map(|length| (Phase::Drain, window_at + length));
    let phases = [(Phase::Warmup, epoch), (Phase::Window, window_at)].into_iter().chain(drain);
    phases.map(|(phase, at)| (phase, at.0)).collect()
}

/// Starts a loader for each place: on different places at once, on one place one after the other. So each place is sent
/// the program once, and its sshd does not refuse connections: from ten that have not logged in yet on, it closes some
/// (`MaxStartups` in `sshd_config(5)`). After an error, no more are started on that place.
fn start_all<T: Send>(
    places: &[Place],
    start: impl Fn(usize, &Place) -> Result<T, LoadersError> + Sync,
) -> Vec<Result<T, LoadersError>> {
    let mut groups: Vec<(&Place, Vec<usize>)> = Vec::new();
    for (index, place) in places.iter().enumerate() {
        match groups.iter_mut().find(|(known, _)| *known == place) {
            Some((_, indices)) => indices.push(index),
            None => groups.push((place, vec![index])),
        }
    }
    let start_group = |place: &Place, indices: &[usize]| {
        let mut started = Vec::with_capacity(indices.len());
        for index in indices {
            let result = start(*index, place);
            let has_failed = result.is_err();
            started.push((*index, result));
            if has_failed {
                break;
            }
        }
        started
    };
    let panicked = |place: &Place| LoadersError::Start {
        host: place.name().to_owned(),
        source: io::Error::other("a thread panicked"),
    };
    let start_group = &start_group;
    let mut started: Vec<_> = thread::scope(|scope| {
        let mut starting = Vec::with_capacity(groups.len());
        for (place, indices) in &groups {
            let place: &Place = place;
            starting.push((place, scope.spawn(move || start_group(place, indices))));
        }
        let joined = starting.into_iter().map(|(place, thread)| {
            thread.join().unwrap_or_else(|_| vec![(usize::MAX, Err(panicked(place)))])
        });
        joined.flatten().collect()
    });
    started.sort_by_key(|(index, _)| *index);
    started.into_iter().map(|(_, result)| result).collect()
}

/// Starts a loader of this machine.
fn spawn(place: &Place, program: &Path) -> io::Result<StartedProgram> {
    let mut command = place.command(&program.to_string_lossy(), &[LOADER]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let errors =
        KeptOutput::from_stream(child.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?, MAX_SAID_BYTES)?;
    Ok(StartedProgram { child, output: BufReader::new(output), errors })
}

/// The order of each loader. Only one exists at a time: each has every text and moment of the job.
fn orders(job: &Job, of: u32) -> impl Iterator<Item = LoaderOrder> {
    let moments_ns = match &job.load {
        LoadModel::Open { shape: Shape::Trace(trace), .. } => {
            Some(trace.moments.iter().map(|moment| moment.0).collect::<Vec<u64>>())
        }
        LoadModel::Open { .. } | LoadModel::Closed => None,
    };
    let folder = std::env::current_dir().unwrap_or_default();
    let requests: Vec<RequestSpec> = job.requests.iter().cloned().map(with_texts).collect();
    (0..of).map(move |index| {
        let (connections, requests) = (job.connections_of(index, of), requests.clone());
        let job = Job { connections, requests, share: Some(LoaderShare { index, of }), ..job.clone() };
        LoaderOrder { job, moments_ns: moments_ns.clone(), folder: folder.clone() }
    })
}

/// A request with the contents of its text files, which other machines need not have. Other files, and bodies that are
/// too long to be sent from memory, are read by each loader.
fn with_texts(mut request: RequestSpec) -> RequestSpec {
    let text = |content: &mut Content| {
        if let Content::File { file } = content
            && let Ok(text) = Inputs::default().read("", file).map(String::from_utf8)
            && let Ok(text) = text
        {
            *content = Content::Text(text);
        }
    };
    let is_long = |content: &Content| {
        matches!(content, Content::File { file }
            if std::fs::metadata(file).is_ok_and(|about| about.len() > KEPT_FILE_BYTES))
    };
    request.body.iter_mut().filter(|body| !is_long(body)).for_each(text);
    if let Some(BodyExpectation::Exact(content)) = &mut request.expect_body {
        text(content);
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn phases_of_any_length_are_planned() {
        let [second, warmup] = [Nanos::from_secs(1), Nanos::from_millis(500)];
        assert_eq!(
            planned_phases(second, warmup, Some(second)),
            [(Phase::Warmup, 1_000_000_000), (Phase::Window, 1_500_000_000), (Phase::Drain, 2_500_000_000)]
        );
        let phases = planned_phases(second, Nanos::NEVER, Some(Nanos::NEVER));
        assert_eq!(phases[1..], [(Phase::Window, u64::MAX), (Phase::Drain, u64::MAX)]);
        assert_eq!(planned_phases(second, warmup, None).len(), 2);
    }

    #[test]
    fn loaders_of_one_place_start_one_after_the_other() {
        let place = |host: &str| Place::Ssh { host: host.to_owned() };
        let places: Vec<Place> = ["a", "b", "a", "a", "b", "a"].map(place).into();
        let ended: Mutex<Vec<usize>> = Mutex::default();
        let start = |index: usize, at: &Place, fails: bool| {
            let mut earlier = (0..index).filter(|earlier| places[*earlier] == *at);
            assert!(earlier.all(|earlier| ended.lock().unwrap().contains(&earlier)), "{index}");
            // Others of the place would start meanwhile.
            thread::sleep(Duration::from_millis(5));
            ended.lock().unwrap().push(index);
            if fails { Err(LoadersError::Interrupted) } else { Ok(index) }
        };
        let started = start_all(&places, |index, at| start(index, at, false));
        assert_eq!(started.into_iter().collect::<Result<Vec<_>, _>>().unwrap(), [0, 1, 2, 3, 4, 5]);
        ended.lock().unwrap().clear();
        let started = start_all(&places, |index, at| start(index, at, index == 2));
        let ok: Vec<Option<usize>> = started.into_iter().map(Result::ok).collect();
        assert_eq!(ok, [Some(0), Some(1), None, Some(4)]);
    }

    #[test]
    fn every_loader_gets_the_text_that_was_read_once() {
        let named = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(named.path(), "first").unwrap();
        let body = Some(Content::File { file: named.path().to_owned() });
        let requests = vec![RequestSpec { body, ..RequestSpec::default() }];
        let job = Job { connections: 3, requests, ..Job::default() };
        let mut texts = Vec::new();
        for order in orders(&job, 2) {
            // Reading it again for the next loader would give another text.
            std::fs::write(named.path(), "second").unwrap();
            texts.push((order.job.connections, order.job.requests[0].body.clone()));
        }
        let first = Some(Content::Text("first".to_owned()));
        assert_eq!(texts, [(2, first.clone()), (1, first)]);
    }

    #[test]
    fn a_body_that_is_read_while_it_is_sent_stays_a_file() {
        let named = tempfile::NamedTempFile::new().unwrap();
        let content = || Content::File { file: named.path().to_owned() };
        for (length, is_sent) in [(KEPT_FILE_BYTES, true), (KEPT_FILE_BYTES + 1, false)] {
            named.as_file().set_len(length).unwrap();
            let request = with_texts(RequestSpec { body: Some(content()), ..RequestSpec::default() });
            match request.body {
                Some(Content::Text(text)) => assert!(is_sent && text.len() as u64 == length, "{length}"),
                body => assert!(!is_sent && body == Some(content()), "{length}"),
            }
        }
    }
}
