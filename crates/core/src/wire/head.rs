//! The heads of tasks, read line by line.
//!
//! Every command reads the heads of all tasks, so they have a reader of their own. It knows the keys in the order in which
//! liza writes them. Whatever else it meets (another order, a repeated key, a value of another shape) it leaves to
//! [`parse_item`], which reads the same text more slowly and says what is wrong with it.

use std::str::FromStr;

use memchr::memchr;

use super::chars::{is_plain, next_special};
use super::flat::HEAD_KEYS;
use super::lines::ParseError;
use super::prelude::*;
use super::{parse, parse_item};
use crate::board::WorkstreamId;
use crate::board::slice::SliceKind;
use crate::board::task::{Kind, Risk};

/// Reads a head: from the line with its dash to the line above its hash.
pub(super) fn read_head(text: &str) -> Result<Head, ParseError> {
    match quick_head(text) {
        Some(head) => Ok(head),
        None => parse_item(text, 2),
    }
}

/// The title of a task, from the first line of its body.
pub(super) fn read_title(body: &str) -> Option<Cow<'_, str>> {
    let value = body.strip_prefix("    title:")?;
    let line = &value[..=memchr(b'\n', value.as_bytes())?];
    match plain_text(line.trim_end_matches('\n').strip_prefix(' ')?) {
        Some(text) => Some(Cow::Borrowed(text)),
        None => parse::<String>(&line[1..], 0).ok().map(Cow::Owned),
    }
}

/// How many keys every head begins with: id, status, kind, role.
const FIRST: usize = 4;

/// The next lines of an unclaimed task, and the end of its head: as in [`Head::new`].
const UNCLAIMED: &str = "    priority: 0\n    risk: low\n    epoch: 0\n";
const UNCLAIMED_END: &str = "    iteration: 0\n    review_cycles_current: 0\n    review_cycles_total: 0\n";
/// The index of the key after [`UNCLAIMED`], and of the first one of [`UNCLAIMED_END`].
const AFTER_EPOCH: usize = 8;
const ITERATION: usize = 18;
const _: () = assert!(matches!(HEAD_KEYS[AFTER_EPOCH - 1].as_bytes(), b"epoch"));
const _: () = assert!(matches!(HEAD_KEYS[ITERATION].as_bytes(), b"iteration"));

fn quick_head(text: &str) -> Option<Head> {
    let mut reader = Reader { rest: text };
    let id = reader.first_line("  - id: ", |text| TaskId::new(text).ok())?;
    let status = reader.first_line("    status: ", |text| word(text, &Status::ALL, Status::as_str))?;
    let kind = reader.first_line("    kind: ", |text| word(text, &Kind::ALL, Kind::as_str))?;
    let role = reader.first_line("    role: ", |text| Role::new(text).ok())?;
    let mut head = Head { status, kind, ..Head::new(id, role) };
    let mut before = FIRST;
    if let Some(rest) = reader.rest.strip_prefix(UNCLAIMED) {
        (reader.rest, before) = (rest, AFTER_EPOCH);
    }
    while !(before <= ITERATION && reader.rest == UNCLAIMED_END)
        && let Some((key, value)) = reader.line()?
    {
        before += 1 + HEAD_KEYS.get(before..)?.iter().position(|known| *known == key)?;
        match key {
            "priority" => head.priority = value.number()?,
            "risk" => head.risk = word(value.text()?, &Risk::ALL, Risk::as_str)?,
            "assigned_to" => head.assigned_to = Some(AgentId::new(value.text()?).ok()?),
            "epoch" => head.epoch = value.number()?,
            "lease" => head.lease = Some(reader.nested(value)?),
            "review_lease" => head.review_lease = Some(reader.nested(value)?),
            "reserved_until" => head.reserved_until = Some(reader.nested(value)?),
            "holds_paths" => head.holds_paths = value.is_true()?,
            "holds_paths_until" => head.holds_paths_until = Some(reader.nested(value)?),
            "depends_on" => head.depends_on = reader.list(value, TaskId::new)?,
            "owns" => head.owns = reader.list(value, PathPattern::new)?,
            "superseded_by" => head.superseded_by = reader.list(value, TaskId::new)?,
            "implementers" => head.implementers = reader.list(value, AgentId::new)?,
            "failed_by" => head.failed_by = reader.list(value, AgentId::new)?,
            "iteration" => head.iteration = value.number()?,
            "review_cycles_current" => head.review_cycles_current = value.number()?,
            "review_cycles_total" => head.review_cycles_total = value.number()?,
            "review_commit" => head.review_commit = Some(CommitId::new(value.text()?).ok()?),
            "integration_fix" => head.integration_fix = value.is_true()?,
            "red_team" => head.red_team = Some(reader.nested(value)?),
            "approvals" => head.approvals = Some(reader.nested(value)?),
            "goal" => head.goal = Some(value.text()?.to_owned()),
            "single" => head.single = value.is_true()?,
            "slice_kind" => head.slice_kind = Some(word(value.text()?, &SliceKind::ALL, SliceKind::as_str)?),
            "workstream" => head.workstream = Some(WorkstreamId::new(value.text()?).ok()?),
            "result" => head.result = Some(reader.nested(value)?),
            _ => return None,
        }
    }
    Some(head)
}

