//! Agents that get nowhere: what their runners saw of them is judged, and something is done about it. One transition is
//! one act; whatever else goes with it is made up for by whoever looks next.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::board::oversight::{Action, Gravity, Intervention};
use crate::board::rules::Bounds;
use crate::board::{AgentId, Board, Needs, Role};
use crate::flow::oversight::{self, Word};
use crate::flow::{Context, Failure};
use crate::host::crash;
use crate::policy::ProjectConfig;
use crate::policy::alerts::{Alert, Kind, Severity};
use crate::policy::halting::SUREST_DETECTION;
use crate::policy::overseer::{AgentSnapshot, Decision, Question, decide, detect};
use crate::store::files::FileIdentity;

use super::Looked;
use super::person::Person;

/// What is known from one look to the next.
#[derive(Default)]
pub struct Agents {
    config: ProjectConfig,
    config_seen: Option<Option<FileIdentity>>,
    /// When it is time again.
    due: Option<Instant>,
    /// What was seen of each agent at the last look.
    seen: BTreeMap<AgentId, FileIdentity>,
    person: Person,
    /// Interventions of which a person was told, as far as that was asked.
    told: BTreeSet<String>,
    /// Up to here all that a person should hear of was told.
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
        // Nobody goes in circles who is told to stand still.
        if ctx.store.switches().map_or(true, |switches| switches.global().is_some()) {
            return looked;
        }
        let watched = oversight::watched(ctx);
        self.seen.retain(|agent, _| watched.iter().any(|(known, _)| known == agent));
        let fresh: Vec<(AgentId, FileIdentity)> =
            watched.into_iter().filter(|(agent, found)| self.seen.get(agent) != Some(found)).collect();
        if fresh.is_empty() && self.told_at == Some(revision) {
            return looked;
        }
        let board = match ctx.store.read(&Needs::Nothing) {
            Ok(snapshot) => snapshot.board,
            Err(error) => {
                looked
                    .troubles
                    .push(format!("agents cannot be looked after: {}", Failure::from(error).message));
                return looked;
            }
        };
        self.tell_persons(ctx, &board, &mut looked);
        for (agent, found) in fresh {
            self.seen.insert(agent.clone(), found);
            self.look_at(ctx, &board, &agent, &mut looked);
        }
        looked
    }

    /// A mistake in liza.yaml stops nobody from looking: what it last said well still holds.
    fn read_config(&mut self, ctx: &Context, looked: &mut Looked) {
        let now = FileIdentity::at(&ctx.root().join("liza.yaml")).ok();
        if self.config_seen.as_ref() == Some(&now) {
            return;
        }
        self.config_seen = Some(now);
        match ctx.project_config() {
            Ok(config) => self.config = config,
            Err(failure) => looked.troubles.push(format!("{}; its former settings hold", failure.message)),
        }
    }

    fn look_at(&mut self, ctx: &Context, board: &Board, agent: &AgentId, looked: &mut Looked) {
        // Of a dead session nothing is judged: leases see to what it held.
        let Some(ring) = oversight::looked_at(ctx, board, agent) else { return };
        let history = ring.session();
        let Some(last) = history.last() else { return };
        let stopped =
            ctx.store.switches().map_or(true, |set| set.stopping(agent, last.task.as_ref()).is_some());
        if stopped {
            return;
        }
        let past: Vec<&Intervention> = board
            .rest
            .interventions
            .iter()
            .filter(|one| one.concerns(agent, last.incarnation, last.task.as_ref()))
            .collect();
        let detections = detect(history, &self.config.overseer);
        let Some(decision) = decide(&detections, &past, ctx.now.wall, &self.config.overseer) else { return };
        let word = self.word(last, decision, past.iter().map(|one| one.number()).max().unwrap_or(0));
        match oversight::order(ctx, &word) {
            Ok(ordered) => {
                looked.done.push(line(&word));
                looked.questions.extend(word.question.clone());
                if needs_person(word.action, &word.role) {
                    crash::point("overseer.ordered");
                    let told = self.tell(ctx, ordered.id(), &Known::of_word(&word));
                    looked.troubles.extend(told.err());
                }
            }
            // Somebody else was faster, or the claim has ended meanwhile: there is nothing left to do.
            Err(failure) if failure.code.starts_with("refused.") || failure.code.starts_with("stale.") => {}
            Err(failure) => looked.troubles.push(format!(
                "nothing could be done about {agent} ({}): {}",
                word.behaviour.as_str(),
                failure.message
            )),
        }
    }

    fn word(&self, last: &AgentSnapshot, decision: Decision, decided_after: u64) -> Word {
        let config = &self.config.overseer;
        Word {
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
            }),
        }
    }

    /// What is on record and of which nobody was told, because whoever put it there died.
    fn tell_persons(&mut self, ctx: &Context, board: &Board, looked: &mut Looked) {
        if self.told_at == Some(board.revision) {
            return;
        }
        let mut all_told = true;
        for one in &board.rest.interventions {
            let current = board
                .agent(&one.agent)
                .is_some_and(|agent| agent.is_active() && agent.incarnation == one.incarnation);
            let role = board.agent(&one.agent).and_then(|agent| agent.roles.first().cloned());
            let role = role.unwrap_or_else(Role::coder);
            if !current || !needs_person(one.action, &role) || self.told.contains(&one.id) {
                continue;
            }
            let question = Question::of_record(one, &self.config.overseer).text();
            let known = Known::of_record(one, &question);
            if ctx.store.was_alerted(&alert_of(&one.id, &known).key) {
                self.told.insert(one.id.clone());
                continue;
            }
            if let Err(trouble) = self.tell(ctx, &one.id, &known) {
                all_told = false;
                looked.troubles.push(trouble);
            }
        }
        if all_told {
            self.told_at = Some(board.revision);
        }
    }

    fn tell(&mut self, ctx: &Context, id: &str, known: &Known<'_>) -> Result<(), String> {
        let alert = alert_of(id, known);
        let seen: String = known.evidence.iter().map(|line| format!("  {line}\n")).collect();
        let waiting = (known.action == Action::Escalate).then(|| {
            format!(
                "{id}: {}\n{seen}{}. `liza resume` answers no and removes this file.\n",
                alert.text, alert.hint
            )
        });
        let command = self.config.watch.notify.as_deref();
        self.person.tell(ctx, &alert, waiting.as_deref(), command)?;
        self.told.insert(id.to_owned());
        Ok(())
    }
}

