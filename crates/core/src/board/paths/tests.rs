//! Tables and properties of paths and patterns.

mod against_brute_force;
mod refused;
mod tables;
