//! The whole room against nasty strings, random structures, damaged text and foreign input.

mod bombs;
mod canonical;
mod foreign;
mod nasty;
mod parts;
mod structures;
