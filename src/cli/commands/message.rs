use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::board::records::{Message, MessageKind, Recipient};
use crate::board::rules::{Draft, SeeMessages, SendMessage};
use crate::board::{AgentId, Board, Needs, Role};
use crate::flow::Failure;
use crate::flow::init::parse_task;
use crate::flow::mail::{self, Conversation, Wanted};
use crate::text::{clipped, indent, shown_line};

use super::super::Session;
use super::super::ui::Answer;
use super::{known_role, people_only};

/// Write to agents and people, and read what they wrote
///
/// Example: liza message inbox
#[derive(Subcommand)]
pub enum MessageCommand {
    Send(SendArgs),
    Reply(ReplyArgs),
    RequestHandoff(HandoffArgs),
    Inbox(InboxArgs),
    Thread(ThreadArgs),
    List(ListArgs),
}

impl MessageCommand {
    pub fn only_looks(&self) -> bool {
        matches!(self, Self::Thread(_) | Self::List(_))
    }
}

/// Send a message to an agent, to everybody of a role, or to a person
///
/// Whom an agent may write to its role says; a question that wants an answer may always be answered. An unknown type lists
/// them all.
///
/// Example: liza message send --to role:planner --type request_clarification --subject "May a name be empty?" --task t1
#[derive(Args)]
pub struct SendArgs {
    /// An agent, role:ROLE, or human
    #[arg(long, value_name = "RECIPIENT")]
    pub to: String,
    /// What kind of message it is
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: String,
    /// One line that says what it is about
    #[arg(long)]
    pub subject: String,
    /// The text, @file, or - for standard input
    #[arg(long)]
    pub body: Option<String>,
    /// The task it is about
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// A value for programs, repeated for each
    #[arg(long, value_name = "KEY=VALUE")]
    pub payload: Vec<String>,
    /// From -100 to 100; the higher, the earlier it is read
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub priority: i64,
    /// An answer is expected
    #[arg(long)]
    pub requires_response: bool,
    /// How long an answer may take (90s, 15m, 2h, 1d); says that one is expected
    #[arg(long, value_name = "DURATION")]
    pub within: Option<String>,
    /// The message it replies to
    #[arg(long, value_name = "MESSAGE")]
    pub reply_to: Option<String>,
}

/// Answer a message
///
/// Goes to whoever sent it, about the same task, with its subject.
///
/// Example: liza message reply message-1 --body "yes, it may"
#[derive(Args)]
pub struct ReplyArgs {
    /// The message that is answered
    #[arg(value_name = "MESSAGE")]
    pub id: String,
    /// The text, @file, or - for standard input
    #[arg(long)]
    pub body: String,
    /// What kind of message it is, if it is no plain answer
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Another subject
    #[arg(long)]
    pub subject: Option<String>,
    /// A value for programs, repeated for each
    #[arg(long, value_name = "KEY=VALUE")]
    pub payload: Vec<String>,
    /// From -100 to 100; the higher, the earlier it is read
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub priority: i64,
    /// An answer is expected
    #[arg(long)]
    pub requires_response: bool,
    /// How long an answer may take (90s, 15m, 2h, 1d); says that one is expected
    #[arg(long, value_name = "DURATION")]
    pub within: Option<String>,
}

/// Ask the planner to give the work to an agent of another role
///
/// Short for a message of type request_input to role:planner that wants an answer. To leave work to whoever comes next,
/// see `liza task handoff`.
///
/// Example: liza message request-handoff --to-role test_engineer --reason "needs a load test" --task t1
#[derive(Args)]
pub struct HandoffArgs {
    /// The role that should take it
    #[arg(long = "to-role", value_name = "ROLE")]
    pub role: String,
    /// Why, as text, @file, or - for standard input
    #[arg(long)]
    pub reason: String,
    /// The task it is about
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
}

