//! The circuit breaker: failures that liza observed, trips, and a person's decisions. No task changes.

use super::prelude::*;

logged! {
    /// An agent's command failed, as its runner reports.
    pub struct RecordCrash {
        pub task: Option<TaskId>,
        pub text: String,
        pub class: Option<CrashClass>,
        pub provider: Option<String>,
        pub until: Option<Wall>,
    }
}

outcome!(CrashRecorded { agent: AgentId });

impl RecordCrash {
    /// A crash of which only the text is known.
    pub fn plain(task: Option<TaskId>, text: &str) -> Self {
        Self { task, text: text.to_owned(), class: None, provider: None, until: None }
    }
}

impl Verb for RecordCrash {
    const OPERATION: Option<Operation> = None;
    type Outcome = CrashRecorded;

    fn check(&self, _: &Board, _: &Call) -> Result<(), Refusal> {
        text_given("how it ended", &self.text)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let crashes = &mut board.rest.circuit_breaker.crashes;
        crashes.push(Crash {
            time: call.now.wall,
            agent: call.by.id(),
            task_id: self.task.clone(),
            text: self.text.clone(),
            class: self.class,
            provider: self.provider.clone(),
            until: self.until,
        });
        let too_many = crashes.len().saturating_sub(CRASHES_KEPT);
        crashes.drain(..too_many);
        CrashRecorded { agent: call.by.id() }
    }
}

logged! {
    pub struct TripBreaker {
        pub pattern: Pattern,
        pub response: Response,
        pub key: String,
        pub summary: String,
        always pub evidence: Vec<TripEvidence>,
        pub affected: Vec<String>,
    }
}

outcome!(Tripped { id: String, pattern: Pattern, response: Response });

impl Verb for TripBreaker {
    const OPERATION: Option<Operation> = None;
    type Outcome = Tripped;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        liza_only(call, "trip the breaker")?;
        text_fits("the summary", &self.summary)?;
        let known = board.rest.circuit_breaker.open().any(|trip| trip.key == self.key);
        if known {
            return Err(refusal!(
                Code::Transition,
                "the breaker is already open for this problem: {}",
                self.key
            )
            .hint("`liza breaker status` shows it"));
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let trips = &mut board.rest.circuit_breaker.trips;
        let id = next_id("trip", trips.iter().map(|trip| trip.id.as_str()));
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
        Tripped { id, pattern: self.pattern, response: self.response }
    }
}

logged! {
    /// liza carried out the response of a trip: the report is written and the switch is set.
    pub struct AnswerTrip {
        pub id: String,
    }
}

impl Verb for AnswerTrip {
    const OPERATION: Option<Operation> = None;
    type Outcome = Recorded;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        liza_only(call, "record the breaker's response")?;
        if board.rest.circuit_breaker.trips.iter().any(|trip| trip.id == self.id) {
            return Ok(());
        }
        Err(refusal!(Code::UnknownRecord, "the breaker has no trip `{}`", self.id)
            .hint("`liza breaker history` lists them"))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        for trip in &mut board.rest.circuit_breaker.trips {
            if trip.id == self.id && trip.answered.is_none() {
                trip.answered = Some(call.now.wall);
            }
        }
        Recorded { id: self.id.clone() }
    }
}

logged! {
    pub struct ResolveBreaker {
        /// The trip; without an id, all open trips.
        pub id: Option<String>,
        pub note: String,
    }
}

outcome!(Resolved { resolved: Vec<String> });

impl Verb for ResolveBreaker {
    const OPERATION: Option<Operation> = None;
    type Outcome = Resolved;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "resolve a trip of the breaker")?;
        text_given("--note", &self.note)?;
        let mut open = board.rest.circuit_breaker.open();
        let found = open.any(|trip| self.id.as_ref().is_none_or(|id| id == &trip.id));
        if found {
            return Ok(());
        }
        let what = self.id.as_ref().map_or("the breaker is not open".to_owned(), |id| {
            format!("`{id}` is no open trip of the breaker")
        });
        Err(Refusal::new(Code::UnknownRecord, what).hint("`liza breaker status` shows what is open"))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let resolution = Resolution { by: call.by.id(), time: call.now.wall, note: self.note.clone() };
        let mut resolved = Vec::new();
        for trip in &mut board.rest.circuit_breaker.trips {
            if trip.resolved.is_none() && self.id.as_ref().is_none_or(|id| id == &trip.id) {
                trip.resolved = Some(resolution.clone());
                resolved.push(trip.id.clone());
            }
        }
        Resolved { resolved }
    }
}
