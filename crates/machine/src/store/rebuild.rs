//! Rebuilds the last good board from an image and the records since.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

use crate::board::state::JournalMark;
use crate::board::{Board, Call, Stamp, apply, bodies_needed};
use crate::wire::log::Record;
use crate::wire::proof::Prover;
use crate::wire::state::{Decoded, StateError, hash};

use super::error::{IoContext, StoreError};
use super::handle::Store;
use super::read::LARGEST_STATE;

impl Store {
    /// Puts a rebuilt board in place; the file that was there is kept. A log that continues after it is
    /// truncated only where nothing was published.
    pub fn restore(&self, rebuilt: &Decoded, limit: u64, now: &Stamp) -> Result<Option<PathBuf>, StoreError> {
        let mut lock = self.lock(now)?;
        let state = self.layout().state();
        let kept = match super::files::read_whole(&state, limit) {
            Ok((bytes, _)) => Some(self.keep_edit(&bytes, now)?),
            Err(_) => match std::fs::symlink_metadata(&state) {
                // A link, a pipe, a directory or too large a file: moved aside as it is.
                Ok(_) => {
                    let aside = self.layout().edits().join(format!("not-a-board-{}", now.monotonic));
                    super::files::make_private_dir(&self.layout().edits())?;
                    std::fs::rename(&state, &aside).doing("move aside", &state)?;
                    Some(aside)
                }
                Err(_) => None,
            },
        };
        super::files::replace(&state, rebuilt.text().as_bytes())?;
        lock.raise_mark(rebuilt.board.revision);
        self.follow(&rebuilt.board.journal, "");
        Ok(kept)
    }

    /// Rewrites the note in the lock file for a board known to be at this revision; the former file is kept.
    pub fn renew_lock_note(&self, revision: u64, now: &Stamp) -> Result<Option<PathBuf>, StoreError> {
        let path = self.layout().lock();
        let readable = super::lock::LockNote::is_readable(&path);
        let former = super::files::read_whole(&path, 1024 * 1024).ok().filter(|_| !readable);
        let kept = match former {
            Some((bytes, _)) if !bytes.is_empty() => Some(self.keep_edit(&bytes, now)?),
            _ => None,
        };
        let mut lock = self.lock(now)?;
        lock.raise_mark(revision);
        lock.cut_to_note().doing("write", &path)?;
        Ok(kept)
    }

    /// The revisions of which a whole image is kept, oldest first.
    pub fn image_revisions(&self) -> Vec<u64> {
        let names = super::files::names_in(&self.layout().images()).unwrap_or_default();
        let mut found: Vec<u64> =
            names.iter().filter_map(|name| name.strip_suffix(".yaml")?.parse().ok()).collect();
        found.sort_unstable();
        found
    }

    /// The image of a revision, or what is wrong with it.
    pub fn read_image(&self, revision: u64) -> Result<Decoded, String> {
        let named = |error| format!("{}: {error}", self.layout().image(revision).display());
        let bytes = self.image_bytes(revision).map_err(named)?;
        let decoded = Decoded::new(bytes).map_err(|error| error.to_string());
        decoded
            .and_then(|decoded| decoded.check_tasks().map(|()| decoded))
            .and_then(|decoded| match decoded.board.revision {
                same if same == revision => Ok(decoded),
                other => Err(format!("it is the board of revision {other}")),
            })
            .map_err(|error| format!("image {revision}: {error}"))
    }

    /// Whether the image of a revision is the board that its record made: compares every byte by hashes,
    /// without parsing tasks.
    pub fn check_image(
        &self,
        record: &Record,
        journal: &JournalMark,
        prover: &mut Prover,
    ) -> Result<(), String> {
        let path = self.layout().image(record.revision);
        let mut tries = 0;
        let bytes = loop {
            match self.image_bytes_into(record.revision, prover.memory()) {
                Ok(bytes) => break bytes,
                // A command has removed the image since the images were listed.
                Err(_) if std::fs::symlink_metadata(&path).is_err_and(|error| is_not_found(&error)) => {
                    return Ok(());
                }
                // It was changed while it was read.
                Err(error) if is_not_found(&error) && tries < 5 => tries += 1,
                Err(error) => return Err(format!("{}: {error}", path.display())),
            }
        };
        prover
            .prove(bytes, record.revision, journal, &record.board)
            .map_err(|why| format!("the image of revision {} does not match the log: {why}", record.revision))
    }

