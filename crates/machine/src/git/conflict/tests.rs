use super::super::merge::segments_of;
use super::*;

/// Merges three texts as git would and classifies the conflict.
fn judge(path: &str, base: &str, ours: &str, theirs: &str) -> Result<String, String> {
    let segments = segments_of(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()).unwrap();
    let file = ConflictFile { path: path.to_owned(), kind: ConflictKind::Content, segments };
    assert!(file.hunks().next().is_some(), "{path}: {ours:?} and {theirs:?} do not conflict");
    match classify(&[file]) {
        Class::Trivial(resolved) => Ok(String::from_utf8(resolved[0].content.clone()).unwrap()),
        Class::Logic(reason) => Err(reason.to_string()),
    }
}

#[test]
fn trivial_conflicts_keep_every_line() {
    let cases: &[(&str, &str, &str, &str, &str, &str)] = &[
        // what, file, base, ours, theirs, result
        ("reindented and changed", "a.rs", "f();\n", "    f();\n", "g();\n", "g();\n"),
        ("changed and reindented", "a.rs", "f();\n", "g();\n", "    f();\n", "g();\n"),
        ("same change, other layout", "a.go", "f()\n", "\tg()\n", "  g()\n", "\tg()\n"),
        ("line ends", "a.py", "x = 1\n", "x = 1\r\n", "x = 2\n", "x = 2\n"),
        ("blanks at the end", "a.py", "x = 1\n", "x = 1  \n", "x = 2\n", "x = 2\n"),
        ("blank lines", "a.js", "f();\n", "\n\nf();\n", "g();\n", "g();\n"),
        ("runs of blanks", "a.c", "int  a;\n", "int a;\n", "int  b;\n", "int  b;\n"),
        (
            "rust imports",
            "a.rs",
            "",
            "use a::A;\nuse c::C;\n",
            "use b::B;\n",
            "use a::A;\nuse b::B;\nuse c::C;\n",
        ),
        (
            "rust imports, one on both sides",
            "a.rs",
            "use m;\n",
            "use b;\nuse m;\n",
            "use a;\nuse b;\nuse m;\n",
            "use a;\nuse b;\nuse m;\n",
        ),
        (
            "rust imports, not sorted",
            "a.rs",
            "",
            "use z::Z;\nuse c::C;\n",
            "use b::B;\n",
            "use z::Z;\nuse c::C;\nuse b::B;\n",
        ),
        (
            "rust import trees",
            "a.rs",
            "",
            "use a::{B, c::{self, D as E}};\n",
            "pub(crate) use x::D;\n",
            "pub(crate) use x::D;\nuse a::{B, c::{self, D as E}};\n",
        ),
        (
            "python imports",
            "a.py",
            "import os\n",
            "import os\nimport sys\n",
            "import os\nimport re\n",
            "import os\nimport re\nimport sys\n",
        ),
        (
            "python from-imports",
            "a.py",
            "",
            "from a import (b, c)\n",
            "from d import e as f\n",
            "from a import (b, c)\nfrom d import e as f\n",
        ),
        (
            "script imports",
            "a.ts",
            "",
            "import A, { b as c } from './a';\n",
            "import type { D } from \"d\";\n",
            "import A, { b as c } from './a';\nimport type { D } from \"d\";\n",
        ),
        (
            "go imports",
            "a.go",
            "package a\n\nimport (\n\t\"fmt\"\n)\n",
            "package a\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n",
            "package a\n\nimport (\n\t\"fmt\"\n\tx \"net/http\"\n)\n",
            "package a\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\tx \"net/http\"\n)\n",
        ),
        (
            "functions",
            "a.rs",
            "",
            "fn a() {\n    x();\n}\n",
            "pub fn b() {\n    y();\n}\n",
            "fn a() {\n    x();\n}\npub fn b() {\n    y();\n}\n",
        ),
        (
            "tests with the same attribute",
            "a.rs",
            "mod t {\n}\n",
            "mod t {\n    #[test]\n    fn a() {\n        x();\n    }\n}\n",
            "mod t {\n    #[test]\n    fn b() {\n        y();\n    }\n}\n",
            "mod t {\n    #[test]\n    fn a() {\n        x();\n    }\n    #[test]\n    fn b() {\n        y();\n    }\n}\n",
        ),
        ("modules", "lib.rs", "", "pub mod a;\n", "pub mod b;\n", "pub mod a;\npub mod b;\n"),
        (
            "fields",
            "a.rs",
            "struct S {\n}\n",
            "struct S {\n    a: u8,\n}\n",
            "struct S {\n    b: u8,\n}\n",
            "struct S {\n    a: u8,\n    b: u8,\n}\n",
        ),
        (
            "variants",
            "a.rs",
            "enum E {\n}\n",
            "enum E {\n    A,\n}\n",
            "enum E {\n    B(u8),\n}\n",
            "enum E {\n    A,\n    B(u8),\n}\n",
        ),
        (
            "python functions",
            "a.py",
            "",
            "def a():\n    return 1\n",
            "@x\ndef b():\n    return 2\n",
            "def a():\n    return 1\n@x\ndef b():\n    return 2\n",
        ),
        (
            "go methods",
            "a.go",
            "",
            "func (s *S) A() {\n}\n",
            "func B() int {\n\treturn 1\n}\n",
            "func (s *S) A() {\n}\nfunc B() int {\n\treturn 1\n}\n",
        ),
        (
            "script tests",
            "a.test.js",
            "",
            "it('adds', () => {\n  x();\n});\n",
            "it('subtracts', () => {\n  y();\n});\n",
            "it('adds', () => {\n  x();\n});\nit('subtracts', () => {\n  y();\n});\n",
        ),
        (
            "toml keys",
            "a.toml",
            "[d]\n",
            "[d]\na = \"1\"\n",
            "[d]\nb = \"1\"\n",
            "[d]\na = \"1\"\nb = \"1\"\n",
        ),
        ("yaml keys", "a.yaml", "m:\n", "m:\n  a: 1\n", "m:\n  b: 2\n", "m:\n  a: 1\n  b: 2\n"),
        (
            "json entries",
            "a.json",
            "{\n\"z\": 0\n}\n",
            "{\n\"a\": 1,\n\"z\": 0\n}\n",
            "{\n\"b\": 2,\n\"z\": 0\n}\n",
            "{\n\"a\": 1,\n\"b\": 2,\n\"z\": 0\n}\n",
        ),
        ("prose", "CHANGELOG.md", "# C\n", "# C\n- one\n", "# C\n- two\n", "# C\n- one\n- two\n"),
        ("prose without an end of line", "n.txt", "", "one", "two", "one\ntwo"),
    ];
    for (what, path, base, ours, theirs, result) in cases {
        let text = judge(path, base, ours, theirs).unwrap_or_else(|why| panic!("{what}: {why}"));
        assert_eq!(text.trim_end(), result.trim_end(), "{what}");
    }
}

