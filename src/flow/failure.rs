//! The answer of a failed command: a stable code, what failed, why, and the next step.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::board::Refusal;
use crate::flow::ErrorCode;
use crate::git::{DiscoverError, GitError, MergeError, QueryError, RefError, WorktreeError};
use crate::provider::Unusable;
use crate::store::StoreError;
use crate::wire::ForeignError;

#[derive(Debug, Clone)]
pub struct Failure {
    pub code: ErrorCode,
    pub message: String,
    pub hint: Option<String>,
    pub details: Map<String, Value>,
    /// What the command changed nevertheless.
    pub data: Option<Value>,
    pub revision: Option<u64>,
}

impl Failure {
    pub fn new(code: impl Into<ErrorCode>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            hint: None,
            details: Map::new(),
            data: None,
            revision: None,
        }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::UsageArgument, message)
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    pub fn with_data(mut self, data: impl Serialize, revision: u64) -> Self {
        self.data = serde_json::to_value(data).ok();
        self.revision = Some(revision);
        self
    }

    pub fn io(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new(ErrorCode::IoFailed, format!("cannot {doing} {}: {error}", path.display()))
            .hint("nothing was changed; fix the cause and run the command again")
    }
}

/// A failure with a message in `format!` syntax.
macro_rules! failure {
    ($code:expr, $($message:tt)+) => { Failure::new($code, format!($($message)+)) };
}
pub(super) use failure;

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<Unusable> for Failure {
    fn from(unusable: Unusable) -> Self {
        Self::new(ErrorCode::UsageProvider, unusable.message).hint(unusable.hint)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self {
            code: refusal.code.into(),
            message: refusal.message,
            hint: refusal.hint,
            details: refusal.details,
            data: None,
            revision: None,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::Refused(refusal) => (*refusal).into(),
            StoreError::Busy { waited_seconds, .. } => Self::new(
                ErrorCode::BusyLock,
                format!("{message}; gave up after {waited_seconds} s"),
            )
            .hint("wait for that process, or look at it; LIZA_LOCK_TIMEOUT sets the waiting time in seconds"),
            StoreError::Missing(_) => Self::new(ErrorCode::UsageNoBoard, "there is no liza board here")
                .hint("`liza init \"<goal>\"` in your git repository makes one"),
            StoreError::Invalid { hint, .. } => Self::new(ErrorCode::BoardInvalid, message).hint(hint),
            StoreError::Changed { .. } => {
                Self::new(ErrorCode::BoardInvalid, message).hint("nothing was changed; run the command again")
            }
            StoreError::OtherVersion { newer, hint, .. } => {
                Self::new(if newer { ErrorCode::BoardNewer } else { ErrorCode::BoardOlder }, message)
                    .hint(hint)
            }
            StoreError::Io { source, .. } => {
                let full = source.raw_os_error() == Some(rustix::io::Errno::NOSPC.raw_os_error())
                    || source.raw_os_error() == Some(rustix::io::Errno::DQUOT.raw_os_error());
                let code = if full { ErrorCode::IoDiskFull } else { ErrorCode::IoFailed };
                let message = if full { format!("disk full, nothing changed ({message})") } else { message };
                Self::new(code, message).hint("nothing was changed; fix the cause and run the command again")
            }
            StoreError::DurabilityUnknown { revision, .. } => {
                let mut failure = Self::new(ErrorCode::IoDurabilityUnknown, message).hint(
                    "the change is made; check the disk before you rely on it, and do not repeat the command",
                );
                failure.revision = Some(revision);
                failure
            }
            StoreError::Bug(_) => Self::new(ErrorCode::BugInvariant, message)
                .hint("nothing was changed; this is a bug in liza, please report it with `liza log`"),
        }
    }
}

/// An error with its causes, in one line.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let words = next.to_string();
        if !text.contains(&words) {
            text.push_str(&format!(": {words}"));
        }
        cause = next.source();
    }
    text
}

impl From<GitError> for Failure {
    fn from(error: GitError) -> Self {
        let message = with_causes(&error);
        match error {
            GitError::Missing => Self::new(ErrorCode::GitMissing, message).hint("install git 2.38 or newer"),
            _ => Self::new(ErrorCode::GitFailed, message)
                .hint("look at the repository with git; the next liza command finishes or undoes the work"),
        }
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        let message = with_causes(&error);
        match error {
            QueryError::Unsupported { .. } => Self::new(ErrorCode::GitUnsupported, message).hint(
                "liza reads SHA-1 repositories with ordinary refs; convert it, or work in such a clone",
            ),
            QueryError::Symbolic { .. } => Self::new(ErrorCode::GitRef, message).hint(LEADS_ELSEWHERE),
            QueryError::Elsewhere(error) => (*error).into(),
            _ => Self::new(ErrorCode::GitFailed, message)
                .hint("look at the repository with `git fsck` and `git status`"),
        }
    }
}

/// The hint for a symbolic ref.
const LEADS_ELSEWHERE: &str =
    "no branch was moved; a person makes it an ordinary ref with `liza doctor --fix`";

impl From<RefError> for Failure {
    fn from(error: RefError) -> Self {
        let code =
            if matches!(error, RefError::Moved { .. }) { ErrorCode::StaleRef } else { ErrorCode::GitRef };
        let hint = match &error {
            RefError::Symbolic { .. } | RefError::Linked { .. } => LEADS_ELSEWHERE,
            _ => "look at the branch with `git log`; liza did not force the move",
        };
        Self::new(code, with_causes(&error)).hint(hint)
    }
}

impl From<WorktreeError> for Failure {
    fn from(error: WorktreeError) -> Self {
        if let WorktreeError::Branch(error @ (RefError::Symbolic { .. } | RefError::Linked { .. })) = error {
            return error.into();
        }
        Self::new(ErrorCode::GitWorktree, with_causes(&error))
            .hint("move the blocking files away (liza removes only its own files), then claim again")
    }
}

impl From<MergeError> for Failure {
    fn from(error: MergeError) -> Self {
        let hint = match &error {
            MergeError::InProgress { .. } | MergeError::Unfinished(_) => {
                "finish or abort the merge in progress there, then try again"
            }
            _ => {
                "run the command again; if that fails as well, `git status` in the worktree shows what is in the way"
            }
        };
        Self::new(ErrorCode::GitFailed, with_causes(&error)).hint(hint)
    }
}

impl From<DiscoverError> for Failure {
    fn from(error: DiscoverError) -> Self {
        let hint = match &error {
            DiscoverError::NotARepository { .. } => "go into a git repository, or make one with `git init`",
            DiscoverError::Bare { .. } => {
                "liza needs a repository with a work tree: clone it, and work in the clone"
            }
            _ => "look at the repository with `git status`",
        };
        Self::new(ErrorCode::UsageNoRepository, with_causes(&error)).hint(hint)
    }
}

impl From<ForeignError> for Failure {
    fn from(error: ForeignError) -> Self {
        Self::new(ErrorCode::UsageInput, error.to_string())
            .hint("fix that part of the input and run the command again; nothing was changed")
    }
}
