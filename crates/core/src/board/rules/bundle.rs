//! Patch bundles: who may apply one to a task, which tasks own its paths, who may judge one, and what is recorded.

use super::prelude::*;
use super::submit::{check_paths, checkpoints_of_attempt, has_checkpoint};

/// A task that owns a path that a bundle changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathHeld {
    pub file: String,
    pub task: TaskId,
    pub holder: Option<AgentId>,
    pub owns: String,
}

/// The live tasks, other than the bundle's own, whose paths these files touch: one file of each.
pub fn paths_held(board: &Board, now: &Stamp, own: Option<&TaskId>, files: &[String]) -> Vec<PathHeld> {
    // A file is a name and not a pattern, even with `*` in it.
    let paths: Vec<RepoPath> = files.iter().filter_map(|file| RepoPath::new(file).ok()).collect();
    let others = board.tasks.iter().filter(|task| Some(&task.id) != own && task.is_live(now));
    others
        .filter_map(|task| {
            let (owned, file) = any_over(&task.owns, &paths)?;
            Some(PathHeld {
                file: file.as_str().to_owned(),
                task: task.id.clone(),
                holder: task.assigned_to.clone(),
                owns: owned.as_str().to_owned(),
            })
        })
        .collect()
}

/// The live tasks, other than the bundle's own, that own a path in one of these modules. A module is a path or, if
/// there is no such path, the name of a directory anywhere.
pub fn modules_held(
    board: &Board,
    now: &Stamp,
    own: Option<&TaskId>,
    modules: &[(String, bool)],
) -> Vec<PathHeld> {
    let others = board.tasks.iter().filter(|task| Some(&task.id) != own && task.is_live(now));
    let meets = |owned: &PathPattern, (module, is_path): &(String, bool)| {
        let named = |text: &str| PathPattern::new(text).is_ok_and(|path| path.overlaps(owned).is_some());
        let bare = module.trim_end_matches('/');
        match is_path {
            true => named(bare) || named(&format!("{bare}/")),
            false => owned.as_str().trim_end_matches('/').split('/').any(|part| part == bare),
        }
    };
    others
        .filter_map(|task| {
            let pairs = modules.iter().flat_map(|module| task.owns.iter().map(move |owned| (module, owned)));
            let (module, owned) = pairs.into_iter().find(|(module, owned)| meets(owned, module))?;
            Some(PathHeld {
                file: module.0.clone(),
                task: task.id.clone(),
                holder: task.assigned_to.clone(),
                owns: owned.as_str().to_owned(),
            })
        })
        .collect()
}

/// A bundle that is about to be applied to the branch of a task.
#[derive(Debug, Clone)]
pub struct BundleEntry {
    pub task: TaskId,
    /// The epoch that the caller was started with, if it gives one.
    pub epoch: Option<u64>,
}

impl BundleEntry {
    /// Refuses unless this caller may change the branch now: the holder, or a person in the holder's worktree, after
    /// the checkpoint.
    pub fn check_place<'b>(&self, board: &'b Board, call: &Call) -> Result<&'b Task, Refusal> {
        let task = find(board, &self.task)?;
        call.check_switches(Some(&self.task))?;
        no_intent(board, &self.task)?;
        check_epoch(task, self.epoch)?;
        if task.status != Status::Working {
            return Err(wrong_state(task, "given a patch bundle", next_step(task)));
        }
        if !call.by.is_human() {
            holds_lease(task, call, self.epoch)?;
        }
        if !has_checkpoint(task.body()) {
            return Err(refusal!(
                Code::CheckpointMissing,
                "task `{}` has no checkpoint for this iteration, so no bundle may be applied yet",
                task.id
            )
            .hint(format!(
                "`liza task checkpoint {} --intent … --risks … --validate … --expect … --file …` first",
                task.id
            ))
            .detail("task", task.id.as_str()));
        }
        Ok(task)
    }

    /// Checks the paths exactly as submit does.
    pub fn check_paths(&self, board: &Board, call: &Call, files: &[String]) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        check_paths(board, call, task, &checkpoints_of_attempt(task.body()), files, &[])
    }
}