/// Show what was sent to you, the most urgent first, and mark it as seen
///
/// Example: liza message inbox
#[derive(Args)]
pub struct InboxArgs {
    /// Also what you have seen, as far as the board keeps it
    #[arg(long)]
    pub all: bool,
    /// The inbox of this agent, which stays unseen (people)
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
}

/// Show a message with what it replies to and all replies, oldest first
///
/// Example: liza message thread message-1
#[derive(Args)]
pub struct ThreadArgs {
    /// Any message of it
    #[arg(value_name = "MESSAGE")]
    pub id: String,
}

/// Show messages, oldest first: of a task, of a sender, to a receiver, of a type
///
/// Example: liza message list --task t1 --all
#[derive(Args)]
pub struct ListArgs {
    /// About this task
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// From this agent, or human
    #[arg(long, value_name = "AGENT")]
    pub from: Option<String>,
    /// To this agent, role:ROLE, or human
    #[arg(long, value_name = "RECIPIENT")]
    pub to: Option<String>,
    /// Of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Also what has left the board: every message in the log
    #[arg(long)]
    pub all: bool,
    /// The last N of them
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub number: usize,
}

/// So many at most, however many are asked for: they are held in memory.
const MOST_LISTED: usize = 1_000;
/// An answer that may take longer than this is not waited for.
const LONGEST_WAIT: u64 = 30 * 86_400;

pub fn run(session: &mut Session, command: &MessageCommand) -> Result<Answer, Failure> {
    match command {
        MessageCommand::Send(args) => send(session, args),
        MessageCommand::Reply(args) => reply(session, args),
        MessageCommand::RequestHandoff(args) => request_handoff(session, args),
        MessageCommand::Inbox(args) => inbox(session, args),
        MessageCommand::Thread(args) => Ok(shown(&mail::thread(&session.ctx, &args.id)?)),
        MessageCommand::List(args) => list(session, args),
    }
}

fn send(session: &mut Session, args: &SendArgs) -> Result<Answer, Failure> {
    let to = recipient(&args.to)?;
    if let Recipient::Role(role) = &to {
        known_role(session, role)?;
    }
    let body = args.body.as_deref().map(|body| session.input.text(body)).transpose()?;
    let message = Draft {
        to,
        kind: kind(&args.kind)?,
        subject: session.input.text(&args.subject)?,
        body: body.unwrap_or_default(),
        payload: payload(session, &args.payload)?,
        task_id: args.task.as_deref().map(parse_task).transpose()?,
        in_reply_to: args.reply_to.clone(),
        priority: args.priority,
        requires_response: args.requires_response || args.within.is_some(),
        respond_by: due(session, args.within.as_deref())?,
    };
    post(session, message)
}

fn reply(session: &mut Session, args: &ReplyArgs) -> Result<Answer, Failure> {
    let asked = mail::find(&session.ctx, &args.id)?;
    let board = session.ctx.read(&Needs::Nothing)?.board;
    let me = board.identify(&session.ctx.credentials)?.id();
    let subject = match &args.subject {
        Some(subject) => session.input.text(subject)?,
        None => {
            let former = asked.subject.strip_prefix("Re: ").unwrap_or(&asked.subject);
            clipped(&format!("Re: {former}"), 200).into_owned()
        }
    };
    let message = Draft {
        // Who goes on after his own words speaks to whom he spoke to.
        to: if asked.from == me { asked.to.clone() } else { Recipient::One(asked.from.clone()) },
        kind: args.kind.as_deref().map_or(Ok(asked.kind.answer()), kind)?,
        subject,
        body: session.input.text(&args.body)?,
        payload: payload(session, &args.payload)?,
        task_id: asked.task_id.clone().filter(|task| board.task(task).is_some()),
        in_reply_to: Some(asked.id.clone()),
        priority: args.priority,
        requires_response: args.requires_response || args.within.is_some(),
        respond_by: due(session, args.within.as_deref())?,
    };
    post(session, message)
}

