//! Sessions in simulation: every step of a session ends exactly once, or is counted as not reached, and uses only the
//! values of the user that sends it. The same holds for requests whose redirects are followed.

use crate::support::{closed_loop, open_loop};
use paceline_engine::session::{Extract, ExtractSource, PlannedStep, Session, SessionPlan};
use paceline_engine::sim::{Act, Connect, Script, VirtualClock, simulate};
use paceline_engine::{
    BodyCheck, Bound, Ending, Nanos, Random, RequestKind, Requests, ResponseCheck, Settings, Slot, Tally,
    Think, ThreadOutcome,
};
use paceline_http::h2::Http2Request;
use paceline_http::{LineFiles, Method, Request, Scheme, Url};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

const THINK: Nanos = Nanos::from_millis(20);

/// The customers of a shop: `/login` returns a token and a cookie, `/order` and `/logout` require both, in this order.
#[derive(Default)]
pub struct Customers {
    /// By login: the number of requests that were answered.
    progress: Vec<u64>,
    strangers: Rc<Cell<u64>>,
}

impl Customers {
    /// Customers; requests that are not of one that has logged in are counted in `strangers`.
    pub fn new(strangers: &Rc<Cell<u64>>) -> Self {
        Self { progress: Vec::new(), strangers: Rc::clone(strangers) }
    }

    /// The status, the fields and the body of the response to a request.
    pub fn answer(&mut self, text: &str) -> (u16, String, String) {
        let lower = text.to_ascii_lowercase();
        if text.starts_with("POST /login ") {
            assert!(!lower.contains("\r\ncookie:"), "a new session has no cookie: {text}");
            self.progress.push(1);
            let token = self.progress.len();
            return (
                200,
                format!("Set-Cookie: sid={token}; Path=/\r\n"),
                format!("{{\"token\": \"t{token}\"}}"),
            );
        }
        let token = lower.split("cookie: sid=").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
        let expected = if text.starts_with("GET /order ") { 1 } else { 2 };
        let is_known = token.is_some_and(|token: usize| {
            self.progress
                .get_mut(token - 1)
                .is_some_and(|done| std::mem::replace(done, *done + 1) == expected)
                && lower.contains(&format!("\r\nauthorization: bearer t{token}\r\n"))
        });
        if !is_known {
            self.strangers.set(self.strangers.get() + 1);
        }
        (if is_known { 200 } else { 401 }, String::new(), String::new())
    }
}

/// A shop that serves each request in a millisecond, and one in `trouble` requests badly.
struct Shop {
    trouble: u64,
    random: Random,
    customers: Customers,
    heard: Vec<u8>,
}

impl Shop {
    fn new(trouble: u64, seed: u64, strangers: &Rc<Cell<u64>>) -> Self {
        Self { trouble, random: Random::new(seed), customers: Customers::new(strangers), heard: Vec::new() }
    }
}

impl Script for Shop {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        Connect::Accept(Nanos::from_micros(100))
    }

    fn read_request(&mut self, _: Slot, request: &[u8]) {
        self.heard = request.to_vec();
    }

    fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        let text = String::from_utf8(std::mem::take(&mut self.heard)).unwrap();
        let (mut status, mut fields, mut body) = self.customers.answer(&text);
        let at = now + Nanos::from_millis(1);
        let mut closes = false;
        if self.trouble > 0 && self.random.below(self.trouble) == 0 {
            match self.random.below(5) {
                0 => return acts.push((at, Act::Reset)),
                1 => return,
                2 => body = "{}".to_owned(),
                3 => status = 503,
                _ => {
                    closes = true;
                    fields += "Connection: close\r\n";
                }
            }
        }
        let text = format!("HTTP/1.1 {status} X\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len());
        // In two pieces, so that a value is extracted from a response that did not arrive at once.
        let (first, second) = text.split_at(text.len() / 2);
        acts.push((at, Act::Send(Rc::from(first.as_bytes()))));
        acts.push((at + Nanos(1_000), Act::Send(Rc::from(second.as_bytes()))));
        if closes {
            acts.push((at + Nanos(2_000), Act::Close));
        }
    }
}

