//! The forms of values in the contract, accepted in YAML and JSON input: an assumption as plain text, a validation as
//! one sentence, criteria as a block, a scope as `IN:` and `OUT:` lines. liza writes only one form.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::history::{Assumption, Plan};
use super::paths::PathPattern;
use super::prelude::*;
use super::task::Scope;

/// The mark of an assumption without which the work would be wrong.
const CRITICAL: &str = "[critical]";

/// Words between a command and its output.
const PRINTS: [&str; 6] = ["outputs", "output", "prints", "print", "shows", "contains"];

/// A value that is written as a map, or in short as text.
trait Short: Sized {
    /// The type of the map.
    type Long: for<'de> Deserialize<'de> + Into<Self>;
    const EXPECTED: &'static str;

    fn of_text(text: &str) -> Result<Self, String>;
}

struct AsShort<T>(std::marker::PhantomData<T>);

impl<'de, T: Short> Visitor<'de> for AsShort<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::of_text(text).map_err(E::custom)
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<T, M::Error> {
        T::Long::deserialize(MapAccessDeserializer::new(map)).map(Into::into)
    }
}

/// Reads the short form or the map, and describes both.
macro_rules! short {
    ($type:ident, $long:ident, $name:literal) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
                source.deserialize_any(AsShort::<Self>(std::marker::PhantomData))
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let long = generator.subschema_for::<$long>();
                schemars::json_schema!({
                    "anyOf": [long, { "type": "string", "description": <$type as Short>::EXPECTED }]
                })
            }
        }
    };
}

record! {
    /// An assumption as liza writes it.
    pub struct AssumptionMap {
        pub text: String,
        pub critical: bool,
    }

    /// A validation as liza writes it.
    pub struct PlanMap {
        pub command: String,
        #[serde(default)]
        pub expect: String,
    }
}

/// A scope as liza writes it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScopeMap {
    #[serde(rename = "in", default)]
    inside: Vec<PathPattern>,
    #[serde(rename = "out", default, skip_serializing_if = "Vec::is_empty")]
    outside: Vec<PathPattern>,
}

short!(Assumption, AssumptionMap, "Assumption");
short!(Plan, PlanMap, "Validation");
short!(Scope, ScopeMap, "Scope");

impl From<AssumptionMap> for Assumption {
    fn from(AssumptionMap { text, critical }: AssumptionMap) -> Self {
        Self { text, critical }
    }
}

impl From<PlanMap> for Plan {
    fn from(PlanMap { command, expect }: PlanMap) -> Self {
        Self { command, expect }
    }
}

impl From<ScopeMap> for Scope {
    fn from(ScopeMap { inside, outside }: ScopeMap) -> Self {
        Self { inside, outside }
    }
}

impl Short for Assumption {
    type Long = AssumptionMap;
    const EXPECTED: &'static str =
        "a text, with [critical] before it if it is critical; or `text` and `critical`";

    fn of_text(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let marked = text.get(..CRITICAL.len()).filter(|mark| mark.eq_ignore_ascii_case(CRITICAL));
        Ok(match marked {
            Some(mark) => Self { text: text[mark.len()..].trim().to_owned(), critical: true },
            None => Self { text: text.to_owned(), critical: false },
        })
    }
}

impl Short for Plan {
    type Long = PlanMap;
    const EXPECTED: &'static str = "a text COMMAND outputs 'TEXT', or `command` and `expect`";

    /// If the text names no expected output, the checkpoint rule asks for it.
    fn of_text(text: &str) -> Result<Self, String> {
        let (command, expect) = split_sentence(text.trim()).unwrap_or((text.trim(), ""));
        Ok(Self { command: command.to_owned(), expect: expect.to_owned() })
    }
}

/// Splits `COMMAND outputs 'TEXT'`: the text is in quotes at the end, after a word that says it is printed.
fn split_sentence(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let quote = text.chars().next_back().filter(|last| ['\'', '"', '`'].contains(last))?;
    let quoted = &text[..text.len() - 1];
    // The words before the quote decide: the printed text may contain the same quote.
    quoted.match_indices(quote).find_map(|(at, _)| {
        let before = quoted[..at].trim_end();
        let word = before.rsplit(char::is_whitespace).next()?;
        let command = before[..before.len() - word.len()].trim_end().trim_end_matches([',', ';', ':']);
        let expect = &quoted[at + 1..];
        let fits = PRINTS.contains(&word.to_lowercase().as_str()) && !expect.trim().is_empty();
        (fits && !command.is_empty()).then(|| (command.trim_matches('`'), expect))
    })
}

impl Short for Scope {
    type Long = ScopeMap;
    const EXPECTED: &'static str =
        "a block with lines `IN: PATH, PATH` and `OUT: PATH`, or `in` and `out` with lists of paths";

