//! HOW IT LOOKS ON DISK: bytes to values and back. No disk, no clock, no printing.
//!
//! Two roads. Bytes liza wrote itself have one fixed layout: [`emit`] writes it and [`parse`] reads exactly
//! that, both fast. Bytes from elsewhere (a hand-edited board, a plan, an agent's answer) go through
//! [`read_foreign`], which bounds and checks them before a general parser sees them.

pub mod archive;
pub mod bundle;
mod chars;
pub mod content;
mod emit;
mod entries;
pub mod flat;
mod foreign;
mod graft;
pub mod graph_file;
mod head;
mod json;
mod kept;
mod key;
mod lines;
pub mod log;
pub mod newer;
mod parse;
mod plain;
pub mod plan;
mod prelude;
mod prescan;
pub mod proof;
pub mod route;
pub mod schema;
mod seal;
pub mod state;
#[doc(hidden)]
#[cfg(any(test, fuzzing))]
#[path = "tests/targets.rs"]
pub mod targets;
mod tree;
pub mod v1;
pub mod yaml_edit;

#[cfg(test)]
mod tests;

pub use chars::{is_hidden, is_plain};
pub use emit::{EmitError, emit, emit_item};
pub use foreign::{ForeignError, Limits, read_foreign, read_foreign_value};
pub use json::{to_json_line, to_json_pretty};
pub use lines::ParseError;
pub use parse::{parse, parse_item};

/// How deep maps and lists may nest in the canonical layout, so that reading it cannot exhaust the stack.
const DEEPEST: usize = 64;
