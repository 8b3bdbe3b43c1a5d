use super::super::commit::Identity;
use super::super::testing::{Fixture, commit_in, make_executable, write_in};
use super::*;

fn linked(fixture: &Fixture) -> PathBuf {
    let path = fixture.root.join(".worktrees/t 1");
    fixture.git(&["worktree", "add", "-q", "-b", "t1", path.to_str().unwrap()]);
    path
}

fn kinds(worktree: &Path) -> Vec<(String, DirtyKind)> {
    status(worktree, Filters::Run).unwrap().into_iter().map(|dirty| (dirty.path, dirty.kind)).collect()
}

#[test]
fn every_kind_of_work_changes_the_fingerprint() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "ignored/\n*.log\n");
    fixture.commit("ignore");
    let path = linked(&fixture);
    let clean = fingerprint(&path, &[]).unwrap();
    assert_eq!(clean.tree, fixture.id("t1^{tree}"));
    assert_eq!(fingerprint(&path, &[]).unwrap(), clean, "reading changes nothing");

    write_in(&path, "ignored/x", "x");
    write_in(&path, "a.log", "x");
    assert_eq!(fingerprint(&path, &[]).unwrap(), clean, "ignored files are no work");

    write_in(&path, "new näme", "x");
    let untracked = fingerprint(&path, &[]).unwrap();
    assert_ne!(untracked, clean);
    Fixture::git_in(&path, &["add", "new näme"]);
    assert_eq!(fingerprint(&path, &[]).unwrap(), untracked, "staging alone is no work");
    write_in(&path, "base.txt", "BASE\n");
    let unstaged = fingerprint(&path, &[]).unwrap();
    assert_ne!(unstaged.tree, untracked.tree);
    make_executable(&path.join("base.txt"));
    assert_ne!(fingerprint(&path, &[]).unwrap().tree, unstaged.tree);
    fs::remove_file(path.join("base.txt")).unwrap();
    assert_ne!(fingerprint(&path, &[]).unwrap().tree, unstaged.tree);
    commit_in(&path, "all");
    assert_ne!(fingerprint(&path, &[]).unwrap().head, clean.head);
}

#[test]
fn same_size_change_in_same_instant_is_seen() {
    let fixture = Fixture::new();
    let path = linked(&fixture);
    for round in 0..5 {
        write_in(&path, "racy", format!("a{round}"));
        Fixture::git_in(&path, &["add", "racy"]);
        let before = fingerprint(&path, &[]).unwrap();
        write_in(&path, "racy", format!("b{round}"));
        assert_ne!(fingerprint(&path, &[]).unwrap().tree, before.tree);
    }
}

#[test]
fn reading_leaves_index_objects_and_locks_alone() {
    let fixture = Fixture::new();
    let path = linked(&fixture);
    write_in(&path, "untracked", "unique content");
    write_in(&path, "base.txt", "touched\n");
    let index = git_dir(&path).unwrap().join("index");
    let objects = || walkdir::WalkDir::new(fixture.root.join(".git/objects")).into_iter().count();
    let (bytes, count) = (fs::read(&index).unwrap(), objects());
    // A lock of another process neither stops the read nor is removed by it.
    let lock = index.with_extension("lock");
    fs::write(&lock, "").unwrap();
    fingerprint(&path, &[]).unwrap();
    status(&path, Filters::Run).unwrap();
    assert!(lock.exists());
    assert_eq!(fs::read(&index).unwrap(), bytes);
    assert_eq!(objects(), count);
}

#[test]
fn worktree_without_index_is_read() {
    let fixture = Fixture::new();
    let path = linked(&fixture);
    let before = fingerprint(&path, &[]).unwrap();
    fs::remove_file(git_dir(&path).unwrap().join("index")).unwrap();
    assert_eq!(fingerprint(&path, &[]).unwrap(), before);
}

#[test]
fn merge_in_progress_changes_the_fingerprint() {
    let fixture = Fixture::new();
    let base = fixture.head();
    let other = fixture.branch("other", &base, &[("base.txt", "other\n")]);
    let path = linked(&fixture);
    write_in(&path, "base.txt", "mine\n");
    commit_in(&path, "mine");
    assert_eq!(merge_head(&path).unwrap(), None);
    super::super::merge_in_worktree(&fixture.repo(), &path, &other, "sync").unwrap();
    let print = fingerprint(&path, &[]).unwrap();
    assert_eq!(print.merge_head, Some(other));
    assert_eq!(kinds(&path), [("base.txt".to_owned(), DirtyKind::Conflicted)]);
}

#[test]
fn status_separates_staged_changed_and_new() {
    let fixture = Fixture::new();
    for name in ["staged", "both", "changed", "gone"] {
        fixture.write(name, "1\n");
    }
    fixture.write(".gitignore", "*.log\n");
    fixture.commit("files");
    fixture.git(&["config", "status.showUntrackedFiles", "no"]);
    let path = linked(&fixture);
    assert!(kinds(&path).is_empty());
    for name in ["staged", "both"] {
        write_in(&path, name, "2\n");
        Fixture::git_in(&path, &["add", name]);
    }
    write_in(&path, "both", "3\n");
    write_in(&path, "changed", "2\n");
    fs::remove_file(path.join("gone")).unwrap();
    write_in(&path, "dir/new  ünï\nfile", "x");
    write_in(&path, "x.log", "x");
    use DirtyKind::*;
    let wanted = [("both", StagedAndUnstaged), ("changed", Unstaged), ("gone", Unstaged), ("staged", Staged)];
    let mut wanted: Vec<_> = wanted.into_iter().map(|(path, kind)| (path.to_owned(), kind)).collect();
    wanted.push(("dir/new  ünï\nfile".to_owned(), Untracked));
    assert_eq!(kinds(&path), wanted);
}

