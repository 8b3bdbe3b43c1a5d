//! The verdict on an attack, from the outcome log of its script and the findings of `untouched`.

use crate::cli::prelude::*;

/// The outcome of an attack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", content = "by", rename_all = "snake_case")]
pub enum Verdict {
    /// It had no effect; the text is the refusal.
    Refused(String),
    /// It had an effect, and the person's next command reports it.
    Noticed(String),
    /// It succeeded; the text is its effect.
    NotRefused(String),
    /// It cannot be tried on this machine.
    Skipped(String),
    /// Its preparation failed, so its outcome proves nothing.
    NotTried(String),
}

impl Verdict {
    /// Whether the promise holds.
    pub fn holds(&self) -> bool {
        !matches!(self, Self::NotRefused(_) | Self::NotTried(_))
    }

    pub fn words(&self) -> (&'static str, &str) {
        match self {
            Self::Refused(by) => ("refused", by),
            Self::Noticed(by) => ("noticed", by),
            Self::NotRefused(what) => ("NOT refused", what),
            Self::Skipped(why) => ("skipped", why),
            Self::NotTried(why) => ("not tried", why),
        }
    }

    /// Each line of `outcome_log` is a kind, a tab and a text; `changes` are forbidden changes that `untouched` found.
    pub fn of(outcome_log: &str, changes: &[String]) -> Self {
        let first = |word: &str| {
            outcome_log.lines().filter_map(|line| line.split_once('\t')).find(|(kind, _)| *kind == word)
        };
        let text = |(_, text): (&str, &str)| text.trim().to_owned();
        if let Some(breach) = first("breach").map(text).or_else(|| changes.first().cloned()) {
            return Self::NotRefused(breach);
        }
        if let Some(broken) = first("broken") {
            return Self::NotTried(text(broken));
        }
        match (first("refused"), first("noticed")) {
            (Some(refused), _) => Self::Refused(text(refused)),
            (None, Some(noticed)) => Self::Noticed(text(noticed)),
            (None, None) => Self::NotTried("its script recorded no outcome".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_breach_outweighs_refusals() {
        let outcome_log = "refused\tonly a person may\nbreach\tan agent is registered\n";
        assert_eq!(Verdict::of(outcome_log, &[]), Verdict::NotRefused("an agent is registered".to_owned()));
        let changes = ["lines.txt has changed".to_owned()];
        assert_eq!(
            Verdict::of("refused\tno\n", &changes),
            Verdict::NotRefused("lines.txt has changed".to_owned())
        );
        assert!(!Verdict::of("refused\tno\nbroken\tnothing was planted\n", &[]).holds());
        assert!(!Verdict::of("", &[]).holds(), "silence is no proof");
        assert_eq!(Verdict::of("noticed\tverify\nrefused\tno\n", &[]), Verdict::Refused("no".to_owned()));
        assert!(Verdict::of("noticed\tverify\n", &[]).holds());
    }
}
