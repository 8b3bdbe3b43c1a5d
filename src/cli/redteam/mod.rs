//! The red team: harmless attacks by a hostile agent on throw-away repositories, and proof of what became of each.
//!
//! `attack` reads the scripts of templates/redteam/attacks; `world` makes the repository of one attack and plays its steps
//! (agents below real runners, and a person in between); `untouched` compares what no attack may change; `verdict` puts
//! together what was seen. The scripts say what was refused or noticed; `untouched` looks at files and board by itself.

mod attack;
mod play;
mod untouched;
mod verdict;
mod world;

pub use attack::{ALL, Attack};
pub use play::{Tried, count, play_all};
pub use verdict::Verdict;
