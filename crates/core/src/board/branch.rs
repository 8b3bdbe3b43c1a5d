//! Which moves of the integration branch are allowed: only those that an open intent records.

use super::ids::CommitId;
use super::intent::RefMove;
use super::refusal::{Code, Refusal};
use super::state::Board;

/// A move of the integration branch that a process is about to make, as git reports it and as liza found it.
#[derive(Debug)]
pub struct BranchUpdate {
    pub old: Wanted,
    pub new: Wanted,
    /// Where the branch is now.
    pub current: Option<CommitId>,
    /// The branch's commit in the file of packed refs, if the file has the branch and no process is changing the file.
    pub packed: Option<CommitId>,
}

/// One side of an update as git names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// All zeroes: as the old value "any", as the new value "deleted".
    Zero,
    At(CommitId),
    /// Another ref that this ref would point to.
    Ref(String),
}

impl Wanted {
    /// Reads `<id>` or `ref:<name>`.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(name) = text.strip_prefix("ref:") {
            return Some(Self::Ref(name.to_owned()));
        }
        let zero = !text.is_empty() && text.bytes().all(|byte| byte == b'0');
        if zero { Some(Self::Zero) } else { CommitId::new(text).ok().map(Self::At) }
    }
}

impl BranchUpdate {
    /// Whether the branch stays where it is: the new commit is the current one, or git only packs refs.
    pub fn moves_nothing(&self) -> bool {
        let Some(current) = &self.current else { return false };
        match (&self.old, &self.new) {
            (_, Wanted::At(new)) => new == current,
            // `pack-refs` removes the loose ref once the packed refs have the same value; that looks like a deletion.
            (Wanted::At(old), Wanted::Zero) => old == current && self.packed.as_ref() == Some(old),
            _ => false,
        }
    }
}

/// Allows an update that moves nothing, a move that an open intent names, and a move back to the recorded head.
pub fn may_move_integration(board: &Board, update: &BranchUpdate) -> Result<(), Refusal> {
    let branch = &board.config().integration_branch;
    if update.moves_nothing() {
        return Ok(());
    }
    if let Wanted::At(new) = &update.new {
        let named = |step: &RefMove| &step.branch == branch && step.old == update.current && &step.new == new;
        if board.rest.intents.iter().filter_map(|intent| intent.work.step()).any(named) {
            return Ok(());
        }
        // A move back to the recorded head repairs an earlier move that bypassed this check.
        if board.rest.integration.head.as_ref() == Some(new) {
            return Ok(());
        }
    }
    let to = match &update.new {
        Wanted::Zero => "be deleted".to_owned(),
        Wanted::At(new) => format!("move to {}", new.short()),
        Wanted::Ref(name) => format!("point to `{name}`"),
    };
    Err(Refusal::new(
        Code::BranchMove,
        format!("`{branch}` may not {to}: it moves only by `liza merge` and `liza integration advance`"),
    )
    .hint(format!(
        "work lands through a task and its review; a person brings a commit in with `liza integration advance REV --reason …`; `{branch}` stays where it is"
    ))
    .detail("branch", branch.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::intent::{Intent, MoveWork, Work};
    use crate::board::testing::{Bench, commit, process};

    fn update(old: Wanted, new: Wanted, current: Option<CommitId>) -> BranchUpdate {
        BranchUpdate { old, new, current, packed: None }
    }

    #[test]
    fn only_recorded_moves_of_integration_pass() {
        let mut board = Bench::new().board;
        board.rest.integration.head = Some(commit(1));
        let at = |number| Wanted::At(commit(number));
        let here = || Some(commit(1));
        may_move_integration(&board, &update(Wanted::Zero, at(1), here())).unwrap();
        for new in [at(2), Wanted::Zero, Wanted::Ref("refs/heads/main".into())] {
            for old in [Wanted::Zero, at(1)] {
                let refusal = may_move_integration(&board, &update(old, new.clone(), here())).unwrap_err();
                assert_eq!(refusal.code, Code::BranchMove);
            }
        }
        // A branch that was moved without this check may be moved back to its recorded head.
        may_move_integration(&board, &update(Wanted::Zero, at(1), Some(commit(3)))).unwrap();
        may_move_integration(&board, &update(Wanted::Zero, at(1), None)).unwrap();
    }

    #[test]
    fn only_pruning_a_packed_ref_is_allowed() {
        let board = Bench::new().board;
        let mut prune = update(Wanted::At(commit(1)), Wanted::Zero, Some(commit(1)));
        assert!(may_move_integration(&board, &prune).is_err(), "it is not packed");
        prune.packed = Some(commit(2));
        assert!(may_move_integration(&board, &prune).is_err(), "it is packed elsewhere");
        prune.packed = Some(commit(1));
        may_move_integration(&board, &prune).unwrap();
        prune.old = Wanted::Zero;
        assert!(may_move_integration(&board, &prune).is_err(), "a deletion names no old value");
    }

    #[test]
    fn open_intent_allows_only_its_recorded_move() {
        let mut board = Bench::new().board;
        let branch = board.config().integration_branch.clone();
        let step = RefMove { branch, old: Some(commit(1)), new: commit(2) };
        board.rest.intents.push(Intent {
            id: 1,
            task: None,
            by: crate::board::AgentId::human(),
            owner: process(1),
            time: crate::board::time::Wall(0),
            request: None,
            work: Work::Advance(MoveWork {
                branch: step.branch.clone(),
                reason: "r".into(),
                checkout: None,
                step: Some(step),
                gates: None,
            }),
        });
        let at = |number| Wanted::At(commit(number));
        may_move_integration(&board, &update(Wanted::Zero, at(2), Some(commit(1)))).unwrap();
        assert!(may_move_integration(&board, &update(at(1), at(3), Some(commit(1)))).is_err());
        assert!(may_move_integration(&board, &update(at(3), at(2), Some(commit(3)))).is_err());
        assert!(may_move_integration(&board, &update(Wanted::Zero, Wanted::Zero, Some(commit(1)))).is_err());
    }

    #[test]
    fn values_are_read_as_git_writes_them() {
        assert_eq!(Wanted::parse(&"0".repeat(40)), Some(Wanted::Zero));
        assert_eq!(Wanted::parse(commit(1).as_str()), Some(Wanted::At(commit(1))));
        assert_eq!(Wanted::parse("ref:refs/heads/x"), Some(Wanted::Ref("refs/heads/x".into())));
        assert_eq!((Wanted::parse(""), Wanted::parse("xyz")), (None, None));
    }
}
