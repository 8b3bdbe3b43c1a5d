//! Hashes by parts: what each covers, and that writing changed parts gives the same as writing everything.

use crate::board::rules::{AddNote, ArchiveTasks};
use crate::board::testing::*;
use crate::board::{Board, Needs};
use crate::wire::seal::{former_checksum, task_hash};
use crate::wire::state::{Decoded, StateError, sealed};

/// Three groups, the last of them not full.
fn board() -> Bench {
    let names: Vec<String> = (0..70).map(|number| format!("t{number}")).collect();
    Bench::with_tasks(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

fn text_of(decoded: &Decoded) -> String {
    let content = decoded.content().expect("it can be written");
    content.under(decoded.board.revision, &decoded.board.journal).expect("it can be written").text()
}

fn read(text: &str) -> Decoded {
    Decoded::new(text.as_bytes().to_vec()).expect("a board")
}

fn written(board: &Board) -> Decoded {
    read(&text_of(&Decoded::unwritten(board.clone())))
}

/// `board`, written on top of the text that was read before.
fn written_on(before: &Decoded, board: &Board) -> Decoded {
    let mut next = before.clone();
    next.load(&Needs::Everything).expect("bodies");
    next.board.rest = board.rest.clone();
    (next.board.revision, next.board.journal) = (board.revision, board.journal.clone());
    next.board.tasks.retain(|task| board.task(&task.id).is_some());
    for task in &board.tasks {
        match next.board.tasks.iter_mut().find(|there| there.id == task.id) {
            Some(there) if there == task => {}
            Some(there) => {
                let (head, body) = there.parts_mut();
                (*head, *body) = (task.head().clone(), task.body().clone());
            }
            None => next.board.tasks.push(task.clone()),
        }
    }
    let content = next.content().expect("it can be written");
    assert_eq!(content.hash, written(board).board_hash());
    let state = content.under(next.board.revision, &next.board.journal).expect("it can be written");
    let mut other = state.text().into_bytes();
    other.push(b'\n');
    assert!(state.reread(&next.board, other).is_err(), "other bytes are another board");
    let reread = state.reread(&next.board, state.text().into_bytes()).expect("the same bytes");
    let (_, origin) = reread.into_parts();
    let read = read(&state.text());
    assert_eq!(format!("{origin:?}"), format!("{:?}", read.clone().into_parts().1));
    read
}

#[test]
fn partial_write_equals_whole_write() {
    let mut bench = board();
    let mut disk = written(&bench.board);
    let mut seen = vec![disk.board_hash()];
    let mut step = |bench: &Bench| {
        disk = written_on(&disk, &bench.board);
        assert_eq!(disk.text(), written(&bench.board).text());
        disk.check_tasks().expect("every task has its hash");
        assert!(!seen.contains(&disk.board_hash()), "another board has another hash");
        seen.push(disk.board_hash());
    };
    bench.ok("human", AddNote { text: "only the top-level part".to_owned(), task: None });
    step(&bench);
    bench.claim("coder-1", "t40");
    step(&bench);
    bench.add(&["more"]);
    step(&bench);
    for name in ["t3", "t69"] {
        let abandon = bench.abandon(name);
        bench.ok("planner-1", abandon);
        step(&bench);
    }
    // From the first group on, every other group begins at another position.
    bench.ok("planner-1", ArchiveTasks { tasks: vec![id("t3"), id("t69")] });
    step(&bench);
}

#[test]
fn changed_byte_of_a_task_is_found() {
    let disk = written(&board().board);
    let at = disk.text().find("    title: ").expect("a body") + "    title: ".len();
    let mut changed = disk.text().to_owned();
    changed.replace_range(at..=at, "Z");
    assert!(matches!(Decoded::new(changed.clone().into_bytes()), Err(StateError::Edited)));
    // With a corrected checksum, the task still does not match its hash.
    let forged = read(&sealed(&changed));
    assert_eq!(forged.check_tasks().unwrap_err(), "the text of task t0 does not match its hash");
    // With that hash corrected too, the board does not match its record.
    let mut rewritten = forged.rewritten().expect("a board");
    rewritten.check_tasks().expect("every task has its hash");
    assert_ne!(rewritten.board_hash(), disk.board_hash());
    rewritten.load(&Needs::Everything).expect("bodies");
    assert!(rewritten.board.tasks[0].body().title.starts_with('Z'));
}

#[test]
fn removed_or_moved_tasks_change_the_board_hash() {
    let disk = written(&board().board);
    let changed = |change: &dyn Fn(&mut Decoded)| {
        let mut other = disk.clone();
        other.load(&Needs::Everything).expect("bodies");
        change(&mut other);
        read(&text_of(&other)).board_hash()
    };
    assert_eq!(changed(&|_| ()), disk.board_hash());
    assert_ne!(changed(&|other| drop(other.board.tasks.remove(50))), disk.board_hash());
    assert_ne!(changed(&|other| other.board.tasks.swap(1, 2)), disk.board_hash());
    assert_ne!(changed(&|other| other.board.tasks[7].parts_mut().0.id = id("renamed")), disk.board_hash());
}

#[test]
fn hash_covers_head_and_body_and_not_its_own_line() {
    let disk = written(&board().board);
    let block = &disk.text()[disk.text().find("  - id: t0\n").expect("t0")..];
    let block = &block[..block.find("  - id: t1\n").expect("t1")];
    let (head, rest) = block.split_once("    hash: \"").expect("a hash");
    let (hash, body) = rest.split_once("\"\n").expect("a line");
    assert!(body.starts_with("    title: "), "{body}");
    assert_eq!(hash, task_hash(head, body));
}

#[test]
fn earlier_builds_board_is_named_and_readable() {
    let disk = written(&board().board);
    let lines = disk.text().split_inclusive('\n');
    let without: String =
        lines.filter(|line| !line.starts_with("    hash: \"") && !line.starts_with("end:")).collect();
    let (header, content) = without.split_at(without.find("goal:").expect("content"));
    let former = format!("{without}end: \"{}\"\n", former_checksum(header, content));
    assert!(matches!(Decoded::new(former.clone().into_bytes()), Err(StateError::Former)));
    assert_eq!(Decoded::former(former.clone().into_bytes()).expect("a board").text(), disk.text());
    let edited = former.replacen("revision:", "revision: ", 1);
    assert!(matches!(Decoded::new(edited.clone().into_bytes()), Err(StateError::Edited)));
    assert!(matches!(Decoded::former(edited.into_bytes()), Err(StateError::Edited)));
}

#[test]
fn large_board_is_read_by_two_threads_as_by_one() {
    let names: Vec<String> = (0..300).map(|number| format!("t{number}")).collect();
    let mut bench = Bench::with_tasks(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for (number, task) in bench.board.tasks.iter_mut().enumerate() {
        task.parts_mut().1.description = format!("{number} ").repeat(1_500);
    }
    let large = written(&bench.board);
    assert!(large.text().len() > 1 << 20, "two threads read it");
    assert_eq!(large.board.tasks.len(), names.len());
    assert!(large.board.tasks.iter().zip(&names).all(|(task, name)| task.id.as_str() == name));
    large.check_tasks().expect("every task has its hash");
    assert_eq!(text_of(&large), large.text());
    assert_eq!(large.board_hash(), Decoded::unwritten(bench.board.clone()).content().expect("content").hash);
    // A change in the middle; also with a right checksum, so that the first wrong task is named.
    let changed = large.text().replacen("  - id: t200\n", "  - id: t2oo\n", 1);
    assert!(matches!(Decoded::new(changed.into_bytes()), Err(StateError::Edited)));
    let line = |text: &str| 1 + large.text().lines().position(|line| line == text).expect("a line");
    let broken = ["t200", "t290"].iter().fold(large.text().to_owned(), |text, id| {
        text.replacen(&format!("  - id: {id}\n    status: "), &format!("  - id: {id}\n    status: NO"), 1)
    });
    match Decoded::new(sealed(&broken).into_bytes()) {
        Err(StateError::Malformed { line: at, .. }) => assert_eq!(at, line("  - id: t200") + 1),
        other => panic!("{other:?}"),
    }
}
