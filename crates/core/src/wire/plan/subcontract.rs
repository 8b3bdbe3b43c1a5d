//! A plan in the words of a decomposition: subcontracts with a parent, acceptance criteria, and inputs and outputs by name.
//!
//! Every task is reviewed anyway, so a subcontract for a reviewer becomes no task: its criteria are asked of the reviewer of what it
//! was to review, and what waited for it waits for that.

use super::work_graph::{Defaults, Standing, complete, extend, kind_of, paths_of, role_of, wrong};
use super::{ForeignError, Planned};
use crate::board::fields::record;
use crate::board::task::{Kind, Risk, Scope};
use crate::wire::prelude::*;

/// Keys that only a subcontract has.
const OWN_KEYS: [&str; 6] =
    ["assigned_role", "parent_id", "blocks", "execution_mode", "assigned_agent_id", "actual_outputs"];
/// Expected outputs under these names are paths that the task may change, and its alone while it is worked on.
const FILE_KEYS: [&str; 5] = ["files", "files_created", "files_modified", "tests", "tests_passing"];

record! {
    /// A decomposition as a project manager plans it.
    pub struct PlannedSubcontracts {
        #[serde(alias = "graph_id")]
        pub id: Option<GraphId>,
        /// One of the subcontracts.
        pub root_id: Option<TaskId>,
        always pub subcontracts: Vec<Subcontract>,
        /// The spec of every subcontract that names none.
        #[serde(alias = "spec")]
        pub spec_ref: Option<String>,
        /// What holds for every subcontract that does not say it itself.
        #[serde(default)]
        pub defaults: Defaults,
        pub max_parallel: Option<u32>,
    }

    /// A unit of work for one agent in one session.
    pub struct Subcontract {
        pub id: TaskId,
        /// The subcontract or task it was split from.
        #[serde(alias = "parent")]
        pub parent_id: Option<TaskId>,
        /// Becomes the tag `feature-ID`.
        pub feature_id: Option<Value>,
        /// `scaffolder` (a coder), `test_engineer`, `project_manager` (the planner), or a role of the project. A `reviewer` has no
        /// task of its own.
        #[serde(default = "scaffolder", alias = "role", alias = "owner_role")]
        pub assigned_role: String,
        /// Not taken over: agents claim.
        pub assigned_agent_id: Option<String>,
        #[serde(default)]
        pub title: String,
        #[serde(default)]
        pub description: String,
        #[serde(alias = "done_when")]
        pub acceptance_criteria: Vec<String>,
        #[serde(alias = "dependencies")]
        pub depends_on: Vec<TaskId>,
        /// Subcontracts that wait for this one.
        pub blocks: Vec<TaskId>,
        /// Values by name, or a list. `dependencies` are tasks it waits for, `spec` is its spec if there is such a file.
        pub inputs: Option<Value>,
        /// Values by name, or a list. `files_created`, `files_modified` and `tests_passing` are paths it may change.
        #[serde(alias = "outputs")]
        pub expected_outputs: Option<Value>,
        /// Not taken over.
        pub actual_outputs: Option<Value>,
        /// `pending`, if anything.
        pub status: Option<String>,
        /// `sequential`: the subcontracts split from this one are done one after the other, in their order here.
        pub execution_mode: Option<String>,
        #[serde(default)]
        pub priority: i64,
        /// Not looked at; nor are the next five.
        pub created_at: Option<Value>,
        pub started_at: Option<Value>,
        pub completed_at: Option<Value>,
        pub iterations: Option<Value>,
        pub tokens_used: Option<Value>,
        pub error: Option<Value>,
        #[serde(alias = "spec")]
        pub spec_ref: Option<String>,
        /// Paths it may change beside its outputs.
        #[serde(default)]
        pub scope: Scope,
        /// What its reviewer has to answer.
        #[serde(alias = "reviewer_checklist")]
        pub checklist: Vec<String>,
        /// Documentation, if its outputs are nothing else; otherwise code, which has to bring tests.
        pub kind: Option<Kind>,
        #[serde(default)]
        pub risk: Risk,
        pub tags: Vec<String>,
        pub expected_files: Option<u32>,
        pub expected_lines: Option<u32>,
        pub timebox_minutes: Option<u32>,
    }
}

fn scaffolder() -> String {
    "scaffolder".to_owned()
}

