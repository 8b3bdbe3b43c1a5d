use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Files in memory; `None` is a symbolic link.
#[derive(Debug, Clone, Default, PartialEq)]
struct Files(BTreeMap<String, Option<(Vec<u8>, bool)>>);

impl Files {
    fn of(files: &[(&str, &[u8])]) -> Self {
        let one = |(name, bytes): &(&str, &[u8])| ((*name).to_owned(), Some((bytes.to_vec(), false)));
        Self(files.iter().map(one).collect())
    }

    fn changed(&self, changes: &[Change]) -> Self {
        let mut files = self.clone();
        for change in changes {
            if let Change::Remove { path } = change {
                files.0.remove(path);
            }
        }
        for change in changes {
            if let Change::Write { path, bytes, executable } = change {
                files.0.insert(path.clone(), Some((bytes.clone(), *executable)));
            }
        }
        files
    }
}

impl Tree for Files {
    type Error = std::convert::Infallible;

    fn at(&self, path: &str) -> Result<Found, Self::Error> {
        let below = format!("{path}/");
        Ok(match self.0.get(path) {
            Some(None) => Found::Symlink,
            Some(Some((bytes, executable))) => Found::File { bytes: bytes.clone(), executable: *executable },
            None if self.0.keys().any(|name| name.starts_with(&below)) => Found::Directory,
            None => Found::Absent,
        })
    }

    fn files_below(&self, path: &str) -> Result<Vec<String>, Self::Error> {
        let below = format!("{path}/");
        Ok(self.0.keys().filter(|name| name.starts_with(&below)).cloned().collect())
    }
}

fn bundle(patches: Vec<Patch>) -> Bundle {
    Bundle {
        version: VERSION,
        metadata: Metadata {
            id: "PB-20260220-001".to_owned(),
            intent: "try".to_owned(),
            author: "coder-1".to_owned(),
            timestamp: Wall(1_771_583_400),
            touched_modules: Vec::new(),
            risk_level: Risk::Low,
        },
        patches,
        expected_checks: ExpectedChecks::default(),
        reviewer_checklist: Vec::new(),
        implementers: Vec::new(),
        task: None,
        base_commit: None,
        base_tree: None,
        result_tree: None,
    }
}

/// The result of hunks with only the documented keys.
fn hunked(old: &[u8], hunks: &[(u64, &str, &str)]) -> Result<Vec<u8>, String> {
    let hunk = |(start_line, old, new): &(u64, &str, &str)| Hunk {
        start_line: *start_line,
        old_text: (*old).to_owned(),
        new_text: (*new).to_owned(),
        ..Hunk::default()
    };
    let patch = Patch { file: "f".to_owned(), hunks: hunks.iter().map(hunk).collect(), ..Patch::default() };
    let read = read(&write(&bundle(vec![patch]))).map_err(|problems| problems[0].message.clone())?;
    let Ok(applied) = apply(&read, &Files::of(&[("f", old)]));
    match (&applied.problems[..], &applied.changes[..]) {
        ([problem, ..], _) => Err(problem.message.clone()),
        (_, [Change::Write { bytes, .. }]) => {
            assert_eq!(applied.unverified, ["f"], "no checksum was given");
            Ok(bytes.clone())
        }
        other => panic!("{other:?}"),
    }
}

const DOCUMENTED: &str = r#"{
  "version": 1,
  "metadata": {
    "id": "PB-20260220-001",
    "intent": "Add list_set opcode for indexed mutation",
    "author": "agent-1",
    "timestamp": "2026-02-20T10:30:00Z",
    "touched_modules": ["boruna-bytecode", "boruna"],
    "risk_level": "low"
  },
  "patches": [
    {
      "file": "crates/boruna-bytecode/src/opcode.rs",
      "hunks": [
        {
          "start_line": 2,
          "old_text": "    ListPush,          // 0x83",
          "new_text": "    ListPush,          // 0x83\n    ListSet,           // 0x87"
        }
      ]
    }
  ],
  "expected_checks": {"compile": true, "test": true, "replay": true, "diagnostics_count": null},
  "reviewer_checklist": ["No new language features introduced", "Backward compatible with existing bytecode"]
}"#;

