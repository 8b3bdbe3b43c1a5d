//! Accepting git settings that can run a program or change a result: liza's own git commands use only accepted
//! settings.

use super::prelude::*;

logged! {
    pub struct AcceptGit {
        /// Names the accepted settings; their record is stored beside the board.
        pub settings: String,
        /// The names of the settings that differ from those accepted before.
        pub changed: Vec<String>,
    }
}

outcome!(GitAccepted { settings: String, changed: Vec<String> });

impl Verb for AcceptGit {
    const OPERATION: Option<Operation> = None;
    type Outcome = GitAccepted;

    fn check(&self, _: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "accept settings of git")?;
        text_given("the name of the settings", &self.settings)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        board.rest.git_settings =
            Some(GitSettings { settings: self.settings.clone(), by: call.by.id(), time: call.now.wall });
        GitAccepted { settings: self.settings.clone(), changed: self.changed.clone() }
    }
}