/// The same plan as `{subcontracts: […]}`, if it is one of subcontracts: a tree, a list, or a single one.
pub(super) fn as_list(value: &Value) -> Option<Value> {
    let is_one = |value: &Value| {
        let by_name = |key: &str| value.get(key).is_some_and(Value::is_object);
        OWN_KEYS.iter().any(|key| value.get(key).is_some())
            || by_name("inputs")
            || by_name("expected_outputs")
    };
    match value.get("subcontracts") {
        // A tree holds them by their ids.
        Some(Value::Object(by_id)) => {
            let mut whole = value.clone();
            whole["subcontracts"] = by_id.values().cloned().collect();
            return Some(whole);
        }
        Some(_) => return Some(value.clone()),
        None => {}
    }
    let listed = value.as_array().or_else(|| value.get("tasks").and_then(Value::as_array));
    match listed {
        Some(all) if all.iter().any(is_one) => {
            let mut whole = if value.is_object() { value.clone() } else { json!({}) };
            if let Some(keys) = whole.as_object_mut() {
                keys.remove("tasks");
            }
            whole["subcontracts"] = Value::Array(all.clone());
            Some(whole)
        }
        None if is_one(value) => Some(json!({ "subcontracts": [value] })),
        _ => None,
    }
}

impl PlannedSubcontracts {
    /// The tasks they stand for.
    pub(super) fn planned(
        mut self,
        standing: &dyn Fn(&str) -> Option<Standing>,
    ) -> Result<Planned, ForeignError> {
        if let Some(root) =
            self.root_id.as_ref().filter(|root| !self.subcontracts.iter().any(|one| one.id == **root))
        {
            return Err(wrong("root_id", format!("`{root}` is no subcontract of this plan")));
        }
        let mut remarks = Vec::new();
        for (at, one) in self.subcontracts.iter_mut().enumerate() {
            one.check_untouched(&format!("subcontracts[{at}]"), &mut remarks)?;
            one.take_dependencies(&format!("subcontracts[{at}]"))?;
        }
        self.order_blocked()?;
        self.order_children()?;
        let (reviews, work): (Vec<_>, Vec<_>) = std::mem::take(&mut self.subcontracts)
            .into_iter()
            .enumerate()
            .partition(|(_, one)| one.is_review());
        let reviews: Vec<Subcontract> = reviews.into_iter().map(|(_, review)| review).collect();
        let mut tasks = Vec::with_capacity(work.len());
        for (at, one) in &work {
            let mut task = one.task(&format!("subcontracts[{at}]"), standing)?;
            complete(&mut task, &self.defaults, self.spec_ref.as_ref());
            task.depends_on = reviewed(&task.depends_on, &reviews);
            task.parent = task.parent.and_then(|parent| beyond_reviews(parent, &reviews));
            tasks.push(task);
        }
        for review in &reviews {
            remarks.push(review.ask_in(&mut tasks, &reviews));
        }
        Ok(Planned {
            tasks,
            as_graph: true,
            graph_id: self.id,
            max_parallel: self.max_parallel,
            remarks,
            ..Planned::default()
        })
    }

    /// What one of them blocks waits for it.
    fn order_blocked(&mut self) -> Result<(), ForeignError> {
        for at in 0..self.subcontracts.len() {
            let (id, blocks) = (self.subcontracts[at].id.clone(), self.subcontracts[at].blocks.clone());
            for (number, blocked) in blocks.iter().enumerate() {
                let Some(other) = self.subcontracts.iter_mut().find(|one| &one.id == blocked) else {
                    return Err(wrong(
                        &format!("subcontracts[{at}].blocks[{number}]"),
                        format!("`{id}` blocks `{blocked}`, which is no subcontract of this plan"),
                    ));
                };
                other.wait_for(&id);
            }
        }
        Ok(())
    }

    /// The children of a sequential one are done in their order, unless what they wait for says otherwise.
    fn order_children(&mut self) -> Result<(), ForeignError> {
        let mut places: BTreeMap<TaskId, usize> = BTreeMap::new();
        for (at, one) in self.subcontracts.iter().enumerate() {
            places.entry(one.id.clone()).or_insert(at);
        }
        for at in 0..self.subcontracts.len() {
            let place = format!("subcontracts[{at}].execution_mode");
            match self.subcontracts[at].execution_mode.as_deref().map(str::to_ascii_lowercase).as_deref() {
                None | Some("parallel") => continue,
                Some("sequential") => {}
                Some(other) => {
                    return Err(wrong(
                        &place,
                        format!("{} is neither `sequential` nor `parallel`", quoted(other)),
                    ));
                }
            }
            let parent = self.subcontracts[at].id.clone();
            let children: Vec<TaskId> = self
                .subcontracts
                .iter()
                .filter(|one| one.parent_id.as_ref() == Some(&parent))
                .map(|one| one.id.clone())
                .collect();
            for pair in children.windows(2) {
                if !self.waits_for(&pair[0], &pair[1], &places)
                    && let Some(later) = places.get(&pair[1])
                {
                    self.subcontracts[*later].wait_for(&pair[0]);
                }
            }
        }
        Ok(())
    }

