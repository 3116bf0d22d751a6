//! The live view: the progress of a run, for a terminal of any size. A low terminal gets a few lines; a higher one gets
//! charts of rate and times with axes, and a histogram.
//!
//! Pure: the state goes in, lines come out, none wider than requested. The binary draws them.

mod chart;
#[cfg(test)]
mod tests;

use crate::run_text::{Style, bars, columns, quantity};
use chart::LiveChart;
use paceline_record::{Counts, Phase, Second};
use paceline_stats::Histogram;
use std::collections::BTreeMap;
use std::time::Duration;

/// The state of a running run.
#[derive(Clone, Debug, Default)]
pub struct LiveView {
    /// The target.
    pub target: String,
    /// The phase according to the clock; none while connections are made.
    pub phase: Option<Phase>,
    /// The completed share of the whole run, 0 to 1; none if it is unknown.
    pub done: Option<f64>,
    /// Time until the window ends.
    pub left: Option<Duration>,
    /// Whether it was requested to stop.
    pub stopping: bool,
    /// The last completed second.
    pub last: Option<Second>,
    /// Valid responses per second, the latest last.
    pub rates: Vec<f64>,
    /// Median and 99th percentile of each second's response times (closed loop: service times), in nanoseconds.
    pub times_ns: Vec<(f64, f64)>,
    /// All of those times since the warm-up began.
    pub histogram: Histogram,
    /// Requests that did not end well since the warm-up began, by outcome.
    pub errors: BTreeMap<&'static str, u64>,
}

impl LiveView {
    /// Adds a completed second.
    pub fn add(&mut self, second: &Second, times: &Histogram) {
        let counts = Counts {
            bad_status: second.bad_status,
            bad_body: second.bad_body,
            connect_failed: second.connect_failed,
            io_failed: second.io_failed,
            timed_out: second.timed_out,
            unsent: second.unsent,
            ..Counts::default()
        };
        for (what, count) in quantity::not_ok(&counts) {
            if count > 0 {
                *self.errors.entry(what).or_default() += count;
            }
        }
        self.histogram.merge(times);
        // A partial second at the end has no meaningful rate.
        if second.length_s > 0.5 {
            self.rates.push(second.achieved_per_s);
            let (_, [p50, _, p99, _]) = times_of(second);
            self.times_ns.push((p50.unwrap_or(0) as f64, p99.unwrap_or(0) as f64));
            let surplus = self.rates.len().saturating_sub(SECONDS_KEPT);
            self.rates.drain(..surplus);
            self.times_ns.drain(..surplus);
            self.last = Some(second.clone());
        }
    }
}

/// Number of seconds for which the view keeps the rate and the times.
const SECONDS_KEPT: usize = 240;
/// Charts are shown from this height on.
const CHARTS_FROM: usize = 16;
/// Maximum rows of a chart, and of the histogram.
const MAX_CHART_ROWS: usize = 12;
const HISTOGRAM_ROWS: std::ops::RangeInclusive<usize> = 5..=10;

/// The eight heights of a bar (Unicode block elements).
const BARS: [char; 8] =
    ['\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}'];
/// Columns of the progress bar.
const DONE_COLUMNS: usize = 24;
/// Maximum columns of the sparkline.
const MAX_RATES: usize = 60;

impl LiveView {
    /// The lines: none wider than `width`, and at most `height` of them, if that is at least 5.
    pub fn lines(&self, width: usize, height: usize, colour: bool) -> Vec<String> {
        let style = Style::new(colour, width);
        let mut lines = vec![self.place(style)];
        let Some(second) = &self.last else { return lines };
        let has_charts = height >= CHARTS_FROM && width >= 40;
        lines.push(rate(second, style));
        if !has_charts {
            lines.push(self.sparkline(style));
        }
        lines.extend(times(second, style));
        lines.push(self.trouble(second, style));
        if has_charts {
            let room = height - lines.len();
            lines.extend(self.charts(second, room, style));
        }
        lines
    }

    /// Rate and times by second, and the histogram, in at most this many lines.
    fn charts(&self, second: &Second, height: usize, style: Style) -> Vec<String> {
        let rates: Vec<(f64, f64)> = self.rates.iter().map(|rate| (*rate, *rate)).collect();
        let rate_chart =
            LiveChart { title: "requests/s", values: &rates, label: quantity::count, paint: Style::good };
        let (name, _) = times_of(second);
        let title = format!("{name}, p50 \u{2588} and p99 \u{2591}");
        let time_chart =
            LiveChart { title: &title, values: &self.times_ns, label: quantity::nanos, paint: Style::warn };
        // Two titles and the axis, the title of the histogram, and the rest for their rows.
        let for_rows = height.saturating_sub(4);
        let bars_wanted = (for_rows / 3).clamp(*HISTOGRAM_ROWS.start(), *HISTOGRAM_ROWS.end());
        let histogram = bars(name, &self.histogram, bars_wanted, style);
        let used = histogram.lines().count().saturating_sub(1);
        // An even number of rows, so that half of the axis is the edge of a row.
        let rows = (for_rows.saturating_sub(used) / 4 * 2).clamp(2, MAX_CHART_ROWS);
        let mut lines = rate_chart.lines(rows, style);
        lines.extend(time_chart.lines(rows, style));
        lines.push(time_chart.axis(style));
        lines.extend(histogram.lines().map(str::to_owned));
        lines.truncate(height);
        lines
    }

