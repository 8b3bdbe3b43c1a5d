//! The fixed layout, byte by byte, and what its parser refuses.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::wire::{EmitError, emit, emit_item, parse, parse_item};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Task {
    pub id: String,
    pub status: Status,
    pub priority: u32,
    pub ratio: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assigned_to: Option<String>,
    pub reason: Option<String>,
    pub depends_on: Vec<String>,
    pub scope: Vec<Vec<String>>,
    pub notes: BTreeMap<u32, Note>,
    pub history: Vec<Entry>,
    pub verdict: Verdict,
    pub done: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Status {
    Ready,
    InReview,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Note(String);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub time: String,
    pub event: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Verdict {
    None,
    Score(f32),
    Pair(u8, String),
    Rejected { by: String, findings: Vec<Verdict> },
}

pub(super) fn sample() -> Task {
    Task {
        id: "T1".into(),
        status: Status::InReview,
        priority: 3,
        ratio: 0.85,
        assigned_to: None,
        reason: None,
        depends_on: vec![],
        scope: vec![vec!["src/a.rs".into(), "*.md".into()], vec![]],
        notes: BTreeMap::from([(7, Note("first: note".into()))]),
        history: vec![
            Entry { time: "2026-01-20T15:30:00Z".into(), event: "created".into(), extra: BTreeMap::new() },
            Entry {
                time: "2026-01-20T15:31:00Z".into(),
                event: "claimed".into(),
                extra: BTreeMap::from([
                    ("checkpoint".into(), json!({"risks": [], "files": ["a b", "no"], "x": {}})),
                    ("count".into(), json!(-2)),
                ]),
            },
        ],
        verdict: Verdict::Rejected {
            by: "critic-1".into(),
            findings: vec![Verdict::None, Verdict::Score(0.1), Verdict::Pair(1, "two".into())],
        },
        done: false,
    }
}

const LAYOUT: &str = r#"id: T1
status: IN_REVIEW
priority: 3
ratio: 0.85
reason: null
depends_on: []
scope:
  -
    - src/a.rs
    - "*.md"
  - []
notes:
  "7": "first: note"
history:
  - time: "2026-01-20T15:30:00Z"
    event: created
  - time: "2026-01-20T15:31:00Z"
    event: claimed
    extra:
      checkpoint:
        risks: []
        files:
          - a b
          - "no"
        x: {}
      count: -2
verdict:
  Rejected:
    by: critic-1
    findings:
      - None
      - Score: 0.1
      - Pair:
          - 1
          - two
done: false
"#;

fn indented(text: &str, spaces: usize) -> String {
    text.lines().map(|line| format!("{:spaces$}{line}\n", "")).collect()
}

#[test]
fn the_layout_is_fixed_and_read_back() {
    let mut out = String::from("before\n");
    emit(&sample(), 0, &mut out).unwrap();
    assert_eq!(out, format!("before\n{LAYOUT}"));
    assert_eq!(parse::<Task>(LAYOUT, 0).unwrap(), sample());
    assert_eq!(
        crate::wire::foreign::read_by_crate::<Value>(LAYOUT).unwrap(),
        parse::<Value>(LAYOUT, 0).unwrap()
    );
    assert_eq!(parse::<Task>(&indented(LAYOUT, 6), 6).unwrap(), sample());
    parse::<serde::de::IgnoredAny>(LAYOUT, 0).unwrap();
}

#[test]
fn list_items_are_slices_of_the_text() {
    let board = BTreeMap::from([("tasks", [sample(), sample()])]);
    let mut whole = String::new();
    emit(&board, 0, &mut whole).unwrap();
    let mut item = String::new();
    emit_item(&sample(), 2, &mut item).unwrap();
    assert!(item.starts_with("  - id: T1\n    status: IN_REVIEW\n"), "{item}");
    assert_eq!(whole, format!("tasks:\n{item}{item}"));
    assert_eq!(parse_item::<Task>(&item, 2).unwrap(), sample());
    assert_eq!(parse::<Vec<Task>>(&whole["tasks:\n".len()..], 2).unwrap(), [sample(), sample()]);
}

#[test]
fn strings_are_borrowed_where_nothing_is_escaped() {
    let map: BTreeMap<&str, &str> = parse("a: plain words\nb: \"quoted: words\"\n", 0).unwrap();
    assert_eq!(map, BTreeMap::from([("a", "plain words"), ("b", "quoted: words")]));
}

#[test]
fn numbers_keep_their_value_and_kind() {
    for number in [0.0, -0.0, 1.0, 0.1, 1e21, 1e-7, 1.5e300, f64::MAX, f64::MIN_POSITIVE, 5e-324, -2.5e-9] {
        let mut out = String::new();
        emit(&number, 0, &mut out).unwrap();
        assert!(out.contains('.'), "{out}");
        assert_eq!(parse::<f64>(&out, 0).unwrap().to_bits(), number.to_bits(), "{out}");
        assert!(parse::<Value>(&out, 0).unwrap().is_f64(), "{out}");
        assert_eq!(
            crate::wire::foreign::read_by_crate::<f64>(&out).unwrap().to_bits(),
            number.to_bits(),
            "{out}"
        );
    }
    for number in [i128::MIN, i128::MAX, 0, -1] {
        let mut out = String::new();
        emit(&number, 0, &mut out).unwrap();
        assert_eq!(parse::<i128>(&out, 0).unwrap(), number);
    }
    for number in [f64::NAN, f64::INFINITY] {
        let mut out = String::from("kept");
        assert_eq!(emit(&[1.0, number], 0, &mut out), Err(EmitError::NotFinite));
        assert_eq!(out, "kept");
    }
}

#[test]
fn nesting_is_bounded_both_ways() {
    let mut value = json!("x");
    for _ in 0..64 {
        value = json!([value]);
    }
    let mut out = String::new();
    emit(&value, 0, &mut out).unwrap();
    assert_eq!(parse::<Value>(&out, 0).unwrap(), value);
    assert_eq!(emit(&json!([value]), 0, &mut out), Err(EmitError::TooDeep));
    let dashes: String = (0..65).map(|level| format!("{:1$}-\n", "", level * 2)).collect();
    assert!(parse::<Value>(&dashes, 0).unwrap_err().message.contains("deeper"));
}

#[test]
fn anything_but_the_layout_is_refused_with_its_line() {
    let refused = [
        ("", 1),
        ("\n", 1),
        ("a: 1", 1),
        ("a: 1\n\nb: 2\n", 2),
        ("a: 1\n# note\n", 2),
        ("a: 1 # note\n", 1),
        ("a:\t1\n", 1),
        ("\ta: 1\n", 1),
        (" a: 1\n", 1),
        ("a: 1\n b: 2\n", 2),
        ("a:\n   b: 2\n", 2),
        ("a:\n    b: 2\n", 2),
        ("a:\nb: 2\n", 2),
        ("a:\n- 1\n", 2),
        ("a: [1]\n", 1),
        ("a: {b: 1}\n", 1),
        ("a: |\n  x\n", 1),
        ("a: >\n  x\n", 1),
        ("a: &x 1\n", 1),
        ("a: *x\n", 1),
        ("a: !x 1\n", 1),
        ("---\na: 1\n", 1),
        ("a: 1\r\nb: 2\r\n", 1),
        ("a:  1\n", 1),
        ("a: 1 \n", 1),
        ("a: 'x'\n", 1),
        ("a: \"x\n", 1),
        ("a: \"x\"y\n", 1),
        ("a: \"\\q\"\n", 1),
        ("a: \"\\x4\"\n", 1),
        ("a: \"\\ud800\"\n", 1),
        ("a: \"\u{1b}\"\n", 1),
        ("a: \"\u{202e}\"\n", 1),
        ("a: \"x\ny\"\n", 1),
        ("a: yes\n", 1),
        ("a: ~\n", 1),
        ("a: 007\n", 1),
        ("a: +1\n", 1),
        ("a: 1_0\n", 1),
        ("a: .5\n", 1),
        ("a: 0x1\n", 1),
        ("a: 1e999\n", 1),
        ("a: 99999999999999999999\n", 1),
        ("a: 2026-01-20\n", 1),
        ("a: x: y\n", 1),
        ("a : 1\n", 1),
        ("1: x\n", 1),
        ("null: x\n", 1),
        ("? a\n", 1),
        ("a: 1\na: 2\n", 2),
        ("a: 1\n\"a\": 2\n", 2),
        ("b: 1\na: 2\nb: 3\n", 3),
        ("a:\n  c: 1\n  b: 2\n  b: 3\n", 4),
        ("a:\n  - 1\n  b: 2\n", 3),
        ("a:\n  b: 2\n  - 1\n", 3),
        ("a:\n  -\n    x: 1\n", 3),
        ("a:\n  - - 1\n", 2),
        ("a:\n  -1\n  -2\n", 2),
        ("a:x\n", 1),
        ("a:\n", 2),
        ("a: \n", 1),
        ("a:\n  -\n", 3),
        ("\u{feff}a: 1\n", 1),
        ("a: 1\n...\n", 2),
    ];
    for (text, line) in refused {
        match parse::<BTreeMap<String, Value>>(text, 0) {
            Ok(value) => panic!("{text:?} was read as {value:?}"),
            Err(error) => assert_eq!(error.line, line, "{text:?}: {error}"),
        }
    }
}

#[test]
fn wrong_types_are_refused_with_their_line() {
    let broken = LAYOUT.replace("priority: 3", "priority: \"3\"");
    assert_eq!(parse::<Task>(&broken, 0).unwrap_err().line, 3);
    let broken = LAYOUT.replace("event: claimed", "event: 5");
    assert_eq!(parse::<Task>(&broken, 0).unwrap_err().line, 18);
    let broken = LAYOUT.replace("done: false", "undone: false");
    let error = parse::<Task>(&broken, 0).unwrap_err();
    assert!(error.message.contains("unknown field `undone`"), "{error}");
    assert_eq!(error.line, broken.lines().count());
    assert!(parse::<Task>(&format!("{LAYOUT}done: false\n"), 0).unwrap_err().message.contains("duplicate"));
    assert!(parse::<(u8, u8)>("- 1\n- 2\n- 3\n", 0).is_err());
    assert!(parse::<Verdict>("Score: 0.5\nPair: 1\n", 0).is_err());
    assert!(parse::<Verdict>("None: null\n", 0).is_err());
    assert!(parse::<Verdict>("{}\n", 0).is_err());
}

#[test]
fn cut_text_is_refused_without_panic() {
    for end in 0..LAYOUT.len() {
        assert!(parse::<Task>(&LAYOUT[..end], 0).is_err(), "cut at {end}");
        let _ = parse::<Value>(&LAYOUT[..end], 0);
        let _ = crate::wire::read_foreign_value(&LAYOUT.as_bytes()[..end], Default::default());
    }
}

#[test]
fn large_maps_in_any_order_are_read_in_good_time() {
    let mut falling = String::new();
    for number in (0..60_000).rev() {
        falling.push_str(&format!("k{number}: 1\n"));
    }
    assert_eq!(parse::<BTreeMap<String, u8>>(&falling, 0).unwrap().len(), 60_000);
    falling.push_str("k77: 1\n");
    assert_eq!(parse::<BTreeMap<String, u8>>(&falling, 0).unwrap_err().line, 60_001);
}
