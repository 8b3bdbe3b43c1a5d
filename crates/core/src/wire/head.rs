//! The heads of tasks, read line by line.
//!
//! Every command reads the heads of all tasks, so they have a reader of their own. It knows the keys in the order in which
//! liza writes them. Whatever else it meets (another order, a repeated key, a value of another shape) it leaves to
//! [`parse_item`], which reads the same text more slowly and says what is wrong with it.

use std::str::FromStr;

use super::chars::reads_as_text;
use super::lines::{Lines, Margin, ParseError, Scalar};
use super::prelude::*;
use super::{parse, parse_item};
use crate::board::task::{Kind, Risk};

/// Where the lines of a head stand, and the items of its lists.
const INDENT: usize = 4;
const DEEPER: usize = 6;

/// Reads a head: from the line with its dash to the line above its hash.
pub(super) fn read_head(text: &str) -> Result<Head, ParseError> {
    match quick_head(text) {
        Some(head) => Ok(head),
        None => parse_item(text, 2),
    }
}

/// The title of a task, from the first line of its body.
pub(super) fn read_title(body: &str) -> Option<Cow<'_, str>> {
    let mut reader = Reader::new(body);
    match reader.next_key()?.as_ref() {
        "title" => reader.text(),
        _ => None,
    }
}

/// The keys below `status`, in the order in which a head is written.
const ORDER: [&str; 23] = [
    "kind",
    "role",
    "priority",
    "risk",
    "assigned_to",
    "epoch",
    "lease",
    "review_lease",
    "reserved_until",
    "holds_paths",
    "holds_paths_until",
    "depends_on",
    "owns",
    "superseded_by",
    "implementers",
    "failed_by",
    "iteration",
    "review_cycles_current",
    "review_cycles_total",
    "review_commit",
    "integration_fix",
    "red_team",
    "approvals",
];

fn quick_head(text: &str) -> Option<Head> {
    let mut reader = Reader::new(text.strip_prefix("  - ")?);
    reader.lines.key().ok().filter(|key| key == "id")?;
    let id = reader.named(TaskId::new)?;
    reader.next_key().filter(|key| key == "status")?;
    let status = reader.word(&Status::ALL, Status::as_str)?;
    // The role follows; until then any will do.
    let mut head = Head::new(id, Role::coder());
    head.status = status;
    let mut before = 0;
    let mut has_role = false;
    while let Some(key) = reader.next_key() {
        before += 1 + ORDER.get(before..)?.iter().position(|known| *known == key)?;
        match key.as_ref() {
            "kind" => head.kind = reader.word(&Kind::ALL, Kind::as_str)?,
            "role" => {
                head.role = reader.named(Role::new)?;
                has_role = true;
            }
            "priority" => head.priority = reader.number()?,
            "risk" => head.risk = reader.word(&Risk::ALL, Risk::as_str)?,
            "assigned_to" => head.assigned_to = Some(reader.named(AgentId::new)?),
            "epoch" => head.epoch = reader.number()?,
            "lease" => head.lease = Some(reader.nested()?),
            "review_lease" => head.review_lease = Some(reader.nested()?),
            "reserved_until" => head.reserved_until = Some(reader.nested()?),
            "holds_paths" => head.holds_paths = reader.is_true()?,
            "holds_paths_until" => head.holds_paths_until = Some(reader.nested()?),
            "depends_on" => head.depends_on = reader.list(TaskId::new)?,
            "owns" => head.owns = reader.list(PathPattern::new)?,
            "superseded_by" => head.superseded_by = reader.list(TaskId::new)?,
            "implementers" => head.implementers = reader.list(AgentId::new)?,
            "failed_by" => head.failed_by = reader.list(AgentId::new)?,
            "iteration" => head.iteration = reader.number()?,
            "review_cycles_current" => head.review_cycles_current = reader.number()?,
            "review_cycles_total" => head.review_cycles_total = reader.number()?,
            "review_commit" => head.review_commit = Some(reader.named(CommitId::new)?),
            "integration_fix" => head.integration_fix = reader.is_true()?,
            "red_team" => head.red_team = Some(reader.nested()?),
            "approvals" => head.approvals = Some(reader.nested()?),
            _ => return None,
        }
    }
    (has_role && reader.is_at_end()).then_some(head)
}