#[test]
fn left_out_paths_are_saved_once_tracked() {
    let fixture = Fixture::new();
    let path = linked(&fixture);
    write_in(&path, "made/by-agent", "one");
    commit_in(&path, "tracked");
    write_in(&path, "made/by-agent", "two");
    write_in(&path, "made/by-tool", "x");
    let who = Identity::fallback().at(1_700_000_000);
    let saved = snapshot(&fixture.repo(), &path, "wip", &who, &[], &["made/".to_owned()]).unwrap();
    let show = |file: &str| format!("{}:made/{file}", saved.commit);
    assert_eq!(fixture.git(&["show", &show("by-agent")]), "two");
    assert_eq!(fixture.git(&["ls-tree", "--name-only", saved.commit.as_str(), "made/"]), "made/by-agent");
}

#[test]
fn snapshot_saves_everything_and_changes_nothing() {
    let fixture = Fixture::new();
    let path = linked(&fixture);
    write_in(&path, "new", "unsaved\n");
    write_in(&path, "base.txt", "changed\n");
    let (head_before, before) = (head(&path).unwrap(), status(&path, Filters::Run).unwrap());
    let who = Identity::fallback().at(1_700_000_000);
    let saved = snapshot(&fixture.repo(), &path, "wip", &who, &[], &[]).unwrap();
    assert_eq!(saved.left_out, "");
    assert_eq!(fixture.git(&["show", &format!("{}:new", saved.commit)]), "unsaved");
    assert_eq!(fixture.id(&format!("{}^", saved.commit)), head_before);
    assert_eq!(head(&path).unwrap(), head_before);
    assert_eq!(status(&path, Filters::Run).unwrap(), before);
    assert_eq!(snapshot(&fixture.repo(), &path, "wip", &who, &[], &[]).unwrap(), saved, "again is the same");

    // A nested repository without a commit cannot be added; the rest is still saved.
    fs::create_dir(path.join("nested")).unwrap();
    Fixture::git_in(&path.join("nested"), &["init", "-q"]);
    let saved = snapshot(&fixture.repo(), &path, "wip", &who, &[], &[]).unwrap();
    assert!(saved.left_out.contains("nested"), "{saved:?}");
    assert_eq!(fixture.git(&["show", &format!("{}:new", saved.commit)]), "unsaved");
    assert!(matches!(fingerprint(&path, &[]), Err(GitError::Failed { .. })));
}

#[test]
fn repository_path_with_a_colon_works() {
    let fixture = Fixture::new();
    let odd = fixture.outside("a:b \"c");
    fs::rename(&fixture.root, &odd).unwrap();
    write_in(&odd, "new", "x");
    fingerprint(&odd, &[]).unwrap();
    fs::rename(&odd, &fixture.root).unwrap();
}

#[test]
fn moved_or_dirty_submodule_counts() {
    let fixture = Fixture::new();
    let other = Fixture::new();
    let url = other.root.to_str().unwrap();
    fixture.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]);
    fixture.commit("sub");
    fixture.git(&["config", "submodule.sub.ignore", "all"]);
    assert!(kinds(&fixture.root).is_empty());
    let clean = fingerprint(&fixture.root, &[]).unwrap();
    write_in(&fixture.root, "sub/new", "x");
    assert_eq!(kinds(&fixture.root), [("sub".to_owned(), DirtyKind::Submodule)]);
    commit_in(&fixture.root.join("sub"), "moved");
    assert_eq!(kinds(&fixture.root), [("sub".to_owned(), DirtyKind::Submodule)]);
    assert_ne!(fingerprint(&fixture.root, &[]).unwrap().tree, clean.tree);
}

#[test]
fn head_is_read_without_git() {
    let fixture = Fixture::new();
    let worktree = linked(&fixture);
    for place in [fixture.root.as_path(), worktree.as_path()] {
        assert_eq!(head_by_files(place), head(place).ok());
        assert!(head_by_files(place).is_some());
    }
    Fixture::git_in(&worktree, &["checkout", "-q", "--detach"]);
    assert_eq!(head_by_files(&worktree).unwrap(), fixture.id("HEAD"));
    // Only git resolves a ref of one worktree.
    Fixture::git_in(&worktree, &["update-ref", "refs/worktree/mine", "HEAD"]);
    Fixture::git_in(&worktree, &["symbolic-ref", "HEAD", "refs/worktree/mine"]);
    assert_eq!(head_by_files(&worktree), None);
    assert_eq!(head(&worktree).unwrap(), fixture.id("HEAD"));
}

#[test]
fn index_skip_marks_are_seen_without_git() {
    let fixture = Fixture::new();
    let index = fixture.root.join(".git/index");
    let tracked = fixture.git(&["ls-files"]).lines().next().unwrap().to_owned();
    let marked = || hidden(&fixture.root, Some(&index), || panic!("git is not needed")).unwrap();
    assert!(marked().is_empty());
    for mark in ["assume-unchanged", "skip-worktree"] {
        fixture.git(&["update-index", &format!("--{mark}"), &tracked]);
        assert_eq!(marked(), [tracked.as_bytes()], "{mark}");
        fixture.git(&["update-index", &format!("--no-{mark}"), &tracked]);
        assert!(marked().is_empty(), "no {mark}");
    }
}
