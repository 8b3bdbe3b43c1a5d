//! How long commands take, each beside its floor (the work it cannot avoid), in one run. Started by `scripts/bench`.
//!
//! Every row is interleaved with its floor, medians are compared, and the ratio is what counts: times depend on the
//! machine and its load.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program of its own that measures others"
)]

mod experiments;
mod gates;
mod messages;
mod overseer;
mod oversight;
mod reporting;
mod scale;
mod team;
mod world;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use liza::board::rules::{Abandon, AddTasks, ArchiveTasks, NewTask};
use liza::board::task::Scope;
use liza::board::{Credentials, Needs, PathPattern, Role, TaskId};
use liza::store::images::IMAGES_KEPT;
use liza::store::{Proposal, Store};
use serde_json::{Value, json};
use world::{World, new_task};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == "floor") {
        floor(Path::new(&args[1]));
        return;
    }
    if args.first().is_some_and(|arg| arg == "small") {
        return;
    }
    if args.first().is_some_and(|arg| arg == "read") {
        fs::read(&args[1]).expect("the board");
        return;
    }
    let liza = PathBuf::from(args.first().expect("the path of liza"));
    let me = std::env::current_exe().expect("this program");
    let quick = args.iter().any(|arg| arg == "--quick");
    let installed = tempfile::tempdir().expect("a directory");
    let [liza, me] = [liza, me].map(|program| install(&program, installed.path()));
    Bench { liza, me, rows: Vec::new(), quick }.run();
}

/// A copy of a program, as installed programs are: the kernel keeps what a linker wrote page by page, and starts it
/// later.
fn install(program: &Path, dir: &Path) -> PathBuf {
    let copy = dir.join(program.file_name().expect("a program"));
    fs::write(&copy, fs::read(program).expect("a program")).expect("copied");
    fs::set_permissions(&copy, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("executable");
    copy
}

/// Lock, synced append, durable replace of the same bytes: the least that a durable command must do.
fn floor(dir: &Path) {
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(dir.join("floor.lock"))
        .expect("lock");
    lock.lock().expect("locked");
    let state = dir.join("floor.yaml");
    let bytes = fs::read(&state).expect("state");
    let mut log = OpenOptions::new().append(true).create(true).open(dir.join("floor.log")).expect("log");
    log.write_all(&[b'x'; 400]).expect("written");
    log.sync_all().expect("synced");
    let temp = dir.join("floor.tmp");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temp).expect("temp");
    file.write_all(&bytes).expect("written");
    file.sync_all().expect("synced");
    fs::rename(&temp, &state).expect("renamed");
    File::open(dir).expect("dir").sync_all().expect("synced");
}

struct Bench {
    liza: PathBuf,
    me: PathBuf,
    rows: Vec<Value>,
    quick: bool,
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn timed(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64() * 1000.0
}

fn world_show(bench: &Bench, world: &World, id: &str) -> String {
    world.run(&bench.liza, &world.root, None, &["task", "show", id])
}

impl Bench {
    fn run(mut self) {
        let args: Vec<String> = std::env::args().collect();
        let chosen = args.iter().position(|arg| arg == "--only").and_then(|at| args.get(at + 1)).cloned();
        let known = [
            "start",
            "board",
            "reads",
            "hooks",
            "archived",
            "writers",
            "mixed",
            "rival",
            "git",
            "sizes",
            "claims",
            "worktrees",
            "reaction",
            "cycle",
            "idle",
            "throughput",
            "gates",
            "messages",
            "overseer",
            "reporting",
            "oversight",
            "experiments",
        ];
        let names: Vec<&str> = chosen.as_deref().map_or(known.to_vec(), |names| names.split(',').collect());
        for name in names {
            match name {
                "start" => self.start(),
                "board" => {
                    let sizes: &[usize] = if self.quick { &[10, 100] } else { &[10, 100, 1_000, 10_000] };
                    sizes.iter().for_each(|size| self.board(*size));
                }
                "reads" => {
                    let sizes: &[usize] = if self.quick { &[10, 100] } else { &[10, 100, 1_000, 10_000] };
                    sizes.iter().for_each(|size| self.reads(*size));
                }
                "hooks" => self.hooks(),
                "archived" => self.archived(if self.quick { 500 } else { 9_900 }),
                "writers" => self.writers(),
                "mixed" => self.mixed(),
                "rival" => self.rival(),
                "git" => {
                    let files: &[usize] = if self.quick { &[50] } else { &[50, 10_000, 50_000] };
                    files.iter().for_each(|count| self.git_work(*count, 100));
                }
                "sizes" => {
                    let sizes: &[usize] = if self.quick { &[20] } else { &[20, 100, 1_000, 10_000] };
                    sizes.iter().for_each(|size| self.git_work(50, *size));
                }
                "claims" => self.claims_at_once(if self.quick { 2_000 } else { 26_807 }),
                "worktrees" => self.worktree_list(if self.quick { 40 } else { 302 }),
                "reaction" => self.reaction(),
                "cycle" => self.cycle(),
                "idle" => self.idle(),
                "throughput" => self.throughput(),
                "gates" => self.gates(),
                "messages" => self.messages(if self.quick { 500 } else { 10_000 }),
                "overseer" => self.overseer(),
                "reporting" => self.reporting(),
                "oversight" => self.oversight(),
                "experiments" => self.experiments(),
                other => eprintln(&format!("no such rows: {other}; there are {}", known.join(", "))),
            }
        }
        self.print();
    }