/// The text of a scalar without escapes, as liza writes it.
fn plain_text(written: &str) -> Option<&str> {
    match written.strip_prefix('"') {
        Some(rest) => (next_special(rest, 0)? + 1 == rest.len()).then(|| rest.strip_suffix('"'))?,
        None => is_plain(written).then_some(written),
    }
}

fn word<T: Copy>(text: &str, all: &[T], name: fn(T) -> &'static str) -> Option<T> {
    all.iter().copied().find(|value| name(*value) == text)
}

/// The value of a key: on its line, or on the lines below it.
#[derive(Clone, Copy)]
struct Value<'t>(&'t str);

impl<'t> Value<'t> {
    fn inline(self) -> Option<&'t str> {
        self.0.strip_prefix(' ')
    }

    fn text(self) -> Option<&'t str> {
        plain_text(self.inline()?)
    }

    /// A number as liza writes it; other forms are for the strict parser.
    fn number<T: FromStr>(self) -> Option<T> {
        let text = self.inline()?;
        let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
        let canonical =
            digits.iter().all(u8::is_ascii_digit) && (digits.len() == 1 || digits.first() != Some(&b'0'));
        if canonical { text.parse().ok() } else { None }
    }

    fn is_true(self) -> Option<bool> {
        (self.0 == " true").then_some(true)
    }

    fn is_below(self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

/// The remaining lines of a head. None means that the strict parser must decide.
struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    /// Skips a line and returns it without its end.
    fn pass_line(&mut self) -> Option<&'t str> {
        let end = memchr(b'\n', self.rest.as_bytes())?;
        let line = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Some(line)
    }

    /// A line that every head has, by its key.
    fn first_line<T>(&mut self, start: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        read(plain_text(self.pass_line()?.strip_prefix(start)?)?)
    }

    /// The next key and its value; none at the end.
    fn line(&mut self) -> Option<Option<(&'t str, Value<'t>)>> {
        if self.rest.is_empty() {
            return Some(None);
        }
        let line = self.pass_line()?.strip_prefix("    ")?;
        let (key, value) = line.split_at(memchr(b':', line.as_bytes())?);
        Some(Some((key, Value(&value[1..]))))
    }

    fn list<T, E>(&mut self, value: Value<'t>, make: impl Fn(&str) -> Result<T, E>) -> Option<Vec<T>> {
        value.is_below()?;
        let mut items = Vec::new();
        while let Some(item) = self.rest.strip_prefix("      - ") {
            self.rest = item;
            items.push(make(plain_text(self.pass_line()?)?).ok()?);
        }
        (!items.is_empty()).then_some(items)
    }

    /// A record on its own lines.
    fn nested<T: DeserializeOwned>(&mut self, value: Value<'t>) -> Option<T> {
        value.is_below()?;
        let all = self.rest;
        while self.rest.starts_with("      ") {
            self.pass_line()?;
        }
        parse(&all[..all.len() - self.rest.len()], 6).ok()
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
        let text = "  - id: t1\n    status: APPROVED\n    kind: docs\n    role: coder\n    priority: -3\n    risk: high\n    assigned_to: coder-1\n    epoch: 18446744073709551615\n    holds_paths: true\n    depends_on:\n      - \"12\"\n    owns:\n      - src/\n      - \"a b c ä\"\n    superseded_by:\n      - t3\n    implementers:\n      - coder-1\n    failed_by:\n      - coder-2\n    iteration: 3\n    review_cycles_current: 1\n    review_cycles_total: 10\n    review_commit: \"37601287d77b92009824737d6fe88e57b09a4e47\"\n    integration_fix: true\n    red_team:\n      status: pending\n      commit: \"37601287d77b92009824737d6fe88e57b09a4e47\"\n    goal: goal-2\n    single: true\n    slice_kind: work\n    workstream: w1\n";
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
        let unclaimed = Head { owns: whole.owns.clone(), ..Head::new(whole.id.clone(), whole.role.clone()) };
        let unclaimed_text = text_of(&unclaimed);
        assert!(unclaimed_text.contains(UNCLAIMED) && unclaimed_text.ends_with(UNCLAIMED_END));
        assert_eq!(quick_head(&unclaimed_text), Some(unclaimed));
        [text, unclaimed_text].iter().for_each(|text| agree_on_changes_of(text));
    }

    /// The text without any one line, with any line twice, and with any two lines exchanged.
    fn agree_on_changes_of(text: &str) {
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
        let keys: Vec<&str> = keys.map(|line| line.split(':').next().unwrap_or_default()).skip(3).collect();
        let known: Vec<&str> = HEAD_KEYS[FIRST..].iter().copied().filter(|key| keys.contains(key)).collect();
        assert_eq!(keys, known);
        let lacking = ["lease", "review_lease", "reserved_until", "holds_paths_until", "approvals", "result"];
        assert_eq!(HEAD_KEYS[FIRST..].len(), keys.len() + lacking.len());
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
