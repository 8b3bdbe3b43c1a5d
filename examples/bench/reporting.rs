//! The cost of the full report compared with `status`, on a board of a thousand tasks with histories.

use super::*;

impl Bench {
    pub fn reporting(&mut self) {
        let count = if self.quick { 100 } else { 1_000 };
        let world = self.world(50);
        self.fill(&world, count);
        let coder = self.register(&world, "coder");
        // Some tasks get a long history.
        for number in 0..count.min(20) {
            let id = format!("task-{number}");
            world.run(&self.liza, &world.root, Some(&coder), &["task", "claim", &id]);
            world.run(&self.liza, &world.root, Some(&coder), &["task", "release", &id]);
        }
        let label = format!("{count} tasks");
        let rows: [(&str, &[&str]); 3] = [
            ("report --format json", &["report", "--format", "json"]),
            ("report --format markdown", &["report", "--format", "markdown"]),
            ("metrics", &["metrics"]),
        ];
        for (name, args) in rows {
            let (ms, floor) = self.pair(
                15,
                |_| drop(world.run(&self.liza, &world.root, None, args)),
                |_| drop(world.run(&self.liza, &world.root, None, &["status"])),
            );
            self.row(name, &label, ms, "status", floor);
        }
    }
}
