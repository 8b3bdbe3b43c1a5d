//! What every use case works with: the repository, the board, the caller and the time.

use std::cell::{Cell, OnceCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::board::intent::RequestKey;
use crate::board::{AgentId, Board, Call, Code, Credentials, Needs, Refusal, Stamp, TaskId, World};
use crate::git::query::Query;
use crate::git::{Repo, Worktrees, refs};
use crate::store::{Machine, Snapshot, Store};

use super::error_code::ErrorCode;
use super::failure::{Failure, failure};

/// The directory of the copies of a repository's board, below the common git directory.
const WITNESS: &str = "liza";

pub struct Context {
    pub repo: Repo,
    pub store: Store,
    pub machine: Machine,
    pub credentials: Credentials,
    /// The claim this agent was started with.
    pub claim: Option<(TaskId, u64)>,
    pub now: Stamp,
    pub request: Option<RequestKey>,
    pub(super) query: OnceCell<Query>,
    /// Whether a task ended and the board now has too many finished tasks.
    pub crowded: Rc<Cell<bool>>,
    /// Reports progress to people as it happens.
    pub narrator: Rc<dyn Fn(&str)>,
    /// The context that opened the repository keeps it.
    pub(super) door: Option<Rc<crate::git::door::Keeper>>,
}

/// The caller's identity and options, from the command line and the environment.
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
                    return Err(failure!(ErrorCode::UsageNoBoard, "there is no board in {}", dir.display())
                        .hint("--board and LIZA_DIR name the .liza directory itself"));
                }
                let repo = Repo::discover(dir.parent().unwrap_or(&dir))?;
                (repo, dir)
            }
            None => {
                let repo = Repo::discover(cwd)?;
                let dir = Store::address_in(&repo.root);
                (repo, dir)
            }
        };
        let machine = Machine::new(&dir, &repo.root);
        let store = match dir == Store::address_in(&repo.root) {
            true => Store::new(dir).witnessed(repo.common_dir.join(WITNESS)),
            false => Store::new(dir),
        };
        let door = super::accepted_git::guard(&repo, &store, &machine);
        let credentials = descended(credentials(caller)?, &machine);
        Ok(Self {
            repo,
            store,
            machine,
            credentials,
            claim: claim(caller)?,
            now: crate::host::now(),
            request: None,
            query: OnceCell::new(),
            crowded: Rc::new(Cell::new(false)),
            narrator,
            door: Some(Rc::new(door)),
        })
    }

    /// The same for another thread, which ends before this one: what git is read with belongs to one thread.
    pub fn in_other_thread(&self) -> impl Fn() -> Self + Sync + use<> {
        let (repo, store, machine) = (self.repo.clone(), self.store.clone(), self.machine.clone());
        let (credentials, claim, now) = (self.credentials.clone(), self.claim.clone(), self.now.clone());
        move || Self {
            repo: repo.clone(),
            store: store.clone(),
            machine: machine.clone(),
            credentials: credentials.clone(),
            claim: claim.clone(),
            now: now.clone(),
            request: None,
            query: OnceCell::new(),
            crowded: Rc::default(),
            narrator: Rc::new(|_| {}),
            door: None,
        }
    }

    pub fn narrate(&self, text: impl AsRef<str>) {
        (self.narrator)(text.as_ref());
    }

    /// Whether a person calls. If the board cannot be read, the shown credentials decide.
    pub fn is_human(&self) -> bool {
        self.credentials.shows_nothing()
            && match self.store.read(&Needs::Nothing) {
                Ok(snapshot) => {
                    snapshot.board.identify(&self.credentials).is_ok_and(|actor| actor.is_human())
                }
                // The locks of runners also show whether an agent calls.
                Err(_) => match &self.credentials {
                    Credentials::Descendant { of, .. } => {
                        !of.gate
                            && of.hidden.is_none()
                            && of.mark.is_none()
                            && of.unseen.is_none()
                            && !of.orphan
                            && !self.machine.has_runner_among(&of.ancestors)
                    }
                    _ => true,
                },
            }
    }

    /// Refuses a process that a gate started, or that hides its origin: it may change nothing here, not even on
    /// liza's own account.
    pub fn refuse_gate_process(&self) -> Result<(), Refusal> {
        match &self.credentials {
            Credentials::Descendant { of, .. } if of.gate => Err(crate::board::call::gate_process_refusal()),
            Credentials::Descendant { of, .. } => {
                of.hidden.map_or(Ok(()), |hidden| Err(crate::board::call::of_hidden_origin(hidden)))
            }
            _ => Ok(()),
        }
    }

    pub fn root(&self) -> &Path {
        &self.repo.root
    }

    pub fn worktrees(&self) -> Worktrees<'_> {
        Worktrees::new(&self.repo, self.machine.worktrees(), self.machine.trash())
    }

    /// The caller's epoch of this task, if it gave one.
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

    /// Returns when everything written to the repository is on disk.
    pub fn sync(&self) -> Result<(), Failure> {
        let dir = &self.repo.common_dir;
        refs::sync_filesystem(dir).map_err(|error| Failure::io("sync", dir, &error))
    }

    /// Runs a rule's query on this board as the caller, with the present switches.
    pub fn with_call<T>(&self, board: &Board, ask: impl FnOnce(&Call) -> T) -> Result<T, Failure> {
        let actor = board.identify(&self.credentials)?;
        let world = World { switches: self.store.switches()?, ..World::default() };
        Ok(ask(&Call::new(actor, &self.now, &world)))
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
        // A read by a supervising process sets an edit by hand aside.
        self.store.take_messages().into_iter().for_each(|text| self.narrate(text));
        Ok(snapshot)
    }
}

/// The shown credentials, together with the descent that a process cannot hide.
fn descended(shown: Credentials, machine: &Machine) -> Credentials {
    if !cfg!(target_os = "linux") {
        return shown;
    }
    Credentials::Descendant { of: machine.descent(shown.shows_nothing()), shown: Box::new(shown) }
}

fn credentials(caller: &Caller) -> Result<Credentials, Failure> {
    let identity = |message: String| {
        Failure::new(Code::Identity, message)
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
