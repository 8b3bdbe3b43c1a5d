use clap::Args;
use serde_json::json;

use crate::flow::Failure;

use super::super::ui::{Answer, Ui};

/// Walk from an empty repository to merged work, with real commands
///
/// Example: liza demo
#[derive(Args)]
pub struct DemoArgs {
    /// Keep the repository here instead of removing it
    #[arg(long, value_name = "DIR")]
    pub keep: Option<std::path::PathBuf>,
}

pub fn run(_: &DemoArgs, _: Ui) -> Result<Answer, Failure> {
    Ok(Answer::new(json!(null), ""))
}
