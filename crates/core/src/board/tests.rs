//! The rules, verb by verb and against each other.

mod archiving;
mod blocking;
mod claiming;
mod converging;
mod editing;
mod gating;
mod handing_in;
mod leaving;
mod limits;
mod locks;
mod matrix;
mod merging;
mod messages;
mod overseeing;
mod people;
mod planning;
mod quorum;
mod records;
mod red_team;
mod registry;
mod requests;
mod restoring;
mod reviewing;
mod specification;
mod spending;
mod time;
