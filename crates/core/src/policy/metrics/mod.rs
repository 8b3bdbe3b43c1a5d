//! METRICS: figures computed from the histories of tasks. No agent reports them, so no agent can embellish them.

mod goal;
mod journey;
mod scope;
mod spread;
#[cfg(test)]
mod tests;

use super::prelude::*;
use crate::board::{marks::TaskMark, spent::Spent};

use spread::number;

pub use goal::{GoalRollUp, ReviewState, TestCounts, goal_roll_up};
pub use journey::{Journey, Stretch, journey, journey_within, merged_at};
pub use scope::in_sprint;
pub use spread::{Spread, rate};

/// What is asked about: some tasks, and what belongs to them beside.
pub struct Asked<'a> {
    pub board: &'a Board,
    /// Every task there ever was, archived ones too; bodies loaded.
    pub all: &'a [&'a Task],
    /// Those that count.
    pub tasks: Vec<&'a Task>,
    /// What planning has cost meanwhile.
    pub planning: Spent,
    /// What all sessions have cost meanwhile, whichever task they were for; nothing, where only some tasks count.
    pub everything: Spent,
    /// How far tasks had come before.
    pub before: &'a BTreeMap<TaskId, TaskMark>,
    /// Events before or after this do not count.
    pub from: Option<Wall>,
    pub until: Option<Wall>,
    /// Only what is about these tasks, also of crashes and interventions.
    pub only_tasks: bool,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Metrics {
    pub tasks: Counts,
    /// Claims of each task that was claimed.
    pub iterations: Spread,
    /// Rejections of each task that was judged.
    pub review_cycles: Spread,
    pub verdicts: Verdicts,
    /// Commits integration had gained since the base of a task that was merged.
    pub drift: Spread,
    pub seconds: Times,
    pub spent: Spending,
    /// Sessions that ended badly; the board remembers the last hundred.
    pub crashes: u64,
    /// What the overseer did about agents; the board remembers the last hundred.
    pub interventions: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    pub total: u64,
    /// MERGED.
    pub done: u64,
    /// WORKING, READY_FOR_REVIEW, REJECTED, APPROVED, INTEGRATION_FAILED.
    pub in_progress: u64,
    pub blocked: u64,
    /// DRAFT, IDLE.
    pub waiting: u64,
    pub abandoned: u64,
    pub superseded: u64,
    /// Of all: those that deliver a result and no commit.
    pub reports: u64,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Verdicts {
    pub total: u64,
    pub approvals: u64,
    pub rejections: u64,
    pub discussions: u64,
    pub approval_rate: Option<f64>,
    /// Tasks that have had a verdict, and those of them whose first was an approval.
    pub judged_tasks: u64,
    pub approved_at_once: u64,
    pub first_round_rate: Option<f64>,
    pub reviewers: BTreeMap<String, Reviewer>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Reviewer {
    pub verdicts: u64,
    pub approvals: u64,
    pub approval_rate: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Times {
    /// Created → merged.
    pub lead: Spread,
    /// Claimable → claimed.
    pub claim_queue: Spread,
    /// Submitted → review claimed.
    pub review_queue: Spread,
    /// Approved → merged.
    pub merge_queue: Spread,
    /// Review claimed → verdict.
    pub review: Spread,
    /// Claimed → submitted or released.
    pub work: Spread,
}

/// What sessions have cost, by what became of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Spending {
    pub total: Amount,
    /// Work that was merged.
    pub merged: Amount,
    /// Work that was sent back.
    pub rejected_rounds: Amount,
    /// Work on tasks that were abandoned or replaced.
    pub abandoned: Amount,
    /// Work on tasks that are not finished.
    pub unfinished: Amount,
    pub reviewing: Amount,
    pub planning: Amount,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Amount {
    pub sessions: u64,
    pub tokens: u64,
    pub cost_usd: f64,
    pub seconds: u64,
}

impl Amount {
    fn add(&mut self, spent: &Spent) {
        self.sessions = self.sessions.saturating_add(spent.sessions);
        self.tokens = self.tokens.saturating_add(spent.tokens());
        if spent.cost_usd.is_finite() {
            self.cost_usd += spent.cost_usd;
        }
        self.seconds = self.seconds.saturating_add(spent.seconds);
    }
}

impl Spending {
    /// Each with the name it has.
    pub fn by_outcome(&self) -> [(&'static str, Amount); 7] {
        [
            ("total", self.total),
            ("merged", self.merged),
            ("rejected_rounds", self.rejected_rounds),
            ("abandoned", self.abandoned),
            ("unfinished", self.unfinished),
            ("reviewing", self.reviewing),
            ("planning", self.planning),
        ]
    }
}

pub fn metrics(asked: &Asked) -> Metrics {
    let known: BTreeMap<&TaskId, &Task> = asked.all.iter().map(|task| (&task.id, *task)).collect();
    let mut found = Metrics { tasks: counts(&asked.tasks), ..Metrics::default() };
    let mut times = [const { Vec::new() }; 6];
    let (mut iterations, mut cycles, mut drift) = (Vec::new(), Vec::new(), Vec::new());
    let fresh = TaskMark::default();
    for task in &asked.tasks {
        let mark = asked.before.get(&task.id);
        if mark.is_none() && was_over(asked, task) {
            continue;
        }
        let mark = mark.unwrap_or(&fresh);
        let stretch = Stretch { lines: mark.history, from: asked.from, until: asked.until };
        let journey = journey_within(task, ready_after(&known, task), stretch);
        let merged_now = journey.lead.is_some();
        let [lead, claim, review, merge, reviews, work] = &mut times;
        lead.extend(journey.lead);
        claim.extend(journey.claim_waits);
        review.extend(journey.review_waits);
        merge.extend(journey.merge_waits);
        reviews.extend(journey.reviews);
        work.extend(journey.work);
        iterations.extend(Some(journey.claims).filter(|claims| *claims > 0));
        let body = task.body();
        let rejections = task.review_cycles_total.saturating_sub(mark.rejections);
        if body.reviews.len() > mark.reviews || rejections > 0 {
            cycles.push(u64::from(rejections));
        }
        if merged_now {
            drift.extend(body.merge.as_ref().filter(|merge| !merge.nothing).map(|merge| merge.drift));
        }
        judge(task, mark, asked.until, &mut found.verdicts);
        spend(task, mark, &mut found.spent);
    }
    found.spent.planning.add(&asked.planning);
    found.spent.total.add(&asked.planning);
    // A session may end after its task was archived: it belongs to no task then, and its tokens were paid all the same.
    let mut everything = Amount::default();
    everything.add(&asked.everything);
    if everything.tokens > found.spent.total.tokens {
        found.spent.total = everything;
    }
    let verdicts = &mut found.verdicts;
    verdicts.approval_rate = rate(verdicts.approvals, verdicts.total);
    verdicts.first_round_rate = rate(verdicts.approved_at_once, verdicts.judged_tasks);
    for reviewer in verdicts.reviewers.values_mut() {
        reviewer.approval_rate = rate(reviewer.approvals, reviewer.verdicts);
    }
    found.iterations = Spread::of(iterations);
    found.review_cycles = Spread::of(cycles);
    found.drift = Spread::of(drift);
    let [lead, claim, review, merge, reviews, work] = times.map(Spread::of);
    found.seconds =
        Times { lead, claim_queue: claim, review_queue: review, merge_queue: merge, review: reviews, work };
    let rest = &asked.board.rest;
    let crashes = rest.circuit_breaker.crashes.iter().map(|crash| (crash.time, crash.task_id.as_ref()));
    found.crashes = counted(asked, crashes);
    let interventions = rest.interventions.iter().map(|done| (done.time, done.task_id.as_ref()));
    found.interventions = counted(asked, interventions);
    found
}

fn counted<'r>(asked: &Asked, records: impl Iterator<Item = (Wall, Option<&'r TaskId>)>) -> u64 {
    let meant = |(time, task): &(Wall, Option<&TaskId>)| {
        let in_time =
            asked.from.is_none_or(|from| *time >= from) && asked.until.is_none_or(|until| *time <= until);
        let about = match task {
            Some(id) => !asked.only_tasks || asked.tasks.iter().any(|task| &task.id == *id),
            None => !asked.only_tasks,
        };
        in_time && about
    };
    u64::try_from(records.filter(meant).count()).unwrap_or(u64::MAX)
}

/// Whether a task was finished before what is asked about began.
fn was_over(asked: &Asked, task: &Task) -> bool {
    let ended = task.status.is_terminal().then(|| journey(task, None).ended).flatten();
    ended.zip(asked.from).is_some_and(|(ended, from)| ended < from)
}

fn counts(tasks: &[&Task]) -> Counts {
    let mut counts = Counts::default();
    for task in tasks {
        counts.total += 1;
        counts.reports += u64::from(task.kind == crate::board::task::Kind::Report);
        match task.status {
            Status::Merged => counts.done += 1,
            Status::Working
            | Status::ReadyForReview
            | Status::Rejected
            | Status::Approved
            | Status::IntegrationFailed => counts.in_progress += 1,
            Status::Blocked => counts.blocked += 1,
            Status::Draft | Status::Idle => counts.waiting += 1,
            Status::Abandoned => counts.abandoned += 1,
            Status::Superseded => counts.superseded += 1,
        }
    }
    counts
}

/// When the last of those it waits for was merged.
fn ready_after(known: &BTreeMap<&TaskId, &Task>, task: &Task) -> Option<Wall> {
    task.depends_on.iter().filter_map(|id| landed(known, id, 0)).max()
}

/// How long a chain of replacements is followed; a damaged archive may lead round in a circle.
const LONGEST_CHAIN: usize = 20;

fn landed(known: &BTreeMap<&TaskId, &Task>, id: &TaskId, depth: usize) -> Option<Wall> {
    let task = known.get(id)?;
    if task.status == Status::Superseded && depth < LONGEST_CHAIN {
        return task.superseded_by.iter().filter_map(|next| landed(known, next, depth + 1)).max();
    }
    merged_at(task)
}

fn judge(task: &Task, mark: &TaskMark, until: Option<Wall>, verdicts: &mut Verdicts) {
    let reviews = &task.body().reviews;
    let in_time = |review: &Review| until.is_none_or(|until| review.time <= until);
    for review in reviews.iter().skip(mark.reviews).filter(|review| in_time(review)) {
        let reviewer: &AgentId = &review.reviewer;
        let known = verdicts.reviewers.entry(reviewer.to_string()).or_default();
        verdicts.total += 1;
        known.verdicts += 1;
        match review.verdict {
            Verdict::Approve => {
                verdicts.approvals += 1;
                known.approvals += 1;
            }
            Verdict::RequestChanges => verdicts.rejections += 1,
            Verdict::NeedsDiscussion => verdicts.discussions += 1,
        }
    }
    let first = reviews.iter().enumerate().find(|(_, review)| !review.red_team);
    if let Some((_, first)) = first.filter(|(at, review)| *at >= mark.reviews && in_time(review)) {
        verdicts.judged_tasks += 1;
        verdicts.approved_at_once += u64::from(first.verdict == Verdict::Approve);
    }
}

fn spend(task: &Task, mark: &TaskMark, spending: &mut Spending) {
    let body = task.body();
    let sent_back = |round: u32| {
        body.reviews.iter().any(|review| review.round == round && review.verdict == Verdict::RequestChanges)
    };
    let spent = body.spent.since(&mark.spent);
    let mut of_rounds = Spent::default();
    for round in &body.spent_rounds {
        let before = mark.round(round.round);
        let (work, review) = (round.work.since(&before.work), round.review.since(&before.review));
        spending.reviewing.add(&review);
        if sent_back(round.round) {
            spending.rejected_rounds.add(&work);
        } else {
            of_status(task.status, spending).add(&work);
        }
        of_rounds.add(&work);
        of_rounds.add(&review);
    }
    of_status(task.status, spending).add(&spent.since(&of_rounds));
    spending.total.add(&spent);
}

fn of_status(status: Status, spending: &mut Spending) -> &mut Amount {
    match status {
        Status::Merged => &mut spending.merged,
        Status::Abandoned | Status::Superseded => &mut spending.abandoned,
        _ => &mut spending.unfinished,
    }
}

impl Metrics {
    /// Every figure by a name of its own, in a fixed order. What is not known is left out.
    pub fn figures(&self) -> Vec<(String, f64)> {
        let mut all = Vec::new();
        let tasks = [
            ("tasks_total", self.tasks.total),
            ("tasks_done", self.tasks.done),
            ("tasks_in_progress", self.tasks.in_progress),
            ("tasks_blocked", self.tasks.blocked),
            ("tasks_waiting", self.tasks.waiting),
            ("tasks_abandoned", self.tasks.abandoned),
            ("tasks_superseded", self.tasks.superseded),
            ("tasks_reports", self.tasks.reports),
        ];
        all.extend(tasks.map(|(name, value)| (name.to_owned(), number(value))));
        self.iterations.figures("iterations", &mut all);
        self.review_cycles.figures("review_cycles", &mut all);
        let verdicts = [
            ("verdicts_total", self.verdicts.total),
            ("verdicts_approvals", self.verdicts.approvals),
            ("verdicts_rejections", self.verdicts.rejections),
            ("verdicts_discussions", self.verdicts.discussions),
        ];
        all.extend(verdicts.map(|(name, value)| (name.to_owned(), number(value))));
        let rates = [
            ("approval_rate", self.verdicts.approval_rate),
            ("first_round_rate", self.verdicts.first_round_rate),
        ];
        all.extend(rates.into_iter().filter_map(|(name, rate)| Some((name.to_owned(), rate?))));
        for (reviewer, counted) in &self.verdicts.reviewers {
            all.extend(counted.approval_rate.map(|rate| (format!("approval_rate_{reviewer}"), rate)));
        }
        self.drift.figures("drift", &mut all);
        for (name, spread) in self.seconds.named() {
            spread.figures(&format!("{name}_seconds"), &mut all);
        }
        for (name, amount) in self.spent.by_outcome() {
            all.push((format!("tokens_{name}"), number(amount.tokens)));
            all.push((format!("cost_usd_{name}"), (amount.cost_usd * 1e6).round() / 1e6));
        }
        all.push(("sessions_total".to_owned(), number(self.spent.total.sessions)));
        all.push(("session_seconds_total".to_owned(), number(self.spent.total.seconds)));
        all.push(("crashes".to_owned(), number(self.crashes)));
        all.push(("interventions".to_owned(), number(self.interventions)));
        all
    }
}

impl Times {
    pub fn named(&self) -> [(&'static str, Spread); 6] {
        [
            ("lead", self.lead),
            ("claim_queue", self.claim_queue),
            ("work", self.work),
            ("review_queue", self.review_queue),
            ("review", self.review),
            ("merge_queue", self.merge_queue),
        ]
    }
}
