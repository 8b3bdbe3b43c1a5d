//! A throwaway repository for the tests of this room.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::repo::Repo;
use crate::board::CommitId;

/// A repository with one commit, in a directory whose name has a space and a non-ASCII letter.
pub struct Fixture {
    dir: tempfile::TempDir,
    pub root: PathBuf,
}

impl Default for Fixture {
    fn default() -> Self {
        Self::new()
    }
}

impl Fixture {
    pub fn new() -> Self {
        let dir = crate::testing::temporary_dir();
        let root = dir.path().canonicalize().unwrap().join("my répo");
        std::fs::create_dir(&root).unwrap();
        let fixture = Self { dir, root };
        fixture.git(&["init", "-q", "-b", "main"]);
        fixture.write("base.txt", "base\n");
        fixture.commit("base");
        fixture
    }

    pub fn repo(&self) -> Repo {
        Repo::discover(&self.root).unwrap()
    }

    /// A path beside the repository.
    pub fn outside(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub fn git(&self, args: &[&str]) -> String {
        Self::git_in(&self.root, args)
    }

    /// Runs git as a developer would, with an identity but without the user's configuration.
    pub fn git_in(dir: &Path, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.current_dir(dir).args(args);
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"GIT_") {
                command.env_remove(name);
            }
        }
        command
            .env("HOME", "/nonexistent")
            .env("XDG_CONFIG_HOME", "/nonexistent")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Dev").env(format!("GIT_{who}_EMAIL"), "dev@example.org");
        }
        let output = crate::testing::finish(&mut command);
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        write_in(&self.root, path, text);
    }

    /// Commits everything in the main checkout.
    pub fn commit(&self, message: &str) -> CommitId {
        commit_in(&self.root, message)
    }

    pub fn head(&self) -> CommitId {
        self.id("HEAD")
    }

    pub fn id(&self, rev: &str) -> CommitId {
        CommitId::new(&self.git(&["rev-parse", "--verify", rev])).unwrap()
    }

    /// A commit on a new branch, made from `start` by writing these files.
    pub fn branch(&self, name: &str, start: &CommitId, files: &[(&str, &str)]) -> CommitId {
        self.git(&["checkout", "-q", "-b", name, start.as_str()]);
        for (path, text) in files {
            self.write(path, text);
        }
        let id = self.commit(name);
        self.git(&["checkout", "-q", "main"]);
        id
    }

    /// A program that leaves a mark file when it runs, and that file.
    pub fn canary(&self) -> (PathBuf, PathBuf) {
        let (program, mark) = (self.outside("canary.sh"), self.outside("canary-ran"));
        std::fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", mark.display()))
            .unwrap();
        make_executable(&program);
        (program, mark)
    }
}

pub fn make_executable(program: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
}

pub fn write_in(dir: &Path, path: &str, text: impl AsRef<[u8]>) {
    let file = dir.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

pub fn commit_in(dir: &Path, message: &str) -> CommitId {
    Fixture::git_in(dir, &["add", "-A"]);
    Fixture::git_in(dir, &["commit", "-q", "--allow-empty", "-m", message]);
    CommitId::new(&Fixture::git_in(dir, &["rev-parse", "HEAD"])).unwrap()
}
