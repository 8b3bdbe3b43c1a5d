//! The prompt of an agent: exactly what its role needs to know.

mod mail;
mod past;
mod plan;
mod review;
mod sources;
mod task;

use super::prelude::*;
use crate::board::agent::BUILT_IN_ROLES;
use crate::board::goals::PinnedSpec;
use crate::board::grants::Operation;
use crate::board::task::Kind;
use crate::policy::wake::Wake;
use crate::prompt::{Block, Bound, Facts, Outputs, Quoted, Row, TemplateError, render};

pub(super) use sources::unreadable;

#[derive(Debug, Clone, PartialEq)]
pub enum Assignment {
    /// Implement, in the worktree of this claim. Epoch 0, which no claim has, means a claim that is not made yet.
    Task { task: TaskId, epoch: u64 },
    /// Review the submission.
    Review { task: TaskId },
    /// Plan, for these reasons.
    Plan { wakes: Vec<Wake> },
}

impl Assignment {
    /// The task of this work, if it is about one task.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Task { task, .. } | Self::Review { task } => Some(task),
            Self::Plan { .. } => None,
        }
    }
}

pub struct BriefRequest<'a> {
    pub role: &'a Role,
    pub agent: &'a AgentId,
    pub assignment: &'a Assignment,
    /// Remarks of the runner, such as why the former session ended.
    pub remarks: &'a [String],
    /// Messages that an earlier session was shown and that are shown again, because that session failed.
    pub again: &'a [String],
}

/// A finished prompt.
#[derive(Debug)]
pub struct Brief {
    pub text: String,
    /// Its parts with their sizes in bytes; `role` is the text of the role's template itself.
    pub sizes: Vec<(String, usize)>,
    /// The messages that it contains.
    pub shown_messages: Vec<String>,
}

/// The pages that every agent must read.
const PAGES: [&str; 4] = [
    "architecture/roles.md",
    "architecture/blackboard-schema.md",
    "protocols/worktree-protocol.md",
    "protocols/circuit-breaker.md",
];
const REVIEW_PAGE: &str = "protocols/review-protocol.md";

const KIB: usize = 1024;

/// The whole prompt, or what is missing for it.
pub fn brief(ctx: &Context, request: &BriefRequest<'_>) -> Result<Result<Brief, Vec<String>>> {
    let row = Row::of(request.role);
    let config = ctx.project_config()?;
    fits_role(request, &row)?;
    let snapshot = ctx.read_with(|board| needs(board, request, &row))?;
    let mut desk = Desk {
        ctx,
        board: &snapshot.board,
        request,
        row,
        facts: Facts::default(),
        missing: bootstrap_gaps(ctx, request.role, &config),
    };
    desk.common();
    let shown_messages = desk.mail();
    desk.bounds(&config);
    match request.assignment {
        Assignment::Task { task, epoch } => desk.implement(task, *epoch)?,
        Assignment::Review { task } => desk.judge(task)?,
        Assignment::Plan { wakes } => desk.plan(wakes)?,
    }
    if !desk.missing.is_empty() {
        return Ok(Err(desk.missing));
    }
    desk.written(&config, shown_messages).map(Ok)
}

/// Refuses work that does not fit the role: a plan for a reviewer would show text that reviewers must not see.
fn fits_role(request: &BriefRequest<'_>, row: &Row) -> Result<()> {
    let fits = match request.assignment {
        Assignment::Task { .. } => !row.planning && !row.submission,
        Assignment::Review { .. } => row.submission,
        Assignment::Plan { .. } => row.planning || row.agents,
    };
    if fits {
        return Ok(());
    }
    Err(failure!(Code::Role, "this is not work for a {}", request.role).hint(
        "tasks are for the role they name, reviews for code_reviewer and red_team, planning for planner",
    ))
}

fn needs(board: &Board, request: &BriefRequest<'_>, row: &Row) -> Needs {
    let Some(id) = request.assignment.task().filter(|_| row.outputs != Outputs::Merged) else {
        return Needs::Everything;
    };
    let mut tasks = vec![id.clone()];
    // Includes the replacements of a replaced task: its outputs are theirs.
    let mut at = 0;
    while let Some(task) = tasks.get(at).and_then(|id| board.task(id)) {
        let more = if at == 0 { &task.depends_on } else { &task.superseded_by };
        let known = more.iter().filter(|id| board.task(id).is_some() && !tasks.contains(id));
        let more: Vec<TaskId> = known.cloned().collect();
        tasks.extend(more);
        at += 1;
    }
    Needs::Tasks(tasks)
}

/// Missing files and definitions that every agent needs.
fn bootstrap_gaps(ctx: &Context, role: &Role, config: &ProjectConfig) -> Vec<String> {
    let mut missing = Vec::new();
    if !BUILT_IN_ROLES.contains(&role.as_str()) && !config.roles.contains_key(role) {
        missing.push(format!("the role `{role}` is not defined: add it under `roles:` in liza.yaml"));
    }
    let specs = ctx.store.specs_location();
    let review = role.judges().then_some(REVIEW_PAGE);
    for page in PAGES.into_iter().chain(review) {
        if let Some(why) = unreadable(&specs, Path::new(page)) {
            missing.push(format!(
                "{} (SPECS_LOCATION) {why}: `liza doctor --fix` restores it",
                Quoted::new(&specs.join(page).display().to_string()).as_str()
            ));
        }
    }
    missing
}

