//! All runs in a leaderboard, for people and programs.

use std::fmt::Write as _;

use serde::Serialize;

use super::{Outcome, Score, Summary};
use crate::policy::experiment::Better;
use crate::text::{ago, clipped, md_inline, pad_to, shown_line, words};

words! {
    /// How a report is written.
    pub enum Format {
        Table = "table",
        Markdown = "markdown",
        Csv = "csv",
        Json = "json",
        Html = "html",
    }
}

/// One run on the leaderboard.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// By score; none for runs without a score.
    pub rank: Option<usize>,
    pub run_id: String,
    pub idea: String,
    pub title: String,
    pub status: Outcome,
    pub rounds: u32,
    /// `pass`, `fail` or nothing.
    pub tests: Option<&'static str>,
    pub score: Option<Score>,
    pub tokens: u64,
    pub cost: Option<f64>,
    pub seconds: Option<i64>,
    pub error: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Which direction is better.
    pub better: Better,
    pub column: Option<String>,
    /// The best first; then runs without a score, in the order of their starts.
    pub rows: Vec<Row>,
    /// In the order of their starts.
    #[serde(skip)]
    pub summaries: Vec<Summary>,
}

/// Ranks the runs. Summaries come in the order in which the runs were started.
pub fn report(summaries: Vec<Summary>, column: Option<String>, better: Better) -> Report {
    let mut rows: Vec<Row> = summaries.iter().map(row).collect();
    let key =
        |row: &Row| row.score.map(|score| if better == Better::Higher { -score.value } else { score.value });
    rows.sort_by(|one, other| match (key(one), key(other)) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        (Some(_), None) => std::cmp::Ordering::Less,
        (None, Some(_)) => std::cmp::Ordering::Greater,
        (None, None) => std::cmp::Ordering::Equal,
    });
    let mut before: Option<(f64, usize)> = None;
    for (index, row) in rows.iter_mut().enumerate() {
        let Some(score) = row.score else { continue };
        // Equal scores share a rank.
        let rank = before
            .filter(|(value, _)| value.total_cmp(&score.value).is_eq())
            .map_or(index + 1, |(_, rank)| rank);
        row.rank = Some(rank);
        before = Some((score.value, rank));
    }
    Report { better, column, rows, summaries }
}

fn row(summary: &Summary) -> Row {
    Row {
        rank: None,
        run_id: summary.run_id.clone(),
        idea: summary.idea.clone(),
        title: summary.title.clone(),
        status: summary.status,
        rounds: summary.rounds,
        tests: summary.tests.as_ref().map(|tests| if tests.exit_code == Some(0) { "pass" } else { "fail" }),
        score: summary.score.filter(|_| summary.status == Outcome::Scored),
        tokens: summary.tokens,
        cost: summary.cost,
        seconds: summary.ended.map(|ended| ended.since(summary.started)),
        error: summary.error.clone(),
    }
}