#[test]
fn the_documented_example_is_read_and_applied() {
    let read = read(DOCUMENTED.as_bytes()).expect("a bundle");
    assert_eq!(read.expected_checks.names(), ["compile", "test", "replay"]);
    let file = "crates/boruna-bytecode/src/opcode.rs";
    let Ok(applied) = apply(&read, &Files::of(&[(file, b"enum {\n    ListPush,          // 0x83\n}\n")]));
    assert_eq!(applied.problems, []);
    assert_eq!(applied.unverified, [file]);
    let wanted = b"enum {\n    ListPush,          // 0x83\n    ListSet,           // 0x87\n}\n";
    assert_eq!(
        applied.changes,
        [Change::Write { path: file.to_owned(), bytes: wanted.to_vec(), executable: false }]
    );
}

#[test]
fn hunks_are_lines() {
    for (old, hunks, wanted) in [
        (&b"a\nb\nc\n"[..], &[(2, "b", "B")][..], &b"a\nB\nc\n"[..]),
        (b"a\nb\nc\n", &[(2, "b", "")], b"a\nc\n"),
        (b"a\nb\n", &[(1, "", "0"), (3, "", "c\nd")], b"0\na\nb\nc\nd\n"),
        (b"a\nb\nc\n", &[(1, "a", "x"), (3, "c", "z")], b"x\nb\nz\n"),
        // The end of the file stays unchanged.
        (b"a\nb", &[(2, "b", "B")], b"a\nB"),
        (b"a\nb", &[(2, "b", "")], b"a"),
        (b"a\r\nb\r\n", &[(2, "b\r", "B\r")], b"a\r\nB\r\n"),
        (b"", &[(1, "", "a")], b"a\n"),
        (b"a\n", &[(1, "a", "")], b""),
        (b"a\n\n", &[(1, "a\n", "x")], b"x\n"),
    ] {
        assert_eq!(hunked(old, hunks).as_deref(), Ok(wanted), "{hunks:?}");
    }
}

#[test]
fn hunks_that_do_not_fit_say_why() {
    for (old, hunks, why) in [
        (&b"a\nb\n"[..], &[(2, "x", "y")][..], "it reads `b`, but the bundle expects `x`"),
        (b"a\nb\n", &[(3, "x", "y")], "the file has only 2 lines"),
        (b"a\nb\n", &[(4, "", "y")], "the file has only 2 lines"),
        (b"a\nb\n", &[(u64::MAX, "b", "y")], "the file has only 2 lines"),
        (b"a\nb\n", &[(0, "b", "y")], "start_line is 0"),
        (b"a\nb\nc\n", &[(1, "a\nb", "y"), (2, "b", "z")], "hunk 2 overlaps hunk 1"),
        (b"a\nb\nc\n", &[(3, "c", "y"), (1, "a", "z")], "hunk 2 overlaps hunk 1"),
        (b"a\n", &[(1, "", "y"), (1, "", "z")], "hunk 2 overlaps hunk 1"),
        (b"a\n", &[(1, "a", "a")], "hunk 1 changes nothing"),
        (b"a\r\nb\r\n", &[(1, "a", "x")], "its lines end with CRLF"),
        (b"a\nb\n", &[(1, "a\r", "x")], "its lines end with LF"),
        (b"a\0\n", &[(1, "a", "x")], "it is not a text file"),
        (b"a\xff\n", &[(1, "a", "x")], "it is not a text file"),
    ] {
        let said = hunked(old, hunks).expect_err("a problem");
        assert!(said.contains(why), "{said}");
    }
}

