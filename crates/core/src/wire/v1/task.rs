//! The tasks of an old board, field by field.

use super::fields::{Extras, Fields, agent_named, as_text, as_texts, slug};
use super::{OldTask, Said};
use crate::board::lease::Lease;
use crate::board::task::Kind;
use crate::board::time::Deadline;
use crate::wire::prelude::*;
use crate::wire::to_json_line;

const LONGEST_TITLE: usize = 100;

/// The question if the old board has none.
pub const QUESTION: &str = "How should the task continue?";

/// Every task, with a valid id; references are changed to the new ids.
pub fn tasks(
    values: Vec<Value>,
    goal_spec: Option<&str>,
    now: &Stamp,
    extras: &mut Extras,
    remarks: &mut Vec<String>,
) -> Vec<OldTask> {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut ids: Vec<(String, TaskId)> = Vec::new();
    let mut fields = Vec::new();
    for (at, value) in values.into_iter().enumerate() {
        let Value::Object(map) = value else {
            remarks.push(format!("tasks[{at}] is no task; it is kept as an extra"));
            extras.keep(&format!("tasks[{at}]"), value);
            continue;
        };
        let mut task = Fields::new(map);
        let said = task.text("id").unwrap_or_default();
        let id = fresh_id(&said, at, &mut taken);
        if id.as_str() != said {
            remarks.push(format!(
                "task `{said}` is called `{id}` here: ids are unique and made of letters, digits, `_` and `-`"
            ));
        }
        ids.push((said, id));
        fields.push(task);
    }
    let all = ids.clone();
    ids.into_iter()
        .zip(fields)
        .map(|((said, id), fields)| task(said, id, fields, &all, goal_spec, now, remarks))
        .collect()
}

fn fresh_id(said: &str, at: usize, taken: &mut BTreeSet<String>) -> TaskId {
    let stem = slug(said);
    let stem = if stem.is_empty() { format!("task-{}", at + 1) } else { stem };
    let mut number = 1;
    loop {
        let text = if number == 1 {
            stem.clone()
        } else {
            let room: String = stem.chars().take(56).collect();
            format!("{room}-{number}")
        };
        number += 1;
        // A reserved name gets a number too.
        if let Ok(id) = TaskId::new(&text)
            && taken.insert(id.folded())
        {
            return id;
        }
    }
}

/// The status for an old name.
pub fn status(text: &str) -> Option<Status> {
    let name = text.trim().to_ascii_uppercase().replace(['-', ' '], "_");
    match name.as_str() {
        "UNCLAIMED" | "READY" => Some(Status::Idle),
        "CLAIMED" | "IN_PROGRESS" | "IMPLEMENTING" => Some(Status::Working),
        _ => Status::ALL.into_iter().find(|status| status.as_str() == name),
    }
}