/// A number for people: few digits, no exponent if possible.
pub fn number(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if !(1e-4..1e9).contains(&magnitude) {
        format!("{value:.3e}")
    } else {
        let text = if magnitude >= 1000.0 { format!("{value:.1}") } else { format!("{value:.4}") };
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// A percentage with its sign.
pub fn percent(value: f64) -> String {
    if value.abs() < 0.05 { format!("{value:+.2}") } else { format!("{value:+.1}") }
}

/// A large count in few digits.
pub fn compact(count: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits of it are shown")]
    let value = count as f64;
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{:.0}k", value / 1e3),
        _ => format!("{:.1}M", value / 1e6),
    }
}

fn signed(value: Option<f64>) -> String {
    value.map_or(
        "-".to_owned(),
        |value| if value > 0.0 { format!("+{}", number(value)) } else { number(value) },
    )
}

const HEADINGS: [&str; 11] =
    ["rank", "idea", "status", "rounds", "tests", "score", "baseline", "delta", "delta %", "tokens", "time"];

impl Row {
    /// The cells of the leaderboard; a dash for a missing value.
    pub(super) fn cells(&self) -> [String; 11] {
        let of = |get: fn(&Score) -> Option<f64>| self.score.as_ref().and_then(get);
        [
            self.rank.map_or("-".to_owned(), |rank| rank.to_string()),
            self.idea.clone(),
            self.status.to_string(),
            self.rounds.to_string(),
            self.tests.unwrap_or("-").to_owned(),
            of(|score| Some(score.value)).map_or("-".to_owned(), number),
            of(|score| score.baseline).map_or("-".to_owned(), number),
            signed(of(|score| score.delta)),
            of(|score| score.delta_pct).map_or("-".to_owned(), percent),
            compact(self.tokens),
            self.seconds.map_or("-".to_owned(), |seconds| {
                if seconds < 10 { format!("{} s", seconds.max(0)) } else { ago(seconds) }
            }),
        ]
    }
}

impl Report {
    pub fn table(&self) -> String {
        if self.rows.is_empty() {
            return "No runs yet. `liza experiment run IDEAS` starts some.\n".to_owned();
        }
        let rows: Vec<[String; 11]> = self.rows.iter().map(Row::cells).collect();
        let width = |column: usize| {
            let cells = rows.iter().map(|cells| cells[column].chars().count());
            cells.chain([HEADINGS[column].len()]).max().unwrap_or_default().min(40)
        };
        let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
        let mut text = String::new();
        for cells in [HEADINGS.map(str::to_owned)].iter().chain(&rows) {
            let padded =
                cells.iter().zip(&widths).map(|(cell, width)| pad_to(&clipped(cell, *width), *width));
            let line = padded.collect::<Vec<_>>().join("  ");
            let _ = writeln!(text, "{}", line.trim_end());
        }
        for row in self.rows.iter().filter(|row| row.error.is_some()) {
            let _ = writeln!(text, "{}: {}", row.idea, shown_line(row.error.as_deref().unwrap_or_default()));
        }
        text
    }

    pub fn markdown(&self) -> String {
        let mut text = String::from("# Experiments\n\n");
        let line = |cells: &[String]| {
            format!("| {} |\n", cells.iter().map(|cell| md_inline(cell)).collect::<Vec<_>>().join(" | "))
        };
        text += &line(&HEADINGS.map(str::to_owned));
        text += &format!("|{}\n", "---|".repeat(HEADINGS.len()));
        for row in &self.rows {
            text += &line(&row.cells());
        }
        text
    }

    /// Full numbers, for programs.
    pub fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let written = writer
            .write_record([
                "rank",
                "run_id",
                "idea",
                "status",
                "rounds",
                "tests",
                "score",
                "baseline",
                "delta",
                "delta_pct",
                "tokens",
                "cost",
                "seconds",
            ])
            .and_then(|()| self.rows.iter().try_for_each(|row| writer.write_record(row.record())));
        match (written, writer.into_inner()) {
            (Ok(()), Ok(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            // Writing to memory cannot fail.
            _ => String::new(),
        }
    }
}

impl Row {
    fn record(&self) -> [String; 13] {
        let of = |get: fn(&Score) -> Option<f64>| {
            self.score.as_ref().and_then(get).map_or(String::new(), |value| value.to_string())
        };
        [
            self.rank.map_or(String::new(), |rank| rank.to_string()),
            self.run_id.clone(),
            self.idea.clone(),
            self.status.to_string(),
            self.rounds.to_string(),
            self.tests.unwrap_or_default().to_owned(),
            of(|score| Some(score.value)),
            of(|score| score.baseline),
            of(|score| score.delta),
            of(|score| score.delta_pct),
            self.tokens.to_string(),
            self.cost.map_or(String::new(), |cost| cost.to_string()),
            self.seconds.map_or(String::new(), |seconds| seconds.to_string()),
        ]
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::board::{CommitId, Wall};
    use crate::experiment::{Ended, compared};

    pub fn summary(idea: &str, status: Outcome, value: Option<f64>) -> Summary {
        Summary {
            run_id: format!("20260101T000000Z-{idea}-0001"),
            idea: idea.to_owned(),
            title: format!("Try {idea}"),
            status,
            phase: "done".to_owned(),
            started: Wall(1_700_000_000),
            started_nanos: 0,
            ended: Some(Wall(1_700_000_061)),
            base_commit: CommitId::new(&"a".repeat(40)).expect("an id"),
            plan: None,
            rounds: 1,
            review: None,
            tests: Some(Ended {
                exit_code: Some(if status == Outcome::TestsFailed { 1 } else { 0 }),
                seconds: 1.0,
            }),
            sweep: None,
            score: value.map(|value| compared(value, Some(10.0), Better::Higher)),
            tokens: 1200,
            cost: Some(0.25),
            kept_as: None,
            error: None,
            remarks: Vec::new(),
            phases: Vec::new(),
            agents: Vec::new(),
        }
    }

    pub fn sample(better: Better) -> Report {
        let all = vec![
            summary("worse", Outcome::Scored, Some(9.0)),
            summary("red", Outcome::TestsFailed, None),
            summary("best", Outcome::Scored, Some(12.5)),
            summary("no|pipe", Outcome::Rejected, None),
        ];
        report(all, Some("sharpe".to_owned()), better)
    }

    fn order(report: &Report) -> Vec<&str> {
        report.rows.iter().map(|row| row.idea.as_str()).collect()
    }

    #[test]
    fn runs_are_ordered_by_score_unscored_last() {
        assert_eq!(order(&sample(Better::Higher)), ["best", "worse", "red", "no|pipe"]);
        assert_eq!(order(&sample(Better::Lower)), ["worse", "best", "red", "no|pipe"]);
        let ranks: Vec<_> = sample(Better::Higher).rows.iter().map(|row| row.rank).collect();
        assert_eq!(ranks, [Some(1), Some(2), None, None]);
    }

    #[test]
    fn equal_scores_share_a_rank() {
        let all = [3.0, 3.0, 2.0].map(|value| summary("x", Outcome::Scored, Some(value)));
        let ranks: Vec<_> =
            report(all.to_vec(), None, Better::Higher).rows.iter().map(|row| row.rank).collect();
        assert_eq!(ranks, [Some(1), Some(1), Some(3)]);
    }

    #[test]
    fn a_score_counts_only_where_the_run_went_through() {
        let late = summary("late", Outcome::Interrupted, Some(99.0));
        assert_eq!(report(vec![late], None, Better::Higher).rows[0].score, None);
    }

    #[test]
    fn each_form_holds_every_run() {
        let report = sample(Better::Higher);
        let table = report.table();
        assert!(table.contains("+2.5") && table.contains("+25.0") && table.contains("1 min"), "{table}");
        assert_eq!(table.lines().count(), 5);
        assert!(report.markdown().contains("no\\|pipe"), "{}", report.markdown());
        assert_eq!(report.csv().lines().count(), 5);
        assert!(
            report
                .csv()
                .contains("1,20260101T000000Z-best-0001,best,scored,1,pass,12.5,10,2.5,25,1200,0.25,61")
        );
    }

    #[test]
    fn numbers_are_short() {
        let shown: Vec<String> =
            [0.0, 1.5, -0.1234567, 1234.56, 1300.0, 1e12, 1e-7].into_iter().map(number).collect();
        assert_eq!([0, 9_999, 10_400, 2_540_000].map(compact), ["0", "9999", "10k", "2.5M"]);
        assert_eq!([-0.04, 31.66].map(percent), ["-0.04", "+31.7"]);
        assert_eq!(shown, ["0", "1.5", "-0.1235", "1234.6", "1300", "1.000e12", "1.000e-7"]);
    }
}
