use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::board::rules::{Abandon, Block, Finalize, HandOff, Release, Renew, Rescope, Unblock};
use crate::board::{Needs, Status, TaskId, Transition};
use crate::flow::init::{parse_role, parse_task};
use crate::flow::{Failure, claim};
use crate::wire::flat::task_value;
use crate::wire::plan::read_plan;

use super::super::ui::Answer;
use super::super::{Session, exit, view};
use super::task_write::{self, AddArgs, CheckpointArgs};

/// Work on tasks: add, finalize, claim, checkpoint, submit and the ways out
///
/// Example: liza task list --ready
#[derive(Subcommand)]
#[expect(clippy::large_enum_variant, reason = "one value a process")]
pub enum TaskCommand {
    Add(AddArgs),
    Finalize(FinalizeArgs),
    List(ListArgs),
    Show(ShowArgs),
    /// Take a task: you become its holder, with a worktree of your own
    ///
    /// Prints where to work. Yours again after a rejection or a block: the same worktree, one iteration on.
    ///
    /// Example: liza task claim t1
    Claim(IdArgs),
    /// Extend your lease on a task; any other command of yours does too
    ///
    /// Example: liza task renew t1
    Renew(IdArgs),
    Checkpoint(CheckpointArgs),
    Submit(SubmitArgs),
    Block(BlockArgs),
    Unblock(UnblockArgs),
    Rescope(RescopeArgs),
    Abandon(AbandonArgs),
    Release(ReleaseArgs),
    Handoff(HandoffArgs),
    Sync(SyncArgs),
}

#[derive(Args)]
pub struct IdArgs {
    /// The task
    pub id: String,
}

/// Hand the work in for review
///
/// Checks that everything is committed, inside the scope and announced in the checkpoint, and runs the checkpoint's
/// validation command itself.
///
/// Example: liza task submit t1
#[derive(Args)]
pub struct SubmitArgs {
    /// The task
    pub id: String,
}

/// Merge integration into the task's branch, in its worktree
///
/// Exit 11 if it conflicts; the merge is then in progress there for you to finish.
///
/// Example: liza task sync t1
#[derive(Args)]
pub struct SyncArgs {
    /// The task
    pub id: String,
}

/// Make drafts claimable
///
/// Example: liza task finalize t1 t2
#[derive(Args)]
pub struct FinalizeArgs {
    /// The drafts
    #[arg(required_unless_present = "all")]
    pub ids: Vec<String>,
    /// Every draft
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
}

/// List tasks
///
/// Example: liza task list --status READY_FOR_REVIEW
#[derive(Args)]
pub struct ListArgs {
    /// Only in this state; repeat for several
    #[arg(long, value_name = "STATUS")]
    pub status: Vec<String>,
    /// Only those of this agent
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Only those somebody could claim now
    #[arg(long)]
    pub ready: bool,
}

/// Show a task with its history
///
/// Example: liza task show t1 --feedback
#[derive(Args)]
pub struct ShowArgs {
    /// The task
    pub id: String,
    /// Only what the last review asks for, as instructions
    #[arg(long)]
    pub feedback: bool,
}

/// Stop work that cannot go on, saying why and what would help
///
/// Example: liza task block t1 --reason "the spec contradicts itself" --question "Is an empty name allowed?"
#[derive(Args)]
pub struct BlockArgs {
    /// The task
    pub id: String,
    /// Why it cannot go on
    #[arg(long)]
    pub reason: String,
    /// What would unblock it, one to three times
    #[arg(long, required = true)]
    pub question: Vec<String>,
}

/// Answer a blocked task's questions and let it go on (planner, people)
///
/// Example: liza task unblock t1 --answer "an empty name prints Hello, World"
#[derive(Args)]
pub struct UnblockArgs {
    /// The task
    pub id: String,
    /// The answer
    #[arg(long)]
    pub answer: String,
    /// Grant this many further rounds
    #[arg(long, default_value_t = 0)]
    pub cycles: u32,
}

/// Replace a task by a better cut of the work (planner, people)
///
/// Example: liza task rescope t1 --into new-tasks.yaml --reason "root cause: two features in one"
#[derive(Args)]
pub struct RescopeArgs {
    /// The task
    pub id: String,
    /// The tasks that take its place: a plan file, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub into: Option<String>,
    /// A task already there that takes its place; repeat for several
    #[arg(long, value_name = "TASK", required_unless_present = "into")]
    pub by: Vec<String>,
    /// Why, with the root cause
    #[arg(long)]
    pub reason: String,
}

/// Give a task up for good (planner, people)
///
/// Example: liza task abandon t1 --reason "no longer wanted"
#[derive(Args)]
pub struct AbandonArgs {
    /// The task
    pub id: String,
    /// Why
    #[arg(long)]
    pub reason: String,
}

