//! The messages of `codex mcp-server`, as far as liza reads them.

use crate::flow::prelude::*;
use crate::provider::Usage;

/// A request, a notification or an answer.
#[derive(Debug, Deserialize)]
pub struct Message {
    #[serde(default)]
    pub id: Option<Value>,
    #[serde(default)]
    pub method: Option<String>,
    #[serde(default)]
    pub params: Value,
    #[serde(default)]
    pub result: Value,
    #[serde(default)]
    pub error: Option<Refused>,
}

#[derive(Debug, Deserialize)]
pub struct Refused {
    #[serde(default)]
    pub message: String,
}

#[derive(Debug, Default, Deserialize)]
pub struct ToolList {
    #[serde(default)]
    pub tools: Vec<Tool>,
}

#[derive(Debug, Deserialize)]
pub struct Tool {
    pub name: String,
}

#[derive(Debug, Default, Deserialize)]
pub struct ToolResult {
    #[serde(default)]
    pub content: Vec<Part>,
    #[serde(default, rename = "isError")]
    pub is_error: bool,
}

#[derive(Debug, Deserialize)]
pub struct Part {
    #[serde(default)]
    pub text: String,
}

impl ToolResult {
    pub fn text(&self) -> String {
        self.content.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// Codex's request for approval: a command in a directory, or changes of files.
#[derive(Debug, Default, Deserialize)]
pub struct Question {
    #[serde(default)]
    codex_cwd: Option<PathBuf>,
    #[serde(default)]
    codex_changes: Option<BTreeMap<PathBuf, Change>>,
    #[serde(default)]
    codex_grant_root: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
struct Change {
    #[serde(default)]
    move_path: Option<PathBuf>,
    /// The field of older versions.
    #[serde(default)]
    update: Option<Moved>,
}

#[derive(Debug, Deserialize)]
struct Moved {
    #[serde(default)]
    move_path: Option<PathBuf>,
}

impl Question {
    /// Ok if all named paths are in the worktree; otherwise the first that is not. A request without a path is an error.
    pub fn stays_inside(&self, worktree: &Path) -> Result<(), String> {
        let changes = self.codex_changes.iter().flatten().flat_map(|(path, change)| {
            let update = change.update.as_ref().and_then(|update| update.move_path.as_ref());
            [Some(path), change.move_path.as_ref(), update]
        });
        let mut paths =
            changes.chain([self.codex_cwd.as_ref(), self.codex_grant_root.as_ref()]).flatten().peekable();
        if paths.peek().is_none() {
            return Err("no path is named".to_owned());
        }
        match paths.find(|path| !is_inside(path, worktree)) {
            Some(outside) => Err(outside.display().to_string()),
            None => Ok(()),
        }
    }
}

/// Whether a path stays in the worktree, with every link on the way followed.
fn is_inside(path: &Path, worktree: &Path) -> bool {
    let whole = if path.is_absolute() { path.to_owned() } else { worktree.join(path) };
    if whole.components().any(|part| part == std::path::Component::ParentDir) {
        return false;
    }
    let Ok(home) = worktree.canonicalize() else { return false };
    // A new file is where its nearest directory is.
    let existing = whole.ancestors().find_map(|above| above.canonicalize().ok());
    existing.is_some_and(|real| real.starts_with(&home))
}

#[derive(Debug, Deserialize)]
pub struct Event {
    pub msg: EventMessage,
}

#[derive(Debug, Deserialize)]
pub struct EventMessage {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    rollout_path: Option<String>,
    #[serde(default)]
    sandbox_policy: Option<Value>,
    #[serde(default)]
    model: Option<String>,
    /// Of `token_count`.
    #[serde(default)]
    info: Option<TokenInfo>,
}

#[derive(Debug, Deserialize)]
struct TokenInfo {
    #[serde(default)]
    total_token_usage: TokenUsage,
}

#[derive(Debug, Default, Deserialize)]
struct TokenUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cached_input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

const CONFIGURED: &str = "session_configured";

impl EventMessage {
    /// Reads the usage so far.
    pub fn count(&self, usage: &mut Usage) {
        if self.kind == CONFIGURED {
            usage.model = self.model.clone();
        }
        if let Some(info) = &self.info {
            let total = &info.total_token_usage;
            usage.cached_tokens = total.cached_input_tokens;
            usage.input_tokens = total.input_tokens.saturating_sub(total.cached_input_tokens);
            usage.output_tokens = total.output_tokens;
            usage.turns += 1;
        }
        usage.tool_calls += u64::from(self.tool().is_some());
    }

    /// The tool that the event starts.
    pub fn tool(&self) -> Option<&str> {
        self.kind.strip_suffix("_begin")
    }

    /// The event for the transcript.
    pub fn noted(&self) -> Value {
        let mut fields = json!({ "msg_type": self.kind });
        if self.kind == CONFIGURED {
            fields["rollout_path"] = json!(self.rollout_path);
            fields["sandbox_policy"] = json!(self.sandbox_policy);
            fields["model"] = json!(self.model);
        }
        fields
    }
}

/// The line of a transcript that says where Codex's own log is.
#[derive(Debug, Deserialize)]
pub struct Configured {
    pub rollout_path: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_carry_usage_and_tools() {
        let mut usage = Usage::default();
        for event in [
            json!({ "type": "session_configured", "model": "m", "rollout_path": "/r" }),
            json!({ "type": "token_count", "info": null }),
            json!({ "type": "exec_command_begin", "command": ["ls"] }),
            json!({ "type": "token_count", "info": { "total_token_usage":
                { "input_tokens": 1000, "cached_input_tokens": 200, "output_tokens": 50 } } }),
        ] {
            serde_json::from_value::<EventMessage>(event).expect("an event").count(&mut usage);
        }
        assert_eq!((usage.input_tokens, usage.cached_tokens, usage.output_tokens), (800, 200, 50));
        assert_eq!((usage.turns, usage.tool_calls, usage.model.as_deref()), (1, 1, Some("m")));
    }

    #[test]
    fn only_paths_in_the_worktree_are_approved() {
        let dir = tempfile::tempdir().expect("a directory");
        let home = dir.path().join("wt");
        fs::create_dir_all(home.join("src")).expect("made");
        std::os::unix::fs::symlink("/etc", home.join("link")).expect("made");
        let inside = |params: Value| {
            let question: Question = serde_json::from_value(params).expect("a question");
            question.stays_inside(&home).is_ok()
        };
        let renamed =
            |to: &str| json!({ "codex_changes": { "src/a": { "type": "update", "move_path": to } } });
        assert!(inside(json!({ "codex_cwd": home, "codex_changes": { "src/new.rs": {} } })));
        assert!(inside(json!({ "codex_changes": { home.join("a/b/c").to_str().unwrap(): {} } })));
        assert!(inside(renamed("src/b")));
        for params in [
            json!({ "message": "may I?" }),
            json!({ "codex_cwd": "/" }),
            json!({ "codex_cwd": dir.path() }),
            json!({ "codex_changes": { "../x": {} } }),
            json!({ "codex_changes": { "src/a": {}, "link/passwd": {} } }),
            json!({ "codex_grant_root": "/home" }),
            renamed("/etc/cron.d/x"),
            json!({ "codex_changes": { "src/a": { "update": { "move_path": "../b" } } } }),
        ] {
            assert!(!inside(params.clone()), "{params}");
        }
    }
}
