//! Imports that nearly every command needs.

pub(super) use std::collections::{BTreeMap, BTreeSet};
pub(super) use std::path::{Path, PathBuf};
pub(super) use std::rc::Rc;
pub(super) use std::time::{Duration, Instant};

pub(super) use clap::{Args, ValueEnum, ValueHint};
pub(super) use serde::Serialize;
pub(super) use serde_json::{Map, Value, json};

pub(super) use super::complete::Completer;
pub(super) use super::session::{Access, Execute, Invocation, OnBoard, Session, commands};
pub(super) use super::ui::{Answer, Lines, Ui, commas};
pub(super) use super::view;
pub(super) use crate::board::records::{Draft, Message, MessageKind, Recipient};
pub(super) use crate::board::review::{Feedback, Verdict};
pub(super) use crate::board::rules::*;
pub(super) use crate::board::task::{Kind, Risk};
pub(super) use crate::board::{
    AgentId, Board, Class, Code, CommitId, CommitPrefix, GateName, MessageId, Needs, PathPattern, Revision,
    Role, SprintId, Status, Task, TaskId, Wall,
};
pub(super) use crate::flow::context::Caller;
pub(super) use crate::flow::{
    Context, ErrorCode, Failure, advance, attempt, breaker, bundle, claim, mail, review, sprint, views,
};
pub(super) use crate::policy::NodeState;
pub(super) use crate::policy::wake::wakes;
pub(super) use crate::supervise::signals::exit_code;
pub(super) use crate::text::{ago, bytes, clipped, pad_to, plural, shown_line};
pub(super) use crate::wire::to_json_line;
