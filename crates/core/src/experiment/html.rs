//! The report as one self-contained page.

use std::fmt::Write as _;

use super::chart::{Bar, Point, bars, course, escaped};
use super::report::{compact, number, percent};
use super::{Outcome, Report, Row, Verdict};
use crate::policy::experiment::Better;

const STYLE: &str = "\
:root{--ink:#1c1c1c;--paper:#fff;--soft:#555;--line:#ddd;--bar:#1b6ca8;--worse:#7a1f1f;--link:#14507c;color-scheme:light dark}\
@media screen and (prefers-color-scheme:dark){:root{--ink:#e6e6e6;--paper:#14171a;--soft:#a8adb3;--line:#3a3f44;--bar:#4f9bd9;--worse:#e58a8a;--link:#8cc4f0}}\
body{font:15px/1.5 system-ui,sans-serif;max-width:1080px;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--paper)}\
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}small{color:var(--soft);display:inline-block;line-height:1.3}\
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px}\
th,td{text-align:left;padding:.3rem .5rem;border-bottom:1px solid var(--line);vertical-align:top}\
td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}th.n{text-align:right}td.idea{min-width:12rem}@media screen and (max-width:640px){.more,td small,td br{display:none}td.idea{min-width:7rem}th,td{padding:.3rem}}\
svg{width:100%;min-width:640px;height:auto;font:12px system-ui,sans-serif}svg text{fill:var(--ink)}svg .small{font-size:10px;fill:var(--soft)}\
.bar{fill:var(--bar)}.bar.marked{fill:url(#hatch);stroke:var(--worse)}.axis{stroke:var(--soft)}.ground{fill:var(--paper)}.stripe{stroke:var(--worse);stroke-width:3}\
.baseline{stroke:var(--soft);stroke-dasharray:6 4}.best{fill:none;stroke:var(--bar);stroke-width:2}.dot{fill:var(--paper);stroke:var(--ink);stroke-width:2}\
a{color:var(--link)}svg a text{fill:var(--link)}@media print{a,svg a text{color:inherit;fill:var(--ink);text-decoration:none}.wide{overflow:visible}svg{min-width:0}h2{break-after:avoid}svg,tr{break-inside:avoid}}";

/// The pattern for bars that stand out without colour.
const HATCH: &str = "<svg width=\"0\" height=\"0\" style=\"position:absolute;min-width:0;width:0\" aria-hidden=\"true\"><defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" class=\"ground\"/><line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" class=\"stripe\"/></pattern></defs></svg>\n";

/// One page with everything in it. `home` is the relative path from the page to the directory of all runs, with a slash
/// at the end.
pub fn page(report: &Report, home: &str) -> String {
    let link = |row_id: &str| format!("{home}{row_id}/");
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>Experiments</title><style>{STYLE}</style></head><body>\n{HATCH}<h1>Experiments</h1>\n"
    );
    let _ = writeln!(text, "<p>{}</p>", escaped(&headline(report)));
    text += &leaderboard(report, &link);
    let scored: Vec<&Row> = report.rows.iter().filter(|row| row.score.is_some()).collect();
    let deltas: Vec<Bar> = scored
        .iter()
        .filter_map(|row| {
            let score = row.score?;
            let delta = score.delta?;
            let percent = score.delta_pct.map_or(String::new(), |value| format!(" ({} %)", percent(value)));
            Some(Bar {
                label: row.idea.clone(),
                value: delta,
                note: format!("{}{}{percent}", if delta > 0.0 { "+" } else { "" }, number(delta)),
                link: Some(link(&row.run_id)),
                marked: score.better == Some(false),
            })
        })
        .collect();
    if !deltas.is_empty() {
        text += "<h2>Difference to the baseline</h2>\n<p>Hatched: worse than the baseline.</p>\n";
        text += &bars("Difference to the baseline, per idea", &deltas);
    }
    let points: Vec<Point> = report
        .summaries
        .iter()
        .filter(|summary| summary.status == Outcome::Scored)
        .filter_map(|summary| {
            let score = summary.score?;
            Some(Point { label: summary.idea.clone(), value: score.value, link: Some(link(&summary.run_id)) })
        })
        .collect();
    if !points.is_empty() {
        let baseline = scored.iter().find_map(|row| row.score?.baseline);
        text += "<h2>Score per run, and the best so far</h2>\n";
        text += &course(
            "Score per run in the order of starts",
            &points,
            baseline,
            report.better == Better::Higher,
        );
    }
    text += "<h2>How far the ideas came</h2>\n";
    text += &bars("From ideas to improvements", &funnel(report));
    let phases = phases(report);
    if !phases.0.is_empty() {
        text += "<h2>Time per phase</h2>\n";
        text += &bars("Seconds per phase, all runs", &phases.0);
        if phases.1.iter().any(|bar| bar.value > 0.0) {
            text += "<h2>Tokens per phase</h2>\n";
            text += &bars("Tokens per phase, all runs", &phases.1);
        }
    }
    text + "</body></html>\n"
}

