//! Proves by hashes alone that bytes are the board of a revision.

use crate::board::state::JournalMark;

use super::content::header;
use super::seal::{Parts, board_hash, task_hash};
use super::state::{end_line, find_line, hash_line, tasks_line};

/// Shows that every byte is what liza wrote for this revision: the header is right, the texts of tasks match their
/// hashes, these and the top-level part match the hash in the record of the revision, and the last line has the right
/// checksum. No task is parsed.
pub fn prove(bytes: &[u8], revision: u64, journal: &JournalMark, board: &str) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not valid UTF-8")?;
    let end = end_line(text).map_err(|error| error.to_string())?;
    let above = &text[..end.start];
    let parts = Parts::of(above);
    if parts.checksum(above, &parts.sums(above)) != end.checksum || end.below {
        return Err("its checksum does not match".to_owned());
    }
    let content = find_line(text, "goal:").filter(|at| *at < end.start).ok_or("it has no goal")?;
    if text[..content] != header(revision, journal).map_err(|error| error.to_string())? {
        return Err("its header differs".to_owned());
    }
    let first = parts.tasks.first().copied().unwrap_or(end.start);
    let top = text[content..first].strip_suffix(tasks_line(parts.tasks.is_empty()));
    let top = top.ok_or("its tasks are not at their positions")?;
    let mut hashes = String::new();
    for (number, start) in parts.tasks.iter().copied().enumerate() {
        let block = &text[start..parts.tasks.get(number + 1).copied().unwrap_or(end.start)];
        let (head, hash, body) = hash_line(block).ok_or("one of its tasks has no hash")?;
        if task_hash(head, body) != hash {
            return Err("the text of one of its tasks does not match its hash".to_owned());
        }
        hashes.push_str(hash);
    }
    if board_hash(top, &hashes) != board {
        return Err("the log has another hash for the board".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::testing::Bench;
    use crate::wire::state::{Decoded, sealed};

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
