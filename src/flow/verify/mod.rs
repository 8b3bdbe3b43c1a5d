//! Whether board, log and repository agree.

mod history;
mod patch;
mod story;

use anyhow::{Result, anyhow, bail};

use super::moved;
use super::ownership::{self, ArchivedTask, KnownOwners, OUR_REFS, TASK_BRANCHES};
use crate::board::state::JournalMark;
use crate::flow::prelude::*;
use crate::host::anchored_path;
use crate::store::Snapshot;
use crate::store::rebuild;
use crate::wire::log::read_chain;
use crate::wire::proof::Prover;
use crate::wire::state::hash;

pub use story::Story;

/// How often a board that changes meanwhile is checked before a failure counts.
const TRIES: u32 = 20;

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub ok: bool,
    pub detail: String,
}

impl Check {
    fn of(name: &'static str, result: Result<String>) -> Self {
        let ok = result.is_ok();
        Self { name, ok, detail: result.unwrap_or_else(|error| error.to_string()) }
    }
}

/// All checks, in order; the first failure is the first broken link.
pub fn verify(ctx: &Context) -> Result<Vec<Check>, Failure> {
    consistently(ctx, |snapshot| verify_board(ctx, snapshot, &ownership::archive(ctx)))
}

fn consistently(ctx: &Context, look: impl Fn(&Snapshot) -> Vec<Check>) -> Result<Vec<Check>, Failure> {
    let mut tries = 0;
    loop {
        // A warning has its own check.
        let snapshot = ctx.store.read(&Needs::Everything)?;
        let checks = look(&snapshot);
        // A failure counts only if board, log and repository are of one moment: the board was still the same
        // afterwards.
        let same = || {
            let now = ctx.store.read(&Needs::Nothing);
            now.is_ok_and(|now| now.board.revision == snapshot.board.revision)
        };
        tries += 1;
        if tries >= TRIES || checks.iter().all(|check| check.ok) || same() {
            return Ok(checks);
        }
    }
}

/// Whether the board agrees with journal, images and copies; the repository is not checked.
pub fn board_story(ctx: &Context) -> Result<Vec<Check>, Failure> {
    consistently(ctx, |snapshot| {
        let mut checks = Vec::new();
        board_checks(ctx, snapshot, &mut checks);
        checks
            .push(Check::of("copies", ctx.store.check_witness(&snapshot.board).map_err(anyhow::Error::msg)));
        checks
    })
}

/// As [`verify`], for a board that was just read completely, and its archive.
pub fn verify_board(
    ctx: &Context,
    snapshot: &Snapshot,
    archive: &Result<Vec<ArchivedTask>, Failure>,
) -> Vec<Check> {
    let board = &snapshot.board;
    let mut checks = Vec::new();
    let records = board_checks(ctx, snapshot, &mut checks).map(|journal| journal.records);
    let mut add = |name: &'static str, result: Result<String>| checks.push(Check::of(name, result));
    add(
        "archive",
        match archive {
            Ok(all) => Ok(crate::text::plural(all.len(), "task")),
            Err(failure) => Err(anyhow!("{failure}")),
        },
    );
    add("copies", ctx.store.check_witness(board).map_err(anyhow::Error::msg));
    add("specs", pinned_specs(ctx, board));
    let archived = archive.as_deref().unwrap_or_default();
    add("results", results(ctx, board, archived));
    let story = |records: &Vec<Record>| Story::of(records, &board.config().integration_branch);
    let start = records.as_ref().and_then(|records| story(records).start);
    add("git settings", git_settings(ctx, board));
    add("merged work", history::merged_work(ctx, board, archived, start.as_ref()));
    add("integration", integration(ctx, board, records.as_deref()));
    add("branches", branches(ctx, board));
    let known = KnownOwners::of(board, archived);
    add("refs", no_links(ctx, board).and_then(|()| none_strange(strange_refs(ctx, &known), "refs")));
    add("worktrees", none_strange(strange_worktrees(ctx, &known), "worktrees"));
    checks
}

