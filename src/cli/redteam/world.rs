//! The throw-away repository of one attack, and its steps.

use std::sync::atomic::{AtomicI32, Ordering};

use super::untouched::{Snapshot, forbidden_changes};
use super::{Attack, Verdict};
use crate::cli::demo::isolated;
use crate::cli::prelude::*;
use crate::host::{Program, Streams, this_program};
use crate::supervise::Event;

/// How long a step may take. The longest takes 5 s on an idle machine, 3 s of them pauses of a runner after crashes.
const PATIENCE: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(5);

const SCRIPTS: [(&str, &str); 4] = [
    ("common.sh", include_str!("../../../templates/redteam/common.sh")),
    ("agent.sh", include_str!("../../../templates/redteam/agent.sh")),
    ("world.sh", include_str!("../../../templates/redteam/world.sh")),
    ("play.sh", include_str!("../../../templates/redteam/play.sh")),
];

/// The repository, home and scripts of one attack.
pub struct World<'a> {
    attack: &'a Attack,
    dir: PathBuf,
    signal: &'a AtomicI32,
}

impl<'a> World<'a> {
    pub fn build(attack: &'a Attack, dir: PathBuf, signal: &'a AtomicI32) -> std::io::Result<Self> {
        let world = Self { attack, dir, signal };
        for name in ["repository", "home", "tmp", "out", "scripts", "bin"] {
            std::fs::create_dir_all(world.dir.join(name))?;
        }
        let quoted =
            |name: &str| format!("'{}'", world.dir.join(name).display().to_string().replace('\'', "'\\''"));
        for (name, text) in SCRIPTS.iter().chain([&("attack.sh", attack.script)]) {
            let text = text
                .replace("@OUT@", &quoted("out"))
                .replace("@ROOT@", &quoted("repository"))
                .replace("@HOME@", &quoted("home"))
                .replace("@SCRIPTS@", &quoted("scripts"));
            std::fs::write(world.dir.join("scripts").join(name), text)?;
        }
        Ok(world)
    }

    pub fn root(&self) -> PathBuf {
        self.dir.join("repository")
    }

    fn out(&self, name: &str) -> String {
        let bytes = std::fs::read(self.dir.join("out").join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The last line that a step printed; for a runner the text of its last event, which says what it waits for.
    fn last_words(&self, step: &str) -> String {
        let said = self.out(&format!("{step}.log"));
        let Some(line) = said.lines().rfind(|line| !line.trim().is_empty()) else { return String::new() };
        let text = serde_json::from_str::<Event>(line).map_or(line.to_owned(), |event| event.text);
        format!("; its last line: {}", clipped(&shown_line(&text), 200))
    }

    /// Plays one step; an error if it does not end.
    fn step(&self, step: &str) -> Result<bool, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut all = vec![self.dir.join("bin")];
        all.extend(std::env::split_paths(&path));
        let dir = |name: &str| self.dir.join(name);
        let program = isolated(Program::new("sh"), &self.root(), &dir("home"), &dir("tmp"))
            .env("PATH", std::env::join_paths(all).unwrap_or(path))
            .env("ROOT", self.root())
            .env("OUT", dir("out"))
            .env("BIN", dir("bin"))
            .env("PROGRAM", this_program())
            .env("SCRIPTS", dir("scripts"))
            .arg(dir("scripts/play.sh"))
            .arg(step)
            .streams(Streams::OutputOnly);
        let mut child = program.start().map_err(|error| format!("sh cannot be run: {error}"))?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status.success()),
                Ok(None) if self.signal.load(Ordering::Relaxed) != 0 => {
                    child.end();
                    return Err("interrupted by a signal".to_owned());
                }
                Ok(None) if Instant::now() > deadline => {
                    child.end();
                    let last = self.last_words(step);
                    return Err(format!(
                        "the step `{step}` did not end within {} s{last}",
                        PATIENCE.as_secs()
                    ));
                }
                Ok(None) => std::thread::sleep(LOOK),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// Plays the whole attack and judges its outcome. With `won` a step disables a protection or carries out the aim of the
    /// attack: the verdict must then be NOT refused.
    pub fn play(&self, won: bool) -> Verdict {
        self.steps(won).unwrap_or_else(Verdict::NotTried)
    }

    fn steps(&self, won: bool) -> Result<Verdict, String> {
        self.step("needs")?;
        let needs = self.out("needs.log");
        if let Some(why) = needs.lines().next() {
            return Ok(Verdict::Skipped(why.to_owned()));
        }
        if !self.step("world")? {
            return Err(format!("could not make the repository: {}", self.out("world.err").trim()));
        }
        if won {
            std::fs::write(self.dir.join("out/weakened"), "").map_err(|error| error.to_string())?;
        }
        let before = Snapshot::take(&self.root());
        for (number, step) in self.attack.play().iter().enumerate() {
            // The agent decides how its session ends; only the final state decides about the attack.
            self.step(step)?;
            if won && number == 0 {
                self.step("won")?;
            }
        }
        if won {
            self.step("won_last")?;
        }
        let changes = forbidden_changes(&self.root(), &before, self.attack);
        self.step("outcome")?;
        Ok(Verdict::of(&self.out("outcome.log"), &changes))
    }
}
