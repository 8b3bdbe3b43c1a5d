//! What the log records of the integration branch: its start, and every move.

use crate::flow::prelude::*;

/// A recorded move of the branch.
pub struct Move {
    pub revision: u64,
    pub old: Option<CommitId>,
    pub new: CommitId,
    /// The task whose merge it was; none for a person's commit.
    pub task: Option<TaskId>,
}

pub struct Story {
    /// The branch's commit when the board was made.
    pub start: Option<CommitId>,
    pub moves: Vec<Move>,
    /// Every planned move. A cancelled one may have happened anyway: a git that outlives its killed parent still
    /// moves the branch.
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
                // An intent has the number of the revision that recorded it.
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

    /// Whether planned moves of liza lead from one commit to the other.
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