    /// The image of this revision, if its file is intact; an earlier build may have written it.
    fn image(&self, revision: u64) -> Option<Decoded> {
        let bytes = self.image_bytes(revision).ok()?;
        let decoded = match Decoded::new(bytes.clone()) {
            Err(StateError::Former) => Decoded::former(bytes),
            decoded => decoded,
        };
        decoded.ok().filter(|decoded| decoded.board.revision == revision && decoded.check_tasks().is_ok())
    }

    /// Rebuilds the board of `revision`; without one, the newest board of the log. The log proves it.
    pub fn rebuild(&self, revision: Option<u64>) -> Result<Decoded, StoreError> {
        self.rebuild_from(revision, |image| self.is_on_record(image))
    }

    /// The same for a person to read: an image that the log does not prove is used too.
    pub fn rebuild_unproven(&self, revision: Option<u64>) -> Result<Decoded, StoreError> {
        self.rebuild_from(revision, |_| true)
    }

    /// Rebuilds a board; an image with no record after it is used only if `is_fit`, because no record proves it.
    fn rebuild_from(
        &self,
        revision: Option<u64>,
        is_fit: impl Fn(&Decoded) -> bool,
    ) -> Result<Decoded, StoreError> {
        let nothing = |message: String| StoreError::Invalid {
            message,
            hint: "restore .liza from a backup; task branches and refs in git are untouched".to_owned(),
        };
        let began = self.log_begins_at();
        let mut broken = None;
        for start in self
            .image_revisions()
            .into_iter()
            .rev()
            .filter(|image| revision.is_none_or(|wanted| *image <= wanted))
        {
            let Some(image) = self.image(start) else { continue };
            if revision == Some(start) {
                if !is_fit(&image) {
                    continue;
                }
                return replay(image, &[], revision).map_err(nothing);
            }
            // Between the image and the first record the log has a gap.
            if start.saturating_add(1) < began {
                break;
            }
            let (records, lines) = match self.lines_after(&image.board) {
                Ok(after) => after,
                // The log may follow another image: any process can write one.
                Err(error) => {
                    broken.get_or_insert(error);
                    continue;
                }
            };
            if records.is_empty() && !is_fit(&image) {
                continue;
            }
            match replay_lines(image, &records, Some(&lines), revision) {
                Ok(rebuilt) => return Ok(rebuilt),
                Err(_) if start > 1 => continue,
                Err(message) => return Err(nothing(message)),
            }
        }
        // A log that was never started again makes every board, from nothing.
        if began == 1 && revision != Some(0) {
            let (records, lines) = self.lines_after(&Board::nothing())?;
            let nothing = Decoded::unwritten(Board::nothing());
            if !records.is_empty()
                && let Ok(rebuilt) = replay_lines(nothing, &records, Some(&lines), revision)
            {
                return Ok(rebuilt);
            }
        }
        if let Some(error) = broken {
            return Err(error);
        }
        Err(nothing(match revision {
            Some(revision) if revision < began => format!(
                "the log starts at revision {began}; earlier revisions are kept only as images ({}), and {revision} is not among them",
                listed(self.image_revisions().into_iter().filter(|image| *image < began))
            ),
            Some(revision) => format!("no image at or below revision {revision} is kept"),
            None => "no image of the board is kept".to_owned(),
        }))
    }

