//! Agents that make no progress: judges what their runners observed, and acts on it. One transition is one act; if the
//! process dies after it, the next process that looks does the rest.

use super::super::prelude::*;
use super::Looked;
use super::person::Person;
use crate::board::rules::Bounds;
use crate::flow::oversight::{self, Order};
use crate::host::crash;
use crate::policy::halting::SUREST_DETECTION;
use crate::policy::overseer::{Decision, decide, detect};
use crate::store::files::FileIdentity;

/// The state that is kept between two looks.
#[derive(Default)]
pub struct Agents {
    config: ProjectConfig,
    config_seen: Option<Option<FileIdentity>>,
    /// When the next look is due.
    due: Option<Instant>,
    /// The observations of each agent at the last look.
    seen: BTreeMap<AgentId, FileIdentity>,
    person: Person,
    /// Interventions that were reported to a person, if they need a person.
    reported: BTreeSet<String>,
    /// All interventions before this one were reported.
    told_at: Option<u64>,
}

impl Agents {
    pub fn look(&mut self, ctx: &Context, revision: u64) -> Looked {
        let mut looked = Looked { troubles: self.person.troubles(), ..Looked::default() };
        self.read_config(ctx, &mut looked);
        if !self.config.overseer.enabled {
            return looked;
        }
        let every = oversight::interval(&self.config.overseer);
        let now = Instant::now();
        if let Some(due) = self.due.filter(|due| *due > now) {
            looked.again_in = Some(due - now);
            return looked;
        }
        self.due = Some(now + every);
        looked.again_in = Some(every);
        // Paused agents are not judged.
        if ctx.store.switches().map_or(true, |switches| switches.global().is_some()) {
            return looked;
        }
        let watched = ctx.machine.observed();
        self.seen.retain(|agent, _| watched.iter().any(|(known, _)| known == agent));
        let fresh: Vec<(AgentId, FileIdentity)> =
            watched.into_iter().filter(|(agent, found)| self.seen.get(agent) != Some(found)).collect();
        if fresh.is_empty() && self.told_at == Some(revision) {
            return looked;
        }
        let board = match ctx.store.read(&Needs::Nothing) {
            Ok(snapshot) => snapshot.board,
            Err(error) => {
                let why = Failure::from(error).message;
                looked.troubles.push(format!("the overseer cannot run: {why}"));
                return looked;
            }
        };
        self.report_to_persons(ctx, &board, &mut looked);
        for (agent, found) in fresh {
            self.seen.insert(agent.clone(), found);
            self.look_at(ctx, &board, &agent, &mut looked);
        }
        looked
    }

    /// If liza.yaml has a mistake, its last valid settings still apply.
    fn read_config(&mut self, ctx: &Context, looked: &mut Looked) {
        let now = FileIdentity::at(&ctx.root().join("liza.yaml")).ok();
        if self.config_seen.as_ref() == Some(&now) {
            return;
        }
        self.config_seen = Some(now);
        match ctx.project_config() {
            Ok(config) => self.config = config,
            Err(failure) => looked.troubles.push(format!("{}; the former settings apply", failure.message)),
        }
    }

    fn look_at(&mut self, ctx: &Context, board: &Board, agent: &AgentId, looked: &mut Looked) {
        // A dead session is not judged: its leases expire.
        let Some(ring) = oversight::live_observations(ctx, board, agent) else { return };
        let history = ring.session();
        let Some(last) = history.last() else { return };
        let stopped =
            ctx.store.switches().map_or(true, |set| set.stopping(agent, last.task.as_ref()).is_some());
        if stopped {
            return;
        }
        let mine = board.rest.interventions.iter().filter(|one| one.is_about(agent, last.incarnation));
        let (past, elsewhere): (Vec<&Intervention>, Vec<&Intervention>) =
            mine.partition(|one| one.task_id == last.task);
        let nudged_elsewhere = elsewhere.iter().filter(|one| one.action == Action::Nudge).count();
        let detections = detect(history, &self.config.overseer);
        let config = &self.config.overseer;
        let decision = decide(&detections, &past, nudged_elsewhere, ctx.now.wall, config);
        let Some(decision) = decision else { return };
        let order = self.order_for(last, decision, past.iter().map(|one| one.number()).max().unwrap_or(0));
        match oversight::issue(ctx, &order) {
            Ok(ordered) => {
                looked.done.push(line(&order));
                looked.questions.extend(order.question.clone());
                if let Some(record) = ordered.record.filter(|_| needs_person(order.action, &order.role)) {
                    crash::point("overseer.ordered");
                    let sent = self.report(ctx, &record, order.question.as_deref().unwrap_or_default());
                    looked.troubles.extend(sent.err());
                }
            }
            // Another process was faster, or the claim has ended meanwhile.
            Err(failure) if matches!(failure.code.class(), Class::Refused | Class::Stale) => {}
            Err(failure) => looked.troubles.push(format!(
                "could not act on {agent} ({}): {}",
                order.behaviour.as_str(),
                failure.message
            )),
        }
    }