/// Let a task go; the work stays on its branch
///
/// Example: liza task release t1 --reason "out of time"
#[derive(Args)]
pub struct ReleaseArgs {
    /// The task
    pub id: String,
    /// Why
    #[arg(long, default_value = "")]
    pub reason: String,
}

/// Let a task go with word for whoever takes it up next
///
/// With --to-role the next claim belongs to that role: a coder hands its work to a test_engineer, who hands it back or
/// submits it. Both are implementers then, and neither may review it.
///
/// Example: liza task handoff t1 --summary "parser done" --next "write the tests for empty input" --to-role test_engineer
#[derive(Args)]
pub struct HandoffArgs {
    /// The task
    pub id: String,
    /// What is done
    #[arg(long)]
    pub summary: String,
    /// What to do next
    #[arg(long)]
    pub next: String,
    /// Whose turn it is then, such as test_engineer or coder; the same role's without it
    #[arg(long, value_name = "ROLE")]
    pub to_role: Option<String>,
}

pub fn run(session: &mut Session, command: TaskCommand) -> Result<Answer, Failure> {
    match command {
        TaskCommand::Add(args) => task_write::add(session, &args),
        TaskCommand::Checkpoint(args) => task_write::checkpoint(session, &args),
        TaskCommand::Finalize(args) => finalize(session, &args),
        TaskCommand::List(args) => list(session, &args),
        TaskCommand::Show(args) => show(session, &args),
        TaskCommand::Claim(args) => claim_task(session, &args),
        TaskCommand::Renew(args) => {
            let id = parse_task(&args.id)?;
            let renew = Renew { epoch: session.ctx.epoch_of(&id), task: id };
            commit(session, renew, |data| format!("lease extended to {}", text_of(data, "lease_expires")))
        }
        TaskCommand::Submit(args) => submit(session, &args),
        TaskCommand::Block(args) => {
            let id = parse_task(&args.id)?;
            let block = Block {
                epoch: session.ctx.epoch_of(&id),
                reason: session.input.text(&args.reason)?,
                questions: session.input.texts(&args.question)?,
                task: id.clone(),
            };
            commit(session, block, |_| {
                format!("{id} is BLOCKED; it waits for `liza task unblock {id} --answer …`")
            })
        }
        TaskCommand::Unblock(args) => {
            let id = parse_task(&args.id)?;
            let unblock =
                Unblock { answer: session.input.text(&args.answer)?, cycles: args.cycles, task: id.clone() };
            commit(session, unblock, |data| match data["reserved_for"].as_str() {
                Some(agent) => format!("{id} is {} and waits for {agent}", text_of(data, "status")),
                None => format!("{id} is {}", text_of(data, "status")),
            })
        }
        TaskCommand::Rescope(args) => rescope(session, &args),
        TaskCommand::Abandon(args) => {
            let id = parse_task(&args.id)?;
            let abandon = Abandon { reason: session.input.text(&args.reason)?, task: id.clone() };
            commit(session, abandon, |data| {
                let stranded: Vec<&str> =
                    data["stranded"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                if stranded.is_empty() {
                    format!("{id} is ABANDONED")
                } else {
                    format!(
                        "{id} is ABANDONED; these waited for it and can never start: {}",
                        stranded.join(", ")
                    )
                }
            })
        }
        TaskCommand::Release(args) => {
            let id = parse_task(&args.id)?;
            let release = Release {
                epoch: session.ctx.epoch_of(&id),
                reason: session.input.text(&args.reason)?,
                task: id.clone(),
            };
            let release = Transition::from(release);
            claim::keep_uncommitted(&session.ctx, &id, &release)?;
            commit(session, release, |data| {
                format!("{id} is {}; its work stays on its branch", text_of(data, "status"))
            })
        }
        TaskCommand::Handoff(args) => {
            let id = parse_task(&args.id)?;
            let to_role = args.to_role.as_deref().map(parse_role).transpose()?;
            if let Some(role) = &to_role {
                super::known_role(session, role)?;
            }
            let handoff = HandOff {
                epoch: session.ctx.epoch_of(&id),
                summary: session.input.text(&args.summary)?,
                next_action: session.input.text(&args.next)?,
                to_role,
                task: id.clone(),
            };
            let handoff = Transition::from(handoff);
            claim::keep_uncommitted(&session.ctx, &id, &handoff)?;
            commit(session, handoff, |data| {
                format!("{id} is handed off and free to be claimed by a {}", text_of(data, "role"))
            })
        }
        TaskCommand::Sync(args) => sync(session, &args),
    }
}

fn text_of<'v>(data: &'v Value, key: &str) -> &'v str {
    data[key].as_str().unwrap_or_default()
}

