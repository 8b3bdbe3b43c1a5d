//! Reports each task that waits for a person of the team once, on the terminal and by `watch.notify`.

use super::super::notifier::{Notifier, TimedAlert};
use super::super::prelude::*;
use super::TeamRun;
use crate::board::World;
use crate::policy::alerts::{Alert, Kind as AlertKind};
use crate::policy::run::{Cause, for_people};

/// The reports already made.
#[derive(Default)]
pub(super) struct Persons {
    reported: BTreeSet<String>,
    notifier: Option<(Notifier, Receiver<String>)>,
}

impl Persons {
    /// Causes that were not reported to a person yet.
    pub(super) fn unreported(&self, causes: Vec<Cause>) -> Vec<Cause> {
        let is_reported = |task: &str| self.reported.iter().any(|key| key.split(':').next() == Some(task));
        causes.into_iter().filter(|cause| !cause.task.as_deref().is_some_and(is_reported)).collect()
    }
}

impl TeamRun<'_> {
    pub(super) fn call_people(&mut self, board: &Board, world: &World) {
        let waiting = for_people(board, world, &self.ctx.now, &self.team);
        // A cause that was gone and comes again is reported again.
        self.persons.reported.retain(|key| waiting.iter().any(|one| &one.key == key));
        for one in waiting {
            if !self.persons.reported.insert(one.key.clone()) {
                continue;
            }
            let text = format!("{} ({})", one.why, one.hint);
            self.emit(Event::new(Kind::ReviewWanted, text).task(&one.task));
            let alert = Alert::new(AlertKind::PersonWanted, &one.task, &one.key, one.why, one.hint);
            self.notify(TimedAlert { time: self.ctx.now.wall, alert });
        }
        let troubles =
            self.persons.notifier.as_ref().map(|(_, troubles)| troubles.try_iter().collect::<Vec<_>>());
        troubles.into_iter().flatten().for_each(|trouble| self.remark(Event::notice(trouble)));
    }

    /// Runs the command `watch.notify`, if there is one.
    fn notify(&mut self, alert: TimedAlert) {
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
        if let Err(trouble) = notifier.notify(&command, &alert) {
            self.remark(Event::notice(trouble));
        }
    }
}
