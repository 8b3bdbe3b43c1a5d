//! Pure string helpers: make text safe, and compare texts. They know nothing of boards, disks or terminals.

pub mod bytes;
pub mod columns;
pub mod duration;
pub mod markdown;
pub mod nearest;
pub mod path;
pub mod shown;
pub mod significant;
pub mod similar;
pub mod slug;
pub mod ssot;
pub mod topic;
pub mod unseen;
pub mod vagueness;
pub mod words;
pub mod wrap;

pub use bytes::bytes;
pub use columns::side_by_side;
pub use duration::{ago, span};
pub use markdown::{fence, md_inline};
pub use nearest::nearest;
pub use path::serialize_path;
pub use shown::{quoted, shown, shown_line};
pub use significant::{shared_meaning, significant_words};
pub use similar::{same_reason, similarity};
pub use slug::{anchors, slug};
pub use ssot::{is_ssot_id, ssot_id};
pub use topic::Topic;
pub use unseen::is_unseen;
pub(crate) use words::words;
pub use words::{clipped, display_width, indent, list_words, pad_to, plural};
pub use wrap::{fitted, wrapped};
