//! Golden files of one long tour: what people, a planner, coders and a reviewer type in one repository, from an empty
//! board to archived tasks. A second repository gets the same commands with `--json`.

use std::path::PathBuf;

use super::record::{Extent, Played, with_normaliser};
use super::{Files, check};
use crate::shells::shell;
use crate::support::{HUMAN, Who, World};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
}

/// A chapter is one golden file.
struct Chapter {
    name: &'static str,
    played: Vec<Played>,
}

struct Tour {
    world: World,
    form: Form,
    chapters: Vec<Chapter>,
}

impl Tour {
    fn chapter(&mut self, name: &'static str) {
        self.chapters.push(Chapter { name, played: Vec::new() });
    }

    /// Types a command, which must end with this exit code.
    #[track_caller]
    fn exits(&mut self, code: i32, who: &str, command: &str) {
        let who = self.who(who);
        let line = match self.form {
            Form::Text => format!("liza {command}"),
            Form::Json => format!("liza {command} --json"),
        };
        let ran = shell(&self.world, &who, &self.world.root, &line);
        assert_eq!(ran.exit, code, "{line}\nstdout: {}\nstderr: {}", ran.stdout, ran.stderr);
        self.chapters.last_mut().expect("a chapter").played.push(Played::new(&who, &line, ran));
    }

    #[track_caller]
    fn types(&mut self, who: &str, command: &str) {
        self.exits(0, who, command);
    }

    fn who(&self, name: &str) -> Who {
        if name == "human" {
            return HUMAN;
        }
        let token = self.world.read(&format!(".liza/tokens/{name}"));
        Who { id: Some(name.to_owned()), token: Some(token.trim().to_owned()) }
    }

    fn worktree(&self, task: &str) -> PathBuf {
        self.world.path(&format!(".worktrees/{task}"))
    }

    #[track_caller]
    fn checkpoints(&mut self, who: &str, task: &str, file: &str) {
        self.types(
            who,
            &format!(
                "task checkpoint {task} --intent \"{file} does what the spec says\" --risks \"none, a small file\" \
                 --validate \"sh tests/test_{task}.sh\" --expect ok --file {file} --file tests/test_{task}.sh"
            ),
        );
    }

    /// Claim, checkpoint, commit and submit of a task without obstacles.
    #[track_caller]
    fn submits(&mut self, who: &str, task: &str, file: &str, text: &str) {
        self.types(who, &format!("task claim {task}"));
        self.checkpoints(who, task, file);
        let test = format!("tests/test_{task}.sh");
        self.world.write_and_commit(&self.worktree(task), &[(file, text), (&test, "echo ok\n")]);
        self.types(who, &format!("task submit {task}"));
    }

    #[track_caller]
    fn approves(&mut self, who: &str, task: &str, branch: &str) {
        self.types(who, &format!("review claim {task}"));
        let commit = format!("\"$(git rev-parse {branch})\"");
        self.types(
            who,
            &format!("review approve {task} --commit {commit} --summary \"does what the spec says\""),
        );
    }
}

