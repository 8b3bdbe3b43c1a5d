//! Accepting the settings of git that can run a program or change a result: liza's own git uses them only as accepted.

use super::prelude::*;

logged! {
    pub struct AcceptGit {
        /// Names what was accepted; the record of it is kept beside the board.
        pub settings: String,
        /// What differed from what was accepted before, by name.
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
