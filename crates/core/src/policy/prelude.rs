//! Common imports of this room.

pub(super) use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub(super) use schemars::JsonSchema;
pub(super) use serde::{Deserialize, Serialize};

pub(super) use super::alerts::clipped_line;
pub(super) use super::settings::{settings, sparse_settings};
pub(super) use crate::board::breaker::{Pattern, Response, Trip, TripEvidence};
pub(super) use crate::board::gates::GateStatus;
pub(super) use crate::board::grants::{Operation, allowed_by_rules};
pub(super) use crate::board::graph::Graph;
pub(super) use crate::board::history::{Event, HistoryEntry};
pub(super) use crate::board::oversight::{Action, Behaviour, Gravity, Intervention};
pub(super) use crate::board::records::{Anomaly, AnomalyKind, Urgency};
pub(super) use crate::board::review::{Review, Verdict};
pub(super) use crate::board::rules::{
    NewTask, check_claimable, check_reviewable, dependency_met_by, lease_over, path_rival,
};
pub(super) use crate::board::task::Risk;
pub(super) use crate::board::{
    Actor, AgentId, Board, Call, Needs, PathIndex, PathPattern, RepoPath, Role, Stamp, Status, Task, TaskId,
    Wall, World, any_overlap,
};
pub(super) use crate::text::{Topic, ago, clipped, list_words, plural, quoted, shown_line, words};