logged! {
    /// A bundle was made from the task's work. Recorded after the file is written; a repeated record changes little
    /// more than the history.
    pub struct RecordBundle {
        pub task: TaskId,
        pub id: String,
        /// The path of its file.
        pub path: String,
        /// The checksum of its bytes: a file with this checksum was made here.
        pub blake3: String,
    }
}

outcome!(BundleRecorded { task: TaskId, bundle: String, path: String });

impl Verb for RecordBundle {
    const OPERATION: Option<Operation> = Some(Operation::Bundle);
    type Outcome = BundleRecorded;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        text_given("the bundle's id", &self.id)?;
        text_given("the bundle's path", &self.path)?;
        let by = call.by.id();
        let holds = task.assigned_to.as_ref() == Some(&by) || task.was_implemented_by(&by);
        if holds || call.by.is_human() || call.by.has_role(board, &Role::planner()) {
            return Ok(());
        }
        Err(Refusal::new(
            Code::Role,
            format!("`{by}` never worked on task `{}`, so it cannot make the bundle of it", task.id),
        )
        .hint("ask the agent that works on it, or the planner, for `liza bundle create`")
        .detail("task", task.id.as_str()))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let (_, body) = parts(board, &self.task);
        body.patch_bundle = Some(self.path.clone());
        let detail = format!("{} {}", self.id, self.blake3);
        body.history.push(entry(call, Event::BundleMade).detail(detail));
        BundleRecorded { task: self.task.clone(), bundle: self.id.clone(), path: self.path.clone() }
    }
}

logged! {
    /// A reviewer judged a bundle. This changes no state: the task is approved by its own review.
    pub struct ReviewBundle {
        pub id: String,
        pub author: String,
        /// The task that the bundle was made from, if it is on the board.
        pub task: Option<TaskId>,
        /// All other recorded authors of the changes.
        pub hands: Vec<String>,
        always pub approved: bool,
        /// The path of the verdict's file.
        pub path: Option<String>,
    }
}

outcome!(BundleReviewed { bundle: String, verdict: String, path: Option<String> });

