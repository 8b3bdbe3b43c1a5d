//! Reading without a lock: one read of a whole file, which is an old board or a new one, never something between.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::board::state::VERSION;
use crate::board::{Board, Credentials, Needs};
use crate::wire::content::NewState;
use crate::wire::state::{Decoded, Origin, StateError, is_relabelled};

use super::error::{IoContext, StoreError};
use super::files::{FileIdentity, file_clock, read_whole};
use super::handle::Store;
use super::other_version;

/// Larger than any board that works; a file above it is not read at all.
pub const LARGEST_STATE: u64 = 96 * 1024 * 1024;

/// The most that is written, and so the most that is ever read again. A debug build may be given less by a test.
pub(super) fn largest_state() -> u64 {
    #[cfg(debug_assertions)]
    if let Some(told) = std::env::var("LIZA_TEST_LARGEST_STATE").ok().and_then(|text| text.parse().ok()) {
        return told;
    }
    LARGEST_STATE
}

/// What an editor takes to save the file, for whoever reads it meanwhile.
const SAVING: Duration = Duration::from_millis(10);

/// How the warning begins that a reader gets of an edited file.
pub const EDITED_BY_HAND: &str = "state.yaml was edited by hand";

/// What `state.yaml` turned out to be.
pub enum Found {
    Good(Box<Decoded>),
    /// Not what liza wrote: the bytes, and what is wrong with them.
    Bad {
        bytes: Vec<u8>,
        why: StateError,
    },
}

/// The board that was read or written last. A command looks at the board several times; as long as the file is the same,
/// it is neither checked nor parsed again.
#[derive(Debug, Clone, Default)]
pub(super) struct LastRead(Arc<Mutex<Option<Remembered>>>);

#[derive(Debug)]
enum Remembered {
    Read {
        identity: FileIdentity,
        /// Whatever was done to the file since shows in its identity.
        settled: bool,
        decoded: Decoded,
    },
    /// By this process; the file may be another one by now.
    Written { state: Box<NewState>, board: Board },
}

impl LastRead {
    fn get(&self) -> MutexGuard<'_, Option<Remembered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The board, if the file is known to be the same without reading it.
    fn of(&self, identity: &FileIdentity) -> Option<Decoded> {
        match &*self.get() {
            Some(Remembered::Read { identity: then, settled: true, decoded })
                if identity.is_untouched_since(then) =>
            {
                Some(decoded.clone())
            }
            _ => None,
        }
    }

    /// What this process has just written, and will read again.
    pub(super) fn written(&self, state: Box<NewState>, board: &Board) {
        *self.get() = Some(Remembered::Written { state, board: board.clone() });
    }

    /// Checks and parses these bytes, unless they are the same as before.
    fn decode(&self, bytes: Vec<u8>, identity: &FileIdentity, settled: bool) -> Result<Decoded, StateError> {
        let mut last = self.get();
        let decoded = match last.take() {
            Some(Remembered::Read { decoded, .. }) if decoded.text().as_bytes() == bytes => decoded,
            Some(Remembered::Written { state, board }) => match state.reread(&board, bytes) {
                Ok(decoded) => decoded,
                Err(bytes) => Decoded::new(bytes)?,
            },
            _ => Decoded::new(bytes)?,
        };
        let identity = identity.clone();
        *last = Some(Remembered::Read { identity, settled, decoded: decoded.clone() });
        Ok(decoded)
    }
}

/// A board as it was read.
pub struct Snapshot {
    pub board: Board,
    /// What it came from.
    pub origin: Arc<Origin>,
    /// What a reader should be told, for example that the file was edited.
    pub warning: Option<String>,
    /// The version it was written in; nothing is ever written to a board of another one.
    pub version: u64,
}

impl Snapshot {
    /// The text it came from.
    pub fn text(&self) -> &str {
        self.origin.text()
    }
}

