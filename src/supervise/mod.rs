//! LONG-LIVED LOOPS: the runner of one agent, the run of a whole team, the watcher.

#![expect(
    clippy::disallowed_methods,
    reason = "agents are started here, their output is kept, and time passes"
)]

mod agent_monitor;
pub mod child;
pub mod event;
pub mod explain;
mod gate_service;
mod lease_renewer;
mod ledger;
mod listen;
mod next_piece;
pub mod notifier;
mod output;
mod oversight;
mod prelude;
pub mod routing;
pub mod runner;
mod session;
pub mod signals;
pub mod tally;
pub mod team;
mod waits;
pub mod watcher;
mod work;

pub use event::{ChildAnswer, Event, Kind, Mood, Sink};
