//! Flows on a real repository, in this process. One or two tests of each verb run it as a command (tests/cli).

mod checkpoint_submit;
mod converging;
mod images;
mod merging;
mod merging_people;
mod red_team;
mod restore;
mod review;
mod task_ends;
mod tasks;
mod uninstalling;
