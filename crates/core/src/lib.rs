//! The decisions of liza: values and rules without disk, clock, process or environment.

pub mod board;
pub mod director;
pub mod experiment;
pub mod gate;
pub mod policy;
pub mod prompt;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod wire;
