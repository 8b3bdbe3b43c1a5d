use clap::Args;
use serde_json::{Value, json};

use crate::board::state::VERSION;
use crate::board::{Needs, Transition};
use crate::flow::Failure;
use crate::flow::init::parse_task;
use crate::store::Snapshot;
use crate::text::shown_line;
use crate::watch::DirectoryWatch;
use crate::wire::log::LooseRecord;
use crate::wire::to_json_line;

use super::super::Session;
use super::super::ui::Answer;

/// Show what was done, by whom and when
///
/// Example: liza log --task t1 -n 20
#[derive(Args)]
pub struct LogArgs {
    /// Go on printing as things happen
    #[arg(short, long)]
    pub follow: bool,
    /// The last N records
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub number: usize,
    /// Only what concerns this task
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
}

pub fn run(session: &mut Session, args: &LogArgs) -> Result<Answer, Failure> {
    let task = args.task.as_deref().map(parse_task).transpose()?;
    let mut watch = args.follow.then(|| DirectoryWatch::new(session.ctx.store.dir()));
    let snapshot = session.ctx.read(&Needs::Nothing)?;
    // Where nothing else decides, only what is shown is put into words.
    let enough = if task.is_none() && !args.follow { args.number } else { usize::MAX };
    let records = records(session, &snapshot, enough, true)?;
    let about = |record: &LooseRecord| match &task {
        None => true,
        Some(task) => mentions(&record.what, task.as_str()),
    };
    let chosen: Vec<&LooseRecord> = records.iter().filter(|record| about(record)).collect();
    let shown: Vec<&LooseRecord> = chosen[chosen.len().saturating_sub(args.number)..].to_vec();
    let Some(watch) = &mut watch else {
        if records.is_empty() {
            session.ctx.narrate("this board has no log");
        }
        let text: String = shown.iter().map(|record| format!("{}\n", line(record))).collect();
        let data = json!({ "records": shown.iter().map(|record| value(record)).collect::<Vec<_>>() });
        return Ok(Answer::new(data, text).at(snapshot.board.revision));
    };
    let print = |record: &LooseRecord| {
        let text = if session.ui.json { to_json_line(&value(record)) } else { line(record) };
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
        // Only an old board has no revision to tell by.
        if snapshot.board.revision == revision && revision > 0 {
            continue;
        }
        revision = snapshot.board.revision;
        let records = self::records(session, &snapshot, usize::MAX, false)?;
        // A log that is shorter than it was was begun anew.
        let new = if records.len() < seen { 0 } else { seen };
        for record in records.iter().skip(new).filter(|record| about(record)) {
            if !print(record) {
                return Ok(Answer::default());
            }
        }
        seen = records.len();
    }
}

/// The last records of this board's log; where a newer liza wrote some of it, as far as it can be understood.
fn records(
    session: &Session,
    snapshot: &Snapshot,
    enough: usize,
    tell: bool,
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
    // What is merely unknown still chains; what does not is broken, and said so.
    match store.read_other_log(snapshot) {
        Ok(records) if records.iter().any(|record| !Transition::NAMES.contains(&record.event.as_str())) => {
            if tell {
                session.ctx.narrate(
                    "the log holds records of a newer liza; they are shown as far as they are understood",
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

fn line(record: &LooseRecord) -> String {
    // The parts of a transition stand under its name; an entry of an old log has them itself.
    let inner = record.what.get(&record.event).unwrap_or(&record.what);
    let task = ["task", "id", "task_id"]
        .iter()
        .find_map(|key| inner[*key].as_str())
        .map_or_else(|| several(inner), str::to_owned);
    let extra = ["reason", "text", "message", "answer", "goal", "summary", "detail", "details"]
        .iter()
        .find_map(|key| inner[*key].as_str())
        .filter(|text| !text.is_empty())
        .map_or(String::new(), |text| format!(": {}", shown_line(text)));
    let (task, extra) = match letter(record, inner) {
        Some(words) => words,
        None => (task, extra),
    };
    let revision = record.revision.map_or("-".to_owned(), |revision| revision.to_string());
    format!("{revision:>6} {} {} {} {task}{extra}", record.time, record.by, record.event)
        .trim_end()
        .to_owned()
}

/// What a message is about, and to whom it went; which messages were seen.
fn letter(record: &LooseRecord, inner: &Value) -> Option<(String, String)> {
    match record.event.as_str() {
        "send_message" => {
            let message = &inner["message"];
            let text = |key: &str| shown_line(message[key].as_str().unwrap_or_default()).into_owned();
            let task = Some(text("task_id")).filter(|task| !task.is_empty());
            let about = format!("{} to {}", text("type"), text("to"));
            Some((
                task.map_or_else(|| about.clone(), |task| format!("{about} on {task}")),
                format!(": {}", text("subject")),
            ))
        }
        "see_messages" => {
            let ids: Vec<&str> =
                inner["ids"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            Some((shown_line(&ids.join(", ")).into_owned(), String::new()))
        }
        _ => None,
    }
}

/// The first of several tasks, and how many more.
fn several(inner: &Value) -> String {
    const SHOWN: usize = 5;
    let ids: Vec<&str> = inner["tasks"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|task| task.as_str().or_else(|| task["id"].as_str()))
        .collect();
    let more = ids.len().saturating_sub(SHOWN);
    let shown = ids[..ids.len() - more].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

fn value(record: &LooseRecord) -> Value {
    json!({
        "revision": record.revision, "time": record.time, "by": record.by, "event": record.event, "do": record.what,
    })
}