/// One change, in words.
pub fn commit(
    session: &mut Session,
    what: impl Into<Transition>,
    text: impl Fn(&Value) -> String,
) -> Result<Answer, Failure> {
    session.seal_request()?;
    let committed = session.ctx.commit(what)?;
    let text = text(&committed.outcome);
    Ok(Answer::new(committed.outcome, text).at(committed.board.revision))
}

fn finalize(session: &mut Session, args: &FinalizeArgs) -> Result<Answer, Failure> {
    let snapshot = session.ctx.read(&Needs::Everything)?;
    let tasks: Vec<TaskId> = if args.all {
        snapshot
            .board
            .tasks
            .iter()
            .filter(|task| task.status == Status::Draft)
            .map(|task| task.id.clone())
            .collect()
    } else {
        args.ids.iter().map(|id| parse_task(id)).collect::<Result<_, _>>()?
    };
    let mut specs_found = Vec::new();
    for id in &tasks {
        let spec = snapshot.board.task(id).and_then(|task| task.body().spec_ref.clone());
        if let Some(spec) = spec
            && session.ctx.spec_found(&spec)?
        {
            specs_found.push(id.clone());
        }
    }
    let names: Vec<String> = tasks.iter().map(ToString::to_string).collect();
    commit(session, Finalize { tasks, specs_found }, |_| format!("claimable: {}", names.join(", ")))
}

fn list(session: &mut Session, args: &ListArgs) -> Result<Answer, Failure> {
    let wanted = args
        .status
        .iter()
        .map(|text| {
            Status::ALL.into_iter().find(|status| status.as_str().eq_ignore_ascii_case(text)).ok_or_else(
                || {
                    let all: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
                    Failure::usage(format!("`{text}` is no state of a task"))
                        .hint(format!("one of {}", all.join(", ")))
                },
            )
        })
        .collect::<Result<Vec<_>, _>>()?;
    let snapshot = session.ctx.read(&Needs::Everything)?;
    let frame = view::Frame::new(&session.ctx, &snapshot.board)?;
    let picture = view::Picture::new(&frame, &snapshot.board);
    let chosen: Vec<_> = snapshot
        .board
        .tasks
        .iter()
        .filter(|task| wanted.is_empty() || wanted.contains(&task.status))
        .filter(|task| {
            args.agent
                .as_ref()
                .is_none_or(|agent| task.assigned_to.as_ref().is_some_and(|id| id.as_str() == agent))
        })
        .filter(|task| !args.ready || picture.node(task) == crate::policy::NodeState::Ready)
        .collect();
    let rows: Vec<Value> = chosen.iter().map(|task| picture.row(task)).collect();
    let text = match (chosen.is_empty(), snapshot.board.tasks.is_empty()) {
        (true, true) => "no task is on the board; `liza task add --help` says how one gets there".to_owned(),
        (true, false) => "no task is like that; `liza task list` shows all".to_owned(),
        _ => picture.table(&chosen),
    };
    Ok(Answer::new(json!({ "tasks": rows }), text).at(snapshot.board.revision))
}

fn show(session: &mut Session, args: &ShowArgs) -> Result<Answer, Failure> {
    let id = parse_task(&args.id)?;
    let snapshot = session.ctx.read(&Needs::task(&id))?;
    let Some(task) = snapshot.board.task(&id) else { return show_archived(session, &snapshot.board, &id) };
    if args.feedback {
        let data = json!({
            "task": id, "reason": task.body().rejection_reason, "feedback": task.body().rejection_feedback,
            "issues": task.body().issues.iter().filter(|issue| issue.is_open()).collect::<Vec<_>>(),
            "handoff": snapshot.board.rest.handoff.iter().rfind(|handoff| handoff.task_id == id),
            "answer": task.body().answer,
        });
        return Ok(Answer::new(data, view::feedback(&snapshot.board, task)).at(snapshot.board.revision));
    }
    Ok(Answer::new(task_value(task), view::task(&session.ctx, &snapshot.board, task)?)
        .at(snapshot.board.revision))
}

/// A task that has left the board is still shown, by its very id.
fn show_archived(session: &Session, board: &crate::board::Board, id: &TaskId) -> Result<Answer, Failure> {
    let archived = match board.task_alike(id) {
        Some(_) => None,
        None => session.ctx.store.archived_task(id)?,
    };
    match archived {
        Some(task) if &task.id == id => {
            let mut data = task_value(&task);
            data["archived"] = json!(true);
            let mut text = view::task(&session.ctx, board, &task)?;
            text.push_str(&format!("archived:  {}\n", session.ctx.store.layout().archived(id).display()));
            Ok(Answer::new(data, text).at(board.revision))
        }
        Some(task) => {
            Err(view::unknown_task(board, id).hint(format!("did you mean `{}`? It is archived", task.id)))
        }
        None => Err(view::unknown_task(board, id)),
    }
}

