//! Golden files of every help example: each is typed into a shell as it is, and again with `--json`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::record::{Extent, Played, with_normaliser};
use super::{Files, check};
use crate::help_examples::{SCENES, Scene, Stage, examples_of, visible};
use crate::shells::shell;
use crate::support::HUMAN;

/// Examples whose output depends on scheduling or on the current second: how much of it is recorded, and why
/// not all.
const REDUCED: [(&str, Extent, &str); 5] = [
    (
        "liza redteam",
        Extent::Reduced,
        "attacks end side by side; sorted lines without figures, keys of the answer",
    ),
    ("liza demo", Extent::Shown, "agents work side by side; only what it says it has shown"),
    (
        "liza run",
        Extent::Reduced,
        "agents work side by side; sorted lines without figures, keys of the last answer",
    ),
    (
        "liza overseer halt",
        Extent::Reduced,
        "the agent is at work; lines without figures, keys of the answer",
    ),
    (
        "liza agent heartbeat",
        Extent::Reduced,
        "in the second of the last one it changes nothing; keys of the answer",
    ),
];
/// Too slow to run twice, and its own format is not JSON.
const TEXT_ONLY: [&str; 2] = ["liza demo", "liza metrics --csv"];
/// Scenes whose processes still run.
const LIVE_SCENES: [&str; 1] = ["agent_running"];
/// How long a scene can be used: liza's output about its agents changes a minute after their last command.
const FRESH: Duration = Duration::from_secs(20);
/// Some examples wait, so there are more threads than cores.
const THREADS: usize = 4;

/// An example, and the command whose golden file contains it.
struct Example {
    command: String,
    line: String,
    /// Whether the same with `--json` is also an example.
    has_json_twin: bool,
}

impl Example {
    /// The command lines to run for it.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.line.clone()];
        if self.is_one_command() && !self.takes_no_json() && !self.has_json_twin {
            lines.push(format!("{} --json", self.line));
        }
        lines
    }

    fn takes_no_json(&self) -> bool {
        self.line.ends_with(" --json") || TEXT_ONLY.iter().any(|start| self.line.starts_with(start))
    }

    /// No pipe, redirection or command for `eval`.
    fn is_one_command(&self) -> bool {
        self.line.starts_with("liza ") && !self.line.contains(['|', '>', ';', '&'])
    }

    fn reduced(&self) -> Option<&(&str, Extent, &str)> {
        REDUCED.iter().find(|(start, ..)| self.line.starts_with(start))
    }

    fn extent(&self) -> Extent {
        self.reduced().map_or(Extent::Whole, |(_, extent, _)| *extent)
    }

    fn scene(&self) -> &'static Scene {
        let fitting = SCENES.iter().filter(|scene| self.line.contains(scene.start));
        let longest = fitting.max_by_key(|scene| scene.start.len());
        longest.unwrap_or_else(|| panic!("no scene is set for: {}", self.line))
    }

    fn header(&self) -> String {
        let reduced = self.reduced().map_or(String::new(), |(.., why)| format!("# reduced: {why}\n"));
        format!("# scene: {}\n{reduced}", self.scene().name)
    }
}

/// Every example once, with the full name of its command.
fn examples() -> Vec<Example> {
    let (mut names, mut lines) = (Vec::new(), Vec::new());
    visible(&liza::cli::command_line(), "liza", &mut |name, command| {
        names.push(name.to_owned());
        for line in examples_of(command) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    });
    let examples = lines.iter().map(|line| {
        let own = names.iter().filter(|name| line.contains(name.as_str())).max_by_key(|name| name.len());
        Example {
            command: own.cloned().unwrap_or_default(),
            line: line.clone(),
            has_json_twin: lines.contains(&format!("{line} --json")),
        }
    });
    examples.collect()
}

/// A prepared scene, and a copy of its files to start again from.
struct Set {
    stage: Stage,
    /// None while processes still run: a copy of the files would not be the same scene.
    copy: Option<tempfile::TempDir>,
    since: Instant,
    used: bool,
}

