//! What the overseer does about a detection: bounded, and never twice in a short time.
//!
//! A nudge comes before a halt: the overseer halts an agent for a behaviour only after a nudge about that behaviour and a
//! window's time in which the agent did not change it. A nudge to an earlier session does not count. Tokens or time
//! running out are the exception, since the agent cannot change them: it is nudged once for each severity.
//!
//! Where the evidence is not enough for that, a person is asked. The answer "no" holds for the session; without an answer in
//! time the halt follows, so that no question is the last thing that happens.

use super::config::OverseerConfig;
use super::detection::Detection;
use super::question::{Question, answers, is_answer};
use super::words;
use crate::policy::prelude::*;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    pub action: Action,
    pub detection: Detection,
    /// The text of the nudge, without the evidence.
    pub text: String,
    /// The question to a person, if there is one.
    pub question: Option<String>,
}

/// At most one decision. `past` are the interventions against this incarnation of the agent on this task,
/// `nudged_elsewhere` is how often the agent was nudged at other work: the limit of nudges is per agent.
pub fn decide(
    detections: &[Detection],
    past: &[&Intervention],
    nudged_elsewhere: usize,
    now: Wall,
    config: &OverseerConfig,
) -> Option<Decision> {
    let began = detections.first()?.session_began;
    let account = Account::of(past, nudged_elsewhere, began, now, config);
    if account.is_being_halted() {
        return None;
    }
    // The strongest action; of two halts, the one that is not about exhaustion.
    let weight = |action: Action, detection: &Detection| {
        let per_cent = (detection.confidence.clamp(0.0, 1.0) * 100.0) as u8;
        (action.strength(), detection.severity, !detection.behaviour.is_exhaustion(), per_cent)
    };
    let (action, detection) = detections
        .iter()
        .filter_map(|detection| account.answer(detection).map(|action| (action, detection)))
        .max_by_key(|(action, detection)| weight(*action, detection))?;
    let mut detection = detection.clone();
    if action == Action::Halt
        && let Some(asked) = account.question(&detection)
    {
        let waited = now.since(asked.time);
        detection
            .evidence
            .push(format!("a person was asked at {} and gave no answer in {waited} s", asked.time));
    }
    Some(Decision {
        action,
        text: match action {
            Action::Nudge | Action::Escalate => words::nudge(&detection),
            Action::Halt => words::halt(&detection),
        },
        question: (action == Action::Escalate)
            .then(|| Question::about(&detection, now, config).text_after(&nudged(account.nudges()))),
        detection,
    })
}

fn nudged(times: usize) -> String {
    match times {
        0 => " and was not nudged".to_owned(),
        1 => " and was nudged once".to_owned(),
        times => format!(" and was nudged {times} times"),
    }
}

struct Account<'p> {
    past: &'p [&'p Intervention],
    nudged_elsewhere: usize,
    /// Interventions since the last halt and since the session began: earlier ones were about another session.
    session: &'p [&'p Intervention],
    /// When the session began.
    began: Wall,
    now: Wall,
    config: &'p OverseerConfig,
}

