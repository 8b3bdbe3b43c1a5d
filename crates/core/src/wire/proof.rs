//! Proves by hashes alone that bytes are the board of a revision.

use std::ops::Range;

use memchr::memmem;

use crate::board::state::JournalMark;

use super::content::header;
use super::seal::{DIGITS, FIRST_TASK, GROUP, TASK_START, board_hash, checksum, task_hash};
use super::state::{end_line, find_line, hash_line, tasks_line};

/// Proves boards one after another. Groups of tasks that are the same, byte for byte, as in the board before are neither
/// searched nor hashed again: consecutive boards differ in few tasks.
#[derive(Default)]
pub struct Prover {
    former: Option<Proved>,
    /// Memory for the next board: memory that is used for the first time costs more than what is done with it.
    spare: Vec<u8>,
}

/// A board that was proved.
struct Proved {
    bytes: Vec<u8>,
    groups: Vec<ProvedGroup>,
}

struct ProvedGroup {
    /// Where it stands in its board.
    range: Range<usize>,
    is_full: bool,
    sum: blake3::Hash,
    /// The hashes of its tasks, concatenated.
    hashes: String,
}

const NOT_TEXT: &str = "it is not valid UTF-8";
const WRONG_CHECKSUM: &str = "its checksum does not match";

impl Prover {
    /// Empty memory to read the next board into.
    pub fn memory(&mut self) -> Vec<u8> {
        let mut memory = std::mem::take(&mut self.spare);
        memory.clear();
        memory
    }

    /// Shows that every byte is what liza wrote for this revision: the header is right, the texts of tasks match their
    /// hashes, these and the top-level part match the hash in the record of the revision, and the last line has the
    /// right checksum. No task is parsed.
    pub fn prove(
        &mut self,
        bytes: Vec<u8>,
        revision: u64,
        journal: &JournalMark,
        board: &str,
    ) -> Result<(), String> {
        let (above, sum) = split_end(&bytes)?;
        let first = memmem::find(above, FIRST_TASK.as_bytes())
            .map_or(above.len(), |at| at + FIRST_TASK.len() - TASK_START.len());
        let groups = self.groups(above, first)?;
        let top_sum = blake3::hash(&above[..first]);
        if checksum(top_sum, groups.iter().map(|group| group.sum)) != sum {
            return Err(WRONG_CHECKSUM.to_owned());
        }
        let top = std::str::from_utf8(&above[..first]).map_err(|_| NOT_TEXT)?;
        let content = find_line(top, "goal:").ok_or("it has no goal")?;
        if top[..content] != header(revision, journal).map_err(|error| error.to_string())? {
            return Err("its header differs".to_owned());
        }
        let top = top[content..].strip_suffix(tasks_line(groups.is_empty()));
        let top = top.ok_or("its tasks are not at their positions")?;
        let hashes: String = groups.iter().map(|proved| proved.hashes.as_str()).collect();
        if board_hash(top, &hashes) != board {
            return Err("the log has another hash for the board".to_owned());
        }
        if let Some(former) = self.former.replace(Proved { bytes, groups }) {
            self.spare = former.bytes;
        }
        Ok(())
    }

    /// The groups of the tasks from `first` on. An error if the text of a task does not match its hash.
    fn groups(&self, above: &[u8], first: usize) -> Result<Vec<ProvedGroup>, String> {
        let next_task = memmem::Finder::new(b"\n  - id: ");
        let mut proved: Vec<ProvedGroup> = Vec::new();
        let mut start = first;
        while start < above.len() {
            if let Some(same) = self.same_as_before(proved.len(), &above[start..]) {
                let range = start..start + same.range.len();
                start = range.end;
                proved.push(ProvedGroup { range, hashes: same.hashes.clone(), ..*same });
                continue;
            }
            let mut starts = vec![start];
            while starts.len() <= GROUP && starts.last().is_some_and(|last| *last < above.len()) {
                let from = starts.last().map_or(start, |last| last + TASK_START.len());
                starts.push(next_task.find(&above[from..]).map_or(above.len(), |at| from + at + 1));
            }
            let range = start..starts.last().copied().unwrap_or(start);
            let mut hashes = String::with_capacity(GROUP * DIGITS);
            for block in starts.windows(2) {
                let block = std::str::from_utf8(&above[block[0]..block[1]]).map_err(|_| NOT_TEXT)?;
                let (head, hash, body) = hash_line(block).ok_or("one of its tasks has no hash")?;
                if task_hash(head, body) != hash {
                    return Err("the text of one of its tasks does not match its hash".to_owned());
                }
                hashes.push_str(hash);
            }
            start = range.end;
            let (is_full, sum) = (starts.len() > GROUP, blake3::hash(&above[range.clone()]));
            proved.push(ProvedGroup { range, is_full, sum, hashes });
        }
        Ok(proved)
    }

    /// The group of this number of the board before, if the tasks at the beginning of `rest` are the same, and no more
    /// belong to it.
    fn same_as_before(&self, number: usize, rest: &[u8]) -> Option<&ProvedGroup> {
        let former = self.former.as_ref()?;
        let proved = former.groups.get(number)?;
        let behind = rest.strip_prefix(&former.bytes[proved.range.clone()])?;
        (behind.is_empty() || proved.is_full && behind.starts_with(TASK_START.as_bytes())).then_some(proved)
    }
}

