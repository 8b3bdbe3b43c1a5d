//! Every place the integration branch was ever put, as the log tells it, against what the repository holds.

use std::collections::{BTreeMap, HashSet};

use crate::board::intent::RefMove;
use crate::board::{Board, CommitId, TaskId, Transition};
use crate::flow::accounts::ArchivedTask;
use crate::flow::context::Context;
use crate::flow::moved;
use crate::wire::log::Record;

/// A move of the branch that is on record.
pub struct Move {
    revision: u64,
    old: Option<CommitId>,
    new: CommitId,
    /// The task whose merge it was; none for a commit that a person brought in.
    task: Option<TaskId>,
}

/// What the log tells of the branch.
pub struct Story {
    /// Where it was when liza began.
    pub start: Option<CommitId>,
    pub moves: Vec<Move>,
    /// Every move that was about to be made. One that was given up may have come true after all: a git that outlives
    /// its killed parent still moves the branch.
    steps: Vec<(CommitId, CommitId)>,
}

impl Story {
    pub fn of(records: &[Record], branch: &str) -> Self {
        let mut story = Self { start: None, moves: Vec::new(), steps: Vec::new() };
        let mut steps: BTreeMap<u64, &RefMove> = BTreeMap::new();
        let mut tasks: BTreeMap<u64, &TaskId> = BTreeMap::new();
        for record in records {
            match &record.what {
                Transition::Init(init) => story.start = Some(init.integration_head.clone()),
                Transition::Migrate(migrate) => story.start = migrate.rest.integration.head.clone(),
                Transition::RefoundLog(refound) => {
                    story.start = refound.integration_head.clone();
                    for open in &refound.under_way {
                        if let Some(task) = &open.task {
                            tasks.insert(open.intent, task);
                        }
                        if let Some(step) = open.step.as_ref().filter(|step| step.branch == branch) {
                            steps.insert(open.intent, step);
                            story.steps.extend(step.old.clone().map(|old| (old, step.new.clone())));
                        }
                    }
                }
                // An intent has the number of the revision that began it.
                Transition::BeginMerge(begin) => {
                    tasks.insert(record.revision, &begin.task);
                }
                Transition::RecordMove(recorded) if recorded.step.branch == branch => {
                    steps.insert(recorded.intent, &recorded.step);
                    if let Some(old) = &recorded.step.old {
                        story.steps.push((old.clone(), recorded.step.new.clone()));
                    }
                }
                Transition::FinishMerge(finish) => story.moves.push(Move {
                    revision: record.revision,
                    old: Some(finish.onto.clone()),
                    new: finish.merge_commit.clone(),
                    task: tasks.get(&finish.intent).map(|task| (*task).clone()),
                }),
                Transition::FinishMove(finish) => {
                    if let Some(step) = steps.get(&finish.intent) {
                        story.moves.push(Move {
                            revision: record.revision,
                            old: step.old.clone(),
                            new: step.new.clone(),
                            task: None,
                        });
                    }
                }
                _ => {}
            }
        }
        story
    }

    /// Whether moves that liza was about to make lead from one place to the other.
    pub fn leads(&self, from: &CommitId, to: &CommitId) -> bool {
        let mut reached = vec![from];
        let mut at = 0;
        while let Some(here) = reached.get(at).copied() {
            if here == to {
                return true;
            }
            for (_, new) in self.steps.iter().filter(|(old, _)| old == here) {
                if !reached.contains(&new) {
                    reached.push(new);
                }
            }
            at += 1;
        }
        false
    }
}

