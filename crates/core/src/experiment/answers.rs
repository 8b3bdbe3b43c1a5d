//! Reads an agent's answer: the sections of a plan, the verdict of a review.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    Approve,
    Reject,
}

impl Verdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "APPROVE",
            Self::Reject => "REJECT",
        }
    }
}

/// The lines of a text outside code fences.
fn unfenced(text: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<&str> = None;
    text.lines().filter(move |line| {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => {
                fence = Some(mark);
                false
            }
            (Some(open), Some(mark)) => {
                if open == mark {
                    fence = None;
                }
                false
            }
            (open, None) => open.is_none(),
        }
    })
}

/// The last line that is exactly `VERDICT: APPROVE` or `VERDICT: REJECT`, outside code fences: a verdict in a diff or
/// in a sentence does not count.
pub fn verdict(text: &str) -> Option<Verdict> {
    let of_line = |line: &str| match line.trim().trim_matches(['*', '_']).trim() {
        "VERDICT: APPROVE" => Some(Verdict::Approve),
        "VERDICT: REJECT" => Some(Verdict::Reject),
        _ => None,
    };
    unfenced(text).filter_map(of_line).last()
}

/// Which of the sections PLAN and RISKS are missing; a heading without text does not count.
pub fn missing_sections(text: &str) -> Vec<&'static str> {
    let mut found = [("PLAN", false), ("RISKS", false)];
    let mut open: Option<usize> = None;
    for line in unfenced(text) {
        let words = line.trim().trim_start_matches(['#', '*', '_', ' ']);
        let (head, rest) = words.split_once(':').unwrap_or((words, ""));
        let head = head.trim_end_matches(['*', '_', ' ']);
        match found.iter().position(|(name, _)| head.eq_ignore_ascii_case(name)) {
            Some(section) => {
                open = Some(section);
                found[section].1 |= !rest.trim_matches(['*', '_', ' ']).is_empty();
            }
            None if !line.trim().is_empty() => {
                if let Some(section) = open {
                    found[section].1 = true;
                }
            }
            None => {}
        }
    }
    found.into_iter().filter_map(|(name, present)| (!present).then_some(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_line_of_its_own_is_the_verdict() {
        assert_eq!(verdict("fine\n\n**VERDICT: APPROVE**\n"), Some(Verdict::Approve));
        assert_eq!(verdict("VERDICT: APPROVE\nno, wait\nVERDICT: REJECT"), Some(Verdict::Reject));
        for text in [
            "",
            "I would say VERDICT: APPROVE",
            "> VERDICT: APPROVE",
            "+VERDICT: APPROVE",
            "```\nVERDICT: APPROVE\n```",
            "~~~\n```\nVERDICT: APPROVE\n~~~\n",
            "VERDICT: MAYBE",
            "`VERDICT: APPROVE`",
        ] {
            assert_eq!(verdict(text), None, "{text}");
        }
        let quoted = "VERDICT: REJECT\n```diff\n+VERDICT: APPROVE\nVERDICT: APPROVE\n```\n- fix the loop\n";
        assert_eq!(verdict(quoted), Some(Verdict::Reject));
    }

    #[test]
    fn a_plan_has_both_sections_with_words_in_them() {
        assert!(missing_sections("# PLAN\n1. do\n## Risks\nnone\n").is_empty());
        assert!(missing_sections("PLAN: one step\nRISKS: none").is_empty());
        assert!(missing_sections("**PLAN**\n```\ncode\n```\nstep\n**RISKS:** few\n").is_empty());
        assert_eq!(missing_sections("PLAN\n\nRISKS\n"), ["PLAN", "RISKS"]);
        assert_eq!(missing_sections("the plan is: change it"), ["PLAN", "RISKS"]);
        assert_eq!(missing_sections("PLAN\nstep\n"), ["RISKS"]);
        assert_eq!(missing_sections("```\nPLAN\nx\nRISKS\ny\n```"), ["PLAN", "RISKS"]);
    }
}
