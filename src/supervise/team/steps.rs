//! The latest step of each agent of a run, from the output that its runner keeps. Only for a person who watches.

use super::super::prelude::*;
use crate::flow::sessions::{self, Reader};
use crate::provider::Step;
use crate::text::clipped;

/// The most characters of a step.
const MOST_SHOWN: usize = 300;

#[derive(Default)]
pub(super) struct Steps {
    followed: BTreeMap<AgentId, Followed>,
}

struct Followed {
    reader: Reader,
    session: PathBuf,
    last: Option<String>,
    /// When liza last looked for a newer session.
    asked: Instant,
    seen: Instant,
}

/// How often liza looks for a new session.
const LOOK_FOR_SESSION: Duration = Duration::from_secs(3);

impl Steps {
    /// Reads new output of running agents, and forgets the others.
    pub(super) fn follow<'a>(&mut self, ctx: &Context, running: impl Iterator<Item = &'a AgentId>) {
        let running: BTreeSet<&AgentId> = running.collect();
        self.followed.retain(|agent, _| running.contains(agent));
        for agent in running {
            let now = Instant::now();
            let is_due = |one: &Followed| now.duration_since(one.asked) >= LOOK_FOR_SESSION;
            if self.followed.get(agent).is_none_or(is_due)
                && let Ok(kept) = sessions::last(ctx, Some(agent.as_str()))
            {
                let session = kept.path("out.log");
                match self.followed.get_mut(agent).filter(|one| one.session == session) {
                    Some(known) => known.asked = now,
                    None => {
                        let reader = Reader::new(&kept, false);
                        let new = Followed { reader, session, last: None, asked: now, seen: now };
                        self.followed.insert(agent.clone(), new);
                    }
                }
            }
            if let Some(one) = self.followed.get_mut(agent)
                && let Some(step) = one.reader.more().iter().rev().find_map(words)
            {
                (one.last, one.seen) = (Some(step), now);
            }
        }
    }

    /// The agent's last step since that time.
    pub(super) fn last_of(&self, agent: &AgentId, since: Instant) -> Option<String> {
        let one = self.followed.get(agent).filter(|one| one.seen >= since)?;
        one.last.clone()
    }
}

/// A step in one line; none for a tool's answer, which is no act of the agent.
fn words(step: &Step) -> Option<String> {
    let text = match step {
        Step::Said { text } | Step::Thought { text } | Step::Printed { text } => text.clone(),
        Step::Called { tool, arguments } => format!("{tool} {arguments}"),
        Step::Error { text } => format!("error: {text}"),
        Step::Result { .. } => return None,
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then(|| clipped(&line, MOST_SHOWN).into_owned())
}
