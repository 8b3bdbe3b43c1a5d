//! Finds the repository by reading a few small files.
//!
//! Every command starts here, so no process is started and no library opens the repository. The rules are git's: a
//! `.git` directory, or a `.git` file naming one; a linked worktree's git directory names the common one in
//! `commondir`.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::host::read_plain;

use thiserror::Error;

/// A repository with a checkout, identified by the directory that all its worktrees share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repo {
    /// The top of the main worktree.
    pub root: PathBuf,
    /// The directory of objects, refs and worktree records.
    pub common_dir: PathBuf,
}

/// The result of discovery from a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovered {
    pub repo: Repo,
    /// The linked worktree the search started in, if it was not the main one.
    pub linked: Option<LinkedWorktree>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedWorktree {
    /// The name of its record under `worktrees/` in the common directory.
    pub name: String,
    pub path: PathBuf,
}

#[derive(Debug, Error)]
pub enum DiscoverError {
    #[error("`{}` is not inside a git repository", start.display())]
    NotARepository { start: PathBuf },
    #[error("`{}` is a bare repository, it has no checkout", path.display())]
    Bare { path: PathBuf },
    #[error("`{}` does not lead to a repository: {why}", path.display())]
    Broken { path: PathBuf, why: &'static str },
    #[error("cannot read `{}`", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl Repo {
    /// Finds the repository that contains `start`, from the main checkout or from any of its worktrees.
    pub fn discover(start: &Path) -> Result<Self, DiscoverError> {
        discover(start).map(|found| found.repo)
    }
}

/// Finds the repository that contains `start`, and which of its worktrees.
pub fn discover(start: &Path) -> Result<Discovered, DiscoverError> {
    let start = canonical(start)?;
    for dir in start.ancestors() {
        let dot_git = dir.join(".git");
        match dot_git.metadata() {
            Ok(meta) if meta.is_file() => return from_git_file(dir, &dot_git),
            // Like git, skips a `.git` that is no repository, such as an empty directory.
            Ok(_) if is_git_dir(&dot_git) => return main_checkout(dir, &dot_git),
            _ => {}
        }
        if is_git_dir(dir) {
            let named_git = dir.file_name() == Some(".git".as_ref());
            return match dir.parent() {
                Some(parent) if named_git => main_checkout(parent, dir),
                _ => Err(DiscoverError::Bare { path: dir.to_owned() }),
            };
        }
    }
    Err(DiscoverError::NotARepository { start })
}

fn main_checkout(root: &Path, common_dir: &Path) -> Result<Discovered, DiscoverError> {
    let common_dir = canonical(common_dir)?;
    if CoreSettings::load(&common_dir).bare {
        return Err(DiscoverError::Bare { path: common_dir });
    }
    Ok(Discovered { repo: Repo { root: root.to_owned(), common_dir }, linked: None })
}

fn from_git_file(dir: &Path, dot_git: &Path) -> Result<Discovered, DiscoverError> {
    let broken = |why| DiscoverError::Broken { path: dot_git.to_owned(), why };
    let git_dir = read_git_file(dot_git).ok_or_else(|| broken("it names no directory"))?;
    if !git_dir.is_dir() {
        return Err(broken("the directory it names does not exist"));
    }
    let git_dir = canonical(&git_dir)?;
    let Some(common_dir) = read_link_file(&git_dir.join("commondir"), &git_dir) else {
        // A submodule, or a repository separate from its checkout: complete in itself.
        if !is_git_dir(&git_dir) {
            return Err(broken("the directory it names is not a repository"));
        }
        return Ok(Discovered { repo: Repo { root: dir.to_owned(), common_dir: git_dir }, linked: None });
    };
    let common_dir = canonical(&common_dir)?;
    let root = main_root(&common_dir)?;
    let name = git_dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Discovered {
        repo: Repo { root, common_dir },
        linked: Some(LinkedWorktree { name, path: dir.to_owned() }),
    })
}

/// The main checkout, as seen from a linked worktree.
fn main_root(common_dir: &Path) -> Result<PathBuf, DiscoverError> {
    let settings = CoreSettings::load(common_dir);
    if settings.bare {
        return Err(DiscoverError::Bare { path: common_dir.to_owned() });
    }
    if let Some(worktree) = settings.worktree {
        return canonical(&common_dir.join(worktree));
    }
    let why = "its main checkout is not recorded";
    match common_dir.parent() {
        Some(parent) if common_dir.file_name() == Some(".git".as_ref()) => Ok(parent.to_owned()),
        _ => Err(DiscoverError::Broken { path: common_dir.to_owned(), why }),
    }
}

fn is_git_dir(dir: &Path) -> bool {
    dir.join("HEAD").symlink_metadata().is_ok() && dir.join("objects").is_dir() && dir.join("refs").is_dir()
}

fn canonical(path: &Path) -> Result<PathBuf, DiscoverError> {
    path.canonicalize().map_err(|source| DiscoverError::Io { path: path.to_owned(), source })
}

/// The directory a `.git` file names.
pub(super) fn read_git_file(dot_git: &Path) -> Option<PathBuf> {
    let bytes = read_plain(dot_git).ok()?;
    path_from(bytes.strip_prefix(b"gitdir: ")?, dot_git.parent()?)
}

/// The path a one-line file such as `commondir` or `gitdir` holds; none when it is missing or empty.
pub(super) fn read_link_file(file: &Path, relative_to: &Path) -> Option<PathBuf> {
    path_from(&read_plain(file).ok()?, relative_to)
}

