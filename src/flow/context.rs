//! What every use case works with: the repository, the board, who calls and when.

use std::cell::{Cell, OnceCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::board::intent::RequestKey;
use crate::board::{
    AgentId, Board, Call, Code, Credentials, Descent, Needs, Refusal, Stamp, TaskId, Transition, World,
    permitted,
};
use crate::git::Repo;
use crate::git::query::Query;
use crate::store::layout::{DIRECTORY, WORKTREES};
use crate::store::{Committed, Proposal, Snapshot, Store, StoreError};

use super::failure::Failure;
use super::recover;

pub struct Context {
    pub repo: Repo,
    pub store: Store,
    pub credentials: Credentials,
    /// The claim this agent was started with.
    pub claim: Option<(TaskId, u64)>,
    pub now: Stamp,
    pub request: Option<RequestKey>,
    pub(super) query: OnceCell<Query>,
    /// A task came to its end, and now too many finished ones stand on the board.
    pub crowded: Rc<Cell<bool>>,
    /// Tells people what goes on, as it happens.
    pub narrator: Rc<dyn Fn(&str)>,
}

/// Who calls and how, as the command line and the environment say.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    pub board_dir: Option<PathBuf>,
    pub agent_id: Option<String>,
    pub token: Option<String>,
    pub token_file: Option<PathBuf>,
    pub claim: Option<String>,
}

impl Context {
    pub fn open(cwd: &Path, caller: &Caller, narrator: Rc<dyn Fn(&str)>) -> Result<Self, Failure> {
        let (repo, dir) = match &caller.board_dir {
            Some(dir) => {
                let dir = if dir.is_absolute() { dir.clone() } else { cwd.join(dir) };
                if !dir.is_dir() {
                    return Err(Failure::new(
                        "usage.no_board",
                        format!("there is no board in {}", dir.display()),
                    )
                    .hint("--board and LIZA_DIR name the .liza directory itself"));
                }
                let repo = Repo::discover(dir.parent().unwrap_or(&dir))?;
                (repo, dir)
            }
            None => {
                let repo = Repo::discover(cwd)?;
                let dir = repo.root.join(DIRECTORY);
                (repo, dir)
            }
        };
        let credentials = descended(credentials(caller)?, &dir);
        Ok(Self {
            repo,
            store: Store::new(dir),
            credentials,
            claim: claim(caller)?,
            now: crate::host::now(),
            request: None,
            query: OnceCell::new(),
            crowded: Rc::new(Cell::new(false)),
            narrator,
        })
    }

    pub fn narrate(&self, text: impl AsRef<str>) {
        (self.narrator)(text.as_ref());
    }

    /// Whether a person calls. On a board that cannot be read only what is shown can be gone by.
    pub fn is_human(&self) -> bool {
        self.credentials.shows_nothing()
            && match self.store.read(&Needs::Nothing) {
                Ok(snapshot) => {
                    snapshot.board.identify(&self.credentials).is_ok_and(|actor| actor.is_human())
                }
                // The locks of runners say it as well.
                Err(_) => match &self.credentials {
                    Credentials::Descendant { of, .. } => {
                        !of.gate
                            && of.unseen.is_none()
                            && !of.orphan
                            && !super::runners::run_one_of(self.store.dir(), &of.ancestors)
                    }
                    _ => true,
                },
            }
    }

