//! Boards, tasks and reviews as text.

mod board;
mod task;

pub use board::{
    Frame, Picture, goal_bar, known_task, needed_for_rows, trigger_words, unknown_agent, unknown_task,
};
pub use task::{Relations, colored_diff, feedback, positions, review, task};