fn headline(report: &Report) -> String {
    let runs = crate::text::plural(report.rows.len(), "run");
    let word = if report.better == Better::Higher { "higher" } else { "lower" };
    let column = report.column.as_deref().unwrap_or("score");
    match report.rows.first().and_then(|row| Some((row, row.score?))) {
        Some((row, score)) => {
            let against =
                score.baseline.map_or(String::new(), |baseline| format!(", baseline {}", number(baseline)));
            let best = match score.better {
                Some(false) => "None is better than the baseline; the best is",
                _ => "Best:",
            };
            format!(
                "{runs}. {best} {} with {column} {}{against} ({word} is better).",
                row.idea,
                number(score.value)
            )
        }
        None => format!("{runs}, none with a score."),
    }
}

/// How much of an idea's title is shown below its id.
const LONGEST_TITLE: usize = 72;

/// Columns that are hidden in a narrow window.
const MORE: [&str; 4] = ["rounds", "tests", "baseline", "tokens"];

/// The columns, and whether they are numbers.
const COLUMNS: [(&str, bool); 11] = [
    ("rank", true),
    ("idea", false),
    ("status", false),
    ("rounds", true),
    ("tests", false),
    ("score", true),
    ("baseline", true),
    ("Δ", true),
    ("Δ %", true),
    ("tokens", true),
    ("time", true),
];

fn leaderboard(report: &Report, link: &impl Fn(&str) -> String) -> String {
    let class = |(name, is_number): (&str, bool)| {
        let more = if MORE.contains(&name) { " more" } else { "" };
        if is_number { format!("n{more}") } else { format!("{name}{more}") }
    };
    let headings =
        COLUMNS.map(|column| format!("<th class=\"{}\">{}</th>", class(column), column.0)).concat();
    let mut text = format!("<div class=\"wide\"><table><thead><tr>{headings}</tr></thead><tbody>\n");
    for row in &report.rows {
        text += "<tr>";
        for (column, cell) in COLUMNS.iter().zip(row.cells()) {
            let cell = if cell == "-" { "–".to_owned() } else { escaped(&cell) };
            let below = |text: &str| format!("<br><small>{}</small>", escaped(text));
            let cell = match column.0 {
                "idea" => {
                    let title = below(&crate::text::clipped(&row.title, LONGEST_TITLE));
                    format!("<a href=\"{}\">{cell}</a>{title}", escaped(&link(&row.run_id)))
                }
                "status" => cell + &row.error.as_deref().map_or(String::new(), below),
                _ => cell,
            };
            let _ = write!(text, "<td class=\"{}\">{cell}</td>", class(*column));
        }
        text += "</tr>\n";
    }
    text + "</tbody></table></div>\n"
}