/// A prompt under construction.
struct Desk<'a> {
    ctx: &'a Context,
    board: &'a Board,
    request: &'a BriefRequest<'a>,
    row: Row,
    facts: Facts,
    missing: Vec<String>,
}

impl<'a> Desk<'a> {
    fn common(&mut self) {
        let path = |path: &Path| Quoted::new(&path.display().to_string());
        self.facts.plain("agent", self.request.agent);
        self.facts.plain("role", self.request.role);
        self.facts.plain("project_root", &path(self.ctx.root()));
        self.facts.plain("blackboard", &path(&self.ctx.store.blackboard()));
        self.facts.plain("specs_location", &path(&self.ctx.store.specs_location()));
        // A shell started by an agent command may have another PATH than liza.
        let liza = Some(crate::host::this_program()).filter(|liza| !liza.starts_with("/proc"));
        self.facts.optional("liza", liza.as_deref().map(path).as_ref());
        self.facts.optional("task_id", self.request.assignment.task());
        let remarks: Vec<&str> = self.request.remarks.iter().map(|remark| remark.trim()).collect();
        let bound = Bound::new(16 * KIB, "`liza log`");
        self.facts.block("remarks", Block::new("your runner", &remarks.join("\n"), &bound));
    }

    /// What the role may not do even where its tools allow it. Restrictions that the agent program has no option for
    /// are enforced by these words alone.
    fn bounds(&mut self, config: &ProjectConfig) {
        let (registry, role) = (Registry::new(config), self.request.role);
        let operations = Operation::ALL.iter().filter(|operation| registry.denies(role, **operation));
        let classes = registry.denied_classes(role);
        let tools = registry.denied_tools(role);
        let denied = operations
            .map(|operation| operation.words())
            .chain(classes.iter().map(|denied| denied.class.words()))
            .chain(tools.iter().map(String::as_str));
        let denied = Quoted::list(denied);
        self.facts.optional("denied", Some(&denied).filter(|denied| !denied.as_str().is_empty()));
        let paths: Vec<String> = registry.paths(role).iter().map(ToString::to_string).collect();
        let paths = Quoted::list(paths.iter().map(String::as_str));
        self.facts.optional("only_paths", Some(&paths).filter(|paths| !paths.as_str().is_empty()));
    }

    fn task(&self, id: &TaskId) -> Result<&'a Task> {
        self.board.task(id).ok_or_else(|| {
            failure!(ErrorCode::StaleTask, "task `{id}` is not on the board any more")
                .hint("`liza status` shows the tasks; take another one")
        })
    }

    /// Fills in the spec, or reports what is wrong with it.
    fn spec(&mut self, owner: &str, spec_ref: Option<&str>, pin: Option<&PinnedSpec>, remedy: &str) {
        if !self.row.spec {
            return self.facts.block("spec", Block::none());
        }
        match sources::spec(self.ctx, &self.board.rest.goal, spec_ref, pin) {
            Ok(block) => self.facts.block("spec", block),
            Err(why) => self.missing.push(format!("the spec of {owner}: {why}; {remedy}")),
        }
    }

    fn written(mut self, config: &ProjectConfig, shown_messages: Vec<String>) -> Result<Brief> {
        for name in crate::prompt::PIECES {
            let piece = sources::piece(self.ctx, name)?;
            let rendered = render(&piece, &self.facts).map_err(template_failure)?;
            self.facts.piece(name, rendered.text);
        }
        let report = self.request.assignment.task().and_then(|id| self.board.task(id));
        let template = match report.filter(|task| task.kind == Kind::Report) {
            Some(_) => sources::report_template(self.ctx, self.request.role, config)?,
            None => sources::template(self.ctx, self.request.role, config)?,
        };
        let rendered = render(&template, &self.facts).map_err(template_failure)?;
        let parts: usize = rendered.sizes.iter().map(|(_, bytes)| bytes).sum();
        let mut sizes = vec![("role".to_owned(), rendered.text.len().saturating_sub(parts))];
        // The project's own template may omit the messages; then the agent has not seen them.
        let shown_messages = if rendered.sizes.iter().any(|(name, _)| name == "messages") {
            shown_messages
        } else {
            Vec::new()
        };
        sizes.extend(rendered.sizes);
        Ok(Brief { text: rendered.text, sizes, shown_messages })
    }
}

fn template_failure(error: TemplateError) -> Failure {
    let line = error.line;
    let failure = failure!(ErrorCode::UsageTemplate, "the prompt template {error}")
        .hint("fix the template, or remove it to use the built-in one; no agent is started with a broken one")
        .detail("file", error.file);
    match line {
        Some(line) => failure.detail("line", line),
        None => failure,
    }
}
