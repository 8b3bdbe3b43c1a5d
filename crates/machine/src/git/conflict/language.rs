//! The kind of text, by the extension of the file name.

/// Kinds of files, as far as merging lines is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    Go,
    /// JavaScript and TypeScript.
    Script,
    Json,
    /// Others that mark blocks by braces, such as C and Java.
    Braces,
    Python,
    Yaml,
    Toml,
    Shell,
    /// Text for people.
    Prose,
    Unknown,
}

impl Language {
    pub(super) fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let Some((_, ending)) = name.rsplit_once('.') else { return Self::Unknown };
        match ending.to_ascii_lowercase().as_str() {
            "rs" => Self::Rust,
            "go" => Self::Go,
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => Self::Script,
            "json" => Self::Json,
            "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "java" | "cs" | "kt" | "swift" | "php" | "dart"
            | "css" | "scss" => Self::Braces,
            "py" | "pyi" => Self::Python,
            "yaml" | "yml" => Self::Yaml,
            "toml" => Self::Toml,
            "sh" | "bash" => Self::Shell,
            "md" | "markdown" | "txt" | "rst" | "adoc" => Self::Prose,
            _ => Self::Unknown,
        }
    }

    /// Whether braces mark blocks, so that indentation has no meaning.
    pub(super) fn has_free_layout(self) -> bool {
        matches!(self, Self::Rust | Self::Go | Self::Script | Self::Json | Self::Braces)
    }

    /// Whether text after `before` may be inside a string literal of several lines, where every blank counts.
    ///
    /// Counts quotes without understanding the language, so it errs on the side of yes.
    pub(super) fn may_be_inside_string(self, before: &str) -> bool {
        let odd = |mark: &str| before.matches(mark).count() % 2 == 1;
        match self {
            Self::Rust => {
                let escaped = before.matches("\\\"").count() + before.matches("'\"'").count();
                (before.matches('"').count() - escaped.min(before.matches('"').count())) % 2 == 1
            }
            Self::Script | Self::Go => odd("`"),
            Self::Python | Self::Toml => odd("\"\"\"") || odd("'''"),
            Self::Shell => odd("\"") || before.contains("<<"),
            // Block scalars: indented lines are text; finding their end needs a parser.
            Self::Yaml => before.lines().any(|line| line.trim_end().ends_with(['|', '>'])),
            Self::Prose => odd("```"),
            Self::Json | Self::Braces | Self::Unknown => false,
        }
    }

    pub(super) fn is_comment(self, line: &str) -> bool {
        let line = line.trim_start();
        match self {
            Self::Rust | Self::Go | Self::Script | Self::Braces => {
                line.starts_with("//") || line.starts_with("/*") && line.trim_end().ends_with("*/")
            }
            Self::Python | Self::Yaml | Self::Toml | Self::Shell => line.starts_with('#'),
            Self::Json | Self::Prose | Self::Unknown => false,
        }
    }

    /// Whether a line only annotates the item below it.
    pub(super) fn is_attribute(self, line: &str) -> bool {
        let line = line.trim();
        match self {
            Self::Rust => line.starts_with("#[") && line.ends_with(']'),
            Self::Python | Self::Script | Self::Braces => line.starts_with('@'),
            _ => false,
        }
    }
}
