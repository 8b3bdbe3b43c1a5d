//! Waits for files to change, by notification with a slow poll behind it.

#![expect(
    clippy::disallowed_methods,
    reason = "waiting needs a clock, and a test may take notification away"
)]

mod directory;
mod glance;
mod hints;

pub use directory::{DirectoryWatch, Notification, Woke};
pub use hints::IsNews;
