use super::super::testing::{Fixture, commit_in, make_executable, write_in};
use super::*;

fn conflict(outcome: MergeTree) -> Vec<ConflictFile> {
    match outcome {
        MergeTree::Conflict { files, .. } => files,
        MergeTree::Clean(tree) => panic!("clean: {tree}"),
    }
}

#[test]
fn clean_merge_gives_a_tree_without_a_checkout() {
    let fixture = Fixture::new();
    let base = fixture.head();
    let one = fixture.branch("one", &base, &[("a ä", "1\n")]);
    let two = fixture.branch("two", &base, &[("b", "2\n")]);
    fixture.write("base.txt", "dirty\n");
    let before =
        (std::fs::read(fixture.root.join(".git/index")).unwrap(), fixture.git(&["status", "--porcelain"]));
    let MergeTree::Clean(tree) = merge_tree(&fixture.repo(), &one, &two).unwrap() else { panic!() };
    let listed = fixture.git(&["-c", "core.quotePath=false", "ls-tree", "--name-only", tree.as_str()]);
    assert_eq!(listed, "a ä\nb\nbase.txt");
    assert_eq!(merge_tree(&fixture.repo(), &one, &two).unwrap(), MergeTree::Clean(tree));
    assert_eq!(
        (std::fs::read(fixture.root.join(".git/index")).unwrap(), fixture.git(&["status", "--porcelain"])),
        before
    );
}

#[test]
fn conflict_comes_with_its_hunks() {
    let fixture = Fixture::new();
    fixture.write("f ü.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    let base = fixture.commit("nine");
    let ours = fixture.branch("ours", &base, &[("f ü.txt", "0\n1\nTWO\n3\n4\n5\n6\n7\n8\nNINE\n")]);
    let theirs = fixture.branch("theirs", &base, &[("f ü.txt", "1\nzwei\n3\n4\n5\n6\n7\n8\n9\n10\n")]);
    let files = conflict(merge_tree(&fixture.repo(), &ours, &theirs).unwrap());
    assert_eq!(files.len(), 1);
    assert_eq!((files[0].path.as_str(), &files[0].kind), ("f ü.txt", &ConflictKind::Content));
    let hunks: Vec<_> = files[0].hunks().collect();
    assert_eq!(hunks.len(), 2);
    assert_eq!((hunks[0].base.as_slice(), hunks[0].theirs.as_slice()), (&b"2\n"[..], &b"zwei\n"[..]));
    assert_eq!((hunks[1].ours.as_slice(), hunks[1].line), (&b"NINE\n"[..], 10));
}

#[test]
fn conflicts_not_about_lines_are_named() {
    let fixture = Fixture::new();
    // Different texts, or git would take one file for a rename of the other.
    let text_of = |name: &str, third: &str| {
        let lines =
            (1..9).map(|number| if number == 3 { third.to_owned() } else { format!("{name} {number}") });
        lines.collect::<Vec<_>>().join("\n") + "\n"
    };
    for name in ["deleted", "mode", "renamed.txt"] {
        fixture.write(name, text_of(name, "3"));
    }
    fixture.write("bin", b"\0base");
    std::os::unix::fs::symlink("base", fixture.root.join("link")).unwrap();
    let base = fixture.commit("files");
    let relink = |to: &str| {
        std::fs::remove_file(fixture.root.join("link")).unwrap();
        std::os::unix::fs::symlink(to, fixture.root.join("link")).unwrap();
    };
    fixture.git(&["checkout", "-q", "-b", "ours"]);
    std::fs::remove_file(fixture.root.join("deleted")).unwrap();
    fixture.write("bin", b"\0ours");
    fixture.write("mode", text_of("mode", "ours"));
    make_executable(&fixture.root.join("mode"));
    fixture.git(&["mv", "renamed.txt", "new-name.txt"]);
    fixture.write("new-name.txt", text_of("renamed.txt", "ours"));
    fixture.write("added", "ours\n");
    relink("ours");
    let ours = fixture.commit("ours");
    fixture.git(&["checkout", "-q", "-b", "theirs", base.as_str()]);
    fixture.write("deleted", text_of("deleted", "changed"));
    fixture.write("bin", b"\0theirs");
    fixture.write("mode", text_of("mode", "theirs"));
    fixture.write("renamed.txt", text_of("renamed.txt", "theirs"));
    fixture.write("added", "theirs\n");
    relink("theirs");
    let theirs = fixture.commit("theirs");
    let files = conflict(merge_tree(&fixture.repo(), &ours, &theirs).unwrap());
    let kinds: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.kind.clone())).collect();
    assert_eq!(
        kinds,
        [
            ("added", ConflictKind::BothAdded),
            ("bin", ConflictKind::Binary),
            ("deleted", ConflictKind::ModifyDelete),
            ("link", ConflictKind::Symlink),
            ("mode", ConflictKind::Mode),
            ("new-name.txt", ConflictKind::Renamed),
        ]
    );
}

#[test]
fn unrelated_or_missing_commits_are_errors() {
    let fixture = Fixture::new();
    let base = fixture.head();
    fixture.git(&["checkout", "-q", "--orphan", "alone"]);
    let alone = fixture.commit("alone");
    let missing = CommitId::new(&"1".repeat(40)).unwrap();
    for other in [&alone, &missing] {
        let error = merge_tree(&fixture.repo(), &base, other).unwrap_err();
        assert!(matches!(error, MergeError::Git(GitError::Failed { .. })), "{error:?}");
    }
}

