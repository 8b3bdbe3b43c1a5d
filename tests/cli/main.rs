//! Everything through the binary, on real git repositories in temporary folders.

#![allow(clippy::disallowed_methods, reason = "tests set the scene on disk")]
#![allow(clippy::print_stderr, reason = "a test says what it skipped and which seed repeats it")]

mod archive;
mod bundles;
mod checklists;
mod checkpoint_submit;
mod concurrency;
mod crash;
mod damage;
mod demo;
mod disk;
mod doctor;
mod edits;
mod escapes;
mod gate_setup;
mod gates;
mod gating;
mod gc;
mod help_examples;
mod hooks;
mod hostile;
mod identity;
mod init;
mod leases;
mod locks;
mod lost_and_found;
mod lost_log;
mod merging;
mod merging_people;
mod only_copies;
mod other_versions;
mod overseer_settings;
mod prompts;
mod providers;
mod reading;
mod red_team;
mod requests;
mod restore;
mod review;
mod shells;
mod store;
mod submit_validation;
mod support;
mod switches;
mod task_ends;
mod task_plans;
mod tasks;
mod team;
mod test_engineer;
mod tour;
mod uninstall;
mod verify;
mod watch;
mod work_graph;
mod worktrees;
