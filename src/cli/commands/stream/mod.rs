mod collapse;

use crate::cli::prelude::*;

commands! {
    /// Change a workstream
    ///
    /// Example: liza stream collapse cli --reason "the parser must be decided first"
    pub enum StreamCommand {
        Collapse(collapse::CollapseArgs),
    }
}
