//! A run's record of its events: sums for each agent, and the latest events.

use std::collections::{BTreeMap, VecDeque};

use crate::flow::report::AgentUse;

use super::event::{Event, Kind};

/// How many events the report lists: the latest, because a run may last for days.
const KEPT: usize = 1000;

#[derive(Debug, Default)]
pub struct Tally {
    agents: BTreeMap<String, AgentUse>,
    last: VecDeque<Event>,
}

impl Tally {
    pub fn note(&mut self, event: Event) {
        if !event.agent.is_empty() {
            let used = self
                .agents
                .entry(event.agent.clone())
                .or_insert_with(|| AgentUse { agent: event.agent.clone(), ..AgentUse::default() });
            match event.event {
                Kind::Started => used.sessions += 1,
                Kind::Crashed => used.crashes += 1,
                _ => {}
            }
            if let Some(usage) = &event.usage {
                used.turns += usage.turns;
                used.tool_calls += usage.tool_calls;
                used.tokens += usage.tokens();
                if let Some(cost) = usage.cost_usd {
                    used.cost_usd = Some(used.cost_usd.unwrap_or_default() + cost);
                }
            }
        }
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(event);
    }

    pub fn agents(&self) -> Vec<AgentUse> {
        self.agents.values().cloned().collect()
    }

    pub fn lines(&self) -> Vec<String> {
        self.last.iter().map(Event::line).collect()
    }
}
