//! Types and macros that nearly every record uses.

pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};

pub use super::edition::Edition;
pub(super) use super::fields::{logged, record};
pub use super::ids::*;
pub(super) use super::names::{named_by, words};
pub(super) use super::refusal::refusal;
pub use super::time::*;
