//! Teams of scripted agents: how soon runners react, their cost per task, and their cost while they wait.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::*;

/// An agent that makes only the calls that a task needs.
const AGENT: &str = r#"
case "$LIZA_ROLE" in
coder)
  liza task checkpoint "$LIZA_TASK" --intent "the file of $LIZA_TASK says hello" --risks "none, a new file" \
    --validate "cat $LIZA_TASK.txt" --expect hello --file "$LIZA_TASK.txt" --file "test_$LIZA_TASK.sh" || exit 1
  echo hello > "$LIZA_TASK.txt"; echo true > "test_$LIZA_TASK.sh"
  git add -A && git commit -qm "$LIZA_TASK" && exec liza task submit "$LIZA_TASK" ;;
code_reviewer) exec liza review approve "$LIZA_TASK" --commit "$(git rev-parse HEAD)" --summary fine ;;
esac
"#;
/// An agent that blocks its task at once.
const BLOCKS: &str =
    r#"exec liza task block "$LIZA_TASK" --reason "two ways to read it" --question "Which one?""#;
const PATIENCE: Duration = Duration::from_secs(60);

/// A running command, and the events it prints.
pub(super) struct Going {
    pub(super) child: Child,
    events: Receiver<(Instant, Value)>,
}

impl Going {
    /// When it printed this event, dropping all earlier events.
    fn said(&self, event: &str, task: Option<&str>) -> Instant {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((at, said)) if said["event"] == event && task.is_none_or(|task| said["task"] == task) => {
                    return at;
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => panic!("no event `{event}` in time"),
                Err(RecvTimeoutError::Disconnected) => panic!("the command ended before the event `{event}`"),
            }
        }
    }

    pub(super) fn end(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

pub(super) fn going(bench: &Bench, world: &World, args: &[&str]) -> Going {
    let mut child =
        world.command(&bench.liza, &world.root, None).arg("--json").args(args).spawn().expect("it starts");
    let (sender, events) = channel();
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let at = Instant::now();
            if let Ok(said) = serde_json::from_str(&line) {
                let _ = sender.send((at, said));
            }
        }
    });
    Going { child, events }
}

fn play(world: &World, script: &str) {
    play_with(world, script, "");
}

/// The same with more settings.
pub(super) fn play_with(world: &World, script: &str, more: &str) {
    fs::write(world.home.join("agent.sh"), script).expect("a script");
    let text = format!(
        "version: 1\nprovider: scripted\nproviders:\n  scripted: {{ command: [sh, '{}'] }}\nrun: {{ window: 12 }}\n{more}",
        world.home.join("agent.sh").display()
    );
    fs::write(world.root.join("liza.yaml"), text).expect("a file");
}

pub(super) fn add(bench: &Bench, world: &World, id: &str, finalize: bool) {
    let (file, test) = (format!("{id}.txt"), format!("test_{id}.sh"));
    let mut args =
        vec!["task", "add", "--id", id, "--title", "a task", "--spec", "specs/vision.md", "--done", "done"];
    args.extend(["--in", &file, "--in", &test]);
    args.extend(finalize.then_some("--finalize"));
    world.run(&bench.liza, &world.root, None, &args);
}

/// Hundredths of a second that the children of this process, and theirs, have used.
fn used_by_children() -> u64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    ticks(&text, [15, 16])
}

fn used_by(pid: u32) -> u64 {
    ticks(&fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default(), [13, 14])
}

fn ticks(stat: &str, fields: [usize; 2]) -> u64 {
    // The name, in brackets, may hold spaces.
    let rest: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    fields.iter().filter_map(|field| rest.get(field - 2)?.parse::<u64>().ok()).sum()
}

fn kilobytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

fn spread(mut times: Vec<f64>) -> String {
    times.sort_by(f64::total_cmp);
    let at = |part: usize| times[(times.len() - 1) * part / 100];
    format!("p50 {:.1} ms, p95 {:.1} ms, max {:.1} ms, {} trials", at(50), at(95), at(100), times.len())
}

const RUNNERS: usize = 6;

impl Bench {
    pub(super) fn figures(&mut self, name: &str, size: &str, figures: &str) {
        eprintln(&format!("{name:<28} {size:>12} {figures}"));
        self.rows.push(json!({ "row": name, "size": size, "figures": figures }));
    }

