//! Where gates run: private worktrees `.worktrees/.gates/1`, `2`, …, each used by one at a time and used again.

use super::seen::{self, Snapshot};
use crate::flow::accounts::GATES;
use crate::flow::interruption::as_usual;
use crate::flow::prelude::*;
use crate::flow::shell;
use crate::git::private::{self, Entry, Private};
use crate::git::settings::Settings;
use crate::store::lock::SideLock;

/// More gates at the same time than this are a mistake of somebody's.
const MOST: usize = 64;
/// So many places that cannot be emptied are passed over.
const MOST_SPOILT: usize = 8;
/// The detail that names such a place.
const NOT_EMPTIED: &str = "not_emptied";
/// How long what a killed process started here may take to end.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(10);

pub struct Place<'a> {
    ctx: &'a Context,
    commit: &'a CommitId,
    keep: &'a [String],
    pub path: PathBuf,
    number: usize,
    /// Nobody else has this place while it is held.
    _held: SideLock,
    /// Liza's own index of it.
    index: PathBuf,
    /// What is in the commit.
    entries: Vec<Entry>,
    /// How its files looked when it had just been settled.
    untouched: Snapshot,
    /// What the repository said before a gate ran.
    settings: Settings,
    /// A gate ran since it was cleaned.
    used: bool,
    /// What was put there for all gates that are asked now; none if that is still to be done.
    prepared: Option<Vec<String>>,
}

/// What a gate did to the tree it was to judge, or to the repository.
pub enum Disturbed {
    /// The directory is gone, or is no worktree any more.
    Gone,
    HeadMoved(CommitId),
    Changed(Vec<String>),
    Settings(Vec<String>),
}