    fn order_for(&self, last: &AgentSnapshot, decision: Decision, decided_after: u64) -> Order {
        let config = &self.config.overseer;
        Order {
            agent: last.agent.clone(),
            incarnation: last.incarnation,
            role: last.role.clone(),
            task: last.task.clone(),
            epoch: last.epoch,
            behaviour: decision.detection.behaviour,
            action: decision.action,
            severity: decision.detection.severity,
            confidence: decision.detection.confidence.clamp(0.0, SUREST_DETECTION),
            evidence: decision.detection.evidence,
            text: decision.text,
            question: decision.question,
            bounds: Some(Bounds {
                cooldown_seconds: config.nudge_cooldown_seconds,
                max_nudges: config.max_nudges_per_agent,
                answer_seconds: Some(config.answer_seconds),
                decided_after: Some(decided_after),
                all_work: true,
            }),
        }
    }

    /// Reports interventions whose process died after recording them and before reporting them.
    fn report_to_persons(&mut self, ctx: &Context, board: &Board, looked: &mut Looked) {
        if self.told_at == Some(board.revision) {
            return;
        }
        let mut all_told = true;
        for one in &board.rest.interventions {
            let agent = board.agent(&one.agent);
            let current =
                agent.is_some_and(|agent| agent.is_active() && agent.incarnation == one.incarnation);
            let role = agent.and_then(|agent| agent.roles.first().cloned()).unwrap_or_else(Role::coder);
            if !current || !needs_person(one.action, &role) || self.reported.contains(&one.id) {
                continue;
            }
            let question = Question::of_record(one, &self.config.overseer).text();
            if ctx.store.was_alerted(&Alert::of_intervention(one, &question).key) {
                self.reported.insert(one.id.clone());
                continue;
            }
            if let Err(trouble) = self.report(ctx, one, &question) {
                all_told = false;
                looked.troubles.push(trouble);
            }
        }
        if all_told {
            self.told_at = Some(board.revision);
        }
    }

    fn report(&mut self, ctx: &Context, one: &Intervention, question: &str) -> Result<(), String> {
        let (id, alert) = (&one.id, Alert::of_intervention(one, question));
        let seen: String = one.evidence.iter().map(|line| format!("  {line}\n")).collect();
        let waiting = (one.action == Action::Escalate).then(|| {
            let Alert { text, hint, .. } = &alert;
            format!("{id}: {text}\n{seen}{hint}. `liza resume` answers no and removes this file.\n")
        });
        let command = self.config.watch.notify.as_deref();
        self.person.report(ctx, &alert, waiting.as_deref(), command)?;
        self.reported.insert(id.clone());
        Ok(())
    }
}

/// A question is for a person, and so is a halted planner: no other agent plans.
fn needs_person(action: Action, role: &Role) -> bool {
    action == Action::Escalate || action == Action::Halt && role == &Role::planner()
}

fn line(order: &Order) -> String {
    let on = order.task.as_ref().map_or(String::new(), |task| format!(" on {task}"));
    let done = match order.action {
        Action::Nudge => "was nudged",
        Action::Halt => "is halted",
        Action::Escalate => "needs a person's decision",
    };
    format!(
        "overseer: {}{on} {done} ({}): {}",
        order.agent,
        order.behaviour.as_str(),
        order.evidence.join("; ")
    )
}
