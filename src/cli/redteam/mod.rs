//! The red team: harmless attacks by a hostile agent on throw-away repositories, and a verdict on each.
//!
//! `attack` reads the scripts of templates/redteam/attacks; `world` makes the repository of one attack and plays its steps
//! (agents below real runners, and a person in between); `untouched` compares what no attack may change; `verdict`
//! combines both results. The scripts record what was refused or noticed; `untouched` reads files and board itself.

mod attack;
mod play;
mod untouched;
mod verdict;
mod world;

pub use attack::{ALL, Attack};
pub use play::{Tried, count, play_all};
pub use verdict::Verdict;
