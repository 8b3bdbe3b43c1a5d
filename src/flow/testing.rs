//! A temporary repository with a board, and people and agents who act on it in this process.
//!
//! Every act opens its own context, as every command does, and calls the same function as the command of that name.
//! Parsing, printing and exit codes are tested as processes in tests/cli; the exit code follows from the code of a
//! failure (`cli::exit`).

use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::{Value, json};

use super::attempt;
use crate::board::goals::Specs;
use crate::board::history::{Checkpoint, Plan};
use crate::board::review::Feedback;
use crate::board::rules::{Abandon, AddTasks, Block, Finalize, HandOff, NewTask, Release, Unblock};
use crate::board::{AgentId, Board, CommitId, Needs, Role, Status, TaskId, Transition, Verb, violations};
use crate::git::testing::{Fixture, commit_in, write_in};
use crate::policy::view;
use crate::testing::Watch;
use crate::wire::flat::task_value;
use crate::wire::log::LooseRecord;

use super::context::{Caller, Context};
use super::failure::Failure;
use super::init::InitOptions;
use super::merge::{MergeOptions, Merged};
use super::review::VerdictKind;
use super::{advance, agents, claim, doctor, init, merge, recover, review, submit, verify};

pub type Answer = Result<Value, Failure>;

pub fn task_id(text: &str) -> TaskId {
    TaskId::new(text).expect("a task id")
}

/// A valid checkpoint that announces these files.
pub fn checkpoint(files: &[&str]) -> Checkpoint {
    Checkpoint {
        intent: "the files say what the spec asks for".to_owned(),
        assumptions: Vec::new(),
        risks: "none that matter".to_owned(),
        validation: Plan { command: "echo ok".to_owned(), expect: "ok".to_owned() },
        files_to_modify: files.iter().map(|file| (*file).to_owned()).collect(),
    }
}

/// A review as its reviewer would write it in JSON.
pub fn feedback(value: Value) -> Feedback {
    serde_json::from_value(value).expect("a review")
}

/// A finding in line 1 of a file.
pub fn finding(severity: &str, file: &str, text: &str) -> Value {
    json!({ "severity": severity, "file": file, "line": 1, "issue": text })
}

/// The paths in the details of a failure.
pub fn paths(failure: &Failure) -> Vec<String> {
    let list = failure.details.get("paths").and_then(Value::as_array).cloned().unwrap_or_default();
    list.iter().filter_map(|path| path.as_str().map(str::to_owned)).collect()
}

/// A person, or an agent with its token.
#[derive(Clone)]
pub struct Actor {
    root: PathBuf,
    caller: Caller,
}

impl Actor {
    pub fn name(&self) -> &str {
        self.caller.agent_id.as_deref().unwrap_or("human")
    }

    /// A context as a command of this actor would open it.
    pub fn ctx(&self) -> Context {
        Context::open(&self.root, &self.caller, Rc::new(|_: &str| ())).expect("a context")
    }

    /// Commits one change, as a command does.
    pub fn commit<V: Verb + Into<Transition>>(&self, verb: V) -> Answer {
        self.ctx().commit(verb).map(|committed| json(committed.outcome))
    }

    /// `task add` with the fields of a task in JSON.
    pub fn add(&self, task: Value, finalize: bool) -> Answer {
        let task: NewTask = serde_json::from_value(task).expect("a task");
        let ctx = self.ctx();
        let specs = ctx.pin_specs(std::slice::from_ref(&task))?;
        ctx.commit(AddTasks::one(task, finalize, specs)).map(|committed| json(committed.outcome))
    }

    /// A draft with only an id and a title.
    pub fn draft(&self, id: &str) -> Answer {
        self.add(json!({ "id": id, "title": "t" }), false)
    }

    /// `task finalize`
    pub fn finalize(&self, ids: &[&str]) -> Answer {
        self.finalize_tasks(ids.iter().map(|id| task_id(id)).collect())
    }

    /// `task finalize --all`
    pub fn finalize_all(&self) -> Answer {
        let board = self.ctx().read(&Needs::Everything)?.board;
        let drafts = board.tasks.iter().filter(|task| task.status == Status::Draft);
        self.finalize_tasks(drafts.map(|task| task.id.clone()).collect())
    }

    fn finalize_tasks(&self, tasks: Vec<TaskId>) -> Answer {
        let ctx = self.ctx();
        let board = ctx.read(&Needs::Everything)?.board;
        let known = tasks.iter().filter_map(|id| board.task(id));
        let named = known.filter_map(|task| Some((&task.id, task.body().spec_ref.as_deref()?)));
        let Specs { found: specs_found, pins } = ctx.pin_specs_of(named)?;
        ctx.commit(Finalize { tasks, specs_found, pins }).map(|committed| json(committed.outcome))
    }