    /// The phase, the time left, and a progress bar.
    fn place(&self, style: Style) -> String {
        let phase = match self.phase {
            _ if self.stopping => "stopping".to_owned(),
            None | Some(Phase::Connect) => format!("connecting to {}", self.target),
            Some(Phase::Warmup) => "warm-up".to_owned(),
            Some(Phase::Window) => "window".to_owned(),
            Some(Phase::Drain | Phase::End) => "drain: waiting for the last responses".to_owned(),
        };
        let mut line = LiveLine::new(style);
        line.add(&phase, Style::strong);
        if let (Some(left), false) = (self.left, self.stopping) {
            line.add(&format!("{} left", people(left)), Style::plain);
        }
        if let Some(done) = self.done {
            let full = (done.clamp(0.0, 1.0) * DONE_COLUMNS as f64).round() as usize;
            line.add(&("\u{2501}".repeat(full) + &"\u{2500}".repeat(DONE_COLUMNS - full)), Style::dim);
        }
        line.text
    }

    /// The rates of the latest seconds that fit, each as a share of the highest shown.
    fn sparkline(&self, style: Style) -> String {
        let room = style.width.saturating_sub(4).min(MAX_RATES);
        let shown = &self.rates[self.rates.len().saturating_sub(room)..];
        let highest = shown.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let bar = |rate: &f64| BARS[((rate / highest * 8.0).ceil() as usize).clamp(1, 8) - 1];
        format!("  {}", style.good(&shown.iter().map(bar).collect::<String>()))
    }

    /// Errors and backlog.
    fn trouble(&self, second: &Second, style: Style) -> String {
        let mut line = LiveLine::new(style);
        match self.errors.values().sum::<u64>() {
            0 => line.add("no errors", Style::plain),
            errors => line.add(&quantity::counted(errors as f64, "error"), Style::bad),
        }
        if let Some(backlog) = second.backlog {
            let text = format!("backlog {}", quantity::count(backlog as f64));
            // One hundredth of the requests of a second is always in transit.
            let behind = backlog as f64 > 0.01 * second.offered_per_s.unwrap_or(0.0) + 10.0;
            line.add(&text, if behind { Style::bad } else { Style::plain });
        }
        for (what, count) in &self.errors {
            line.add(&format!("{} {what}", quantity::count(*count as f64)), Style::warn);
        }
        if second.not_ok() > 0 && !self.errors.is_empty() {
            let now = quantity::count(second.not_ok() as f64);
            line.add(&format!("{now} in the last second"), Style::warn);
        }
        line.text
    }
}

fn rate(second: &Second, style: Style) -> String {
    let mut line = LiveLine::new(style);
    line.add(&format!("{}/s", quantity::count(second.achieved_per_s)), Style::strong);
    if let Some(offered) = second.offered_per_s {
        line.add(&format!("of {}/s offered", quantity::count(offered)), Style::plain);
    }
    if let Some((cores, memory)) = second.server_cores_used.zip(second.server_rss_bytes) {
        let memory = quantity::bytes(memory).replace('\u{a0}', " ");
        line.add(&format!("server {cores:.2} cores, {memory}"), Style::plain);
    }
    line.text
}

/// Response times if there are any, else service times; those of the last second.
fn times(second: &Second, style: Style) -> Option<String> {
    let (name, times) = times_of(second);
    let mut line = LiveLine::new(style);
    // In a narrow view the percentiles are more useful than the full name, and the last ones most.
    let is_narrow = style.width < 60;
    line.add(if is_narrow { &name[..name.len() - 5] } else { name }, Style::dim);
    let order: &[usize] = if is_narrow { &[0, 2, 3] } else { &[0, 1, 2, 3] };
    for at in order {
        let time = quantity::nanos(times[*at]? as f64).replace('\u{a0}', " ");
        line.add(&format!("{} {time}", ["p50", "p90", "p99", "max"][*at]), Style::plain);
    }
    Some(line.text)
}

/// Response times if there are any, else service times: p50, p90, p99 and maximum.
fn times_of(second: &Second) -> (&'static str, [Option<u64>; 4]) {
    let s = second;
    let response =
        [s.response_time_ns_p50, s.response_time_ns_p90, s.response_time_ns_p99, s.response_time_ns_max];
    let service =
        [s.service_time_ns_p50, s.service_time_ns_p90, s.service_time_ns_p99, s.service_time_ns_max];
    if response[0].is_some() { ("response time", response) } else { ("service time", service) }
}

/// Time left, to the second.
fn people(left: Duration) -> String {
    let seconds = left.as_secs_f64().ceil() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A line that accepts parts while they fit.
struct LiveLine {
    style: Style,
    text: String,
    used: usize,
}

impl LiveLine {
    fn new(style: Style) -> Self {
        Self { style, text: " ".to_owned(), used: 1 }
    }

    /// Adds a part, two columns after the last, or leaves it out. The first part is shortened instead.
    fn add(&mut self, part: &str, paint: fn(Style, &str) -> String) {
        let room = self.style.width.saturating_sub(self.used);
        let gap = if self.used == 1 { 1 } else { 2 };
        if self.used == 1 {
            let part: String = part.chars().take(room.saturating_sub(gap)).collect();
            self.push(gap, &part, paint);
        } else if gap + columns(part) <= room {
            self.push(gap, part, paint);
        }
    }

    fn push(&mut self, gap: usize, part: &str, paint: fn(Style, &str) -> String) {
        self.text.push_str(&" ".repeat(gap));
        self.text.push_str(&paint(self.style, part));
        self.used += gap + columns(part);
    }
}
