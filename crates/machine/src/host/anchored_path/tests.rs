use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;

fn anchored(base: &Path, name: &str) -> AnchoredPath {
    AnchoredPath::at(base, &base.join(name)).expect("an anchored path")
}

/// `count` directories, each inside the previous one; the last holds a file. Made with handles: no path is that long.
fn nested(top: &Path, count: usize) {
    fs::create_dir(top).expect("a directory");
    let mut here = rustix::fs::open(top, DIRECTORY, Mode::empty()).expect("a handle");
    for _ in 0..count {
        rustix::fs::mkdirat(&here, "d", Mode::RWXU).expect("a directory");
        here = open_directory(&here, OsStr::new("d")).expect("a handle");
    }
    let flags = OFlags::CREATE | OFlags::WRONLY;
    rustix::fs::openat(&here, "last", flags, Mode::RUSR | Mode::WUSR).expect("a file");
}

#[test]
fn nested_directories_are_deleted_at_any_depth() {
    let dir = tempfile::tempdir().expect("a directory");
    nested(&dir.path().join("deep"), 3_000);
    anchored(dir.path(), "deep").delete().expect("deleted");
    assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 0);
}

#[test]
fn nested_directories_are_copied_at_any_depth() {
    let dir = tempfile::tempdir().expect("a directory");
    nested(&dir.path().join("deep"), 3_000);
    let (from, to) = (anchored(dir.path(), "deep"), anchored(dir.path(), "copy"));
    copy::copy(&from, &to).expect("copied");
    let mut here = rustix::fs::open(dir.path().join("copy"), DIRECTORY, Mode::empty()).expect("a handle");
    for _ in 0..3_000 {
        here = open_directory(&here, OsStr::new("d")).expect("a handle");
    }
    assert_eq!(entries(&here).expect("entries")[0].0.as_bytes(), b"last");
    drop(here);
    from.delete().expect("deleted");
    to.delete().expect("deleted");
}

#[test]
fn links_are_deleted_and_never_followed() {
    let dir = tempfile::tempdir().expect("a directory");
    let kept = dir.path().join("kept");
    fs::create_dir_all(kept.join("inside")).expect("a directory");
    fs::create_dir_all(dir.path().join("tree/sub")).expect("a directory");
    symlink(&kept, dir.path().join("tree/sub/link")).expect("a link");
    symlink(&kept, dir.path().join("link")).expect("a link");
    anchored(dir.path(), "tree").delete().expect("deleted");
    anchored(dir.path(), "link").delete().expect("deleted");
    assert!(kept.join("inside").is_dir());
    symlink(&kept, dir.path().join("above")).expect("a link");
    let refused =
        AnchoredPath::at(dir.path(), &dir.path().join("above/inside")).expect_err("a link on the way");
    assert!(refused.to_string().contains("is a link or a file"), "{refused}");
    AnchoredPath::at(&kept, &dir.path().join("above")).expect_err("not below");
    AnchoredPath::at(dir.path(), &dir.path().join("kept/../kept")).expect_err("no plain path");
}

#[test]
fn unreadable_directories_are_deleted() {
    let dir = tempfile::tempdir().expect("a directory");
    let deep = dir.path().join("tree/a/b/c");
    fs::create_dir_all(&deep).expect("a directory");
    fs::write(deep.join("file"), "x").expect("a file");
    for path in ["tree/a/b/c", "tree/a/b", "tree/a", "tree"] {
        fs::set_permissions(dir.path().join(path), fs::Permissions::from_mode(0o000)).expect("rights");
    }
    anchored(dir.path(), "tree").delete().expect("deleted");
    assert!(!dir.path().join("tree").exists());
}

