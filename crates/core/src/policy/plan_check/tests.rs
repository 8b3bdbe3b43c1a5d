use super::*;
use crate::board::slice::SliceKind;
use crate::board::testing::{id, new_task};

struct Scene {
    known: BTreeSet<TaskId>,
    finalize: bool,
    specs: bool,
}

impl Scene {
    fn new() -> Self {
        Self { known: BTreeSet::new(), finalize: true, specs: true }
    }

    fn check(&self, tasks: &[NewTask]) -> Checked {
        let specs: Vec<TaskId> = tasks.iter().filter(|_| self.specs).map(|task| task.id.clone()).collect();
        check(
            tasks,
            &Around {
                known: &self.known,
                board: &Graph::default(),
                specs_found: &specs,
                finalize: self.finalize,
                as_graph: false,
                strict: false,
                ground: &BTreeMap::new(),
            },
        )
    }
}

fn task(name: &str, owns: &str, after: &[&str]) -> NewTask {
    let mut task = new_task(name, owns);
    task.done_when = vec!["`x` prints `1`".to_owned()];
    task.depends_on = after.iter().map(|name| id(name)).collect();
    task
}

fn timed(name: &str, owns: &str, after: &[&str], minutes: u32) -> NewTask {
    NewTask { timebox_minutes: Some(minutes), ..task(name, owns, after) }
}

fn codes(checked: &Checked) -> Vec<(Severity, &'static str)> {
    checked.findings.iter().map(|finding| (finding.severity, finding.code)).collect()
}