/// Whether the texts exist that unfinished tasks are pinned to.
fn pinned_specs(ctx: &Context, board: &Board) -> Result<String> {
    let mut hashes = BTreeSet::new();
    for task in board.tasks.iter().filter(|task| !task.status.is_terminal()) {
        let Some(pin) = &task.body().spec else { continue };
        if hashes.insert(&pin.hash) && ctx.store.spec_text(&pin.hash).is_none() {
            return Err(anyhow!(
                "the text of the spec {} that task {} is pinned to is gone (`liza spec-change --spec {} …` pins it again)",
                pin.of,
                task.id,
                pin.of
            ));
        }
    }
    Ok(format!("{} stored by hash", plural(hashes.len(), "text")))
}

/// Whether the delivered results of tasks exist unchanged.
fn results(ctx: &Context, board: &Board, archived: &[ArchivedTask]) -> Result<String> {
    let on_board = board.tasks.iter().filter_map(|task| Some((&task.id, task.result.as_ref()?)));
    let archived = archived.iter().filter_map(|task| Some((&task.id, task.result.as_ref()?)));
    let mut count = 0;
    for (id, result) in on_board.chain(archived) {
        if ctx.store.result_bytes(id, result).is_none() {
            return Err(anyhow!(
                "the result of {id} is gone or changed: {}",
                ctx.store.result_file(id, result.epoch).display()
            ));
        }
        count += 1;
    }
    Ok(format!("{} as delivered", plural(count, "result")))
}

/// The file, the invariants, and the journal that leads to it.
fn board_checks(ctx: &Context, snapshot: &Snapshot, checks: &mut Vec<Check>) -> Option<Journal> {
    let board = &snapshot.board;
    let mut add = |name: &'static str, result: Result<String>| checks.push(Check::of(name, result));
    add(
        "board file",
        match &snapshot.warning {
            None => snapshot
                .origin
                .check_tasks(board)
                .map(|()| format!("revision {}, written by liza", board.revision))
                .map_err(anyhow::Error::msg),
            Some(warning) => Err(anyhow!("{warning}")),
        },
    );
    let found = violations(board);
    add(
        "invariants",
        match found.first() {
            None => {
                Ok(format!("revision {}, {}", board.revision, crate::text::plural(board.tasks.len(), "task")))
            }
            Some(first) => Err(anyhow!("{first} (and {} more)", found.len() - 1)),
        },
    );
    match Journal::read(ctx, board) {
        Ok(journal) => {
            add("log chain", chain(&journal.records, board.revision));
            add("replay", replay(ctx, &journal, snapshot));
            Some(journal)
        }
        Err(error) => {
            add("log chain", Err(error));
            None
        }
    }
}

/// Whether settings that make git run programs or change its results are as a person accepted them.
fn git_settings(ctx: &Context, board: &Board) -> Result<String> {
    let Some(accepted) = &board.rest.git_settings else {
        return Ok("none were accepted on this board".to_owned());
    };
    let changed = super::git_settings::changed(ctx, board)?;
    if changed.is_empty() {
        return Ok(format!("as {} accepted them at {}", accepted.by, accepted.time));
    }
    let names = changed.join(", ");
    Ok(format!("set since they were accepted, and not used by liza: {names} (`liza doctor --accept-git`)"))
}

/// The log up to the board's own record: checked as a chain.
struct Journal {
    text: String,
    records: Vec<Record>,
}

impl Journal {
    fn read(ctx: &Context, board: &Board) -> Result<Self> {
        let text = ctx.store.read_log_text(board.journal.length)?;
        let last = text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
        if hash(&text.as_bytes()[last..]) != board.journal.hash {
            bail!("record {} is not the one that made the board", board.revision);
        }
        let records = read_chain(&text, String::new())?;
        Ok(Self { text, records })
    }

    /// The lines of the records from this one on.
    fn lines_from(&self, record: usize) -> &str {
        let before: usize = self.text.split_inclusive('\n').take(record).map(str::len).sum();
        &self.text[before..]
    }