#[test]
fn near_misses_are_logic() {
    let cases: &[(&str, &str, &str, &str, &str)] = &[
        // what, file, base, ours, theirs
        ("same line, two changes", "a.rs", "f(1);\n", "f(2);\n", "f(3);\n"),
        (
            "indentation is meaning",
            "a.py",
            "if a:\n    f()\ng()\n",
            "if a:\n    f()\n    g()\n",
            "if a:\n    f()\nh()\n",
        ),
        ("indentation is meaning", "a.yaml", "a: 1\n", "  a: 1\n", "b: 1\n"),
        ("blanks inside quotes", "a.rs", "f(\"a b\");\n", "f(\"a  b\");\n", "f(\"a b\", 1);\n"),
        ("blanks after a backslash", "a.sh", "f \\\n", "f \\ \n", "g \\\n"),
        ("blanks in Markdown", "a.md", "a\n", "a  \n", "b\n"),
        ("inside a string", "a.rs", "let s = \"\nx\n\";\n", "let s = \"\n  x\n\";\n", "let s = \"\ny\n\";\n"),
        ("inside a template", "a.js", "s = `\nx\n`;\n", "s = `\n  x\n`;\n", "s = `\ny\n`;\n"),
        ("unknown file", "Makefile", "a:\n", "a:\n\tx\n", "a:\n\ty\n"),
        ("one name, two imports", "a.rs", "", "use a::Foo;\n", "use b::Foo;\n"),
        ("one alias, two imports", "a.rs", "", "use a::{X as Foo};\n", "use b::Foo;\n"),
        ("glob", "a.rs", "", "use a::*;\n", "use b::B;\n"),
        ("import changed on both sides", "a.rs", "use a::A;\n", "use a::{A, B};\n", "use a::{A, C};\n"),
        ("import removed", "a.py", "import a\nimport b\n", "import b\n", "import a\nimport c\n"),
        ("one name, two imports", "a.py", "", "from a import x\n", "from b import x\n"),
        ("star import", "a.py", "", "from a import *\n", "import b\n"),
        ("future import", "a.py", "", "from __future__ import annotations\n", "import b\n"),
        ("loaded for its effect", "a.js", "", "import './setup';\n", "import b from 'b';\n"),
        ("one name, two imports", "a.ts", "", "import a from 'a';\n", "import a from 'b';\n"),
        (
            "one package name, two imports",
            "a.go",
            "import (\n)\n",
            "import (\n\t\"a/rand\"\n)\n",
            "import (\n\t\"b/rand\"\n)\n",
        ),
        ("dot import", "a.go", "import (\n)\n", "import (\n\t. \"a\"\n)\n", "import (\n\t\"b\"\n)\n"),
        (
            "strings outside an import block",
            "a.go",
            "var x = `\n",
            "var x = `\n\t\"a\"\n",
            "var x = `\n\t\"b\"\n",
        ),
        ("same function twice", "a.rs", "", "fn a() {\n    1\n}\n", "fn a() {\n    2\n}\n"),
        ("same function twice", "a.py", "", "def a():\n    return 1\n", "def a():\n    return 2\n"),
        ("same method twice", "a.go", "", "func (s *S) A() { x() }\n", "func (s S) A() { y() }\n"),
        (
            "same field twice",
            "a.rs",
            "struct S {\n}\n",
            "struct S {\n    a: u8,\n}\n",
            "struct S {\n    a: u16,\n}\n",
        ),
        ("same key twice", "a.toml", "", "a = 1\n", "a = 2\n"),
        ("same key twice", "a.yaml", "", "a: 1\n", "a: 2\n"),
        ("statements", "a.rs", "", "    x += 1;\n", "    x *= 2;\n"),
        ("statements", "a.py", "def f(x):\n", "def f(x):\n    x += 1\n", "def f(x):\n    return x\n"),
        ("calls at the top of a module", "a.py", "", "a = f()\n", "b = g()\n"),
        (
            "variables in a function",
            "a.js",
            "f(() => {\n});\n",
            "f(() => {\n  const a = g();\n});\n",
            "f(() => {\n  const b = h();\n});\n",
        ),
        ("arguments", "a.rs", "f(\n);\n", "f(\n    a,\n);\n", "f(\n    b,\n);\n"),
        ("parameters", "a.rs", "fn f(\n) {}\n", "fn f(\n    a: u8,\n) {}\n", "fn f(\n    b: u8,\n) {}\n"),
        ("elements", "a.rs", "x![\n];\n", "x![\n    A,\n];\n", "x![\n    B,\n];\n"),
        (
            "match arms",
            "a.rs",
            "match x {\n}\n",
            "match x {\n    A(_) => 1,\n}\n",
            "match x {\n    B => 2,\n}\n",
        ),
        ("halves of two functions", "a.rs", "", "}\nfn a() {\n", "}\nfn b() {\n"),
        ("one names the other", "a.rs", "", "fn a() {\n    b();\n}\n", "fn b() {\n    x();\n}\n"),
        (
            "different blocks",
            "a.py",
            "class A:\n",
            "class A:\n    def a(self):\n        pass\n",
            "class A:\nclass B:\n    x = 1\n",
        ),
        ("a key would change its table", "a.toml", "[a]\n", "[a]\n[b]\nx = 1\n", "[a]\ny = 1\n"),
        ("sequence", "a.yaml", "s:\n", "s:\n- a\n", "s:\n- b\n"),
        ("text block", "a.yaml", "s: |\n", "s: |\n  a: 1\n", "s: |\n  b: 2\n"),
        ("entry without a comma", "a.ts", "x = {\n};\n", "x = {\n  a: [\n  ]\n};\n", "x = {\n  b: 2,\n};\n"),
        ("numbered list", "a.md", "", "1. a\n", "1. b\n"),
        ("half a code block", "a.md", "", "```\na\n", "b\n"),
        ("same heading", "a.md", "", "## New\n- a\n", "## New\n- b\n"),
        ("change beside an addition", "a.rs", "fn a() {}\n", "fn a() {}\nfn b() {}\n", "fn c() {}\n"),
    ];
    for (what, path, base, ours, theirs) in cases {
        for (ours, theirs) in [(ours, theirs), (theirs, ours)] {
            if *what == "a key would change its table" && *ours == "[a]\ny = 1\n" {
                continue; // The other way round the key stays in its table.
            }
            let verdict = judge(path, base, ours, theirs);
            assert!(verdict.is_err(), "{what} in {path}: resolved as\n{}", verdict.unwrap_or_default());
        }
    }
}

