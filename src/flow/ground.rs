//! Checks a plan's assumptions against the repository: directories, headings of specs, directories for tests.

use std::cell::OnceCell;

use super::attempt::integration_head;
use super::config_file::regular_file_inside;
use super::prelude::*;
use crate::board::paths::inside;
use crate::board::task::Kind;
use crate::git::query::{Query, QueryError};
use crate::policy::plan_check::ground::{Ground, LostAnchor, NoParent};
use crate::text::{anchors, nearest};

/// A larger spec is not searched for headings.
const LARGEST_SPEC: u64 = 1024 * 1024;
/// How many names of a directory are compared.
const MOST_NAMES: usize = 1000;

/// The problems found for each of these tasks. What cannot be checked counts as existing.
pub fn of_tasks(ctx: &Context, board: &Board, tasks: &[NewTask]) -> BTreeMap<TaskId, Ground> {
    let Ok(tests) = ctx.test_patterns() else { return BTreeMap::new() };
    let looked = Looked { ctx, board, integration: OnceCell::new(), tests: &tests };
    tasks.iter().map(|task| (task.id.clone(), looked.at(task))).collect()
}

struct Looked<'a> {
    ctx: &'a Context,
    board: &'a Board,
    /// The commit of the integration branch. For most tasks the patterns and the checkout already answer.
    integration: OnceCell<Option<(&'a Query, CommitId)>>,
    tests: &'a [PathPattern],
}

impl Looked<'_> {
    fn at(&self, task: &NewTask) -> Ground {
        Ground {
            no_tests: task.kind == Kind::Code && !self.has_place_for_tests(&task.scope.inside),
            lost_anchor: task.spec_ref.as_deref().and_then(|spec| self.lost_anchor(spec)),
            no_parents: task.scope.inside.iter().filter_map(|path| self.no_parent(path)).collect(),
        }
    }

    /// Asks about the integration branch; what cannot be asked counts as existing.
    fn integration_has(&self, ask: impl Fn(&Query, &CommitId) -> Result<bool, QueryError>) -> bool {
        let open = || Some((self.ctx.query().ok()?, integration_head(self.ctx, self.board).ok()?));
        match self.integration.get_or_init(open) {
            Some((query, head)) => ask(query, head).unwrap_or(true),
            None => true,
        }
    }

    fn is_test(&self, path: &str) -> bool {
        RepoPath::new(path).is_ok_and(|path| inside(&path, self.tests))
    }

    fn has_place_for_tests(&self, scope: &[PathPattern]) -> bool {
        let is_test = |path: &str| self.is_test(path);
        let mut directories = Vec::new();
        for pattern in scope {
            let text = pattern.as_str();
            let could_hold_one = match (text.contains(['*', '?']), text.strip_suffix('/')) {
                (true, _) => self.tests.iter().any(|tests| tests.overlaps(pattern).is_some()),
                (false, Some(directory)) => {
                    directories.push(text);
                    is_test(&format!("{directory}/x"))
                }
                (false, None) => is_test(text),
            };
            if could_hold_one {
                return true;
            }
        }
        directories.iter().any(|directory| {
            self.integration_has(|query, head| query.has_file_below(head, directory, is_test))
        })
    }

    fn lost_anchor(&self, spec: &str) -> Option<LostAnchor> {
        let (file, anchor) = spec.split_once('#').filter(|(_, anchor)| !anchor.is_empty())?;
        let path = regular_file_inside(self.ctx.root(), Path::new(file)).ok()??;
        if path.metadata().ok()?.len() > LARGEST_SPEC {
            return None;
        }
        let known = anchors(&crate::host::plain_text(&path).ok()?);
        if known.iter().any(|one| one.eq_ignore_ascii_case(anchor)) {
            return None;
        }
        let nearest = nearest(anchor, known.iter().map(String::as_str)).map(str::to_owned);
        Some(LostAnchor { file: file.to_owned(), anchor: anchor.to_owned(), nearest })
    }

    /// The first directory on the way to a path that exists neither in the checkout nor on integration.
    fn no_parent(&self, pattern: &PathPattern) -> Option<NoParent> {
        let text = pattern.as_str();
        let names: Vec<&str> = text.trim_end_matches('/').split('/').collect();
        let (_, directories) = names.split_last()?;
        let mut parent = String::new();
        for name in directories.iter().take_while(|name| !name.contains(['*', '?'])) {
            let missing = format!("{parent}{name}/");
            let directory = missing.trim_end_matches('/');
            if !self.is_checked_out(directory) {
                let near = self.named_like(&parent, name).map(|near| format!("{parent}{near}/"));
                // That the first tests create their directory is no problem.
                if near.is_none() && self.is_test(text) {
                    return None;
                }
                if !self.integration_has(|query, head| query.has_path(head, directory)) {
                    return Some(NoParent { path: text.to_owned(), missing, nearest: near });
                }
            }
            parent = missing;
        }
        None
    }

    fn is_checked_out(&self, directory: &str) -> bool {
        self.ctx.root().join(directory).symlink_metadata().is_ok_and(|meta| meta.is_dir())
    }

    fn named_like(&self, parent: &str, name: &str) -> Option<String> {
        let names = std::fs::read_dir(self.ctx.root().join(parent)).ok()?.flatten().take(MOST_NAMES);
        let names = names.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        let names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        nearest(name, names.iter().map(String::as_str)).map(str::to_owned)
    }
}