/// Every refusal that needs no file, by its message.
#[test]
fn hostile_bundles_are_refused_each_in_its_words() {
    let path = |file: &str| {
        let hunks = vec![Hunk { start_line: 1, new_text: "x".into(), ..Hunk::default() }];
        bundle(vec![Patch { file: file.to_owned(), new_file: true, hunks, ..Patch::default() }])
    };
    let with = |change: &dyn Fn(&mut Patch)| {
        let mut bundle = path("a");
        change(&mut bundle.patches[0]);
        bundle
    };
    let sum = checksum(b"");
    let cases: Vec<(Bundle, Kind, &str)> = vec![
        (path("../x"), Kind::Path, "it leads upwards"),
        (path("a/../../x"), Kind::Path, "it leads upwards"),
        (path("/etc/passwd"), Kind::Path, "relative to the root"),
        (path("C:\\x"), Kind::Path, "`\\` may not be part"),
        (path("C:x"), Kind::Path, "relative to the root"),
        (path("a\\b"), Kind::Path, "`\\` may not be part"),
        (path(".git"), Kind::Path, "a directory of git"),
        (path(".GIT/config"), Kind::Path, "a directory of git"),
        (path("sub/.git/hooks/pre-commit"), Kind::Path, "a directory of git"),
        (path(".liza/state.yaml"), Kind::Path, "a directory of liza"),
        (path(".worktrees/t1/x"), Kind::Path, "a directory of liza"),
        (path("a\0b"), Kind::Path, "unseen character"),
        (path("a\u{1b}[2J"), Kind::Path, "unseen character"),
        (path("./a"), Kind::Path, "a bundle names it `a`"),
        (path("a//b"), Kind::Path, "a bundle names it `a/b`"),
        (path("a/"), Kind::Path, "names a directory"),
        (path(""), Kind::Path, "it names nothing"),
        (
            with(&|patch| {
                (patch.new_file, patch.renamed_from) = (false, Some("../../x".into()));
            }),
            Kind::Path,
            "it leads upwards",
        ),
        (with(&|patch| patch.mode = Some("120000".into())), Kind::Path, "may not contain symbolic links"),
        (with(&|patch| patch.mode = Some("160000".into())), Kind::Path, "may not contain submodules"),
        (with(&|patch| patch.mode = Some("100777".into())), Kind::Format, "neither 100644 nor 100755"),
        (with(&|patch| patch.deleted = true), Kind::Format, "only one of"),
        (with(&|patch| patch.old_blake3 = Some(sum.clone())), Kind::Format, "a new file has neither"),
        (with(&|patch| patch.new_blake3 = Some("x".into())), Kind::Format, "64 lower-case hexadecimal"),
        (
            with(&|patch| patch.binary = Some(Binary { old: None, new: Some("Zg==".into()) })),
            Kind::Format,
            "a binary file has no hunks",
        ),
        (
            with(&|patch| {
                patch.hunks.clear();
                patch.binary = Some(Binary { old: None, new: Some("Zg".into()) });
            }),
            Kind::Format,
            "not base64",
        ),
        (with(&|patch| patch.hunks[0].new_lines = Some(2)), Kind::Format, "is not the number of its lines"),
        (
            bundle(vec![Patch { file: "a".into(), deleted: true, ..Patch::default() }]),
            Kind::Format,
            "without its old content",
        ),
        (
            bundle(vec![Patch { file: "a".into(), ..Patch::default() }]),
            Kind::Format,
            "the patch changes nothing",
        ),
        (bundle(Vec::new()), Kind::Format, "there is no patch"),
        (
            Bundle { patches: [path("a").patches, path("a").patches].concat(), ..path("a") },
            Kind::Format,
            "it is named twice",
        ),
        (
            Bundle { patches: [path("a/b").patches, path("a").patches].concat(), ..path("a") },
            Kind::Format,
            "`a` would be both a file and a directory",
        ),
        (Bundle { version: 2, ..path("a") }, Kind::Format, "it is of version 2"),
        (
            Bundle { patches: vec![Patch::default(); MOST_PATCHES + 1], ..path("a") },
            Kind::Limit,
            "10001 patches",
        ),
        (with(&|patch| patch.hunks = vec![Hunk::default(); MOST_HUNKS + 1]), Kind::Limit, "100001 hunks"),
    ];
    for (bundle, kind, why) in cases {
        let problems = read(&write(&bundle)).expect_err(why);
        let found = problems.iter().any(|problem| problem.kind == kind && problem.message.contains(why));
        assert!(found, "{why}: {:?}", problems.iter().take(3).collect::<Vec<_>>());
        let hidden = |problem: &Problem| problem.message.chars().any(super::super::is_hidden);
        assert!(!problems.iter().any(hidden), "{problems:?}");
    }
    for (id, author) in [("../x", "a"), ("", "a"), ("a b", "a"), ("a", ""), ("a", "x\ny")] {
        let mut bundle = path("a");
        (bundle.metadata.id, bundle.metadata.author) = (id.to_owned(), author.to_owned());
        assert!(read(&write(&bundle)).is_err(), "{id:?} {author:?}");
    }
}

