//! Alerts from records of the breaker and the overseer.

use super::alert::*;
use crate::policy::prelude::*;

impl From<Response> for Severity {
    fn from(response: Response) -> Self {
        match response {
            Response::Warning => Self::Warning,
            Response::Checkpoint | Response::Halt => Self::Critical,
        }
    }
}

impl From<Gravity> for Severity {
    fn from(gravity: Gravity) -> Self {
        match gravity {
            Gravity::Warning => Self::Warning,
            Gravity::Critical => Self::Critical,
        }
    }
}

impl From<&Trip> for Alert {
    fn from(trip: &Trip) -> Self {
        let Trip { id, time, pattern, .. } = trip;
        let text = format!("{}: {}", pattern.as_str(), clipped_line(&trip.summary));
        let hint = format!("`liza breaker status`; when it is settled: `liza breaker resolve {id} --note …`");
        Self::new(Kind::BreakerOpen, id, time, text, hint).severity(trip.response.into())
    }
}

impl Alert {
    /// For a question, the alert is the question in its own words.
    pub fn of_intervention(one: &Intervention, question: &str) -> Self {
        let agent = &one.agent;
        let (text, hint) = match one.action {
            Action::Escalate => {
                (question.to_owned(), format!("`liza overseer --explain {agent}` shows the numbers"))
            }
            Action::Nudge | Action::Halt => {
                let on = one.task_id.as_ref().map_or(String::new(), |task| format!(" on {task}"));
                let woken = "the planner starts again only for a new event; the event it was started for is not handled";
                let note = "`liza note TEXT` tells the planner what to do";
                (
                    format!("{agent}{on} was halted ({}); {woken}", one.behaviour.as_str()),
                    format!("`liza overseer --explain {agent}` shows why; {note}"),
                )
            }
        };
        Self::new(Kind::Overseer, agent, &one.id, text, hint).severity(one.severity.into())
    }
}
