//! New tasks: one, or a whole plan, all or nothing.

use super::prelude::*;
use super::streams::{check_members, check_route, check_streams, open_streams};

/// Most tasks one board may hold; past that, archive.
const MOST_TASKS: usize = 20_000;

record! {
    /// A task as an agent or a person proposes it.
    pub struct NewTask {
        pub id: TaskId,
        pub title: String,
        #[serde(default, alias = "desc", skip_serializing_if = "String::is_empty")]
        pub description: String,
        #[serde(alias = "spec")]
        pub spec_ref: Option<String>,
        #[serde(alias = "acceptance_criteria", deserialize_with = "crate::board::shapes::criteria")]
        #[schemars(with = "crate::board::shapes::Criteria")]
        pub done_when: Vec<String>,
        #[serde(default)]
        pub scope: Scope,
        /// What its reviewer has to answer, beside what the project asks of every task of its risk.
        #[serde(alias = "reviewer_checklist")]
        pub checklist: Vec<String>,
        /// Paths no other task may own; the scope if absent.
        pub owns: Vec<PathPattern>,
        #[serde(alias = "dependencies")]
        pub depends_on: Vec<TaskId>,
        #[serde(default)]
        pub priority: i64,
        #[serde(default)]
        pub kind: Kind,
        #[serde(default)]
        pub risk: Risk,
        #[serde(default = "Role::coder", alias = "owner_role")]
        pub role: Role,
        pub parent: Option<TaskId>,
        pub tags: Vec<String>,
        pub inputs: Vec<String>,
        #[serde(alias = "outputs")]
        pub expected_outputs: Vec<String>,
        pub max_coder_iterations: Option<u32>,
        pub max_review_cycles: Option<u32>,
        /// How many files it will probably change; a plan is checked by it.
        pub expected_files: Option<u32>,
        /// How many lines it will probably change; a plan is checked by it.
        pub expected_lines: Option<u32>,
        /// How many minutes it is given; at most 12 for a coder's work.
        pub timebox_minutes: Option<u32>,
        /// What it is for: probe, work, review or merge; what its role is for if absent.
        pub slice_kind: Option<SliceKind>,
        /// The workstream it belongs to.
        pub workstream: Option<WorkstreamId>,
    }
}

impl NewTask {
    /// A task with an id and nothing else.
    pub fn blank(id: TaskId) -> Self {
        Self {
            id,
            title: String::new(),
            description: String::new(),
            spec_ref: None,
            done_when: Vec::new(),
            scope: Scope::default(),
            checklist: Vec::new(),
            owns: Vec::new(),
            depends_on: Vec::new(),
            priority: 0,
            kind: Kind::default(),
            risk: Risk::default(),
            role: Role::coder(),
            parent: None,
            tags: Vec::new(),
            inputs: Vec::new(),
            expected_outputs: Vec::new(),
            max_coder_iterations: None,
            max_review_cycles: None,
            expected_files: None,
            expected_lines: None,
            timebox_minutes: None,
            slice_kind: None,
            workstream: None,
        }
    }

    /// What the rules for slices look at.
    pub fn slice(&self) -> SliceShape<'_> {
        SliceShape {
            role: &self.role,
            kind: self.kind,
            slice_kind: self.slice_kind,
            timebox_minutes: self.timebox_minutes,
            owns: &self.owns,
        }
    }

    /// The paths that no other task may own.
    pub fn owned(&self) -> Vec<PathPattern> {
        if self.kind == Kind::Report {
            return Vec::new();
        }
        if self.owns.is_empty() { self.scope.inside.clone() } else { self.owns.clone() }
    }
}

logged! {
    pub struct AddTasks {
        always pub tasks: Vec<NewTask>,
        always pub finalize: bool,
        /// Those whose `spec_ref` names a file that is there.
        #[serde(default)]
        always pub specs_found: Vec<TaskId>,
        /// They are a work graph: what they wait for is there and goes round in no circle, drafts or not.
        pub as_graph: bool,
        /// The name of that graph, if it has one.
        pub graph_id: Option<GraphId>,
        /// The texts of the specs that were found.
        pub pins: Vec<SpecPin>,
        /// They are single jobs: the plan for the goal does not know them.
        pub single: bool,
        /// Tags lift no cap, and a parent has to exist. What was put on record before is judged without.
        pub strict: bool,
        /// The rules for slices hold. What was put on record before is judged without.
        pub slices: bool,
        /// Workstreams that it opens; the tasks that plan them are among its tasks.
        pub workstreams: Vec<NewStream>,
    }
}

impl AddTasks {
    /// A single task, of no graph of its own.
    pub fn one(task: NewTask, finalize: bool, specs: impl Into<Specs>) -> Self {
        Self::several(vec![task], finalize, specs)
    }

