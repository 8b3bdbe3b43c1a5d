//! Everything through the binary, on real git repositories in temporary folders.

#![allow(clippy::disallowed_methods, reason = "tests set the scene on disk")]

mod checkpoint_submit;
mod damage;
mod edits;
mod escapes;
mod identity;
mod init;
mod leases;
mod merging;
mod merging_people;
mod reading;
mod requests;
mod review;
mod submit_validation;
mod support;
mod switches;
mod task_ends;
mod task_plans;
mod tasks;
mod tour;
