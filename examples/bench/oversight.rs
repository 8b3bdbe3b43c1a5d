//! The cost of oversight of healthy agents: the looks of their runners and of the run.

use std::time::Duration;

use super::team::{add, going, play_with};
use super::*;

const AGENTS: usize = 10;
/// The overseer looks ten times as often as by default; the reported cost is that of the default interval.
const EVERY_SECONDS: u64 = 1;
const DEFAULT_SECONDS: f64 = 10.0;

/// An agent that prints a line every second and changes nothing.
const AGENT: &str = r#"touch "$OUT/$LIZA_AGENT_ID"; while :; do echo at work; sleep 1; done"#;

impl Bench {
    pub fn oversight(&mut self) {
        let seconds = if self.quick { 15 } else { 60 };
        let files: &[usize] = if self.quick { &[50] } else { &[50, 10_000] };
        for count in files {
            let [without, with] = [false, true].map(|enabled| self.cost_of_looking(*count, enabled, seconds));
            let looks = seconds as f64 / EVERY_SECONDS as f64;
            let a_minute = with.saturating_sub(without) as f64 / looks * 60.0 / DEFAULT_SECONDS;
            let figures = format!(
                "{a_minute:.0} ms of CPU in a minute ({:.2} %), of {with} ms against {without} ms in {seconds} s with a look every {EVERY_SECONDS} s",
                a_minute / 600.0
            );
            self.figures("overseer's own CPU", &format!("{AGENTS} agents, {count} files"), &figures);
        }
    }

    /// Milliseconds of CPU that a run and its runners use in that time, including their ended children.
    fn cost_of_looking(&self, files: usize, enabled: bool, seconds: u64) -> u64 {
        let world = self.world(files);
        let out = world.home.join("out");
        fs::create_dir_all(&out).expect("a folder");
        play_with(
            &world,
            &format!("OUT='{}'\n{AGENT}", out.display()),
            &format!("overseer: {{ enabled: {enabled}, check_interval_seconds: {EVERY_SECONDS} }}\n"),
        );
        for number in 0..AGENTS {
            add(self, &world, &format!("t{number}"), true);
        }
        let team = format!("coder={AGENTS}");
        let run = going(self, &world, &["run", "--window", "12", "--team", &team]);
        while fs::read_dir(&out).expect("a folder").count() < AGENTS {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_secs(2));
        let pids = || {
            let mut pids = children_of(run.child.id());
            pids.push(run.child.id());
            pids
        };
        let before: u64 = pids().into_iter().map(used).sum();
        std::thread::sleep(Duration::from_secs(seconds));
        let after: u64 = pids().into_iter().map(used).sum();
        run.end();
        (after - before) * 10
    }
}

fn children_of(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads
        .flat_map(|thread| {
            let listed = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            listed.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()
        })
        .collect()
}

/// Ticks of a process and of the children it has waited for.
fn used(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let Some((_, after)) = stat.rsplit_once(')') else { return 0 };
    after.split_whitespace().skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum()
}
