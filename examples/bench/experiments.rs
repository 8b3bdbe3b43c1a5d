//! The cost of `liza experiment run` per idea, with trivial agents, tests and sweep, compared with a script that does the same with bare
//! git commands.

use super::*;

const IDEAS: usize = 10;

/// All steps of a run without liza: a worktree, three agents, checks of their changes, a snapshot under a ref, its diff, tests, sweep,
/// results, and the removal of the worktree.
const BARE: &str = r#"set -e
base=$(git rev-parse HEAD)
mkdir -p bare/worktrees bare/runs
for nth in $(seq IDEAS); do
    run=bare/runs/$ROUND-$nth wt=bare/worktrees/$ROUND-$nth
    mkdir -p "$run"
    git worktree add --quiet --detach "$wt" "$base"
    sh agents/planner.sh < ideas/$nth.md > "$run/plan.md"
    test -z "$(git -C "$wt" status --porcelain)"
    (cd "$wt" && sh agents/coder.sh) < ideas/$nth.md > "$run/coder_output_round_1.txt"
    git -C "$wt" add --all
    tree=$(git -C "$wt" write-tree)
    commit=$(git commit-tree -p "$base" -m "idea $nth" "$tree")
    git update-ref refs/bare/$ROUND-$nth "$commit"
    git diff-tree -p --binary "$base" "$commit" > "$run/diff_round_1.diff"
    (cd "$wt" && sh agents/reviewer.sh) < "$run/diff_round_1.diff" > "$run/review_round_1.md"
    grep -qx 'VERDICT: APPROVE' "$run/review_round_1.md"
    test -z "$(git -C "$wt" status --porcelain | grep -v '^[MA] ')"
    (cd "$wt" && sh -c 'test -s param') > "$run/tests.log" 2>&1
    (cd "$wt" && sh -c 'sh sweep.sh') > "$run/sweep.log" 2>&1
    cp "$wt/results.csv" "$run/results.csv"
    git worktree remove --force "$wt"
done
"#;

impl Bench {
    pub fn experiments(&mut self) {
        let sizes: &[usize] = if self.quick { &[50] } else { &[50, 10_000] };
        for files in sizes {
            let world = self.bare_world(*files);
            let bare = world.root.join("bare.sh");
            fs::write(&bare, BARE.replace("IDEAS", &IDEAS.to_string())).expect("written");
            let rounds = if *files > 1_000 { 3 } else { 7 };
            let (ms, floor_ms) = self.pair(
                rounds,
                |round| {
                    // A different text is a different idea, which has no run yet.
                    ideas(&world, round);
                    world.run(&self.liza, &world.root, None, &["-q", "experiment", "run", "ideas"]);
                },
                |round| {
                    let mut command = world.command(Path::new("sh"), &world.root, None);
                    let done = command.arg(&bare).env("ROUND", round.to_string()).output().expect("sh runs");
                    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
                },
            );
            let per_idea = |ms: f64| ms / IDEAS as f64;
            self.row(
                "experiment, per idea",
                &format!("{files} files"),
                per_idea(ms),
                "bare git",
                per_idea(floor_ms),
            );
        }
    }

    /// A repository without a board, with agents, a sweep and ideas.
    fn bare_world(&self, files: usize) -> World {
        let home_dir = tempfile::tempdir().expect("a folder");
        let home = home_dir.path().to_owned();
        let root = home.join("repo");
        fs::create_dir_all(root.join("agents")).expect("a folder");
        let world = World { _home: home_dir, home, root };
        let write = |name: &str, text: &str| fs::write(world.root.join(name), text).expect("written");
        write("param", "10\n");
        write(".gitignore", "/bare/\n/bare.sh\n/ideas/\nresults.csv\n");
        write("sweep.sh", "printf 'score\\n%s\\n' \"$(cat param)\" > results.csv\n");
        write("baseline.csv", "score\n10\n");
        write("agents/planner.sh", "cat > /dev/null; printf 'PLAN\\n1. change param\\n\\nRISKS\\nnone\\n'\n");
        write("agents/coder.sh", "cat > /dev/null; echo 11 > param; echo changed it\n");
        write("agents/reviewer.sh", "cat > /dev/null; echo 'VERDICT: APPROVE'\n");
        let agent = |name: &str| format!("  {name}: {{command: [sh, agents/{name}.sh]}}\n");
        let providers: String = ["planner", "coder", "reviewer"].map(agent).concat();
        write(
            "liza.yaml",
            &format!(
                "version: 1\nproviders:\n{providers}experiment:\n  agents: {{planner: {{provider: planner}}, coder: {{provider: coder}}, reviewer: {{provider: reviewer}}}}\n  test_command: test -s param\n  sweep_command: sh sweep.sh\n  results_csv: results.csv\n  baseline_csv: baseline.csv\n  score: {{column: score}}\n"
            ),
        );
        for number in 0..files {
            let dir = world.root.join(format!("src/d{}", number / 100));
            fs::create_dir_all(&dir).expect("a folder");
            fs::write(dir.join(format!("f{number}.txt")), format!("file {number}\n")).expect("a file");
        }
        world.git(&["init", "-q", "-b", "main"]);
        world.git(&["add", "-A"]);
        world.git(&["commit", "-q", "-m", "start"]);
        ideas(&world, 0);
        world
    }
}

fn ideas(world: &World, round: usize) {
    let dir = world.root.join("ideas");
    fs::create_dir_all(&dir).expect("a folder");
    for nth in 1..=IDEAS {
        fs::write(dir.join(format!("{nth}.md")), format!("# Idea {nth}\nround {round}\n")).expect("an idea");
    }
}