/// The branch went only where the log says it was put: by liza's merges, and by advances that a person asked for.
pub fn line(ctx: &Context, board: &Board, records: &[Record]) -> Result<String, String> {
    let branch = &board.config().integration_branch;
    let story = Story::of(records, branch);
    let query = ctx.query().map_err(|failure| failure.message)?;
    let head = query.head_of_branch(branch).map_err(|error| error.to_string())?;
    let Some(mut at) = story.start.clone() else {
        return Err("the log does not say where it began".to_owned());
    };
    let explain = |from: &CommitId, to: Option<CommitId>| match moved::evidence(ctx, branch, from, to) {
        Ok(evidence) => (evidence.told(), evidence.remedy()),
        Err(failure) => (failure.message, accepting(branch)),
    };
    let mut merges = 0;
    let mut broken: Option<String> = None;
    for step in &story.moves {
        if step.task.is_none() && step.old.as_ref() == Some(&step.new) {
            // A person named the head as it stood and said why: what led to it is thereby on record.
            broken = None;
        } else if step.task.is_none() && step.new == at {
            // A person put it back to where liza had it.
        } else if broken.is_none() && !step.old.as_ref().is_some_and(|old| story.leads(&at, old)) {
            let what =
                step.task.as_ref().map_or("an advance".to_owned(), |task| format!("the merge of {task}"));
            let (told, _) = explain(&at, step.old.clone());
            broken = Some(format!("before {what} (revision {}): {told}", step.revision));
        }
        if let Some(task) = &step.task {
            merge_is_ours(ctx, query, task, step)?;
            merges += 1;
        }
        at = step.new.clone();
    }
    if let Some(broken) = broken {
        return Err(format!("{broken} ({})", accepting(branch)));
    }
    match head {
        Some(head) if head == at => Ok(format!(
            "`{branch}` is at {}, where liza put it: {merges} merges and {} advances",
            head.short(),
            story.moves.len() - merges
        )),
        Some(head) if moved::is_under_way(board, branch, &head) || story.leads(&at, &head) => {
            Ok(format!("`{branch}` is at {}, as a merge under way put it", head.short()))
        }
        head => {
            let (told, remedy) = explain(&at, head);
            Err(format!("{told} ({remedy})"))
        }
    }
}

fn accepting(branch: &str) -> String {
    format!("`liza integration advance {branch} --reason …` accepts it")
}

/// The commit is there, stands on what it was merged onto, and says which task it merges.
fn merge_is_ours(ctx: &Context, query: &crate::git::Query, task: &TaskId, step: &Move) -> Result<(), String> {
    let commit = &step.new;
    let parents = query.parents_of(commit).map_err(|_| format!("the merge {commit} of {task} is gone"))?;
    if parents.first() != step.old.as_ref() {
        return Err(format!("the merge {commit} of {task} does not stand on what the log says"));
    }
    let message = query.message_of(commit).map_err(|error| error.to_string())?;
    if !message.lines().any(|line| line == format!("Liza-Task: {task}")) {
        return Err(format!("the commit {commit} does not say that it merges {task}"));
    }
    let (onto, theirs) = match &parents[..] {
        [onto, theirs] => (onto, theirs),
        // The branch was at the task's own head: git names one parent only once.
        [onto] => (onto, onto),
        _ => return Err(format!("the merge {commit} of {task} has {} parents, not two", parents.len())),
    };
    match super::patch::holds(ctx, onto, theirs, commit) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!(
            "the merge {commit} of {task} holds something else than {} and {} together",
            onto.short(),
            theirs.short()
        )),
        Err(failure) => Err(failure.message),
    }
}

/// Every task that says MERGED is in the branch, with the very commit that was approved.
///
/// `start` is where the branch was when liza began: what was merged since is not in it.
pub fn merged_work(
    ctx: &Context,
    board: &Board,
    archive: &[ArchivedTask],
    start: Option<&CommitId>,
) -> Result<String, String> {
    use crate::board::Status;
    let query = ctx.query().map_err(|failure| failure.message)?;
    let branch = &board.config().integration_branch;
    let head = query
        .head_of_branch(branch)
        .map_err(|error| error.to_string())?
        .ok_or_else(|| format!("the branch `{branch}` is gone"))?;
    let on_board = board.tasks.iter().filter(|task| task.status == Status::Merged).map(|task| {
        let body = task.body();
        let approved = body.approval.as_ref().map(|approval| approval.commit.clone());
        (&task.id, body.merge.as_ref().map(|merge| merge.commit.clone()), approved)
    });
    let archived = archive.iter().filter(|task| task.status == Status::Merged).map(|task| {
        let commit = |landed: &Option<crate::flow::accounts::Landed>| {
            landed.as_ref().map(|landed| landed.commit.clone())
        };
        (&task.id, commit(&task.merge), commit(&task.approval))
    });
    // One walk over what came since serves all of them.
    let since: HashSet<CommitId> = match start {
        Some(start) => {
            query.ids_between(start, &head).map_err(|error| error.to_string())?.into_iter().collect()
        }
        None => HashSet::new(),
    };
    let mut count = 0;
    for (id, merge, approved) in on_board.chain(archived) {
        let Some(merge) = merge else { return Err(format!("{id} is MERGED without a merge commit")) };
        for commit in [Some(merge), approved].into_iter().flatten() {
            let there = since.contains(&commit)
                || query.has_commit(&commit)
                    && query.is_ancestor(&commit, &head).map_err(|error| error.to_string())?;
            if !there {
                return Err(format!("{id} is MERGED, but `{branch}` does not contain {commit}"));
            }
        }
        count += 1;
    }
    Ok(format!("{count} merged tasks are in `{branch}`"))
}
