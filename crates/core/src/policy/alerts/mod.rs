//! ALERTS for a person, from a board, what stands around it, and a moment. Pure; `liza watch` prints them.
//!
//! An [`Alert`] is whatever was seen and is reported to a person: of tasks, the breaker, the overseer, the machine. Others only
//! look alike. The breaker's stories and the overseer's detections are measurements (so many of so many, so certain): something
//! is decided by them, and what was decided becomes an alert here. The doctor's findings are of a moment and carry their
//! fix, the plan check's are about tasks that are on no board yet; both may be reported more than once.

mod alert;
mod from_record;
mod limits;
mod memory;
mod outside;
mod rubber_stamp;
mod rules;
mod situation;
mod stalled;
mod tasks;
#[cfg(test)]
mod tests;
mod whole;

pub(super) use limits::clipped_line;

pub use alert::{Alert, Kind, Report, Severity};
pub use memory::Memory;
pub use outside::{Moved, Outside, Problem, Room, SwitchMark};
pub use rules::{of_board, of_damage};
pub use situation::Situation;