    /// Tasks beside the plan, of no graph of their own.
    pub fn several(tasks: Vec<NewTask>, finalize: bool, specs: impl Into<Specs>) -> Self {
        let Specs { found: specs_found, pins } = specs.into();
        Self {
            tasks,
            finalize,
            specs_found,
            as_graph: false,
            graph_id: None,
            pins,
            single: false,
            strict: true,
            slices: true,
            workstreams: Vec::new(),
        }
    }
}

outcome!(Planned { tasks: Vec<TaskId>, status: Status });

impl Verb for AddTasks {
    const OPERATION: Option<Operation> = Some(Operation::Plan);
    type Outcome = Planned;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        // The run adds audits and what they ask for.
        if !call.by.is_liza() {
            plans(board, call, "add tasks")?;
        }
        check_spawn(board, call, self.tasks.iter().map(|task| &task.role))?;
        if self.finalize {
            call.check_switches(None)?;
        }
        if !self.single {
            check_goal(board)?;
        }
        check_new(board, call, &self.tasks, self.strict)?;
        if self.slices {
            self.tasks.iter().try_for_each(check_slice)?;
        }
        check_streams(board, &self.tasks, &self.workstreams)?;
        if !self.single {
            check_route(board, call, &self.tasks, &self.workstreams)?;
        }
        check_members(board, call, &self.tasks, &self.workstreams, None)?;
        if let Some(graph) = &self.graph_id {
            check_graph_id(board, graph)?;
        }
        if self.as_graph {
            check_dependencies(board, call, &self.tasks)?;
        }
        if self.finalize { check_finalizable(board, call, &self.tasks, &self.specs_found) } else { Ok(()) }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let (status, ended) = (board.rest.goal.status, board.rest.goal.ended);
        add(board, call, &self.tasks, self.finalize, &self.pins);
        open_streams(board, &self.workstreams);
        if self.single {
            board.rest.goal.status = status;
            board.rest.goal.ended = ended;
            for task in &self.tasks {
                parts(board, &task.id).0.single = true;
            }
        }
        if let Some(graph) = &self.graph_id {
            board.rest.graph_id = Some(graph.clone());
        }
        let status = if self.finalize { Status::Idle } else { Status::Draft };
        Planned { tasks: self.tasks.iter().map(|task| task.id.clone()).collect(), status }
    }

    fn asks_archive(&self, _: &Board) -> Vec<TaskId> {
        named(&self.tasks)
    }
}

/// Every id these tasks take, wait for or were split from.
pub fn named(tasks: &[NewTask]) -> Vec<TaskId> {
    let of = |task: &NewTask| {
        let ids: Vec<TaskId> =
            std::iter::once(&task.id).chain(&task.depends_on).chain(&task.parent).cloned().collect();
        ids
    };
    tasks.iter().flat_map(of).collect()
}

/// Tasks belong to the current goal: one that was given up takes none.
fn check_goal(board: &Board) -> Result<(), Refusal> {
    let goal = &board.rest.goal;
    if goal.status != GoalStatus::Abandoned {
        return Ok(());
    }
    Err(refusal!(Code::Transition, "{} was abandoned, so it takes no tasks", goal.id)
        .hint("give the next goal first: `liza goal \"TEXT\"`"))
}

/// Whether these could be added as drafts.
pub fn check_new(board: &Board, call: &Call, tasks: &[NewTask], strict: bool) -> Result<(), Refusal> {
    if tasks.is_empty() {
        return Err(refusal!(Code::Incomplete, "there is no task to add"));
    }
    if board.tasks.len() + tasks.len() > MOST_TASKS {
        return Err(refusal!(Code::Limit, "a board holds at most {MOST_TASKS} tasks")
            .hint("`liza archive` moves finished tasks away"));
    }
    // Few are new: only they are gathered, not the ids of the whole board.
    let new: BTreeSet<IgnoringCase> = tasks.iter().map(|task| IgnoringCase(&task.id)).collect();
    let existing = board.tasks.iter().map(|task| &task.id).chain(call.world.archived.keys());
    let mut taken: BTreeSet<IgnoringCase> =
        existing.map(IgnoringCase).filter(|id| new.contains(id)).collect();
    for task in tasks {
        if !taken.insert(IgnoringCase(&task.id)) {
            return Err(Refusal::new(
                Code::IdTaken,
                format!("the id `{}` is taken (ids are compared ignoring case)", task.id),
            )
            .hint("choose another id; ids are never reused, not even those of archived tasks")
            .detail("task", task.id.as_str()));
        }
        check_fields(task, strict)?;
        if strict {
            check_parent(board, call, task, tasks)?;
        }
    }
    Ok(())
}