    /// As [`Store::rebuild`], but fails if the result is older than what was published, or if the copy of the journal
    /// contradicts it or continues it.
    pub fn rebuild_published(&self) -> Result<Decoded, StoreError> {
        if let Some(copy) = self.contradicting_copy() {
            let (log, copy) = (self.layout().log(), copy.display().to_string());
            return Err(StoreError::Invalid {
                message: format!("{} and its copy {copy} contradict each other, and the board that could decide is damaged", log.display()),
                hint: "compare the two, move the false one away and run `liza doctor --fix`: it restores the board from the other; nothing was changed".to_owned(),
            });
        }
        if let Some(newer) = self.copy_continues() {
            return Err(StoreError::Invalid {
                message: format!(
                    "state.yaml is damaged, and log.yaml is older than its copy below .git, which ends with revision {newer}"
                ),
                hint: "`liza doctor --fix` restores board, journal and archive from the copies".to_owned(),
            });
        }
        let published = self.published_revision();
        let rebuilt = self.rebuild(None);
        let proved = rebuilt.as_ref().ok().map(|rebuilt| rebuilt.board.revision);
        if proved >= Some(published) {
            return rebuilt;
        }
        // A person may look at an image that the log does not prove, but none is newer than the board was.
        let mut images = self.image_revisions().into_iter().rev().filter(|image| *image <= published);
        let shown = images.find(|image| self.image(*image).is_some());
        let Some(newest) = shown.max(proved) else { return rebuilt };
        Err(StoreError::Invalid {
            message: format!(
                "state.yaml and log.yaml are both damaged: revision {published} was published, but image and log make only revision {newest}"
            ),
            hint: format!(
                "restore state.yaml or log.yaml from a backup; `liza doctor --image {newest}` prints the newest board there is; task branches and refs in git are untouched"
            ),
        })
    }

    /// Whether the journal proves that this was the board: any process can write an image. A journal that was
    /// started again proves nothing about earlier boards.
    pub(super) fn is_on_record(&self, image: &Decoded) -> bool {
        if image.board.revision < self.log_begins_at() {
            return true;
        }
        let Ok(text) = self.read_log_text(image.board.journal.length) else { return false };
        let last = text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
        hash(&text.as_bytes()[last..]) == image.board.journal.hash
            && Record::parse(&text[last..], 1).is_ok_and(|record| {
                record.revision == image.board.revision && record.board == image.board_hash()
            })
    }

    /// The revision of the first record of the log; 1 unless the log was refounded.
    pub fn log_begins_at(&self) -> u64 {
        let mut line = String::new();
        let read = super::lock::open_no_follow(&self.layout().log(), std::fs::OpenOptions::new().read(true))
            .and_then(|file| BufReader::new(file.take(LARGEST_STATE)).read_line(&mut line));
        match read.ok().and_then(|_| Record::parse(&line, 1).ok()) {
            Some(record) if record.refounds().is_some() => record.revision,
            _ => 1,
        }
    }

    /// The complete records of the log after a board; a torn last record is left out, it was never published.
    pub fn records_after(&self, board: &Board) -> Result<Vec<Record>, StoreError> {
        self.lines_after(board).map(|(records, _)| records)
    }

    /// The same, with the lines they were read from.
    fn lines_after(&self, board: &Board) -> Result<(Vec<Record>, String), StoreError> {
        let path = self.layout().log();
        let length = std::fs::metadata(&path).map(|meta| meta.len()).unwrap_or(0);
        // A log that was refounded on this board begins after it.
        let behind = self.log_begins_at() == board.revision.saturating_add(1);
        let mark = if behind { JournalMark::default() } else { board.journal.clone() };
        if length <= mark.length {
            return Ok((Vec::new(), String::new()));
        }
        let text = self.read_log_text(length)?;
        let start = usize::try_from(mark.length).unwrap_or(usize::MAX);
        let Some(tail) = text.get(start..) else { return Ok((Vec::new(), String::new())) };
        let whole = &tail[..tail.rfind('\n').map_or(0, |at| at + 1)];
        crate::wire::log::read_chain(whole, mark.hash)
            .map(|records| (records, whole.to_owned()))
            .map_err(|error| super::log_file::log_broken(&error))
    }
}

fn is_not_found(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound
}

fn listed(revisions: impl Iterator<Item = u64>) -> String {
    let all: Vec<u64> = revisions.collect();
    match &all[..] {
        [] => "there are none".to_owned(),
        [one] => one.to_string(),
        [first, .., last] if last - first + 1 == all.len() as u64 => format!("{first} to {last}"),
        [first, .., last] => format!("{} of {first} to {last}", all.len()),
    }
}

