//! A task in a file of its own: the flat map of its fields, head first, in the canonical layout.

use super::flat::read_task;
use super::prelude::*;
use super::{EmitError, ForeignError, emit, parse};

const BODY_START: &str = "\ntitle: ";

/// The text of an archive file; the body must be loaded.
pub fn archive_text(task: &Task, now: Wall) -> Result<String, EmitError> {
    let mut text = format!("# A finished task, archived {now}. The log has how it came about.\n");
    emit(task.head(), 0, &mut text)?;
    emit(task.body(), 0, &mut text)?;
    Ok(text)
}

/// The head of an archived task, for tasks that depend on it. Read quickly if liza wrote the file, and strictly
/// otherwise.
pub fn archived_head(bytes: &[u8]) -> Result<Head, ForeignError> {
    let quick = || -> Option<Head> {
        let text = std::str::from_utf8(bytes).ok()?;
        let text = if text.starts_with('#') { text.split_once('\n')?.1 } else { text };
        parse(&text[..text.find(BODY_START)? + 1], 0).ok()
    };
    match quick() {
        Some(head) => Ok(head),
        None => read_task(bytes).map(|task| task.head().clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::testing::{Bench, id};

    #[test]
    fn an_archived_task_reads_back_the_same_both_ways() {
        let mut bench = Bench::with_tasks(&["t1"]);
        let abandon = bench.abandon("t1");
        bench.ok("planner-1", abandon);
        let task = bench.board.task(&id("t1")).expect("a task");
        let text = archive_text(task, Wall(0)).expect("written");
        assert_eq!(archived_head(text.as_bytes()).expect("read").clone(), *task.head());
        assert_eq!(&read_task(text.as_bytes()).expect("read"), task);
        // Rewritten by another program, the file still means the same.
        let json = crate::wire::to_json_pretty(&crate::wire::flat::task_value(task));
        assert_eq!(archived_head(json.as_bytes()).expect("read"), *task.head());
        assert!(archived_head(b"nonsense: [").is_err());
    }
}