    fn waits_for(&self, one: &TaskId, other: &TaskId, places: &BTreeMap<TaskId, usize>) -> bool {
        let mut open = vec![one];
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop().filter(|id| *id != other) {
            if seen.insert(id)
                && let Some(found) = places.get(id)
            {
                open.extend(&self.subcontracts[*found].depends_on);
            }
            if open.is_empty() {
                return false;
            }
        }
        true
    }
}

impl Subcontract {
    fn is_review(&self) -> bool {
        role_of("", &self.assigned_role).is_ok_and(|role| role.judges())
    }

    fn wait_for(&mut self, id: &TaskId) {
        if !self.depends_on.contains(id) {
            self.depends_on.push(id.clone());
        }
    }

    /// A plan begins work: what was done elsewhere was not seen here.
    fn check_untouched(&self, place: &str, remarks: &mut Vec<String>) -> Result<(), ForeignError> {
        if let Some(status) = self.status.as_deref().filter(|status| !status.eq_ignore_ascii_case("pending"))
        {
            return Err(wrong(
                &format!("{place}.status"),
                format!(
                    "a new subcontract is `pending`, not {}: leave out what is done, and the rest without a state",
                    quoted(status)
                ),
            ));
        }
        let id = &self.id;
        if let Some(agent) = &self.assigned_agent_id {
            remarks.push(format!(
                "`assigned_agent_id` of {id} ({}) is ignored: agents claim tasks",
                quoted(agent)
            ));
        }
        if !named(self.actual_outputs.as_ref()).is_empty() {
            remarks.push(format!("`actual_outputs` of {id} is ignored: liza reads them from what is merged"));
        }
        Ok(())
    }

    /// `inputs.dependencies` are tasks it waits for, like `depends_on`.
    fn take_dependencies(&mut self, place: &str) -> Result<(), ForeignError> {
        for (key, text) in named(self.inputs.as_ref()) {
            if key.as_deref() == Some("dependencies") {
                let id = TaskId::new(&text).map_err(|why| {
                    wrong(&format!("{place}.inputs.dependencies"), format!("{}: {why}", quoted(&text)))
                })?;
                self.wait_for(&id);
            }
        }
        Ok(())
    }

    fn task(
        &self,
        place: &str,
        standing: &dyn Fn(&str) -> Option<Standing>,
    ) -> Result<NewTask, ForeignError> {
        let is_file = |text: &str| standing(text.split('#').next().unwrap_or(text)) == Some(Standing::File);
        let mut spec_ref = self.spec_ref.clone();
        let mut inputs = Vec::new();
        for (key, text) in named(self.inputs.as_ref()) {
            match key.as_deref() {
                Some("dependencies") => {}
                Some("spec") if spec_ref.is_none() && is_file(&text) => spec_ref = Some(text),
                Some(key) if standing(&text).is_none() => inputs.push(format!("{key}: {text}")),
                _ => inputs.push(text),
            }
        }
        let mut owned = Vec::new();
        let mut outputs = Vec::new();
        for (key, text) in named(self.expected_outputs.as_ref()) {
            let is_path = key.as_ref().is_none_or(|key| FILE_KEYS.contains(&key.as_str()));
            if is_path {
                // Of a test, the file it is in.
                let path = text.split("::").next().unwrap_or(&text);
                let found = paths_of(path, standing).map_err(|why| {
                    wrong(
                        &format!("{place}.expected_outputs"),
                        format!("{} cannot be a path: {why}", quoted(&text)),
                    )
                })?;
                extend(&mut owned, &found);
                outputs.push(text);
            } else {
                outputs.push(format!("{}: {text}", key.unwrap_or_default()));
            }
        }
        let mut scope = self.scope.clone();
        extend(&mut scope.inside, &owned);
        let first = self.description.trim().lines().next().unwrap_or_default().trim();
        let title = [self.title.trim(), first, self.id.as_str()].into_iter().find(|text| !text.is_empty());
        let mut tags = self.tags.clone();
        tags.extend(
            self.feature_id.as_ref().filter(|id| !id.is_null()).map(|id| format!("feature-{}", text_of(id))),
        );
        Ok(NewTask {
            title: clipped(title.unwrap_or_default(), super::work_graph::LONGEST_TITLE).into_owned(),
            description: self.description.trim().to_owned(),
            spec_ref,
            done_when: self.acceptance_criteria.clone(),
            scope,
            kind: kind_of(self.kind, &owned),
            owns: owned,
            depends_on: self.depends_on.clone(),
            priority: self.priority,
            risk: self.risk,
            role: role_of(&format!("{place}.assigned_role"), &self.assigned_role)?,
            parent: self.parent_id.clone(),
            tags,
            checklist: self.checklist.clone(),
            inputs,
            expected_outputs: outputs,
            expected_files: self.expected_files,
            expected_lines: self.expected_lines,
            timebox_minutes: self.timebox_minutes,
            slice_kind: None,
            workstream: None,
            ..NewTask::blank(self.id.clone())
        })
    }