#[test]
fn copy_keeps_links_modes_times_and_holes() {
    let dir = tempfile::tempdir().expect("a directory");
    let tree = dir.path().join("tree");
    fs::create_dir_all(tree.join("sub")).expect("a directory");
    fs::write(tree.join("sub/run"), "echo\n").expect("a file");
    fs::set_permissions(tree.join("sub/run"), fs::Permissions::from_mode(0o750)).expect("rights");
    symlink("nowhere", tree.join("link")).expect("a link");
    let sparse = fs::File::create(tree.join("sparse")).expect("a file");
    sparse.set_len(20 << 30).expect("a hole");
    copy::copy(&anchored(dir.path(), "tree"), &anchored(dir.path(), "copy")).expect("copied");
    let copy = dir.path().join("copy");
    assert_eq!(fs::read(copy.join("sub/run")).expect("a file"), b"echo\n");
    let (then, now) = (tree.join("sub/run"), copy.join("sub/run"));
    let (then, now) = (then.metadata().expect("there"), now.metadata().expect("there"));
    assert_eq!((then.mode(), then.mtime_nsec()), (now.mode(), now.mtime_nsec()));
    assert_eq!(fs::read_link(copy.join("link")).expect("a link"), Path::new("nowhere"));
    let hole = copy.join("sparse").metadata().expect("there");
    assert!(hole.len() == 20 << 30 && hole.blocks() < 1024, "{} blocks", hole.blocks());
}

#[test]
fn move_replaces_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::create_dir(dir.path().join("one")).expect("a directory");
    fs::create_dir(dir.path().join("two")).expect("a directory");
    anchored(dir.path(), "one").move_to(&anchored(dir.path(), "two")).expect_err("taken");
    assert!(anchored(dir.path(), "one").move_to(&anchored(dir.path(), "three")).expect("moved"));
    assert!(!anchored(dir.path(), "one").move_to(&anchored(dir.path(), "four")).expect("nothing there"));
}

/// Needs two file systems: the temporary directory and memory.
#[test]
fn move_across_file_systems_copies() {
    let dir = tempfile::tempdir().expect("a directory");
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        return;
    };
    let device = |path: &Path| path.metadata().expect("there").dev();
    if device(dir.path()) == device(memory.path()) {
        return;
    }
    fs::create_dir_all(dir.path().join("tree/sub")).expect("a directory");
    fs::write(dir.path().join("tree/sub/file"), "text").expect("a file");
    assert!(anchored(dir.path(), "tree").move_to(&anchored(memory.path(), "tree")).expect("moved"));
    assert_eq!(fs::read(memory.path().join("tree/sub/file")).expect("a file"), b"text");
    assert!(!dir.path().join("tree").exists());
}

#[test]
fn first_link_on_the_way_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let base = dir.path();
    fs::create_dir_all(base.join("a/b")).expect("a directory");
    fs::write(base.join("a/b/file"), "x").expect("a file");
    symlink("a", base.join("to-a")).expect("a link");
    symlink("nowhere", base.join("a/last")).expect("a link");
    let found = |name: &str| first_link(base, &[Path::new("a/b/file"), Path::new(name)]);
    assert_eq!(found("a/b"), None);
    assert_eq!(found("a/missing/more"), None);
    assert_eq!(found("a/b/file/more"), None);
    assert_eq!(found("to-a/b/file"), Some(base.join("to-a")));
    assert_eq!(found("a/last"), Some(base.join("a/last")));
    assert_eq!(found("a/last/more"), Some(base.join("a/last")));
    // The base may be reached through links.
    assert_eq!(first_link(&base.join("to-a"), &[Path::new("b/file")]), None);
    assert_eq!(links_below(base, Path::new("a"), 10), [base.join("a/last")]);
    make_directories(&base.join("to-a"), &base.join("to-a/b/c/d")).expect("made");
    make_directories(base, &base.join("to-a/b/e")).expect_err("a link is on the way");
    assert!(base.join("a/b/c/d").is_dir() && !base.join("a/b/e").exists());
}

#[test]
fn new_file_leaves_other_names_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    fs::write(at("kept"), "of a person").expect("a file");
    symlink("kept", at("link")).expect("a link");
    fs::hard_link(at("kept"), at("other")).expect("a second name");
    for name in ["link", "other", "new"] {
        use std::io::Write;
        new_file(&at(name)).expect("a file").write_all(b"text").expect("written");
        assert_eq!(fs::read(at(name)).expect("a file"), b"text", "{name}");
    }
    assert_eq!(fs::read(at("kept")).expect("a file"), b"of a person");
}