impl Verb for ReviewBundle {
    const OPERATION: Option<Operation> = Some(Operation::Review);
    type Outcome = BundleReviewed;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        reviews(board, call, &format!("review the bundle `{}`", self.id))?;
        let by = call.by.id();
        let is_caller = |name: &String| by.as_str().eq_ignore_ascii_case(name);
        if is_caller(&self.author) || self.hands.iter().any(is_caller) {
            return Err(Refusal::new(
                Code::Tier0SelfApproval,
                format!("`{by}` worked on the bundle `{}`, so `{by}` may not review it", self.id),
            )
            .hint("another agent or another person has to do it; this is recorded as a Tier 0 violation"));
        }
        match &self.task {
            Some(id) => not_an_implementer(find(board, id)?, call, &by, "review a bundle of"),
            None => Ok(()),
        }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let verdict = if self.approved { "approve" } else { "reject" };
        if let Some(task) = &self.task {
            let (_, body) = parts(board, task);
            body.history.push(entry(call, Event::BundleReviewed).detail(format!("{}: {verdict}", self.id)));
        }
        BundleReviewed { bundle: self.id.clone(), verdict: verdict.to_owned(), path: self.path.clone() }
    }

    fn needs(&self, _: &Board) -> Needs {
        self.task.as_ref().map_or(Needs::Nothing, Needs::task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::call::Switch;
    use crate::board::testing::*;

    #[test]
    fn bundle_needs_holder_checkpoint_and_scope() {
        let mut bench = Bench::with_tasks(&["t1", "t2"]);
        let entry = BundleEntry { task: id("t1"), epoch: None };
        let place = |bench: &Bench, entry: &BundleEntry, who: &str| {
            let call = bench.call(bench.actor(who));
            entry.check_place(&bench.board, &call).err().map(|refusal| refusal.code)
        };
        assert_eq!(place(&bench, &entry, "coder-1"), Some(Code::Transition));
        bench.claim("coder-1", "t1");
        assert_eq!(place(&bench, &entry, "coder-1"), Some(Code::CheckpointMissing));
        bench.ok("coder-1", bench.checkpoint("t1"));
        assert_eq!(place(&bench, &entry, "coder-1"), None);
        assert_eq!(place(&bench, &entry, "human"), None);
        assert_eq!(place(&bench, &entry, "coder-2"), Some(Code::LeaseLost));
        let late = BundleEntry { epoch: Some(0), ..entry.clone() };
        assert_eq!(place(&bench, &late, "coder-1"), Some(Code::Epoch));
        bench.world.switches.set.insert(Switch {
            kind: crate::board::SwitchKind::Pause,
            subject: None,
            reason: String::new(),
        });
        assert_eq!(place(&bench, &entry, "human"), Some(Code::Switched));
        bench.world.switches.set.clear();
        let call = bench.call(bench.actor("coder-1"));
        let paths = |file: &str| entry.check_paths(&bench.board, &call, &[file.to_owned()]).is_ok();
        assert!(paths(&file_of("t1")) && !paths(&file_of("t2")) && !paths("t1/unannounced.rs"));
    }

    #[test]
    fn paths_of_live_tasks_are_named_with_their_holder() {
        let mut bench = Bench::with_tasks(&["t1", "t2"]);
        let files = [file_of("t1"), file_of("t2").to_uppercase()];
        let held = |bench: &Bench, own: Option<&TaskId>| paths_held(&bench.board, &bench.now, own, &files);
        assert_eq!(held(&bench, None), []);
        bench.claim("coder-1", "t1");
        bench.claim("coder-2", "t2");
        let found = held(&bench, Some(&id("t1")));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((&found[0].task, found[0].holder.as_ref()), (&id("t2"), Some(&agent("coder-2"))));
        assert_eq!(held(&bench, None).len(), 2);
        // `*` in a file name is not a wildcard.
        let literal = [file_of("t1").replace('a', "*").replace("t1", "t?")];
        assert_eq!(paths_held(&bench.board, &bench.now, None, &literal), []);
    }

    #[test]
    fn implementer_cannot_review_own_bundle() {
        let mut bench = Bench::with_tasks(&["t1"]);
        bench.claim("coder-1", "t1");
        let review = |author: &str, task: Option<&str>| ReviewBundle {
            id: "PB-1".to_owned(),
            author: author.to_owned(),
            task: task.map(id),
            hands: vec!["Reviewer-2".to_owned()],
            approved: true,
            path: None,
        };
        let record = RecordBundle {
            task: id("t1"),
            id: "PB-1".to_owned(),
            path: ".liza/bundles/PB-1.patchbundle.json".to_owned(),
            blake3: "0".repeat(64),
        };
        bench.ok("reviewer-1", review("coder-1", Some("t1")));
        bench.ok("human", review("coder-1", None));
        let stranger = bench.call(bench.actor("coder-2"));
        assert_eq!(record.check(&bench.board, &stranger).expect_err("refused").code, Code::Role);
        bench.ok("coder-1", record);
        assert_eq!(
            bench.task("t1").body().patch_bundle.as_deref(),
            Some(".liza/bundles/PB-1.patchbundle.json")
        );
        for (who, author, task, code) in [
            ("coder-1", "x", Some("t1"), Code::Tier0Role),
            ("reviewer-1", "REVIEWER-1", None, Code::Tier0SelfApproval),
            ("human", "human", None, Code::Tier0SelfApproval),
            ("reviewer-2", "coder-1", Some("t1"), Code::Tier0SelfApproval),
        ] {
            let call = bench.call(bench.actor(who));
            let refusal = review(author, task).check(&bench.board, &call).expect_err(who);
            assert_eq!(refusal.code, code, "{who}");
        }
    }
}
