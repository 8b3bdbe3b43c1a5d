use crate::cli::prelude::*;

/// Claim a task and get a worktree for it
///
/// Prints the path of the worktree. After a rejection or a block, you get the same worktree again for the next
/// iteration.
///
/// Example: liza task claim t1
#[derive(Args)]
pub struct ClaimArgs {
    /// Id of the task
    #[arg(add = Completer::Tasks(|status| matches!(status, Status::Idle | Status::Rejected | Status::IntegrationFailed)))]
    pub id: TaskId,
}

impl OnBoard for ClaimArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &self.id;
        let claim = |ctx: &Context| claim::claim(ctx, id).map(|(claimed, board)| (claimed, board.revision));
        session.carry_out(claim, claimed_text)
    }
}

/// What an agent needs to know after the claim.
pub fn claimed_text(claimed: &Claimed) -> String {
    let id = &claimed.task;
    let until = claimed.lease_expires.map(|until| until.to_string()).unwrap_or_default();
    let mut text = format!(
        "claimed {id} (epoch {}, iteration {}) until {until}\nworktree: {}\nbranch:   {}\n",
        claimed.epoch, claimed.iteration, claimed.worktree, claimed.branch
    );
    if !claimed.conflicts.is_empty() {
        text.line(format!(
            "a merge of integration is in progress there; in conflict: {}",
            claimed.conflicts.join(", ")
        ));
    }
    if claimed.read_first {
        text.line(format!("read first: liza task show {id} --feedback"));
    }
    text.push_str(&if claimed.reports {
        format!("next: liza task submit {id} --result FILE (`liza task show {id}` names its ssot_id)")
    } else {
        format!("next: liza task checkpoint {id} --intent … --risks … --validate … --expect … --file …")
    });
    text
}
