//! Runs the command `watch.notify` for each alert, one at a time, in a thread; the watcher never waits for it.

use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};

use serde::Serialize;

use super::prelude::*;
use crate::flow::shell;
use crate::text::shown_line;

/// The time limit of one command.
const TIMEOUT: Duration = Duration::from_secs(10);
/// After a timeout the command does not run for this long: it would hang for every alert, and alerts are in the log anyway.
const REST: Duration = Duration::from_secs(60);
/// Alerts that wait for their turn; more than a person reads.
const QUEUE: usize = 200;

struct Job {
    command: String,
    environment: Vec<(&'static str, String)>,
}

pub struct Notifier {
    jobs: Option<SyncSender<Job>>,
    ended: Receiver<()>,
}

impl Notifier {
    /// Runs commands in `root`; reports a failure to `trouble` once, until a command succeeds again.
    pub fn new(root: &Path, trouble: impl Fn(String) + Send + 'static) -> Self {
        let (jobs, queue) = sync_channel::<Job>(QUEUE);
        let (end, ended) = channel();
        let root: PathBuf = root.to_owned();
        // Without a thread the queue is closed, and `notify` fails.
        let _ = crate::host::start_thread(move || {
            work(&queue, &root, &trouble);
            let _ = end.send(());
        });
        Self { jobs: Some(jobs), ended }
    }

    /// Queues the command for this alert.
    pub fn notify(&self, command: &str, timed: &TimedAlert) -> Result<(), String> {
        let Some(jobs) = &self.jobs else { return Ok(()) };
        let job = Job { command: command.to_owned(), environment: environment(timed) };
        match jobs.try_send(job) {
            Err(TrySendError::Full(_)) => {
                Err("`watch.notify` is too slow: some alerts are only in the log".to_owned())
            }
            Err(TrySendError::Disconnected(_)) => {
                Err("`watch.notify` cannot be run: no thread can be started; alerts are only in the log"
                    .to_owned())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Waits until all queued commands have run, at most for `patience`.
    pub fn finish(&mut self, patience: Duration) {
        self.jobs = None;
        let _ = self.ended.recv_timeout(patience);
    }
}

/// The alert as environment variables: none of its text is part of the command line, and control characters are removed.
fn environment(timed: &TimedAlert) -> Vec<(&'static str, String)> {
    let alert = &timed.alert;
    [
        ("LIZA_ALERT_TIME", timed.time.to_string()),
        ("LIZA_ALERT_KIND", alert.kind.as_str().to_owned()),
        ("LIZA_ALERT_SEVERITY", alert.severity.as_str().to_owned()),
        ("LIZA_ALERT_SUBJECT", alert.subject.clone()),
        ("LIZA_ALERT_TEXT", alert.text.clone()),
        ("LIZA_ALERT_HINT", alert.hint.clone()),
        ("LIZA_ALERT_KEY", alert.key.clone()),
    ]
    .map(|(name, value)| (name, shown_line(&value).into_owned()))
    .into()
}

fn work(queue: &Receiver<Job>, root: &Path, trouble: &dyn Fn(String)) {
    let mut reported = false;
    let mut resting: Option<Instant> = None;
    for job in queue {
        if resting.is_some_and(|until| Instant::now() < until) {
            continue;
        }
        let (ran, output) = shell::run_command(&job.command, root, &job.environment, TIMEOUT);
        if ran.interrupted {
            return;
        }
        let why = match (&ran.problem, ran.exit) {
            (None, Some(0)) => {
                reported = false;
                continue;
            }
            (Some(problem), _) => problem.clone(),
            (None, code) => format!("it exited with {}", code.unwrap_or(-1)),
        };
        if ran.exit.is_none() {
            resting = Some(Instant::now() + REST);
        }
        if !reported {
            reported = true;
            let output = if output.is_empty() { String::new() } else { format!(" ({output})") };
            trouble(format!(
                "the command `watch.notify` of liza.yaml failed: {why}{output}; alerts are still in .liza/alerts.log"
            ));
        }
    }
}

/// An alert and the time of its report.
#[derive(Debug, Clone, Serialize)]
pub struct TimedAlert {
    pub time: Wall,
    #[serde(flatten)]
    pub alert: Alert,
}

impl TimedAlert {
    /// For people, on one line.
    pub fn line(&self) -> String {
        let Alert { severity, kind, subject, text, hint, .. } = &self.alert;
        format!("{} {} {} {subject}: {text} → {hint}", self.time, severity.as_str(), kind.as_str())
    }
}
