//! Gate worktrees: private worktrees `.worktrees/.gates/1`, `2`, …, each used by one process at a time and reused.

use super::tree_snapshot::{self, Snapshot};
use crate::flow::interruption::as_usual;
use crate::flow::ownership::GATES;
use crate::flow::prelude::*;
use crate::flow::shell;
use crate::git::private::{self, Entry, Private};
use crate::git::settings::Settings;
use crate::store::lock::SideLock;

/// More gates than this at the same time are a mistake.
const MOST: usize = 64;
/// At most this many worktrees that cannot be cleaned are skipped.
const MOST_SPOILT: usize = 8;
/// The detail that names such a worktree.
const NOT_EMPTIED: &str = "not_emptied";
/// How long processes left by a killed process may take to end.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(10);

pub struct GateWorktree<'a> {
    ctx: &'a Context,
    commit: &'a CommitId,
    keep: &'a [String],
    pub path: PathBuf,
    number: usize,
    /// Excludes other processes from this worktree while it is held.
    _held: SideLock,
    /// Liza's own index of the worktree.
    index: PathBuf,
    /// The entries of the commit.
    entries: Vec<Entry>,
    /// The state of its files right after the checkout.
    untouched: Snapshot,
    /// The repository's settings before a gate ran.
    settings: Settings,
    /// Whether a gate ran since it was cleaned.
    used: bool,
    /// Prepared paths for all gates of this run; none before the preparation.
    prepared: Option<Vec<String>>,
}

/// What a gate did to the tree under test, or to the repository.
pub enum Disturbed {
    /// The directory is gone, or no longer a worktree.
    Gone,
    HeadMoved(CommitId),
    Changed(Vec<String>),
    Settings(Vec<String>),
}

impl<'a> GateWorktree<'a> {
    /// Takes the first free worktree and moves it to exactly this commit.
    pub fn take(ctx: &'a Context, commit: &'a CommitId, keep: &'a [String]) -> Result<Self> {
        let home = ctx.machine.worktrees().join(GATES);
        ctx.machine.make_worktrees_dir(&home)?;
        crate::store::files::make_private_dirs(ctx.machine.home(), &ctx.machine.gates())?;
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
            let mut worktree = Self {
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
            match worktree.move_to_commit() {
                Ok(()) => return Ok(worktree),
                // Only this worktree cannot be cleaned; the next one can be used.
                Err(failure) if failure.details.contains_key(NOT_EMPTIED) && spoilt < MOST_SPOILT => {
                    ctx.narrate(format!("{}; the gates run in another worktree", failure.message));
                    spoilt += 1;
                    entries = std::mem::take(&mut worktree.entries);
                }
                Err(failure) => return Err(failure),
            }
        }
        Err(failure!(ErrorCode::BusyGates, "gates already run in {MOST} worktrees, which is the limit")
            .hint("wait for some of them to end"))
    }