fn funnel(report: &Report) -> Vec<Bar> {
    let all = &report.summaries;
    let approved = |summary: &&super::Summary| {
        summary.review.as_ref().is_some_and(|review| review.verdict == Verdict::Approve)
    };
    let passed =
        |summary: &&super::Summary| summary.tests.as_ref().is_none_or(|tests| tests.exit_code == Some(0));
    let scored = |summary: &&super::Summary| summary.status == Outcome::Scored;
    let better = |summary: &&super::Summary| {
        scored(summary) && summary.score.is_some_and(|score| score.better == Some(true))
    };
    let steps = [
        ("ideas", all.len()),
        ("approved", all.iter().filter(approved).count()),
        ("tests passed", all.iter().filter(approved).filter(passed).count()),
        ("scored", all.iter().filter(scored).count()),
        ("better than the baseline", all.iter().filter(better).count()),
    ];
    #[expect(clippy::cast_precision_loss, reason = "a few runs")]
    let bar = |(label, count): (&str, usize)| Bar {
        label: label.to_owned(),
        value: count as f64,
        note: count.to_string(),
        link: None,
        marked: false,
    };
    steps.into_iter().map(bar).collect()
}

/// A span of time; longer spans are less precise.
fn took(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "no run takes so long")]
    let whole = seconds as i64;
    if whole < 100 { format!("{seconds:.1} s") } else { crate::text::ago(whole) }
}

/// Seconds and tokens per phase over all runs.
fn phases(report: &Report) -> (Vec<Bar>, Vec<Bar>) {
    let mut sums: Vec<(String, f64, u64)> = Vec::new();
    for used in report.summaries.iter().flat_map(|summary| &summary.phases) {
        match sums.iter_mut().find(|(phase, ..)| *phase == used.phase) {
            Some((_, seconds, tokens)) => {
                *seconds += used.seconds;
                *tokens += used.tokens;
            }
            None => sums.push((used.phase.clone(), used.seconds, used.tokens)),
        }
    }
    let bar = |label: &str, value: f64, note: String| Bar {
        label: label.to_owned(),
        value,
        note,
        link: None,
        marked: false,
    };
    let seconds = sums.iter().map(|(phase, seconds, _)| bar(phase, *seconds, took(*seconds)));
    #[expect(clippy::cast_precision_loss, reason = "no run uses 2^53 tokens")]
    let tokens = sums.iter().map(|(phase, _, tokens)| bar(phase, *tokens as f64, compact(*tokens)));
    (seconds.collect(), tokens.collect())
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::{sample, summary};
    use super::*;
    use crate::experiment::report;

    #[test]
    fn the_page_holds_everything_and_loads_nothing() {
        let page = page(&sample(Better::Higher), "runs/");
        for part in [
            "best",
            "Difference to the baseline",
            "runs/20260101T000000Z-best-0001/",
            "<svg",
            "class=\"bar marked\"",
        ] {
            assert!(page.contains(part), "{part}");
        }
        for loads in ["src=", "@import", "<script", "<link", "url(http"] {
            assert!(!page.contains(loads), "{loads}");
        }
        assert!(!page.contains("NaN"));
    }

    #[test]
    fn a_best_run_below_the_baseline_is_no_success() {
        let worse = summary("worse", Outcome::Scored, Some(9.0));
        let page = page(&report(vec![worse], None, Better::Higher), "");
        assert!(page.contains("None is better than the baseline; the best is worse with score 9"), "{page}");
    }

    #[test]
    fn hostile_titles_stay_text() {
        let mut one = summary("x", Outcome::Error, None);
        one.title = "<script>alert(1)</script>".to_owned();
        one.error = Some("<img src=x onerror=alert(1)>".to_owned());
        let page = page(&report(vec![one], None, Better::Higher), "");
        assert!(!page.contains("<script>") && !page.contains("<img"), "{page}");
    }

    #[test]
    fn no_run_makes_a_page_too() {
        let page = page(&report(Vec::new(), None, Better::Lower), "");
        assert!(page.contains("0 runs, none with a score.") && !page.contains("NaN"), "{page}");
    }
}
