use crate::board::RecordId;
use crate::cli::prelude::*;

/// Show notes and reports for the planner; mark them done
///
/// Example: liza inbox --done note-1 --done anomaly-2
#[derive(Args)]
pub struct InboxArgs {
    /// Mark this record as processed; repeat
    #[arg(long, value_name = "ID")]
    pub done: Vec<RecordId>,
}

impl OnBoard for InboxArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        if !self.done.is_empty() {
            let ids: Vec<String> = self.done.iter().map(ToString::to_string).collect();
            let mark = MarkProcessed { ids: ids.clone() };
            return session.commit(mark, |_| format!("marked as processed: {}", ids.join(", ")));
        }
        let snapshot = session.ctx.read_with(|board| {
            let blocked = board.tasks.iter().filter(|task| task.status == Status::Blocked);
            Needs::Tasks(blocked.map(|task| task.id.clone()).collect())
        })?;
        let rest = &snapshot.board.rest;
        let wakes = wakes(&snapshot.board, session.ctx.now.wall);
        let mut text = String::new();
        for wake in &wakes {
            let (why, about) = (view::trigger_words(wake.trigger), wake.about.join(", "));
            text.line(format!("{why}: {about}\n  {}", wake.hint));
        }
        for task in snapshot.board.tasks.iter().filter(|task| task.status == Status::Blocked) {
            let body = task.body();
            let reason = body.blocked_reason.as_deref().unwrap_or_default();
            text.line(format!("{} is blocked: {reason}", task.id));
            for question in &body.blocked_questions {
                text.line(format!("  ? {question}"));
            }
        }
        let notes: Vec<_> = rest.human_notes.iter().filter(|note| note.processed_by.is_none()).collect();
        let anomalies: Vec<_> =
            rest.anomalies.iter().filter(|anomaly| anomaly.processed_by.is_none()).collect();
        let discovered: Vec<_> =
            rest.discovered.iter().filter(|found| found.processed_by.is_none()).collect();
        let changes: Vec<_> =
            rest.spec_changes.iter().filter(|change| change.processed_by.is_none()).collect();
        for note in &notes {
            let about = note.task_id.as_ref().map_or(String::new(), |task| format!(" on {task}"));
            let by = match &note.typed {
                None => note.by.to_string(),
                Some(edit) => {
                    format!("hand, typed into state.yaml and not confirmed (`liza edits show {edit}`)")
                }
            };
            text.line(format!("{} by {by}{about}: {}", note.id, note.text));
        }
        for anomaly in &anomalies {
            let details = anomaly.details.iter().map(|(key, value)| format!("{key}={value}"));
            let (kind, details) = (anomaly.kind.as_str(), details.collect::<Vec<_>>().join("; "));
            text.line(format!("{} {kind} on {}: {details}", anomaly.id, anomaly.task_id));
        }
        for found in &discovered {
            let (severity, task) = (found.severity.as_str(), &found.task_id);
            text.line(format!("{} ({severity}) on {task}: {}", found.id, found.text));
        }
        for change in &changes {
            text.line(format!("{} {}: {}", change.id, change.spec, change.change));
        }
        if text.is_empty() {
            text.push_str("nothing waits for the planner");
        }
        let data = json!({
            "wakes": wakes, "human_notes": notes, "anomalies": anomalies, "discovered": discovered, "spec_changes": changes,
        });
        Ok(Answer::new(data, text).at(snapshot.board.revision))
    }
}
