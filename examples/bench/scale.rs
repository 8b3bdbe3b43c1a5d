//! Rows about size: reading commands beside a bare read of the board, claims and merges on boards of several sizes, many
//! claims and many writers at once, and listing hundreds of worktrees.

use super::*;

impl Bench {
    /// The floor: the start of a small program and one read of the board's bytes.
    pub fn reads(&mut self, size: usize) {
        let world = self.world(50);
        self.fill(&world, size);
        let state = world.root.join(".liza/state.yaml").display().to_string();
        let floor = |_: usize| drop(world.run(&self.me, &world.root, None, &["read", &state]));
        let rounds = if size >= 10_000 { 9 } else { 21 };
        let commands: [&[&str]; 6] = [
            &["status"],
            &["task", "show", "task-1"],
            &["task", "list"],
            &["metrics"],
            &["verify"],
            &["doctor"],
        ];
        let note = || drop(world.run(&self.liza, &world.root, None, &["note", "more"]));
        // `verify` needs one image.
        note();
        let mut results = Vec::new();
        let mut measure = |words: &[&str], which: &str| {
            let command = |_: usize| match words {
                // It exits with 1 if it has findings.
                ["doctor"] => drop(world.command(&self.liza, &world.root, None).args(words).output()),
                _ => drop(world.run(&self.liza, &world.root, None, words)),
            };
            results.push((format!("{}{which}", words.join(" ")), self.pair(rounds, command, floor)));
        };
        commands.iter().for_each(|words| measure(words, ""));
        (0..=IMAGES_KEPT).for_each(|_| note());
        commands[4..].iter().for_each(|words| measure(words, ", all images"));
        for (name, (ms, floor_ms)) in results {
            self.row(&name, &format!("{size} tasks"), ms, "start+read", floor_ms);
        }
    }

    /// Eight processes that note, renew and read, compared with eight that only lock, append and replace.
    pub fn mixed(&mut self) {
        let world = self.world(5);
        self.fill(&world, 100);
        let coder = self.register(&world, "coder");
        world.run(&self.liza, &world.root, Some(&coder), &["task", "claim", "task-0"]);
        let dir = world.root.join(".liza");
        fs::copy(dir.join("state.yaml"), dir.join("floor.yaml")).expect("copied");
        let floor_dir = dir.display().to_string();
        let each = if self.quick { 15 } else { 60 };
        let rate = |work: &(dyn Fn(usize) + Sync)| {
            let start = Instant::now();
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| (0..each).for_each(work));
                }
            });
            (8 * each) as f64 / start.elapsed().as_secs_f64()
        };
        let ours = rate(&|round| {
            let (who, words): (Option<&(String, String)>, &[&str]) = match round % 3 {
                0 => (None, &["note", "mixed"]),
                1 => (Some(&coder), &["task", "renew", "task-0"]),
                _ => (None, &["anomaly", "debt_created", "--task", "task-0", "--detail", "what=mixed"]),
            };
            world.run(&self.liza, &world.root, who, words);
        });
        let floor = rate(&|_| drop(world.run(&self.me, &world.root, None, &["floor", &floor_dir])));
        let figures = format!("{ours:.0}/s, {:.2} of the floor's {floor:.0}/s", ours / floor);
        eprintln(&format!("8 processes, mixed verbs: {figures}"));
        self.rows.push(json!({ "row": "8 processes, mixed verbs", "size": "100 tasks", "figures": figures }));
    }

    /// Three agents claim at the same moment, compared with three `git worktree add` at the same moment.
    pub fn claims_at_once(&mut self, files: usize) {
        let world = self.world(files);
        self.fill(&world, 10);
        let coders: Vec<(String, String)> = (0..3).map(|_| self.register(&world, "coder")).collect();
        let at_once = |work: &(dyn Fn(usize) + Sync)| {
            rustix::fs::sync();
            timed(|| {
                std::thread::scope(|scope| {
                    for number in 0..3 {
                        scope.spawn(move || work(number));
                    }
                });
            })
        };
        let bare = at_once(&|number| {
            let (checkout, branch) = (world.home.join(format!("bare-{number}")), format!("bare-{number}"));
            let checkout = checkout.display().to_string();
            world.git(&["worktree", "add", "-q", "--no-track", "-b", &branch, &checkout, "integration"]);
        });
        let claims = at_once(&|number| {
            let id = format!("task-{number}");
            world.run(&self.liza, &world.root, Some(&coders[number]), &["task", "claim", &id]);
        });
        self.row(
            "three claims at once",
            &format!("{files} files"),
            claims,
            "three git worktree add at once",
            bare,
        );
    }

    /// If `wt` is installed, its listing is timed too.
    pub fn worktree_list(&mut self, count: usize) {
        let world = self.world(50);
        self.fill(&world, count);
        for number in 0..count {
            let (id, branch) = (format!("task-{number}"), format!("task/task-{number}"));
            let checkout = world.root.join(".worktrees").join(&id).display().to_string();
            world.git(&["worktree", "add", "-q", "--no-track", "-b", &branch, &checkout, "integration"]);
        }
        let label = format!("{count} records");
        let run = |words: &[&str]| drop(world.run(&self.liza, &world.root, None, words));
        let ours = |_: usize| run(&["worktree", "list"]);
        let git = |_: usize| drop(world.git(&["worktree", "list"]));
        let mut found = vec![("worktree list", "git worktree list", self.pair(5, ours, git))];
        let prune = |_: usize| run(&["worktree", "prune", "--dry-run"]);
        found.push(("worktree prune, dry run", "git worktree list", self.pair(5, prune, git)));
        let gc = |_: usize| run(&["gc", "--dry-run"]);
        found.push(("gc, dry run", "git worktree list", self.pair(5, gc, git)));
        let wt = |_: usize| {
            let _ = world.command(Path::new("wt"), &world.root, None).arg("list").output();
        };
        if world.command(Path::new("wt"), &world.root, None).arg("--version").output().is_ok() {
            found.push(("worktree list", "wt list", self.pair(5, ours, wt)));
        } else {
            eprintln("wt is not installed: its row is left out");
        }
        for (name, floor, (ms, floor_ms)) in found {
            self.row(name, &label, ms, floor, floor_ms);
        }
    }
}