/// A parent is a task of the board, of the archive, or one that is added together with it.
pub fn check_parent(board: &Board, call: &Call, task: &NewTask, beside: &[NewTask]) -> Result<(), Refusal> {
    let Some(parent) = &task.parent else { return Ok(()) };
    if parent == &task.id {
        return Err(refusal!(Code::Cycle, "task `{parent}` cannot be its own parent")
            .hint("name the task it was split from with --parent, or none"));
    }
    let known = board.task(parent).is_some()
        || call.world.archived.contains_key(parent)
        || beside.iter().any(|other| &other.id == parent);
    if known {
        return Ok(());
    }
    Err(refusal!(Code::DependencyMissing, "task `{}` names the parent `{parent}`, which does not exist", task.id)
        .hint("`liza status` lists the tasks; add the parent first, put both into one `liza plan` file, or name none")
        .detail("task", task.id.as_str())
        .detail("parent", parent.as_str()))
}

pub fn check_fields(task: &NewTask, strict: bool) -> Result<(), Refusal> {
    text_given("title", &task.title)?;
    if task.title.chars().count() > LONGEST_TITLE {
        return Err(Refusal::new(
            Code::Limit,
            format!("the title of `{}` is longer than {LONGEST_TITLE} characters", task.id),
        )
        .hint("keep the title short and say the rest in the description")
        .detail("field", "title"));
    }
    text_fits("description", &task.description)?;
    text_fits("spec_ref", task.spec_ref.as_deref().unwrap_or_default())?;
    for (field, limit) in [
        ("max_coder_iterations", task.max_coder_iterations),
        ("max_review_cycles", task.max_review_cycles),
        ("timebox_minutes", task.timebox_minutes),
    ] {
        if limit == Some(0) {
            return Err(refusal!(Code::Value, "{field} must be at least 1").detail("field", field));
        }
    }
    let too_long = match strict {
        true => exceeds_hard_cap(&task.role, task.timebox_minutes),
        false => exceeds_former_cap(&task.role, &task.tags, task.timebox_minutes),
    };
    if too_long {
        return Err(refusal!(
            Code::Limit,
            "task `{}` is given {} minutes; a coder's work is given at most {HARD_CAP_MINUTES}",
            task.id,
            task.timebox_minutes.unwrap_or_default()
        )
        .hint("split it into smaller tasks; what brings the parts together is for the role `supervisor` (--role supervisor --slice-kind merge)")
        .detail("task", task.id.as_str())
        .detail("field", "timebox_minutes"));
    }
    for (field, texts) in [
        ("done_when", &task.done_when),
        ("checklist", &task.checklist),
        ("tags", &task.tags),
        ("inputs", &task.inputs),
        ("expected_outputs", &task.expected_outputs),
    ] {
        too_many(field, texts.len())?;
        texts.iter().try_for_each(|text| text_given(field, text))?;
    }
    for (field, count) in [
        ("depends_on", task.depends_on.len()),
        ("scope.in", task.scope.inside.len()),
        ("scope.out", task.scope.outside.len()),
        ("owns", task.owns.len()),
    ] {
        too_many(field, count)?;
    }
    if task.depends_on.contains(&task.id) {
        return Err(refusal!(Code::Cycle, "task `{}` depends on itself", task.id)
            .hint(format!("name other tasks with --depends, not `{}`", task.id)));
    }
    Ok(())
}

/// Role, kind, slice kind, timebox and paths go together.
pub fn check_slice(task: &NewTask) -> Result<(), Refusal> {
    let Some(problem) = slice_problems(&task.slice()).into_iter().next() else { return Ok(()) };
    let code = if problem.field == "timebox_minutes" { Code::Limit } else { Code::Slice };
    Err(refusal!(code, "task `{}`, {}: {}", task.id, problem.field, problem.why)
        .hint(problem.hint)
        .detail("task", task.id.as_str())
        .detail("field", problem.field))
}

fn too_many(field: &str, count: usize) -> Result<(), Refusal> {
    if count <= MOST_ITEMS {
        return Ok(());
    }
    Err(refusal!(Code::Limit, "{field} has {count} entries; the limit is {MOST_ITEMS}")
        .detail("field", field))
}

/// Whether these new tasks could be claimable at once.
pub fn check_finalizable(
    board: &Board,
    call: &Call,
    tasks: &[NewTask],
    specs_found: &[TaskId],
) -> Result<(), Refusal> {
    let specs_found: BTreeSet<&TaskId> = specs_found.iter().collect();
    for task in tasks {
        check_complete(
            &task.id,
            &task.done_when,
            task.spec_ref.as_deref(),
            specs_found.contains(&task.id),
            &task.scope,
            task.kind,
        )?;
    }
    check_dependencies(board, call, tasks)
}

