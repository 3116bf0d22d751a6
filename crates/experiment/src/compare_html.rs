//! A comparison as one HTML page: the decision, then a row for each metric with its ratio drawn as a dot with its
//! interval. It needs no script and no other file.

use crate::compare::{PairedComparison, SampleSet};
use crate::compare_text::{compared_cells, failure_cells, footnote, sentence};
use crate::metric_comparison::{Direction, MetricComparison};
use paceline_escape::{HtmlText, html, shell_line};
use paceline_stats::short_percent_text;

/// The comparison as a self-contained HTML page.
pub fn compare_html(comparison: &PairedComparison) -> HtmlText {
    let [first, second] = comparison.samples.each_ref().map(|set| set.name.as_str());
    let axis = Axis::from_comparison(comparison);
    let metrics = comparison.metrics.iter().map(|metric| row(comparison, metric, &axis));
    let rows: HtmlText = std::iter::once(failure_row(comparison)).chain(metrics).collect();
    html!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{0} and {1} · Paceline</title>\n<style>{2}</style>\n</head>\n<body>\n<main>\n<h1>{3}</h1>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"All metrics\"><table>\n\
         <tr><th scope=\"col\">metric</th><th scope=\"col\">{4} to {5}</th><th scope=\"col\">decision</th>\
         <th scope=\"col\">second / first, 95 % interval</th><th scope=\"col\">{0}</th><th scope=\"col\">{1}</th></tr>\n\
         {6}</table></div>\n\
         <p>Dot: second / first. Line: its 95 % interval. Vertical line: equal. Band: differences below {7}. The \
         scale is logarithmic; ratios beyond {5} are at its edge.</p>\n<p>{8}</p>\n{9}{10}</main>\n</body>\n</html>\n",
        first,
        second,
        HtmlText::literal(STYLE),
        sentence(comparison),
        format!("{:.2}", (-axis.most).exp()),
        format!("{:.2}", axis.most.exp()),
        rows,
        short_percent_text(comparison.margin),
        footnote(comparison),
        comparison.samples.iter().map(measured).collect::<HtmlText>(),
        command(&comparison.argv)
    )
}

/// The command that made it; nothing if that is not known.
fn command(argv: &[String]) -> HtmlText {
    if argv.is_empty() {
        return HtmlText::default();
    }
    html!("<p>Command: <code>{}</code></p>\n", shell_line(argv))
}

/// When and on which machine a side was measured; nothing if that is not known.
fn measured(side: &SampleSet) -> HtmlText {
    let Some(conditions) = &side.conditions else { return HtmlText::default() };
    html!("<p>{}: {}.</p>\n", side.name, conditions.measured())
}

fn failure_row(comparison: &PairedComparison) -> HtmlText {
    let [name, first, second, difference, decision] = failure_cells(comparison);
    let class = if comparison.failures.is_worse() { "worse" } else { "open" };
    html!(
        "<tr class=\"{}\"><th scope=\"row\">{}</th><td></td><td class=\"verdict\">{}</td>\
         <td>{}</td><td>{}</td><td>{}</td></tr>\n",
        class,
        name,
        decision,
        difference,
        first,
        second
    )
}

fn row(comparison: &PairedComparison, metric: &MetricComparison, axis: &Axis) -> HtmlText {
    let [first, second, ratio, decision] = compared_cells(comparison, metric);
    let class = match metric.direction {
        Direction::Better => "better",
        Direction::Worse => "worse",
        Direction::Higher
        | Direction::Lower
        | Direction::Equivalent
        | Direction::Undecided { .. }
        | Direction::Single
        | Direction::NotComparable => "open",
    };
    html!(
        "<tr class=\"{}\"><th scope=\"row\">{}</th><td>{}</td><td class=\"verdict\">{}</td>\
         <td>{}</td><td>{}</td><td>{}</td></tr>\n",
        class,
        metric.metric.name(),
        axis.interval(metric, comparison.margin),
        decision,
        ratio,
        first,
        second
    )
}

/// Width and height of a row's drawing, in CSS pixels.
const WIDTH: f64 = 150.0;
const HEIGHT: f64 = 20.0;
/// Ratios beyond this are drawn at the edge, as is one that has no end: the others would be too close together.
const MAX_RATIO: f64 = 1_000.0;

/// A logarithmic scale of ratios with 1 in the middle, the same for all rows.
struct Axis {
    /// The natural logarithm of the ratio at the right edge.
    most: f64,
}

