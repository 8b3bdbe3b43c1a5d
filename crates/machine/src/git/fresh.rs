//! Whether a worktree that git has just written reads back as the commit it was written from.
//!
//! Its fingerprint ([`super::content::fingerprint`]) is the tree that `git add` would make of its files. Git converts files
//! again that have the same second as the index, because their times prove nothing. So the fingerprint is the tree of the
//! commit, without reading a file, only if every conversion gives exactly the committed bytes:
//!
//! - no attribute at all, or attributes that convert nothing (`diff`, `merge`, `binary`, `linguist-…`);
//! - `text=auto` without a configured line ending: files are written as they are committed, and git leaves a file
//!   alone that has CRLF in the index.
//!
//! Everything else may give other bytes: a filter is a program, `ident` writes an id into the file, and `text`, `eol` and
//! `working-tree-encoding` change files that were committed without them. There every file is read for the fingerprint.

use super::content::git_dir;
use super::prelude::*;

/// Whether the fingerprint of this worktree, unchanged since git wrote it, is its commit's tree.
pub fn reads_back_as_committed(query: &Query, worktree: &Path) -> bool {
    // A hook may have added files.
    !query.has_checkout_settings()
        && !query.has_hook("post-checkout")
        && attribute_files(query, worktree)
            .is_some_and(|files| files.iter().all(|(file, links)| converts_nothing(file, *links)))
}

/// Whether git follows a link at the path of an attributes file.
#[derive(Clone, Copy, PartialEq)]
enum Links {
    Followed,
    Ignored,
}

/// Every attributes file that git reads here; none if they cannot be determined.
fn attribute_files(query: &Query, worktree: &Path) -> Option<Vec<(PathBuf, Links)>> {
    let index = git2::Index::open(&git_dir(worktree).ok()?.join("index")).ok()?;
    let named = |path: &[u8]| path.rsplit(|&byte| byte == b'/').next() == Some(b".gitattributes");
    let committed = index.iter().filter(|entry| named(&entry.path));
    let mut files: Vec<(PathBuf, Links)> =
        committed.map(|entry| (worktree.join(OsStr::from_bytes(&entry.path)), Links::Ignored)).collect();
    let of_user = query.attributes_of_user().into_iter().chain(["/etc/gitattributes".into()]);
    files.extend(of_user.map(|file| (file, Links::Followed)));
    Some(files)
}

/// Whether no line of this attributes file converts content.
fn converts_nothing(file: &Path, links: Links) -> bool {
    let found = if links == Links::Followed { file.metadata() } else { file.symlink_metadata() };
    match found {
        Ok(meta) if meta.is_file() => read_plain(file).is_ok_and(|bytes| harmless(&lossy(&bytes))),
        Ok(_) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn harmless(text: &str) -> bool {
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    // In a quoted pattern, words and attributes cannot be distinguished.
    lines
        .filter(|line| !line.starts_with('#'))
        .all(|line| !line.starts_with('"') && line.split_whitespace().skip(1).all(|word| !converts(word)))
}

fn converts(attribute: &str) -> bool {
    let name = attribute.trim_start_matches(['-', '!']);
    let unset = name.len() < attribute.len();
    match name.split_once('=').unwrap_or((name, "")) {
        ("text", value) => !unset && value != "auto",
        ("crlf" | "eol" | "filter" | "ident", _) => !unset,
        ("working-tree-encoding", _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::content;
    use super::super::testing::Fixture;
    use super::*;

    /// Whether the quick answer is given; checks it against the slow one.
    fn is_quick(attributes: &[(&str, &str)], settings: &[(&str, &str)]) -> bool {
        let fixture = Fixture::new();
        for (name, text) in [
            ("lf.txt", "a\nb\n"),
            ("crlf.txt", "a\r\nb\r\n"),
            ("mixed.txt", "a\r\nb\n"),
            ("dir/id.c", "$Id$\n"),
            ("binary.bin", "\0\r\n"),
        ] {
            fixture.write(name, text);
        }
        fixture.git(&["add", "-A"]);
        fixture.git(&["commit", "-q", "-m", "files"]);
        // Committed after the files, so that those with CRLF stay as they are.
        for (path, text) in attributes {
            fixture.write(path, text);
            fixture.git(&["add", path]);
        }
        fixture.git(&["commit", "-q", "--allow-empty", "-m", "attributes"]);
        for (key, value) in settings {
            fixture.git(&["config", key, value]);
        }
        let path = fixture.outside("fresh");
        fixture.git(&["worktree", "add", "-q", "--detach", path.to_str().unwrap()]);
        let query = Query::open(&fixture.repo()).unwrap();
        let quick = reads_back_as_committed(&query, &path);
        if quick {
            let found = content::fingerprint(&path, &[]).unwrap();
            assert_eq!(found.tree, query.tree_of(&found.head).unwrap(), "{attributes:?}");
        }
        quick
    }

    #[test]
    fn harmless_attributes_need_no_file_reads() {
        for text in [
            "",
            "* text=auto\n",
            "# * text\n* text=auto !eol\n*.bin binary\n*.c diff=cpp linguist-language=C\n",
            "*.txt -text\n*.c -ident -filter\n*.md export-ignore merge=union whitespace=cr-at-eol\n",
            "[attr]mine diff merge\n*.txt mine\n",
        ] {
            assert!(is_quick(&[(".gitattributes", text)], &[]), "{text}");
        }
        assert!(is_quick(&[], &[]) && is_quick(&[("dir/.gitattributes", "* text=auto\n")], &[]));
    }

    #[test]
    fn conversions_are_checked_per_file() {
        for text in [
            "*.txt text\n",
            "*.txt text=auto eol=lf\n",
            "*.txt eol=crlf\n",
            "*.txt crlf=input\n",
            "*.c ident\n",
            "*.txt filter=x\n",
            "*.txt working-tree-encoding=UTF-16\n",
            "[attr]mine text\n*.txt mine\n",
            "\"*.txt\"text\n",
        ] {
            assert!(!is_quick(&[(".gitattributes", text)], &[]), "{text}");
        }
        assert!(!is_quick(&[("dir/.gitattributes", "*.c ident\n")], &[]), "in any directory");
        assert!(!is_quick(&[], &[("core.autocrlf", "input")]) && !is_quick(&[], &[("core.eol", "crlf")]));
        assert!(!is_quick(&[], &[("core.hooksPath", "hooks")]), "each worktree may have its own hooks");
        let fixture = Fixture::new();
        let file = fixture.outside("attributes");
        fs::write(&file, "* text\n").unwrap();
        assert!(!is_quick(&[], &[("core.attributesFile", file.to_str().unwrap())]));
    }
}