    fn of_text(text: &str) -> Result<Self, String> {
        let mut scope = Self::default();
        let mut outside = None;
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let named = |word: &str| {
                let head = line.get(..word.len()).filter(|head| head.eq_ignore_ascii_case(word))?;
                line[head.len()..].trim_start().strip_prefix(':')
            };
            // A line without `IN:` or `OUT:` continues the list above.
            let paths = match (named("in"), named("out")) {
                (Some(paths), _) => {
                    outside = Some(false);
                    paths
                }
                (_, Some(paths)) => {
                    outside = Some(true);
                    paths
                }
                _ => unbulleted(line).unwrap_or(line),
            };
            let Some(outside) = outside else {
                return Err(format!("`{line}` stands before any `IN:` or `OUT:`"));
            };
            let list = if outside { &mut scope.outside } else { &mut scope.inside };
            for path in paths.split(',').map(|path| path.trim().trim_matches('`')) {
                if path.is_empty() {
                    continue;
                }
                let pattern = PathPattern::new(path).map_err(|why| format!("`{path}`: {why}"))?;
                // A bare name in `OUT:` may be a file or a directory.
                let below = (outside && !path.ends_with('/') && !path.contains(['*', '?']))
                    .then(|| PathPattern::new(&format!("{path}/")).ok())
                    .flatten();
                list.push(pattern);
                list.extend(below);
            }
        }
        Ok(scope)
    }
}

/// Criteria as a list, or as a block of text: each bullet is one criterion; without bullets, each line.
pub fn criteria<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<String>, D::Error> {
    struct Criteria;

    impl<'de> Visitor<'de> for Criteria {
        type Value = Vec<String>;

        fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
            formatter.write_str("a list of texts, or a block with a criterion in each line")
        }
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok(criteria_of(text))
        }
        fn visit_seq<S: SeqAccess<'de>>(self, list: S) -> Result<Self::Value, S::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }

    source.deserialize_any(Criteria)
}

/// For the schema of what `criteria` reads.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum Criteria {
    List(Vec<String>),
    /// A block with a criterion in each line, or a list with `-` before each.
    Block(String),
}

fn criteria_of(text: &str) -> Vec<String> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    if !lines().any(|line| unbulleted(line).is_some()) {
        return lines().map(str::to_owned).collect();
    }
    let mut found: Vec<String> = Vec::new();
    for line in lines() {
        match (unbulleted(line), found.last_mut()) {
            (Some(item), _) => found.push(item.to_owned()),
            (None, Some(last)) => {
                last.push(' ');
                last.push_str(line);
            }
            (None, None) => found.push(line.to_owned()),
        }
    }
    found
}

/// The text behind `-`, `*` or `1.`.
fn unbulleted(line: &str) -> Option<&str> {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = || number.strip_prefix(['.', ')']).filter(|_| number.len() < line.len());
    let rest = line.strip_prefix(['-', '*']).or_else(numbered)?;
    rest.starts_with(char::is_whitespace).then(|| rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contract_sentence_splits_into_command_and_output() {
        for (text, command, expect) in [
            (
                "python -m hello --name Test outputs 'Hello, Test!'",
                "python -m hello --name Test",
                "Hello, Test!",
            ),
            ("`make check` prints \"ok\".", "make check", "ok"),
            ("sh t.sh outputs 'it's fine'", "sh t.sh", "it's fine"),
            ("sh -c 'echo hi' outputs 'hi'", "sh -c 'echo hi'", "hi"),
            // A text that cannot be split stays a command, and liza asks for the output.
            ("cargo test passes", "cargo test passes", ""),
            ("sh -c 'echo prints'", "sh -c 'echo prints'", ""),
            ("prints 'x'", "prints 'x'", ""),
        ] {
            let plan = Plan::of_text(text).expect("any text is one");
            assert_eq!((plan.command.as_str(), plan.expect.as_str()), (command, expect), "{text}");
        }
    }

    #[test]
    fn scope_block_has_in_and_out_lines() {
        let text =
            "IN: hello/__init__.py, hello/__main__.py, tests/test_hello.py\nOUT: packaging, CI/CD, docs/\n";
        let scope = Scope::of_text(text).expect("the contract's own");
        let texts = |list: &[PathPattern]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(texts(&scope.inside), ["hello/__init__.py", "hello/__main__.py", "tests/test_hello.py"]);
        assert_eq!(texts(&scope.outside), ["packaging", "packaging/", "CI/CD", "CI/CD/", "docs/"]);
        let listed = Scope::of_text("in:\n- a.rs\n- b/\nOut : c").expect("lists below");
        assert_eq!(texts(&listed.inside), ["a.rs", "b/"]);
        assert!(Scope::of_text("a.rs").is_err_and(|why| why.contains("before any `IN:`")));
        assert!(Scope::of_text("IN: ../x").is_err_and(|why| why.contains("../x")));
    }

    #[test]
    fn each_bullet_of_done_when_is_a_criterion() {
        let text = "- `python -m hello` prints \"Hello, World!\"\n- the second\n  goes on\n";
        assert_eq!(criteria_of(text), ["`python -m hello` prints \"Hello, World!\"", "the second goes on"]);
        assert_eq!(criteria_of("1. one\n2) two"), ["one", "two"]);
        assert_eq!(criteria_of("one\n\ntwo -1"), ["one", "two -1"]);
    }

    #[test]
    fn critical_assumption_is_marked_in_its_text() {
        let plain = Assumption::of_text("argparse is preferred per spec constraint").expect("text");
        assert!(!plain.critical && plain.text.starts_with("argparse"));
        let marked = Assumption::of_text("[Critical] the API is stable").expect("text");
        assert!(marked.critical && marked.text == "the API is stable");
    }
}
