//! A plan in the words of a work graph: nodes with inputs, outputs and an owner role, and edges between them.
//!
//! Outputs that are paths become what the task may change and what no other task may change meanwhile. What a finished node
//! would say (a state, an agent, a review) is no part of a plan: liza knows only work it has seen.

use super::{ForeignError, Planned};
use crate::board::fields::record;
use crate::board::paths::PathError;
use crate::board::task::{Kind, Risk, Scope};
use crate::wire::prelude::*;

/// What is in the repository at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    File,
    Directory,
}

/// Titles of tasks are short; the rest is their description.
pub(super) const LONGEST_TITLE: usize = 100;

record! {
    /// A work graph as a planner writes it.
    #[derive(Default)]
    pub struct PlannedGraph {
        #[serde(alias = "graph_id")]
        pub id: Option<GraphId>,
        always pub nodes: Vec<PlannedNode>,
        /// `[A, B]` or `{from: A, to: B}`: B cannot start until A has passed. The same as A among the dependencies of B.
        pub edges: Vec<Edge>,
        /// The spec of every node that names none.
        #[serde(alias = "spec")]
        pub spec_ref: Option<String>,
        /// What holds for every node that does not say it itself.
        #[serde(default)]
        pub defaults: Defaults,
        /// Must be what `run.window` of liza.yaml says, if it is there at all.
        pub max_parallel: Option<u32>,
        #[serde(default)]
        pub config: GraphConfig,
        /// Of a graph that liza wrote; not looked at.
        pub revision: Option<u64>,
        /// The same.
        pub index: Option<String>,
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    #[serde(default, alias = "spec", skip_serializing_if = "Option::is_none")]
    pub spec_ref: Option<String>,
    #[serde(
        default,
        alias = "acceptance_criteria",
        deserialize_with = "crate::board::shapes::criteria",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "crate::board::shapes::Criteria")]
    pub done_when: Vec<String>,
    /// Paths that every node may change beside its outputs, such as `tests/`; no node owns them.
    #[serde(default)]
    pub scope: Scope,
}

