//! Tests of decisions on whole boards.

mod merging;
mod run;
mod spending;
mod wakes;
mod windows;