#[test]
fn bytes_that_are_no_bundle_are_refused() {
    let deep = format!("{{\"version\": {}1{}}}", "[".repeat(200), "]".repeat(200));
    let twice = DOCUMENTED.replacen("\"version\": 1,", "\"version\": 1, \"version\": 1,", 1);
    let strange = DOCUMENTED.replacen("\"version\": 1,", "\"version\": 1, \"shell\": \"rm\",", 1);
    let newer = strange.replacen("\"version\": 1", "\"version\": 2", 1);
    for (bytes, why) in [
        (&b""[..], "no JSON object"),
        (b"[]", "no JSON object"),
        (b"version: 1\n", "no JSON object"),
        (b"{", "EOF"),
        (b"\xff{", "not valid UTF-8"),
        (b"{\"version\": 1, \"x\": \"\xff\"}", "not valid UTF-8"),
        (deep.as_bytes(), ""),
        (twice.as_bytes(), "version"),
        (strange.as_bytes(), "shell"),
        (newer.as_bytes(), "it is of version 2"),
        (&vec![b' '; LARGEST + 1], "at most 67108864"),
    ] {
        let problems = read(bytes).expect_err(why);
        assert!(problems[0].message.contains(why), "{why}: {problems:?}");
    }
}

#[test]
fn existing_file_is_not_overwritten() {
    let new = |file: &str| patch(file, None, None, Some(Side { bytes: b"x\n", executable: false }));
    let changed = |file: &str| {
        let side = |bytes| Some(Side { bytes, executable: false });
        patch(file, None, side(&b"a\n"[..]), side(&b"b\n"[..]))
    };
    let gone = |file: &str| patch(file, None, Some(Side { bytes: b"a\n", executable: false }), None);
    let mut files = Files::of(&[("dir/one", b"a\n"), ("dir/two", b"a\n"), ("file", b"a\n")]);
    files.0.insert("link".to_owned(), None);
    let cases = [
        (vec![new("file")], Some((Kind::Conflict, "it exists already"))),
        (vec![new("file/x")], Some((Kind::Conflict, "needs a directory where there is the file `file`"))),
        (vec![new("link/x")], Some((Kind::Path, "leads through the symbolic link `link`"))),
        (vec![new("link")], Some((Kind::Path, "it is a symbolic link here"))),
        (vec![changed("link")], Some((Kind::Path, "it is a symbolic link here"))),
        (vec![new("dir")], Some((Kind::Conflict, "it is a directory here"))),
        (vec![changed("dir")], Some((Kind::Conflict, "it is a directory here"))),
        (vec![changed("none")], Some((Kind::Conflict, "there is no such file"))),
        (vec![gone("dir/one"), new("dir")], Some((Kind::Conflict, "it is a directory here"))),
        (vec![gone("dir/one"), gone("dir/two"), new("dir")], None),
        (vec![gone("file"), new("file/x")], None),
        (vec![changed("file")], None),
    ];
    for (patches, wanted) in cases {
        let bundle = bundle(patches);
        assert_eq!(check(&bundle), []);
        let Ok(applied) = apply(&bundle, &files);
        match wanted {
            None => assert_eq!(applied.problems, []),
            Some((kind, why)) => {
                let problem = &applied.problems[0];
                assert!(problem.kind == kind && problem.message.contains(why), "{why}: {problem:?}");
            }
        }
    }
}

