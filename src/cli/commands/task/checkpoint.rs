use super::submit::refuse_former_worktree;
use crate::board::history::{Assumption, Checkpoint, Plan};
use crate::cli::prelude::*;
use crate::flow::submit;

/// Announce what you will change and how you will validate it
///
/// This is a coder's checkpoint; the CHECKPOINT switch, which halts the team, is `liza checkpoint`. liza accepts a
/// checkpoint only while the worktree is as it was at the claim. Critical assumptions beyond the budget block the
/// task. A code task announces its test files too; after a submission without tests, `--file` alone adds test files
/// once more. With --from, the whole checkpoint comes as YAML or JSON: assumptions may be plain texts, `validation`
/// one text `COMMAND outputs 'TEXT'`.
///
/// Example: liza task checkpoint t1 --intent "greet accepts --name" --risks "none, stdlib only" --validate "sh tests/test_greet.sh" --expect "ok" --file greet.sh --file tests/test_greet.sh
#[derive(Args)]
pub struct CheckpointArgs {
    /// Id of the task (optional inside its worktree)
    #[arg(add = Completer::Tasks(|status| status == Status::Working))]
    pub id: Option<TaskId>,
    /// What will be observably different afterwards
    #[arg(long, default_value = "")]
    pub intent: String,
    /// An assumption; repeat
    #[arg(long, visible_alias = "assumption", value_name = "TEXT")]
    pub assume: Vec<String>,
    /// An assumption that invalidates the plan if it is wrong; repeat
    #[arg(long, value_name = "TEXT")]
    pub assume_critical: Vec<String>,
    /// What could go wrong
    #[arg(long, default_value = "")]
    pub risks: String,
    /// Command that validates the work; liza runs it at submit
    #[arg(long, visible_alias = "validation", value_name = "CMD", default_value = "")]
    pub validate: String,
    /// Text that the command must print
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub expect: String,
    /// File to change; repeat
    #[arg(long, visible_alias = "files-to-modify", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub file: Vec<String>,
    /// Take the checkpoint from a YAML or JSON file, or - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["intent", "assume", "assume_critical", "risks", "validate", "expect", "file"], value_hint = ValueHint::AnyPath)]
    pub from: Option<String>,
}

impl OnBoard for CheckpointArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &session.task_or_here(self.id.as_ref())?;
        let checkpoint = match &self.from {
            Some(file) => session.input.value::<Checkpoint>(file)?,
            None => {
                let input = &session.input;
                let plain = input.texts(&self.assume)?.into_iter();
                let plain = plain.map(|text| Assumption { text, critical: false });
                let critical = input.texts(&self.assume_critical)?.into_iter();
                let critical = critical.map(|text| Assumption { text, critical: true });
                Checkpoint {
                    intent: input.text(&self.intent)?,
                    assumptions: plain.chain(critical).collect(),
                    risks: input.text(&self.risks)?,
                    validation: Plan {
                        command: input.text(&self.validate)?,
                        expect: input.text(&self.expect)?,
                    },
                    files_to_modify: self.file.clone(),
                }
            }
        };
        session.seal_request()?;
        refuse_former_worktree(session, id)?;
        let (data, revision) = submit::checkpoint(&session.ctx, id, checkpoint)?;
        let text = if data.status == Status::Blocked {
            format!(
                "{id} is BLOCKED: more critical assumptions than allowed; they are now questions for the planner"
            )
        } else {
            format!("checkpoint of {id} is on record; implement, commit, then `liza task submit {id}`")
        };
        Ok(Answer::new(data, text).at(revision))
    }
}
