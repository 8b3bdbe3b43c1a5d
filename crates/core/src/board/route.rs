//! Routes: whether a goal is one small job or work for several streams, on which estimate, and what its auditor said.

use super::prelude::*;
use super::task::Risk;
use crate::text::shown_line;

/// A job that may take longer is not a single one.
pub const SINGLE_SECONDS: u64 = 90;

/// How many routes the board remembers.
pub const ROUTES_KEPT: usize = 200;

words! {
    /// What kind of work a run does; it decides how many agents may work at the same time.
    #[derive(Default)]
    pub enum RunMode {
        ReadOnly = "read_only",
        Write = "write",
        #[default]
        Mixed = "mixed",
    }
}

named_by!(RunMode);

impl RunMode {
    /// Most agents that work at the same time.
    pub fn cap(self) -> u32 {
        match self {
            Self::ReadOnly => 16,
            Self::Write | Self::Mixed => 12,
        }
    }
}

words! {
    /// Where a goal goes.
    pub enum Way {
        /// One coder and one reviewer, without a plan.
        Single = "single",
        /// Workstreams, each planned by a supervisor first.
        Multi = "multi",
    }
}

named_by!(Way);

words! {
    /// What an auditor says of the whole.
    pub enum AuditVerdict {
        Approve = "APPROVE",
        Block = "BLOCK",
        NeedsEvidence = "NEEDS_EVIDENCE",
    }
}

record! {
    /// How long it may take, and what speaks for one small job.
    #[derive(Eq)]
    pub struct Estimate {
        /// Most seconds until it is finished.
        pub t_max_s: u64,
        /// Why so many.
        pub t_why: String,
        always pub tiny: bool,
        always pub clear: bool,
        pub risk: Risk,
    }

    /// How a goal is to be routed, as the person said who gave it to `liza run`.
    #[derive(Eq, Default)]
    pub struct Routing {
        pub t_max_s: Option<u64>,
        pub t_why: Option<String>,
        pub risk: Option<Risk>,
        #[serde(default)]
        pub mode: RunMode,
        /// The person has decided.
        pub force: Option<Way>,
    }

    pub struct Route {
        /// Names the scenario by its text.
        pub ssot_id: String,
        /// Most seconds that were expected; absent where no estimate was made.
        pub t_max_s: Option<u64>,
        pub t_why: String,
        pub route: Way,
        pub reason: String,
        pub by: AgentId,
        pub time: Wall,
        /// The goal it is about; absent for a single job of its own.
        pub goal: Option<String>,
        /// The task of a single job.
        pub task: Option<TaskId>,
        #[serde(default)]
        pub mode: RunMode,
        #[serde(default)]
        pub risk: Risk,
        /// The rounds of audit, in their order.
        pub audits: Vec<Audit>,
        /// A person has delivered without an audit.
        pub waived: Option<Waiver>,
    }

    /// One review of the whole by an auditor.
    #[derive(Eq)]
    pub struct Audit {
        pub round: u32,
        /// The auditor's task.
        pub task: TaskId,
        pub verdict: AuditVerdict,
        /// What integration was when it was audited.
        pub head: Option<CommitId>,
        pub findings: Vec<String>,
        /// What the auditor wants to be measured before it decides.
        pub evidence_requests: Vec<String>,
        pub time: Wall,
    }

    #[derive(Eq)]
    pub struct Waiver {
        pub reason: String,
        pub by: AgentId,
        pub time: Wall,
        /// How many audits there were then: it does not cover later ones.
        pub audits: Option<u64>,
    }
}