impl<'a> Place<'a> {
    /// The first place that is free, brought to exactly this commit.
    pub fn take(ctx: &'a Context, commit: &'a CommitId, keep: &'a [String]) -> Result<Self> {
        let home = ctx.machine.worktrees().join(GATES);
        ctx.machine.make_worktrees_dir(&home)?;
        crate::store::files::make_private_dirs(&ctx.machine.gates())?;
        let mut entries = private::entries(&ctx.repo, commit)?;
        check_kept(keep, &entries)?;
        let mut spoilt = 0;
        for number in 1..=MOST {
            let held = match ctx.machine.take_gate_place(number) {
                Ok(held) => held,
                Err(StoreError::Busy { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            await_orphans(ctx.machine.home())?;
            let mut place = Self {
                ctx,
                commit,
                keep,
                path: home.join(number.to_string()),
                number,
                _held: held,
                index: ctx.machine.gates().join(format!("index-{number}")),
                untouched: Snapshot::take(&home, &[]),
                entries,
                settings: Settings::default(),
                used: false,
                prepared: None,
            };
            match place.settle() {
                Ok(()) => return Ok(place),
                // What a test left there concerns this place alone: the next one is as good.
                Err(failure) if failure.details.contains_key(NOT_EMPTIED) && spoilt < MOST_SPOILT => {
                    ctx.narrate(format!("{}; the gates run in another place", failure.message));
                    spoilt += 1;
                    entries = std::mem::take(&mut place.entries);
                }
                Err(failure) => return Err(failure),
            }
        }
        Err(failure!(ErrorCode::BusyGates, "gates run in {MOST} places at once; there is no further one")
            .hint("wait for some of them to end"))
    }

    /// Does something with git, and leaves nothing of what that started.
    fn with<T, E: From<GitError>>(&self, act: impl FnOnce(&Private<'_>) -> Result<T, E>) -> Result<T, E> {
        let board = self.ctx.machine.home();
        let place = Private { repo: &self.ctx.repo, path: &self.path, index: &self.index, board };
        shell::leaving_nothing(|| act(&place))
    }

    /// Brings it to the commit; where that cannot be done, it is made anew.
    fn settle(&mut self) -> Result<()> {
        self.used = false;
        self.prepared = None;
        if !as_usual(|| self.settle_there()).unwrap_or(false) {
            self.make()?;
        }
        self.untouched = Snapshot::take(&self.path, &self.entries);
        Ok(())
    }

    fn settle_there(&self) -> Result<bool, GitError> {
        self.with(|place| {
            if !place.is_usable()? {
                return Ok(false);
            }
            place.put_at(self.commit)?;
            place.clean(self.keep).map(|()| seen::is_whole(&self.path, &self.entries))
        })
    }

    fn make(&self) -> Result<()> {
        as_usual(|| self.make_anew())
    }

    fn make_anew(&self) -> Result<()> {
        let ctx = self.ctx;
        let one_at_a_time = ctx.machine.lock_worktrees()?;
        ctx.machine.make_trash()?;
        self.with(|place| place.remove()).map_err(|error: GitError| {
            let path = self.path.display().to_string();
            failure!(ErrorCode::GitWorktree, "a place for gates cannot be emptied: {error}")
                .hint("`liza doctor` names it; take what is in the way out, then run `liza doctor --fix`")
                .detail(NOT_EMPTIED, path)
        })?;
        ctx.check_disk()?;
        let worktrees = ctx.worktrees();
        let owner = format!("gates {}", self.number);
        shell::leaving_nothing(|| {
            worktrees.add_private(&self.path, self.commit, &owner, ctx.machine.home())
        })?;
        // Only this process uses this place, so its files are written without the lock.
        drop(one_at_a_time);
        self.with(|place| place.put_at(self.commit))?;
        Ok(())
    }

    /// Takes away what the last gate left, and looks what the repository says.
    pub fn ready(&mut self) -> Result<&Path> {
        let kept: Vec<String> = self.keep.iter().chain(self.prepared.iter().flatten()).cloned().collect();
        if self.used && as_usual(|| self.with(|place| place.clean(&kept))).is_err() {
            self.settle()?;
        }
        if self.with(|place| place.hand_over_index()).is_err() {
            self.prepared = None;
            self.make()?;
            self.untouched = Snapshot::take(&self.path, &self.entries);
            self.with(|place| place.hand_over_index())?;
        }
        self.settings = Settings::of(&self.ctx.repo)?;
        self.used = true;
        self.prepare()?;
        Ok(&self.path)
    }

    /// Prepares it once for all gates that are asked now. What judges must be the tree that is asked about.
    fn prepare(&mut self) -> Result<()> {
        let config = self.ctx.project_config()?.worktrees;
        if self.prepared.is_some() || config.prepares_nothing() {
            return Ok(());
        }
        let log = self.ctx.machine.gates().join("logs").join(format!("setup-{}.log", self.number));
        let prepared = crate::flow::prepare::prepare(self.ctx, &config, &self.path, &log)?;
        if self.disturbed()?.is_some() {
            return Err(failure!(
                Code::GateNotRun,
                "`worktrees.setup` changed the tree or the repository that gates judge"
            )
            .hint(format!("read {}", log.display())));
        }
        self.prepared = Some(prepared);
        Ok(())
    }

    /// Looks whether the tree is still what was to be judged, and puts it back if not.
    pub fn disturbed(&mut self) -> Result<Option<Disturbed>> {
        let changed = Settings::of(&self.ctx.repo)?.changed_since(&self.settings);
        if !changed.is_empty() {
            self.make()?;
            self.used = false;
            self.untouched = Snapshot::take(&self.path, &self.entries);
            return Ok(Some(Disturbed::Settings(changed)));
        }
        let found = match self.with(|place| if place.is_sound() { place.head().map(Some) } else { Ok(None) })
        {
            Err(_) | Ok(None) => Some(Disturbed::Gone),
            Ok(Some(head)) if &head != self.commit => Some(Disturbed::HeadMoved(head)),
            Ok(Some(_)) => return self.changed(),
        };
        self.settle()?;
        Ok(found)
    }

    /// Which tracked files are not as they were. Some are only touched: then git writes the same again.
    fn changed(&mut self) -> Result<Option<Disturbed>> {
        let suspects = self.untouched.suspects(&self.path, &self.entries);
        if suspects.is_empty() {
            return Ok(None);
        }
        let paths: Vec<PathBuf> = suspects.iter().map(|entry| entry.path.clone()).collect();
        let read = |path: &PathBuf| seen::inside(&self.path.join(path));
        let before: Vec<seen::Inside> = paths.iter().map(read).collect();
        for path in &paths {
            let _ = fs::remove_file(self.path.join(path));
        }
        self.settle()?;
        let read = |path: &PathBuf| seen::inside(&self.path.join(path));
        let differs = |(path, before): (&PathBuf, seen::Inside)| {
            (read(path) != before).then(|| path.to_string_lossy().into_owned())
        };
        let changed: Vec<String> = paths.iter().zip(before).filter_map(differs).collect();
        Ok((!changed.is_empty()).then_some(Disturbed::Changed(changed)))
    }

    /// Whether a path of the tree that is judged is this one.
    pub fn is_tracked(&self, path: &str) -> bool {
        self.entries.iter().any(|entry| entry.path == Path::new(path))
    }
}

impl Drop for Place<'_> {
    /// What a gate leaves takes room until the next one comes, and that may be long.
    fn drop(&mut self) {
        if self.used
            && self.with(|place| place.clean(self.keep)).is_err()
            && let Ok(_one_at_a_time) = self.ctx.machine.lock_worktrees()
        {
            // Git cannot delete it, or there is no worktree any more; the next gates make it anew.
            let _ = self.with(|place| place.remove());
        }
    }
}

/// What is kept is never brought to the commit's state, so nothing of the commit may be in it.
fn check_kept(keep: &[String], entries: &[Entry]) -> Result<()> {
    for dir in keep {
        let below = Path::new(dir.trim_start_matches("./").trim_end_matches('/'));
        if let Some(entry) = entries.iter().find(|entry| entry.path.starts_with(below)) {
            return Err(failure!(ErrorCode::UsageConfig, "gating: keep `{dir}`: git tracks `{}`, and only directories without tracked files can be kept",
                    entry.path.display())
            .hint("take it out of `gating.keep` in liza.yaml"));
        }
    }
    Ok(())
}

/// Whoever was killed while it used a place leaves a holder that ends what it holds, and until then that may write there.
fn await_orphans(board: &Path) -> Result<()> {
    let deadline = Instant::now() + ORPHAN_PATIENCE;
    while crate::host::has_orphaned_holder(board) {
        if Instant::now() > deadline {
            return Err(Failure::new(
                ErrorCode::BusyGates,
                "a gate that was left over by a killed process does not end",
            )
            .hint("look for processes called `liza __hold`"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