/// A request, also as HTTP/2 sends it.
fn kind(method: &str, path: &str, with_token: bool) -> (RequestKind, Http2Request) {
    let mut request = Request::get(&Url::parse(&format!("http://a{path}")).unwrap());
    request.method = method.to_owned();
    if with_token {
        request.headers.push(("Authorization".to_owned(), "Bearer {var:token}".to_owned()));
    }
    let mut files = LineFiles::default();
    files.set_variables(vec![("token".to_owned(), 0)]);
    let check = ResponseCheck { status: None, body: BodyCheck::Any };
    let http2 = request.compile_http2(Scheme::Http, &files).unwrap();
    (
        RequestKind { weight: 1, template: request.compile(&files).unwrap(), method: Method::Other, check },
        http2,
    )
}

/// Log in, order after a pause, log out.
fn shopping() -> Requests {
    let (kinds, http2) =
        [kind("POST", "/login", false), kind("GET", "/order", true), kind("GET", "/logout", true)]
            .into_iter()
            .unzip();
    let token =
        Extract { variable: 0, name: "token".to_owned(), from: ExtractSource::Json("/token".to_owned()) };
    let plan = SessionPlan {
        sessions: vec![Session { weight: 1, first: 0, count: 3 }],
        steps: vec![
            PlannedStep { think: None, extract: vec![token] },
            PlannedStep { think: Some(Think::constant(THINK)), extract: Vec::new() },
            PlannedStep::default(),
        ],
        variables: 1,
        takes_cookies: true,
        keeps_cookies: false,
        begins_with_each: false,
    };
    Requests::from_kinds(kinds, 0).with_http2(http2).with_sessions(plan)
}

/// The same load by users of the shop.
pub fn with_sessions(settings: Settings) -> Settings {
    Settings { requests: Arc::new(shopping()), ..settings }
}

/// The requests that ended well.
pub fn ok(tally: &Tally) -> u64 {
    tally.counts.endings[Ending::Ok as usize]
}

fn run(settings: &Settings, trouble: u64, seed: u64) -> (ThreadOutcome, u64, u64) {
    let strangers = Rc::new(Cell::new(0));
    run_against(settings, Shop::new(trouble, seed, &strangers), &strangers)
}

/// Runs and checks the conditions that hold for any server. Also returns how many sessions were started and completed.
pub fn run_against(
    settings: &Settings,
    server: impl Script,
    strangers: &Rc<Cell<u64>>,
) -> (ThreadOutcome, u64, u64) {
    let clock = VirtualClock::new(Nanos::ZERO);
    let outcome = simulate(settings, server, &clock).unwrap();
    assert_eq!(strangers.get(), 0, "every step had the values of its own session");
    assert!(outcome.total.counts.add_up(), "{:?}", outcome.total.counts);
    let [login, order, logout] = outcome.by_request.as_slice() else { panic!("three steps") };
    for step in [login, order, logout] {
        assert!(step.counts.add_up(), "{:?}", step.counts);
    }
    let scheduled = |tally: &Tally| tally.counts.scheduled;
    // A step is reached only if the previous one was ok; the missing ones were cut off by the end.
    let failed: u64 = [login, order, logout].map(|step| scheduled(step) - ok(step)).iter().sum();
    let cut_off = (ok(login) - scheduled(order)) + (ok(order) - scheduled(logout));
    assert_eq!(scheduled(login), ok(logout) + failed + cut_off);
    assert_eq!(outcome.session_times[0].count(), ok(logout), "one time for each completed session");
    let (started, completed) = (scheduled(login), ok(logout));
    (outcome, started, completed)
}