    /// Runs git, and ends all processes that it started.
    fn with<T, E: From<GitError>>(&self, act: impl FnOnce(&Private<'_>) -> Result<T, E>) -> Result<T, E> {
        let board = self.ctx.machine.home();
        let private = Private { repo: &self.ctx.repo, path: &self.path, index: &self.index, board };
        shell::leaving_nothing(|| act(&private))
    }

    /// Moves the worktree to the commit; if that fails, makes it again.
    fn move_to_commit(&mut self) -> Result<()> {
        self.used = false;
        self.prepared = None;
        if !as_usual(|| self.move_existing()).unwrap_or(false) {
            self.make()?;
        }
        self.untouched = Snapshot::take(&self.path, &self.entries);
        Ok(())
    }

    fn move_existing(&self) -> Result<bool, GitError> {
        self.with(|private| {
            if !private.is_usable()? {
                return Ok(false);
            }
            private.put_at(self.commit)?;
            private.clean(self.keep).map(|()| tree_snapshot::is_whole(&self.path, &self.entries))
        })
    }

    fn make(&self) -> Result<()> {
        as_usual(|| self.make_locked())
    }

    fn make_locked(&self) -> Result<()> {
        let ctx = self.ctx;
        let one_at_a_time = ctx.machine.lock_worktrees()?;
        ctx.machine.make_trash()?;
        self.with(|private| private.remove()).map_err(|error: GitError| {
            let path = self.path.display().to_string();
            failure!(ErrorCode::GitWorktree, "a gate worktree cannot be cleaned: {error}")
                .hint("`liza doctor` names the worktree; remove the cause, then run `liza doctor --fix`")
                .detail(NOT_EMPTIED, path)
        })?;
        ctx.check_disk()?;
        let worktrees = ctx.worktrees();
        let owner = format!("gates {}", self.number);
        shell::leaving_nothing(|| {
            worktrees.add_private(&self.path, self.commit, &owner, ctx.machine.home())
        })?;
        // Only this process uses this worktree, so its files are written without the lock.
        drop(one_at_a_time);
        self.with(|private| private.put_at(self.commit))?;
        Ok(())
    }

    /// Removes what the last gate left, and records the repository's settings.
    pub fn ready(&mut self) -> Result<&Path> {
        let kept: Vec<String> = self.keep.iter().chain(self.prepared.iter().flatten()).cloned().collect();
        if self.used && as_usual(|| self.with(|private| private.clean(&kept))).is_err() {
            self.move_to_commit()?;
        }
        if self.with(|private| private.hand_over_index()).is_err() {
            self.prepared = None;
            self.make()?;
            self.untouched = Snapshot::take(&self.path, &self.entries);
            self.with(|private| private.hand_over_index())?;
        }
        self.settings = Settings::of(&self.ctx.repo)?;
        self.used = true;
        self.prepare()?;
        Ok(&self.path)
    }

    /// Prepares it once for all gates of this run. Afterwards it must still be the tree under test.
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

    /// Checks whether the tree under test is unchanged, and restores it if not.
    pub fn disturbed(&mut self) -> Result<Option<Disturbed>> {
        let changed = Settings::of(&self.ctx.repo)?.changed_since(&self.settings);
        if !changed.is_empty() {
            self.make()?;
            self.used = false;
            self.untouched = Snapshot::take(&self.path, &self.entries);
            return Ok(Some(Disturbed::Settings(changed)));
        }
        let found =
            match self.with(|private| if private.is_sound() { private.head().map(Some) } else { Ok(None) }) {
                Err(_) | Ok(None) => Some(Disturbed::Gone),
                Ok(Some(head)) if &head != self.commit => Some(Disturbed::HeadMoved(head)),
                Ok(Some(_)) => return self.changed_files(),
            };
        self.move_to_commit()?;
        Ok(found)
    }

    /// Which tracked files have changed. Some are only touched: then git writes the same content again.
    fn changed_files(&mut self) -> Result<Option<Disturbed>> {
        let suspects = self.untouched.suspects(&self.path, &self.entries);
        if suspects.is_empty() {
            return Ok(None);
        }
        let paths: Vec<PathBuf> = suspects.iter().map(|entry| entry.path.clone()).collect();
        let read = |path: &PathBuf| tree_snapshot::content_of(&self.path.join(path));
        let before: Vec<tree_snapshot::FileContent> = paths.iter().map(read).collect();
        for path in &paths {
            let _ = fs::remove_file(self.path.join(path));
        }
        self.move_to_commit()?;
        let read = |path: &PathBuf| tree_snapshot::content_of(&self.path.join(path));
        let differs = |(path, before): (&PathBuf, tree_snapshot::FileContent)| {
            (read(path) != before).then(|| path.to_string_lossy().into_owned())
        };
        let changed: Vec<String> = paths.iter().zip(before).filter_map(differs).collect();
        Ok((!changed.is_empty()).then_some(Disturbed::Changed(changed)))
    }

    /// Whether the tree under test has this path.
    pub fn is_tracked(&self, path: &str) -> bool {
        self.entries.iter().any(|entry| entry.path == Path::new(path))
    }
}

impl Drop for GateWorktree<'_> {
    /// Files of a gate would take disk space until the next gate runs.
    fn drop(&mut self) {
        // Does not wait for the lock: after a signal nothing would end that wait, and the next gates clean it too.
        if self.used
            && self.with(|private| private.clean(self.keep)).is_err()
            && let Ok(_one_at_a_time) = self.ctx.machine.lock_worktrees_within(Duration::ZERO)
        {
            // Git cannot delete it, or the worktree is gone; the next gates make it again.
            let _ = self.with(|private| private.remove());
        }
    }
}

/// Kept directories are never reset to the commit, so they must not contain tracked files.
fn check_kept(keep: &[String], entries: &[Entry]) -> Result<()> {
    for dir in keep {
        let below = Path::new(dir.trim_start_matches("./").trim_end_matches('/'));
        if let Some(entry) = entries.iter().find(|entry| entry.path.starts_with(below)) {
            return Err(failure!(ErrorCode::UsageConfig, "gating: keep `{dir}`: git tracks `{}`, and only directories without tracked files can be kept",
                    entry.path.display())
            .hint("remove it from `gating.keep` in liza.yaml"));
        }
    }
    Ok(())
}

/// A process that was killed while using a worktree leaves a holder that ends its gate; until then that gate may
/// write here.
fn await_orphans(board: &Path) -> Result<()> {
    let deadline = Instant::now() + ORPHAN_PATIENCE;
    while crate::host::has_orphaned_holder(board) {
        if Instant::now() > deadline {
            return Err(Failure::new(ErrorCode::BusyGates, "the gate of a killed process does not end")
                .hint("look for processes called `liza __hold`"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
