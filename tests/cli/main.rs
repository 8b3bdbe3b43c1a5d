//! Everything through the binary, on real git repositories in temporary folders.

#![allow(clippy::disallowed_methods, reason = "tests set the scene on disk")]
#![allow(clippy::print_stderr, reason = "a test says what it skipped and which seed repeats it")]

mod concurrency;
mod crash;
mod disk;
mod store;
mod support;
mod tour;
