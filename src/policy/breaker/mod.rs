//! PATTERNS THAT NO SINGLE TASK SHOWS: pure answers from a board's records and histories.

mod config;

pub use config::BreakerConfig;