    /// Lets the reviewers of what this one was to review answer its criteria. Says what became of it.
    fn ask_in(&self, tasks: &mut [NewTask], reviews: &[Subcontract]) -> String {
        let mut of = reviewed(&self.depends_on, reviews);
        if of.is_empty() {
            of.extend(self.parent_id.clone().and_then(|parent| beyond_reviews(parent, reviews)));
        }
        let mut asked = Vec::new();
        for task in tasks.iter_mut().filter(|task| of.contains(&task.id)) {
            for criterion in &self.acceptance_criteria {
                if !task.checklist.contains(criterion) {
                    task.checklist.push(criterion.clone());
                }
            }
            asked.push(task.id.to_string());
        }
        let where_asked = match (asked.is_empty(), self.acceptance_criteria.is_empty()) {
            (_, true) => String::new(),
            (true, false) => {
                "; it names nothing to review, so its criteria are not asked of any reviewer".to_owned()
            }
            (false, false) => format!("; its criteria are on the checklist of {}", asked.join(", ")),
        };
        format!(
            "{} is a review and becomes no task: liza has every task reviewed before it is merged{where_asked}",
            self.id
        )
    }
}

/// These ids, each review by what it reviews.
fn reviewed(ids: &[TaskId], reviews: &[Subcontract]) -> Vec<TaskId> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open: Vec<&TaskId> = ids.iter().rev().collect();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        match reviews.iter().find(|review| &review.id == id) {
            Some(review) => open.extend(review.depends_on.iter().rev()),
            None => found.push(id.clone()),
        }
    }
    found
}

/// The nearest of it and its parents that is no review.
fn beyond_reviews(id: TaskId, reviews: &[Subcontract]) -> Option<TaskId> {
    let mut id = Some(id);
    for _ in 0..=reviews.len() {
        match reviews.iter().find(|review| Some(&review.id) == id.as_ref()) {
            Some(review) => id = review.parent_id.clone(),
            None => return id,
        }
    }
    None
}

