//! How a goal or a single job was routed: on which estimate, where to, and why.

use super::AddTasks;
use super::prelude::*;
use crate::text::is_ssot_id;

logged! {
    pub struct RecordRoute {
        pub ssot_id: String,
        /// The goal it is about; without one, `task` is a job of its own.
        pub goal: Option<String>,
        /// The task of a job that was tried before.
        pub task: Option<TaskId>,
        /// The task to add if it is a single job: both in one commit, so that a crash leaves neither alone.
        pub job: Option<AddTasks>,
        pub estimate: Option<Estimate>,
        /// Why there is no estimate.
        pub unknown: Option<String>,
        #[serde(default)]
        pub mode: RunMode,
        /// As the person said it; what the estimate says counts otherwise.
        pub risk: Option<Risk>,
        pub force: Option<Way>,
        /// Why it goes another way than before.
        pub after: Option<String>,
        /// A goal of several streams stays one, and keeps its audits; not so in older records.
        pub once: bool,
    }
}

outcome!(Routed { ssot_id: String, route: Way, t_max_s: Option<u64>, t_why: String, reason: String, goal: Option<String>, task: Option<TaskId> });

impl Verb for RecordRoute {
    const OPERATION: Option<Operation> = None;
    type Outcome = Routed;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        if !call.by.is_liza() {
            human_only(call, "route a goal")?;
        }
        if !is_ssot_id(&self.ssot_id) {
            return Err(refusal!(Code::Value, "`{}` is no ssot_id", self.ssot_id.escape_debug())
                .hint("`liza ssot-id TEXT` prints the id of a text"));
        }
        text_given("t_why", &self.why())?;
        text_fits("the reason", self.after.as_deref().unwrap_or_default())?;
        if let Some(goal) = &self.goal
            && board.goal(goal).is_none()
        {
            return Err(refusal!(Code::UnknownRecord, "there is no goal `{}`", goal.escape_debug()));
        }
        let routed = self.goal.as_deref().and_then(|goal| board.route_of_goal(goal));
        if let Some(route) = routed.filter(|route| self.once && route.route == Way::Multi) {
            let goal = route.goal.as_deref().unwrap_or_default();
            return Err(refusal!(Code::Transition, "{goal} is routed to multi already")
                .hint("`liza run` goes on with it")
                .detail("goal", goal));
        }
        if let Some(task) = &self.task {
            find(board, task)?;
        }
        if self.goal.is_none() && self.task.is_none() && self.job.is_none() {
            return Err(refusal!(Code::Incomplete, "a route is about a goal or about a task"));
        }
        match self.added() {
            Some(job) => job.check(board, call),
            None => Ok(()),
        }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let (way, reason) = self.decided();
        let added = self.added().map(|job| job.change(board, call).tasks).unwrap_or_default();
        for id in &added {
            parts(board, id).1.ssot_id = Some(self.ssot_id.clone());
        }
        let job = added.into_iter().next();
        let route = Route {
            ssot_id: self.ssot_id.clone(),
            t_max_s: self.estimate.as_ref().map(|estimate| estimate.t_max_s),
            t_why: self.why(),
            route: way,
            reason: self.after.clone().unwrap_or(reason),
            by: call.by.id(),
            time: call.now.wall,
            goal: self.goal.clone(),
            task: job.or_else(|| self.task.clone()),
            mode: self.mode,
            risk: self.risk(),
            audits: Vec::new(),
            waived: None,
        };
        let outcome = Routed {
            ssot_id: route.ssot_id.clone(),
            route: way,
            t_max_s: route.t_max_s,
            t_why: route.t_why.clone(),
            reason: route.reason.clone(),
            goal: route.goal.clone(),
            task: route.task.clone(),
        };
        let current = board.rest.goal.id.clone();
        let routes = &mut board.rest.routes;
        routes.push(route);
        if routes.len() > ROUTES_KEPT
            && let Some(oldest) = routes.iter().position(|route| route.goal.as_ref() != Some(&current))
        {
            routes.remove(oldest);
        }
        outcome
    }

    fn needs(&self, board: &Board) -> Needs {
        self.job.as_ref().map_or(Needs::Nothing, |job| Verb::needs(job, board))
    }

    fn asks_archive(&self, board: &Board) -> Vec<TaskId> {
        self.job.as_ref().map(|job| Verb::asks_archive(job, board)).unwrap_or_default()
    }
}

impl RecordRoute {
    fn risk(&self) -> Risk {
        self.risk.or(self.estimate.as_ref().map(|estimate| estimate.risk)).unwrap_or_default()
    }

    fn decided(&self) -> (Way, String) {
        let judged = self.estimate.clone().map(|estimate| Estimate { risk: self.risk(), ..estimate });
        decide(judged.as_ref(), self.force)
    }

    /// What is added: only a single job has its task at once.
    fn added(&self) -> Option<&AddTasks> {
        self.job.as_ref().filter(|_| self.decided().0 == Way::Single)
    }

    fn why(&self) -> String {
        let estimated = self.estimate.as_ref().map(|estimate| estimate.t_why.clone());
        estimated.or_else(|| self.unknown.clone()).unwrap_or_default()
    }
}