fn request_handoff(session: &mut Session, args: &HandoffArgs) -> Result<Answer, Failure> {
    let role = Role::new(&args.role).map_err(|why| Failure::usage(format!("--to-role: {why}")))?;
    known_role(session, &role)?;
    let message = Draft {
        to: Recipient::Role(Role::planner()),
        kind: MessageKind::RequestInput,
        subject: format!("Request handoff to {role}"),
        body: session.input.text(&args.reason)?,
        payload: BTreeMap::from([("handoff_to".to_owned(), role.to_string())]),
        task_id: args.task.as_deref().map(parse_task).transpose()?,
        in_reply_to: None,
        priority: 0,
        requires_response: true,
        respond_by: None,
    };
    post(session, message)
}

fn post(session: &mut Session, message: Draft) -> Result<Answer, Failure> {
    session.seal_request()?;
    let to = message.to.clone();
    let committed = session.ctx.commit(SendMessage { message })?;
    let id = committed.outcome["id"].as_str().unwrap_or_default().to_owned();
    let mut text = format!("sent to {to} as {id}");
    if let Recipient::Role(role) = &to
        && !committed.board.rest.agents.values().any(|agent| agent.has(role))
    {
        text.push_str("; nobody has that role yet, so it waits for the first who has");
    }
    Ok(Answer::new(committed.outcome, text).at(committed.board.revision))
}

fn inbox(session: &mut Session, args: &InboxArgs) -> Result<Answer, Failure> {
    if let Some(other) = &args.agent {
        people_only(session, "read the inbox of an agent")?;
        let board = session.ctx.read(&Needs::Nothing)?.board;
        let id = agent(other)?;
        if board.agent(&id).is_none() {
            return Err(Failure::new(
                "refused.unknown_agent",
                format!("there is no agent `{id}` on this board"),
            )
            .hint("`liza agent list` shows them"));
        }
        return Ok(inbox_answer(&board, &id, args.all));
    }
    let snapshot = session.ctx.read(&Needs::Nothing)?;
    let me = snapshot.board.identify(&session.ctx.credentials)?.id();
    let mut answer = inbox_answer(&snapshot.board, &me, args.all);
    let unseen: Vec<String> =
        snapshot.board.unseen_by(&me).iter().map(|message| message.id.clone()).collect();
    if !unseen.is_empty() {
        session.seal_request()?;
        let committed = session.ctx.commit(SeeMessages { ids: unseen })?;
        answer.revision = Some(committed.board.revision);
    }
    Ok(answer)
}

/// What was sent to this agent or person: what it has not seen, and then, if wanted, the rest, newest first.
fn inbox_answer(board: &Board, id: &AgentId, all: bool) -> Answer {
    let unseen = board.unseen_by(id);
    let count = unseen.len();
    let seen = board.rest.messages.iter().rev();
    let seen = seen.filter(|message| all && board.is_for(message, id) && message.seen_by.contains(id));
    let messages: Vec<&Message> = unseen.into_iter().chain(seen).collect();
    let mut text: String = messages.iter().map(|message| words(message)).collect();
    if messages.is_empty() {
        text.push_str("no messages");
    }
    let data = json!({ "agent": id, "unseen": count, "messages": messages });
    Answer::new(data, text).at(board.revision)
}

fn list(session: &mut Session, args: &ListArgs) -> Result<Answer, Failure> {
    let wanted = Wanted {
        task: args.task.as_deref().map(parse_task).transpose()?,
        from: args.from.as_deref().map(agent).transpose()?,
        to: args.to.as_deref().map(recipient).transpose()?,
        kind: args.kind.as_deref().map(kind).transpose()?,
    };
    Ok(shown(&mail::list(&session.ctx, &wanted, args.all, args.number.min(MOST_LISTED))?))
}

fn shown(conversation: &Conversation) -> Answer {
    let mut text = String::new();
    if conversation.left_out > 0 {
        text.push_str(&format!("({} older ones are left out; -n N shows more)\n", conversation.left_out));
    }
    conversation.messages.iter().for_each(|message| text.push_str(&words(message)));
    if text.is_empty() {
        text.push_str("no messages");
    }
    let data = json!({ "messages": conversation.messages, "left_out": conversation.left_out });
    Answer::new(data, text).at(conversation.revision)
}