#[test]
fn sessions_in_an_open_loop_start_by_the_schedule_and_take_their_steps_and_pauses() {
    let settings = with_sessions(open_loop(100.0, 8, 10));
    let (outcome, started, completed) = run(&settings, 0, 1);
    assert_eq!((started, completed), (1_000, 1_000));
    assert_eq!(outcome.total.counts.scheduled, 3_000);
    // Three responses of 1.001 ms and the pause.
    let times = &outcome.session_times[0];
    let (min, max) = (times.min().unwrap(), times.max().unwrap());
    assert!(min >= THINK.0 + 3_003_000 && max < THINK.0 + 3_100_000, "{min} to {max}");
    let in_window = outcome.sessions_completed[0];
    assert!((990..=1_000).contains(&in_window), "as many as begin in the window: {in_window}");
    // A step is due when its pause is over, so that no response time includes a pause.
    let [_, order, _] = outcome.by_request.as_slice() else { panic!("three steps") };
    let response = order.times(paceline_engine::Measure::Response).max().unwrap();
    assert!(response < 1_100_000, "{response}");
}

#[test]
fn sessions_that_wait_for_a_user_have_connection_wait() {
    // Each takes 23 ms: one user completes 43 a second.
    let settings = with_sessions(open_loop(100.0, 1, 2)).with(|job| job.drain = Nanos::from_secs(30));
    let (outcome, started, completed) = run(&settings, 0, 1);
    assert_eq!((started, completed), (200, 200));
    let last = outcome.session_times[0].max().unwrap();
    assert!(last > 2_000_000_000, "the last was due at 2 s and served at 4.6 s: {last}");
    let in_window = outcome.sessions_completed[0];
    assert!((84..=88).contains(&in_window), "most are completed in the drain: {in_window}");
}

#[test]
fn a_closed_loop_of_users_has_the_requested_number_of_sessions() {
    let settings = with_sessions(closed_loop(4, 1)).with(|job| job.window = Bound::Requests(50));
    let (outcome, started, completed) = run(&settings, 0, 1);
    assert_eq!((started, completed, outcome.total.counts.scheduled), (50, 50, 150));
}

#[test]
fn the_end_of_a_run_cuts_sessions_off_between_steps() {
    let settings = with_sessions(open_loop(100.0, 8, 1)).with(|job| job.drain = Nanos::from_millis(5));
    let (_, started, completed) = run(&settings, 0, 1);
    assert_eq!(started, 100);
    assert!(completed < started, "two or three were in their pause");
}

/// Settings determined by a seed: open and closed loops, with and without a warm-up, of any length.
pub fn any_settings(seed: u64, random: &mut Random) -> Settings {
    let connections = 1 + random.below(8) as u32;
    let mut settings = match random.below(2) {
        0 => open_loop(20.0 + random.unit() * 500.0, connections, 1),
        _ => closed_loop(connections, 1),
    };
    if seed.is_multiple_of(5) && !settings.job.load.is_open() {
        settings.job.window = Bound::Requests(1 + random.below(40));
    }
    settings.job.timeout = Nanos::from_millis(1 + random.below(200));
    settings.job.connect_timeout = Nanos::from_millis(1 + random.below(300));
    settings.job.drain = Nanos::from_millis(random.below(500));
    if random.below(2) == 0 && !matches!(settings.job.window, Bound::Requests(_)) {
        settings.job.warmup = Nanos::from_millis(random.below(300));
    }
    settings
}

#[test]
fn every_step_is_accounted_for() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let settings = any_settings(seed, &mut random);
        run(&with_sessions(settings), 2 + random.below(20), seed);
    }
}

/// Redirects `/` to `/there`, closing the connection in one of the ways that HTTP/1.1 has, and answers that. It serves
/// each request in a millisecond, and one in `trouble` requests or connections badly.
struct Moved {
    trouble: u64,
    random: Random,
    redirects: bool,
}

impl Moved {
    fn is_bad(&mut self) -> bool {
        self.trouble > 0 && self.random.below(self.trouble) == 0
    }
}

