//! What became of an attack, put together from what its script and `untouched` saw.

use crate::cli::prelude::*;

/// What became of an attack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", content = "by", rename_all = "snake_case")]
pub enum Verdict {
    /// It had no effect; what it was refused by.
    Refused(String),
    /// It had an effect, and the next command of a person says so.
    Noticed(String),
    /// It got through; what it reached.
    NotRefused(String),
    /// This machine does not allow to try it.
    Skipped(String),
    /// It did not take place as planned, so that its outcome means nothing.
    NotTried(String),
}

impl Verdict {
    /// Nothing got through that was tried.
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

    /// `said` holds a word and what was seen in each line; `touched` what no attack may change and was changed.
    pub fn of(said: &str, touched: &[String]) -> Self {
        let first = |word: &str| {
            said.lines().filter_map(|line| line.split_once('\t')).find(|(kind, _)| *kind == word)
        };
        let text = |(_, text): (&str, &str)| text.trim().to_owned();
        if let Some(breach) = first("breach").map(text).or_else(|| touched.first().cloned()) {
            return Self::NotRefused(breach);
        }
        if let Some(broken) = first("broken") {
            return Self::NotTried(text(broken));
        }
        match (first("refused"), first("noticed")) {
            (Some(refused), _) => Self::Refused(text(refused)),
            (None, Some(noticed)) => Self::Noticed(text(noticed)),
            (None, None) => Self::NotTried("nothing says what became of it".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_got_through_outweighs_what_was_refused() {
        let said = "refused\tonly a person may\nbreach\tan agent is registered\n";
        assert_eq!(Verdict::of(said, &[]), Verdict::NotRefused("an agent is registered".to_owned()));
        let touched = ["lines.txt has changed".to_owned()];
        assert_eq!(
            Verdict::of("refused\tno\n", &touched),
            Verdict::NotRefused("lines.txt has changed".to_owned())
        );
        assert!(!Verdict::of("refused\tno\nbroken\tnothing was planted\n", &[]).holds());
        assert!(!Verdict::of("", &[]).holds(), "silence is no proof");
        assert_eq!(Verdict::of("noticed\tverify\nrefused\tno\n", &[]), Verdict::Refused("no".to_owned()));
        assert!(Verdict::of("noticed\tverify\n", &[]).holds());
    }
}