/// A board has one work graph: its reports and files go by one name.
fn check_graph_id(board: &Board, graph: &GraphId) -> Result<(), Refusal> {
    match &board.rest.graph_id {
        Some(known) if known != graph => {
            Err(refusal!(Code::Value, "the work graph of this board is `{known}`, not `{graph}`")
                .hint(format!(
                    "give the plan the id `{known}`, or none: its tasks join the graph that is there"
                ))
                .detail("graph_id", known.as_str()))
        }
        _ => Ok(()),
    }
}

/// What these tasks wait for exists, and they do not wait for each other in a circle.
fn check_dependencies(board: &Board, call: &Call, tasks: &[NewTask]) -> Result<(), Refusal> {
    // A cycle through a new task begins with what it depends on.
    if tasks.iter().all(|task| task.depends_on.is_empty()) {
        return Ok(());
    }
    let known: BTreeSet<&TaskId> =
        board.tasks.iter().map(|task| &task.id).chain(tasks.iter().map(|task| &task.id)).collect();
    for task in tasks {
        for dependency in &task.depends_on {
            if !known.contains(dependency) && !call.world.archived.contains_key(dependency) {
                return Err(dependency_missing(&task.id, dependency));
            }
        }
    }
    let graph = Graph::of(&board.tasks).with(tasks.iter().map(|task| (&task.id, task.depends_on.as_slice())));
    no_cycle(&graph.below(tasks.iter().map(|task| &task.id)))
}

pub fn dependency_missing(task: &TaskId, dependency: &TaskId) -> Refusal {
    refusal!(Code::DependencyMissing, "task `{task}` depends on `{dependency}`, which does not exist")
        .hint("add that task first, or put both into one `liza plan` file")
        .detail("task", task.as_str())
        .detail("dependency", dependency.as_str())
}

/// Adds what was checked.
pub fn add(board: &mut Board, call: &Call, tasks: &[NewTask], finalize: bool, pins: &[SpecPin]) {
    if board.rest.goal.status == GoalStatus::Complete {
        board.rest.goal.status = GoalStatus::InProgress;
        board.rest.goal.ended = None;
    }
    let goal = board.goal_of_new_task();
    let scenario = board.route().map(|route| route.ssot_id.clone());
    let pins: BTreeMap<&TaskId, &PinnedSpec> = pins.iter().map(|pin| (&pin.task, &pin.spec)).collect();
    for new in tasks {
        let mut head = Head::new(new.id.clone(), new.role.clone());
        let mut body = Body::new(&new.title, call.by.id(), call.now.wall);
        new.write_into(&mut head, &mut body);
        head.goal.clone_from(&goal);
        body.ssot_id.clone_from(&scenario);
        body.spec = pins.get(&new.id).map(|spec| (*spec).clone());
        body.history.push(entry(call, Event::Created));
        if finalize {
            head.status = Status::Idle;
            body.history.push(entry(call, Event::Finalized).step(Status::Draft, Status::Idle));
        }
        board.tasks.push(Task::new(head, body));
    }
}

/// Lists all missing fields in one refusal, so that the planner can add them in one step.
pub fn check_complete(
    id: &TaskId,
    done_when: &[String],
    spec_ref: Option<&str>,
    spec_found: bool,
    scope: &Scope,
    kind: Kind,
) -> Result<(), Refusal> {
    let mut missing = Vec::new();
    if done_when.is_empty() {
        missing.push("done_when (--done CRITERION)".to_owned());
    }
    match spec_ref {
        None => missing.push("spec_ref (--spec FILE, or --spec goal)".to_owned()),
        Some(spec) if !spec_found => missing.push(format!("the file `{spec}` that spec_ref names")),
        Some(_) => {}
    }
    if scope.inside.is_empty() && kind != Kind::Report {
        missing.push("scope (--in PATH)".to_owned());
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(refusal!(Code::Incomplete, "task `{id}` is not complete: missing {}", missing.join(", "))
        .hint("give what is missing; `liza task edit` gives it to a draft that is there")
        .detail("task", id.as_str())
        .detail("missing", missing))
}

pub fn no_cycle(graph: &Graph) -> Result<(), Refusal> {
    let Some(cycle) = graph.cycle() else { return Ok(()) };
    let mut round: Vec<&str> = cycle.iter().map(TaskId::as_str).collect();
    round.push(round[0]);
    Err(refusal!(Code::Cycle, "the dependencies go round in a circle: {}", round.join(" → "))
        .hint("remove one of these dependencies")
        .detail("cycle", cycle.iter().map(TaskId::as_str).collect::<Vec<_>>()))
}
