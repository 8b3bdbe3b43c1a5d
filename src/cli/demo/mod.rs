//! The demo: a whole team at work on a throw-away repository, and proof that what it is said to show did happen.
//!
//! `stage` makes the repository and plays the person at the keyboard; `director` starts `liza run`, listens to what it
//! tells, and brings about what agents do not do by themselves (a kill, a pause); `story` keeps what was seen, and `checks`
//! judges by it and by the board. The agents are the scripts in templates/demo/agents. `experiment` is a demo of its own, without
//! a board, and so is `playbook`: a large goal, routed and split into workstreams, played by the script in templates/demo/playbook.

mod checks;
mod director;
mod experiment;
mod playbook;
mod project;
mod stage;
mod story;

pub use checks::{Check, judge};
pub use director::{Ears, Outcome, direct};
pub use experiment::{Played, try_ideas};
pub use playbook::{Played as PlayedGoal, play as play_goal};
pub use project::SCRIPTED_TASKS;
pub use stage::{Cast, Stage, apart};
pub use story::Story;
