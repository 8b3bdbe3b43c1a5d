//! The circuit breaker: what liza saw go wrong, when it tripped, and what a person decided. No task changes.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::breaker::{
    CRASHES_KEPT, Crash, Pattern, Resolution, Response, TRIPS_KEPT, Trip, TripEvidence,
};
use crate::board::call::Call;
use crate::board::ids::TaskId;
use crate::board::records::next_number;
use crate::board::refusal::{Code, Refusal};
use crate::board::state::Board;
use crate::board::transition::{Needs, Rule};

use super::common::{human_only, text_fits, text_given};

/// The command of an agent ended badly; its runner says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordCrash {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    pub text: String,
}

impl Rule for RecordCrash {
    fn check(&self, _: &Board, _: &Call) -> Result<(), Refusal> {
        text_given("how it ended", &self.text)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let crashes = &mut board.rest.circuit_breaker.crashes;
        crashes.push(Crash {
            time: call.now.wall,
            agent: call.by.id(),
            task_id: self.task.clone(),
            text: self.text.clone(),
        });
        let too_many = crashes.len().saturating_sub(CRASHES_KEPT);
        crashes.drain(..too_many);
        json!({ "agent": call.by.id() })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TripBreaker {
    pub pattern: Pattern,
    pub response: Response,
    pub key: String,
    pub summary: String,
    pub evidence: Vec<TripEvidence>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affected: Vec<String>,
}

impl Rule for TripBreaker {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "trip the breaker")?;
        text_fits("the summary", &self.summary)?;
        let known = board.rest.circuit_breaker.open().any(|trip| trip.key == self.key);
        if known {
            return Refusal::new(
                Code::Transition,
                format!("the breaker is open for this already: {}", self.key),
            )
            .hint("`liza breaker status` shows it")
            .err();
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let trips = &mut board.rest.circuit_breaker.trips;
        let id = format!("trip-{}", next_number("trip", trips.iter().map(|trip| trip.id.as_str())));
        let settled = trips.iter().filter(|trip| trip.resolved.is_some()).count();
        let mut too_many = (settled + 1).saturating_sub(TRIPS_KEPT);
        trips.retain(|trip| {
            let goes = trip.resolved.is_some() && too_many > 0;
            too_many -= usize::from(goes);
            !goes
        });
        trips.push(Trip {
            id: id.clone(),
            time: call.now.wall,
            pattern: self.pattern,
            response: self.response,
            key: self.key.clone(),
            summary: self.summary.clone(),
            evidence: self.evidence.clone(),
            affected: self.affected.clone(),
            answered: None,
            resolved: None,
        });
        json!({ "id": id, "pattern": self.pattern, "response": self.response })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

/// What a trip calls for was done: its report is written and its switch was set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerTrip {
    pub id: String,
}

impl Rule for AnswerTrip {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "say that the breaker has done its part")?;
        if board.rest.circuit_breaker.trips.iter().any(|trip| trip.id == self.id) {
            return Ok(());
        }
        Refusal::new(Code::UnknownRecord, format!("the breaker has no trip `{}`", self.id))
            .hint("`liza breaker history` lists them")
            .err()
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        for trip in &mut board.rest.circuit_breaker.trips {
            if trip.id == self.id && trip.answered.is_none() {
                trip.answered = Some(call.now.wall);
            }
        }
        json!({ "id": self.id })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResolveBreaker {
    /// The trip, or all that are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub note: String,
}

impl Rule for ResolveBreaker {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "resolve what the breaker tripped for")?;
        text_given("--note", &self.note)?;
        let mut open = board.rest.circuit_breaker.open();
        let found = open.any(|trip| self.id.as_ref().is_none_or(|id| id == &trip.id));
        if found {
            return Ok(());
        }
        let what = self.id.as_ref().map_or("the breaker is not open".to_owned(), |id| {
            format!("`{id}` is no open trip of the breaker")
        });
        Refusal::new(Code::UnknownRecord, what).hint("`liza breaker status` shows what is open").err()
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let resolution = Resolution { by: call.by.id(), time: call.now.wall, note: self.note.clone() };
        let mut resolved = Vec::new();
        for trip in &mut board.rest.circuit_breaker.trips {
            if trip.resolved.is_none() && self.id.as_ref().is_none_or(|id| id == &trip.id) {
                trip.resolved = Some(resolution.clone());
                resolved.push(trip.id.clone());
            }
        }
        json!({ "resolved": resolved })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}
