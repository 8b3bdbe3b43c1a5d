//! The `liza` program: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    liza::cli::run()
}