/// Values by name, a list of them one by one; without a name, if it is a list.
fn named(value: Option<&Value>) -> Vec<(Option<String>, String)> {
    let texts = |value: &Value| -> Vec<String> {
        match value {
            Value::Null => Vec::new(),
            Value::Array(all) => all.iter().filter(|one| !one.is_null()).map(text_of).collect(),
            one => vec![text_of(one)],
        }
    };
    match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(by_name)) => {
            let each = by_name.iter();
            each.flat_map(|(key, value)| texts(value).into_iter().map(|text| (Some(key.clone()), text)))
                .collect()
        }
        Some(other) => texts(other).into_iter().map(|text| (None, text)).collect(),
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::plan::read_planned;

    fn read(text: &str) -> Result<Planned, ForeignError> {
        let standing = |path: &str| (path == "specs/auth.md").then_some(Standing::File);
        read_planned(text.as_bytes(), &standing)
    }

    fn ids(tasks: &[TaskId]) -> Vec<&str> {
        tasks.iter().map(TaskId::as_str).collect()
    }

    /// The example of the document, with a test and a review beside it.
    const TREE: &str = r#"{"root_id":"SC-000","subcontracts":{
        "SC-000":{"id":"SC-000","parent_id":null,"assigned_role":"project_manager","title":"Authentication","execution_mode":"sequential",
                  "expected_outputs":{"files_created":["docs/auth.md"]},"acceptance_criteria":["docs/auth.md lists the routes"]},
        "SC-001":{"id":"SC-001","parent_id":"SC-000","feature_id":7,"assigned_role":"scaffolder",
                  "title":"Implement user authentication module",
                  "description":"Create auth.py with login, logout, session management",
                  "inputs":{"spec":"specs/auth.md","dependencies":["SC-000"],"framework":"flask"},
                  "expected_outputs":{"files_created":["src/auth.py"],"tests_passing":["tests/test_auth.py::test_login"],"coverage":80},
                  "acceptance_criteria":["All tests in test_auth.py pass"],"blocks":["SC-009"],
                  "assigned_agent_id":null,"actual_outputs":{},"status":"pending","execution_mode":"sequential","priority":3,
                  "created_at":"2026-01-01T00:00:00","started_at":null,"completed_at":null,"iterations":0,"tokens_used":0,"error":null},
        "SC-002":{"id":"SC-002","parent_id":"SC-000","assigned_role":"test_engineer","title":"Negative tests","depends_on":["SC-003"],
                  "expected_outputs":{"files_created":["tests/test_auth_errors.py"]},"acceptance_criteria":["80 % of the lines"]},
        "SC-003":{"id":"SC-003","assigned_role":"reviewer","title":"Review","depends_on":["SC-001"],
                  "acceptance_criteria":["No secret is logged"]},
        "SC-009":{"id":"SC-009","assigned_role":"scaffolder","description":"Routes","expected_outputs":["src/routes.py"]}}}"#;

    #[test]
    fn document_subcontracts_become_tasks() {
        let planned = read(TREE).expect("a plan");
        assert!(planned.as_graph);
        let names: Vec<&str> = planned.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(names, ["SC-000", "SC-001", "SC-002", "SC-009"]);
        let [root, auth, tests, routes] = &planned.tasks[..] else { panic!("{planned:?}") };
        assert_eq!((root.role.as_str(), root.kind), ("planner", Kind::Docs));
        assert_eq!((auth.role.as_str(), auth.priority), ("coder", 3));
        assert_eq!(auth.parent.as_ref(), Some(&root.id));
        assert_eq!(auth.spec_ref.as_deref(), Some("specs/auth.md"));
        assert_eq!(auth.inputs, ["framework: flask"]);
        assert_eq!(auth.expected_outputs, ["src/auth.py", "tests/test_auth.py::test_login", "coverage: 80"]);
        let owned: Vec<&str> = auth.owns.iter().map(PathPattern::as_str).collect();
        assert_eq!(owned, ["src/auth.py", "tests/test_auth.py"]);
        assert_eq!(auth.tags, ["feature-7"]);
        assert_eq!(ids(&auth.depends_on), ["SC-000"]);
        assert_eq!(tests.role.as_str(), "test_engineer");
        // It waited for a review of SC-001, and comes after it in a sequential parent anyway.
        assert_eq!(ids(&tests.depends_on), ["SC-001"]);
        assert_eq!((routes.title.as_str(), ids(&routes.depends_on)), ("Routes", vec!["SC-001"]));
        assert_eq!(auth.checklist, ["No secret is logged"]);
        assert!(
            planned.remarks.iter().any(|line| line.contains("SC-003 is a review")),
            "{:?}",
            planned.remarks
        );
    }

    #[test]
    fn single_subcontract_and_bare_list_are_read() {
        let one = r#"{"id":"SC-1","assigned_role":"scaffolder","title":"T","inputs":{"a":["b","c"]}}"#;
        assert_eq!(read(one).expect("one").tasks[0].inputs, ["a: b", "a: c"]);
        let listed = read(&format!("[{one}]")).expect("a list");
        assert_eq!(listed.tasks.len(), 1);
        let tasks = read(&format!(r#"{{"tasks":[{one}]}}"#)).expect("tasks");
        assert!(tasks.as_graph && tasks.tasks.len() == 1);
    }

    #[test]
    fn wrong_subcontract_is_refused_at_its_place() {
        for (field, place) in [
            (r#""status":"complete""#, "subcontracts[0].status"),
            (r#""blocks":["ghost"]"#, "subcontracts[0].blocks[0]"),
            (r#""execution_mode":"random""#, "subcontracts[0].execution_mode"),
            (r#""assigned_role":"a b""#, "subcontracts[0].assigned_role"),
            (r#""expected_outputs":{"files_created":["../up"]}"#, "subcontracts[0].expected_outputs"),
            (r#""inputs":{"dependencies":["a b"]}"#, "subcontracts[0].inputs.dependencies"),
        ] {
            let error = read(&format!(r#"{{"subcontracts":[{{"id":"a",{field}}}]}}"#)).expect_err(field);
            assert_eq!(error.path.as_deref(), Some(place), "{error}");
        }
        let error = read(r#"{"root_id":"b","subcontracts":[{"id":"a"}]}"#).expect_err("root");
        assert_eq!(error.path.as_deref(), Some("root_id"));
        assert!(read(r#"{"subcontracts":[{"id":"a","colour":"red"}]}"#).is_err());
    }
}