#[track_caller]
fn finds(tasks: &[NewTask], expected: &[(Severity, &'static str)]) {
    assert_eq!(codes(&Scene::new().check(tasks)), expected);
}

use Severity::{Advice, Error, Warning};

#[test]
fn good_plan_has_no_findings() {
    finds(&[timed("a", "a/", &[], 8), timed("b", "b/", &["a"], 10)], &[]);
    finds(&[task("alone", "a.rs", &[])], &[]);
}

#[test]
fn large_plan_waits_only_where_paths_meet() {
    let name = |n: usize| format!("t{n}");
    let apart: Vec<NewTask> =
        (0..4_000).map(|n| task(&name(n), &format!("src/part{}/", n / 2), &[])).collect();
    let order = Order::of(&apart);
    assert_eq!(order.waits.len(), 2_000, "each part has two owners");
    assert_eq!(order.groups.len(), 1);
    // All own the same path, and each depends on the one before.
    let chain: Vec<NewTask> = (0..4_000)
        .map(|n| {
            task(
                &name(n),
                "src/",
                &if n == 0 { vec![] } else { vec![name(n - 1)] }
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>(),
            )
        })
        .collect();
    let order = Order::of(&chain);
    assert_eq!((order.waits.len(), order.groups.len()), (0, 4_000));
    assert_eq!(order.critical_path.tasks.len(), 4_000);
}

#[test]
fn cycle_and_missing_dependency_are_named() {
    let tasks = [task("a", "a/", &["b"]), task("b", "b/", &["a"]), task("c", "c/", &["ghost"])];
    let checked = Scene::new().check(&tasks);
    assert_eq!(codes(&checked), [(Error, "cycle"), (Error, "dangling_reference")]);
    let message = &checked.findings[0].message;
    assert!(message.contains("a → b → a"), "{message}");
    assert_eq!(checked.findings[1].task, Some(id("c")));
    // Drafts may be completed later, and a task known to the board is no missing dependency.
    let mut scene = Scene { finalize: false, ..Scene::new() };
    assert!(codes(&scene.check(&tasks)).iter().all(|(severity, _)| *severity == Warning));
    scene.known.insert(id("ghost"));
    assert_eq!(codes(&scene.check(&tasks)), [(Warning, "cycle")]);
}

#[test]
fn everything_a_task_lacks_is_listed_at_once() {
    let mut bare = task("bare", "a/", &[]);
    bare.done_when.clear();
    bare.scope.inside.clear();
    let scene = Scene { specs: false, ..Scene::new() };
    let missing = [(Error, "criteria_missing"), (Error, "spec_missing"), (Error, "scope_missing")];
    assert_eq!(codes(&scene.check(&[bare])), missing);
}

#[test]
fn too_large_task_gets_warnings() {
    let mut large = task("large", "a/", &[]);
    large.expected_files = Some(6);
    large.expected_lines = Some(501);
    large.done_when = (0..6).map(|n| format!("prints {n}")).collect();
    let many = [(Warning, "too_many_files"), (Warning, "too_many_lines"), (Warning, "too_many_criteria")];
    finds(&[large.clone()], &many);
    large.expected_files = Some(5);
    large.expected_lines = Some(500);
    large.done_when.pop();
    finds(&[large], &[]);
}

#[test]
fn timeboxes_have_bands_and_a_coder_a_cap() {
    for (minutes, expected) in [
        (1, &[(Warning, "micro_slice")][..]),
        (3, &[(Advice, "timebox_band")]),
        (4, &[]),
        (12, &[]),
        (13, &[(Error, "timebox_over_cap")]),
    ] {
        finds(&[timed("a", "a/", &[], minutes)], expected);
    }
    let slice = |role: Role, slice_kind, minutes| NewTask {
        role,
        slice_kind: Some(slice_kind),
        ..timed("a", "a/", &[], minutes)
    };
    finds(&[slice(Role::operator(), SliceKind::Probe, 1)], &[(Advice, "timebox_band")]);
    finds(&[slice(Role::operator(), SliceKind::Probe, 6)], &[]);
    finds(&[slice(Role::supervisor(), SliceKind::Work, 11)], &[(Advice, "timebox_band")]);
    finds(&[slice(Role::supervisor(), SliceKind::Merge, 20)], &[]);
    finds(&[slice(Role::supervisor(), SliceKind::Merge, 26)], &[(Advice, "timebox_band")]);
}

#[test]
fn tags_lift_no_cap_of_a_coder() {
    for tag in ["merge", "probe", "planning", "vm"] {
        let tagged = NewTask { tags: vec![tag.to_owned()], ..timed("a", "a/", &[], 13) };
        finds(&[tagged], &[(Error, "timebox_over_cap")]);
    }
}

#[test]
fn split_without_a_reason_is_noted() {
    // The same files, one after the other, nothing long: one task is enough.
    let chain = [task("a", "one.rs", &[]), task("b", "one.rs", &["a"]), task("c", "one.rs", &["b"])];
    finds(&chain, &[(Warning, "same_place")]);
    // A shared directory is weaker evidence, but the split still has no reason.
    let chain = [task("a", "src/", &[]), task("b", "src/", &["a"])];
    let checked = Scene::new().check(&chain);
    assert_eq!(codes(&checked), [(Advice, "split_unjustified")]);
    assert!(!checked.split.justified);
    // Too long for one: fine.
    let long = [timed("a", "one.rs", &[], 8), timed("b", "one.rs", &["a"], 8)];
    let checked = Scene::new().check(&long);
    assert_eq!(codes(&checked), []);
    assert_eq!(checked.split.reasons, ["one agent would need more than 12 minutes"]);
    let apart =
        [task("a", "a/", &[]), NewTask { tags: vec!["blocking_io".to_owned()], ..task("b", "b/", &[]) }];
    assert_eq!(Scene::new().check(&apart).split.reasons.len(), 3);
}

#[test]
fn shared_paths_lengthen_the_critical_path() {
    let tasks = [
        timed("a", "a/", &[], 5),
        timed("b", "b/", &["a"], 6),
        timed("c", "b/c.rs", &["a"], 7),
        timed("d", "d/", &[], 12),
    ];
    let checked = Scene::new().check(&tasks);
    assert_eq!(codes(&checked), [(Advice, "paths_overlap")]);
    assert_eq!(checked.order.groups, [vec![id("a"), id("d")], vec![id("b"), id("c")]]);
    assert_eq!(checked.order.waits[0].tasks, (id("b"), id("c")));
    assert_eq!(
        checked.order.critical_path,
        CriticalPath { tasks: vec![id("a"), id("b"), id("c")], minutes: Some(18) }
    );
    // If a time limit is missing, the number of tasks counts.
    let mut untimed = tasks;
    untimed[3].timebox_minutes = None;
    let path = Scene::new().check(&untimed).order.critical_path;
    assert_eq!((path.tasks.len(), path.minutes), (3, None));
}

#[test]
fn a_test_engineer_may_be_asked_for_tests() {
    let mut tests = task("t", "tests/", &[]);
    tests.title = "Add unit tests for the parser".to_owned();
    finds(&[tests.clone()], &[(Warning, "tests_alone")]);
    tests.role = crate::board::Role::new("test_engineer").expect("a role");
    finds(&[tests], &[]);
}

#[test]
fn vague_criterion_is_quoted_with_its_vague_word() {
    let mut vague = task("v", "a/", &[]);
    vague.done_when = vec!["errors are handled properly".to_owned(), "`x` exits 2".to_owned()];
    let checked = Scene::new().check(&[vague]);
    assert_eq!(codes(&checked), [(Warning, "vague_criterion")]);
    assert!(checked.findings[0].message.contains("`properly`"), "{}", checked.findings[0].message);
}

#[test]
fn tasks_owning_the_same_directory_are_serial() {
    let tasks: Vec<NewTask> =
        (0..300).map(|n| task(&format!("t{n}"), "src/", &if n == 0 { vec![] } else { vec!["t0"] })).collect();
    let checked = Scene::new().check(&tasks);
    assert_eq!(checked.order.waits.len(), 299 * 298 / 2);
    assert_eq!(checked.order.critical_path.tasks.len(), 300);
}
