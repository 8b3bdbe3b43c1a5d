//! Whether the objects of a commit exist and match their ids.
//!
//! The git program trusts a loose object and the index of a pack without checking: it would check out a forged object
//! as if it were the reviewed one. libgit2 compares what it reads with its id.

use git2::Oid;

use super::prelude::*;
use super::query::oid;

impl Query {
    /// Reads every object that a merge of `theirs` into `ours` would bring or build on: the new commits with their
    /// changes, and the changed files as in `ours` and the common base.
    pub fn check_objects(&self, ours: &CommitId, theirs: &CommitId) -> Result<(), QueryError> {
        let mut objects = BTreeSet::new();
        for commit in self.ids_between(ours, theirs)? {
            objects.extend(self.made_by_merge(&commit)?);
        }
        if let Some(base) = self.merge_base(ours, theirs)? {
            for change in self.changed_paths(&base, theirs)? {
                for side in [&base, ours] {
                    let entry = self.found_at(side, &change.path)?;
                    objects.extend(
                        entry.filter(|entry| entry.kind() == Some(git2::ObjectType::Blob)).map(|e| e.id()),
                    );
                }
            }
        }
        objects.into_iter().try_for_each(|id| self.check_object(id))
    }

    fn check_object(&self, id: Oid) -> Result<(), QueryError> {
        let unsound =
            |error: git2::Error| QueryError::Unsound { id: id.to_string(), why: error.message().to_owned() };
        self.objects().odb().and_then(|odb| odb.read(id).map(|_| ())).map_err(unsound)
    }

    /// Whether a commit and all its changes exist now: objects read earlier may be gone.
    pub fn is_whole_now(repo: &Repo, commit: &CommitId) -> Result<bool, QueryError> {
        let query = Self::open(repo)?;
        let Ok(made) = query.made_by_merge(commit) else { return Ok(false) };
        let is_loose = |id: &Oid| {
            let id = id.to_string();
            repo.common_dir.join("objects").join(&id[..2]).join(&id[2..]).exists()
        };
        if made.iter().all(is_loose) {
            return Ok(true);
        }
        // Some of them were packed, or are gone.
        Ok(query.afresh(repo)?.is_whole(commit))
    }

    /// Whether a commit and all its changes exist.
    pub fn is_whole(&self, commit: &CommitId) -> bool {
        let is_there = |id: &Oid| self.objects().odb().is_ok_and(|odb| odb.exists(*id));
        let known = oid(commit).is_ok_and(|id| self.objects().find_commit(id).is_ok());
        known && self.made_by_merge(commit).is_ok_and(|made| made.iter().all(is_there))
    }

    /// Nested repositories of `to`, new since `from`, that `.gitmodules` does not list: a merge would bring only a
    /// commit id, and none of the files.
    pub fn unnamed_repositories(&self, from: &CommitId, to: &CommitId) -> Result<Vec<String>, QueryError> {
        let mut found = Vec::new();
        for change in self.changed_paths(from, to)? {
            let entry = self.found_at(to, &change.path)?;
            if entry.is_some_and(|entry| entry.kind() == Some(git2::ObjectType::Commit)) {
                found.push(change.path);
            }
        }
        if found.is_empty() {
            return Ok(found);
        }
        let modules = lossy(&self.file_at(to, ".gitmodules")?.unwrap_or_default());
        let named = |path: &String| {
            modules.lines().filter_map(|line| line.split_once('=')).any(|(key, value)| {
                key.trim().eq_ignore_ascii_case("path") && value.trim().trim_matches('"') == path
            })
        };
        found.retain(|path| !named(path));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fixture;
    use super::*;

    #[test]
    fn forged_objects_are_found() {
        let fixture = Fixture::new();
        let base = fixture.head();
        fixture.write("a", "good\n");
        fixture.commit("a");
        let head = fixture.head();
        let query = Query::open(&fixture.repo()).unwrap();
        query.check_objects(&base, &head).unwrap();
        let loose = |id: &str| fixture.root.join(format!(".git/objects/{}/{}", &id[..2], &id[2..]));
        let good = fixture.git(&["rev-parse", "HEAD:a"]).trim().to_owned();
        fixture.write("b", "evil\n");
        let evil = fixture.git(&["hash-object", "-w", "b"]).trim().to_owned();
        fs::remove_file(loose(&good)).unwrap();
        fs::copy(loose(&evil), loose(&good)).unwrap();
        let query = Query::open(&fixture.repo()).unwrap();
        assert!(matches!(query.check_objects(&base, &head), Err(QueryError::Unsound { .. })));
        fs::remove_file(loose(&good)).unwrap();
        assert!(!Query::is_whole_now(&fixture.repo(), &head).unwrap());
        assert!(Query::is_whole_now(&fixture.repo(), &base).unwrap());
    }

    #[test]
    fn history_is_read_from_objects_alone() {
        let fixture = Fixture::new();
        let base = fixture.head();
        fixture.write("a", "x");
        fixture.commit("a");
        let head = fixture.head();
        let git = fixture.root.join(".git");
        // A graft that cuts the history, and an invalid commit graph.
        fs::write(git.join("info/grafts"), format!("{head}\n")).unwrap();
        fixture.git(&["replace", "--graft", head.as_str()]);
        let query = Query::open(&fixture.repo()).unwrap();
        assert_eq!(query.parents_of(&head).unwrap(), std::slice::from_ref(&base));
        assert!(query.is_ancestor(&base, &head).unwrap());
        assert_eq!(query.merge_base(&base, &head).unwrap(), Some(base));
    }

    #[test]
    fn nested_repository_must_be_listed() {
        let fixture = Fixture::new();
        let base = fixture.head();
        let link = format!("160000,{base},sub dir");
        fixture.git(&["update-index", "--add", "--cacheinfo", &link]);
        fixture.git(&["commit", "-qm", "link"]);
        let query = Query::open(&fixture.repo()).unwrap();
        assert_eq!(query.unnamed_repositories(&base, &fixture.head()).unwrap(), ["sub dir"]);
        fixture.write(".gitmodules", "[submodule \"x\"]\n\tpath = sub dir\n\turl = ../x\n");
        fixture.git(&["add", ".gitmodules"]);
        fixture.git(&["commit", "-qm", "named"]);
        let query = Query::open(&fixture.repo()).unwrap();
        assert!(query.unnamed_repositories(&base, &fixture.head()).unwrap().is_empty());
    }
}
