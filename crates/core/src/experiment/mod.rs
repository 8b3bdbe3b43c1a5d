//! Experiments: ideas in, scored changes out. Pure: splitting ideas, reading answers, scoring results and reporting.
//! Disk, git and processes are in `flow::experiment`.

mod answers;
pub mod artifacts;
mod chart;
mod html;
mod ideas;
pub mod prompts;
mod report;
mod score;
mod summary;

pub use answers::{Verdict, missing_sections, verdict};
pub use html::page;
pub use ideas::{Idea, LARGEST_IDEA, MOST_IDEAS, slug, split, unique};
pub use report::{Format, Report, Row, report};
pub use score::{Score, compared, picked};
pub use summary::{Ended, Outcome, ReviewEnd, Step, Summary, Used};
