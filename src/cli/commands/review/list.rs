use crate::board::lease::Lease;
use crate::cli::prelude::*;
use crate::cli::times::ago_words;

/// List tasks that wait for a review or are under review
///
/// Example: liza review list
#[derive(Args)]
pub struct ListArgs {
    /// Only reviews that you hold
    #[arg(long)]
    pub mine: bool,
}

impl OnBoard for ListArgs {
    const ACCESS: Access = Access::ReadsAnyVersion;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let snapshot = session
            .ctx
            .read_with(|board| Needs::Tasks(under_review(board).map(|task| task.id.clone()).collect()))?;
        let board = &snapshot.board;
        let caller = board.identify(&session.ctx.credentials)?.id();
        let now = &session.ctx.now;
        let holder = |task: &Task| task.review_lease.clone().filter(|lease| !lease_over(board, lease, now));
        let is_own = |lease: &Lease| lease.agent == caller;
        let mut chosen: Vec<&Task> = under_review(board)
            .filter(|task| !self.mine || holder(task).as_ref().is_some_and(is_own))
            .collect();
        chosen.sort_by_key(|task| std::cmp::Reverse(task.priority));
        let row = |task: &&Task| {
            let lease = holder(task);
            json!({
                "task": task.id, "title": task.title(), "status": task.status, "priority": task.priority,
                "role": task.judged_by(), "review_commit": task.review_commit, "submitted": submitted(task),
                "implementers": task.implementers, "round": task.review_cycles_total + 1,
                "files": task.body().submission.as_ref().map_or(0, |submission| submission.files.len()),
                "reviewer": lease.as_ref().map(|lease| lease.agent.clone()),
                "lease_expires": lease.as_ref().map(|lease| lease.expires.at),
                "mine": lease.as_ref().is_some_and(is_own), "may_claim": may_claim(session, board, task),
            })
        };
        let data = || json!({ "reviews": chosen.iter().map(row).collect::<Vec<_>>() });
        let text = || {
            let mut text = String::new();
            let width = chosen.iter().map(|task| task.id.as_str().len()).max().unwrap_or(0);
            for task in &chosen {
                let whose = match holder(task) {
                    Some(lease) if is_own(&lease) => "yours".to_owned(),
                    Some(lease) => format!("with {}", lease.agent),
                    None => "free".to_owned(),
                };
                let turn = if task.awaits_red_team() { ", red team" } else { "" };
                let since = submitted(task)
                    .map_or(String::new(), |at| format!(", {}", ago_words(now.wall.since(at))));
                let files = task.body().submission.as_ref().map_or(0, |submission| submission.files.len());
                text.line(format!(
                    "{}  {}  {}, round {}{turn}, {}{since}: {}",
                    pad_to(task.id.as_str(), width),
                    pad_to(&whose, 5),
                    task.review_commit.as_ref().map_or("-", |commit| commit.short()),
                    task.review_cycles_total + 1,
                    plural(files, "file"),
                    task.title(),
                ));
            }
            match chosen.iter().find(|task| holder(task).is_none()) {
                _ if chosen.is_empty() => text.line("no task waits for a review"),
                Some(free) => {
                    text.line(format!("`liza review claim {}` claims one; you may hold several", free.id))
                }
                None => {}
            }
            text
        };
        Ok(session.answer(data, text).at(board.revision))
    }
}

fn under_review(board: &Board) -> impl Iterator<Item = &Task> {
    board.tasks.iter().filter(|task| task.judged_by().is_some())
}

/// When the work under review was submitted.
fn submitted(task: &Task) -> Option<Wall> {
    let mut lines = task.body().history.iter().rev();
    lines.find(|line| line.to == Some(Status::ReadyForReview)).map(|line| line.time)
}

fn may_claim(session: &Session, board: &Board, task: &Task) -> bool {
    session.ctx.with_call(board, |call| check_reviewable(board, call, task).is_ok()).unwrap_or(false)
}
