//! Reading without a lock: one read of a whole file, which is the old board or the new one, never a mixture.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::board::state::VERSION;
use crate::board::{Board, Credentials, Needs};
use crate::wire::EmitError;
use crate::wire::content::{Content, NewState};
use crate::wire::state::{Decoded, Origin, StateError, is_relabelled};

use super::error::{IoContext, StoreError};
use super::files::{FileIdentity, identity_if_holds, read_whole};
use super::handle::Store;
use super::other_version;
use crate::host::file_clock;

/// Larger than any board that works; a file above it is not read at all.
pub const LARGEST_STATE: u64 = 96 * 1024 * 1024;

/// The largest board that is written, and so the largest that is read again. In a debug build a test may lower
/// it.
pub(super) fn largest_state() -> u64 {
    #[cfg(debug_assertions)]
    if let Some(limit) = std::env::var("LIZA_TEST_LARGEST_STATE").ok().and_then(|text| text.parse().ok()) {
        return limit;
    }
    LARGEST_STATE
}

/// How long an editor takes to save the file; a reader waits that long.
const SAVING: Duration = Duration::from_millis(10);

/// How the warning about an edited file begins.
pub const EDITED_BY_HAND: &str = "state.yaml was edited by hand";

/// What `state.yaml` holds.
pub enum Found {
    Good(Box<Decoded>),
    /// Not written by liza: the bytes, and what is wrong with them.
    Bad {
        bytes: Vec<u8>,
        why: StateError,
    },
}

/// The board that was last read or written. A command reads the board several times; while the file is the
/// same, liza neither checks nor parses it again.
#[derive(Debug, Clone, Default)]
pub(super) struct LastRead(Arc<Mutex<Option<Remembered>>>);

#[derive(Debug)]
enum Remembered {
    Read {
        identity: FileIdentity,
        /// Any later change of the file is sure to show in its identity.
        settled: bool,
        decoded: Decoded,
    },
    /// Written by this process; the file may have been replaced since.
    Written { state: Box<NewState>, board: Board },
}

impl LastRead {
    fn get(&self) -> MutexGuard<'_, Option<Remembered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the board, if the file is known to be unchanged, or still holds the bytes of the last read.
    fn again<T>(
        &self,
        path: &Path,
        identity: FileIdentity,
        look: impl Fn(&Decoded) -> T,
    ) -> Option<(T, FileIdentity)> {
        let mut last = self.get();
        let Some(Remembered::Read { identity: then, settled, decoded }) = &mut *last else { return None };
        if *settled && identity.is_untouched_since(then) {
            return Some((look(decoded), identity));
        }
        let text = decoded.text();
        if identity.size() != text.len() as u64 {
            return None;
        }
        let now = file_clock();
        let present = identity_if_holds(path, text.as_bytes()).ok()??;
        (*settled, *then) = (present.is_settled(now), present.clone());
        Some((look(decoded), present))
    }

    /// The content of a board that was read here and then changed.
    pub(super) fn content_after(&self, changed: &Decoded) -> Result<Content, EmitError> {
        match &*self.get() {
            Some(Remembered::Read { decoded, .. }) => changed.content_after(decoded),
            _ => changed.content(),
        }
    }

    /// Remembers what this process has just written and will read again.
    pub(super) fn written(&self, state: Box<NewState>, board: &Board) {
        *self.get() = Some(Remembered::Written { state, board: board.clone() });
    }

    /// Checks and parses these bytes, unless this process has written them, and looks at the board.
    fn decode<T>(
        &self,
        bytes: Vec<u8>,
        identity: &FileIdentity,
        settled: bool,
        look: impl Fn(&Decoded) -> T,
    ) -> Result<T, StateError> {
        let mut last = self.get();
        let decoded = match last.take() {
            Some(Remembered::Written { state, board }) => match state.reread(&board, bytes) {
                Ok(decoded) => decoded,
                Err(bytes) => Decoded::new(bytes)?,
            },
            _ => Decoded::new(bytes)?,
        };
        let seen = look(&decoded);
        *last = Some(Remembered::Read { identity: identity.clone(), settled, decoded });
        Ok(seen)
    }
}

/// A board as it was read.
pub struct Snapshot {
    pub board: Board,
    /// What it came from.
    pub origin: Arc<Origin>,
    /// A warning for the reader, for example that the file was edited.
    pub warning: Option<String>,
    /// The version that wrote the board; this version writes only its own.
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
        self.look_at_state(|decoded| Found::Good(Box::new(decoded.clone())), |bad| bad)
    }

    /// Looks at the board as it is now, without a copy. None if the file is not a board that liza wrote: then
    /// [`Store::read`] says more.
    pub fn peek<T>(&self, look: impl Fn(&Board) -> T) -> Option<T> {
        self.look_at_state(|decoded| Some(look(&decoded.board)), |_| None).ok()?.0
    }

    fn look_at_state<T>(
        &self,
        good: impl Fn(&Decoded) -> T,
        bad: impl Fn(Found) -> T,
    ) -> Result<(T, FileIdentity), StoreError> {
        let path = self.layout().state();
        if let Ok(identity) = FileIdentity::at(&path)
            && let Some(seen) = self.last_read().again(&path, identity, &good)
        {
            return Ok(seen);
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
        match self.last_read().decode(bytes, &identity, identity.is_settled(now), &good) {
            Ok(seen) => Ok((seen, identity)),
            Err(why) => {
                // Only a file that liza did not write is read twice.
                let (bytes, identity) = read_whole(&path, LARGEST_STATE).doing("read", &path)?;
                let why = match Decoded::new(bytes.clone()) {
                    Ok(decoded) => return Ok((good(&decoded), identity)),
                    Err(StateError::Older(version) | StateError::Newer(version)) if is_relabelled(&bytes) => {
                        StateError::Relabelled(version)
                    }
                    Err(StateError::Older(version)) if self.was_published() => StateError::Replaced(version),
                    Err(_) => why,
                };
                Ok((bad(Found::Bad { bytes, why }), identity))
            }
        }
    }

    /// The same under the lock, while an editor may be saving the file.
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

    /// As [`Store::read`]; the heads decide which bodies are loaded.
    pub fn read_with(&self, needs: impl Fn(&Board) -> Needs) -> Result<Snapshot, StoreError> {
        // The mark is read first: a board published later is above the mark.
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
                // An editor may be saving the file.
                Found::Bad { .. } if tries < 3 => {
                    tries += 1;
                    std::thread::sleep(SAVING);
                }
                // A process that supervises agents sets the edit aside at once: a note in it wakes the planner.
                Found::Bad { why: StateError::Edited, .. } if self.is_supervising() && tries < 4 => {
                    tries += 1;
                    self.settle_edits(&Credentials::Liza, &crate::host::now())?;
                }
                // An edit that any process may have written is not the board.
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

/// Too large, a link, a pipe or a directory: not merely unreadable.
fn not_a_board_file(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::FileTooLarge | ErrorKind::InvalidInput | ErrorKind::IsADirectory)
        || error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// The error for a board that cannot be used.
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
            "nothing was changed; `liza doctor --fix` starts a new journal from this board and keeps the old one"
        }
    };
    StoreError::Invalid { message: format!("state.yaml: {why}"), hint: hint.to_owned() }
}