fn path_from(bytes: &[u8], relative_to: &Path) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let end = bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))?;
    Some(tidy(&relative_to.join(std::ffi::OsStr::from_bytes(&bytes[..=end]))))
}

/// Resolves `.` and `..` in a path textually, so that paths whose end no longer exists can be compared.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                tidy.pop();
            }
            other => tidy.push(other),
        }
    }
    tidy
}

/// The two settings that decide where a checkout is.
#[derive(Debug, Default, PartialEq, Eq)]
struct CoreSettings {
    bare: bool,
    worktree: Option<String>,
}

impl CoreSettings {
    /// Reads `config` and then `config.worktree`, where git moves both settings once worktrees have their own config.
    fn load(common_dir: &Path) -> Self {
        let mut settings = Self::default();
        for file in ["config", "config.worktree"] {
            if let Ok(bytes) = read_plain(&common_dir.join(file)) {
                settings.read(&String::from_utf8_lossy(&bytes));
            }
        }
        settings
    }

    fn read(&mut self, text: &str) {
        let mut in_core = false;
        for line in text.lines().map(str::trim) {
            if let Some(header) = line.strip_prefix('[') {
                let name = header.split(']').next().unwrap_or_default();
                in_core = name.trim().eq_ignore_ascii_case("core");
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or((line, "true"));
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            let is_yes = || matches!(value.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "1");
            match key.as_str() {
                "bare" if in_core => self.bare = is_yes(),
                "worktree" if in_core => self.worktree = Some(unquote(value)),
                _ => {}
            }
        }
    }
}

fn unquote(value: &str) -> String {
    match value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.replace("\\\"", "\"").replace("\\\\", "\\"),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fixture;
    use super::*;

    #[test]
    fn repository_is_found_from_any_directory() {
        let fixture = Fixture::new();
        let deep = fixture.root.join("a dir/ünï");
        std::fs::create_dir_all(&deep).unwrap();
        let repo = Repo { root: fixture.root.clone(), common_dir: fixture.root.join(".git") };
        for start in [&fixture.root, &deep, &fixture.root.join(".git"), &fixture.root.join(".git/refs")] {
            assert_eq!(
                discover(start).unwrap(),
                Discovered { repo: repo.clone(), linked: None },
                "{start:?}"
            );
        }
    }

    #[test]
    fn linked_worktree_leads_to_the_main_one() {
        let fixture = Fixture::new();
        let path = fixture.outside("wörk tree");
        fixture.git(&["worktree", "add", "-q", "--detach", path.to_str().unwrap()]);
        std::fs::create_dir(path.join("sub")).unwrap();
        let found = discover(&path.join("sub")).unwrap();
        assert_eq!(found.repo, fixture.repo());
        assert_eq!(found.linked.as_ref().map(|linked| &linked.path), Some(&path));
        // The same with relative links, as newer versions of git write them.
        let admin = fixture.root.join(".git/worktrees").join(&found.linked.as_ref().unwrap().name);
        let name = admin.file_name().unwrap().to_str().unwrap();
        let main = fixture.root.file_name().unwrap().to_str().unwrap();
        std::fs::write(path.join(".git"), format!("gitdir: ../{main}/.git/worktrees/{name}\n")).unwrap();
        assert_eq!(discover(&path).unwrap(), found);
    }

    #[test]
    fn submodule_is_its_own_repository() {
        let fixture = Fixture::new();
        let other = Fixture::new();
        fixture.git(&[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            other.root.to_str().unwrap(),
            "the sub",
        ]);
        let sub = fixture.root.join("the sub");
        let found = discover(&sub).unwrap();
        assert_eq!(found.repo, Repo { root: sub, common_dir: fixture.root.join(".git/modules/the sub") });
        assert_eq!(found.linked, None);
        // A worktree of the submodule finds the submodule's own checkout through `core.worktree`.
        let path = fixture.outside("sub-wt");
        Fixture::git_in(&found.repo.root, &["worktree", "add", "-q", path.to_str().unwrap()]);
        assert_eq!(discover(&path).unwrap().repo, found.repo);
    }

    #[test]
    fn bare_missing_and_broken_are_distinguished() {
        let fixture = Fixture::new();
        let bare = fixture.outside("bare.git");
        fixture.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
        assert!(matches!(discover(&bare), Err(DiscoverError::Bare { .. })));
        let linked = fixture.outside("of-bare");
        Fixture::git_in(&bare, &["worktree", "add", "-q", linked.to_str().unwrap()]);
        assert!(matches!(discover(&linked), Err(DiscoverError::Bare { .. })));

        let nowhere = fixture.outside("nowhere");
        std::fs::create_dir_all(nowhere.join(".git")).unwrap();
        assert!(
            matches!(discover(&nowhere), Err(DiscoverError::NotARepository { .. })),
            "an empty .git is none"
        );

        let broken = fixture.outside("broken");
        std::fs::create_dir_all(&broken).unwrap();
        for text in ["", "gitdir: \n", "gitdir: /no/such/place\n", "nonsense\n"] {
            std::fs::write(broken.join(".git"), text).unwrap();
            assert!(matches!(discover(&broken), Err(DiscoverError::Broken { .. })), "{text:?}");
        }
    }

    #[test]
    fn core_settings_are_read_as_git_does() {
        let mut settings = CoreSettings::default();
        settings.read(
            "[core]\n\tBare = false\n[remote \"core\"]\n\tbare = true\n[core]\n\tworktree = \"../a b\"\n",
        );
        assert_eq!(settings, CoreSettings { bare: false, worktree: Some("../a b".into()) });
        settings.read("[CORE]\nbare\n");
        assert!(settings.bare);
    }
}
