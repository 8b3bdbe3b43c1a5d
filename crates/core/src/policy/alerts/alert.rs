//! One alert, and the report of all alerts of one look at the board.

use std::fmt::Display;

use crate::policy::prelude::*;

words! {
    /// What an alert is about; the names are part of the interface (specs/protocols/watch.md).
    pub enum Kind {
        InvalidBoard = "invalid_board",
        RolledBack = "rolled_back",
        IntegrationMoved = "integration_moved",
        IntegrationRed = "integration_red",
        SwitchSet = "switch_set",
        CheckpointStale = "checkpoint_stale",
        DiskLow = "disk_low",
        HypothesisExhausted = "hypothesis_exhausted",
        Blocked = "blocked",
        IntegrationFailed = "integration_failed",
        LeaseExpired = "lease_expired",
        OrphanedRejected = "orphaned_rejected",
        ReviewLoop = "review_loop",
        NearLimit = "near_limit",
        Reassigned = "reassigned",
        StaleDraft = "stale_draft",
        PlanWaiting = "plan_waiting",
        ImmediateDiscovery = "immediate_discovery",
        ApprovalRate = "approval_rate",
        AnswerOverdue = "answer_overdue",
        RubberStamp = "rubber_stamp",
        Spend = "spend",
        Stalled = "stalled",
        BreakerOpen = "breaker_open",
        Overseer = "overseer",
        /// Reported by `liza run`, whose team has a person.
        PersonWanted = "person_wanted",
    }
}

impl Kind {
    /// Whether liza needs the board to judge it.
    pub fn needs_board(self) -> bool {
        !matches!(self, Self::InvalidBoard | Self::SwitchSet | Self::CheckpointStale | Self::DiskLow)
    }
}

words! {
    pub enum Severity {
        /// Good to know.
        Info = "info",
        /// A person should look.
        Warning = "warning",
        /// Work waits until a person acts.
        Critical = "critical",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alert {
    pub kind: Kind,
    pub severity: Severity,
    /// A task, agent, role, record or branch.
    pub subject: String,
    /// Names this occurrence: the same one is reported once, and the next one has another key or comes after a time without.
    pub key: String,
    /// What is the matter. May hold text of agents, so it is data wherever it goes.
    pub text: String,
    /// The next thing to type.
    pub hint: String,
}

impl Alert {
    /// `occurrence` distinguishes this time from the next.
    pub fn new(
        kind: Kind,
        subject: impl Display,
        occurrence: impl Display,
        text: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let (key, subject) = (key(kind, &subject, occurrence), subject.to_string());
        Self { kind, severity: Severity::Warning, subject, key, text: text.into(), hint: hint.into() }
    }

    pub fn severity(self, severity: Severity) -> Self {
        Self { severity, ..self }
    }

    pub fn info(self) -> Self {
        self.severity(Severity::Info)
    }

    pub fn critical(self) -> Self {
        self.severity(Severity::Critical)
    }
}

/// One line without blanks at its ends, since keys are remembered one a line.
pub fn key(kind: Kind, subject: impl Display, occurrence: impl Display) -> String {
    let text = format!("{kind}:{subject}:{occurrence}");
    text.chars().map(|c| if c.is_control() || c.is_whitespace() { '_' } else { c }).collect()
}

/// The result of one look at the board.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    pub alerts: Vec<Alert>,
    /// Keys that are neither reported nor forgotten: the matter is better, and not yet well.
    pub lingering: BTreeSet<String>,
    /// In how many seconds something can become due although nothing changes.
    pub due_in: Option<u64>,
    /// The board could not be read: what was reported of it is taken to hold still.
    pub blind: bool,
}

impl Report {
    pub fn tell(&mut self, alert: Alert) {
        self.alerts.push(alert);
    }

    /// The age, if it has reached `limit` and is reported; before that, asks for another look at that time.
    pub fn due(&mut self, age: u64, limit: u64) -> Option<u64> {
        if age < limit {
            self.look_again_in(limit - age);
        }
        (age >= limit).then_some(age)
    }

    /// Asks to be looked at again then.
    pub fn look_again_in(&mut self, seconds: u64) {
        let seconds = seconds.max(1);
        self.due_in = Some(self.due_in.map_or(seconds, |due| due.min(seconds)));
    }
}
