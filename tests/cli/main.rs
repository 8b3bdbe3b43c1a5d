//! Everything through the binary, on real git repositories in temporary folders.

#![allow(clippy::disallowed_methods, reason = "tests set the scene on disk")]

mod support;
mod tour;