impl Set {
    fn new(group: &Group) -> Self {
        let stage = (group.set)();
        let home = stage.world.home();
        let copy = (!LIVE_SCENES.contains(&group.scene)).then(|| {
            let copy = tempfile::tempdir_in(home.parent().expect("a parent")).expect("a temporary directory");
            let script = format!("cp -a '{}' '{}/home'", home.display(), copy.path().display());
            shell(&stage.world, &HUMAN, copy.path(), &script).ok();
            copy
        });
        Self { stage, copy, since: Instant::now(), used: false }
    }

    /// The prepared scene: the same one, restored from its copy, or another one.
    fn again(mut self, group: &Group) -> Self {
        match &self.copy {
            _ if !self.used => {}
            Some(copy) if self.since.elapsed() < FRESH => {
                let home = self.stage.world.home().display();
                let script = format!("rm -rf '{home}' && cp -a '{}/home' '{home}'", copy.path().display());
                shell(&self.stage.world, &HUMAN, copy.path(), &script).ok();
            }
            _ => self = Self::new(group),
        }
        self.used = true;
        self
    }
}

/// The examples of one scene.
struct Group<'e> {
    scene: &'static str,
    set: fn() -> Stage,
    examples: Vec<&'e Example>,
}

/// The examples by scene, scenes with most examples first, so that no thread runs alone at the end.
fn groups(examples: &[Example]) -> VecDeque<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for example in examples {
        let scene = example.scene();
        match groups.iter_mut().find(|group| group.scene == scene.name) {
            Some(group) => group.examples.push(example),
            None => groups.push(Group { scene: scene.name, set: scene.set, examples: vec![example] }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.examples.len()));
    groups.into()
}

/// What each example printed in its prepared scene, or how it failed.
fn play(group: &Group) -> Vec<Result<String, String>> {
    let mut set = Set::new(group);
    let mut recorded = Vec::new();
    for example in &group.examples {
        let mut outcome = Ok(example.header());
        for line in example.lines() {
            set = set.again(group);
            let stage = &set.stage;
            let who = stage.who(example.scene().me);
            let ran = shell(&stage.world, who, &stage.world.root, &line);
            let failure = format!("{line}\nexit {}\n{}{}", ran.exit, ran.stdout, ran.stderr);
            let works = ran.exit == 0;
            let played = Played::new(who, &line, ran);
            let record =
                with_normaliser(&stage.world, |normaliser| played.record(normaliser, example.extent()));
            outcome = outcome.and_then(|text| if works { Ok(text + &record) } else { Err(failure) });
        }
        recorded.push(outcome);
    }
    recorded
}

/// What every example printed, by command line.
fn play_all(examples: &[Example]) -> BTreeMap<&str, Result<String, String>> {
    let queue = Mutex::new(groups(examples));
    let recorded = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let Some(group) = queue.lock().expect("the queue").pop_front() else { return };
                    let outcomes = play(&group);
                    let lines = group.examples.iter().map(|example| example.line.as_str());
                    recorded.lock().expect("the records").extend(lines.zip(outcomes));
                }
            });
        }
    });
    recorded.into_inner().expect("the records")
}

#[test]
fn every_example_works() {
    let examples = examples();
    assert!(examples.len() > 45, "only {} examples", examples.len());
    let unused: Vec<&str> = SCENES
        .iter()
        .map(|scene| scene.start)
        .filter(|start| !examples.iter().any(|example| example.line.contains(start)))
        .collect();
    assert!(unused.is_empty(), "no example begins with {unused:?}");
    let recorded = play_all(&examples);
    let failures: Vec<&str> =
        recorded.values().filter_map(|outcome| outcome.as_ref().err()).map(String::as_str).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    let mut files = Files::new();
    for example in &examples {
        let file = files.entry(format!("{}.txt", example.command.replace(' ', "-"))).or_default();
        if !file.is_empty() {
            file.push('\n');
        }
        file.extend(recorded[example.line.as_str()].as_deref());
    }
    check("examples", &files);
}