#[test]
fn resolved_files_replace_conflicting_ones() {
    let fixture = Fixture::new();
    fixture.write("dir/run.sh", "1\n");
    make_executable(&fixture.root.join("dir/run.sh"));
    let base = fixture.commit("script");
    let ours = fixture.branch("ours", &base, &[("dir/run.sh", "ours\n"), ("o", "o")]);
    let theirs = fixture.branch("theirs", &base, &[("dir/run.sh", "theirs\n"), ("t", "t")]);
    let MergeTree::Conflict { tree, .. } = merge_tree(&fixture.repo(), &ours, &theirs).unwrap() else {
        panic!()
    };
    let resolved = [Resolution { path: "dir/run.sh".into(), content: b"both\n".to_vec() }];
    let tree = resolve_tree(&fixture.repo(), &tree, &resolved).unwrap();
    assert_eq!(fixture.git(&["show", &format!("{tree}:dir/run.sh")]), "both");
    let listed = fixture.git(&["ls-tree", "-r", tree.as_str()]);
    assert!(listed.contains("100755") && listed.contains("\to") && listed.contains("\tt"), "{listed}");
    let unknown = [Resolution { path: "nope".into(), content: Vec::new() }];
    assert!(matches!(
        resolve_tree(&fixture.repo(), &tree, &unknown),
        Err(MergeError::NothingToResolve { .. })
    ));
}

fn linked(fixture: &Fixture) -> std::path::PathBuf {
    let path = fixture.root.join(".worktrees/t1");
    fixture.git(&["worktree", "add", "-q", "-b", "t1", path.to_str().unwrap()]);
    path
}

#[test]
fn sync_merges_in_the_tasks_worktree() {
    let fixture = Fixture::new();
    let (repo, path, base) = (fixture.repo(), linked(&fixture), fixture.head());
    write_in(&path, "mine", "x");
    let mine = commit_in(&path, "mine");
    assert_eq!(merge_in_worktree(&repo, &path, &base, "sync").unwrap(), Synced::UpToDate);
    let theirs = fixture.branch("theirs", &base, &[("theirs", "y")]);
    for (key, value) in [("commit.gpgsign", "true"), ("gpg.program", "/nonexistent"), ("merge.ff", "only")] {
        fixture.git(&["config", key, value]);
    }
    let Synced::Merged(commit) = merge_in_worktree(&repo, &path, &theirs, "-m sync").unwrap() else {
        panic!()
    };
    let info = Query::open(&repo).unwrap().commit_info(&commit).unwrap();
    assert_eq!(info.parents, [mine, theirs]);
    assert_eq!(info.subject, "-m sync");
    assert_eq!(info.committer.identity.email, "liza@localhost");
    assert!(path.join("theirs").exists() && !fixture.root.join("theirs").exists());
}

#[test]
fn sync_leaves_a_conflict_in_progress() {
    let fixture = Fixture::new();
    let (repo, path, base) = (fixture.repo(), linked(&fixture), fixture.head());
    write_in(&path, "base.txt", "mine\n");
    commit_in(&path, "mine");
    let theirs = fixture.branch("theirs", &base, &[("base.txt", "theirs\n")]);
    let Synced::Conflict(files) = merge_in_worktree(&repo, &path, &theirs, "sync").unwrap() else { panic!() };
    assert_eq!((files[0].path.as_str(), files[0].hunks().count()), ("base.txt", 1));
    assert_eq!(content::merge_head(&path).unwrap(), Some(theirs.clone()));
    let again = merge_in_worktree(&repo, &path, &theirs, "sync").unwrap_err();
    assert!(matches!(again, MergeError::InProgress { .. }));
}

#[test]
fn sync_refuses_to_overwrite_unsaved_work() {
    let fixture = Fixture::new();
    let (repo, path, base) = (fixture.repo(), linked(&fixture), fixture.head());
    write_in(&path, "base.txt", "unsaved\n");
    let theirs = fixture.branch("theirs", &base, &[("base.txt", "theirs\n")]);
    let error = merge_in_worktree(&repo, &path, &theirs, "sync").unwrap_err();
    assert!(matches!(error, MergeError::Git(GitError::Failed { .. })), "{error:?}");
    assert_eq!(std::fs::read(path.join("base.txt")).unwrap(), b"unsaved\n");
}

#[test]
fn text_that_looks_like_markers_is_text() {
    let base = "<<<<<<< not a marker\n=======\n>>>>>>>\nTitle\n=========\nx\n";
    let ours = base.replace('x', "ours");
    let theirs = base.replace('x', "theirs");
    let segments = segments_of(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()).unwrap();
    let [Segment::Merged(merged), Segment::Conflict(hunk)] = &segments[..] else { panic!("{segments:?}") };
    assert_eq!(merged.as_slice(), &base.as_bytes()[..base.len() - 2]);
    assert_eq!((hunk.base.as_slice(), hunk.ours.as_slice(), hunk.line), (&b"x\n"[..], &b"ours\n"[..], 6));
}

#[test]
fn windows_line_ends_are_cut_as_well() {
    let segments = segments_of(b"a\r\nx\r\n", b"a\r\no\r\n", b"a\r\nt\r\n").unwrap();
    let [Segment::Merged(_), Segment::Conflict(hunk)] = &segments[..] else { panic!("{segments:?}") };
    assert_eq!((hunk.ours.as_slice(), hunk.theirs.as_slice()), (&b"o\r\n"[..], &b"t\r\n"[..]));
}
