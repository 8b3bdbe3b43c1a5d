use clap::Args;
use serde_json::{Value, json};

use crate::board::Needs;
use crate::flow::Failure;
use crate::flow::init::parse_task;
use crate::text::shown_line;
use crate::watch::DirectoryWatch;
use crate::wire::log::Record;
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
    let records = session.ctx.store.read_log(snapshot.board.journal.length)?;
    let about = |record: &Record| match &task {
        None => true,
        Some(task) => mentions(&serde_json::to_value(&record.what).unwrap_or_default(), task.as_str()),
    };
    let chosen: Vec<&Record> = records.iter().filter(|record| about(record)).collect();
    let shown: Vec<&Record> = chosen[chosen.len().saturating_sub(args.number)..].to_vec();
    let Some(watch) = &mut watch else {
        let text: String = shown.iter().map(|record| format!("{}\n", line(record))).collect();
        let data = json!({ "records": shown.iter().map(|record| value(record)).collect::<Vec<_>>() });
        return Ok(Answer::new(data, text).at(snapshot.board.revision));
    };
    let print = |record: &Record| {
        let text = if session.ui.json { to_json_line(&value(record)) } else { line(record) };
        session.ui.stream(&text)
    };
    for record in shown {
        if !print(record) {
            return Ok(Answer::default());
        }
    }
    let mut seen = snapshot.board.revision;
    loop {
        watch.wait(std::time::Duration::from_secs(3600));
        let snapshot = session.ctx.store.read(&Needs::Nothing)?;
        if snapshot.board.revision <= seen {
            continue;
        }
        for record in session.ctx.store.read_log(snapshot.board.journal.length)? {
            if record.revision > seen && about(&record) && !print(&record) {
                return Ok(Answer::default());
            }
        }
        seen = snapshot.board.revision;
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

fn line(record: &Record) -> String {
    let what = serde_json::to_value(&record.what).unwrap_or_default();
    let inner = &what[record.what.name()];
    let task =
        inner["task"].as_str().or_else(|| inner["id"].as_str()).map_or_else(|| several(inner), str::to_owned);
    let extra = ["reason", "text", "message", "answer", "goal", "summary"]
        .iter()
        .find_map(|key| inner[*key].as_str())
        .map_or(String::new(), |text| format!(": {}", shown_line(text)));
    format!(
        "{:>6} {} {} {} {task}{extra}",
        record.revision,
        record.at.wall,
        record.by.id(),
        record.what.name()
    )
    .trim_end()
    .to_owned()
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

fn value(record: &Record) -> Value {
    json!({
        "revision": record.revision, "time": record.at.wall, "by": record.by.id(), "event": record.what.name(), "do": record.what,
    })
}