/// A cursor over the lines of one task. Nothing is returned for what the strict parser has to judge.
struct Reader<'t> {
    text: &'t str,
    lines: Lines<'t>,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, lines: Lines::new(text) }
    }

    fn is_at_end(&self) -> bool {
        self.lines.peek().is_none()
    }

    /// The key of the next line of the head.
    fn next_key(&mut self) -> Option<Cow<'t, str>> {
        if self.lines.margin(INDENT) != Margin::Same {
            return None;
        }
        self.lines.skip(INDENT);
        self.lines.key().ok()
    }

    fn scalar(&mut self) -> Option<Scalar<'t>> {
        if self.lines.peek() != Some(b' ') {
            return None;
        }
        self.lines.skip(1);
        self.lines.scalar().ok()
    }

    fn text(&mut self) -> Option<Cow<'t, str>> {
        match self.scalar()? {
            Scalar::Quoted(text) => Some(text),
            Scalar::Bare(text) => reads_as_text(text).then_some(Cow::Borrowed(text)),
        }
    }

    fn named<T, E>(&mut self, make: impl Fn(&str) -> Result<T, E>) -> Option<T> {
        make(&self.text()?).ok()
    }

    fn word<T: Copy>(&mut self, all: &[T], name: fn(T) -> &'static str) -> Option<T> {
        let text = self.text()?;
        all.iter().copied().find(|value| name(*value) == text)
    }

    /// A number as liza writes it; any other way to write one is for the strict parser.
    fn number<T: FromStr>(&mut self) -> Option<T> {
        let Scalar::Bare(text) = self.scalar()? else { return None };
        let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
        let canonical =
            digits.iter().all(u8::is_ascii_digit) && (digits.len() == 1 || digits.first() != Some(&b'0'));
        if canonical { text.parse().ok() } else { None }
    }

    fn is_true(&mut self) -> Option<bool> {
        match self.scalar()? {
            Scalar::Bare("true") => Some(true),
            _ => None,
        }
    }

    fn list<T, E>(&mut self, make: impl Fn(&str) -> Result<T, E>) -> Option<Vec<T>> {
        self.lines.end_line().ok()?;
        let mut items = Vec::new();
        while self.lines.margin(DEEPER) == Margin::Same && self.lines.dash_ahead(DEEPER) {
            self.lines.skip(DEEPER + 1);
            items.push(self.named(&make)?);
        }
        (!items.is_empty()).then_some(items)
    }

    /// A record of its own lines.
    fn nested<T: DeserializeOwned>(&mut self) -> Option<T> {
        self.lines.end_line().ok()?;
        let start = self.lines.at();
        while matches!(self.lines.margin(DEEPER), Margin::Same | Margin::More) {
            self.lines.skip_line()?;
        }
        parse(&self.text[start..self.lines.at()], DEEPER).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::emit_item;

    fn text_of(head: &Head) -> String {
        let mut text = String::new();
        emit_item(head, 2, &mut text).expect("it is written");
        text
    }

    fn whole_head() -> Head {
        let text = "  - id: t1\n    status: APPROVED\n    kind: docs\n    role: coder\n    priority: -3\n    risk: high\n    assigned_to: coder-1\n    epoch: 18446744073709551615\n    holds_paths: true\n    depends_on:\n      - \"12\"\n    owns:\n      - src/\n      - \"a b c ä\"\n    superseded_by:\n      - t3\n    implementers:\n      - coder-1\n    failed_by:\n      - coder-2\n    iteration: 3\n    review_cycles_current: 1\n    review_cycles_total: 10\n    review_commit: \"37601287d77b92009824737d6fe88e57b09a4e47\"\n    integration_fix: true\n    red_team:\n      status: pending\n      commit: \"37601287d77b92009824737d6fe88e57b09a4e47\"\n";
        parse_item(text, 2).expect("a head")
    }

    #[test]
    fn quick_reader_agrees_with_the_strict_one() {
        let whole = whole_head();
        let text = text_of(&whole);
        assert_eq!(quick_head(&text).as_ref(), Some(&whole));
        assert_eq!(
            quick_head(&text_of(&Head::new(whole.id.clone(), Role::planner()))).map(|head| head.role),
            Some(Role::planner())
        );
        // Without any one of its lines, with any one of them twice, and with any two of them in the other order.
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut changed = Vec::new();
        for at in 0..lines.len() {
            let with =
                |middle: &[&str], rest: usize| [&lines[..at], middle, &lines[rest..]].concat().concat();
            changed.push(with(&[], at + 1));
            changed.push(with(&[lines[at], lines[at]], at + 1));
            if at + 1 < lines.len() {
                changed.push(with(&[lines[at + 1], lines[at]], at + 2));
            }
            for (from, to) in
                [(": ", ":  "), (": ", ": \""), ("    ", "   "), ("1", "01"), ("t", "\\t"), ("\n", " \n")]
            {
                changed.push(with(&[&lines[at].replacen(from, to, 1)], at + 1));
            }
        }
        for text in changed {
            if let Some(head) = quick_head(&text) {
                assert_eq!(parse_item::<Head>(&text, 2).as_ref(), Ok(&head), "{text}");
            }
        }
    }

    #[test]
    fn keys_are_those_of_a_written_head() {
        let written = text_of(&whole_head());
        let keys = written
            .lines()
            .filter_map(|line| line.strip_prefix("    "))
            .filter(|line| !line.starts_with(' '));
        let keys: Vec<&str> = keys.map(|line| line.split(':').next().unwrap_or_default()).skip(1).collect();
        let known: Vec<&str> = ORDER.iter().copied().filter(|key| keys.contains(key)).collect();
        assert_eq!(keys, known);
        let lacking = ["lease", "review_lease", "reserved_until", "holds_paths_until", "approvals"];
        assert_eq!(ORDER.len(), keys.len() + lacking.len());
    }

    #[test]
    fn title_is_read_without_the_body() {
        assert_eq!(
            read_title("    title: Greet by name\n    spec_ref: a\n").as_deref(),
            Some("Greet by name")
        );
        assert_eq!(read_title("    title: \"a: \\\"b\\\"\"\n").as_deref(), Some("a: \"b\""));
        assert_eq!(read_title("    spec_ref: a\n"), None);
    }
}
