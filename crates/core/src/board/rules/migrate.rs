//! The first record of a board that was written by the older shell implementation.
//!
//! What the old file said was read, mapped and judged before this: the record holds the outcome whole, so that the
//! log makes the same board again without the old file.

use super::prelude::*;

logged! {
    pub struct Migrate {
        /// The version of the older board.
        pub version: u64,
        /// Hash of the older file.
        pub source: String,
        /// Where that file and its log are kept, relative to the board's directory.
        pub kept: String,
        /// Values that could not be migrated unchanged, for people.
        pub remarks: Vec<String>,
        pub rest: Box<Rest>,
        always pub tasks: Vec<WholeTask>,
    }

    pub struct WholeTask {
        pub head: Head,
        pub body: Body,
    }
}

impl Migrate {
    fn write_into(&self, board: &mut Board) {
        board.rest = (*self.rest).clone();
        board.tasks = self.tasks.iter().map(|task| Task::new(task.head.clone(), task.body.clone())).collect();
    }
}

outcome!(Migrated { version: u64, tasks: usize, kept: String, remarks: Vec<String> });

impl Verb for Migrate {
    const OPERATION: Option<Operation> = None;
    type Outcome = Migrated;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "migrate a board")?;
        if board.revision != 0 {
            return Err(refusal!(Code::BoardExists, "there is a board already"));
        }
        let mut made = Board::nothing();
        self.write_into(&mut made);
        match violations(&made).first() {
            None => Ok(()),
            Some(violation) => Err(refusal!(Code::Value, "the older board cannot be migrated: {violation}")
                .hint("fix this value in the older board, then run `liza doctor --fix` again")),
        }
    }

    fn change(&self, board: &mut Board, _: &Call) -> Self::Outcome {
        self.write_into(board);
        Migrated {
            version: self.version,
            tasks: self.tasks.len(),
            kept: self.kept.clone(),
            remarks: self.remarks.clone(),
        }
    }
}
