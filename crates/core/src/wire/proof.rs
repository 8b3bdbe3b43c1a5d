//! Proves by hashes alone that bytes are the board of a revision.

use crate::board::state::JournalMark;

use super::content::header;
use super::seal::{DIGITS, GROUP, Group, Parts, board_hash, task_hash};
use super::state::{end_line, find_line, hash_line, tasks_line};

/// Proves boards one after another. Groups of tasks that are the same, byte for byte, as in the board before are not
/// hashed again: consecutive boards differ in few tasks.
#[derive(Default)]
pub struct Prover {
    former: Option<Proved>,
}

/// A board that was proved.
struct Proved {
    text: String,
    groups: Vec<ProvedGroup>,
}

struct ProvedGroup {
    group: Group,
    /// The hashes of its tasks, concatenated.
    hashes: String,
}

impl Prover {
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
        let text = String::from_utf8(bytes).map_err(|_| "it is not valid UTF-8")?;
        let end = end_line(&text).map_err(|error| error.to_string())?;
        let above = &text[..end.start];
        let parts = Parts::of(above);
        let groups = self.groups(&text, &parts)?;
        let sums: Vec<Group> = groups.iter().map(|proved| proved.group.clone()).collect();
        if parts.checksum(above, &sums) != end.checksum || end.below {
            return Err("its checksum does not match".to_owned());
        }
        let content = find_line(&text, "goal:").filter(|at| *at < end.start).ok_or("it has no goal")?;
        if text[..content] != header(revision, journal).map_err(|error| error.to_string())? {
            return Err("its header differs".to_owned());
        }
        let first = parts.tasks.first().copied().unwrap_or(end.start);
        let top = text[content..first].strip_suffix(tasks_line(parts.tasks.is_empty()));
        let top = top.ok_or("its tasks are not at their positions")?;
        let hashes: String = groups.iter().map(|proved| proved.hashes.as_str()).collect();
        if board_hash(top, &hashes) != board {
            return Err("the log has another hash for the board".to_owned());
        }
        self.former = Some(Proved { text, groups });
        Ok(())
    }

    /// The groups of these tasks with their sums and hashes. An error if the text of a task does not match its hash.
    fn groups(&self, text: &str, parts: &Parts) -> Result<Vec<ProvedGroup>, String> {
        let mut proved = Vec::new();
        for (number, (mut group, starts)) in
            parts.unsummed().into_iter().zip(parts.tasks.chunks(GROUP)).enumerate()
        {
            if let Some(same) = self.same_as_before(number, &text[group.start..group.end]) {
                let sum = same.group.sum;
                proved.push(ProvedGroup { group: Group { sum, ..group }, hashes: same.hashes.clone() });
                continue;
            }
            group.sum_up(text);
            let mut hashes = String::with_capacity(GROUP * DIGITS);
            for (at, start) in starts.iter().enumerate() {
                let block = &text[*start..starts.get(at + 1).copied().unwrap_or(group.end)];
                let (head, hash, body) = hash_line(block).ok_or("one of its tasks has no hash")?;
                if task_hash(head, body) != hash {
                    return Err("the text of one of its tasks does not match its hash".to_owned());
                }
                hashes.push_str(hash);
            }
            proved.push(ProvedGroup { group, hashes });
        }
        Ok(proved)
    }

    /// The group of this number of the board before, if it has these bytes.
    fn same_as_before(&self, number: usize, bytes: &str) -> Option<&ProvedGroup> {
        let former = self.former.as_ref()?;
        let proved = former.groups.get(number)?;
        (former.text[proved.group.start..proved.group.end] == *bytes).then_some(proved)
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
        let steps: [Step; 4] = [
            |_| (),
            |bench| drop(bench.claim("coder-1", "t40")),
            |bench| drop(bench.ok("planner-1", plan_of(vec![new_task("last", "last/")]))),
            |bench| drop(bench.claim("coder-2", "t0")),
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
