use crate::cli::prelude::*;
use crate::flow::review::Review;

/// Claim a review and get a checkout of the submitted commit
///
/// The checkout is sealed: it holds exactly that commit. An agent of the role red_team, or a person, claims the
/// red-team turn on an approved task in the same way.
///
/// Example: liza review claim t1
#[derive(Args)]
pub struct ClaimArgs {
    /// Id of the task
    #[arg(add = Completer::Tasks(super::under_review))]
    pub id: TaskId,
}

impl OnBoard for ClaimArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &self.id;
        session.carry_out(|ctx| review::claim(ctx, id), claimed_text)
    }
}

/// What a reviewer needs to know after the claim.
pub fn claimed_text(review: &Review) -> String {
    let Review { started, checkout } = review;
    let until = started.lease_expires.map(|until| until.to_string()).unwrap_or_default();
    let (task, round, checkout) = (&started.task, started.round, checkout.display());
    let commit = started.review_commit.as_ref().map_or("", |commit| commit.as_str());
    let head = format!("reviewing {task} (round {round}) until {until}\ncheckout: {checkout}");
    format!("{head}\ncommit:   {commit}\nnext: liza review show {task}")
}
