//! THE MACHINE: clock, processes, randomness, and the places where tests let a process die.

mod clock;
pub mod crash;
mod process;
mod random;

pub use clock::now;
pub use process::{lives, this_process};
pub use random::secret;
