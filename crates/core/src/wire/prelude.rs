//! Common imports of this room.

pub(super) use std::borrow::Cow;
pub(super) use std::collections::{BTreeMap, BTreeSet, HashSet};
pub(super) use std::fmt::Display;
pub(super) use std::ops::Range;
pub(super) use std::sync::Arc;

pub(super) use schemars::JsonSchema;
pub(super) use serde::de::value::CowStrDeserializer;
pub(super) use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, Visitor,
};
pub(super) use serde::{Deserialize, Serialize, forward_to_deserialize_any};
pub(super) use serde_json::{Map, Value, json};
pub(super) use thiserror::Error;

pub(super) use crate::board::history::{Assumption, Checkpoint, Event, HistoryEntry, Plan};
pub(super) use crate::board::records::{Anomaly, Discovery, Handoff, Note, SpecChange, Urgency, next_number};
pub(super) use crate::board::rules::{NewTask, WholeTask};
pub(super) use crate::board::state::{
    Alignment, DeadlineHalt, Goal, GoalStatus, Integration, JournalMark, Request, Rest, Sprint, SprintStatus,
    Timeline, VERSION,
};
pub(super) use crate::board::task::{
    Attempt, Body, Head, IntegrationFailure, Left, MergeRecord, Source, Submission,
};
pub(super) use crate::board::{
    AgentId, Board, CommitId, Config, GraphId, Needs, PathPattern, RepoPath, Role, Stamp, Status, Task,
    TaskId, Transition, Wall, any_overlap,
};
pub(super) use crate::text::{clipped, quoted};