#[test]
fn every_file_and_every_hunk_must_be_trivial() {
    let base = "use m;\n1\n2\n3\n4\n5\nf(1);\n";
    let both = judge(
        "a.rs",
        base,
        "use a;\nuse m;\n1\n2\n3\n4\n5\nf(2);\n",
        "use b;\nuse m;\n1\n2\n3\n4\n5\nf(3);\n",
    );
    assert!(both.unwrap_err().starts_with("a.rs:8: "), "the second hunk decides");

    let file = |path: &str, ours: &str, theirs: &str| ConflictFile {
        path: path.to_owned(),
        kind: ConflictKind::Content,
        segments: segments_of(b"", ours.as_bytes(), theirs.as_bytes()).unwrap(),
    };
    let trivial = file("a.md", "- a\n", "- b\n");
    assert!(matches!(classify(std::slice::from_ref(&trivial)), Class::Trivial(_)));
    assert!(matches!(classify(&[trivial, file("b.rs", "x();\n", "y();\n")]), Class::Logic(_)));
    assert!(matches!(classify(&[]), Class::Logic(_)));
}

#[test]
fn conflicts_not_about_lines_are_logic() {
    let kinds = [
        ConflictKind::BothAdded,
        ConflictKind::ModifyDelete,
        ConflictKind::Binary,
        ConflictKind::Mode,
        ConflictKind::Symlink,
        ConflictKind::Submodule,
        ConflictKind::Renamed,
        ConflictKind::Other("CONFLICT (file/directory)".to_owned()),
        ConflictKind::Content,
    ];
    for kind in kinds {
        let segments = if kind == ConflictKind::Content {
            vec![Segment::Merged(b"clean after all\n".to_vec())]
        } else {
            segments_of(b"", b"- a\n", b"- b\n").unwrap()
        };
        let file = ConflictFile { path: "a.md".to_owned(), kind: kind.clone(), segments };
        assert!(matches!(classify(&[file]), Class::Logic(_)), "{kind:?}");
    }
    let hunk = Hunk { base: Vec::new(), ours: b"\xff\n".to_vec(), theirs: b"- b\n".to_vec(), line: 1 };
    let file = ConflictFile {
        path: "a.md".to_owned(),
        kind: ConflictKind::Content,
        segments: vec![Segment::Conflict(hunk)],
    };
    assert!(matches!(classify(&[file]), Class::Logic(_)), "not UTF-8");
}
