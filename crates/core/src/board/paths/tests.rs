//! Tables and properties of paths and patterns.

mod against_brute_force;
mod refused;
mod tables;

use super::PathPattern;

/// The short way for common patterns gives what the long way gives.
#[test]
fn common_globs_are_read_as_any_pattern_is() {
    let names =
        ["a", "*", "*.rs", "a*b", ".x", "x.", "..", "a**", "**", "", "git~1", ".git", "a b", "tests", "é"];
    for first in names {
        for second in names {
            for text in
                [format!("**/{first}"), format!("**/{first}/{second}"), format!("**/{first}/{second}/**")]
            {
                assert_eq!(PathPattern::new(&text), PathPattern::of_any(&text), "{text}");
            }
        }
    }
}