impl Script for Moved {
    fn connect(&mut self, _: Slot, now: Nanos) -> Connect {
        // A run begins only if its first connections can be made.
        match now > Nanos::from_millis(1) && self.is_bad() {
            true if self.random.below(2) == 0 => Connect::Ignore,
            true => Connect::Refuse(Nanos::from_millis(1)),
            false => Connect::Accept(Nanos::from_millis(2)),
        }
    }

    fn read_request(&mut self, _: Slot, request: &[u8]) {
        self.redirects = request.starts_with(b"GET / ");
    }

    fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        let at = now + Nanos::from_millis(1);
        if self.is_bad() {
            match self.random.below(2) {
                0 => acts.push((at, Act::Reset)),
                _ => return,
            }
        }
        let [text, closes] = match (self.redirects, self.random.below(3)) {
            (false, _) => ["200 OK\r\nContent-Length: 0\r\n", ""],
            (true, 0) => ["302 X\r\nLocation: /there\r\nContent-Length: 0\r\n", ""],
            (true, 1) => ["302 X\r\nLocation: /there\r\nContent-Length: 0\r\n", "Connection: close\r\n"],
            (true, _) => ["302 X\r\nLocation: /there\r\n", "Connection: close\r\n"],
        };
        let text = format!("HTTP/1.1 {text}{closes}\r\n");
        acts.push((at, Act::Send(Rc::from(text.as_bytes()))));
        if !closes.is_empty() {
            acts.push((at + Nanos(1_000), Act::Close));
        }
    }
}

/// Runs and checks that every request ended once.
fn run_redirected(settings: &Settings, trouble: u64, seed: u64) -> ThreadOutcome {
    let server = Moved { trouble, random: Random::new(seed), redirects: false };
    run_redirected_by(settings, server)
}

/// The same with another server.
pub fn run_redirected_by(settings: &Settings, server: impl Script) -> ThreadOutcome {
    let check = ResponseCheck { status: None, body: BodyCheck::Any };
    let mut request = Request::get(&Url::parse("http://a/").unwrap());
    // A simulated server hears requests only if their length may differ.
    request.headers.push(("Number".to_owned(), "{seq}".to_owned()));
    let template = request.compile(&LineFiles::default()).unwrap();
    let http2 = request.compile_http2(Scheme::Http, &LineFiles::default()).unwrap();
    let kind = RequestKind { weight: 1, template, method: Method::Other, check };
    let kinds = vec![kind];
    let plan = SessionPlan::of_single_steps(&kinds);
    let requests = Requests::from_kinds(kinds, 0).with_http2(vec![http2]).with_sessions(plan);
    let settings = Settings { requests: Arc::new(requests), ..settings.clone() };
    let settings = settings.with(|job| job.follow = 1);
    let outcome = simulate(&settings, server, &VirtualClock::new(Nanos::ZERO)).unwrap();
    assert!(outcome.total.counts.add_up(), "{:?}", outcome.total.counts);
    assert_eq!(outcome.total.counts.violations, 0);
    outcome
}

#[test]
fn a_redirect_that_closes_the_connection_is_followed_on_the_next() {
    for settings in [open_loop(20.0, 4, 10), closed_loop(4, 1)] {
        let outcome = run_redirected(&settings, 0, 1);
        let counts = &outcome.total.counts;
        let all = counts.scheduled;
        assert!(all >= 200, "{all}");
        assert_eq!((ok(&outcome.total), counts.status.as_slice()), (all, [(200, all)].as_slice()));
        assert_eq!(outcome.connections.redirects, all);
        // Two responses of a millisecond, and for two thirds of the requests a connection in between.
        let times = outcome.total.times(paceline_engine::Measure::Service);
        let (min, max) = (times.min().unwrap(), times.max().unwrap());
        assert!(
            (2_000_000..2_100_000).contains(&min) && (4_000_000..4_100_000).contains(&max),
            "{min} {max}"
        );
    }
}

#[test]
fn every_redirected_request_ends_once() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let settings = any_settings(seed, &mut random);
        run_redirected(&settings, 2 + random.below(20), seed);
    }
}
