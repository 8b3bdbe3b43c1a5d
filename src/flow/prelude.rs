//! What many files of this directory need: the types of the board with all its verbs, failures, and the tools of the
//! layers below.

pub(super) use std::collections::{BTreeMap, BTreeSet};
pub(super) use std::ffi::OsString;
pub(super) use std::fmt::Write as _;
pub(super) use std::fs;
pub(super) use std::io::Read;
pub(super) use std::os::unix::fs::PermissionsExt;
pub(super) use std::path::{Path, PathBuf};
pub(super) use std::time::{Duration, Instant};

pub(super) use serde::{Deserialize, Serialize};
pub(super) use serde_json::{Map, Value, json};

pub(super) use super::attempt::{
    attempt_of, attempt_ref, commit_by, head_of, integration_head, uncommitted, worktree_of,
};
pub(super) use super::context::Context;
pub(super) use super::error_code::ErrorCode;
pub(super) use super::failure::{Failure, failure};
pub(super) use crate::board::gates::{GateOutcome, GateReport, GateStatus, Lacking, Moment};
pub(super) use crate::board::history::{Checkpoint, Event};
pub(super) use crate::board::intent::{Intent, MergeWork, RefMove, RequestKey, Work};
pub(super) use crate::board::oversight::{Action, Gravity, Intervention};
pub(super) use crate::board::records::{Draft, Message, MessageKind, Recipient};
pub(super) use crate::board::review::Feedback;
pub(super) use crate::board::rules::*;
pub(super) use crate::board::spent::Spent;
pub(super) use crate::board::state::Sprint;
pub(super) use crate::board::task::{Body, Handout, Risk, Submission, Validation};
pub(super) use crate::board::time::NANOS_PER_SECOND;
pub(super) use crate::board::{
    Actor, AgentId, Board, Call, Code, CommitId, Credentials, Needs, PathPattern, Process, Refusal, RepoPath,
    Revision, Role, Stamp, Status, SwitchKind, Task, TaskId, Transition, Verb, Wall, World, permitted,
    violations,
};
pub(super) use crate::git::content::{self, Filters};
pub(super) use crate::git::{
    ChangeStatus, Expected, Git, GitError, MergeTree, RefError, Worktrees, checkouts, merge_tree, refs,
    submodules,
};
pub(super) use crate::host::{self, crash};
pub(super) use crate::policy::ProjectConfig;
pub(super) use crate::policy::gate::Gate;
pub(super) use crate::policy::metrics::Metrics;
pub(super) use crate::policy::overseer::OverseerConfig;
pub(super) use crate::policy::registry::Registry;
pub(super) use crate::provider::{Catalog, Secret};
pub(super) use crate::store::StoreError;
pub(super) use crate::store::files::read_whole;
pub(super) use crate::store::read::EDITED_BY_HAND;
pub(super) use crate::text::{bytes, clipped, indent, list_words, md_inline, plural, quoted, shown_line};
pub(super) use crate::wire::log::Record;
pub(super) use crate::wire::{Limits, read_foreign, to_json_pretty};

/// The answer of a use case, or why it failed.
pub(super) type Result<T, E = Failure> = std::result::Result<T, E>;