    pub fn claim(&self, id: &str) -> Answer {
        claim::claim(&self.ctx(), &task_id(id)).map(|(claimed, _)| json(claimed))
    }

    pub fn checkpoint(&self, id: &str, checkpoint: Checkpoint) -> Answer {
        submit::checkpoint(&self.ctx(), &task_id(id), checkpoint).map(|(data, _)| json(data))
    }

    pub fn submit(&self, id: &str) -> Answer {
        let (ctx, id) = (self.ctx(), task_id(id));
        recover::before(&ctx, &id)?;
        submit::submit(&ctx, &id).map(|(data, _)| json(data))
    }

    /// `task sync`; the second value is true if a conflict is left in the worktree.
    pub fn sync(&self, id: &str) -> Result<(Value, bool), Failure> {
        claim::sync(&self.ctx(), &task_id(id))
            .map(|(synced, _)| (json(&synced), !synced.conflicts.is_empty()))
    }

    pub fn block(&self, id: &str, reason: &str, questions: &[&str]) -> Answer {
        let questions = questions.iter().map(|question| (*question).to_owned()).collect();
        self.commit(Block {
            task: task_id(id),
            epoch: None,
            reason: reason.to_owned(),
            questions,
            from_first_claim: true,
        })
    }

    pub fn unblock(&self, id: &str, answer: &str, cycles: u32) -> Answer {
        self.commit(Unblock { task: task_id(id), answer: answer.to_owned(), cycles })
    }

    pub fn abandon(&self, id: &str, reason: &str) -> Answer {
        self.commit(Abandon { task: task_id(id), reason: reason.to_owned() })
    }

    pub fn release(&self, id: &str, reason: &str) -> Answer {
        let release = Release { task: task_id(id), epoch: None, reason: reason.to_owned() };
        self.let_go(id, release)
    }

    pub fn hand_off(&self, id: &str, summary: &str, next: &str) -> Answer {
        let hand_off = HandOff {
            task: task_id(id),
            epoch: None,
            summary: summary.to_owned(),
            next_action: next.to_owned(),
            to_role: None,
            package: None,
            edition: crate::board::Edition::NOW,
        };
        let hand_off = crate::flow::handoff::with_facts(&self.ctx(), hand_off);
        self.let_go(id, hand_off)
    }

    fn let_go<V: Verb + Into<Transition>>(&self, id: &str, verb: V) -> Answer {
        let ctx = self.ctx();
        attempt::keep_uncommitted(&ctx, &task_id(id), &verb)?;
        ctx.commit(verb).map(|committed| json(committed.outcome))
    }

    /// `review claim`
    pub fn review(&self, id: &str) -> Answer {
        review::claim(&self.ctx(), &task_id(id)).map(|(data, _)| json(data))
    }

    pub fn approve(&self, id: &str, commit: &str) -> Answer {
        self.verdict(VerdictKind::Approve, id, commit, feedback(json!({ "summary": "fine" })))
    }

    pub fn verdict(&self, kind: VerdictKind, id: &str, commit: &str, feedback: Feedback) -> Answer {
        let commit = CommitId::new(commit).expect("a commit");
        review::verdict(&self.ctx(), kind, &task_id(id), commit, feedback, false).map(|(data, _)| json(data))
    }

    /// Claims the review and rejects with this reason, these findings and answers to earlier ones.
    pub fn reject(
        &self,
        id: &str,
        commit: &str,
        reason: &str,
        issues: &[Value],
        prior: &[(&str, &str)],
    ) -> Answer {
        self.review(id)?;
        let prior: Vec<Value> =
            prior.iter().map(|(issue, status)| json!({ "issue": issue, "status": status })).collect();
        let feedback = feedback(json!({ "summary": reason, "issues": issues, "prior": prior }));
        self.verdict(VerdictKind::Reject, id, commit, feedback)
    }

    pub fn merge(&self, id: &str) -> Result<Merged, Failure> {
        self.merge_with(id, &MergeOptions::default())
    }

    pub fn merge_with(&self, id: &str, options: &MergeOptions) -> Result<Merged, Failure> {
        merge::merge(&self.ctx(), &task_id(id), options)
    }

    /// `integration advance`
    pub fn advance(&self, rev: &str, reason: &str) -> Answer {
        advance::advance(&self.ctx(), &rev.parse().expect("a revision"), reason).map(|(data, _)| json(data))
    }
}

/// An outcome as the command prints it with `--json`.
pub fn json(outcome: impl serde::Serialize) -> Value {
    serde_json::to_value(outcome).expect("JSON")
}

/// A repository with a board made by the real init.
pub struct Scene {
    repo: Fixture,
    _deadline: Watch,
}

