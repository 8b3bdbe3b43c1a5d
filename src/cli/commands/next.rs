use crate::board::{Call, Refusal};
use crate::cli::prelude::*;
use crate::flow::spend::holding;
use crate::policy::schedule::{best_claim, best_review};
use crate::policy::spend::needed_to_begin;
use crate::policy::view::Scene;
use crate::store::Store;
use crate::watch::DirectoryWatch;

/// Claim the most urgent work for your role and print it
///
/// A coder gets a task, a reviewer or the red team a review, a planner the reason to plan or a task of its own role.
/// Work reserved for you comes first, then the most urgent. The role names of a work graph are accepted too:
/// `implementer` is coder, `reviewer` is code_reviewer, `project_manager` is planner, `scaffolder` is coder. If there
/// is no work: exit 0, `data` is null.
///
/// Example: liza next --role coder --wait 60
#[derive(Args)]
pub struct NextArgs {
    /// Role to work in (default: every role you are registered with)
    #[arg(long)]
    pub role: Option<Role>,
    /// Wait up to this long for work; at most a day
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub wait: u64,
}

/// In seconds.
const LONGEST_WAIT: u64 = 24 * 60 * 60;

impl OnBoard for NextArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let roles = self.roles(session)?;
        session.seal_request()?;
        if self.wait > 0 {
            // A note typed into state.yaml also ends the wait.
            session.ctx.settle_edits()?;
            session.ctx.store.supervise();
        }
        session.ctx.integration_in_place(&session.ctx.read(&Needs::Nothing)?.board)?;
        // At most a day, so that the deadline cannot overflow.
        let deadline = Instant::now() + Duration::from_secs(self.wait.min(LONGEST_WAIT));
        // The watch starts before the first look, so that no change is missed.
        let mut watch =
            (self.wait > 0).then(|| DirectoryWatch::new(session.ctx.store.watched_dir(), Store::is_news));
        if let Some(why) = watch.as_ref().and_then(DirectoryWatch::is_polling) {
            session.ctx.narrate(format!(
                "liza polls for changes five times a second, because file notification failed: {why}"
            ));
        }
        loop {
            session.ctx.now = crate::host::now();
            for role in &roles {
                if let Some(answer) = offer(session, role)? {
                    return Ok(answer);
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match &mut watch {
                Some(watch) if !left.is_zero() => {
                    watch.wait(left);
                }
                _ => {
                    return Ok(Answer::new(Value::Null, nothing(session, &roles)?));
                }
            }
        }
    }
}

impl NextArgs {
    /// The named role, or all roles of the calling agent.
    fn roles(&self, session: &Session) -> Result<Vec<Role>, Failure> {
        if let Some(role) = &self.role {
            session.known_role(role)?;
            return Ok(vec![role.clone()]);
        }
        let board = session.ctx.read(&Needs::Nothing)?.board;
        let caller = board.identify(&session.ctx.credentials)?.id();
        let roles = board.agent(&caller).map(|agent| agent.roles.clone()).unwrap_or_default();
        if roles.is_empty() {
            return Err(Failure::usage("a person has every role, so `liza next` needs one").hint(
                "`liza next --role code_reviewer` takes a review, for example; `liza roles` shows every role",
            ));
        }
        Ok(roles.into_iter().collect())
    }
}

/// The text for no work, with the tasks that wait for paths.
fn nothing(session: &Session, roles: &[Role]) -> Result<String, Failure> {
    let snapshot = session.ctx.read(&Needs::Nothing)?;
    let world = session.ctx.store.surroundings(&snapshot.board)?;
    let scene = Scene::new(&snapshot.board, &world, &session.ctx.now);
    let mut text = "nothing to do right now; `liza status` shows what each task waits for".to_owned();
    let held =
        snapshot.board.tasks.iter().filter(|task| roles.contains(&task.role) && task.status == Status::Idle);
    for task in held.filter(|task| scene.node_state(task) == NodeState::Blocked) {
        if let Some(waiting) = scene.waiting(task) {
            text.push_str(&format!("\n  {}: {}", task.id, waiting.why));
        }
    }
    Ok(text)
}

fn offer(session: &mut Session, role: &Role) -> Result<Option<Answer>, Failure> {
    let ctx = &session.ctx;
    let spend = ctx.project_config()?.spend;
    let snapshot = ctx.read_with(|board| needed_to_begin(board, &spend))?;
    let board = &snapshot.board;
    let actor = board.identify(&ctx.credentials)?;
    if !actor.has_role(board, role) {
        return Err(ctx.breach(asks_for_foreign_work(&actor.id(), role)));
    }
    let world = ctx.store.surroundings(board)?;
    let caps = holding(spend, board);
    let call = Call::new(actor, &ctx.now, &world);
    call.check_switches(None)?;
    // If the agent or the run has used up its spending limit, no work is offered.
    check_caps(&caps, board, &call, None)?;
    let affordable = |task: &Task| check_caps(&caps, board, &call, Some(task)).is_ok();
    if *role == Role::planner() {
        let wakes = wakes(board, ctx.now.wall);
        if let Some(first) = wakes.first() {
            let text =
                format!("{}: {}\n{}", view::trigger_words(first.trigger), first.about.join(", "), first.hint);
            let data = json!({ "role": "planner", "trigger": first.trigger, "about": first.about, "hint": first.hint, "all": wakes });
            return Ok(Some(Answer::new(data, text).at(board.revision)));
        }
    }
    if role.judges() {
        let Some(task) = best_review(board, &call, role, affordable) else { return Ok(None) };
        return work_answer(review::claim(ctx, &task.id), super::review::claim::claimed_text);
    }
    let Some(task) = best_claim(board, &call, |task| &task.role == role && affordable(task)) else {
        return Ok(None);
    };
    let claimed = claim::claim(ctx, &task.id).map(|(claimed, board)| (claimed, board.revision));
    if let Err(failure) = &claimed
        && failure.code == Code::Limit
    {
        // The claim has blocked the task; looks for other work.
        session.ctx.narrate(failure.message.clone());
        return offer(session, role);
    }
    work_answer(claimed, super::task::claim::claimed_text)
}

fn asks_for_foreign_work(by: &AgentId, role: &Role) -> Refusal {
    Refusal::new(
        Code::Tier0Role,
        format!("`{by}` does not have the role {role}, so it may not ask for that role's work"),
    )
    .hint("liza recorded a rule breach (Tier 0: a rule that no setting can change); ask for work of a role you are registered with")
    .detail("rule", "role_boundary")
}

/// The claimed work as text; `None` if another agent was faster, because there may be other work.
fn work_answer<T: Serialize>(
    claimed: Result<(T, u64), Failure>,
    words: fn(&T) -> String,
) -> Result<Option<Answer>, Failure> {
    match claimed {
        Ok((data, revision)) => Ok(Some(Answer::new(&data, words(&data)).at(revision))),
        Err(failure)
            if failure.code.class() == Class::Stale
                || failure.code == Code::PathsOverlap
                || failure.code == Code::Transition =>
        {
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}
