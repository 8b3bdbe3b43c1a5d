//! The texts of specs that tasks are pinned to, each stored once under its hash, with a copy below the git directory.

use std::fs;

use crate::wire::state::hash;

use super::error::{IoContext, StoreError};
use super::files::{make_private_dir, names_in, read_whole, replace};
use super::handle::Store;

/// The directory of the texts, and of their copies.
const SPEC_TEXTS: &str = "spec_texts";
/// More than any spec that a prompt shows.
pub const LARGEST_SPEC: u64 = 4 * 1024 * 1024;

impl Store {
    /// Stores a text and returns its hash. A text that is there already is not written again.
    pub fn keep_spec_text(&self, text: &[u8]) -> Result<String, StoreError> {
        let hash = hash(text);
        let (dir, name) = (self.layout().spec_texts(), file_name(&hash));
        let path = dir.join(&name);
        if read_whole(&path, LARGEST_SPEC).is_ok_and(|(known, _)| known == text) {
            if !self.has_copy(SPEC_TEXTS, &name) {
                self.keep_copy(SPEC_TEXTS, &name, text);
            }
            return Ok(hash);
        }
        make_private_dir(&dir)?;
        replace(&path, text)?;
        self.keep_copy(SPEC_TEXTS, &name, text);
        Ok(hash)
    }

    /// The text of this hash, from its file or its copy; none if neither has it.
    pub fn spec_text(&self, wanted: &str) -> Option<Vec<u8>> {
        // The hash becomes a file name: accept nothing but a hash.
        if wanted.is_empty() || !wanted.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        let name = file_name(wanted);
        let own = read_whole(&self.layout().spec_texts().join(&name), LARGEST_SPEC).ok();
        let own = own.map(|(bytes, _)| bytes).filter(|bytes| hash(bytes) == wanted);
        own.or_else(|| self.copy_of(SPEC_TEXTS, &name).filter(|bytes| hash(bytes) == wanted))
    }

    /// The path of the text with this hash, for a reader who is shown only a part.
    pub fn spec_text_location(&self, hash: &str) -> std::path::PathBuf {
        self.layout().spec_texts().join(file_name(hash))
    }

    /// Texts whose files are missing or changed here and kept in the copies.
    pub fn lost_spec_texts(&self) -> Vec<String> {
        let Some(witness) = &self.witness else { return Vec::new() };
        let dir = self.layout().spec_texts();
        let is_lost = |name: &String| {
            let whole = |(bytes, _): (Vec<u8>, _)| file_name(&hash(&bytes)) == *name;
            !name.starts_with('.') && !read_whole(&dir.join(name), LARGEST_SPEC).is_ok_and(whole)
        };
        names_in(&witness.dir.join(SPEC_TEXTS)).unwrap_or_default().into_iter().filter(is_lost).collect()
    }

    /// Restores lost texts whose copies are intact.
    pub fn restore_lost_spec_texts(&self) -> Result<usize, StoreError> {
        let (mut count, dir) = (0, self.layout().spec_texts());
        for name in self.lost_spec_texts() {
            let copy = self.copy_of(SPEC_TEXTS, &name).filter(|bytes| file_name(&hash(bytes)) == name);
            let Some(bytes) = copy else { continue };
            make_private_dir(&dir)?;
            let path = dir.join(&name);
            if fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_file()) {
                fs::remove_file(&path).doing("remove", &path)?;
            }
            replace(&path, &bytes)?;
            count += 1;
        }
        Ok(count)
    }
}

fn file_name(hash: &str) -> String {
    format!("{hash}.md")
}
