use super::super::content;
use super::super::testing::{Fixture, make_executable};
use super::*;

fn paths(changes: &[ChangedPath]) -> Vec<(&str, ChangeStatus)> {
    changes.iter().map(|change| (change.path.as_str(), change.status)).collect()
}

#[test]
fn branches_and_expressions_resolve_to_commits() {
    let fixture = Fixture::new();
    let base = fixture.head();
    let second = fixture.commit("second");
    fixture.git(&["tag", "-a", "-m", "t", "v1", base.as_str()]);
    let query = Query::open(&fixture.repo()).unwrap();
    assert_eq!(query.head_of_branch("main").unwrap(), Some(second.clone()));
    assert_eq!(query.head_of_branch("no such").unwrap(), None);
    assert_eq!(query.head_of_branch("--help").unwrap(), None);
    for rev in ["v1", "main~1", base.as_str(), base.short()] {
        assert_eq!(query.resolve(rev).unwrap(), Some(base.clone()), "{rev}");
    }
    for rev in ["nope", "", "--all", "main:base.txt", &"1".repeat(40)] {
        assert_eq!(query.resolve(rev).unwrap(), None, "{rev}");
    }
    assert!(query.has_commit(&base));
    assert!(!query.has_commit(&CommitId::new(&"1".repeat(40)).unwrap()));
}

#[test]
fn history_questions() {
    let fixture = Fixture::new();
    let base = fixture.head();
    let one = fixture.branch("one", &base, &[("a", "a")]);
    let two = fixture.branch("two", &base, &[("b", "b")]);
    let query = Query::open(&fixture.repo()).unwrap();
    assert!(query.is_ancestor(&base, &one).unwrap());
    assert!(query.is_ancestor(&one, &one).unwrap());
    assert!(!query.is_ancestor(&one, &two).unwrap());
    assert_eq!(query.merge_base(&one, &two).unwrap(), Some(base.clone()));
    let commits = query.commits_between(&base, &one).unwrap();
    assert_eq!(commits.len(), 1);
    assert_eq!((commits[0].subject.as_str(), &commits[0].parents), ("one", &vec![base.clone()]));
    assert_eq!(commits[0].author.identity.email, "dev@example.org");
    fixture.git(&["checkout", "-q", "--orphan", "alone"]);
    let alone = fixture.commit("alone");
    assert_eq!(query.merge_base(&alone, &base).unwrap(), None);
}

