//! Where gates run: private worktrees `.worktrees/.gates/1`, `2`, …, each used by one at a time and used again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::board::CommitId;
use crate::flow::accounts::GATES;
use crate::flow::context::Context;
use crate::flow::failure::Failure;
use crate::flow::runners;
use crate::git::private::{self, Look};
use crate::git::{GitError, Worktrees};
use crate::store::StoreError;
use crate::store::lock::SideLock;

/// More gates at the same time than this are a mistake of somebody's.
const MOST: usize = 64;
const WORKTREE_PATIENCE: Duration = Duration::from_secs(300);

pub struct Place<'a> {
    ctx: &'a Context,
    commit: &'a CommitId,
    keep: &'a [String],
    pub path: PathBuf,
    number: usize,
    /// Nobody else has this place while it is held.
    _held: SideLock,
    /// How it looked when it had just been made: some repositories have files that are never quite as git wants them.
    untouched: Look,
    /// A gate ran since it was cleaned.
    used: bool,
}

/// What a gate did to the tree it was to judge.
pub enum Disturbed {
    /// The directory is gone, or is no worktree any more.
    Gone,
    HeadMoved(CommitId),
    Changed(Vec<String>),
}

impl<'a> Place<'a> {
    /// The first place that is free, brought to exactly this commit.
    pub fn take(ctx: &'a Context, commit: &'a CommitId, keep: &'a [String]) -> Result<Self, Failure> {
        let home = ctx.worktrees_dir().join(GATES);
        crate::store::files::make_private_dirs(&home)?;
        for number in 1..=MOST {
            let held = match runners::take_place(ctx.store.dir(), number, &ctx.now.wall.to_string()) {
                Ok(held) => held,
                Err(StoreError::Busy { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            let path = home.join(number.to_string());
            let nothing = Look { head: commit.clone(), changed: Vec::new(), hidden: Vec::new() };
            let mut place =
                Self { ctx, commit, keep, path, number, _held: held, untouched: nothing, used: false };
            place.settle()?;
            return Ok(place);
        }
        Err(Failure::new(
            "busy.gates",
            format!("gates run in {MOST} places at once; there is no further one"),
        )
        .hint("wait for some of them to end"))
    }

    /// Brings it to the commit; where that cannot be done, it is made anew.
    fn settle(&mut self) -> Result<(), Failure> {
        self.used = false;
        let again = self.settle_there();
        if matches!(&again, Ok(Some(look)) if is_clean(look, self.commit)) {
            return Ok(());
        }
        self.make()?;
        self.untouched = private::look(&self.path)?;
        Ok(())
    }

    fn settle_there(&self) -> Result<Option<Look>, GitError> {
        if !private::check_usable(&self.ctx.repo, &self.path)? {
            return Ok(None);
        }
        private::put_at(&self.path, self.commit)?;
        private::clean(&self.path, self.keep)?;
        private::look(&self.path).map(Some)
    }

    fn make(&self) -> Result<(), Failure> {
        let ctx = self.ctx;
        let _one_at_a_time = SideLock::acquire(&ctx.store.layout().worktree_lock(), WORKTREE_PATIENCE)?;
        let (home, trash) = (ctx.worktrees_dir(), ctx.store.layout().trash());
        crate::store::files::make_private_dirs(&trash)?;
        let worktrees = Worktrees::new(&ctx.repo, &home, &trash);
        worktrees.remove_to_trash(&self.path)?;
        worktrees.add_private(&self.path, self.commit, &format!("gates {}", self.number))?;
        Ok(())
    }

    /// Takes away what the last gate left.
    pub fn ready(&mut self) -> Result<&Path, Failure> {
        if self.used && private::clean(&self.path, self.keep).is_err() {
            self.settle()?;
        }
        self.used = true;
        Ok(&self.path)
    }

    /// Looks whether the tree is still what was to be judged, and puts it back if not.
    pub fn disturbed(&mut self) -> Result<Option<Disturbed>, Failure> {
        let found = match crate::git::checkouts::check_sound(&self.ctx.repo, &self.path) {
            Err(_) => Some(Disturbed::Gone),
            Ok(()) => match private::look(&self.path) {
                Err(_) => Some(Disturbed::Gone),
                Ok(look) if &look.head != self.commit => Some(Disturbed::HeadMoved(look.head)),
                Ok(look) => {
                    let mut changed: Vec<String> = look
                        .changed
                        .into_iter()
                        .filter(|path| !self.untouched.changed.contains(path))
                        .collect();
                    changed
                        .extend(look.hidden.into_iter().filter(|path| !self.untouched.hidden.contains(path)));
                    changed.dedup();
                    (!changed.is_empty()).then_some(Disturbed::Changed(changed))
                }
            },
        };
        if found.is_some() {
            self.settle()?;
        }
        Ok(found)
    }
}

fn is_clean(look: &Look, commit: &CommitId) -> bool {
    &look.head == commit && look.changed.is_empty() && look.hidden.is_empty()
}