    fn runners(&self, world: &World, roles: &[&str]) -> Vec<Going> {
        let all: Vec<Going> =
            roles.iter().map(|role| going(self, world, &["agent", "run", "--role", role])).collect();
        for runner in &all {
            runner.said("ready", None);
        }
        all
    }

    /// From the touch of a switch until the last runner has reported it.
    pub(super) fn reaction(&mut self) {
        let world = self.world(50);
        play(&world, BLOCKS);
        let trials = if self.quick { 20 } else { 100 };
        let size = format!("{RUNNERS} runners");
        let runners = self.runners(&world, &["coder"; RUNNERS]);
        let pause = world.root.join(".liza/PAUSE");
        let last = |runners: &[Going], event: &str, since: Instant| {
            let all = runners.iter().map(|runner| runner.said(event, None).saturating_duration_since(since));
            all.max().unwrap_or_default().as_secs_f64() * 1000.0
        };
        let (mut paused, mut resumed) = (Vec::new(), Vec::new());
        for _ in 0..trials {
            let touched = Instant::now();
            fs::write(&pause, "").expect("a switch");
            paused.push(last(&runners, "paused", touched));
            let removed = Instant::now();
            fs::remove_file(&pause).expect("removed");
            resumed.push(last(&runners, "resumed", removed));
        }
        self.figures("PAUSE to all have reacted", &size, &spread(paused));
        self.figures("… and its removal", &size, &spread(resumed));
        let mut claimed = Vec::new();
        let mut whole = Vec::new();
        let mut bare = Vec::new();
        for round in 0..trials {
            let id = format!("t{round}");
            add(self, &world, &id, false);
            let checkout = world.home.join(format!("bare-{round}")).display().to_string();
            bare.push(timed(|| {
                world.git(&[
                    "worktree",
                    "add",
                    "-q",
                    "--no-track",
                    "-b",
                    &format!("b{round}"),
                    &checkout,
                    "integration",
                ]);
            }));
            let began = Instant::now();
            world.run(&self.liza, &world.root, None, &["task", "finalize", &id]);
            let finalized = Instant::now();
            // Any runner may have claimed it: the others report nothing about this task.
            let at = 'found: loop {
                for runner in &runners {
                    while let Ok((at, said)) = runner.events.try_recv() {
                        if said["event"] == "claimed" && said["task"] == id.as_str() {
                            runner.said("blocked", Some(&id));
                            break 'found at;
                        }
                    }
                }
                assert!(finalized.elapsed() < PATIENCE, "no runner claimed {id}");
                std::thread::sleep(Duration::from_millis(1));
            };
            claimed.push(at.saturating_duration_since(finalized).as_secs_f64() * 1000.0);
            whole.push(at.saturating_duration_since(began).as_secs_f64() * 1000.0);
        }
        self.figures("finalize ended to claimed", &size, &spread(claimed));
        self.figures("finalize begun to claimed", &size, &spread(whole));
        self.figures("… of it, git worktree add", "alone", &spread(bare));
        runners.into_iter().for_each(Going::end);
        let mut aborted = Vec::new();
        for _ in 0..20 {
            let runners = self.runners(&world, &["coder"; RUNNERS]);
            let touched = Instant::now();
            fs::write(world.root.join(".liza/ABORT"), "").expect("a switch");
            aborted.push(last(&runners, "stopped", touched));
            for mut runner in runners {
                let _ = runner.child.wait();
            }
            world.run(&self.liza, &world.root, None, &["resume"]);
        }
        self.figures("ABORT to all have left", &size, &spread(aborted));
    }

    /// One task from claim to merge: bare git, the same liza commands typed by a person, runners that wait for it.
    pub(super) fn cycle(&mut self) {
        let world = self.world(50);
        play(&world, AGENT);
        let coder = self.register(&world, "coder");
        let reviewer = self.register(&world, "code_reviewer");
        let rounds = if self.quick { 10 } else { 30 };
        let runners = {
            // These runners have their own board: only they may claim its tasks.
            let other = self.world(50);
            play(&other, AGENT);
            let runners = self.runners(&other, &["coder", "code_reviewer"]);
            (other, runners)
        };
        let (mut bare, mut typed, mut run) = (Vec::new(), Vec::new(), Vec::new());
        let (mut bare_cpu, mut typed_cpu) = (0, 0);
        let of_runners = |all: &[Going]| -> u64 {
            // CPU time of the processes, and of the children they waited for.
            let with_children = |pid: u32| {
                let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                ticks(&text, [13, 14]) + ticks(&text, [15, 16])
            };
            all.iter().map(|going| with_children(going.child.id())).sum()
        };
        let runner_before = of_runners(&runners.1);
        for round in 0..rounds {
            let id = format!("t{round}");
            add(self, &world, &id, true);
            add(self, &runners.0, &id, false);
            // Unwritten data of one measurement must not slow the next.
            rustix::fs::sync();
            let before = used_by_children();
            bare.push(timed(|| bare_cycle(&world, round)));
            bare_cpu += used_by_children() - before;
            rustix::fs::sync();
            let before = used_by_children();
            typed.push(timed(|| self.typed_cycle(&world, &id, &coder, &reviewer)));
            typed_cpu += used_by_children() - before;
            rustix::fs::sync();
            let began = Instant::now();
            runners.0.run(&self.liza, &runners.0.root, None, &["task", "finalize", &id]);
            let merged = runners.1[1].said("merged", Some(&id));
            run.push(merged.saturating_duration_since(began).as_secs_f64() * 1000.0);
        }
        let runner_cpu = of_runners(&runners.1) - runner_before;
        runners.1.into_iter().for_each(Going::end);
        let each = |ticks: u64| ticks as f64 * 10.0 / rounds as f64;
        let (bare, typed, run) = (median(bare), median(typed), median(run));
        self.row("task, typed", "50 files", typed, "bare git", bare);
        self.row("task, runners", "50 files", run, "bare git", bare);
        self.row("task, runners", "50 files", run, "typed", typed);
        let cpu = format!(
            "bare git {:.0} ms, typed {:.0} ms, runners {:.0} ms",
            each(bare_cpu),
            each(typed_cpu),
            each(runner_cpu)
        );
        self.figures("CPU of one task", "50 files", &cpu);
    }

    fn typed_cycle(&self, world: &World, id: &str, coder: &(String, String), reviewer: &(String, String)) {
        let liza = |who, args: &[&str]| world.run(&self.liza, &world.root, Some(who), args);
        liza(coder, &["task", "claim", id]);
        let (file, test) = (format!("{id}.txt"), format!("test_{id}.sh"));
        let mut checkpoint =
            vec!["task", "checkpoint", id, "--intent", "the file says hello", "--risks", "none"];
        checkpoint.extend(["--validate", "echo ok", "--expect", "ok", "--file", &file, "--file", &test]);
        liza(coder, &checkpoint);
        let checkout = world.root.join(".worktrees").join(id);
        work(world, &checkout, id);
        liza(coder, &["task", "submit", id]);
        liza(reviewer, &["review", "claim", id]);
        let head = world.run(Path::new("git"), &checkout, None, &["rev-parse", "HEAD"]);
        liza(reviewer, &["review", "approve", id, "--commit", head.trim(), "--summary", "fine"]);
        liza(reviewer, &["merge", id]);
    }

    /// The cost of idle runners.
    pub(super) fn idle(&mut self) {
        let seconds = if self.quick { 20 } else { 60 };
        let watch = |pids: &[u32]| {
            let before: u64 = pids.iter().map(|pid| used_by(*pid)).sum();
            std::thread::sleep(Duration::from_secs(seconds));
            let ticks = pids.iter().map(|pid| used_by(*pid)).sum::<u64>() - before;
            let kilobytes: u64 = pids.iter().map(|pid| kilobytes(*pid)).sum();
            let percent = ticks as f64 / seconds as f64;
            format!(
                "{} ms of CPU in {seconds} s ({percent:.2} %), RSS {:.1} MiB",
                ticks * 10,
                kilobytes as f64 / 1024.0
            )
        };
        let world = self.world(50);
        play(&world, AGENT);
        self.fill(&world, 100);
        let team = ["run", "--team", "coder=7", "--team", "code_reviewer=3"];
        fs::write(world.root.join(".liza/PAUSE"), "").expect("a switch");
        let run = going(self, &world, &team);
        run.said("paused", None);
        let figures = watch(&[run.child.id()]);
        self.figures("idle run, paused", "10 seats", &figures);
        run.end();
        let runners = self.runners(&world, &["code_reviewer"; 10]);
        let pids: Vec<u32> = runners.iter().map(|runner| runner.child.id()).collect();
        let figures = watch(&pids);
        self.figures("idle runners, paused", "10 in all", &figures);
        world.run(&self.liza, &world.root, None, &["resume"]);
        std::thread::sleep(Duration::from_secs(1));
        let figures = watch(&pids);
        self.figures("idle runners, no work", "10 in all", &figures);
        runners.into_iter().for_each(Going::end);
        let world = self.world(50);
        play(&world, AGENT);
        add(self, &world, "held", true);
        let holder = self.register(&world, "coder");
        world.run(&self.liza, &world.root, Some(&holder), &["task", "claim", "held"]);
        let run = going(self, &world, &["run", "--team", "test_engineer=7", "--team", "code_reviewer=3"]);
        run.said("paused", None);
        let figures = watch(&[run.child.id()]);
        self.figures("idle run, a task held", "10 seats", &figures);
        run.end();
    }

    /// Trivial tasks with more and more coders.
    pub(super) fn throughput(&mut self) {
        let count = if self.quick { 40 } else { 200 };
        let mut first = None;
        for coders in [1usize, 2, 4, 8] {
            let world = self.world(50);
            play(&world, AGENT);
            for number in 0..count {
                add(self, &world, &format!("t{number}"), true);
            }
            let before = used_by_children();
            let seconds = timed(|| {
                let coders = format!("coder={coders}");
                let team = ["run", "--window", "12", "--team", &coders, "--team", "code_reviewer=2"];
                drop(world.run(&self.liza, &world.root, None, &team));
            }) / 1000.0;
            let cpu = (used_by_children() - before) as f64 / 100.0;
            let rate = count as f64 / seconds;
            let first = *first.get_or_insert(rate);
            let figures = format!(
                "{rate:.2} tasks/s, {:.2}x of one coder; CPU {:.0} ms a task, {:.2} cores busy with it",
                rate / first,
                cpu * 1000.0 / count as f64,
                cpu / seconds
            );
            self.figures(&format!("{count} tasks"), &format!("{coders} coders"), &figures);
        }
    }
}

