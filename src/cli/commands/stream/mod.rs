mod collapse;

use crate::cli::prelude::*;

commands! {
    /// Change a workstream
    pub enum StreamCommand {
        Collapse(collapse::CollapseArgs),
    }
}