const PLAN: &str = "\
tasks:
  - id: greet
    title: Greet by name
    spec_ref: specs/vision.md
    done_when: [\"`sh greet.sh Ada` prints Hello, Ada\"]
    scope: { in: [greet.sh, tests/test_greet.sh] }
    priority: 2
  - id: bye
    title: Say goodbye
    spec_ref: specs/vision.md
    done_when: [\"`sh bye.sh` prints Goodbye\"]
    scope: { in: [bye.sh, tests/test_bye.sh] }
    depends_on: [greet]
  - id: loud
    title: Shout the tone
    spec_ref: specs/vision.md
    done_when: [\"tone.txt says LOUD\"]
    scope: { in: [tone.txt, tests/test_loud.sh] }
    owns: [tests/test_loud.sh]
  - id: soft
    title: Whisper the tone
    spec_ref: specs/vision.md
    done_when: [\"tone.txt says soft\"]
    scope: { in: [tone.txt, tests/test_soft.sh] }
    owns: [tests/test_soft.sh]
";

const CYCLE: &str = "\
tasks:
  - id: hen
    title: Lay the egg
    spec_ref: specs/vision.md
    done_when: [\"there is an egg\"]
    scope: { in: [hen.sh] }
    depends_on: [egg]
  - id: egg
    title: Hatch the hen
    spec_ref: specs/vision.md
    done_when: [\"there is a hen\"]
    scope: { in: [egg.sh] }
    depends_on: [hen]
";

fn play_tour(form: Form) -> Tour {
    let world = World::bare_repo();
    world.write("tone.txt", "first\nplain\nlast\n");
    world.commit_all("a tone");
    let mut tour = Tour { world, form, chapters: Vec::new() };
    init(&mut tour);
    plan(&mut tour);
    claim(&mut tour);
    checkpoint(&mut tour);
    reject(&mut tour);
    fix(&mut tour);
    approve(&mut tour);
    merge(&mut tour);
    conflict(&mut tour);
    block(&mut tour);
    unblock(&mut tour);
    archive(&mut tour);
    verify(&mut tour);
    tour
}

fn init(tour: &mut Tour) {
    tour.chapter("01-init");
    tour.exits(2, "human", "status");
    tour.types("human", "init \"A greeting program\"");
    tour.exits(1, "human", "init \"A greeting program\"");
    tour.types("human", "agent register --id planner-1 --role planner");
    tour.types("human", "agent register --id coder-1 --role coder --role code_reviewer");
    tour.types("human", "agent register --id coder-2 --role coder");
    tour.types("human", "agent register --id reviewer-1 --role code_reviewer");
    tour.exits(1, "human", "agent register --role captain");
    tour.types("human", "agent list");
    tour.types("human", "status");
    tour.types("planner-1", "next --role planner");
    tour.types("coder-1", "next --role coder");
}

fn plan(tour: &mut Tour) {
    tour.chapter("02-plan");
    tour.world.write("plan.yaml", PLAN);
    tour.world.write("cycle.yaml", CYCLE);
    tour.exits(1, "planner-1", "plan cycle.yaml");
    tour.exits(2, "planner-1", "plan nowhere.yaml");
    tour.types("planner-1", "plan plan.yaml --check");
    tour.exits(1, "coder-1", "plan plan.yaml");
    tour.types("planner-1", "plan plan.yaml");
    tour.types("human", "status");
    tour.types("human", "task list");
    tour.types("human", "graph");
    tour.types("human", "report");
    tour.types("human", "task show bye");
    // Mistyped commands.
    tour.exits(1, "human", "task show GREET");
    tour.exits(1, "human", "task show gret");
    tour.exits(2, "human", "task clame greet");
    tour.exits(2, "human", "task claim");
    tour.exits(2, "human", "task claim greet --forcefully");
    tour.exits(2, "human", "task list --status FINISHED");
}

fn claim(tour: &mut Tour) {
    tour.chapter("03-claim");
    tour.exits(1, "coder-1", "task claim bye");
    tour.types("coder-1", "next --role coder");
    tour.exits(3, "coder-2", "task claim greet");
    tour.exits(1, "reviewer-1", "task claim loud");
    tour.types("coder-1", "task show greet");
    tour.types("human", "lock list");
    tour.types("human", "worktree list");
    tour.types("human", "status");
}

fn checkpoint(tour: &mut Tour) {
    tour.chapter("04-checkpoint");
    tour.exits(1, "coder-1", "task submit greet");
    let start = "task checkpoint greet --intent \"greet.sh takes a name\" --risks \"none, a small file\"";
    let rest = "--validate \"sh tests/test_greet.sh\" --expect ok";
    tour.exits(1, "coder-1", &format!("{start} {rest} --file bye.sh"));
    tour.checkpoints("coder-1", "greet", "greet.sh");
    let worktree = tour.worktree("greet");
    let files = [
        ("greet.sh", "echo \"Hello, $1\"\n"),
        ("bye.sh", "echo Bye\n"),
        ("tests/test_greet.sh", "echo ok\n"),
    ];
    tour.world.write_and_commit(&worktree, &files);
    tour.exits(1, "coder-1", "task submit greet");
    tour.world.git_in(&worktree, &["rm", "-q", "bye.sh"]);
    tour.exits(1, "coder-1", "task submit greet");
    tour.world.git_in(&worktree, &["commit", "-q", "-m", "without bye"]);
    tour.types("coder-1", "task submit greet");
    tour.types("human", "task list");
    tour.types("human", "diff greet");
}

fn reject(tour: &mut Tour) {
    tour.chapter("05-reject");
    tour.types("reviewer-1", "next --role code_reviewer");
    tour.types("reviewer-1", "review show greet");
    tour.exits(
        3,
        "reviewer-1",
        "review reject greet --commit \"$(git rev-parse main)\" --reason \"no default\"",
    );
    tour.types(
        "reviewer-1",
        "review reject greet --commit \"$(git rev-parse task/greet)\" --reason \"an empty name is greeted\" \
         --issue \"major:greet.sh:1:no default for an empty name\" --issue \"minor:greet.sh:1:no comment\"",
    );
    tour.types("coder-1", "task show greet --feedback");
    tour.types("human", "status");
    tour.types("human", "inbox");
}

fn fix(tour: &mut Tour) {
    tour.chapter("06-fix");
    tour.types("coder-1", "next --role coder");
    tour.checkpoints("coder-1", "greet", "greet.sh");
    let worktree = tour.worktree("greet");
    tour.world.write_and_commit(&worktree, &[("greet.sh", "# Greets\necho \"Hello, ${1:-World}\"\n")]);
    tour.types("coder-1", "task submit greet");
    tour.types("human", "task show greet");
}

fn approve(tour: &mut Tour) {
    tour.chapter("07-approve");
    tour.exits(1, "coder-1", "review claim greet");
    tour.types("reviewer-1", "review claim greet");
    tour.types("reviewer-1", "review show greet");
    let commit = "--commit \"$(git rev-parse task/greet)\"";
    tour.exits(1, "coder-1", &format!("review approve greet {commit} --summary mine"));
    tour.exits(1, "reviewer-1", "merge greet");
    tour.types(
        "reviewer-1",
        &format!(
            "review approve greet {commit} --summary \"does what the spec says\" \
             --prior i1=resolved --prior i2=resolved"
        ),
    );
    tour.types("human", "status");
}

fn merge(tour: &mut Tour) {
    tour.chapter("08-merge");
    tour.exits(1, "coder-2", "merge greet");
    tour.types("reviewer-1", "merge greet");
    tour.exits(1, "reviewer-1", "merge greet");
    tour.types("human", "task show greet");
    tour.types("human", "log --task greet -n 4");
    tour.types("human", "metrics");
    tour.types("human", "status");
}

/// Two tasks change the same line; the second one cannot be merged.
fn conflict(tour: &mut Tour) {
    tour.chapter("09-conflict");
    tour.submits("coder-1", "loud", "tone.txt", "first\nLOUD\nlast\n");
    tour.submits("coder-2", "soft", "tone.txt", "first\nsoft\nlast\n");
    tour.approves("reviewer-1", "loud", "task/loud");
    tour.approves("reviewer-1", "soft", "task/soft");
    tour.types("reviewer-1", "merge loud");
    tour.exits(11, "reviewer-1", "merge soft");
    tour.exits(1, "reviewer-1", "merge soft");
    tour.types("human", "task show soft");
    tour.types("human", "inbox");
    tour.types("human", "status");
}

fn block(tour: &mut Tour) {
    tour.chapter("10-block");
    tour.types("coder-1", "task claim bye");
    tour.exits(2, "coder-1", "task block bye --reason \"the spec is silent\"");
    tour.types("coder-1", "task block bye --reason \"the spec is silent\" --question \"In which language?\"");
    tour.types("human", "task show bye");
    tour.types("planner-1", "next --role planner");
    tour.types("human", "watch --once");
    tour.types("human", "status");
}

fn unblock(tour: &mut Tour) {
    tour.chapter("11-unblock");
    tour.exits(1, "coder-1", "task unblock bye --answer English");
    tour.types("planner-1", "task unblock bye --answer \"In English\"");
    tour.types("coder-1", "task show bye --feedback");
    tour.submits("coder-1", "bye", "bye.sh", "echo Goodbye\n");
    tour.approves("reviewer-1", "bye", "task/bye");
    tour.types("reviewer-1", "merge bye");
    // A person resolves the conflict: a commit on integration's files that contains both sides.
    let settled =
        ["commit-tree", "integration^{tree}", "-p", "integration", "-p", "task/soft", "-m", "LOUD it is"];
    let settled = tour.world.git(&settled);
    tour.world.git(&["branch", "settled", &settled]);
    let command = "merge soft --resolved \"$(git rev-parse settled)\"";
    tour.exits(1, "coder-2", command);
    tour.types("human", command);
    tour.types("human", "inbox --done anomaly-1");
    tour.types("human", "status");
}

fn archive(tour: &mut Tour) {
    tour.chapter("12-archive");
    tour.types("human", "archive");
    tour.types("human", "archive --all --dry-run");
    tour.types("human", "archive --all");
    tour.types("human", "task show greet");
    tour.types("human", "task list");
    tour.types("human", "trash list");
    tour.types("human", "status");
}

fn verify(tour: &mut Tour) {
    tour.chapter("13-verify");
    tour.types("human", "validate");
    tour.types("human", "verify");
    tour.types("human", "doctor");
    tour.types("human", "metrics");
    tour.types("human", "report");
    tour.types("human", "log");
    tour.world.write(".worktrees/stray/file", "a file of no task\n");
    // A person undoes the last merge without liza.
    tour.world.git(&["update-ref", "refs/heads/integration", "integration~1"]);
    tour.exits(6, "human", "verify");
}

/// The texts of each chapter, one per command.
fn texts(tour: &Tour) -> Vec<(&'static str, Vec<String>)> {
    let chapters = tour.chapters.iter().map(|chapter| {
        let texts = with_normaliser(&tour.world, |normaliser| {
            chapter.played.iter().map(|played| played.record(normaliser, Extent::Whole)).collect()
        });
        (chapter.name, texts)
    });
    chapters.collect()
}

#[test]
fn every_step_of_the_tour_is_as_recorded() {
    let (text, json) = std::thread::scope(|scope| {
        let json = scope.spawn(|| texts(&play_tour(Form::Json)));
        (texts(&play_tour(Form::Text)), json.join().expect("the tour with --json"))
    });
    let files: Files = text
        .iter()
        .zip(&json)
        .map(|((name, text), (_, json))| {
            let steps: Vec<String> =
                text.iter().zip(json).map(|(text, json)| format!("{text}{json}")).collect();
            (format!("{name}.txt"), steps.join("\n"))
        })
        .collect();
    assert_eq!(text.len(), json.len());
    check("tour", &files);
}