impl Scene {
    pub fn new() -> Self {
        let repo = Fixture::new();
        repo.write("README.md", "hello\n");
        repo.write("specs/vision.md", "# Vision\n");
        repo.commit("start");
        let scene = Self { repo, _deadline: crate::testing::deadline_of_children() };
        let options = InitOptions {
            wanted: Default::default(),
            goal: "A greeting program".to_owned(),
            spec: None,
            integration: "integration".to_owned(),
            allow_network_fs: false,
        };
        init::init(&scene.person().ctx(), &options).expect("a board");
        scene
    }

    pub fn person(&self) -> Actor {
        Actor { root: self.repo.root.clone(), caller: Caller::default() }
    }

    /// Registers an agent.
    pub fn agent(&self, role: &str, id: &str) -> Actor {
        self.agent_with(&[role], id)
    }

    #[track_caller]
    pub fn agent_with(&self, roles: &[&str], id: &str) -> Actor {
        let roles = roles.iter().map(|role| Role::new(role).expect("a role")).collect();
        let agent = AgentId::new(id).expect("an agent id");
        let (data, _) = agents::register(&self.person().ctx(), roles, Some(agent)).expect("registered");
        let token = Some(data.token);
        let caller = Caller { agent_id: Some(id.to_owned()), token, ..Caller::default() };
        Actor { root: self.repo.root.clone(), caller }
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.repo.root.join(relative)
    }

    /// A path beside the repository.
    pub fn outside(&self, name: &str) -> PathBuf {
        self.repo.outside(name)
    }

