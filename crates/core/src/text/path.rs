//! Paths as text in JSON: invalid UTF-8 in a name is replaced, so that the answer is still valid.

use std::path::PathBuf;

use serde::{Serialize, Serializer};

/// One path, none or several.
pub trait Paths {
    type Text: Serialize;
    fn text(&self) -> Self::Text;
}

impl Paths for PathBuf {
    type Text = String;
    fn text(&self) -> String {
        self.to_string_lossy().into_owned()
    }
}

impl Paths for Option<PathBuf> {
    type Text = Option<String>;
    fn text(&self) -> Option<String> {
        self.as_ref().map(Paths::text)
    }
}

impl Paths for Vec<PathBuf> {
    type Text = Vec<String>;
    fn text(&self) -> Vec<String> {
        self.iter().map(Paths::text).collect()
    }
}

/// For `#[serde(serialize_with)]` on a field with paths.
pub fn serialize_path<S: Serializer>(paths: &impl Paths, to: S) -> Result<S::Ok, S::Error> {
    paths.text().serialize(to)
}
