//! The report as one self-contained page.

use std::fmt::Write as _;

use super::chart::{Bar, Point, bars, course, escaped};
use super::report::number;
use super::{Outcome, Report, Row, Verdict};
use crate::policy::experiment::Better;

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;max-width:960px;margin:2rem auto;padding:0 1rem;color:#1c1c1c;background:#fff}\
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}\
table{border-collapse:collapse;width:100%;font-size:13px}\
th,td{text-align:left;padding:.3rem .5rem;border-bottom:1px solid #ddd;vertical-align:top}\
td.n{text-align:right;font-variant-numeric:tabular-nums}th.n{text-align:right}\
svg{width:100%;height:auto;font:12px system-ui,sans-serif}svg .small{font-size:10px}\
.bar{fill:#1b6ca8}.bar.marked{fill:url(#hatch);stroke:#7a1f1f}.axis{stroke:#555}\
.baseline{stroke:#555;stroke-dasharray:6 4}.best{fill:none;stroke:#1b6ca8;stroke-width:2}.dot{fill:#fff;stroke:#1c1c1c;stroke-width:2}\
a{color:#14507c}@media print{a{color:inherit;text-decoration:none}}";

/// The pattern for bars that stand out without colour.
const HATCH: &str = "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#fff\"/><line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" stroke=\"#7a1f1f\" stroke-width=\"3\"/></pattern></defs></svg>\n";

/// One page with everything in it. `home` leads from the page to the directory of all runs, and ends with a slash.
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
            let percent = score.delta_pct.map_or(String::new(), |percent| format!(" ({percent:+.1} %)"));
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
            format!(
                "{runs}. Best: {} with {column} {}{against} ({word} is better).",
                row.idea,
                number(score.value)
            )
        }
        None => format!("{runs}, none with a score."),
    }
}

fn leaderboard(report: &Report, link: &impl Fn(&str) -> String) -> String {
    let mut text = String::from(
        "<table><thead><tr><th class=\"n\">rank</th><th>idea</th><th>status</th><th class=\"n\">rounds</th><th>tests</th><th class=\"n\">score</th><th class=\"n\">baseline</th><th class=\"n\">Δ</th><th class=\"n\">Δ %</th><th class=\"n\">tokens</th><th class=\"n\">time</th></tr></thead><tbody>\n",
    );
    for row in &report.rows {
        let of = |get: fn(&super::Score) -> Option<f64>| {
            row.score.as_ref().and_then(get).map_or("–".to_owned(), number)
        };
        let why =
            row.error.as_ref().map_or(String::new(), |why| format!("<br><small>{}</small>", escaped(why)));
        let _ = writeln!(
            text,
            "<tr><td class=\"n\">{}</td><td><a href=\"{}\">{}</a><br><small>{}</small></td><td>{}{why}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            row.rank.map_or("–".to_owned(), |rank| rank.to_string()),
            escaped(&link(&row.run_id)),
            escaped(&row.idea),
            escaped(&row.title),
            row.status,
            row.rounds,
            row.tests.unwrap_or("–"),
            of(|score| Some(score.value)),
            of(|score| score.baseline),
            of(|score| score.delta),
            of(|score| score.delta_pct),
            row.tokens,
            row.seconds.map_or("–".to_owned(), |seconds| format!("{} s", seconds.max(0))),
        );
    }
    text + "</tbody></table>\n"
}

fn funnel(report: &Report) -> Vec<Bar> {
    let all = &report.summaries;
    let approved =
        |summary: &&super::Summary| summary.review.is_some_and(|review| review.verdict == Verdict::Approve);
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
    let seconds = sums.iter().map(|(phase, seconds, _)| bar(phase, *seconds, format!("{seconds:.1} s")));
    #[expect(clippy::cast_precision_loss, reason = "nobody uses 2^53 tokens")]
    let tokens = sums.iter().map(|(phase, _, tokens)| bar(phase, *tokens as f64, tokens.to_string()));
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