    pub fn write(&self, relative: &str, text: &str) {
        self.repo.write(relative, text);
    }

    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        self.repo.git(args)
    }

    #[track_caller]
    pub fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        Fixture::git_in(dir, args)
    }

    /// A claimable task that may change `paths`.
    #[track_caller]
    pub fn task(&self, id: &str, paths: &[&str]) {
        self.task_with(id, paths, json!({}));
    }

    /// The same with more fields, or other ones.
    #[track_caller]
    pub fn task_with(&self, id: &str, paths: &[&str], more: Value) {
        let mut task = json!({
            "id": id, "title": id, "spec_ref": "specs/vision.md", "done_when": ["it works"],
            "scope": { "in": paths },
        });
        for (key, value) in more.as_object().expect("fields") {
            task[key] = value.clone();
        }
        self.person().add(task, true).expect("a task");
    }

    /// Claims a task; returns its worktree.
    #[track_caller]
    pub fn claim(&self, actor: &Actor, id: &str) -> PathBuf {
        let data = actor.claim(id).expect("a claim");
        PathBuf::from(data["worktree"].as_str().expect("a worktree"))
    }

    #[track_caller]
    pub fn checkpoint(&self, actor: &Actor, id: &str, files: &[&str]) {
        actor.checkpoint(id, checkpoint(files)).expect("a checkpoint");
    }

    #[track_caller]
    pub fn write_and_commit(&self, worktree: &Path, files: &[(&str, &str)]) -> String {
        for (file, text) in files {
            write_in(worktree, file, text);
        }
        commit_in(worktree, "work").to_string()
    }

    /// Claim, checkpoint, a file and a test, commit, submit. Returns the commit under review.
    #[track_caller]
    pub fn submit_work(&self, actor: &Actor, id: &str, file: &str, text: &str) -> String {
        let worktree = self.claim(actor, id);
        let test = format!("tests/test_{id}.sh");
        self.checkpoint(actor, id, &[file, &test]);
        self.write_and_commit(&worktree, &[(file, text), (&test, "echo ok\n")]);
        let data = actor.submit(id).expect("a submission");
        data["review_commit"].as_str().expect("a commit").to_owned()
    }

    /// A task from nothing to READY_FOR_REVIEW.
    #[track_caller]
    pub fn submitted(&self, coder: &Actor, id: &str, file: &str, text: &str) -> String {
        self.task(id, &[file, &format!("tests/test_{id}.sh")]);
        self.submit_work(coder, id, file, text)
    }

    #[track_caller]
    pub fn approve(&self, reviewer: &Actor, id: &str, commit: &str) {
        reviewer.review(id).expect("a review");
        reviewer.approve(id, commit).expect("an approval");
    }

    /// A task from nothing to APPROVED.
    #[track_caller]
    pub fn approved(&self, coder: &Actor, reviewer: &Actor, id: &str, file: &str, text: &str) -> String {
        let commit = self.submitted(coder, id, file, text);
        self.approve(reviewer, id, &commit);
        commit
    }

    /// A task from nothing to MERGED; the merge commit.
    #[track_caller]
    pub fn merged(&self, coder: &Actor, reviewer: &Actor, id: &str, file: &str, text: &str) -> String {
        self.approved(coder, reviewer, id, file, text);
        let merged = reviewer.merge(id).expect("a merge");
        merged.end.merge_commit.expect("a merge commit").to_string()
    }

    pub fn board(&self) -> Board {
        self.person().ctx().read(&Needs::Everything).expect("the board").board
    }

    pub fn revision(&self) -> u64 {
        self.board().revision
    }

    /// A task as `task show --json` gives it.
    #[track_caller]
    pub fn show(&self, id: &str) -> Value {
        task_value(self.board().task(&task_id(id)).unwrap_or_else(|| panic!("no task {id}")))
    }

    #[track_caller]
    pub fn status_of(&self, id: &str) -> String {
        self.show(id)["status"].as_str().expect("a status").to_owned()
    }

    /// What a task waits for, as `status --json` gives it.
    #[track_caller]
    pub fn row(&self, id: &str) -> Value {
        let ctx = self.person().ctx();
        let board = self.board();
        let world = ctx.store.surroundings(&board).expect("the surroundings");
        let seen = view::Scene::new(&board, &world, &ctx.now);
        let task = board.task(&task_id(id)).unwrap_or_else(|| panic!("no task {id}"));
        let waiting = seen.waiting(task);
        json!({
            "node_state": seen.node_state(task),
            "waiting_on": waiting.as_ref().map(|waiting| waiting.on.clone()).unwrap_or_default(),
            "why": waiting.map(|waiting| waiting.why),
        })
    }

    /// Board and log, byte for byte.
    pub fn bytes(&self) -> (Vec<u8>, Vec<u8>) {
        let read = |name: &str| std::fs::read(self.path(".liza").join(name)).unwrap_or_default();
        (read("state.yaml"), read("log.yaml"))
    }

    /// Replaces the only occurrence of `from` in state.yaml, as an editor would.
    #[track_caller]
    pub fn edit_state(&self, from: &str, to: &str) {
        let path = self.path(".liza/state.yaml");
        let text = std::fs::read_to_string(&path).expect("the board");
        assert_eq!(text.matches(from).count(), 1, "`{from}` in:\n{text}");
        std::fs::write(path, text.replace(from, to)).expect("an edit");
    }

    /// The act is refused with this code and changes nothing.
    #[track_caller]
    pub fn refused<T>(&self, code: &str, act: impl FnOnce() -> Result<T, Failure>) -> Failure {
        let before = self.bytes();
        let Err(failure) = act() else { panic!("it was not refused with {code}") };
        assert_eq!(failure.code.as_str(), code, "{failure:?}");
        assert!(self.bytes() == before, "{code}: the board was changed");
        failure
    }

    /// A rule breach (Tier 0): refused, no task changed, and recorded exactly once.
    #[track_caller]
    pub fn tier0<T>(&self, by: &Actor, code: &str, act: impl FnOnce(&Actor) -> Result<T, Failure>) {
        let before = self.board();
        let Err(failure) = act(by) else { panic!("it was not refused with {code}") };
        assert_eq!(failure.code.as_str(), code, "{failure:?}");
        let after = self.board();
        assert_eq!(tier0_violations(&after), tier0_violations(&before) + 1, "{code}");
        assert_eq!(after.revision, before.revision + 1, "{code}");
        assert_eq!(task_values(&after), task_values(&before), "{code}");
        let log = by.ctx().store.read_log(after.journal.length).expect("the log");
        let last = LooseRecord::of(log.last().expect("a record"));
        assert_eq!((last.event.as_str(), last.by.as_str()), ("record_violation", by.name()));
    }

    pub fn violations(&self) -> u64 {
        tier0_violations(&self.board())
    }

    /// `doctor` finds nothing, except what other processes left in the machine's temporary directory.
    #[track_caller]
    pub fn healthy(&self) {
        let findings = doctor::examine(&self.person().ctx(), false).expect("findings");
        // Other tests share the machine's temporary directory and may have left something there.
        let shared = std::env::temp_dir().join(crate::git::scratch::SCRATCH).display().to_string();
        let own = findings.iter().filter(|finding| !finding.what.starts_with(&shared));
        let messages: Vec<_> = own.map(|finding| &finding.what).collect();
        assert!(messages.is_empty(), "{messages:?}");
    }

    /// The board is intact: valid, and board, log and repository agree.
    #[track_caller]
    pub fn sound(&self) {
        let found = violations(&self.board());
        assert!(found.is_empty(), "{found:?}");
        let checks = verify::verify(&self.person().ctx()).expect("checks");
        let failed: Vec<_> = checks.iter().filter(|check| !check.ok).map(|check| &check.detail).collect();
        assert!(failed.is_empty(), "{failed:?}");
    }
}

fn task_values(board: &Board) -> Vec<Value> {
    board.tasks.iter().map(task_value).collect()
}

fn tier0_violations(board: &Board) -> u64 {
    board.rest.circuit_breaker.tier0_violations
}
