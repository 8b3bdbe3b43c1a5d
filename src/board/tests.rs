//! The rules, verb by verb and against each other.

mod archiving;
mod blocking;
mod claiming;
mod gating;
mod handing_in;
mod leaving;
mod limits;
mod locks;
mod matrix;
mod merging;
mod overseeing;
mod people;
mod planning;
mod records;
mod red_team;
mod requests;
mod restoring;
mod reviewing;
mod specification;
mod time;