fn claim_task(session: &mut Session, args: &IdArgs) -> Result<Answer, Failure> {
    let id = parse_task(&args.id)?;
    session.seal_request()?;
    let claimed = claim::claim(&session.ctx, &id)?;
    Ok(Answer::new(claimed.data.clone(), claimed_text(&claimed.data)).at(claimed.board.revision))
}

/// What somebody who just claimed a task has to know.
pub fn claimed_text(data: &Value) -> String {
    let id = text_of(data, "task");
    let mut text = format!(
        "claimed {id} (epoch {}, iteration {}) until {}\nworktree: {}\nbranch:   {}\n",
        data["epoch"],
        data["iteration"],
        text_of(data, "lease_expires"),
        text_of(data, "worktree"),
        text_of(data, "branch")
    );
    let conflicts: Vec<&str> =
        data["conflicts"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !conflicts.is_empty() {
        text.push_str(&format!(
            "a merge of integration is in progress there; in conflict: {}\n",
            conflicts.join(", ")
        ));
    }
    if data["read_first"] == true {
        text.push_str(&format!("read first: liza task show {id} --feedback\n"));
    }
    text.push_str(&format!(
        "next: liza task checkpoint {id} --intent … --risks … --validate … --expect … --file …"
    ));
    text
}

fn submit(session: &mut Session, args: &SubmitArgs) -> Result<Answer, Failure> {
    let id = parse_task(&args.id)?;
    session.seal_request()?;
    not_in_a_former_place(session, &id)?;
    crate::flow::recover::before(&session.ctx, &id)?;
    let (data, revision) = crate::flow::submit::submit(&session.ctx, &id)?;
    let text =
        format!("{id} is READY_FOR_REVIEW at {}; somebody else reviews it", text_of(&data, "review_commit"));
    Ok(Answer::new(data, text).at(revision))
}

/// Whoever stands in a worktree that work has left means what is there, and it would not be looked at.
pub fn not_in_a_former_place(session: &Session, id: &TaskId) -> Result<(), Failure> {
    let Some(top) =
        std::env::current_dir().ok().and_then(|dir| crate::git::repo::discover(&dir).ok()?.linked)
    else {
        return Ok(());
    };
    let (root, home) = (session.ctx.root(), session.ctx.worktrees_dir());
    let name = top.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if top.path.parent() != Some(&home) || crate::flow::worktrees::task_of(&name).as_ref() != Some(id) {
        return Ok(());
    }
    let snapshot = session.ctx.read(&Needs::task(id))?;
    let Some(attempt) = snapshot.board.task(id).and_then(|task| task.body().attempt()) else { return Ok(()) };
    if root.join(&attempt.worktree) == top.path {
        return Ok(());
    }
    Err(Failure::new(
        "stale.lease_lost",
        format!("you are in `{name}`, a former worktree of `{id}`; work goes on in {}", attempt.worktree),
    )
    .hint("go there; what is here stays, and its commits are kept under refs/liza/attempts"))
}

fn rescope(session: &mut Session, args: &RescopeArgs) -> Result<Answer, Failure> {
    let id = parse_task(&args.id)?;
    let into = match &args.into {
        Some(file) => read_plan(&session.input.document(file)?)?,
        None => Vec::new(),
    };
    let specs_found = task_write::specs_found(&session.ctx, &into)?;
    let existing = args.by.iter().map(|id| parse_task(id)).collect::<Result<_, _>>()?;
    let rescope =
        Rescope { task: id.clone(), into, existing, reason: session.input.text(&args.reason)?, specs_found };
    commit(session, rescope, |data| {
        let by: Vec<&str> =
            data["superseded_by"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        format!("{id} is SUPERSEDED by {}", by.join(", "))
    })
}

fn sync(session: &mut Session, args: &SyncArgs) -> Result<Answer, Failure> {
    let id = parse_task(&args.id)?;
    session.seal_request()?;
    let (data, revision, conflicted) = claim::sync(&session.ctx, &id)?;
    if conflicted {
        let files: Vec<&str> =
            data["conflicts"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        return Err(Failure::new(
            "git.conflict",
            format!("integration conflicts with {id} in {}", files.join(", ")),
        )
        .hint("the merge is in progress in the worktree: resolve, commit, then submit")
        .with_data(data, revision));
    }
    let mut answer =
        Answer::new(data.clone(), format!("{id} now starts from {}", text_of(&data, "base_commit")))
            .at(revision);
    answer.exit = exit::DONE;
    Ok(answer)
}