record! {
    #[derive(Default)]
    pub struct GraphConfig {
        pub max_parallel: Option<u32>,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Edge {
    Pair(TaskId, TaskId),
    Named(NamedEdge),
}

record! {
    pub struct NamedEdge {
        pub from: TaskId,
        pub to: TaskId,
    }
}

impl Edge {
    fn ends(&self) -> (&TaskId, &TaskId) {
        match self {
            Self::Pair(from, to) | Self::Named(NamedEdge { from, to }) => (from, to),
        }
    }
}

record! {
    /// A node as a planner writes it.
    pub struct PlannedNode {
        pub id: TaskId,
        /// What is to be done; its first line is the title of the task.
        pub description: String,
        #[serde(default)]
        always pub inputs: Vec<String>,
        /// Paths or names of artifacts. A path is what the task may change, and its alone while it is worked on.
        #[serde(default)]
        always pub outputs: Vec<String>,
        #[serde(default, alias = "depends_on")]
        always pub dependencies: Vec<TaskId>,
        /// `Implementer` (a coder) or `Planner`, in any case, or a role of the project.
        #[serde(default = "implementer")]
        pub owner_role: String,
        #[serde(default)]
        always pub tags: Vec<String>,
        /// What its reviewer has to answer.
        #[serde(default, alias = "reviewer_checklist")]
        always pub checklist: Vec<String>,
        /// `pending` or `ready`, if anything.
        pub status: Option<String>,
        /// Not taken over: agents claim.
        pub assigned_to: Option<String>,
        /// Not taken over.
        pub patch_bundle: Option<String>,
        /// Not taken over.
        pub review_result: Option<Value>,
        /// Of a graph that liza wrote; not looked at.
        pub task_status: Option<String>,
        #[serde(alias = "spec")]
        pub spec_ref: Option<String>,
        #[serde(alias = "acceptance_criteria", deserialize_with = "crate::board::shapes::criteria")]
        #[schemars(with = "crate::board::shapes::Criteria")]
        pub done_when: Vec<String>,
        /// Paths it may change beside its outputs.
        #[serde(default)]
        pub scope: Scope,
        #[serde(default)]
        pub priority: i64,
        /// Documentation, if its outputs are nothing else; otherwise code, which has to bring tests.
        pub kind: Option<Kind>,
        #[serde(default)]
        pub risk: Risk,
        /// How many files it will probably change; a plan is checked by it.
        pub expected_files: Option<u32>,
        /// How many lines it will probably change; a plan is checked by it.
        pub expected_lines: Option<u32>,
        /// How many minutes it is given; at most 12 for a coder's work.
        pub timebox_minutes: Option<u32>,
    }
}

fn implementer() -> String {
    "Implementer".to_owned()
}

impl PlannedGraph {
    /// The tasks it stands for.
    pub fn planned(self, standing: &dyn Fn(&str) -> Option<Standing>) -> Result<Planned, ForeignError> {
        let mut remarks = Vec::new();
        let mut tasks = Vec::with_capacity(self.nodes.len());
        for (at, node) in self.nodes.iter().enumerate() {
            let place = format!("nodes[{at}]");
            let mut task = node.task(&place, standing, &mut remarks)?;
            complete(&mut task, &self.defaults, self.spec_ref.as_ref());
            tasks.push(task);
        }
        for (at, edge) in self.edges.iter().enumerate() {
            let (from, to) = edge.ends();
            let Some(task) = tasks.iter_mut().find(|task| &task.id == to) else {
                return Err(wrong(
                    &format!("edges[{at}]"),
                    format!("it leads to `{to}`, which is no node of this graph"),
                ));
            };
            if !task.depends_on.contains(from) {
                task.depends_on.push(from.clone());
            }
        }
        if let (Some(one), Some(other)) = (self.max_parallel, self.config.max_parallel)
            && one != other
        {
            return Err(wrong("config.max_parallel", format!("it is {other}, and max_parallel is {one}")));
        }
        Ok(Planned {
            tasks,
            as_graph: true,
            graph_id: self.id,
            max_parallel: self.max_parallel.or(self.config.max_parallel),
            remarks,
            ..Planned::default()
        })
    }
}

impl PlannedNode {
    fn task(
        &self,
        place: &str,
        standing: &dyn Fn(&str) -> Option<Standing>,
        remarks: &mut Vec<String>,
    ) -> Result<NewTask, ForeignError> {
        self.check_untouched(place, remarks)?;
        let mut owned = Vec::new();
        for (at, output) in self.outputs.iter().enumerate() {
            let paths = paths_of(output, standing).map_err(|why| {
                wrong(
                    &format!("{place}.outputs[{at}]"),
                    format!("{} cannot be a path: {why}", quoted(output)),
                )
            })?;
            extend(&mut owned, &paths);
        }
        let mut scope = self.scope.clone();
        extend(&mut scope.inside, &owned);
        let text = self.description.trim();
        let first = text.lines().next().unwrap_or_default().trim();
        let title = clipped(first, LONGEST_TITLE).into_owned();
        let description = if title == text { String::new() } else { text.to_owned() };
        Ok(NewTask {
            title,
            description,
            spec_ref: self.spec_ref.clone(),
            done_when: self.done_when.clone(),
            scope,
            kind: kind_of(self.kind, &owned),
            owns: owned,
            depends_on: self.dependencies.clone(),
            priority: self.priority,
            risk: self.risk,
            role: self.role(place)?,
            tags: self.tags.clone(),
            checklist: self.checklist.clone(),
            inputs: self.inputs.clone(),
            expected_outputs: self.outputs.clone(),
            expected_files: self.expected_files,
            expected_lines: self.expected_lines,
            timebox_minutes: self.timebox_minutes,
            slice_kind: None,
            workstream: None,
            ..NewTask::blank(self.id.clone())
        })
    }