fn task(
    said_id: String,
    id: TaskId,
    mut fields: Fields,
    ids: &[(String, TaskId)],
    goal_spec: Option<&str>,
    now: &Stamp,
    remarks: &mut Vec<String>,
) -> OldTask {
    let mut extras = Extras::default();
    let description = fields.text("description").unwrap_or_default();
    let title = fields.text("title").unwrap_or_else(|| title_of(&description, &id));
    let created = fields.time_of(&["created", "created_at"]);
    let mut head = Head::new(id.clone(), Role::coder());
    let mut body = Body::new(&title, AgentId::human(), created.unwrap_or(now.wall));
    if description.trim() != title {
        body.description = description;
    }
    if let Some(by) = fields.agent_of(&["created_by"]) {
        body.created_by = by;
    }
    let mut note = |text: String| remarks.push(format!("{id}: {text}"));
    read_status(&mut fields, &mut head, &mut body, &mut note);
    head.kind = fields.fit("kind", kind).or_else(|| fields.fit("type", kind)).unwrap_or_default();
    // On the old board 1 was the most urgent; here the highest number is.
    head.priority = fields.fit("priority", Value::as_i64).map_or(0, |number| number.saturating_neg());
    head.assigned_to = fields.agent_of(&["assigned_to"]);
    head.iteration = fields.count("iteration").unwrap_or(0);
    head.review_cycles_current = fields.count("review_cycles_current").unwrap_or(0);
    head.review_cycles_total = fields.count("review_cycles_total").unwrap_or(head.review_cycles_current);
    head.integration_fix = fields.fit("integration_fix", Value::as_bool).unwrap_or(false);
    body.spec_ref = fields.text("spec_ref").or_else(|| goal_spec.map(str::to_owned));
    body.done_when = fields.texts("done_when").iter().flat_map(|text| criteria(text)).collect();
    body.tags = fields.texts("tags");
    read_scope(&mut fields, &mut head, &mut body, &mut extras);
    let known = |old: &str| ids.iter().find(|(said, _)| said == old).map(|(_, id)| id.clone());
    head.depends_on = references(&mut fields, "depends_on", &known, &mut extras, &mut note);
    head.depends_on.retain(|on| on != &id);
    head.superseded_by = references(&mut fields, "superseded_by", &known, &mut extras, &mut note);
    for agent in fields.texts("failed_by") {
        if let Some(agent) = agent_named(&agent)
            && !head.failed_by.contains(&agent)
        {
            head.failed_by.push(agent);
        }
    }
    body.rejection_reason = fields.text("rejection_reason");
    body.rejection_feedback = fields.text("rejection_feedback").or_else(|| body.rejection_reason.clone());
    body.blocked_reason = fields.text("blocked_reason").or(body.blocked_reason.take());
    body.blocked_questions = fields.texts("blocked_questions");
    if head.status == Status::Blocked && body.blocked_questions.iter().all(|text| text.trim().is_empty()) {
        body.blocked_questions = vec![QUESTION.to_owned()];
    }
    body.end_reason = fields.text_of(&["rescope_reason", "abandon_reason", "abandoned_reason", "end_reason"]);
    let mut said = Said {
        id: said_id,
        branch: fields.text("branch"),
        worktree: fields.text("worktree"),
        base_commit: fields.text("base_commit"),
        review_commit: fields.text("review_commit"),
        merge_commit: fields.text("merge_commit"),
        approved_by: fields.agent_of(&["approved_by"]),
        begun: false,
    };
    head.review_commit = said.review_commit.as_deref().and_then(|text| CommitId::new(text).ok());
    let mut hands: Vec<AgentId> =
        head.assigned_to.iter().chain(&head.failed_by).filter(|agent| can_act(agent)).cloned().collect();
    said.begun = !hands.is_empty();
    for (at, line) in fields.list("history").into_iter().enumerate() {
        let named = named_in(&line);
        let line = history(line, at, body.created_at);
        if !is_judgement(line.event) {
            said.begun |= is_work(line.event) && !named.is_empty();
            hands.extend(named);
        }
        body.history.push(line);
    }
    implementers(&mut head, hands, said.begun);
    lease(&fields, &mut head);
    extras.leave("", fields);
    body.extra = extras.into_texts();
    OldTask { whole: WholeTask { head, body }, said }
}

fn read_status(fields: &mut Fields, head: &mut Head, body: &mut Body, note: &mut dyn FnMut(String)) {
    match fields.fit("status", |value| status(&as_text(value)?)) {
        Some(status) => head.status = status,
        None => {
            // A person must decide about an unknown status; the word stays among the extras.
            let word = fields.peek_text("status").unwrap_or_else(|| "nothing".to_owned());
            head.status = Status::Blocked;
            body.blocked_reason = Some(format!("the older board says `{word}`, an unknown task status"));
            note(format!("its status `{word}` is unknown; it is BLOCKED"));
        }
    }
}

fn kind(value: &Value) -> Option<Kind> {
    match value.as_str()? {
        "code" | "coding" => Some(Kind::Code),
        "docs" | "documentation" => Some(Kind::Docs),
        "config" => Some(Kind::Config),
        "spec" | "planning" => Some(Kind::Spec),
        _ => None,
    }
}

fn title_of(description: &str, id: &TaskId) -> String {
    let first = description.trim().lines().next().unwrap_or_default().trim();
    if first.is_empty() {
        return id.to_string();
    }
    if first.chars().count() <= LONGEST_TITLE {
        return first.to_owned();
    }
    first.chars().take(LONGEST_TITLE - 1).collect::<String>() + "…"
}

/// A text of several bullets is several criteria.
fn criteria(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match (line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")), found.last_mut()) {
            (Some(item), _) => found.push(item.trim().to_owned()),
            (None, Some(last)) => {
                last.push(' ');
                last.push_str(line);
            }
            (None, None) => found.push(line.to_owned()),
        }
    }
    found
}