    /// The records, each with its board's entry about the log.
    fn marked(&self) -> impl Iterator<Item = (&Record, impl Fn() -> JournalMark)> {
        let mut length = 0;
        self.records.iter().zip(self.text.split_inclusive('\n')).map(move |(record, line)| {
            length += line.len() as u64;
            let mark = move || JournalMark { length, hash: hash(line.as_bytes()) };
            (record, mark)
        })
    }
}

/// One record for every revision since the first, which is 1 unless the log was refounded.
fn chain(records: &[Record], revision: u64) -> Result<String> {
    let refounded = records.first().and_then(|first| Some((first.revision, first.refounds()?)));
    let began = refounded.as_ref().map_or(1, |(began, _)| *began);
    let count = records.len() as u64;
    if began + count != revision + 1 {
        bail!("{count} records for revisions {began} to {revision}");
    }
    let mut text = format!("{count} records, each following the one before");
    if let Some((began, refound)) = refounded {
        let rests = match &refound.kept {
            Some(kept) => format!("the earlier history is in .liza/{kept}"),
            None => "no record of the earlier history is left".to_owned(),
        };
        text.push_str(&format!("; the log was refounded at revision {began} ({}): {rests}", refound.reason));
    }
    Ok(text)
}

/// Replays the log from the oldest kept image to the board, and compares the images on the way with their records.
fn replay(ctx: &Context, journal: &Journal, now: &Snapshot) -> Result<String> {
    let revision = now.board.revision;
    let mut images: BTreeSet<u64> = ctx.store.images_before(revision).into_iter().collect();
    // Between an older image and a refounded log there are no records.
    let began = journal.records.first().map_or(1, |first| first.revision);
    images.retain(|image| image.saturating_add(1) >= began);
    let (oldest, image) = loop {
        let Some(oldest) = images.first().copied() else { bail!("no image is kept") };
        match ctx.store.read_image(oldest) {
            Ok(image) => break (oldest, image),
            // A command has removed it since they were listed.
            Err(_) if !ctx.store.image_revisions().contains(&oldest) => images.remove(&oldest),
            Err(why) => bail!(why),
        };
    };
    let behind = journal.records.partition_point(|record| record.revision <= oldest);
    let (records, lines) = (&journal.records[behind..], journal.lines_from(behind));
    let proved = ctx.store.images_to_prove(revision);
    let kept = journal.marked().filter(|(record, _)| proved.contains(&record.revision));
    let kept: Vec<(&Record, JournalMark)> = kept.map(|(record, mark)| (record, mark())).collect();
    let store = &ctx.store;
    let check = |images: &[(&Record, JournalMark)]| {
        let mut prover = Prover::default();
        images.iter().try_for_each(|(record, mark)| store.check_image(record, mark, &mut prover))
    };
    // Two threads share the images: reading them takes longer than all the rest.
    let (older, newer) = kept.split_at(kept.len().div_ceil(2));
    let ((at, newer), older) = host::both(
        || (rebuild::replay_lines(image, records, Some(lines), None), check(newer)),
        || check(older),
    );
    older.and(newer).map_err(anyhow::Error::msg)?;
    let at = at.map_err(anyhow::Error::msg)?;
    let is_recorded = journal.records.last().is_some_and(|last| last.board == now.origin.board_hash());
    let is_same = at.board.revision == revision && now.text() == at.text() && is_recorded;
    if !is_same && now.warning.is_none() {
        bail!("the log does not give the board of revision {revision}");
    }
    Ok(format!("revisions {oldest} to {} rebuilt from the log", at.board.revision))
}

/// Whether the integration branch holds commits that are not on record. Unknown if the log cannot be read.
pub fn integration_is_accounted_for(ctx: &Context, board: &Board) -> bool {
    match ctx.store.read_log(board.journal.length) {
        Ok(records) => history::line(ctx, board, &records).is_ok(),
        Err(_) => true,
    }
}

