//! The throw-away repository of one attack, and its steps.

use std::sync::atomic::{AtomicI32, Ordering};

use super::untouched::{Snapshot, touched};
use super::{Attack, Verdict};
use crate::cli::demo::apart;
use crate::cli::prelude::*;
use crate::host::{Program, Streams, this_program};
use crate::supervise::Event;

/// So long a step may take. On an idle machine the longest takes 5 s, of which a runner's pauses after crashes are 3 s.
const PATIENCE: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(5);

const SCRIPTS: [(&str, &str); 4] = [
    ("common.sh", include_str!("../../../templates/redteam/common.sh")),
    ("agent.sh", include_str!("../../../templates/redteam/agent.sh")),
    ("world.sh", include_str!("../../../templates/redteam/world.sh")),
    ("play.sh", include_str!("../../../templates/redteam/play.sh")),
];

/// Where one attack takes place.
pub struct World<'a> {
    attack: &'a Attack,
    place: PathBuf,
    signal: &'a AtomicI32,
}

impl<'a> World<'a> {
    pub fn build(attack: &'a Attack, place: PathBuf, signal: &'a AtomicI32) -> std::io::Result<Self> {
        let world = Self { attack, place, signal };
        for name in ["repository", "home", "tmp", "out", "scripts", "bin"] {
            std::fs::create_dir_all(world.place.join(name))?;
        }
        let quoted =
            |name: &str| format!("'{}'", world.place.join(name).display().to_string().replace('\'', "'\\''"));
        for (name, text) in SCRIPTS.iter().chain([&("attack.sh", attack.script)]) {
            let text = text
                .replace("@OUT@", &quoted("out"))
                .replace("@ROOT@", &quoted("repository"))
                .replace("@HOME@", &quoted("home"))
                .replace("@SCRIPTS@", &quoted("scripts"));
            std::fs::write(world.place.join("scripts").join(name), text)?;
        }
        Ok(world)
    }

    pub fn root(&self) -> PathBuf {
        self.place.join("repository")
    }

    fn out(&self, name: &str) -> String {
        let bytes = std::fs::read(self.place.join("out").join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// What a step said last: of a runner, the text of its last event, which says what it waits for.
    fn last_words(&self, step: &str) -> String {
        let said = self.out(&format!("{step}.log"));
        let Some(line) = said.lines().rfind(|line| !line.trim().is_empty()) else { return String::new() };
        let text = serde_json::from_str::<Event>(line).map_or(line.to_owned(), |event| event.text);
        format!("; it said last: {}", clipped(&shown_line(&text), 200))
    }

    /// Plays one step; why not, if it does not come to an end.
    fn step(&self, step: &str) -> Result<bool, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut all = vec![self.place.join("bin")];
        all.extend(std::env::split_paths(&path));
        let place = |name: &str| self.place.join(name);
        let program = apart(Program::new("sh"), &self.root(), &place("home"), &place("tmp"))
            .env("PATH", std::env::join_paths(all).unwrap_or(path))
            .env("ROOT", self.root())
            .env("OUT", place("out"))
            .env("BIN", place("bin"))
            .env("PROGRAM", this_program())
            .env("SCRIPTS", place("scripts"))
            .arg(place("scripts/play.sh"))
            .arg(step)
            .streams(Streams::OutputOnly);
        let mut child = program.start().map_err(|error| format!("sh cannot be run: {error}"))?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status.success()),
                Ok(None) if self.signal.load(Ordering::Relaxed) != 0 => {
                    child.end();
                    return Err("it was interrupted".to_owned());
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

    /// Plays the whole attack and judges what became of it. With `won` a protection is taken away, or what the attack is
    /// after is done: what is judged then must have got through.
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
            return Err(format!("no repository could be made: {}", self.out("world.err").trim()));
        }
        if won {
            std::fs::write(self.place.join("out/weakened"), "").map_err(|error| error.to_string())?;
        }
        let before = Snapshot::take(&self.root());
        for (number, step) in self.attack.play().iter().enumerate() {
            // How a session ends is the agent's; what became of the attack is seen in the end.
            self.step(step)?;
            if won && number == 0 {
                self.step("won")?;
            }
        }
        if won {
            self.step("won_last")?;
        }
        let touched = touched(&self.root(), &before, self.attack);
        self.step("outcome")?;
        Ok(Verdict::of(&self.out("outcome.log"), &touched))
    }
}
