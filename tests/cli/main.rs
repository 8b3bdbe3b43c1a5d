//! Everything through the binary, on real git repositories in temporary folders.

#![allow(clippy::disallowed_methods, reason = "tests set the scene on disk")]
#![allow(clippy::print_stderr, reason = "a test says what it skipped and which seed repeats it")]

mod checkpoint_submit;
mod concurrency;
mod crash;
mod damage;
mod disk;
mod edits;
mod escapes;
mod help_examples;
mod identity;
mod init;
mod leases;
mod lost_and_found;
mod merging;
mod merging_people;
mod other_versions;
mod reading;
mod requests;
mod review;
mod shells;
mod store;
mod submit_validation;
mod support;
mod switches;
mod task_ends;
mod task_plans;
mod tasks;
mod tour;
