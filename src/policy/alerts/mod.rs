//! WHAT A PERSON SHOULD KNOW: alerts, from a board, what stands around it, and a moment. Pure; `liza watch` tells them.

mod alert;
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

pub use alert::{Alert, Kind, Report, Severity};
pub use memory::Memory;
pub use outside::{Moved, Outside, Problem, Room, SwitchMark};
pub use rules::{of_board, of_damage};
pub use situation::Situation;
