//! THE MACHINE: clock, processes, randomness, and the places where tests let a process die.

#![expect(clippy::disallowed_methods, reason = "the machine is this room")]

mod clock;
pub mod crash;
mod filesystem;
mod process;
mod random;

pub use clock::{now, waiting_time};
pub use filesystem::{network_file_system, room};
pub use process::{
    Burden, HOLD, HOLD_GATE, adopt_orphans, ancestors, burden_of, children, descendants, descendants_except,
    descendants_of, end_descendants_except, environment_of, has_orphaned_holder, holds_gate_of,
    is_in_group_of, is_program, is_runner, is_running_liza, lives, process, program, this_process,
    this_program,
};
pub use random::secret;
