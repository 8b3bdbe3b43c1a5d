//! The whole room against nasty strings, random structures, damaged text and foreign input.

mod canonical;
mod nasty;
mod structures;
