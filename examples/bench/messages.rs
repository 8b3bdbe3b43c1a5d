//! How much slower commands are after many messages.

use std::fs;

use liza::board::records::{Draft, MessageKind, Recipient};
use liza::board::rules::{SeeMessages, SendMessage, Sent};
use liza::board::{AgentId, Credentials, Transition};
use liza::flow::context::token_hash;
use liza::store::{Proposal, Store};

use super::{Bench, World, eprintln};

/// How often the receiver reads its inbox.
const READ_EVERY: usize = 50;

impl Bench {
    /// The same board of a hundred tasks, without messages and after many: read messages must hardly slow commands down.
    pub(super) fn messages(&mut self, count: usize) {
        let (quiet, stormy) = (self.world(50), self.world(50));
        let mut coders = Vec::new();
        for world in [&quiet, &stormy] {
            self.fill(world, 100);
            coders.push(self.register(world, "coder"));
        }
        self.storm(&stormy, &coders[1], count);
        let size = |world: &World| fs::metadata(world.root.join(".liza/state.yaml")).expect("state").len();
        eprintln(&format!("-- {count} messages: {} bytes, {} without", size(&stormy), size(&quiet)));
        let label = format!("100 tasks, {count} sent");
        let rounds = if self.quick { 11 } else { 41 };
        for (name, line, as_agent) in [
            ("message send", "message send --to role:planner --type provide_input --subject #", false),
            ("status", "status", false),
            ("status of an agent", "status", true),
            ("message inbox", "message inbox", true),
        ] {
            let run = |world: &World, who: &(String, String), round: usize| {
                let fresh = format!("more-{round}");
                let args: Vec<&str> =
                    line.split(' ').map(|word| if word == "#" { fresh.as_str() } else { word }).collect();
                world.run(&self.liza, &world.root, as_agent.then_some(who), &args);
            };
            let (ms, floor_ms) = self.pair(
                rounds,
                |round| run(&stormy, &coders[1], round),
                |round| run(&quiet, &coders[0], round),
            );
            self.row(name, &label, ms, "without the storm", floor_ms);
        }
    }

    fn storm(&self, world: &World, coder: &(String, String), count: usize) {
        let store = Store::new(world.root.join(".liza"));
        let id = AgentId::new(&coder.0).expect("an id");
        let reader = Credentials::Agent { id: id.clone(), token_hash: token_hash(&coder.1) };
        let commit = |credentials: &Credentials, what: Transition| {
            store
                .commit_any(Proposal { credentials, what, request: None }, &liza::host::now())
                .expect("committed")
        };
        let message = Draft {
            to: Recipient::One(id),
            kind: MessageKind::ProvideInput,
            subject: "one of very many".to_owned(),
            body: "It says a sentence or two, as most of them do, and then it is over.".to_owned(),
            payload: Default::default(),
            task_id: None,
            in_reply_to: None,
            priority: 0,
            requires_response: false,
            respond_by: None,
        };
        let mut sent = Vec::new();
        for _ in 0..count {
            let done = commit(&Credentials::Human, SendMessage { message: message.clone() }.into());
            sent.push(done.outcome.typed::<Sent>().expect("an outcome").id);
            if sent.len() == READ_EVERY {
                commit(&reader, SeeMessages { ids: std::mem::take(&mut sent) }.into());
            }
        }
    }
}
