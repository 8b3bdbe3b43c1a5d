//! People of a team: told once of each thing that waits for them, on the terminal and by `watch.notify`.

use super::super::notifier::{Notifier, Told};
use super::super::prelude::*;
use super::TeamRun;
use crate::board::World;
use crate::policy::alerts::{Alert, Kind as AlertKind};
use crate::policy::run::{Cause, for_people};

/// What they were told of already.
#[derive(Default)]
pub(super) struct Persons {
    told: BTreeSet<String>,
    notifier: Option<(Notifier, Receiver<String>)>,
}

impl Persons {
    /// Causes beside those that a person was told of: that is said already.
    pub(super) fn not_told(&self, causes: Vec<Cause>) -> Vec<Cause> {
        let is_told = |task: &str| self.told.iter().any(|key| key.split(':').next() == Some(task));
        causes.into_iter().filter(|cause| !cause.task.as_deref().is_some_and(is_told)).collect()
    }
}

impl TeamRun<'_> {
    pub(super) fn call_people(&mut self, board: &Board, world: &World) {
        let waiting = for_people(board, world, &self.ctx.now, &self.team);
        // What comes again after it was gone is news.
        self.persons.told.retain(|key| waiting.iter().any(|one| &one.key == key));
        for one in waiting {
            if !self.persons.told.insert(one.key.clone()) {
                continue;
            }
            let text = format!("{} ({})", one.why, one.hint);
            self.tell(Event::new(Kind::ReviewWanted, text).task(&one.task));
            let alert = Alert::new(AlertKind::PersonWanted, &one.task, &one.key, one.why, one.hint);
            self.notify(Told { time: self.ctx.now.wall, alert });
        }
        let heard =
            self.persons.notifier.as_ref().map(|(_, troubles)| troubles.try_iter().collect::<Vec<_>>());
        heard.into_iter().flatten().for_each(|trouble| self.remark(Event::notice(trouble)));
    }

    /// Runs the command that people have told of alerts, if there is one.
    fn notify(&mut self, told: Told) {
        let Some(command) = self.ctx.project_config().ok().and_then(|config| config.watch.notify) else {
            return;
        };
        let root = self.ctx.root().to_owned();
        let (notifier, _) = self.persons.notifier.get_or_insert_with(|| {
            let (send, troubles) = channel();
            let notifier = Notifier::new(&root, move |text| {
                let _ = send.send(text);
            });
            (notifier, troubles)
        });
        if let Err(trouble) = notifier.tell(&command, &told) {
            self.remark(Event::notice(trouble));
        }
    }
}
