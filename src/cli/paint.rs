//! Colours escaped text by meaning: green is done, red has failed or needs a person, yellow waits, cyan is at work, bold is a
//! command to type, faint is secondary.

use crate::board::Status;
use crate::supervise::Mood;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Bad,
    Waits,
    Works,
    Strong,
    Faint,
}

impl Tone {
    pub fn of_status(status: Status) -> Self {
        match status {
            Status::Merged => Self::Good,
            Status::Blocked | Status::IntegrationFailed => Self::Bad,
            Status::ReadyForReview | Status::Rejected | Status::Approved => Self::Waits,
            Status::Working => Self::Works,
            Status::Draft | Status::Idle | Status::Abandoned | Status::Superseded => Self::Faint,
        }
    }

    pub fn of_event(mood: Mood) -> Self {
        match mood {
            Mood::Good => Self::Good,
            Mood::Bad => Self::Bad,
            Mood::Waits => Self::Waits,
            Mood::Works => Self::Works,
        }
    }

    fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Bad => "31",
            Self::Waits => "33",
            Self::Works => "36",
            Self::Strong => "1",
            Self::Faint => "2",
        }
    }

    pub fn paint(self, text: &str) -> String {
        format!("\u{1b}[{}m{text}\u{1b}[0m", self.code())
    }
}

/// Labels at the start of a line.
const LABELS: [(&str, Tone); 6] = [
    ("error:", Tone::Bad),
    ("!!", Tone::Bad),
    ("warning:", Tone::Waits),
    ("hint:", Tone::Works),
    ("advice:", Tone::Faint),
    ("note:", Tone::Faint),
];

/// Colours statuses, labels and commands between backticks. The text must have no colours yet.
pub fn painted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        out.push_str(&line[..line.len() - start.len()]);
        match LABELS.iter().find(|(label, _)| start.starts_with(label)) {
            Some((label, tone)) => {
                out.push_str(&tone.paint(label));
                paint_words(&mut out, &start[label.len()..]);
            }
            None => paint_words(&mut out, start),
        }
    }
    out
}

fn paint_words(out: &mut String, line: &str) {
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let quoted = rest.strip_prefix('`').and_then(|inner| inner.find('`')).map(|end| end + 2);
        let end = match first {
            '`' => quoted.unwrap_or(1),
            _ if is_of_word(first) => rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()),
            _ => rest.find(|c| c == '`' || is_of_word(c)).unwrap_or(rest.len()),
        };
        let (piece, after) = rest.split_at(end);
        let tone = match first {
            '`' => quoted.map(|_| Tone::Strong),
            _ => piece.parse::<Status>().ok().filter(|status| status.as_str() == piece).map(Tone::of_status),
        };
        match tone {
            Some(tone) => out.push_str(&tone.paint(piece)),
            None => out.push_str(piece),
        }
        rest = after;
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// A progress bar of this many columns.
pub fn bar(done: usize, all: usize, columns: usize) -> String {
    let filled = (done.min(all) * columns).checked_div(all).unwrap_or(0);
    format!("{}{}", "█".repeat(filled), "░".repeat(columns - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_labels_and_commands_have_their_colour() {
        assert_eq!(
            painted("t1 is MERGED, not MERGED_X\n"),
            "t1 is \u{1b}[32mMERGED\u{1b}[0m, not MERGED_X\n"
        );
        assert_eq!(
            painted("  !! BLOCKED: type `liza status`\n"),
            "  \u{1b}[31m!!\u{1b}[0m \u{1b}[31mBLOCKED\u{1b}[0m: type \u{1b}[1m`liza status`\u{1b}[0m\n"
        );
        assert_eq!(painted("a ` b IDLE-1 é…\n"), "a ` b IDLE-1 é…\n");
        for text in ["", "`", "``", "`a", "é`漢`é WORKING"] {
            let plain: String = painted(text)
                .split('\u{1b}')
                .enumerate()
                .map(
                    |(at, piece)| {
                        if at == 0 { piece } else { piece.split_once('m').map_or("", |(_, rest)| rest) }
                    },
                )
                .collect();
            assert_eq!(plain, text);
        }
    }

    #[test]
    fn bar_is_full_only_at_the_end() {
        assert_eq!(bar(0, 0, 4), "░░░░");
        assert_eq!(bar(3, 4, 4), "███░");
        assert_eq!(bar(99, 100, 10), "█████████░");
        assert_eq!(bar(5, 4, 4), "████");
    }
}
