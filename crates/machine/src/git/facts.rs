//! Special properties of a repository, by which `init` refuses or warns.

use super::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion {
    pub major: u32,
    pub minor: u32,
}

impl GitVersion {
    /// The first version with `git merge-tree --write-tree`, without which nothing can be merged outside a checkout.
    pub const OLDEST: Self = Self { major: 2, minor: 38 };

    pub fn installed() -> Result<Self, GitError> {
        let text = Git::version()?;
        Self::parse(&text).ok_or_else(|| GitError::unexpected("version", text))
    }

    /// Reads `git version 2.39.2 (Apple Git-143)` and the like.
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.strip_prefix("git version ")?.split(['.', ' ', '-']);
        Some(Self { major: numbers.next()?.parse().ok()?, minor: numbers.next()?.parse().ok()? })
    }
}

impl std::fmt::Display for GitVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Special properties of a repository. Discovery never finds a bare one.
#[derive(Debug, PartialEq, Eq)]
pub struct RepoFacts {
    /// No commit yet: a task has nothing to start from.
    pub unborn: bool,
    pub detached: bool,
    /// The branch checked out in the main worktree, even without a commit.
    pub branch: Option<String>,
    /// History is cut off, so a merge base may be missing.
    pub shallow: bool,
    pub sparse: bool,
    /// It has submodules: they start empty in a new worktree.
    pub has_submodules: bool,
    /// It is itself a submodule of another repository.
    pub is_submodule: bool,
    /// A filter fetches large files that are kept outside of git.
    pub uses_lfs: bool,
}

impl RepoFacts {
    /// Examines the repository without running a program.
    pub fn load(repo: &Repo) -> Result<Self, QueryError> {
        let query = Query::open(repo)?;
        let head = crate::host::plain_text(&repo.common_dir.join("HEAD")).unwrap_or_default();
        let branch = head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned);
        let commit = query.head_commit()?;
        let attributes = commit.as_ref().map(|commit| query.file_at(commit, ".gitattributes")).transpose()?;
        let attributes = attributes.flatten().unwrap_or_default();
        Ok(Self {
            unborn: commit.is_none(),
            detached: branch.is_none(),
            branch,
            shallow: repo.common_dir.join("shallow").exists(),
            sparse: query.config_flag("core.sparseCheckout")
                || repo.common_dir.join("info/sparse-checkout").exists() && query.config_flag("index.sparse"),
            has_submodules: repo.root.join(".gitmodules").exists(),
            is_submodule: repo.common_dir.components().any(|part| part.as_os_str() == "modules")
                && !repo.root.join(".git").is_dir(),
            uses_lfs: String::from_utf8_lossy(&attributes).contains("filter=lfs"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fixture;
    use super::*;

    #[test]
    fn versions_are_read_and_compared() {
        for (text, wanted) in [
            ("git version 2.47.3", Some((2, 47))),
            ("git version 2.39.2 (Apple Git-143)", Some((2, 39))),
            ("git version 2.38.0.windows.1", Some((2, 38))),
            ("git version 2.40-rc1", Some((2, 40))),
            ("hub version 1", None),
        ] {
            let version = GitVersion::parse(text);
            assert_eq!(version.map(|v| (v.major, v.minor)), wanted, "{text}");
        }
        assert!(GitVersion { major: 2, minor: 37 } < GitVersion::OLDEST);
        assert!(GitVersion { major: 3, minor: 0 } > GitVersion::OLDEST);
        assert!(GitVersion::installed().unwrap() >= GitVersion::OLDEST);
    }

    #[test]
    fn an_ordinary_repository_has_nothing_special() {
        let facts = RepoFacts::load(&Fixture::new().repo()).unwrap();
        let ordinary = RepoFacts {
            unborn: false,
            detached: false,
            branch: Some("main".into()),
            shallow: false,
            sparse: false,
            has_submodules: false,
            is_submodule: false,
            uses_lfs: false,
        };
        assert_eq!(facts, ordinary);
    }

    #[test]
    fn each_oddity_is_seen() {
        let fixture = Fixture::new();
        let unborn = fixture.outside("unborn");
        std::fs::create_dir(&unborn).unwrap();
        Fixture::git_in(&unborn, &["init", "-q", "-b", "trunk"]);
        let facts = RepoFacts::load(&Repo::discover(&unborn).unwrap()).unwrap();
        assert!(facts.unborn && facts.branch.as_deref() == Some("trunk"));

        let shallow = fixture.outside("shallow");
        fixture.commit("second");
        let url = format!("file://{}", fixture.root.display());
        fixture.git(&["clone", "-q", "--depth", "1", &url, shallow.to_str().unwrap()]);
        assert!(RepoFacts::load(&Repo::discover(&shallow).unwrap()).unwrap().shallow);

        fixture.git(&["checkout", "-q", "--detach"]);
        fixture.git(&["sparse-checkout", "set", "src"]);
        fixture.write(".gitattributes", "*.bin filter=lfs diff=lfs\n");
        fixture.git(&["add", "--sparse", "-A"]);
        fixture.git(&["commit", "-q", "-m", "lfs"]);
        let facts = RepoFacts::load(&fixture.repo()).unwrap();
        assert!(facts.detached && facts.sparse && facts.uses_lfs && !facts.unborn, "{facts:?}");
    }
}
