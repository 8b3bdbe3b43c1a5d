//! Tests of decisions on whole boards.

mod run;