impl<'p> Account<'p> {
    fn of(
        past: &'p [&'p Intervention],
        nudged_elsewhere: usize,
        began: Wall,
        now: Wall,
        config: &'p OverseerConfig,
    ) -> Self {
        let halted = past.iter().rposition(|one| one.action == Action::Halt);
        let since = &past[halted.map_or(0, |at| at + 1)..];
        // By their order, once the session has any: a clock that was set back moves no intervention to an earlier
        // session.
        let first = since.iter().position(|one| one.time >= began).unwrap_or(since.len());
        Self { past, nudged_elsewhere, session: &since[first..], began, now, config }
    }

    /// Whether the time is less than so many seconds ago. A clock that was set back makes no intervention recent.
    fn within(&self, time: Wall, seconds: u64) -> bool {
        u64::try_from(self.now.since(time)).is_ok_and(|since| since < seconds)
    }

    /// Whether a halt is in progress. An agent that still runs long after a halt was not stopped by it, and is judged
    /// again.
    fn is_being_halted(&self) -> bool {
        let (patience, cooldown) = (self.config.patience_seconds(), self.config.nudge_cooldown_seconds);
        let halted = self.past.iter().rev().find(|one| one.action == Action::Halt);
        halted.is_some_and(|one| {
            let of_this_session = one.time >= self.began;
            self.within(one.time, if of_this_session { patience.max(cooldown) } else { patience })
        })
    }

    fn nudges(&self) -> usize {
        self.nudged_elsewhere + self.past.iter().filter(|one| one.action == Action::Nudge).count()
    }

    fn answer(&self, detection: &Detection) -> Option<Action> {
        if self.is_allowed(detection.behaviour) {
            return None;
        }
        let usual = self.without_question(detection);
        match self.question(detection) {
            // A certain detection need not wait for an answer.
            Some(asked) if usual != Some(Action::Halt) => self.after_question(asked),
            _ => usual,
        }
    }

    /// The action by the detection and the nudges alone.
    fn without_question(&self, detection: &Detection) -> Option<Action> {
        let behaviour = detection.behaviour;
        let critical = detection.severity == Gravity::Critical;
        if behaviour.is_exhaustion() {
            if critical && detection.suggested == Action::Halt {
                return self.stop(detection);
            }
            // A second nudge would only use up the nudges, and no person has to decide about a session that ends by
            // itself.
            let nudged = self.nudges_about(behaviour).any(|one| one.severity >= detection.severity);
            return if nudged {
                None
            } else {
                self.nudge(detection).filter(|action| *action == Action::Nudge)
            };
        }
        if !critical && detection.suggested == Action::Nudge {
            return self.nudge(detection);
        }
        // A question needs one nudge of the session before it; a halt needs a nudge about behaviour that still
        // continues.
        let asks = detection.suggested == Action::Escalate;
        let nudged = self.nudges_about(behaviour).next().map(|one| one.time);
        match nudged.filter(|time| asks || self.within(*time, self.episode_seconds())) {
            None => self.nudge(detection),
            Some(time) if self.within(time, self.config.patience_seconds()) => None,
            Some(_) => self.stop(detection),
        }
    }

    /// The nudges of this session about a behaviour, latest first.
    fn nudges_about(&self, behaviour: Behaviour) -> impl Iterator<Item = &&'p Intervention> {
        let about = move |one: &&&Intervention| one.action == Action::Nudge && one.behaviour == behaviour;
        self.session.iter().rev().filter(about)
    }

    /// An older nudge was about behaviour that ended: otherwise the overseer would have done more already.
    fn episode_seconds(&self) -> u64 {
        let next = self.config.nudge_cooldown_seconds.max(self.config.patience_seconds());
        self.config.remembered_seconds().saturating_add(next)
    }

    fn nudge(&self, detection: &Detection) -> Option<Action> {
        if self.question(detection).is_some() {
            // A person was asked and decides.
            return None;
        }
        if self.nudges() >= self.config.max_nudges_per_agent as usize {
            return self.enough_of_words(detection);
        }
        let last = self.past.iter().rev().find(|one| one.action == Action::Nudge);
        let too_soon = last.is_some_and(|one| self.within(one.time, self.config.nudge_cooldown_seconds));
        (!too_soon).then_some(Action::Nudge)
    }

    fn enough_of_words(&self, detection: &Detection) -> Option<Action> {
        if detection.severity == Gravity::Critical && self.nudges_about(detection.behaviour).next().is_some()
        {
            return self.stop(detection);
        }
        // One question at a time.
        let waits =
            self.session.iter().rev().take_while(|one| !is_answer(one)).any(|one| {
                one.action == Action::Escalate && self.within(one.time, self.config.answer_seconds)
            });
        (!waits).then_some(Action::Escalate)
    }

    fn stop(&self, detection: &Detection) -> Option<Action> {
        if detection.suggested == Action::Halt && self.config.halt_on_critical {
            return Some(Action::Halt);
        }
        self.question(detection).is_none().then_some(Action::Escalate)
    }

    /// The last question about this behaviour since the behaviour began.
    fn question(&self, detection: &Detection) -> Option<&'p Intervention> {
        let about = |one: &&&Intervention| {
            one.action == Action::Escalate
                && one.behaviour == detection.behaviour
                && one.time >= detection.episode_began
        };
        self.session.iter().rev().find(about).copied()
    }

    /// Whether a person was asked about the behaviour in this session and answered that the agent may continue.
    fn is_allowed(&self, behaviour: Behaviour) -> bool {
        let is_answered = |(at, asked): (usize, &&Intervention)| {
            asked.action == Action::Escalate
                && asked.behaviour == behaviour
                && self.session[at..].iter().any(|one| answers(one, asked, self.config))
        };
        self.session.iter().enumerate().any(is_answered)
    }

    /// The action after a question without an answer, while the behaviour continues.
    fn after_question(&self, asked: &Intervention) -> Option<Action> {
        let seconds = i64::try_from(self.config.answer_seconds).unwrap_or(i64::MAX);
        let age = self.now.since(asked.time);
        if (-seconds..seconds).contains(&age) {
            // A clock that was set back a little only prolongs the wait.
            return None;
        }
        // The age of a question dated in the future is unknown: the overseer asks again, by the present clock.
        let over = age >= seconds;
        Some(if over && self.config.halt_on_critical { Action::Halt } else { Action::Escalate })
    }
}