fn work(world: &World, checkout: &Path, id: &str) {
    fs::write(checkout.join(format!("{id}.txt")), "hello\n").expect("a file");
    fs::write(checkout.join(format!("test_{id}.sh")), "true\n").expect("a file");
    world.run(Path::new("git"), checkout, None, &["add", "-A"]);
    world.run(Path::new("git"), checkout, None, &["commit", "-q", "-m", id]);
}

/// The git commands every task needs: a worktree to work in, one to review in, a merge, and both worktrees removed.
fn bare_cycle(world: &World, round: usize) {
    let sync = "core.fsync=committed";
    let (branch, id) = (format!("bare-{round}"), format!("b{round}"));
    let (checkout, review) = (world.home.join(&branch), world.home.join(format!("review-{round}")));
    let (checkout_text, review_text) = (checkout.display().to_string(), review.display().to_string());
    let onto = "refs/bench/integration";
    if round == 0 {
        world.git(&["update-ref", onto, "integration"]);
    }
    world.git(&["-c", sync, "worktree", "add", "-q", "--no-track", "-b", &branch, &checkout_text, onto]);
    work(world, &checkout, &id);
    let head = world.git(&["rev-parse", &branch]);
    world.git(&["-c", sync, "worktree", "add", "-q", "--detach", &review_text, &head]);
    let base = world.git(&["rev-parse", onto]);
    let tree = world.git(&["-c", sync, "merge-tree", "--write-tree", &base, &head]);
    let commit = world.git(&["-c", sync, "commit-tree", &tree, "-p", &base, "-p", &head, "-m", "bare"]);
    world.git(&["-c", sync, "update-ref", onto, &commit, &base]);
    world.git(&["worktree", "remove", "--force", &checkout_text]);
    world.git(&["worktree", "remove", "--force", &review_text]);
}
