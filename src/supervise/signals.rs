//! Signals as callbacks: the handler only writes a byte to a pipe, and a thread that reads the pipe makes the call.

use std::io::Read;
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

/// Calls back for each signal that asks this process to end. The thread lives as long as the process.
pub fn forward(to: impl Fn(i32) + Send + Clone + 'static) -> std::io::Result<()> {
    crate::flow::interruption::leave_to_others();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let to = to.clone();
        forward_one(signal, move || to(signal))?;
    }
    Ok(())
}

/// Calls back for one signal.
pub fn forward_one(signal: i32, to: impl Fn() + Send + 'static) -> std::io::Result<()> {
    let (mut reader, writer) = UnixStream::pair()?;
    pipe::register(signal, writer)?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut byte = [0];
        loop {
            match reader.read(&mut byte) {
                Ok(1) => to(),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    })?;
    Ok(())
}

/// The exit code of a process that ends because of this signal.
pub fn exit_code(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(130)
}