/// What stands above the last line, and the checksum in it.
fn split_end(bytes: &[u8]) -> Result<(&[u8], &str), String> {
    const END: &str = "\nend: \"";
    let last = bytes.len().saturating_sub(END.len() + DIGITS + "\"\n".len());
    let checksum = |line: &'_ [u8]| -> Option<Range<usize>> {
        let digits = line.strip_prefix(END.as_bytes())?.strip_suffix(b"\"\n")?;
        let is_checksum = digits.len() == DIGITS && digits.iter().all(u8::is_ascii_hexdigit);
        is_checksum.then_some(last + END.len()..last + END.len() + DIGITS)
    };
    match checksum(&bytes[last..]).and_then(|digits| std::str::from_utf8(&bytes[digits]).ok()) {
        Some(checksum) => Ok((&bytes[..last + 1], checksum)),
        None => {
            let text = std::str::from_utf8(bytes).map_err(|_| NOT_TEXT)?;
            end_line(text).map_err(|error| error.to_string())?;
            Err(WRONG_CHECKSUM.to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::testing::{Bench, new_task, plan_of};
    use crate::wire::state::{Decoded, sealed};

    fn prove(bytes: &[u8], revision: u64, journal: &JournalMark, board: &str) -> Result<(), String> {
        Prover::default().prove(bytes.to_vec(), revision, journal, board)
    }

    #[test]
    fn boards_in_sequence_are_proved_as_alone() {
        let names: Vec<String> = (0..70).map(|number| format!("t{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut bench = Bench::with_tasks(&names);
        let journal = JournalMark { length: 7, hash: "x".to_owned() };
        let mut prover = Prover::default();
        type Step = fn(&mut Bench);
        let steps: [Step; 8] = [
            |_| (),
            |bench| drop(bench.claim("coder-1", "t40")),
            |bench| drop(bench.ok("planner-1", plan_of(vec![new_task("last", "last/")]))),
            |bench| drop(bench.claim("coder-2", "t0")),
            |bench| drop(bench.board.tasks.remove(3)),
            // Full groups only, then one task more, then one less.
            |bench| bench.board.tasks.truncate(2 * GROUP),
            |bench| drop(bench.ok("planner-1", plan_of(vec![new_task("more", "more/")]))),
            |bench| bench.board.tasks.truncate(2 * GROUP),
        ];
        for (revision, step) in (3..).zip(steps) {
            step(&mut bench);
            let content = Decoded::unwritten(bench.board.clone()).content().expect("written");
            let (hash, text) =
                (content.hash.clone(), content.under(revision, &journal).expect("written").text());
            // One changed byte anywhere is found, also with a correct checksum; the board before stays the measure.
            for at in (0..text.len()).step_by(997) {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= 1;
                assert!(prover.prove(bytes.clone(), revision, &journal, &hash).is_err(), "{revision}: {at}");
                let Ok(other) = String::from_utf8(bytes) else { continue };
                assert!(prover.prove(sealed(&other).into_bytes(), revision, &journal, &hash).is_err());
            }
            assert_eq!(prover.prove(text.into_bytes(), revision, &journal, &hash), Ok(()), "{revision}");
        }
    }

    #[test]
    fn short_files_are_not_proved() {
        let journal = JournalMark::default();
        for text in ["", "\n", "end: \"\"\n", "\nend: \"\"\n", "\nend: \"0a\"\n", "goal: x\nend: \"12\"\n"] {
            assert!(prove(text.as_bytes(), 1, &journal, "").is_err(), "{text:?}");
        }
    }

    #[test]
    fn only_the_very_board_is_proved() {
        let journal = JournalMark { length: 7, hash: "x".to_owned() };
        let content = Decoded::unwritten(Bench::with_tasks(&["t1", "t2"]).board).content().expect("written");
        let hash = content.hash.clone();
        let text = content.under(3, &journal).expect("written").text();
        let proved = |text: &str| prove(text.as_bytes(), 3, &journal, &hash);
        assert_eq!(proved(&text), Ok(()));
        assert!(prove(text.as_bytes(), 4, &journal, &hash).is_err());
        assert!(prove(text.as_bytes(), 3, &JournalMark::default(), &hash).is_err());
        assert!(prove(text.as_bytes(), 3, &journal, "another").is_err());
        let changes = [
            ("# The blackboard", "# The blackbird"),
            ("revision: 3", "revision: 4"),
            ("status: IN_PROGRESS", "status: ABANDONED"),
            ("tasks:\n", "tasks: \n"),
            ("priority: 0", "priority: 9"),
            ("title: ", "title:  "),
            ("    hash: \"", "    hash: \"0"),
            ("goal:", "# goal\ngoal:"),
            ("end: ", "extra: 1\nend: "),
        ];
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            let other = text.replacen(from, to, 1);
            assert!(proved(&other).is_err(), "{from}");
            // An edit with a correct checksum is found too.
            assert!(proved(&sealed(&other)).is_err(), "{from}, sealed");
        }
        assert!(proved(&format!("{text}\n")).is_err());
        assert!(proved("").is_err());
        // Every truncation and every changed byte.
        for at in (0..text.len()).step_by(37) {
            assert!(proved(&text[..at]).is_err());
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            assert!(prove(&bytes, 3, &journal, &hash).is_err(), "{at}");
        }
    }
}
