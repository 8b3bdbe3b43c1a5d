//! The machine: clock, processes, randomness, and the points where tests make a process die.

#![expect(clippy::disallowed_methods, reason = "the machine is this room")]

pub mod anchored_path;
mod changes;
mod clock;
pub mod crash;
mod filesystem;
mod mark;
mod parallel;
mod plain;
mod process;
mod procfs;
pub mod progress;
mod random;
mod spawn;
mod waiting;

pub use changes::Contents;
pub use clock::{ahead_of_utc, file_clock, now, now_exactly, waiting_time};
pub use filesystem::{is_mounted_over, network_file_system, room, unwritten};
pub use mark::{gate_mark, mark_as_agent, mark_as_gate};
pub use parallel::{both, for_each, start_thread};
pub use plain::{LARGEST_PLAIN, plain_text, read_plain};
pub use process::{
    Ancestry, Burden, adopt_orphans, ancestors, burden_of, children, descendants, descendants_except,
    descendants_of, end_descendants_except, environment_of, has_children, has_orphaned_holder,
    is_in_group_of, is_program, is_runner, is_running_liza, leave_session, lives, process, program,
    show_as_holder, this_process, this_program,
};
pub use procfs::this_pid;
pub use random::secret;
pub use spawn::{Child, HOLDER_PATIENCE, Program, Streams};
pub use waiting::{Obstacle, obstacle_of};