#[test]
fn attributes_hide_no_changed_path() {
    let fixture = Fixture::new();
    fixture.write("dir/old.rs", "fn main() {}\n".repeat(20));
    fixture.write("becomes-dir", "x\n");
    fixture.write("tool.sh", "#!/bin/sh\n");
    fixture.write("gone.bin", b"\0\x01");
    let from = fixture.commit("from");
    fixture.write(".gitattributes", "* -diff linguist-generated export-ignore\nhidden binary\n");
    fixture.git(&["mv", "dir/old.rs", "dir/new näme.rs"]);
    std::fs::remove_file(fixture.root.join("becomes-dir")).unwrap();
    fixture.write("becomes-dir/inside", "x\n");
    make_executable(&fixture.root.join("tool.sh"));
    std::fs::remove_file(fixture.root.join("gone.bin")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", fixture.root.join("link")).unwrap();
    std::fs::remove_file(fixture.root.join("base.txt")).unwrap();
    std::os::unix::fs::symlink("elsewhere", fixture.root.join("base.txt")).unwrap();
    fixture.git(&["add", "-A"]);
    fixture.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{from},sub")]);
    fixture.git(&["commit", "-q", "-m", "to"]);
    let query = Query::open(&fixture.repo()).unwrap();
    let changes = query.changed_paths(&from, &fixture.head()).unwrap();
    use ChangeStatus::*;
    assert_eq!(
        paths(&changes),
        [
            (".gitattributes", Added),
            ("base.txt", TypeChanged),
            ("becomes-dir", Deleted),
            ("becomes-dir/inside", Added),
            ("dir/new näme.rs", Added),
            ("dir/old.rs", Deleted),
            ("gone.bin", Deleted),
            ("link", Added),
            ("sub", Added),
            ("tool.sh", ModeChanged),
        ]
    );
    assert!(query.changed_paths(&from, &from).unwrap().is_empty());
}

#[test]
fn files_are_read_as_stored() {
    let fixture = Fixture::new();
    fixture.write("sub dir/fïle", b"a\r\nb\n");
    std::os::unix::fs::symlink("base.txt", fixture.root.join("link")).unwrap();
    let head = fixture.commit("files");
    let query = Query::open(&fixture.repo()).unwrap();
    assert_eq!(query.file_at(&head, "sub dir/fïle").unwrap(), Some(b"a\r\nb\n".to_vec()));
    for path in ["missing", "sub dir", "link", "../base.txt", "sub dir/missing/deep"] {
        assert_eq!(query.file_at(&head, path).unwrap(), None, "{path}");
    }
}

#[test]
fn reads_run_no_configured_program() {
    let fixture = Fixture::new();
    let (program, mark) = fixture.canary();
    let run = program.to_str().unwrap();
    let from = fixture.head();
    fixture.write(".gitattributes", "*.txt diff=evil\n");
    fixture.write("base.txt", "changed\n");
    let to = fixture.commit("to");
    fixture.write("base.txt", "dirty\n");
    for key in [
        "core.fsmonitor",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "gpg.program",
        "credential.helper",
        "interactive.diffFilter",
    ] {
        fixture.git(&["config", key, run]);
    }
    fixture.git(&["config", "log.showSignature", "true"]);
    for hook in
        ["post-index-change", "reference-transaction", "post-checkout", "pre-commit", "fsmonitor-watchman"]
    {
        std::fs::copy(&program, fixture.root.join(".git/hooks").join(hook)).unwrap();
    }
    let _ = std::fs::remove_file(&mark);
    let repo = fixture.repo();
    let query = Query::open(&repo).unwrap();
    query.changed_paths(&from, &to).unwrap();
    query.file_at(&to, "base.txt").unwrap();
    let text = diff_text(&repo, &from, &to).unwrap();
    assert!(text.contains("-base\n+changed\n"), "{text}");
    assert_eq!(content::status(&fixture.root, content::Filters::Run).unwrap().len(), 1);
    content::fingerprint(&fixture.root, &[]).unwrap();
    super::super::merge_tree(&repo, &from, &to).unwrap();
    super::super::identity(&repo.root).unwrap();
    super::super::checkouts::list(&repo).unwrap();
    assert!(!mark.exists(), "{}", std::fs::read_to_string(&mark).unwrap_or_default());
}

#[test]
fn unknown_extension_is_named() {
    let fixture = Fixture::new();
    fixture.git(&["config", "core.repositoryformatversion", "1"]);
    fixture.git(&["config", "extensions.tomorrow", "true"]);
    let error = Query::open(&fixture.repo()).err().unwrap();
    assert!(matches!(&error, QueryError::Unsupported { why, .. } if why.contains("tomorrow")), "{error:?}");
}

#[test]
fn lines_are_followed_through_renames() {
    use crate::board::convergence::Hunk;
    let fixture = Fixture::new();
    let body: String = (0..40).map(|number| format!("line {number}\n")).collect();
    fixture.write("a.rs", &body);
    fixture.write("gone.rs", "x\n");
    fixture.write("b.rs", &body);
    let from = fixture.commit("from");
    fixture.write(".gitattributes", "* -diff binary\n");
    fixture.write("a.rs", body.replace("line 9\n", "line 9\nnew\nnewer\n").replace("line 20\n", "other\n"));
    fixture.git(&["mv", "b.rs", "moved.rs"]);
    fixture.write("new.rs", "something else\n");
    fixture.git(&["rm", "-q", "gone.rs"]);
    let to = fixture.commit("to");
    let query = Query::open(&fixture.repo()).unwrap();
    let drift = query.drift(&from, &to, &["a.rs", "b.rs", "gone.rs", "new.rs"]).unwrap();
    let mut changed = drift.changed.clone();
    changed.sort();
    assert_eq!(changed, [".gitattributes", "a.rs", "gone.rs", "moved.rs", "new.rs"]);
    let of = |from: &str| drift.files.iter().find(|file| file.from == from).unwrap();
    let hunk =
        |old_start, old_lines, new_start, new_lines| Hunk { old_start, old_lines, new_start, new_lines };
    assert_eq!(of("a.rs").hunks, [hunk(10, 0, 11, 2), hunk(21, 1, 23, 1)]);
    assert_eq!((of("b.rs").to.as_deref(), of("b.rs").hunks.len()), (Some("moved.rs"), 0));
    assert_eq!(of("gone.rs").to, None);
    assert_eq!((of("").to.as_deref(), &of("").hunks[..]), (Some("new.rs"), &[hunk(0, 0, 1, 1)][..]));
    assert_eq!(query.drift(&to, &to, &["a.rs"]).unwrap().files, []);
}
