//! Aider: text for people. After each answer it prints a line about its tokens, rounded.

use super::Reading;
use crate::provider::usage::Usage;

#[derive(Debug)]
pub struct Aider;

impl Reading for Aider {
    fn line(&mut self, line: &[u8], usage: &mut Usage) {
        let Ok(line) = std::str::from_utf8(line) else { return };
        if let Some(report) = line.strip_prefix("Tokens: ") {
            let (tokens, cost) = report.split_once("Cost: ").unwrap_or((report, ""));
            usage.turns += 1;
            let (mut sent, mut cached) = (0, 0);
            for part in tokens.split(',') {
                let part = part.trim().trim_end_matches('.');
                let Some((amount, what)) = part.split_once(' ') else { continue };
                let Some(amount) = rounded(amount) else { continue };
                match what.trim() {
                    "sent" => sent = amount,
                    "cache hit" => cached = amount,
                    "received" => usage.output_tokens += amount,
                    _ => {}
                }
            }
            usage.input_tokens += super::fields::fresh(sent, cached);
            usage.cached_tokens += cached.min(sent);
            // The cost of the session accumulates; that of a message is only its last step.
            let dollars = |what: &str| {
                cost.split(',').find_map(|part| {
                    let part = part.trim().trim_end_matches('.').strip_suffix(what)?;
                    part.trim()
                        .strip_prefix('$')?
                        .parse::<f64>()
                        .ok()
                        .filter(|cost| (0.0..1e9).contains(cost))
                })
            };
            if let Some(session) = dollars("session") {
                usage.cost_usd = Some(session);
            }
        } else if line.starts_with("Applied edit to ") {
            // It does not report the content of the edit.
            usage.called("edit", None);
        } else if line.starts_with("litellm.") && line.contains("Error") {
            usage.failed(Some(line));
        }
    }
}

/// `950`, `2.5k`, `1.2M`.
fn rounded(text: &str) -> Option<u64> {
    let (digits, times) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => text.strip_suffix('M').map_or((text, 1.0), |digits| (digits, 1e6)),
    };
    let digits = digits.replace(',', "");
    let amount = digits.parse::<f64>().ok()? * times;
    (0.0..1e12).contains(&amount).then_some(amount.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::super::measured;
    use super::*;
    use crate::policy::provider::OutputFormat;

    #[test]
    fn aider_reports_are_added_up() {
        let output = "Aider v0.86.2\nModel: sonnet with diff edit format\nGit repo: ../.git with 12 files\n\nI change it.\n\n\
            Tokens: 9.2k sent, 1.1k cache write, 8k cache hit, 345 received. Cost: $0.0123 message, $0.0123 session.\n\
            Applied edit to src/a.rs\nApplied edit to src/b.rs\nCommit 1a2b3c4 feat: it\n\
            Tokens: 950 sent, 1.5k received. Cost: $0.0200 message, $0.0323 session.\n";
        let used = measured(OutputFormat::AiderText, output, None);
        assert_eq!((used.turns, used.tool_calls, used.errors), (2, 2, 0));
        assert_eq!((used.input_tokens, used.output_tokens, used.cached_tokens), (2150, 1845, 8000));
        assert_eq!((used.cost_usd, used.last_tool.as_deref()), (Some(0.0323), Some("edit")));
        assert_eq!((used.last_call, used.repeated_calls), (None, 0), "two edits are not one edit twice");
        let free = measured(OutputFormat::AiderText, "Tokens: 2.5k sent, 13 received.\r\n", None);
        assert_eq!((free.input_tokens, free.output_tokens, free.cost_usd), (2500, 13, None));
        let failed = measured(OutputFormat::AiderText, "litellm.RateLimitError: RateLimitError: 429\n", None);
        assert_eq!(failed.errors, 1);
    }

    #[test]
    fn rounded_figures_are_read() {
        for (text, want) in
            [("950", 950), ("2.5k", 2500), ("1.2M", 1_200_000), ("12k", 12_000), ("1,234", 1234)]
        {
            assert_eq!(rounded(text), Some(want), "{text}");
        }
        for text in ["", "k", "-1", "many", "1e300", "NaN"] {
            assert_eq!(rounded(text), None, "{text}");
        }
    }
}
