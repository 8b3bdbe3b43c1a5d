//! Whether a branch is at the commit that liza recorded, and if not, what changed.

use super::prelude::*;
use super::verify::Story;

/// How many commits are listed one by one.
const SHOWN: usize = 20;

/// A branch that is not at the commit on the board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    pub branch: String,
    /// Where liza left it.
    pub from: CommitId,
    /// Where it is now; none if it is gone.
    pub to: Option<CommitId>,
    /// What it gained, the oldest first; at most twenty of `gained`.
    pub foreign: Vec<Foreign>,
    pub gained: usize,
    /// How many commits it no longer contains.
    pub lost: usize,
    /// Git's reflog entry about it, if there is one.
    pub reflog: Option<ReflogLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Foreign {
    pub commit: CommitId,
    pub subject: String,
    pub committer: String,
    /// Seconds since 1970, by the committer's clock.
    pub time: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReflogLine {
    pub who: String,
    pub time: i64,
    pub message: String,
}

/// Whether a person or another program moved the integration branch. Reads one ref; the rest only if the branch has
/// moved.
///
/// A move that an open intent names is liza's own, not yet on record; so is a cancelled one that happened anyway,
/// because git outlived its killed parent. The branch is read after the board, so a merge in between looks like a
/// foreign move until the board is read again: only an unchanged board proves a foreign move.
pub fn integration_was_moved(ctx: &Context, board: &Board) -> Result<Option<Evidence>> {
    crash::point("moved.look");
    let mut fresh: Option<Board> = None;
    loop {
        let at = fresh.as_ref().unwrap_or(board);
        let Some(evidence) = moved_since(ctx, at)? else { return Ok(None) };
        let now = ctx.store.read(&Needs::Nothing)?.board;
        if now.revision == at.revision {
            return Ok(Some(evidence));
        }
        fresh = Some(now);
    }
}

/// The same for commands that only show it. A branch in its place costs the reading of one small file.
pub fn evidence_to_show(ctx: &Context, board: &Board) -> Option<Evidence> {
    let known = board.rest.integration.head.as_ref()?;
    if refs::loose(&ctx.repo, &board.config().integration_branch).as_ref() == Some(known) {
        return None;
    }
    integration_was_moved(ctx, board).ok().flatten()
}

fn moved_since(ctx: &Context, board: &Board) -> Result<Option<Evidence>> {
    let Some(known) = &board.rest.integration.head else { return Ok(None) };
    let branch = &board.config().integration_branch;
    let head = ctx.query()?.head_of_branch(branch)?;
    if head.as_ref() == Some(known) || head.as_ref().is_some_and(|head| is_under_way(board, branch, head)) {
        return Ok(None);
    }
    if let (Some(head), Ok(records)) = (&head, ctx.store.read_log(board.journal.length))
        && Story::of(&records, branch).leads(known, head)
    {
        return Ok(None);
    }
    evidence(ctx, branch, known, head).map(Some)
}

impl Context {
    /// Refuses to start or merge work while the integration branch is not at the commit that liza recorded: the move bypassed
    /// review and gates, and a person must decide.
    pub fn integration_in_place(&self, board: &Board) -> Result<()> {
        let Some(evidence) = integration_was_moved(self, board)? else { return Ok(()) };
        // A command that needs the missing branch reports it.
        if evidence.to.is_none() {
            return Ok(());
        }
        Err(Failure::new(ErrorCode::BoardIntegrationMoved, evidence.message())
            .hint(evidence.remedy())
            .detail("evidence", serde_json::to_value(&evidence).unwrap_or_default()))
    }
}

/// Whether an open intent names a move of this branch to that commit.
pub fn is_under_way(board: &Board, branch: &str, to: &CommitId) -> bool {
    let steps = board.rest.intents.iter().filter_map(|intent| intent.work.step());
    steps.into_iter().any(|step| step.branch == branch && &step.new == to)
}

/// The commits between two positions of a branch.
pub fn evidence(ctx: &Context, branch: &str, from: &CommitId, to: Option<CommitId>) -> Result<Evidence> {
    let query = ctx.query()?;
    let mut evidence = Evidence {
        branch: branch.to_owned(),
        from: from.clone(),
        reflog: query.reflog_of(branch, to.as_ref()).map(|(signature, message)| ReflogLine {
            who: format!("{} <{}>", signature.identity.name, signature.identity.email),
            time: signature.seconds,
            message,
        }),
        to,
        foreign: Vec::new(),
        gained: 0,
        lost: 0,
    };
    let Some(to) = &evidence.to else { return Ok(evidence) };
    if query.has_commit(from) {
        evidence.lost = query.ids_between(to, from)?.len();
    }
    let line = query.first_parents_until(to, from)?;
    evidence.gained = line.len();
    for id in line.iter().rev().take(SHOWN) {
        let info = query.commit_info(id)?;
        evidence.foreign.push(Foreign {
            commit: info.id,
            subject: info.subject,
            committer: info.committer.identity.name,
            time: info.committer.seconds,
        });
    }
    Ok(evidence)
}

impl Evidence {
    /// What a person can do about it without losing anything.
    pub fn remedy(&self) -> String {
        let (branch, from) = (&self.branch, &self.from);
        let Some(to) = &self.to else { return format!("`git branch {branch} {from}` brings it back") };
        let aside = format!(
            "`git branch kept {}` keeps the present commits, then move `{branch}` back to {from}",
            to.short()
        );
        match (self.gained, self.lost) {
            (0, _) => format!("`liza integration advance {from} --reason …` restores the former commits"),
            (_, 0) => format!(
                "look at it with `git log`; a person accepts it with `liza integration advance {branch} --reason …`; or {aside}"
            ),
            _ => format!(
                "{aside}; `liza integration advance kept --reason …` then brings the other commits in"
            ),
        }
    }

    /// In one line: from where to where, what it gained and lost, and who did it as far as git knows.
    pub fn message(&self) -> String {
        let Some(to) = &self.to else {
            return format!("the branch `{}` is gone; liza left it at {}", self.branch, self.from);
        };
        let mut text = format!(
            "`{}` is at {}, but liza left it at {}: liza did not move it",
            self.branch,
            to.short(),
            self.from.short()
        );
        if let Some(first) = self.foreign.first() {
            text.push_str(&format!(
                "; the first commit that is not liza's is {} \"{}\" by {}",
                first.commit, first.subject, first.committer
            ));
            if self.gained > 1 {
                text.push_str(&format!(" (and {} more above it)", self.gained - 1));
            }
        }
        if self.lost > 0 {
            text.push_str(&format!("; {} that liza had put there are no longer in it", commits(self.lost)));
        }
        if let Some(line) = &self.reflog {
            text.push_str(&format!(
                "; git noted: \"{}\" by {} at {}",
                line.message,
                line.who,
                Wall(line.time)
            ));
        }
        text
    }
}

fn commits(count: usize) -> String {
    plural(count, "commit")
}
