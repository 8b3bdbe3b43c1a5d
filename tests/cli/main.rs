//! Everything through the binary, on real git repositories in temporary folders.

#![allow(clippy::disallowed_methods, reason = "tests set the scene on disk")]

mod concurrency;
mod crash;
mod disk;
mod store;
mod support;
mod tour;