impl Store {
    pub(super) fn load_state(&self) -> Result<(Found, FileIdentity), StoreError> {
        let path = self.layout().state();
        if let Ok(identity) = FileIdentity::at(&path)
            && let Some(decoded) = self.last_read().of(&identity)
        {
            return Ok((Found::Good(Box::new(decoded)), identity));
        }
        let now = file_clock();
        let (bytes, identity) = match read_whole(&path, largest_state()) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(self.state_missing()),
            Err(error) if not_a_board_file(&error) => {
                return Err(StoreError::Invalid {
                    message: format!("{} cannot be a board: {error}", path.display()),
                    hint: "`liza doctor` says what can be restored".to_owned(),
                });
            }
            Err(error) => return Err(error).doing("read", &path),
        };
        match self.last_read().decode(bytes, &identity, identity.is_settled(now)) {
            Ok(decoded) => Ok((Found::Good(Box::new(decoded)), identity)),
            Err(why) => {
                // Only a file that is not ours is read twice.
                let (bytes, identity) = read_whole(&path, LARGEST_STATE).doing("read", &path)?;
                match Decoded::new(bytes.clone()) {
                    Ok(decoded) => Ok((Found::Good(Box::new(decoded)), identity)),
                    Err(StateError::Older(version) | StateError::Newer(version)) if is_relabelled(&bytes) => {
                        Ok((Found::Bad { bytes, why: StateError::Relabelled(version) }, identity))
                    }
                    Err(StateError::Older(version)) if self.was_published() => {
                        Ok((Found::Bad { bytes, why: StateError::Replaced(version) }, identity))
                    }
                    Err(_) => Ok((Found::Bad { bytes, why }, identity)),
                }
            }
        }
    }

    /// The same under the lock, where an editor may be in the middle of saving.
    pub(super) fn load_when_saved(&self) -> Result<(Found, FileIdentity), StoreError> {
        let mut tries = 0;
        loop {
            match self.load_state()? {
                (Found::Bad { why: StateError::Truncated | StateError::Malformed { .. }, .. }, _)
                    if tries < 3 =>
                {
                    tries += 1;
                    std::thread::sleep(SAVING);
                }
                found => return Ok(found),
            }
        }
    }

    fn state_missing(&self) -> StoreError {
        let layout = self.layout();
        if layout.log().exists() || layout.images().exists() {
            StoreError::Invalid {
                message: format!("{} is gone, but its log or images are there", layout.state().display()),
                hint: "`liza doctor --fix` restores it".to_owned(),
            }
        } else {
            self.missing()
        }
    }

    /// The board as it is now. Reads repair nothing.
    pub fn read(&self, needs: &Needs) -> Result<Snapshot, StoreError> {
        self.read_with(|_| needs.clone())
    }

    /// As [`Store::read`], with the bodies chosen once the heads are known.
    pub fn read_with(&self, needs: impl Fn(&Board) -> Needs) -> Result<Snapshot, StoreError> {
        // The mark is read first: a board published after it is above it.
        let mark = self.published_revision();
        let witnessed = self.witnessed_length();
        let mut tries = 0;
        loop {
            let (found, _) = self.load_state()?;
            match found {
                Found::Good(mut decoded) => {
                    let wanted = needs(&decoded.board);
                    decoded.load(&wanted).map_err(|why| invalid(&why))?;
                    let above = self.witnessed_above(&decoded.board, witnessed);
                    let put_back =
                        above.map(|above| StoreError::put_back(decoded.board.revision, above).to_string());
                    let warning = (decoded.board.revision < mark).then(|| {
                        format!(
                            "state.yaml is at revision {}, but revision {mark} was published: it was rolled back; the next command restores it",
                            decoded.board.revision
                        )
                    });
                    let warning = warning.or(put_back);
                    let (board, origin) = decoded.into_parts();
                    return Ok(Snapshot { board, origin, warning, version: VERSION.into() });
                }
                Found::Bad { bytes, why: StateError::Older(version) | StateError::Newer(version) }
                    if self.reads_any_version() =>
                {
                    return other_version::snapshot(&bytes, version);
                }
                // An editor may be in the middle of saving.
                Found::Bad { .. } if tries < 3 => {
                    tries += 1;
                    std::thread::sleep(SAVING);
                }
                // Whoever supervises agents does not let an edit lie: a note in it wakes the planner.
                Found::Bad { why: StateError::Edited, .. } if self.is_supervising() && tries < 4 => {
                    tries += 1;
                    self.settle_edits(&Credentials::Liza, &crate::host::now())?;
                }
                // What anybody may have written there is not the board.
                Found::Bad { why: StateError::Edited, .. } => {
                    let mut decoded = self.last_good(mark)?;
                    let wanted = needs(&decoded.board);
                    decoded.load(&wanted).map_err(|why| invalid(&why))?;
                    let (board, origin) = decoded.into_parts();
                    let warning = format!(
                        "{EDITED_BY_HAND}; the edit is not on the board: a person's next command that changes something applies or refuses it"
                    );
                    return Ok(Snapshot { board, origin, warning: Some(warning), version: VERSION.into() });
                }
                Found::Bad { why, .. } => return Err(invalid(&why)),
            }
        }
    }
}

/// Too large, a link, a pipe, a directory: not merely unreadable.
fn not_a_board_file(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::FileTooLarge | ErrorKind::InvalidInput | ErrorKind::IsADirectory)
        || error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// What a board that cannot be used means for the caller.
pub fn invalid(why: &StateError) -> StoreError {
    let hint = match why {
        StateError::Newer(_) | StateError::Older(_) => return other_version::refusal(why),
        StateError::Truncated
        | StateError::NotText
        | StateError::Edited
        | StateError::Replaced(_)
        | StateError::Relabelled(_)
        | StateError::Malformed { .. } => {
            "`liza doctor --fix` restores the last good board and keeps this file"
        }
        StateError::Former => {
            "nothing was changed; `liza doctor --fix` begins a new journal from this board and keeps the old one"
        }
    };
    StoreError::Invalid { message: format!("state.yaml: {why}"), hint: hint.to_owned() }
}