#[test]
fn checksums_say_which_side_is_wrong() {
    let side = |bytes| Some(Side { bytes, executable: false });
    let right = patch("f", None, side(&b"a\nb\n"[..]), side(&b"a\nc\n"[..]));
    let kinds = |patch: &Patch, files: &Files| {
        let Ok(applied) = apply(&bundle(vec![patch.clone()]), files);
        applied.problems.first().map(|problem| problem.kind)
    };
    let (same, other) = (Files::of(&[("f", b"a\nb\n")]), Files::of(&[("f", b"x\nb\n")]));
    assert_eq!(kinds(&right, &same), None);
    assert_eq!(kinds(&right, &other), Some(Kind::Checksum));
    let unknown = Patch { old_blake3: None, ..right.clone() };
    assert_eq!(kinds(&unknown, &other), Some(Kind::Checksum), "the outcome is another");
    assert_eq!(kinds(&Patch { new_blake3: None, ..unknown }, &other), None, "the lines fit");
    let wrong = Patch { new_blake3: Some(checksum(b"z")), ..right.clone() };
    assert_eq!(kinds(&wrong, &same), Some(Kind::Format));
    let mode = Patch { old_mode: Some("100755".into()), mode: Some("100644".into()), ..right.clone() };
    assert_eq!(kinds(&mode, &same), Some(Kind::Conflict));
    let line = Patch { no_final_newline: Some(NoFinalNewline { old: true, new: true }), ..right };
    assert_eq!(kinds(&line, &same), Some(Kind::Conflict));
}

/// Texts of few different lines, so that much is alike; with and without an end, and bytes that are no text.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let line = prop::sample::select(vec!["", "a", "b", "c\r", "\r", "ünï", "\u{1b}[2J", "  x\t", "\u{2028}"]);
    let text = (prop::collection::vec(line, 0..12), any::<bool>()).prop_map(|(lines, ended)| {
        let mut text = lines.join("\n");
        if ended {
            text.push('\n');
        }
        text.into_bytes()
    });
    prop_oneof![8 => text, 1 => prop::collection::vec(any::<u8>(), 0..40)]
}

fn state() -> impl Strategy<Value = Option<(Vec<u8>, bool)>> {
    prop_oneof![4 => (content(), any::<bool>()).prop_map(Some), 1 => Just(None)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn created_patch_applies_to_the_same_bytes(old in state(), new in state(), renamed in any::<bool>()) {
        prop_assume!(old != new);
        let renamed = renamed && old.is_some() && new.is_some();
        let from = renamed.then_some("old name/é");
        let name = from.unwrap_or("the file");
        let before = Files(old.iter().map(|file| (name.to_owned(), Some(file.clone()))).collect());
        let after = Files(new.iter().map(|file| ("the file".to_owned(), Some(file.clone()))).collect());
        fn borrowed(file: &Option<(Vec<u8>, bool)>) -> Option<Side<'_>> {
            file.as_ref().map(|(bytes, executable)| Side { bytes, executable: *executable })
        }
        let made = bundle(vec![patch("the file", from, borrowed(&old), borrowed(&new))]);
        let read = read(&write(&made)).map_err(|problems| TestCaseError::fail(format!("{problems:?}")))?;
        prop_assert_eq!(&read, &made);
        let Ok(applied) = apply(&read, &before);
        prop_assert_eq!(applied.problems, vec![]);
        prop_assert_eq!(applied.unverified, Vec::<String>::new());
        prop_assert_eq!(&before.changed(&applied.changes), &after);
        // If both sides are text, the hunks alone give the same bytes: the checksums only confirm.
        let mut bare = read;
        (bare.patches[0].old_blake3, bare.patches[0].new_blake3) = (None, None);
        if check(&bare).is_empty() {
            let Ok(applied) = apply(&bare, &before);
            prop_assert_eq!(applied.problems, vec![]);
            prop_assert_eq!(&before.changed(&applied.changes), &after);
        }
    }
}