    /// What the runner of an agent wants it to know.
    pub fn asked_of(&self, agent: &AgentId) -> Option<String> {
        let (bytes, _) =
            crate::store::files::read_whole(&self.store.layout().ask(agent.as_str()), 4096).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// Refuses what a gate started: it changes nothing here, neither for somebody nor on liza's own account.
    pub fn acts_for_somebody(&self) -> Result<(), Refusal> {
        if self.credentials.is_of_gate() { Err(crate::board::call::of_nobody()) } else { Ok(()) }
    }

    pub fn root(&self) -> &Path {
        &self.repo.root
    }

    pub fn worktrees_dir(&self) -> PathBuf {
        self.repo.root.join(WORKTREES)
    }

    /// The epoch the caller believes to hold this task with, if it said so.
    pub fn epoch_of(&self, task: &TaskId) -> Option<u64> {
        self.claim.as_ref().filter(|(claimed, _)| claimed == task).map(|(_, epoch)| *epoch)
    }

    /// The repository, opened once.
    pub fn query(&self) -> Result<&Query, Failure> {
        if let Some(query) = self.query.get() {
            return Ok(query);
        }
        let query = Query::open(&self.repo)?;
        Ok(self.query.get_or_init(|| query))
    }

    pub fn read(&self, needs: &Needs) -> Result<Snapshot, Failure> {
        self.warned(self.store.read(needs)?)
    }

    pub fn read_with(&self, needs: impl Fn(&Board) -> Needs) -> Result<Snapshot, Failure> {
        self.warned(self.store.read_with(needs)?)
    }

    fn warned(&self, snapshot: Snapshot) -> Result<Snapshot, Failure> {
        if let Some(warning) = &snapshot.warning {
            self.narrate(warning.clone());
        }
        Ok(snapshot)
    }

    /// Makes one change. Work that a dead process left behind is ended first where it stands in the way, and
    /// otherwise afterwards.
    pub fn commit(&self, what: impl Into<Transition>) -> Result<Committed, Failure> {
        self.commit_for(what.into(), self.request.clone())
    }

    /// A step of a longer piece of work: the request belongs to the whole of it.
    pub fn commit_step(&self, what: impl Into<Transition>) -> Result<Committed, Failure> {
        let what = what.into();
        let committed = self.propose(&what, None)?;
        self.tell(&what, &committed);
        Ok(committed)
    }

    fn commit_for(&self, what: Transition, request: Option<RequestKey>) -> Result<Committed, Failure> {
        let first = self.propose(&what, request.clone());
        let committed = match first {
            Err(StoreError::Refused(refusal)) => {
                if self.credentials.is_of_gate() || recover::recover(self)? == 0 {
                    return Err(self.said_of_archived(*refusal));
                }
                self.propose(&what, request)?
            }
            other => other?,
        };
        self.tell(&what, &committed);
        if committed.board.rest.intents.iter().any(|intent| !crate::host::lives(&intent.owner)) {
            // The caller's change is made; what is left over from others is tried again by the next command.
            if let Err(failure) = recover::recover(self) {
                self.narrate(format!(
                    "what a dead process left half done could not be ended: {}",
                    failure.message
                ));
            }
        }
        Ok(committed)
    }

    /// Asks whether a change would be made to this board, so that no work is done for one that would be refused. Nothing is
    /// changed for it but the record of a rule breach; what a dead process left half done may be ended.
    pub fn ask(&self, board: &Board, what: impl Into<Transition>) -> Result<(), Failure> {
        let what = what.into();
        let actor = board.identify(&self.credentials)?;
        let world = World { switches: self.store.switches()?, ..World::default() };
        if permitted(board, &what, &Call::new(actor, &self.now, &world)).is_ok() {
            return Ok(());
        }
        // A refusal counts only under the lock: the board or a switch may have changed since it was read.
        match self.ask_locked(&what) {
            Err(StoreError::Refused(refusal)) => {
                if self.credentials.is_of_gate() || recover::recover(self)? == 0 {
                    return Err(self.said_of_archived(*refusal));
                }
                self.ask_locked(&what)?;
            }
            asked => asked?,
        }
        // It would be made now, but the caller has read another board, and works by that one.
        Err(Failure::new("stale.board", "the board changed while this command ran; nothing was changed")
            .hint("run the command again"))
    }

    fn ask_locked(&self, what: &Transition) -> Result<(), StoreError> {
        self.acts_for_somebody()?;
        let proposal = Proposal { credentials: &self.credentials, what: what.clone(), request: None };
        self.store.ask(&proposal, &crate::host::now())
    }

    fn propose(&self, what: &Transition, request: Option<RequestKey>) -> Result<Committed, StoreError> {
        self.acts_for_somebody()?;
        let proposal = Proposal { credentials: &self.credentials, what: what.clone(), request };
        self.store.commit(proposal, &crate::host::now())
    }

    /// A task that is not on the board may be one that finished and left it.
    fn said_of_archived(&self, refusal: Refusal) -> Failure {
        let id = match (refusal.code, refusal.details.get("task").and_then(|id| id.as_str())) {
            (Code::UnknownTask, Some(id)) => TaskId::new(id).ok(),
            _ => None,
        };
        let archived = id.and_then(|id| self.store.archived_task(&id).ok().flatten());
        let mut failure = Failure::from(refusal);
        if let Some(task) =
            archived.filter(|_| !failure.hint.as_ref().is_some_and(|hint| hint.starts_with("did you mean")))
        {
            failure.message = format!("task `{}` is {} and archived", task.id, task.status);
            failure.details.insert("archived".to_owned(), true.into());
            failure.hint =
                Some(format!("`liza task show {}` shows it; nothing is left to do on it", task.id));
        }
        failure
    }

    fn tell(&self, what: &Transition, committed: &Committed) {
        let ends =
            matches!(what, Transition::Abandon(_) | Transition::Rescope(_) | Transition::FinishMerge(_));
        if ends && super::archive::is_crowded(&committed.board) {
            self.crowded.set(true);
        }
        for warning in &committed.warnings {
            self.narrate(warning.clone());
        }
    }

    /// A change that liza makes on its own account, such as ending what a dead process began.
    pub fn commit_as_liza(&self, what: impl Into<Transition>) -> Result<Committed, StoreError> {
        self.acts_for_somebody()?;
        let proposal = Proposal { credentials: &Credentials::Human, what: what.into(), request: None };
        self.store.commit(proposal, &crate::host::now())
    }
}

/// What is shown, together with what cannot be hidden.
fn descended(shown: Credentials, dir: &Path) -> Credentials {
    if !cfg!(target_os = "linux") {
        return shown;
    }
    let ancestors = crate::host::ancestors();
    let gate = super::runners::of_gate(dir, ancestors.as_deref(), shown.shows_nothing());
    let unseen = super::runners::unseen(dir, ancestors.is_some());
    let ancestors = ancestors.unwrap_or_default();
    let orphan = super::runners::is_orphan(dir, &ancestors);
    Credentials::Descendant { of: Descent { ancestors, unseen, orphan, gate }, shown: Box::new(shown) }
}

fn credentials(caller: &Caller) -> Result<Credentials, Failure> {
    let identity = |message: String| {
        Failure::new("refused.identity", message)
            .hint("set LIZA_AGENT_ID and LIZA_AGENT_TOKEN_FILE as `liza agent register` printed them, or unset both to act as yourself")
    };
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let id = given(&caller.agent_id);
    let token = match (given(&caller.token), &caller.token_file) {
        (Some(token), _) => Some(token),
        (None, Some(path)) if !path.as_os_str().is_empty() => Some(
            std::fs::read_to_string(path)
                .map_err(|error| {
                    identity(format!("the token file {} cannot be read: {error}", path.display()))
                })?
                .trim()
                .to_owned(),
        ),
        _ => None,
    };
    match (id, token) {
        (None, None) => Ok(Credentials::Human),
        (None, Some(_)) => Err(identity("an agent token is given, but no LIZA_AGENT_ID".to_owned())),
        (Some(id), None) => Err(identity(format!("LIZA_AGENT_ID is `{id}`, but no token is given"))),
        (Some(id), Some(token)) => {
            let id = AgentId::new(&id).map_err(|why| identity(format!("LIZA_AGENT_ID `{id}`: {why}")))?;
            Ok(Credentials::Agent { id, token_hash: token_hash(&token) })
        }
    }
}

pub fn token_hash(token: &str) -> String {
    blake3::hash(token.as_bytes()).to_hex().to_string()
}

fn claim(caller: &Caller) -> Result<Option<(TaskId, u64)>, Failure> {
    let Some(text) = caller.claim.as_ref().filter(|text| !text.is_empty()) else { return Ok(None) };
    let parsed = text
        .rsplit_once(':')
        .and_then(|(task, epoch)| Some((TaskId::new(task).ok()?, epoch.parse::<u64>().ok()?)));
    match parsed {
        Some(claim) => Ok(Some(claim)),
        None => Err(Failure::usage(format!("LIZA_CLAIM is `{text}`, not of the form TASK:EPOCH"))),
    }
}