/// What a person is told of an intervention.
struct Known<'a> {
    agent: &'a AgentId,
    task: Option<&'a crate::board::TaskId>,
    behaviour: &'a str,
    action: Action,
    severity: Gravity,
    evidence: &'a [String],
    question: Option<&'a str>,
}

impl<'a> Known<'a> {
    fn of_word(word: &'a Word) -> Self {
        Self {
            agent: &word.agent,
            task: word.task.as_ref(),
            behaviour: word.behaviour.as_str(),
            action: word.action,
            severity: word.severity,
            evidence: &word.evidence,
            question: word.question.as_deref(),
        }
    }

    fn of_record(one: &'a Intervention, question: &'a str) -> Self {
        Self {
            agent: &one.agent,
            task: one.task_id.as_ref(),
            behaviour: one.behaviour.as_str(),
            action: one.action,
            severity: one.severity,
            evidence: &one.evidence,
            question: Some(question),
        }
    }
}

/// A question is for a person, and so is a planner that was halted: nobody else plans.
fn needs_person(action: Action, role: &Role) -> bool {
    action == Action::Escalate || action == Action::Halt && role == &Role::planner()
}

fn alert_of(id: &str, known: &Known<'_>) -> Alert {
    let on = known.task.map_or(String::new(), |task| format!(" on {task}"));
    let agent = known.agent;
    let (what, hint) = match known.action {
        Action::Escalate => (
            known.question.unwrap_or_default().to_owned(),
            format!("`liza overseer --explain {agent}` shows the numbers"),
        ),
        _ => (
            format!(
                "{agent}{on} was halted ({}); what it was woken for is not planned until something new wakes it",
                known.behaviour
            ),
            format!(
                "`liza overseer --explain {agent}` shows why; `liza note TEXT` tells the planner what to do"
            ),
        ),
    };
    let severity = match known.severity {
        Gravity::Warning => Severity::Warning,
        Gravity::Critical => Severity::Critical,
    };
    Alert::new(Kind::Overseer, agent.as_str(), id).severity(severity).text(what).hint(hint)
}

fn line(word: &Word) -> String {
    let on = word.task.as_ref().map_or(String::new(), |task| format!(" on {task}"));
    let done = match word.action {
        Action::Nudge => "was nudged",
        Action::Halt => "is halted",
        Action::Escalate => "is put before a person",
    };
    format!("overseer: {}{on} {done} ({}): {}", word.agent, word.behaviour.as_str(), word.evidence.join("; "))
}
