//! The demo: a whole team at work on a throw-away repository, and checks that each promised event happened.
//!
//! `stage` makes the repository and plays the person at the keyboard; `director` starts `liza run`, reads its
//! events, and causes those that agents do not cause themselves (a kill, a pause); `story` keeps the events, and `checks`
//! compares them with the board. The agents are the scripts in templates/demo/agents. `experiment` is a separate demo without
//! a board; `playbook` is another: a large goal, routed and split into workstreams, played by the script in templates/demo/playbook.

mod checks;
mod director;
mod experiment;
mod playbook;
mod project;
mod stage;
mod story;

pub use checks::{Check, judge};
pub use director::{Outcome, WakeQueue, direct};
pub use experiment::{Played, try_ideas};
pub use playbook::{Played as PlayedGoal, play as play_goal};
pub use project::SCRIPTED_TASKS;
pub use stage::{Cast, Stage, isolated};
pub use story::Story;
