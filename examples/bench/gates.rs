//! What gates add to a merge, how a queue of merges compares with its unavoidable git commands, and what a reused gate
//! result costs.

use super::*;

impl Bench {
    pub fn gates(&mut self) {
        self.gate_of_a_merge();
        self.ready_merges(if self.quick { 10 } else { 50 });
        let files: &[usize] = if self.quick { &[50] } else { &[50, 10_000] };
        files.iter().for_each(|count| self.gate_start(*count));
    }

    fn with_gate(&self, world: &World, command: &str) {
        let text = format!("version: 1\ngates:\n  - {{ name: gate, command: '{command}' }}\n");
        fs::write(world.root.join("liza.yaml"), text).expect("liza.yaml");
    }

    /// A task that waits to be merged.
    fn approved(&self, world: &World, who: &[(String, String); 2], number: usize) -> String {
        let id = format!("task-{number}");
        let [coder, reviewer] = who;
        let liza = |who, args: &[&str]| drop(world.run(&self.liza, &world.root, Some(who), args));
        liza(coder, &["task", "claim", &id]);
        let worktree = world.root.join(format!(".worktrees/{id}"));
        let (file, test) = (format!("out/{number}/result.txt"), format!("tests/{number}/test.sh"));
        let announce = ["task", "checkpoint", &id, "--intent", "make the result appear", "--risks", "none"];
        let prove = ["--validate", "echo ok", "--expect", "ok", "--file", &file, "--file", &test];
        liza(coder, &[&announce[..], &prove[..]].concat());
        for name in [&file, &test] {
            let path = worktree.join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, format!("{number}\n")).expect("a file");
        }
        world.run(Path::new("git"), &worktree, None, &["add", "-A"]);
        world.run(Path::new("git"), &worktree, None, &["commit", "-q", "-m", "work"]);
        liza(coder, &["task", "submit", &id]);
        let head = world.run(Path::new("git"), &worktree, None, &["rev-parse", "HEAD"]);
        liza(reviewer, &["review", "claim", &id]);
        liza(reviewer, &["review", "approve", &id, "--commit", head.trim()]);
        id
    }

    fn pair_of(&self, world: &World) -> [(String, String); 2] {
        [self.register(world, "coder"), self.register(world, "code_reviewer")]
    }

    /// The same merge with a gate `true` and without gates.
    fn gate_of_a_merge(&mut self) {
        let worlds = [self.world(50), self.world(50)];
        let whose: Vec<[(String, String); 2]> = worlds
            .iter()
            .map(|world| {
                self.fill(world, 100);
                self.pair_of(world)
            })
            .collect();
        self.with_gate(&worlds[1], "true");
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..15 {
            for ((world, who), times) in worlds.iter().zip(&whose).zip(&mut times) {
                // Two tasks are approved before one is merged, so that every merged tree is new.
                let first = self.approved(world, who, 2 * round);
                let second = self.approved(world, who, 2 * round + 1);
                world.run(&self.liza, &world.root, Some(&who[1]), &["merge", &first]);
                rustix::fs::sync();
                times.push(timed(|| {
                    drop(world.run(&self.liza, &world.root, Some(&who[1]), &["merge", &second]));
                }));
            }
        }
        let [free, gated] = times;
        self.row("merge with a gate of true", "50 files", median(gated), "merge without gates", median(free));
    }

    /// A queue of merges, compared with its gates and three git commands for each, one after the other.
    fn ready_merges(&mut self, count: usize) {
        let world = self.world(50);
        self.fill(&world, count.max(10));
        let who = self.pair_of(&world);
        let ids: Vec<String> = (0..count).map(|number| self.approved(&world, &who, number)).collect();
        self.with_gate(&world, "sleep 0.1");
        rustix::fs::sync();
        let onto = world.git(&["rev-parse", "integration"]);
        world.git(&["update-ref", "refs/bench/integration", &onto]);
        let mut at = onto;
        let floor = timed(|| {
            for id in &ids {
                let (sync, head) = ("core.fsync=committed", format!("task/{id}"));
                let tree = world.git(&["-c", sync, "merge-tree", "--write-tree", &at, &head]);
                let commit =
                    world.git(&["-c", sync, "commit-tree", &tree, "-p", &at, "-p", &head, "-m", "bare"]);
                world.run(Path::new("sleep"), &world.root, None, &["0.1"]);
                world.git(&["-c", sync, "update-ref", "refs/bench/integration", &commit, &at]);
                at = commit;
            }
        });
        rustix::fs::sync();
        let queue = timed(|| {
            drop(world.run(&self.liza, &world.root, Some(&who[1]), &["merge", "--all"]));
        });
        let label = format!("{count} tasks");
        self.row("ready merges, 100 ms gate", &label, queue, "gate and three git commands each", floor);
    }

    /// A gate that is `true` in an existing private worktree; the same with a reused pass.
    fn gate_start(&mut self, files: usize) {
        let world = self.world(files);
        self.with_gate(&world, "true");
        let liza = self.liza.clone();
        let run = |more: &[&str]| {
            let args = [&["gate", "run", "--tree", "integration"], more].concat();
            drop(world.run(&liza, &world.root, None, &args));
        };
        run(&[]);
        let label = format!("{files} files");
        let (reused, small) =
            self.pair(15, |_| run(&[]), |_| drop(world.run(&self.me, &world.root, None, &["small"])));
        self.row("gate answered again", &label, reused, "small program", small);
        let checkout = world.home.join("bare");
        let path = checkout.display().to_string();
        world.git(&["worktree", "add", "-q", "--detach", &path, "integration"]);
        let status = ["status", "--porcelain"];
        let (started, bare) = self.pair(
            9,
            |_| run(&["--fresh"]),
            |_| drop(world.run(Path::new("git"), &checkout, None, &status)),
        );
        self.row("gate of true run again", &label, started, "git status of that tree", bare);
        let mut added = Vec::new();
        for round in 0..3 {
            let path = world.home.join(format!("added-{round}")).display().to_string();
            added.push(timed(|| {
                drop(world.git(&["worktree", "add", "-q", "--detach", &path, "integration"]))
            }));
        }
        self.row("gate of true run again", &label, started, "git worktree add", median(added));
    }
}
