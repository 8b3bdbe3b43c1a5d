//! What nearly every file of this room needs.

pub(super) use std::collections::{BTreeMap, BTreeSet};
pub(super) use std::ffi::OsString;
pub(super) use std::path::{Path, PathBuf};
pub(super) use std::rc::Rc;
pub(super) use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
pub(super) use std::sync::{Arc, Mutex, PoisonError};
pub(super) use std::thread::JoinHandle;
pub(super) use std::time::{Duration, Instant};

pub(super) use rustix::process::Signal;

pub(super) use super::event::{Event, Kind};
pub(super) use super::waits::{at_once, back_off, book_every, breaker_rest, grace, tick};
pub(super) use crate::board::caps::CapUse;
pub(super) use crate::board::lease::Lease;
pub(super) use crate::board::oversight::{Action, Intervention};
pub(super) use crate::board::rules::{RecordUsage, Release, ReleaseReview};
pub(super) use crate::board::spent::SessionKind;
pub(super) use crate::board::{
    AgentId, Board, Call, Class, Code, Needs, Process, Role, Status, SwitchKind, Task, TaskId, Transition,
    Wall,
};
pub(super) use crate::flow::briefing::{Assignment, BriefRequest, brief};
pub(super) use crate::flow::context::Caller;
pub(super) use crate::flow::leftovers::{self, Leftovers};
pub(super) use crate::flow::spend::KnownCaps;
pub(super) use crate::flow::{Context, ErrorCode, Failure};
pub(super) use crate::host::{Child, Program, Streams, adopt_orphans, this_program};
pub(super) use crate::policy::alerts::Alert;
pub(super) use crate::policy::overseer::{AgentSnapshot, OverseerConfig, Question};
pub(super) use crate::policy::registry::Registry;
pub(super) use crate::policy::restart::{AfterCrash, Crashes};
pub(super) use crate::policy::schedule::{best_claim, best_review};
pub(super) use crate::policy::spend::needed_to_begin;
pub(super) use crate::policy::team::{Limits, TeamMember};
pub(super) use crate::policy::wake::wakes;
pub(super) use crate::policy::{ProjectConfig, halting};
pub(super) use crate::provider::{Job, Meter, Secret, Usage, environment, invocation};
pub(super) use crate::store::lock::SideLock;
pub(super) use crate::watch::Notification;
pub(super) use crate::wire::to_json_line;