/// A message as people read it; whatever its writer put into it stays on the right of ours.
fn words(message: &Message) -> String {
    let task = message.task_id.as_ref().map_or(String::new(), |task| format!(" on {task}"));
    let mut text = format!(
        "{} {} from {} to {}{task}, {}\n",
        shown_line(&message.id),
        message.kind.as_str(),
        message.from,
        message.to,
        message.time
    );
    let mut notes = Vec::new();
    if let Some(asked) = &message.in_reply_to {
        notes.push(format!("in reply to {}", shown_line(asked)));
    }
    if let Some(answer) = &message.answered_by {
        notes.push(format!("answered by {}", shown_line(answer)));
    } else if message.requires_response {
        let by = message.respond_by.map_or(String::new(), |due| format!(" by {due}"));
        notes.push(format!("wants an answer{by}"));
    }
    if message.priority != 0 {
        notes.push(format!("priority {}", message.priority));
    }
    if !notes.is_empty() {
        text.push_str(&format!("  ({})\n", notes.join(", ")));
    }
    text.push_str(&format!("  {}\n", shown_line(&message.subject)));
    if !message.body.trim().is_empty() {
        text.push_str(&format!("{}\n", indent(message.body.trim(), 4)));
    }
    for (key, value) in &message.payload {
        text.push_str(&format!("    {}={}\n", shown_line(key), shown_line(value)));
    }
    text
}

fn recipient(text: &str) -> Result<Recipient, Failure> {
    Recipient::parse(text).map_err(|why| {
        Failure::usage(format!("`{text}` is nobody one can write to: {why}"))
            .hint("an agent's id, role:ROLE, or human")
    })
}

fn agent(text: &str) -> Result<AgentId, Failure> {
    AgentId::new(text).map_err(|why| Failure::usage(format!("`{text}` is no agent: {why}")))
}

fn kind(text: &str) -> Result<MessageKind, Failure> {
    MessageKind::parse(text).ok_or_else(|| {
        let known: Vec<&str> = MessageKind::ALL.iter().map(|kind| kind.as_str()).collect();
        Failure::usage(format!("there is no message of type `{text}`"))
            .hint(format!("types: {}", known.join(", ")))
    })
}

fn payload(session: &Session, given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let mut payload = BTreeMap::new();
    for pair in given {
        let (key, value) =
            pair.split_once('=').ok_or_else(|| Failure::usage(format!("`{pair}` is not KEY=VALUE")))?;
        payload.insert(key.to_owned(), session.input.text(value)?);
    }
    Ok(payload)
}

/// Until when an answer is expected that may take so long.
fn due(session: &Session, within: Option<&str>) -> Result<Option<crate::board::Wall>, Failure> {
    let Some(text) = within else { return Ok(None) };
    match seconds(text) {
        Some(seconds) => Ok(Some(session.ctx.now.wall.plus_seconds(seconds))),
        None => Err(Failure::usage(format!("`{text}` is no time to wait for an answer"))
            .hint("a number with s, m, h or d, such as 15m; at most 30d")),
    }
}

fn seconds(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let each = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    let number = text.strip_suffix(unit).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    number.parse::<u64>().ok()?.checked_mul(each).filter(|seconds| (1..=LONGEST_WAIT).contains(seconds))
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn durations_are_numbers_with_a_unit() {
        assert_eq!(seconds("90s"), Some(90));
        assert_eq!(seconds("15m"), Some(900));
        assert_eq!(seconds("2h"), Some(7_200));
        assert_eq!(seconds("30d"), Some(30 * 86_400));
        for wrong in ["", "s", "0s", "15", "-1m", "+1m", "1.5h", "31d", "99999999999999999999d", "1w", "1é"]
        {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