impl Axis {
    /// Wide enough for every interval and the margin, up to a ratio of [`MAX_RATIO`].
    fn from_comparison(comparison: &PairedComparison) -> Self {
        let ends = comparison.metrics.iter().flat_map(|metric| {
            [metric.ratio_interval.low, metric.ratio_interval.high, metric.ratio]
                .map(|ratio| ratio.ln().abs())
        });
        let widest = ends.filter(|end| end.is_finite()).fold(2.0 * comparison.margin.ln_1p(), f64::max);
        Self { most: (1.05 * widest).clamp(0.01, MAX_RATIO.ln()) }
    }

    /// The position of a ratio.
    fn x(&self, ratio: f64) -> f64 {
        let share = (ratio.max(0.0).ln() / self.most).clamp(-1.0, 1.0);
        (1.0 + share) * WIDTH / 2.0
    }

    fn interval(&self, metric: &MetricComparison, margin: f64) -> HtmlText {
        let (low, high) = (self.x(metric.ratio_interval.low), self.x(metric.ratio_interval.high));
        let (left, right) = (self.x(1.0 / (1.0 + margin)), self.x(1.0 + margin));
        let middle = HEIGHT / 2.0;
        html!(
            "<svg width=\"{0}\" height=\"{1}\" aria-hidden=\"true\">\
             <rect class=\"margin\" x=\"{2:.1}\" width=\"{3:.1}\" height=\"{1}\"/>\
             <line class=\"equal\" x1=\"{4:.1}\" x2=\"{4:.1}\" y2=\"{1}\"/>\
             <line class=\"interval\" x1=\"{5:.1}\" x2=\"{6:.1}\" y1=\"{7}\" y2=\"{7}\"/>\
             <circle cx=\"{8:.1}\" cy=\"{7}\" r=\"4\"/></svg>",
            WIDTH,
            HEIGHT,
            left,
            right - left,
            self.x(1.0),
            low,
            high,
            middle,
            self.x(metric.ratio)
        )
    }
}

/// The styles of the page. Better and worse are Okabe and Ito's blue and vermilion ("Color Universal Design", 2008);
/// the decision's word says the same.
pub(crate) const STYLE: &str = "\
:root{--ground:#fff;--text:#16181d;--muted:#555d68;--rule:#d5d9df;--better:#0065a3;--worse:#b04a00}\
@media(prefers-color-scheme:dark){:root{--ground:#14181b;--text:#e6e8ea;--muted:#a3abb5;--rule:#3a4048;--better:#63b3f0;--worse:#f0925a}}\
body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;background:var(--ground);color:var(--text)}\
h1{font-size:1.3rem;overflow-wrap:anywhere}p{color:var(--muted);font-size:.9rem;max-width:46rem}\
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
th,td{padding:.35rem .7rem .35rem 0;text-align:left;border-bottom:1px solid var(--rule);white-space:nowrap}\
th[scope=col]{color:var(--muted);font-weight:normal;font-size:.9rem}\
svg{display:block;overflow:visible}tr{--dot:var(--muted)}tr.better{--dot:var(--better)}tr.worse{--dot:var(--worse)}\
.better .verdict,.worse .verdict{color:var(--dot);font-weight:600}\
.margin{fill:var(--rule);opacity:.5}.equal{stroke:var(--muted)}.interval{stroke:var(--dot);stroke-width:2}circle{fill:var(--dot)}";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::compare;

    #[test]
    fn a_page_escapes_names_and_has_a_row_for_each_metric() {
        let mut comparison = compare(0.9, 0.02);
        "<script>|\u{1b}".clone_into(&mut comparison.samples[1].name);
        let page = compare_html(&comparison).to_string();
        assert!(
            page.contains("<h1>&lt;script&gt;|\\u{1b} is slower: 1") && !page.contains("<script>"),
            "{page}"
        );
        assert_eq!(page.matches("<circle ").count(), comparison.metrics.len());
        assert!(page.contains("<tr class=\"worse\"><th scope=\"row\">rate"), "{page}");
    }

    #[test]
    fn an_interval_lies_on_its_scale() {
        let comparison = compare(0.9, 0.02);
        let axis = Axis::from_comparison(&comparison);
        assert_eq!(axis.x(1.0), WIDTH / 2.0);
        for metric in &comparison.metrics {
            let interval = metric.ratio_interval;
            let ends = [interval.low, metric.ratio, interval.high].map(|ratio| axis.x(ratio));
            assert!(0.0 < ends[0] && ends[0] <= ends[1] && ends[1] <= ends[2] && ends[2] < WIDTH, "{ends:?}");
        }
        assert_eq!(
            [axis.x(0.0), axis.x(f64::INFINITY)],
            [0.0, WIDTH],
            "values without a place are at the edges"
        );
    }
}
