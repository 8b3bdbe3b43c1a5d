//! A repository with a board of any size, and how commands are run in it.

use super::*;

pub struct World {
    pub _home: tempfile::TempDir,
    pub home: PathBuf,
    pub root: PathBuf,
}

impl World {
    pub fn command(&self, program: &Path, dir: &Path, who: Option<&(String, String)>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(dir)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
            command.env(name, "bench");
        }
        if let Some((id, token)) = who {
            command.env("LIZA_AGENT_ID", id).env("LIZA_AGENT_TOKEN", token);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, program: &Path, dir: &Path, who: Option<&(String, String)>, args: &[&str]) -> String {
        let output = self.command(program, dir, who).args(args).output().expect("it runs");
        assert!(
            output.status.success(),
            "{} {args:?}: {}{}",
            program.display(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub fn git(&self, args: &[&str]) -> String {
        self.run(Path::new("git"), &self.root, None, args).trim().to_owned()
    }
}

/// About 2.7 KB a task, as boards in use have.
pub fn new_task(id: &str, number: usize) -> NewTask {
    let text = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod. ".repeat(27);
    NewTask {
        id: TaskId::new(id).expect("an id"),
        title: format!("Task number {number}"),
        description: text,
        spec_ref: Some("specs/vision.md".to_owned()),
        done_when: vec!["the first criterion holds".to_owned(), "the second one too".to_owned()],
        scope: Scope {
            inside: vec![
                PathPattern::new(&format!("out/{number}/")).expect("a path"),
                PathPattern::new(&format!("tests/{number}/")).expect("a path"),
            ],
            outside: vec![PathPattern::new("docs/").expect("a path")],
        },
        checklist: Vec::new(),
        owns: Vec::new(),
        depends_on: Vec::new(),
        priority: 0,
        kind: Default::default(),
        risk: Default::default(),
        role: Role::coder(),
        parent: None,
        tags: vec!["bench".to_owned()],
        inputs: Vec::new(),
        expected_outputs: vec![format!("out/{number}/result.txt")],
        max_coder_iterations: None,
        max_review_cycles: None,
        expected_files: None,
        expected_lines: None,
        timebox_minutes: None,
        slice_kind: None,
        workstream: None,
    }
}

impl Bench {
    pub fn world(&self, files: usize) -> World {
        let home_dir = tempfile::tempdir().expect("a folder");
        let home = home_dir.path().to_owned();
        let root = home.join("repo");
        fs::create_dir(&root).expect("a folder");
        let world = World { _home: home_dir, home, root };
        world.git(&["init", "-q", "-b", "main"]);
        for number in 0..files {
            let dir = world.root.join(format!("src/d{}", number / 100));
            if number % 100 == 0 {
                fs::create_dir_all(&dir).expect("a folder");
            }
            fs::write(dir.join(format!("f{number}.txt")), format!("file {number}\n")).expect("a file");
        }
        fs::create_dir_all(world.root.join("specs")).expect("a folder");
        fs::write(world.root.join("specs/vision.md"), "# Vision\n").expect("a file");
        world.git(&["add", "-A"]);
        world.git(&["commit", "-q", "-m", "start"]);
        world.run(&self.liza, &world.root, None, &["init", "bench"]);
        world
    }

    pub fn fill(&self, world: &World, count: usize) {
        let store = Store::new(world.root.join(".liza"));
        let tasks: Vec<NewTask> =
            (0..count).map(|number| new_task(&format!("task-{number}"), number)).collect();
        for chunk in tasks.chunks(2_000) {
            let add = AddTasks {
                tasks: chunk.to_vec(),
                finalize: true,
                specs_found: chunk.iter().map(|task| task.id.clone()).collect(),
                as_graph: false,
                graph_id: None,
                pins: Vec::new(),
                single: false,
                strict: true,
                slices: true,
                workstreams: Vec::new(),
            };
            store.commit(&Credentials::Human, add, None, &liza::host::now()).expect("committed");
        }
        // Images of former boards only take disk space; without them the floor is fair.
        for entry in fs::read_dir(world.root.join(".liza/images")).expect("images").flatten() {
            let _ = fs::remove_file(entry.path());
        }
    }

    pub fn register(&self, world: &World, role: &str) -> (String, String) {
        let text = world.run(&self.liza, &world.root, None, &["--json", "agent", "register", "--role", role]);
        let data: Value = serde_json::from_str(&text).expect("json");
        (
            data["data"]["id"].as_str().expect("id").to_owned(),
            data["data"]["token"].as_str().expect("token").to_owned(),
        )
    }

    pub fn revision(&self, world: &World) -> u64 {
        let text = world.run(&self.liza, &world.root, None, &["--json", "status"]);
        serde_json::from_str::<Value>(&text).expect("json")["revision"].as_u64().expect("a number")
    }
}
