//! Agent commands: how each is started, which variables it gets, and what its output reports.
//!
//! Nothing here starts a process: an entry and a job become an [`Invocation`], bytes of output become [`Usage`].

mod catalog;
mod environment;
pub mod help;
mod invocation;
mod output;
pub mod secrets;
mod transcript;
mod usage;

pub use catalog::{Catalog, Unusable};
pub use environment::{environment, is_common, is_own};
pub use invocation::{Invocation, Job, invocation};
pub use secrets::{Redactor, Secret, secrets};
pub use transcript::{LastMessage, Step, Transcript};
pub use usage::{Meter, Tokens, Usage};