/// With the log, checks every move since the beginning; without it, only where the branch is now.
fn integration(ctx: &Context, board: &Board, records: Option<&[Record]>) -> Result<String> {
    if let Some(records) = records {
        return history::line(ctx, board, records);
    }
    match moved::integration_was_moved(ctx, board)? {
        None => Ok(format!("`{}` is at its recorded commit", board.config().integration_branch)),
        Some(evidence) => bail!(evidence.message()),
    }
}

/// Checks that the branch of every task in progress, and its submitted commit, exist.
fn branches(ctx: &Context, board: &Board) -> Result<String> {
    let query = ctx.query()?;
    let mut count = 0;
    for task in board.tasks.iter().filter(|task| !task.status.is_terminal()) {
        let Some(attempt) = task.body().attempt() else { continue };
        // A claim in progress, or whose process died, may not have made its branch yet.
        if board.intent_of(&task.id).is_some() {
            continue;
        }
        if query.head_of_branch(&attempt.branch)?.is_none() {
            bail!("the branch `{}` of {} ({}) is gone", attempt.branch, task.id, task.status);
        }
        if let Some(commit) = task.review_commit.as_ref().filter(|commit| !query.has_commit(commit)) {
            bail!("the commit {commit} that {} was submitted with is gone", task.id);
        }
        count += 1;
    }
    Ok(format!("branches of {} in progress", crate::text::plural(count, "task")))
}

/// Links where git writes liza's refs, the integration branch, their logs and records of worktrees.
pub fn links(ctx: &Context, board: Option<&Board>) -> Vec<PathBuf> {
    let common_dir = &ctx.repo.common_dir;
    let integration = board.and_then(|board| refs::of_branch(&board.config().integration_branch).ok());
    let below = [TASK_BRANCHES.to_owned(), OUR_REFS.to_owned()].into_iter();
    let mut found: Vec<PathBuf> = below.flat_map(|prefix| refs::links_for(common_dir, &prefix)).collect();
    if let Some(refname) = integration {
        // The branch itself is examined as a ref that leads to another.
        found.extend(
            refs::links_for(common_dir, &refname)
                .into_iter()
                .filter(|link| *link != common_dir.join(&refname)),
        );
    }
    found.extend(anchored_path::first_link(common_dir, &[Path::new("worktrees")]));
    found.sort();
    found.dedup();
    found
}

fn no_links(ctx: &Context, board: &Board) -> Result<()> {
    match links(ctx, Some(board)).first() {
        Some(link) => bail!("{} is a link: liza writes nothing there (`liza doctor`)", link.display()),
        None => Ok(()),
    }
}

/// Refs in liza's namespace that belong to nothing on the board, in the archive or in progress.
pub fn strange_refs(ctx: &Context, known: &KnownOwners) -> Result<Vec<String>, Failure> {
    let query = ctx.query()?;
    let mut all = query.refs_below(TASK_BRANCHES)?;
    let ours = query.refs_below(OUR_REFS)?;
    let known = known.clone().beside(&ours);
    all.extend(ours);
    Ok(all.into_iter().filter(|name| !known.knows_ref(name)).collect())
}

/// The same for worktrees. An incomplete record is left by a crash and does not count; one without liza's mark
/// belongs to a worktree of the user's.
pub fn strange_worktrees(ctx: &Context, known: &KnownOwners) -> Result<Vec<String>, Failure> {
    let entries = ownership::worktree_entries(ctx)?;
    let strange = entries.into_iter().filter(|entry| {
        let half_made = entry.record.as_ref().is_some_and(crate::git::Checkout::is_half_made);
        !half_made && !entry.is_unmarked() && !known.knows_worktree(&entry.name)
    });
    Ok(strange.map(|entry| format!(".worktrees/{}", entry.name.display())).collect())
}

fn none_strange(strange: Result<Vec<String>, Failure>, what: &str) -> Result<String> {
    match &strange?[..] {
        [] => Ok("all belong to tasks".to_owned()),
        [one] => bail!("no task owns {one}"),
        [first, rest @ ..] => bail!("no task owns {first} (and {} more {what})", rest.len()),
    }
}
