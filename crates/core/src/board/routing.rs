//! The routes of a board's goals, and the workstreams they were split into.

use super::goals::{Goal, GoalStatus};
use super::ids::{TaskId, WorkstreamId};
use super::route::{AuditVerdict, Route};
use super::state::Board;
use super::workstream::Workstream;

impl Board {
    /// How the current goal was routed; nothing where it was not.
    pub fn route(&self) -> Option<&Route> {
        self.route_of_goal(&self.rest.goal.id)
    }

    pub fn route_of_goal(&self, goal: &str) -> Option<&Route> {
        self.rest.routes.iter().rfind(|route| route.goal.as_deref() == Some(goal))
    }

    /// Routes of goals that an auditor has to approve and has not. What was given up is not asked for.
    pub fn unaudited(&self) -> Vec<&Route> {
        let open = |goal: &&Goal| !goal.is_queued() && goal.status != GoalStatus::Abandoned;
        let routes =
            self.all_goals().filter(open).filter_map(|goal| Some((goal, self.route_of_goal(&goal.id)?)));
        routes.filter(|(goal, route)| !self.may_be_delivered(goal, route)).map(|(_, route)| route).collect()
    }

    /// While work on a goal goes on, an approval is of the head that was audited; later goals move the head of one that is over.
    pub(super) fn may_be_delivered(&self, goal: &Goal, route: &Route) -> bool {
        let goes_on = goal.is_open() && goal.id == self.rest.goal.id;
        let approved = match goes_on {
            true => route.is_approved_at(self.rest.integration.head.as_ref()),
            false => route.last_verdict() == Some(AuditVerdict::Approve),
        };
        route.needs_no_approval() || approved
    }

    /// The task that the current goal was to be done by alone, if it was routed so.
    pub fn single_job(&self) -> Option<&TaskId> {
        let of_goal = |route: &&Route| route.goal.as_deref() == Some(self.rest.goal.id.as_str());
        self.rest.routes.iter().filter(of_goal).find_map(|route| route.task.as_ref())
    }

    pub fn workstream(&self, id: &WorkstreamId) -> Option<&Workstream> {
        self.rest.workstreams.iter().find(|stream| stream.is(id))
    }

    /// The stream that this task plans.
    pub fn planned_by(&self, task: &TaskId) -> Option<&Workstream> {
        self.rest.workstreams.iter().find(|stream| &stream.plan == task)
    }
}