/// Plays records on top of a board and checks each result against the hash its record holds.
pub fn replay(from: Decoded, records: &[Record], until: Option<u64>) -> Result<Decoded, String> {
    replay_lines(from, records, None, until)
}

/// The same, faster: `lines` are those that the records were read from.
pub fn replay_lines(
    from: Decoded,
    records: &[Record],
    lines: Option<&str>,
    until: Option<u64>,
) -> Result<Decoded, String> {
    let end = records.iter().position(|record| until.is_some_and(|until| record.revision > until));
    let records = &records[..end.unwrap_or(records.len())];
    // Reading each board from its text, as its command did, is much slower and only done where the quick way
    // fails.
    let decoded =
        played(from.clone(), records, lines, false).or_else(|_| played(from, records, lines, true))?;
    if let Some(wanted) = until
        && decoded.board.revision != wanted
    {
        return Err(format!("the log ends at revision {}, before {wanted}", decoded.board.revision));
    }
    Ok(decoded)
}

fn played(
    from: Decoded,
    records: &[Record],
    lines: Option<&str>,
    read_each: bool,
) -> Result<Decoded, String> {
    let mut lines = lines.map(|lines| lines.split_inclusive('\n'));
    let (mut at, mut read) = (from.clone(), from);
    for record in records {
        advance(&mut at, &mut read, record, lines.as_mut().and_then(Iterator::next))?;
        if read_each {
            at = written(&at, &read)?;
            read = at.clone();
        }
    }
    if records.is_empty() || read_each { Ok(at) } else { written(&at, &read) }
}

/// Applies one more record in memory; the text stays that of `read`, a board before, unless much of it is new.
fn advance(
    decoded: &mut Decoded,
    read: &mut Decoded,
    record: &Record,
    line: Option<&str>,
) -> Result<(), String> {
    let say = |what: String| format!("revision {}: {what}", record.revision);
    let needs = bodies_needed(&decoded.board, &record.what, &record.by);
    decoded.load(&needs).map_err(|error| say(error.to_string()))?;
    let call = Call::new(record.by.clone(), &record.at, &record.world);
    apply(&mut decoded.board, &record.what, &call, record.request.as_ref())
        .map_err(|refusal| say(format!("its transition is refused on replay: {refusal}")))?;
    // The hash of a board says nothing about its revision, and an image may have any.
    if decoded.board.revision != record.revision {
        return Err(say(format!(
            "it follows a board that calls itself revision {}",
            decoded.board.revision.saturating_sub(1)
        )));
    }
    let content = decoded.content_after(read).map_err(|error| say(error.to_string()))?;
    if content.hash != record.board {
        return Err(say("replaying it gives another board".to_owned()));
    }
    let (length, hash) = match line {
        Some(line) => (line.len(), hash(line.as_bytes())),
        None => {
            let (line, hash) = record.line();
            (line.len(), hash)
        }
    };
    let before = if record.refounds().is_some() { 0 } else { decoded.board.journal.length };
    let journal = JournalMark { length: before + length as u64, hash };
    if content.written_tasks() > WRITTEN_OFTEN {
        let state =
            content.under(decoded.board.revision, &journal).map_err(|error| say(error.to_string()))?;
        decoded.board.journal = journal;
        *decoded = state.as_read(&decoded.board);
        *read = decoded.clone();
    } else {
        decoded.board.journal = journal;
    }
    Ok(())
}

/// So many tasks are not written again for every later record.
const WRITTEN_OFTEN: usize = 8;

/// The board as it reads back once it is written; `read` is the one its text is from.
fn written(decoded: &Decoded, read: &Decoded) -> Result<Decoded, String> {
    let board = &decoded.board;
    let say = |what: String| format!("revision {}: {what}", board.revision);
    let content = decoded.content_after(read).map_err(|error| say(error.to_string()))?;
    let state = content.under(board.revision, &board.journal).map_err(|error| say(error.to_string()))?;
    Decoded::new(state.text().into_bytes()).map_err(|error| say(error.to_string()))
}
