use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::board::Transition;
use crate::board::state::VERSION;
use crate::cli::prelude::*;
use crate::store::Snapshot;
use crate::store::Store;
use crate::watch::DirectoryWatch;
use crate::wire::log::LooseRecord;

/// Show what each actor did and when
///
/// Example: liza log --task t1 -n 20
#[derive(Args)]
pub struct LogArgs {
    /// Keep printing new records
    #[arg(short, long)]
    pub follow: bool,
    /// Number of records to show, the last ones
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub number: usize,
    /// Only records of this task
    #[arg(long, value_name = "TASK")]
    pub task: Option<TaskId>,
}

impl OnBoard for LogArgs {
    const ACCESS: Access = Access::ReadsAnyVersion;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let task = self.task.clone();
        let mut watch =
            self.follow.then(|| DirectoryWatch::new(session.ctx.store.watched_dir(), Store::is_news));
        let snapshot = session.ctx.read(&Needs::Nothing)?;
        // Formats only the records that are shown.
        let enough = if task.is_none() && !self.follow { self.number } else { usize::MAX };
        let records = records(session, &snapshot, enough, true)?;
        let about = |record: &LooseRecord| match &task {
            None => true,
            Some(task) => mentions(&record.what, task.as_str()),
        };
        let chosen: Vec<&LooseRecord> = records.iter().filter(|record| about(record)).collect();
        let shown: Vec<&LooseRecord> = chosen[chosen.len().saturating_sub(self.number)..].to_vec();
        let Some(watch) = &mut watch else {
            if records.is_empty() {
                session.ctx.narrate("this board has no journal");
            }
            let text: String = shown.iter().map(|record| format!("{}\n", line(record))).collect();
            let data = json!({ "records": shown.iter().map(|record| value(record)).collect::<Vec<_>>() });
            return Ok(Answer::new(data, text).at(snapshot.board.revision));
        };
        let print = |record: &LooseRecord| {
            let text = if session.ui.json { to_json_line(&value(record)) } else { line(record) };
            let text = if session.ui.json { text } else { crate::cli::times::for_people(&text).into_owned() };
            session.ui.stream(&text)
        };
        for record in shown {
            if !print(record) {
                return Ok(Answer::default());
            }
        }
        let (mut seen, mut revision) = (records.len(), snapshot.board.revision);
        loop {
            watch.wait(std::time::Duration::from_secs(3600));
            let snapshot = session.ctx.store.read(&Needs::Nothing)?;
            // Only records of an old board have no revision.
            if snapshot.board.revision == revision && revision > 0 {
                continue;
            }
            revision = snapshot.board.revision;
            let records = self::records(session, &snapshot, usize::MAX, false)?;
            // A journal that became shorter was started again.
            let new = if records.len() < seen { 0 } else { seen };
            for record in records.iter().skip(new).filter(|record| about(record)) {
                if !print(record) {
                    return Ok(Answer::default());
                }
            }
            seen = records.len();
        }
    }
}

/// The last records of the journal; records of a newer liza as far as this version understands them.
fn records(
    session: &Session,
    snapshot: &Snapshot,
    enough: usize,
    report_newer: bool,
) -> Result<Vec<LooseRecord>, Failure> {
    let store = &session.ctx.store;
    if snapshot.version != u64::from(VERSION) {
        return Ok(store.read_other_log(snapshot)?);
    }
    let broken = match store.read_log(snapshot.board.journal.length) {
        Ok(records) => {
            let first = records.len().saturating_sub(enough);
            return Ok(records[first..].iter().map(LooseRecord::of).collect());
        }
        Err(error) => error,
    };
    // Unknown records still fit the hash chain; a broken chain is an error.
    match store.read_other_log(snapshot) {
        Ok(records) if records.iter().any(|record| !Transition::NAMES.contains(&record.event.as_str())) => {
            if report_newer {
                session.ctx.narrate(
                    "the journal holds records of a newer liza; this version shows what it understands",
                );
            }
            Ok(records)
        }
        _ => Err(broken.into()),
    }
}

fn mentions(value: &Value, id: &str) -> bool {
    match value {
        Value::String(text) => text == id,
        Value::Array(items) => items.iter().any(|item| mentions(item, id)),
        Value::Object(map) => map.values().any(|item| mentions(item, id)),
        _ => false,
    }
}

/// What a line shows of a record. An old journal or a newer liza may have any value in these fields.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Parts {
    task: Option<Part>,
    id: Option<Part>,
    task_id: Option<Part>,
    tasks: Option<Part>,
    ids: Option<Part>,
    reason: Option<Part>,
    text: Option<Part>,
    message: Option<Part>,
    answer: Option<Part>,
    goal: Option<Part>,
    summary: Option<Part>,
    detail: Option<Part>,
    details: Option<Part>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Part {
    Text(String),
    Several(Vec<Part>),
    Letter {
        #[serde(rename = "type")]
        kind: String,
        to: String,
        subject: String,
        task_id: Option<String>,
    },
    Named {
        id: String,
    },
    Unknown(IgnoredAny),
}

impl Part {
    fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The ids in a list of ids or of objects with ids.
    fn ids(&self) -> Vec<&str> {
        let Self::Several(parts) = self else { return Vec::new() };
        let ids = parts.iter().filter_map(|part| match part {
            Self::Text(id) | Self::Named { id } => Some(id.as_str()),
            _ => None,
        });
        ids.collect()
    }
}

fn line(record: &LooseRecord) -> String {
    // The fields of a transition are under its name; a record of an old journal has them at the top.
    let parts =
        Parts::deserialize(record.what.get(&record.event).unwrap_or(&record.what)).unwrap_or_default();
    let first =
        |parts: &[&Option<Part>]| parts.iter().find_map(|part| part.as_ref()?.text()).map(str::to_owned);
    let (what, extra) = match (record.event.as_str(), &parts.message, &parts.ids) {
        ("send_message", Some(Part::Letter { kind, to, subject, task_id }), _) => {
            let task = task_id.as_ref().filter(|task| !task.is_empty());
            let task = task.map_or(String::new(), |task| format!(" on {}", shown_line(task)));
            (
                format!("{} to {}{task}", shown_line(kind), shown_line(to)),
                format!(": {}", shown_line(subject)),
            )
        }
        ("see_messages", _, Some(ids)) => (shown_line(&ids.ids().join(", ")).into_owned(), String::new()),
        _ => {
            let task = first(&[&parts.task, &parts.id, &parts.task_id]);
            let Parts { reason, text, message, answer, goal, summary, detail, details, .. } = &parts;
            let extra = first(&[reason, text, message, answer, goal, summary, detail, details]);
            (
                task.or_else(|| parts.tasks.as_ref().map(|tasks| task_ids_text(&tasks.ids())))
                    .unwrap_or_default(),
                extra
                    .filter(|text| !text.is_empty())
                    .map_or(String::new(), |text| format!(": {}", shown_line(&text))),
            )
        }
    };
    let revision = record.revision.map_or("-".to_owned(), |revision| revision.to_string());
    format!("{revision:>6} {} {} {} {what}{extra}", record.time, record.by, record.event)
        .trim_end()
        .to_owned()
}

/// The first of several tasks and the number of the others.
fn task_ids_text(ids: &[&str]) -> String {
    const SHOWN: usize = 5;
    let more = ids.len().saturating_sub(SHOWN);
    let shown = ids[..ids.len() - more].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

fn value(record: &LooseRecord) -> Value {
    json!({
        "revision": record.revision, "time": record.time, "by": record.by, "event": record.event, "do": record.what,
    })
}
