use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::cli::prelude::*;
use crate::cli::redteam::{ALL, Attack, Tried, Verdict, count, play_all};
use crate::host::anchored_path::Temporary;
use crate::supervise::child::end_descendants;
use crate::supervise::signals;

/// Attack throw-away repositories as a hostile agent
///
/// Runs hostile agents below real runners: they hide their origin, use the tokens of other agents, plant hooks,
/// filters and merge drivers, forge objects, gate passes and boards, and approve or merge their own work. Each attack
/// has its own repository and home in a temporary folder; it touches none of yours and uses no network. liza checks
/// every outcome from outside: the board, the journal, the branches and the person's files. An attack that this
/// machine does not allow is skipped by name. Exit 0 if every attack was refused or noticed, exit 1 if one succeeded.
///
/// Example: liza redteam --only no-identity --only merge-driver
#[derive(Args)]
pub struct RedteamArgs {
    /// Try only this attack; repeat
    #[arg(long, value_name = "ID")]
    pub only: Vec<String>,
    /// List the attacks; try none
    #[arg(long)]
    pub list: bool,
    /// Create the repositories here and keep them (default: a temporary folder, removed unless an attack succeeded)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub keep: Option<PathBuf>,
}

/// In debug builds: carries out the aim of each attack before the check, to show that every check can fail.
const WON: &str = "LIZA_TEST_REDTEAM_WON";

impl Execute for RedteamArgs {
    fn execute(&self, call: &Invocation) -> Result<Answer, Failure> {
        let chosen = self.chosen()?;
        if self.list {
            return Ok(list(&chosen));
        }
        if let Some(dir) = self.keep.as_ref().filter(|dir| dir.symlink_metadata().is_ok()) {
            return Err(Failure::usage(format!("{} exists already", dir.display()))
                .hint("name a folder that does not exist"));
        }
        let failed =
            |error| Failure::new(ErrorCode::IoFailed, format!("could not make a temporary folder: {error}"));
        let temporary = Temporary::new(&std::env::temp_dir(), "liza-redteam-").map_err(failed)?;
        let dir = self.keep.clone().unwrap_or_else(|| temporary.path().to_owned());
        std::fs::create_dir_all(&dir).map_err(|error| Failure::io("make", &dir, &error))?;
        let dir = dir.canonicalize().map_err(|error| Failure::io("find", &dir, &error))?;
        let signal = Arc::new(AtomicI32::new(0));
        let came = signal.clone();
        signals::forward(move |signal| came.store(signal, Ordering::Relaxed))
            .map_err(|error| Failure::new(ErrorCode::IoFailed, format!("cannot handle signals: {error}")))?;
        crate::host::adopt_orphans();
        let began = Instant::now();
        let won = cfg!(debug_assertions) && std::env::var_os(WON).is_some();
        let ui = call.ui;
        let tried = play_all(&chosen, &dir, &signal, won, &|tried| ui.narrate(&line(tried)));
        end_descendants();
        let signal = signal.load(Ordering::Relaxed);
        if signal != 0 {
            let data = json!({ "stopped": signal });
            return Ok(Answer::new(data, "stopped; every agent has ended").exit(exit_code(signal)));
        }
        let holds = tried.iter().all(|tried| tried.verdict.holds());
        let seconds = began.elapsed().as_secs_f64();
        let kept = self.keep.is_some() || !holds;
        let mut text = format!("{} in {seconds:.1} s: {}.\n", plural(tried.len(), "attack"), count(&tried));
        for tried in tried.iter().filter(|tried| !tried.verdict.holds()) {
            text.line(format!(
                "\n{}\n  promise: {}\n  look at: {}",
                line(tried),
                tried.promise,
                dir.join(tried.id).display()
            ));
        }
        if !holds {
            text.line("\nA promise does not hold on this machine. specs/redteam.md describes the folders.");
        } else if self.keep.is_some() {
            text.line(format!("The repositories are in {}.", dir.display()));
        }
        let data = json!({
            "holds": holds, "attacks": tried, "seconds": seconds, "repositories": kept.then(|| dir.to_string_lossy()),
        });
        if !holds {
            let _ = temporary.keep();
        }
        let broken = (!holds).then(|| {
            Failure::new(ErrorCode::RefusedFindings, "a promise does not hold on this machine")
                .hint("`data.attacks` names it; specs/redteam.md describes the folders")
        });
        Ok(Answer::new(data, text).failed_if(broken))
    }
}

impl RedteamArgs {
    fn chosen(&self) -> Result<Vec<&'static Attack>, Failure> {
        if let Some(unknown) = self.only.iter().find(|id| !ALL.iter().any(|attack| attack.id == id.as_str()))
        {
            return Err(Failure::usage(format!("there is no attack `{unknown}`"))
                .hint("`liza redteam --list` names them all"));
        }
        let is_chosen = |attack: &&Attack| self.only.is_empty() || self.only.iter().any(|id| id == attack.id);
        Ok(ALL.iter().filter(is_chosen).collect())
    }
}

fn list(chosen: &[&'static Attack]) -> Answer {
    let mut text = String::new();
    for attack in chosen {
        text.line(format!("{}  {}", pad_to(attack.id, 22), attack.attempt()));
        text.line(format!("{}  {}", pad_to("", 22), attack.promise()));
    }
    let rows: Vec<Value> = chosen
        .iter()
        .map(|attack| json!({ "id": attack.id, "promise": attack.promise(), "attack": attack.attempt() }))
        .collect();
    Answer::new(json!({ "attacks": rows }), text)
}

fn line(tried: &Tried) -> String {
    let (word, by) = tried.verdict.words();
    let by = match &tried.verdict {
        Verdict::Refused(_) | Verdict::Noticed(_) => format!("by: {by}"),
        _ => by.to_owned(),
    };
    format!("{}  {}  {}\n{}  {}", pad_to(word, 11), pad_to(tried.id, 22), tried.attack, pad_to("", 35), by)
}