    fn row(&mut self, name: &str, size: &str, ms: f64, floor: &str, floor_ms: f64) {
        eprintln(&format!("{name:<28} {size:>12} {ms:>9.2} ms   {:>6.2} x {floor}", ms / floor_ms));
        self.rows.push(json!({
            "row": name, "size": size, "ms": (ms * 1000.0).round() / 1000.0, "floor": floor,
            "floor_ms": (floor_ms * 1000.0).round() / 1000.0, "ratio": (ms / floor_ms * 100.0).round() / 100.0,
        }));
    }

    /// Interleaves a command with its floor; medians of both.
    fn pair(
        &self,
        rounds: usize,
        mut command: impl FnMut(usize),
        mut floor: impl FnMut(usize),
    ) -> (f64, f64) {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            b.push(timed(|| floor(round)));
            a.push(timed(|| command(round)));
        }
        (median(a), median(b))
    }

    fn start(&mut self) {
        let world = self.world(1);
        let (liza, small) = self.pair(
            30,
            |_| drop(world.run(&self.liza, &world.root, None, &["--version"])),
            |_| drop(world.run(&self.me, &world.root, None, &["small"])),
        );
        self.row("process start", "-", liza, "small program", small);
    }

    fn board(&mut self, size: usize) {
        let world = self.world(50);
        self.fill(&world, size);
        let coder = self.register(&world, "coder");
        world.run(&self.liza, &world.root, Some(&coder), &["task", "claim", "task-0"]);
        // A board in use: each new image replaces an old one.
        for _ in 0..=IMAGES_KEPT {
            world.run(&self.liza, &world.root, Some(&coder), &["task", "renew", "task-0"]);
        }
        let dir = world.root.join(".liza");
        fs::copy(dir.join("state.yaml"), dir.join("floor.yaml")).expect("copied");
        let floor_dir = dir.display().to_string();
        let rounds = if size >= 10_000 { 9 } else { 21 };
        let label = format!("{size} tasks");
        let kb = fs::metadata(dir.join("state.yaml")).expect("state").len() / 1024;
        eprintln(&format!("-- {label}, {kb} KB"));
        let floor = |_: usize| drop(world.run(&self.me, &world.root, None, &["floor", &floor_dir]));
        let mut results = Vec::new();
        let mut measure =
            |name: &'static str, who: Option<&(String, String)>, args: &dyn Fn(usize) -> Vec<String>| {
                let command = |round: usize| {
                    let args = args(round);
                    let args: Vec<&str> = args.iter().map(String::as_str).collect();
                    world.run(&self.liza, &world.root, who, &args);
                };
                results.push((name, self.pair(rounds, command, floor)));
            };
        let words = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        measure("status", None, &|_| words(&["status"]));
        measure("note", None, &|round| vec!["note".to_owned(), format!("note {round}")]);
        measure("task renew", Some(&coder), &|_| words(&["task", "renew", "task-0"]));
        let add = |id: String, paths: &[String]| {
            let text = "task add --title more --spec specs/vision.md --done x --finalize --id";
            let mut args: Vec<String> = text.split(' ').map(str::to_owned).collect();
            args.push(id);
            paths.iter().for_each(|path| args.extend(["--in".to_owned(), path.clone()]));
            args
        };
        measure("task add", None, &|round| {
            add(
                format!("more-{round}"),
                &[format!("src/d0/more-{round}.txt"), format!("tests/more-{round}.txt")],
            )
        });
        // Neither the patterns nor the checkout answer for this path: git is asked.
        measure("task add, new directory", None, &|round| {
            add(format!("new-{round}"), &[format!("more/{round}/")])
        });
        measure("validate", None, &|_| words(&["validate"]));
        // A claim that keeps its worktree: released and claimed again by the same agent.
        let mut reclaim = Vec::new();
        let mut base = Vec::new();
        for round in 0..rounds.min(9) {
            world.run(&self.liza, &world.root, Some(&coder), &["task", "release", "task-0"]);
            base.push(timed(|| floor(round)));
            reclaim.push(timed(|| {
                drop(world.run(&self.liza, &world.root, Some(&coder), &["task", "claim", "task-0"]))
            }));
        }
        results.push(("claim, worktree kept", (median(reclaim), median(base))));
        for (name, (ms, floor_ms)) in results {
            self.row(name, &label, ms, "start+log+replace", floor_ms);
        }
    }

    /// The cost of git's own commands with hooks, compared with the same without.
    fn hooks(&mut self) {
        let (with, without) = (self.world(50), self.world(50));
        with.run(&self.liza, &with.root, None, &["hooks", "install"]);
        let moved = |world: &World, round: usize| {
            drop(world.git(&["update-ref", &format!("refs/heads/other-{round}"), "HEAD"]));
        };
        // The only update that runs liza: a move of the branch to its present commit, which is allowed.
        let asked = |world: &World, _: usize| {
            drop(world.git(&["update-ref", "refs/heads/integration", "integration"]));
        };
        let committed = |world: &World, round: usize| {
            drop(world.git(&["commit", "-q", "--allow-empty", "-m", &format!("commit {round}")]));
        };
        type Act<'a> = &'a dyn Fn(&World, usize);
        let kinds: [(&str, Act); 3] =
            [("another ref", &moved), ("integration", &asked), ("commit", &committed)];
        for (name, act) in kinds {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for round in 0..50 {
                b.push(timed(|| act(&without, round)));
                a.push(timed(|| act(&with, round)));
            }
            let p95 = |times: &[f64]| {
                let mut times = times.to_vec();
                times.sort_by(f64::total_cmp);
                times[times.len() * 95 / 100]
            };
            eprintln(&format!("-- with hooks, {name}: p95 {:.2} ms, without {:.2} ms", p95(&a), p95(&b)));
            self.row("with hooks", name, median(a), "without", median(b));
        }
    }

    /// The same board of a hundred active tasks, without and with an archive: archived tasks must not slow commands down.
    fn archived(&mut self, count: usize) {
        let (alone, beside) = (self.world(50), self.world(50));
        self.fill(&alone, 100);
        self.fill_archive(&beside, count);
        self.fill(&beside, 100);
        let store = |world: &World| fs::metadata(world.root.join(".liza/state.yaml")).expect("state").len();
        eprintln(&format!("-- {count} archived: {} bytes, {} without", store(&beside), store(&alone)));
        let label = format!("100 active, {count} archived");
        let rounds = if self.quick { 11 } else { 41 };
        // A lone # stands for the number of the round.
        for (name, line) in [
            ("status", "status"),
            ("note", "note #"),
            ("task show", "task show task-1"),
            ("validate", "validate"),
            ("task add", "task add --title more --id #"),
        ] {
            let run = |world: &World, round: usize| {
                let fresh = format!("more-{round}");
                let args: Vec<&str> =
                    line.split(' ').map(|word| if word == "#" { fresh.as_str() } else { word }).collect();
                world.run(&self.liza, &world.root, None, &args);
            };
            let (ms, floor_ms) = self.pair(rounds, |round| run(&beside, round), |round| run(&alone, round));
            self.row(name, &label, ms, "without the archive", floor_ms);
        }
        let show = |id: &str| drop(world_show(self, &beside, id));
        let (ms, floor_ms) = self.pair(rounds, |_| show("old-7"), |_| show("task-1"));
        self.row("task show, archived", &label, ms, "task show", floor_ms);
    }

    /// Adds, abandons and archives this many tasks, a few at a time so that the board stays small.
    fn fill_archive(&self, world: &World, count: usize) {
        let store = Store::new(world.root.join(".liza"));
        let commit = |what: liza::board::Transition| {
            let proposal = Proposal { credentials: &Credentials::Human, what, request: None };
            store.commit_any(proposal, &liza::host::now()).expect("committed");
        };
        let numbers: Vec<usize> = (0..count).collect();
        for chunk in numbers.chunks(50) {
            let ids: Vec<TaskId> =
                chunk.iter().map(|number| TaskId::new(&format!("old-{number}")).expect("an id")).collect();
            let tasks: Vec<NewTask> =
                chunk.iter().map(|number| new_task(&format!("old-{number}"), *number)).collect();
            let add = AddTasks {
                tasks,
                finalize: true,
                specs_found: ids.clone(),
                as_graph: false,
                graph_id: None,
                pins: Vec::new(),
                single: false,
                strict: true,
                slices: true,
                workstreams: Vec::new(),
            };
            commit(add.into());
            for task in &ids {
                commit(Abandon { task: task.clone(), reason: "bench".to_owned() }.into());
            }
            let board = store.read(&Needs::Everything).expect("read").board;
            let gone: Vec<_> = board.tasks.iter().filter(|task| ids.contains(&task.id)).collect();
            store.write_archive(&gone, liza::host::now().wall).expect("archived");
            commit(ArchiveTasks { tasks: ids }.into());
        }
    }

    fn writers(&mut self) {
        let world = self.world(5);
        self.fill(&world, 100);
        let mut first = None;
        for processes in [1usize, 2, 8, 32] {
            let each = if self.quick { 10 } else { 640 / processes.max(8) };
            let before = self.revision(&world);
            let start = Instant::now();
            std::thread::scope(|scope| {
                for _ in 0..processes {
                    scope.spawn(|| {
                        for number in 0..each {
                            world.run(&self.liza, &world.root, None, &["note", &format!("n {number}")]);
                        }
                    });
                }
            });
            let rate = (processes * each) as f64 / start.elapsed().as_secs_f64();
            let applied = self.revision(&world) - before;
            assert_eq!(applied, (processes * each) as u64, "an update was lost");
            if processes == 2 {
                first = Some(rate);
            }
            let ratio = rate / first.unwrap_or(rate);
            eprintln(&format!(
                "{processes:>3} processes {rate:>9.1} updates/s   {ratio:>5.2} of 2 processes, none lost"
            ));
            self.rows.push(json!({
                "row": "concurrent notes", "size": format!("{processes} processes"), "updates_per_second": rate.round(),
                "ratio_to_two": (ratio * 100.0).round() / 100.0, "lost": 0,
            }));
        }
    }

    /// The nearest commands of `bd`, where it is installed. A row that cannot be measured is left out, with a remark.
    fn rival(&mut self) {
        let found = Command::new("bd").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            eprintln("bd is not installed: its rows are left out");
            return;
        }
        let world = self.world(5);
        let bd = |args: &[&str]| {
            let output = world.command(Path::new("bd"), &world.root, None).args(args).output();
            output.is_ok_and(|output| output.status.success())
        };
        if !bd(&["init", "--prefix", "bench"]) {
            eprintln("bd init failed: its rows are left out");
            return;
        }
        self.fill(&world, 100);
        for number in 0..100 {
            bd(&["create", &format!("Task number {number}")]);
        }
        for (name, theirs, ours) in [
            ("bd create", vec!["create", "one more"], vec!["note", "one more"]),
            ("bd list", vec!["list"], vec!["status"]),
        ] {
            if !bd(&theirs) {
                eprintln(&format!("{name} failed: its row is left out"));
                continue;
            }
            let (ms, mine) = self.pair(
                11,
                |_| {
                    bd(&theirs);
                },
                |_| drop(world.run(&self.liza, &world.root, None, &ours)),
            );
            self.row(name, "100 tasks", ms, &format!("liza {}", ours[0]), mine);
        }
    }

    fn git_work(&mut self, files: usize, tasks: usize) {
        let world = self.world(files);
        self.fill(&world, tasks);
        let coder = self.register(&world, "coder");
        let reviewer = self.register(&world, "code_reviewer");
        let rounds = if files >= 10_000 { 5 } else { 15 };
        let label = format!("{files} files, {tasks} tasks");
        let (mut claims, mut adds, mut merges, mut bare) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds {
            let id = format!("task-{round}");
            let checkout = world.home.join(format!("bare-{round}")).display().to_string();
            let branch = format!("bare-{round}");
            rustix::fs::sync();
            adds.push(timed(|| {
                world.git(&["worktree", "add", "-q", "--no-track", "-b", &branch, &checkout, "integration"]);
            }));
            // The first sync of a claim would write unwritten data of the worktree above.
            rustix::fs::sync();
            claims.push(timed(|| {
                drop(world.run(&self.liza, &world.root, Some(&coder), &["task", "claim", &id]))
            }));
            let worktree = world.root.join(format!(".worktrees/{id}"));
            let file = format!("out/{round}/result.txt");
            let test = format!("tests/{round}/test.sh");
            world.run(
                &self.liza,
                &world.root,
                Some(&coder),
                &[
                    "task",
                    "checkpoint",
                    &id,
                    "--intent",
                    "make the result appear",
                    "--risks",
                    "none",
                    "--validate",
                    "echo ok",
                    "--expect",
                    "ok",
                    "--file",
                    &file,
                    "--file",
                    &test,
                ],
            );
            for name in [&file, &test] {
                let path = worktree.join(name);
                fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
                fs::write(path, "x\n").expect("a file");
            }
            world.run(Path::new("git"), &worktree, None, &["add", "-A"]);
            world.run(Path::new("git"), &worktree, None, &["commit", "-q", "-m", "work"]);
            world.run(&self.liza, &world.root, Some(&coder), &["task", "submit", &id]);
            let head = world.run(Path::new("git"), &worktree, None, &["rev-parse", "HEAD"]);
            let head = head.trim();
            world.run(&self.liza, &world.root, Some(&reviewer), &["review", "claim", &id]);
            world.run(
                &self.liza,
                &world.root,
                Some(&reviewer),
                &["review", "approve", &id, "--commit", head],
            );
            // The checkouts above left unwritten data: it is flushed first, so that neither merge pays for it.
            rustix::fs::sync();
            // The same three steps with bare git, on a ref of their own.
            let onto = world.git(&["rev-parse", "integration"]);
            world.git(&["update-ref", "refs/bench/integration", &onto]);
            bare.push(timed(|| {
                let sync = "core.fsync=committed";
                let tree = world.git(&["-c", sync, "merge-tree", "--write-tree", &onto, head]);
                let commit =
                    world.git(&["-c", sync, "commit-tree", &tree, "-p", &onto, "-p", head, "-m", "bare"]);
                world.git(&["-c", sync, "update-ref", "refs/bench/integration", &commit, &onto]);
            }));
            merges.push(timed(|| drop(world.run(&self.liza, &world.root, Some(&reviewer), &["merge", &id]))));
        }
        self.row("claim with worktree", &label, median(claims), "git worktree add", median(adds));
        self.row("merge", &label, median(merges), "three git commands", median(bare));
    }

    fn print(self) {
        println!("| command | size | ms | ratio | floor |");
        println!("|---|---|---|---|---|");
        for row in &self.rows {
            if let Some(rate) = row["updates_per_second"].as_f64() {
                println!(
                    "| concurrent notes | {} | {rate} /s | {} of 2 processes | |",
                    row["size"].as_str().unwrap_or(""),
                    row["ratio_to_two"]
                );
            } else if let Some(figures) = row["figures"].as_str() {
                println!(
                    "| {} | {} | {figures} | | |",
                    row["row"].as_str().unwrap_or(""),
                    row["size"].as_str().unwrap_or("")
                );
            } else {
                println!(
                    "| {} | {} | {:.2} | {:.2} | {} ({:.2} ms) |",
                    row["row"].as_str().unwrap_or(""),
                    row["size"].as_str().unwrap_or(""),
                    row["ms"].as_f64().unwrap_or(0.0),
                    row["ratio"].as_f64().unwrap_or(0.0),
                    row["floor"].as_str().unwrap_or(""),
                    row["floor_ms"].as_f64().unwrap_or(0.0)
                );
            }
        }
        println!("\n{}", serde_json::to_string(&json!({ "rows": self.rows })).unwrap_or_default());
    }
}

/// Progress, in addition to the table.
fn eprintln(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
