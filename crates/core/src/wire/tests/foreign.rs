//! One fixed result for every kind of foreign input.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::wire::{ForeignError, Limits, is_hidden, read_foreign, read_foreign_value};

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    title: String,
    #[serde(default)]
    tasks: Vec<Item>,
    #[serde(default)]
    limits: BTreeMap<String, u32>,
    #[serde(default)]
    note: Option<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    id: String,
    #[serde(default)]
    priority: u8,
    #[serde(default)]
    status: Status,
    #[serde(default)]
    ratio: f64,
}

#[derive(Debug, PartialEq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Status {
    #[default]
    Draft,
    Ready,
    Waiting {
        on: String,
    },
}

fn plan(bytes: &[u8]) -> Result<Plan, ForeignError> {
    read_foreign(bytes, Limits::default())
}

/// Text, line (0 = none), path (empty = none), a piece of the message.
type Verdict = (&'static str, usize, &'static str, &'static str);

const REFUSED: &[Verdict] = &[
    ("", 1, "", "empty"),
    ("\n# only a comment\n", 1, "", "empty"),
    ("---\n", 1, "", "empty"),
    ("title: a\nsize: 3\n", 2, "size", "unknown field `size`"),
    ("note: a\n", 1, "", "missing field `title`"),
    ("title: 5\n", 1, "title", "found the number 5; put quotes"),
    ("title: true\n", 1, "title", "found `true`; put quotes"),
    ("title: ~\n", 1, "title", "found nothing"),
    ("title:\n", 1, "title", "found nothing"),
    ("title: [a]\n", 1, "title", "invalid type: sequence"),
    ("title: {a: b}\n", 1, "title", "invalid type: map"),
    ("title: 1.5\n", 1, "title", "the number 1.5"),
    ("title: a\ntasks: b\n", 2, "tasks", "invalid type: string"),
    ("title: a\ntasks: 7\n", 2, "tasks", "invalid type: integer"),
    ("title: a\ntasks:\n  - id: T1\n  - ids: T2\n", 4, "tasks[1].ids", "unknown field `ids`"),
    ("title: a\ntasks:\n  - priority: 1\n", 3, "tasks[0]", "missing field `id`"),
    ("title: a\ntasks:\n  - id: T1\n    priority: high\n", 4, "tasks[0].priority", "invalid type: string"),
    ("title: a\ntasks:\n  - id: T1\n    priority: \"1\"\n", 4, "tasks[0].priority", "invalid type: string"),
    ("title: a\ntasks:\n  - id: T1\n    priority: 256\n", 4, "tasks[0].priority", "256"),
    ("title: a\ntasks:\n  - id: T1\n    priority: -1\n", 4, "tasks[0].priority", "-1"),
    ("title: a\ntasks:\n  - id: T1\n    priority: 1.0\n", 4, "tasks[0].priority", "floating point"),
    ("title: a\ntasks:\n  - id: T1\n    priority: 0x10\n", 4, "", "`0x10` is read differently"),
    ("title: a\ntasks:\n  - id: T1\n    priority: 0o17\n", 4, "", "`0o17` is read differently"),
    ("title: a\ntasks:\n  - id: T1\n    priority: 0b11\n", 4, "", "`0b11` is read differently"),
    ("title: a\ntasks:\n  - id: T1\n    priority: 007\n", 4, "", "`007` is read differently"),
    ("title: a\ntasks:\n  - id: T1\n    priority: 1_0\n", 4, "tasks[0].priority", "invalid type: string"),
    ("title: a\ntasks:\n  - id: T1\n    priority: yes\n", 4, "tasks[0].priority", "invalid type: string"),
    ("title: a\nlimits: {a: 99999999999999999999}\n", 2, "", "too large"),
    ("title: a\nlimits: {a: -99999999999999999999}\n", 2, "", "too large"),
    ("title: a\ntasks: [{id: T1, ratio: .inf}]\n", 2, "tasks[0].ratio", "not finite"),
    ("title: a\ntasks: [{id: T1, ratio: .nan}]\n", 2, "tasks[0].ratio", "not finite"),
    ("title: a\ntasks: [{id: T1, status: done}]\n", 2, "tasks[0].status", "unknown variant `done`"),
    ("title: a\ntasks: [{id: T1, status: {ready: 1}}]\n", 2, "tasks[0].status.ready", "takes no value"),
    (
        "title: a\ntasks: [{id: T1, status: {waiting: {}}}]\n",
        2,
        "tasks[0].status.waiting",
        "missing field `on`",
    ),
    ("title: a\ntitle: b\n", 2, "", "the key `title` appears twice"),
    ("title: a\nlimits:\n  a: 1\n  b: 2\n  a: 3\n", 5, "limits", "the key `a` appears twice"),
    ("title: a\nlimits:\n  a: 1\n  \"a\": 3\n", 4, "limits", "appears twice"),
    ("title: a\nlimits: {a: 1, a: 2}\n", 2, "limits", "appears twice"),
    ("title: a\nlimits:\n  1: 2\n", 3, "limits", "the key `1` is not text"),
    ("title: a\nlimits:\n  true: 2\n", 3, "limits", "the key `true` is not text"),
    ("title: a\nlimits:\n  ~: 2\n", 3, "limits", "the key `null` is not text"),
    ("title: a\nlimits:\n  [x]: 2\n", 3, "", "invalid type: sequence"),
    ("title: !t a\n", 1, "", "a tag"),
    ("title: !!str 5\n", 1, "", "a tag"),
    ("title: &x a\nnote: *x\n", 1, "", "an anchor"),
    ("title: a\nnote: *x\n", 2, "", "an alias"),
    ("title: a\nlimits:\n  <<: 1\n", 3, "", "merge key"),
    ("title: a\nlimits: {<<: {a: 1}}\n", 2, "", "merge key"),
    ("? title\n: a\n", 1, "", "`?` key"),
    ("%YAML 1.2\n---\ntitle: a\n", 1, "", "directive"),
    ("title: a\n---\ntitle: b\n", 2, "", "second document"),
    ("---\ntitle: a\n---\n", 3, "", "second document"),
    ("title: a\n...\n", 2, "", "second document"),
    ("\u{feff}title: a\n", 1, "", "byte order mark"),
    ("title: a\n\u{feff}note: b\n", 2, "", "byte order mark"),
    ("title: a\rnote: b\n", 1, "", "carriage return"),
    ("title: a\n\tnote: b\n", 2, "", "tab"),
    ("title: a\ntasks:\n\t- id: T1\n", 3, "", "tab"),
    ("title: a\0b\n", 1, "", "U+0000"),
    ("title: a\nnote: \u{1b}[31m\n", 2, "", "U+001B"),
    ("title: a\u{7f}\n", 1, "", "U+007F"),
    ("title: a\u{85}b\n", 1, "", "U+0085"),
    ("title: a\u{2028}b\n", 1, "", "U+2028"),
    ("title: 'a\n", 1, "", "closing quote"),
    ("title: \"a\n", 1, "", "closing quote"),
    ("title: \"\\q\"\n", 1, "", "escape"),
    ("title: a\n note: b\n", 2, "", "mapping values"),
    ("title: a: b\n", 1, "", "mapping values"),
    ("title: @a\n", 1, "", "starts with `@`"),
    ("title: `a`\n", 1, "", "starts with `"),
    ("title: %a\n", 1, "", "starts with `%`"),
    ("title: ]\n", 1, "", "closing bracket"),
    ("title: |x\n  a\n", 1, "", "beside"),
    ("title: [a\n", 2, "", ""),
    ("- a\n", 1, "", "invalid type: sequence"),
    ("just words\n", 1, "", "invalid type: string"),
    ("{\"title\": \"a\", \"title\": \"b\"}", 1, "", "appears twice"),
    ("{\"title\": \"a\",\n \"limits\": {\"a\": 1, \"a\": 1}}", 2, "limits", "appears twice"),
    ("{\"title\": \"a\", \"tasks\": [{\"id\": 5}]}", 1, "tasks[0].id", "the number 5"),
    ("{\"title\": \"a\",\n \"size\": 1}", 2, "size", "unknown field"),
    ("{\"title\": \"a\"} x", 1, "", "trailing characters"),
    ("{\"title\": \"a\",}", 1, "", "trailing comma"),
    ("{title: a}", 1, "", "key must be a string"),
    ("{\"title\": 'a'}", 1, "", "expected value"),
    ("{\"title\": \"a\", \"limits\": {\"a\": 1e999}}", 1, "", "out of range"),
    ("{\"title\": \"a\"", 1, "", "EOF"),
    ("{\"title\": \"a\", \"limits\": {\"a\": 0x10}}", 1, "", "expected"),
    ("[1, 2]", 1, "", "invalid type"),
];

#[test]
fn every_refusal_has_line_path_and_message() {
    const { assert!(REFUSED.len() >= 40) };
    let mut wrong = Vec::new();
    for (text, line, path, words) in REFUSED {
        match plan(text.as_bytes()) {
            Ok(plan) => wrong.push(format!("{text:?} was read as {plan:?}")),
            Err(error) => {
                let path = (!path.is_empty()).then(|| (*path).to_owned());
                let same =
                    error.line.unwrap_or(0) == *line && error.path == path && error.message.contains(words);
                if !same || error.to_string().chars().any(is_hidden) {
                    wrong.push(format!("{text:?}: {error:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ordinary_yaml_is_read_unchanged() {
    let read = [
        ("title: \"a & b\"", "a & b"),
        ("title: use *ptr and &ref, !important", "use *ptr and &ref, !important"),
        ("title: a [b] {c} - d ? e # comment", "a [b] {c} - d ? e"),
        ("title: yes", "yes"),
        ("title: off", "off"),
        ("title: 2026-01-20T15:30:00Z", "2026-01-20T15:30:00Z"),
        ("title: 12:30", "12:30"),
        ("title: 1_000", "1_000"),
        ("title: 0b12cd", "0b12cd"),
        ("title: 1.2.3", "1.2.3"),
        ("title: '0x10'", "0x10"),
        ("title: \"<<\"", "<<"),
        ("title: 'it''s'", "it's"),
        ("title: -x", "-x"),
        ("title: ?x", "?x"),
        ("title: :x", ":x"),
        ("title: a#b", "a#b"),
        ("title: http://host/a?b&c", "http://host/a?b&c"),
        ("title: \"\\e[0m\\u202e\"", "\u{1b}[0m\u{202e}"),
        ("title: a\r\n", "a"),
        ("---\ntitle: a", "a"),
        ("# note & *note !\n\ntitle: a", "a"),
        ("title: a\n  b\n  - c", "a b - c"),
        (
            "title: |\n  *a &b !c\n  %d <<: [[[[ {{{{\n\n    - - - - x\n  ---\n",
            "*a &b !c\n%d <<: [[[[ {{{{\n\n  - - - - x\n---\n",
        ),
        ("title: >-\n  &a\n  *b\n", "&a *b"),
        ("title: |2\n    x\n  ]\n", "  x\n]\n"),
        ("title: |- # why\n\n  a\n", "\na"),
        ("title: \"a\n  [[[[\n  *b\"", "a [[[[ *b"),
        ("title: 'a\n\n  &b'", "a\n&b"),
        ("\"title\": a", "a"),
        ("title: \"---\"", "---"),
        ("  title: a", "a"),
        ("title:   a   # b", "a"),
        ("title: 日本 é 🦀", "日本 é 🦀"),
        ("{\"title\": \"[[[[{{{{ *a &b \\\" \\\\\"}", "[[[[{{{{ *a &b \" \\"),
        (" \n{\"title\": \"a\"}\n", "a"),
    ];
    for (text, title) in read {
        match plan(text.as_bytes()) {
            Ok(plan) => assert_eq!(plan.title, title, "{text:?}"),
            Err(error) => panic!("{text:?}: {error}"),
        }
    }
}

#[test]
fn a_hand_written_plan_is_read_whole() {
    let text = "\
title: Plan # the goal
tasks:
- id: T1
  priority: 3
  status: ready
- {id: T2, status: {waiting: {on: T1}}, ratio: 1}
-
  id: \"3\"
  ratio: 2.5e-1
limits: {a: 1, \"2\": 3}
note: null
";
    let read = plan(text.as_bytes()).unwrap();
    assert_eq!(read.tasks.len(), 3);
    assert_eq!(read.tasks[1].status, Status::Waiting { on: "T1".into() });
    assert_eq!((read.tasks[1].ratio, read.tasks[2].ratio), (1.0, 0.25));
    assert_eq!(read.limits, BTreeMap::from([("2".into(), 3), ("a".into(), 1)]));
    assert_eq!(read.note, None);
}

#[test]
fn untyped_value_keeps_order_and_types() {
    let value = read_foreign_value(b"b: 1\na: [x, ~, true, -2, 0.5, '7']\nc:\n", Limits::default()).unwrap();
    assert_eq!(value, json!({"b": 1, "a": ["x", null, true, -2, 0.5, "7"], "c": null}));
    assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), ["b", "a", "c"]);
    assert_eq!(read_foreign_value(b"plain words", Limits::default()).unwrap(), Value::from("plain words"));
}

#[test]
fn size_and_encoding_come_first() {
    let small = Limits { bytes: 8, ..Limits::default() };
    let error = read_foreign_value(b"title: abc", small).unwrap_err();
    assert_eq!(error.to_string(), "it has 10 bytes; at most 8 are read");
    let error = plan(b"title: a\nnote: \xff\n").unwrap_err();
    assert_eq!(error.to_string(), "line 2: it is not valid UTF-8");
    assert!(plan(b"\xff\xfet\0i\0").is_err());
}