/// Where it goes, and why: single only if it is tiny, clear, of low risk and takes 90 seconds at most.
pub fn decide(estimate: Option<&Estimate>, force: Option<Way>) -> (Way, String) {
    if let Some(way) = force {
        return (way, format!("--{} was given", way.as_str()));
    }
    let Some(estimate) = estimate else { return (Way::Multi, "there is no estimate".to_owned()) };
    let Estimate { t_max_s, tiny, clear, risk, .. } = estimate;
    let mut against = Vec::new();
    if !tiny {
        against.push("it is not tiny".to_owned());
    }
    if !clear {
        against.push("it is not clear".to_owned());
    }
    if *risk != Risk::Low {
        against.push(format!("its risk is {}", risk.as_str()));
    }
    if *t_max_s > SINGLE_SECONDS {
        against.push(format!("it may take {t_max_s} s and not at most {SINGLE_SECONDS}"));
    }
    if against.is_empty() {
        let reason = format!("it is tiny, clear, of low risk and takes at most {t_max_s} s");
        return (Way::Single, reason);
    }
    (Way::Multi, against.join(", "))
}

impl Route {
    /// Whether an auditor decides before this is complete.
    pub fn is_audited(&self) -> bool {
        self.route == Way::Multi && (self.mode != RunMode::ReadOnly || self.risk == Risk::High)
    }

    pub fn last_verdict(&self) -> Option<AuditVerdict> {
        self.audits.last().map(|audit| audit.verdict)
    }

    /// Whether the last audit approved integration at this head: what was merged since was not audited.
    pub fn is_approved_at(&self, head: Option<&CommitId>) -> bool {
        let last = self.audits.last().filter(|audit| audit.verdict == AuditVerdict::Approve);
        last.is_some_and(|audit| audit.head.as_ref() == head)
    }

    /// Needs no audit, or a person delivered it without one.
    pub fn needs_no_approval(&self) -> bool {
        !self.is_audited() || self.is_waived()
    }

    /// A person has delivered it without an approval, and no auditor has spoken since.
    pub fn is_waived(&self) -> bool {
        let since = |waiver: &Waiver| match waiver.audits {
            Some(then) => self.audits.len() as u64 <= then,
            None => self.audits.last().is_none_or(|audit| audit.time <= waiver.time),
        };
        self.waived.as_ref().is_some_and(since)
    }

    /// In one line, for people.
    pub fn words(&self) -> String {
        let seconds = self.t_max_s.map_or("unknown".to_owned(), |seconds| format!("{seconds} s"));
        let (way, mode) = (self.route.as_str(), self.mode.as_str());
        let audit = match self.audits.last() {
            Some(audit) => format!("; audit {}: {}", audit.round, audit.verdict.as_str()),
            None if self.is_audited() => "; not audited yet".to_owned(),
            None => String::new(),
        };
        let (reason, why) = (shown_line(&self.reason), shown_line(&self.t_why));
        format!("{way} ({mode}): {reason}; t_max {seconds}: {why}{audit}")
    }

    /// Rounds since the last approval.
    pub fn rounds_used(&self) -> u32 {
        let open = self.audits.iter().rev().take_while(|audit| audit.verdict != AuditVerdict::Approve);
        u32::try_from(open.count()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_needs_tiny_clear_low_risk_and_90_seconds() {
        let fits =
            Estimate { t_max_s: 90, t_why: "one line".to_owned(), tiny: true, clear: true, risk: Risk::Low };
        assert_eq!(decide(Some(&fits), None).0, Way::Single);
        for other in [
            Estimate { t_max_s: 91, ..fits.clone() },
            Estimate { tiny: false, ..fits.clone() },
            Estimate { clear: false, ..fits.clone() },
            Estimate { risk: Risk::Medium, ..fits.clone() },
        ] {
            let (way, reason) = decide(Some(&other), None);
            assert_eq!(way, Way::Multi, "{reason}");
            assert!(!reason.contains(','), "one reason: {reason}");
            assert_eq!(decide(Some(&other), Some(Way::Single)).0, Way::Single, "a person decides");
        }
        assert_eq!(decide(None, None).0, Way::Multi);
        assert_eq!(decide(Some(&fits), Some(Way::Multi)).0, Way::Multi);
    }
}
