//! Scores of the results of a sweep.

use serde::{Deserialize, Serialize};

use crate::policy::experiment::{Better, Pick, ScoreConfig};
use crate::text::{list_words, shown_line};

/// A sweep that writes more rows is broken: they are not read.
const MOST_ROWS: usize = 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score {
    pub value: f64,
    #[serde(default)]
    pub baseline: Option<f64>,
    #[serde(default)]
    pub delta: Option<f64>,
    /// Relative to the baseline; none if the baseline is zero.
    #[serde(default)]
    pub delta_pct: Option<f64>,
    /// Whether it is better than the baseline.
    #[serde(default)]
    pub better: Option<bool>,
}

/// The score in a file of results, or the problem: a missing number is never guessed.
pub fn picked(csv: &[u8], config: &ScoreConfig) -> Result<f64, String> {
    let column = config.column.as_deref().unwrap_or_default();
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(csv);
    let headers = reader.byte_headers().map_err(|error| format!("it is not CSV: {error}"))?.clone();
    let Some(at) = headers.iter().position(|name| name == column.as_bytes()) else {
        let known: Vec<String> = headers
            .iter()
            .take(20)
            .map(|name| format!("`{}`", shown_line(&String::from_utf8_lossy(name))))
            .collect();
        return Err(match known.is_empty() {
            true => "it is empty".to_owned(),
            false => format!("it has no column `{column}`; it has {}", list_words(known)),
        });
    };
    let (mut rows, mut sum) = (0_u32, 0.0_f64);
    let mut best: Option<f64> = None;
    for record in reader.byte_records() {
        let record = record.map_err(|error| format!("it is not CSV: {error}"))?;
        rows += 1;
        if rows as usize > MOST_ROWS {
            return Err(format!("it has more than {MOST_ROWS} rows"));
        }
        let text = String::from_utf8_lossy(record.get(at).unwrap_or_default()).into_owned();
        let number: f64 = text.parse().map_err(|_| {
            format!("row {rows} of column `{column}` holds `{}`, which is not a number", shown_line(&text))
        })?;
        if !number.is_finite() {
            return Err(format!("row {rows} of column `{column}` holds `{}`", shown_line(&text)));
        }
        sum += number;
        best = Some(match (best, config.pick) {
            (Some(best), Pick::Max) => best.max(number),
            (Some(best), Pick::Min) => best.min(number),
            _ => number,
        });
    }
    match (best, config.pick) {
        (None, _) => Err("it has no row".to_owned()),
        (Some(_), Pick::Mean) => Ok(sum / f64::from(rows)),
        (Some(best), _) => Ok(best),
    }
}

/// A value compared with the baseline.
pub fn compared(value: f64, baseline: Option<f64>, better: Better) -> Score {
    let delta = baseline.map(|baseline| value - baseline);
    let delta_pct = baseline
        .filter(|baseline| *baseline != 0.0)
        .zip(delta)
        .map(|(baseline, delta)| delta / baseline.abs() * 100.0);
    let is_better = delta.map(|delta| match better {
        Better::Higher => delta > 0.0,
        Better::Lower => delta < 0.0,
    });
    Score { value, baseline, delta, delta_pct, better: is_better }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(column: &str, pick: Pick) -> ScoreConfig {
        ScoreConfig { column: Some(column.to_owned()), pick, better: Better::Higher }
    }

    #[test]
    fn each_score_picker_gives_its_number() {
        let csv = b"name, sharpe\na, 1.5\n\"b, c\", -2\nd,1\n";
        for (pick, value) in [(Pick::Max, 1.5), (Pick::Min, -2.0), (Pick::Last, 1.0), (Pick::Mean, 0.5 / 3.0)]
        {
            assert_eq!(picked(csv, &config("sharpe", pick)), Ok(value), "{pick:?}");
        }
    }

    #[test]
    fn output_without_a_number_is_no_score() {
        let said = |csv: &[u8]| picked(csv, &config("s", Pick::Max)).unwrap_err();
        assert_eq!(said(b""), "it is empty");
        assert!(said(b"a,b\n1,2\n").contains("no column `s`; it has `a` and `b`"), "{}", said(b"a,b\n1,2\n"));
        assert_eq!(said(b"s\n"), "it has no row");
        assert_eq!(said(b"s\n1\nNaN\n"), "row 2 of column `s` holds `NaN`");
        assert_eq!(said(b"s\ninf\n"), "row 1 of column `s` holds `inf`");
        assert!(said(b"s\n\"\"\n").contains("not a number"), "{}", said(b"s\n\"\"\n"));
        assert!(said(b"s,t\n1\n").contains("not CSV"), "a torn row");
        assert!(said(b"\xff\xfe\n1\n").contains("no column"));
    }

    #[test]
    fn score_direction_follows_the_settings() {
        let score = compared(12.0, Some(10.0), Better::Higher);
        assert_eq!((score.delta, score.delta_pct, score.better), (Some(2.0), Some(20.0), Some(true)));
        assert_eq!(compared(12.0, Some(10.0), Better::Lower).better, Some(false));
        assert_eq!(compared(-1.0, Some(-2.0), Better::Higher).delta_pct, Some(50.0));
        let zero = compared(1.0, Some(0.0), Better::Higher);
        assert_eq!((zero.delta_pct, zero.better), (None, Some(true)));
        assert_eq!(compared(1.0, None, Better::Higher).better, None);
    }
}
