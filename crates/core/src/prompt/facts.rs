//! The facts that a template may use. Text of agents and people is always a block, so no template can show it unfenced.

use std::collections::BTreeMap;

use minijinja::Value;

use crate::board::{AgentId, CommitId, Role, TaskId};
use crate::text::quoted;

use super::data::Block;

/// Values that cannot contain instructions: checked names, commits, numbers, and liza's own words.
pub trait Plain {
    fn value(&self) -> Value;
}

macro_rules! plain_names {
    ($($name:ty),*) => {
        $(impl Plain for $name {
            fn value(&self) -> Value {
                Value::from(self.as_str())
            }
        })*
    };
}

plain_names!(TaskId, AgentId, Role, CommitId, Quoted, PriorFlags, AnswerFlags, AssumptionFlags);

impl Plain for u64 {
    fn value(&self) -> Value {
        Value::from(*self)
    }
}

impl Plain for &'static str {
    fn value(&self) -> Value {
        Value::from(*self)
    }
}

/// A path, branch or other short name between backticks, on one line, which it cannot leave.
#[derive(Debug)]
pub struct Quoted(String);

impl Quoted {
    pub fn new(text: &str) -> Self {
        Self(quoted(text))
    }

    /// One of liza's own words without backticks; any other text is quoted.
    pub fn bare(word: &str) -> Self {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
        if !word.is_empty() && word.chars().all(plain) { Self(word.to_owned()) } else { Self::new(word) }
    }

    /// Several names, separated by commas.
    pub fn list<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        Self(texts.into_iter().map(quoted).collect::<Vec<_>>().join(", "))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// ` --prior i1=… --prior i2=…`: the flags of a verdict, one for each open issue.
#[derive(Debug)]
pub struct PriorFlags(String);

impl PriorFlags {
    /// Ids on an older board may be anything; an id that is not a word is left out.
    pub fn of<'i>(issues: impl IntoIterator<Item = &'i str>) -> Self {
        let word =
            |id: &&str| (1..=16).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        Self(issues.into_iter().filter(word).map(|id| format!(" --prior {id}=…")).collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// ` --answer "1=…" --answer "2=…"`: the flags of a verdict, one for each item of the checklist.
#[derive(Debug)]
pub struct AnswerFlags(String);

impl AnswerFlags {
    pub fn of(items: usize) -> Self {
        Self((1..=items).map(|number| format!(" --answer \"{number}=…\"")).collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// ` --assumption "1=…" --assumption "2=…"`: the flags of a verdict, one for each assumption of the checkpoint.
#[derive(Debug)]
pub struct AssumptionFlags(String);

impl AssumptionFlags {
    pub fn of(assumptions: usize) -> Self {
        Self((1..=assumptions).map(|number| format!(" --assumption \"{number}=…\"")).collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One reason for the planner to act.
#[derive(Debug)]
pub struct WakeFacts {
    /// In words.
    pub trigger: &'static str,
    pub about: Quoted,
    pub details: Block,
    /// The commands to type, with ids.
    pub commands: Vec<String>,
}

/// Everything one template may name.
#[derive(Debug, Default)]
pub struct Facts {
    values: BTreeMap<&'static str, Value>,
    /// The blocks and pieces, for measuring.
    parts: Vec<(&'static str, String)>,
}

impl Facts {
    pub fn plain(&mut self, name: &'static str, value: &impl Plain) {
        self.values.insert(name, value.value());
    }

    /// An absent value is empty, so that a template can test `{% if name %}`.
    pub fn optional(&mut self, name: &'static str, value: Option<&impl Plain>) {
        self.values.insert(name, value.map_or_else(|| Value::from(""), Plain::value));
    }

    pub fn block(&mut self, name: &'static str, block: Block) {
        self.values.insert(name, Value::from(block.as_str()));
        if !block.is_empty() {
            self.parts.push((name, block.as_str().to_owned()));
        }
    }

    pub fn wakes(&mut self, wakes: &[WakeFacts]) {
        for wake in wakes.iter().filter(|wake| !wake.details.is_empty()) {
            self.parts.push(("wakes", wake.details.as_str().to_owned()));
        }
        let values = wakes.iter().map(|wake| {
            Value::from_pairs([
                ("trigger", Value::from(wake.trigger)),
                ("about", wake.about.value()),
                ("details", Value::from(wake.details.as_str())),
                ("commands", wake.commands.iter().map(String::as_str).collect()),
            ])
        });
        self.values.insert("wakes", values.collect());
    }

    /// A text that was already rendered from these facts.
    pub fn piece(&mut self, name: &'static str, text: String) {
        self.values.insert(name, Value::from(text.as_str()));
        self.parts.push((name, text));
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.values.keys().copied()
    }

    pub(super) fn values(&self) -> Value {
        Value::from_pairs(self.values.iter().map(|(name, value)| (*name, value.clone())))
    }

    pub(super) fn parts(&self) -> &[(&'static str, String)] {
        &self.parts
    }
}