    /// A plan starts new work. Liza has not seen work that is under way or done elsewhere.
    fn check_untouched(&self, place: &str, remarks: &mut Vec<String>) -> Result<(), ForeignError> {
        match self.status.as_deref().map(str::to_ascii_lowercase).as_deref() {
            None | Some("pending" | "ready") => {}
            Some(other) => {
                return Err(wrong(
                    &format!("{place}.status"),
                    format!(
                        "a new node is `pending` or `ready`, not {}: leave out what is done, and the rest without a state",
                        quoted(other)
                    ),
                ));
            }
        }
        let id = &self.id;
        if let Some(agent) = &self.assigned_to {
            remarks.push(format!(
                "`assigned_to` of {id} ({}) is ignored: agents claim tasks themselves",
                quoted(agent)
            ));
        }
        if self.patch_bundle.is_some() {
            remarks.push(format!("`patch_bundle` of {id} is ignored: a bundle is applied to a task"));
        }
        if self.review_result.is_some() {
            remarks.push(format!("`review_result` of {id} is ignored: the work is reviewed here"));
        }
        Ok(())
    }

    fn role(&self, place: &str) -> Result<Role, ForeignError> {
        let place = format!("{place}.owner_role");
        let role = role_of(&place, &self.owner_role)?;
        if role.judges() {
            return Err(wrong(
                &place,
                format!(
                    "a review is no node of its own: every task is reviewed by another agent before it is merged. Leave \
                     `{}` out, and let what depends on it depend on what it reviews",
                    self.id
                ),
            ));
        }
        Ok(role)
    }
}

/// A role in the words of a work graph, or of the project.
pub(super) fn role_of(place: &str, text: &str) -> Result<Role, ForeignError> {
    let own =
        || Role::new(text).map_err(|why| wrong(place, format!("{} cannot be a role: {why}", quoted(text))));
    Role::of_work_graph(text).map_or_else(own, Ok)
}

/// Documentation, if what it changes is nothing else.
pub(super) fn kind_of(named: Option<Kind>, owned: &[PathPattern]) -> Kind {
    let is_documentation = !owned.is_empty() && owned.iter().all(is_document);
    named.unwrap_or(if is_documentation { Kind::Docs } else { Kind::Code })
}

/// Gives a task what holds for all of the plan and it does not say itself.
pub(super) fn complete(task: &mut NewTask, defaults: &Defaults, spec_ref: Option<&String>) {
    let spec = task.spec_ref.take().or_else(|| defaults.spec_ref.clone());
    task.spec_ref = spec.or_else(|| spec_ref.cloned());
    if task.done_when.is_empty() {
        task.done_when = defaults.done_when.clone();
    }
    // What every node may change belongs to none: one without a path of its own would own it.
    if task.owns.is_empty() {
        task.owns.clone_from(&task.scope.inside);
    }
    if !task.owns.is_empty() {
        extend(&mut task.scope.inside, &defaults.scope.inside);
    }
    extend(&mut task.scope.outside, &defaults.scope.outside);
}

/// The patterns an output stands for: none if it names an artifact.
pub(super) fn paths_of(
    output: &str,
    standing: &dyn Fn(&str) -> Option<Standing>,
) -> Result<Vec<PathPattern>, PathError> {
    let text = output.trim();
    let is_sentence = text.contains(char::is_whitespace) || text.contains("://");
    let bare = text.trim_end_matches('/');
    let found = if is_sentence { None } else { standing(bare) };
    let last = bare.rsplit('/').next().unwrap_or_default();
    let is_pattern = text.contains(['*', '?']);
    if is_sentence || (found.is_none() && !text.contains(['/', '.']) && !is_pattern) {
        return Ok(Vec::new());
    }
    let directory = || PathPattern::new(&format!("{bare}/"));
    match found {
        _ if is_pattern => Ok(vec![PathPattern::new(text)?]),
        Some(Standing::Directory) => Ok(vec![directory()?]),
        _ if text.ends_with('/') => Ok(vec![directory()?]),
        Some(Standing::File) => Ok(vec![PathPattern::new(text)?]),
        None if last.contains('.') => Ok(vec![PathPattern::new(text)?]),
        // It is not there yet, and its name does not tell which of the two it will be.
        None => Ok(vec![PathPattern::new(text)?, directory()?]),
    }
}

pub(super) fn is_document(path: &PathPattern) -> bool {
    [".md", ".rst", ".adoc", ".txt"].iter().any(|ending| path.as_str().ends_with(ending))
}

pub(super) fn extend(all: &mut Vec<PathPattern>, more: &[PathPattern]) {
    for path in more {
        if !all.contains(path) {
            all.push(path.clone());
        }
    }
}

pub(super) fn wrong(place: &str, message: String) -> ForeignError {
    ForeignError { line: None, path: Some(place.to_owned()), message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::plan::read_planned;

    fn standing(path: &str) -> Option<Standing> {
        match path {
            "crates/core" | "docs" => Some(Standing::Directory),
            "Makefile" | "docs/guide.md" => Some(Standing::File),
            _ => None,
        }
    }

    fn read(text: &str) -> Result<Planned, ForeignError> {
        read_planned(text.as_bytes(), &standing)
    }

    #[test]
    fn output_becomes_directory_file_or_pattern() {
        for (output, paths) in [
            ("crates/core", &["crates/core/"][..]),
            ("crates/core/", &["crates/core/"]),
            ("docs", &["docs/"]),
            ("Makefile", &["Makefile"]),
            ("docs/guide.md", &["docs/guide.md"]),
            ("README.md", &["README.md"]),
            ("src/new.rs", &["src/new.rs"]),
            ("crates/new", &["crates/new", "crates/new/"]),
            ("src/*.rs", &["src/*.rs"]),
            ("crates/new/**", &["crates/new/"]),
            ("PB-20260220-001", &[]),
            ("trace-hash", &[]),
            ("all tests are green.", &[]),
            ("https://example.org/x", &[]),
        ] {
            let found = paths_of(output, &standing).expect("no wrong path");
            assert_eq!(found.iter().map(PathPattern::as_str).collect::<Vec<_>>(), paths, "{output}");
        }
        for output in ["../out", "/etc/passwd", ".git/config", ".liza/state.yaml", "a/../../b"] {
            assert!(paths_of(output, &standing).is_err(), "{output}");
        }
    }

    #[test]
    fn a_node_becomes_a_task() {
        let planned = read(
            r#"{"id":"G-001","spec_ref":"specs/vision.md","defaults":{"scope":{"in":["tests/"]}},
                "nodes":[{"id":"WN-001","description":"Add list_set\nIndexed mutation.","inputs":["docs/guide.md"],
                          "outputs":["crates/core","trace-hash"],"dependencies":[],"owner_role":"implementer",
                          "tags":["vm"],"status":"pending","assigned_to":null,"patch_bundle":null,"review_result":null,
                          "done_when":["list_set works"]},
                         {"id":"WN-002","description":"Say so","outputs":["docs/guide.md"],"owner_role":"IMPLEMENTER"}],
                "edges":[["WN-001","WN-002"],{"from":"WN-001","to":"WN-002"}]}"#,
        )
        .expect("a graph");
        assert!(planned.as_graph && planned.remarks.is_empty());
        assert_eq!(planned.graph_id.as_ref().map(GraphId::as_str), Some("G-001"));
        let [first, second] = &planned.tasks[..] else { panic!("{planned:?}") };
        assert_eq!((first.title.as_str(), first.role.as_str()), ("Add list_set", "coder"));
        assert_eq!(first.description, "Add list_set\nIndexed mutation.");
        assert_eq!(first.owns.iter().map(PathPattern::as_str).collect::<Vec<_>>(), ["crates/core/"]);
        let inside: Vec<&str> = first.scope.inside.iter().map(PathPattern::as_str).collect();
        assert_eq!(inside, ["crates/core/", "tests/"]);
        assert_eq!(first.expected_outputs, ["crates/core", "trace-hash"]);
        assert_eq!((first.kind, second.kind), (Kind::Code, Kind::Docs));
        assert_eq!(second.depends_on, std::slice::from_ref(&first.id));
        assert_eq!(second.spec_ref.as_deref(), Some("specs/vision.md"));
        assert_eq!((second.title.as_str(), second.description.as_str()), ("Say so", ""));
    }

    #[test]
    fn invalid_plan_key_is_refused_with_its_path() {
        for (field, place) in [
            (r#""status":"passed""#, "nodes[0].status"),
            (r#""owner_role":"Reviewer""#, "nodes[0].owner_role"),
            (r#""owner_role":"red-team""#, "nodes[0].owner_role"),
            (r#""owner_role":"a b""#, "nodes[0].owner_role"),
            (r#""outputs":["../up"]"#, "nodes[0].outputs[0]"),
        ] {
            let text = format!(r#"{{"nodes":[{{"id":"a","description":"d",{field}}}]}}"#);
            let error = read(&text).expect_err(field);
            assert_eq!(error.path.as_deref(), Some(place), "{error}");
        }
        let error =
            read(r#"{"nodes":[{"id":"a","description":"d"}],"edges":[["a","b"]]}"#).expect_err("edge");
        assert_eq!(error.path.as_deref(), Some("edges[0]"));
        assert!(read(r#"{"nodes":[{"id":"a","description":"d","colour":"red"}]}"#).is_err());
    }

    #[test]
    fn ignored_graph_keys_are_named() {
        let text = r#"{"nodes":[{"id":"a","description":"d","assigned_to":"coder-7","patch_bundle":"x.json",
                       "review_result":{"decision":"approve"}}],"config":{"max_parallel":2}}"#;
        let planned = read(text).expect("a graph");
        assert_eq!(planned.remarks.len(), 3);
        assert!(planned.remarks[0].contains("coder-7"));
        assert_eq!(planned.max_parallel, Some(2));
    }

    #[test]
    fn paths_shared_by_all_nodes_are_owned_by_none() {
        let text = r#"{"defaults":{"scope":{"in":["tests/"]}},"nodes":[
            {"id":"a","description":"d","outputs":["trace-hash"]},
            {"id":"b","description":"d","scope":{"in":["b/"]}},
            {"id":"c","description":"d","outputs":["c/"]}]}"#;
        let planned = read(text).expect("a plan");
        let paths = |paths: &[PathPattern]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
        let seen: Vec<_> =
            planned.tasks.iter().map(|task| (paths(&task.owns), paths(&task.scope.inside))).collect();
        let none: Vec<String> = Vec::new();
        let of = |dir: &str| (vec![dir.to_owned()], vec![dir.to_owned(), "tests/".to_owned()]);
        assert_eq!(seen, [(none.clone(), none), of("b/"), of("c/")]);
    }

    #[test]
    fn bare_list_of_nodes_is_a_graph() {
        let planned = read(r#"[{"id":"WN-001","description":"d","outputs":["x/"]}]"#).expect("a graph");
        assert!(planned.as_graph && planned.tasks[0].title == "d");
        assert!(read(r#"[{"id":"t","title":"T","description":"d"}]"#).is_ok_and(|planned| !planned.as_graph));
    }

    #[test]
    fn contradictions_and_unknown_keys_are_refused() {
        for text in [
            r#"{"nodes":[{"id":"a","description":"d"}],"max_parallel":2,"config":{"max_parallel":3}}"#,
            r#"{"nodes":[{"id":"a","description":"d"},{"id":"b","description":"d"}],"edges":[{"from":"a","to":"b","kind":"x"}]}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