/// `IN: a, b` and `OUT: c` in one text, or a map or list of the same. If any entry is not a path, the task may change
/// anything and owns nothing, as before.
fn read_scope(fields: &mut Fields, head: &mut Head, body: &mut Body, extras: &mut Extras) {
    let Some(value) = fields.take("scope") else {
        body.scope.inside = everything();
        return;
    };
    let (inside, outside) = match &value {
        Value::String(text) => split_scope(text),
        Value::Array(_) => (super::fields::as_texts(&value).unwrap_or_default(), Vec::new()),
        Value::Object(map) => {
            let list = |keys: [&str; 2]| {
                keys.iter()
                    .find_map(|key| super::fields::as_texts(map.get(*key)?))
                    .unwrap_or_default()
                    .iter()
                    .flat_map(|text| pieces(text))
                    .collect::<Vec<_>>()
            };
            (list(["in", "IN"]), list(["out", "OUT"]))
        }
        _ => (Vec::new(), Vec::new()),
    };
    let inside: Vec<Option<Vec<PathPattern>>> = inside.iter().map(|text| pattern(text)).collect();
    let outside: Vec<Option<Vec<PathPattern>>> = outside.iter().map(|text| pattern(text)).collect();
    let exact = !inside.is_empty() && inside.iter().chain(&outside).all(Option::is_some);
    body.scope.outside = outside.into_iter().flatten().flatten().collect();
    if !inside.is_empty() && inside.iter().all(Option::is_some) {
        body.scope.inside = inside.into_iter().flatten().flatten().collect();
        head.owns = body.scope.inside.clone();
    } else {
        body.scope.inside = everything();
    }
    if !exact {
        extras.keep("scope", value);
    }
}

fn everything() -> Vec<PathPattern> {
    PathPattern::new("**").into_iter().collect()
}

fn split_scope(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    let mut out = false;
    for line in text.lines() {
        let mut line = line.trim().trim_start_matches("- ");
        for (word, is_out) in [("IN:", false), ("OUT:", true)] {
            if let Some(rest) =
                line.strip_prefix(word).or_else(|| line.strip_prefix(&word.to_ascii_lowercase()))
            {
                out = is_out;
                line = rest;
            }
        }
        if out { outside.extend(pieces(line)) } else { inside.extend(pieces(line)) }
    }
    (inside, outside)
}

fn pieces(text: &str) -> Vec<String> {
    text.split([',', '\n'])
        .map(|piece| piece.trim().trim_matches('`').trim().to_owned())
        .filter(|piece| !piece.is_empty())
        .collect()
}

/// A path; a name without an ending may be a file or a directory, so both patterns are used.
fn pattern(text: &str) -> Option<Vec<PathPattern>> {
    if text.contains(char::is_whitespace) {
        return None;
    }
    let path = PathPattern::new(text).ok()?;
    let name = text.rsplit('/').next().unwrap_or_default();
    if name.is_empty() || name.contains(['.', '*', '?']) {
        return Some(vec![path]);
    }
    Some([Ok(path), PathPattern::new(&format!("{text}/"))].into_iter().flatten().collect())
}

fn references(
    fields: &mut Fields,
    key: &str,
    known: &dyn Fn(&str) -> Option<TaskId>,
    extras: &mut Extras,
    note: &mut dyn FnMut(String),
) -> Vec<TaskId> {
    let said = fields.texts(key);
    let mut found = Vec::new();
    let mut lost = Vec::new();
    for old in &said {
        match known(old) {
            Some(id) if !found.contains(&id) => found.push(id),
            Some(_) => {}
            None => lost.push(old.clone()),
        }
    }
    if !lost.is_empty() {
        note(format!("{key} names {}, which is not on the board; kept as an extra", lost.join(", ")));
        extras.keep(key, json!(said));
    }
    found
}

/// An entry of the task's history. Values without a field are kept as JSON in the detail.
fn history(value: Value, at: usize, fallback: Wall) -> HistoryEntry {
    let Value::Object(map) = value else {
        let text = as_text(&value).unwrap_or_else(|| to_json_line(&value));
        return HistoryEntry::new(fallback, Event::Migrated, AgentId::human()).detail(text);
    };
    let mut fields = Fields::new(map);
    let time = fields.time_of(&["time", "timestamp"]).unwrap_or(fallback);
    let agent = fields.agent_of(&["agent", "by"]).unwrap_or_else(|| {
        // No agent is named: the first entry is the planner's, the others are of an unknown agent.
        if at == 0 { AgentId::human() } else { AgentId::unknown() }
    });
    let event = ["event", "action"].iter().find_map(|key| fields.fit(key, |value| event(value.as_str()?)));
    let event = event.unwrap_or(Event::Migrated);
    let mut line = HistoryEntry::new(time, event, agent);
    line.commit = fields.fit("commit", |value| CommitId::new(value.as_str()?).ok());
    line.checkpoint = fields.fit("checkpoint", checkpoint);
    let text = fields.text_of(&["detail", "reason", "note", "message"]);
    let left = (!fields.is_empty()).then(|| to_json_line(&fields.into_value()));
    line.detail = match (text, left) {
        (Some(text), Some(left)) => Some(format!("{text} {left}")),
        (text, left) => text.or(left),
    };
    line
}

