//! Where gates run: private worktrees `.worktrees/.gates/1`, `2`, …, each used by one at a time and used again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::board::CommitId;
use crate::flow::accounts::GATES;
use crate::flow::context::Context;
use crate::flow::failure::Failure;
use crate::flow::interruption::as_usual;
use crate::flow::{runners, shell};
use crate::git::private::{self, Entry, Private};
use crate::git::settings::Settings;
use crate::git::{GitError, Worktrees};
use crate::store::StoreError;
use crate::store::lock::SideLock;

use super::seen::{self, Snapshot};

/// More gates at the same time than this are a mistake of somebody's.
const MOST: usize = 64;
const WORKTREE_PATIENCE: Duration = Duration::from_secs(300);
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
    /// How git is started here: filters are programs of somebody's choice, and they are nobody either.
    through: Vec<OsString>,
    /// What is in the commit.
    entries: Vec<Entry>,
    /// How its files looked when it had just been settled.
    untouched: Snapshot,
    /// What the repository said before a gate ran.
    settings: Settings,
    /// A gate ran since it was cleaned.
    used: bool,
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
    pub fn take(ctx: &'a Context, commit: &'a CommitId, keep: &'a [String]) -> Result<Self, Failure> {
        let home = ctx.worktrees_dir().join(GATES);
        crate::store::files::make_private_dirs(&home)?;
        crate::store::files::make_private_dirs(&ctx.store.layout().gates())?;
        let entries = private::entries(&ctx.repo, commit)?;
        check_kept(keep, &entries)?;
        for number in 1..=MOST {
            let since = crate::host::now().wall.to_string();
            let held = match runners::take_place(ctx.store.dir(), number, &since) {
                Ok(held) => held,
                Err(StoreError::Busy { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            await_orphans(ctx.store.dir())?;
            let mut place = Self {
                ctx,
                commit,
                keep,
                path: home.join(number.to_string()),
                number,
                _held: held,
                index: ctx.store.layout().gates().join(format!("index-{number}")),
                through: shell::holder_of(ctx.store.dir()),
                untouched: Snapshot::take(&home, &[]),
                entries,
                settings: Settings::default(),
                used: false,
            };
            place.settle()?;
            return Ok(place);
        }
        Err(Failure::new(
            "busy.gates",
            format!("gates run in {MOST} places at once; there is no further one"),
        )
        .hint("wait for some of them to end"))
    }

    /// Does something with git, and leaves nothing of what that started.
    fn with<T, E: From<GitError>>(&self, act: impl FnOnce(&Private<'_>) -> Result<T, E>) -> Result<T, E> {
        let place =
            Private { repo: &self.ctx.repo, path: &self.path, index: &self.index, through: &self.through };
        shell::leaving_nothing(|| act(&place))
    }

    /// Brings it to the commit; where that cannot be done, it is made anew.
    fn settle(&mut self) -> Result<(), Failure> {
        self.used = false;
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

    fn make(&self) -> Result<(), Failure> {
        as_usual(|| self.make_anew())
    }

    fn make_anew(&self) -> Result<(), Failure> {
        let ctx = self.ctx;
        let _one_at_a_time = SideLock::acquire(&ctx.store.layout().worktree_lock(), WORKTREE_PATIENCE)?;
        let (home, trash) = (ctx.worktrees_dir(), ctx.store.layout().trash());
        crate::store::files::make_private_dirs(&trash)?;
        self.with(|place| place.remove())?;
        ctx.check_disk()?;
        let worktrees = Worktrees::new(&ctx.repo, &home, &trash);
        let owner = format!("gates {}", self.number);
        shell::leaving_nothing(|| worktrees.add_private(&self.path, self.commit, &owner, &self.through))?;
        self.with(|place| place.put_at(self.commit))?;
        Ok(())
    }

    /// Takes away what the last gate left, and looks what the repository says.
    pub fn ready(&mut self) -> Result<&Path, Failure> {
        if self.used && as_usual(|| self.with(|place| place.clean(self.keep))).is_err() {
            self.settle()?;
        }
        if self.with(|place| place.hand_over_index()).is_err() {
            self.make()?;
            self.untouched = Snapshot::take(&self.path, &self.entries);
            self.with(|place| place.hand_over_index())?;
        }
        self.settings = Settings::of(&self.ctx.repo)?;
        self.used = true;
        Ok(&self.path)
    }

    /// Looks whether the tree is still what was to be judged, and puts it back if not.
    pub fn disturbed(&mut self) -> Result<Option<Disturbed>, Failure> {
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
    fn changed(&mut self) -> Result<Option<Disturbed>, Failure> {
        let suspects = self.untouched.suspects(&self.path, &self.entries);
        if suspects.is_empty() {
            return Ok(None);
        }
        let paths: Vec<PathBuf> = suspects.iter().map(|entry| entry.path.clone()).collect();
        let read = |path: &PathBuf| seen::inside(&self.path.join(path));
        let before: Vec<seen::Inside> = paths.iter().map(read).collect();
        for path in &paths {
            let _ = std::fs::remove_file(self.path.join(path));
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
        if self.used {
            let _ = self.with(|place| place.clean(self.keep));
        }
    }
}

/// What is kept is never brought to the commit's state, so nothing of the commit may be in it.
fn check_kept(keep: &[String], entries: &[Entry]) -> Result<(), Failure> {
    for dir in keep {
        let below = Path::new(dir.trim_start_matches("./").trim_end_matches('/'));
        if let Some(entry) = entries.iter().find(|entry| entry.path.starts_with(below)) {
            return Err(Failure::new(
                "usage.config",
                format!(
                    "gating: keep `{dir}`: git tracks `{}`, and only directories without tracked files can be kept",
                    entry.path.display()
                ),
            )
            .hint("take it out of `gating.keep` in liza.yaml"));
        }
    }
    Ok(())
}

/// Whoever was killed while it used a place leaves a holder that ends what it holds, and until then that may write there.
fn await_orphans(board: &Path) -> Result<(), Failure> {
    let deadline = Instant::now() + ORPHAN_PATIENCE;
    while crate::host::has_orphaned_holder(board) {
        if Instant::now() > deadline {
            return Err(Failure::new(
                "busy.gates",
                "a gate that was left over by a killed process does not end",
            )
            .hint("look for processes called `liza __hold`"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
