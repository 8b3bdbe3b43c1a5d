//! How worktrees are prepared, and how long those of merged tasks stay.

use serde::de::Error as _;
use serde::{Deserializer, Serializer};

use super::prelude::*;

settings! {
    /// `worktrees` in `liza.yaml`.
    pub struct WorktreesConfig {
        /// How many merged tasks keep their worktree, the newest ones; `all` keeps every one until the task is
        /// archived.
        pub keep_merged: KeepMerged,
        /// Commands that prepare a new worktree of a task, a review or a gate.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub setup: Vec<String>,
        /// Files of the main checkout that are copied into a new worktree.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub copy: Vec<RepoPath>,
        /// The time limit of each command, in seconds.
        pub setup_timeout: u64 = 600,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepMerged {
    Newest(usize),
    All,
}

impl Default for KeepMerged {
    fn default() -> Self {
        Self::Newest(3)
    }
}

impl Serialize for KeepMerged {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Newest(count) => serializer.serialize_u64(*count as u64),
            Self::All => serializer.serialize_str("all"),
        }
    }
}

impl<'de> Deserialize<'de> for KeepMerged {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Given {
            Count(usize),
            Word(String),
        }
        match Given::deserialize(deserializer)? {
            Given::Count(count) => Ok(Self::Newest(count)),
            Given::Word(word) if word == "all" => Ok(Self::All),
            Given::Word(word) => Err(D::Error::custom(format!("`{word}` is neither a number nor `all`"))),
        }
    }
}

impl JsonSchema for KeepMerged {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "KeepMerged".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": "all" }] })
    }
}

impl WorktreesConfig {
    /// Whether a new worktree needs no preparation.
    pub fn prepares_nothing(&self) -> bool {
        self.setup.is_empty() && self.copy.is_empty()
    }

    /// The definition of the preparation as one line: a person accepts it like a gate.
    pub fn definition(&self) -> Option<String> {
        let line = || serde_json::json!({ "setup": self.setup, "copy": self.copy }).to_string();
        (!self.prepares_nothing()).then(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keep_merged_is_a_number_or_all() {
        let read =
            |text: &str| serde_json::from_str::<WorktreesConfig>(text).map(|config| config.keep_merged);
        assert_eq!(read("{}").unwrap(), KeepMerged::Newest(3));
        assert_eq!(read(r#"{"keep_merged": 0}"#).unwrap(), KeepMerged::Newest(0));
        assert_eq!(read(r#"{"keep_merged": "all"}"#).unwrap(), KeepMerged::All);
        for wrong in [r#"{"keep_merged": "some"}"#, r#"{"keep_merged": -1}"#, r#"{"copy": ["../x"]}"#] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