fn event(name: &str) -> Option<Event> {
    let name = name.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    Some(match name.as_str() {
        "created" => Event::Created,
        "finalized" => Event::Finalized,
        "claimed" | "reclaimed" | "reclaimed_after_rejection" | "reassigned" => Event::Claimed,
        "pre_execution_checkpoint" => Event::PreExecutionCheckpoint,
        "ready_for_review" | "submitted" | "submitted_for_review" => Event::Submitted,
        "approved" => Event::Approved,
        "rejected" => Event::Rejected,
        "merged" => Event::Merged,
        "integration_failed" => Event::IntegrationFailed,
        "blocked" => Event::Blocked,
        "unblocked" => Event::Unblocked,
        "released" => Event::Released,
        "handoff" | "handed_off" => Event::HandedOff,
        "superseded" | "rescoped" => Event::Superseded,
        "abandoned" => Event::Abandoned,
        _ => return None,
    })
}

/// A checkpoint if every part has a field; on the old board the validation was one text.
fn checkpoint(value: &Value) -> Option<Checkpoint> {
    let mut fields = Fields::new(value.as_object()?.clone());
    let checkpoint = Checkpoint {
        intent: fields.text("intent")?,
        assumptions: fields
            .texts("assumptions")
            .into_iter()
            .map(|text| Assumption { text, critical: false })
            .collect(),
        risks: fields.text("risks").unwrap_or_default(),
        validation: Plan { command: fields.text("validation")?, expect: String::new() },
        files_to_modify: fields.texts("files_to_modify"),
    };
    fields.is_empty().then_some(checkpoint)
}

/// The agents that a line of the history names, in any field.
fn named_in(line: &Value) -> Vec<AgentId> {
    const WHO: [&str; 10] = [
        "agent",
        "by",
        "from",
        "to",
        "coder",
        "author",
        "assigned_to",
        "claimed_by",
        "from_agent",
        "to_agent",
    ];
    WHO.iter()
        .filter_map(|key| as_texts(line.get(*key)?))
        .flatten()
        // A status change names no agent.
        .filter(|text| status(text).is_none())
        .filter_map(|text| agent_named(&text))
        .filter(can_act)
        .collect()
}

/// Names such as `nobody` mean that no agent is known.
fn can_act(agent: &AgentId) -> bool {
    agent.is_human() || !agent.is_reserved()
}

/// Events of a task whose author is no implementer.
fn is_judgement(event: Event) -> bool {
    matches!(event, Event::Created | Event::Approved | Event::Rejected | Event::Merged)
}

/// Events that only an implementer causes.
fn is_work(event: Event) -> bool {
    matches!(
        event,
        Event::Claimed
            | Event::PreExecutionCheckpoint
            | Event::Submitted
            | Event::HandedOff
            | Event::Released
    )
}

/// Every agent that the file names besides the reviewers: one too many cannot review, but one too few could review its
/// own work.
fn implementers(head: &mut Head, named: Vec<AgentId>, begun: bool) {
    for agent in named {
        if !head.was_implemented_by(&agent) {
            head.implementers.push(agent);
        }
    }
    if begun {
        head.epoch = 1;
        head.iteration = head.iteration.max(1);
    }
}

/// The old lease, for readers: by this boot's clock it has expired. Its time stays among the extras.
fn lease(fields: &Fields, head: &mut Head) {
    let Some(agent) = head.assigned_to.clone().filter(|_| head.status == Status::Working) else { return };
    // Without a time, it is unknown how long the task was held, so it is not shown as held.
    let Some(at) = fields.peek_text("lease_expires").and_then(|text| super::loose_time(&text)) else {
        return;
    };
    let expires = Deadline { at, monotonic: 0, boot: String::new() };
    head.lease = Some(Lease { agent, incarnation: 0, epoch: head.epoch, expires });
}
