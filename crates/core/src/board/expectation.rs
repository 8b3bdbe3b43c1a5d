//! Blessed hashes: the result that a gate which compares hashes must find.

use super::prelude::*;

record! {
    /// A hash that a person or a reviewer declared right.
    #[derive(Eq)]
    pub struct Expectation {
        pub gate: String,
        pub hash: String,
        /// The task whose work must have this hash, until it is merged; without a task, the hash is for the integration
        /// branch.
        pub task: Option<TaskId>,
        pub reason: String,
        pub by: AgentId,
        pub time: Wall,
    }
}

/// The shortest hash.
const SHORTEST_HASH: usize = 8;
const LONGEST_HASH: usize = 256;

/// A hash in its plain form, if the text is one: hexadecimal digits in lower case, without a prefix that names the
/// algorithm.
pub fn plain_hash(text: &str) -> Option<String> {
    let text = text.trim();
    let hash =
        ["trace-hash:", "hash:", "sha256:"].iter().find_map(|name| text.strip_prefix(name)).unwrap_or(text);
    let hash = hash.trim_start();
    let fits = (SHORTEST_HASH..=LONGEST_HASH).contains(&hash.len());
    (fits && hash.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| hash.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_hexadecimal_and_long_enough() {
        for text in ["a1b2c3d4", " A1B2C3D4\n", "hash: a1b2c3d4", "sha256:A1B2C3D4", "trace-hash: a1b2c3d4"] {
            assert_eq!(plain_hash(text).as_deref(), Some("a1b2c3d4"), "{text}");
        }
        for text in ["", "a1b2c3d", "a1b2c3dg", "a1b2 c3d4", "md5:a1b2c3d4", "hash:", &"a".repeat(257)] {
            assert_eq!(plain_hash(text), None, "{text}");
        }
    }
}
