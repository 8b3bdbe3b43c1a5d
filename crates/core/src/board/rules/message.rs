//! Messages: who may write to whom, and which messages the board keeps. The journal has every message; the board has
//! the unread ones and the last of the others.

use super::prelude::*;

/// How many messages the board keeps after all recipients have read them.
pub const READ_KEPT: usize = 100;
/// The most bytes of these messages together.
const READ_BYTES: usize = 128 * 1024;
/// How many seen and unanswered questions the board keeps.
const QUESTIONS_KEPT: usize = 200;

/// The longest body of a message, and the longest payload; longer text belongs in a file.
pub const LONGEST_BODY: usize = 8 * 1024;
const MOST_PAIRS: usize = 20;
/// The range of priorities.
const PRIORITY: std::ops::RangeInclusive<i64> = -100..=100;

/// The highest priority of an agent's message; higher ones are for people and overseers.
const HIGHEST_OF_AGENTS: i64 = 49;

/// Limits for the unread messages of one recipient and for all messages: every command reads them.
const UNSEEN: Room = Room { messages: 100, bytes: 128 * 1024 };
const ALL: Room = Room { messages: 1_000, bytes: 1024 * 1024 };

struct Room {
    messages: usize,
    bytes: usize,
}

impl Room {
    /// The share of one sender, so that one sender cannot fill the room of all.
    const fn share(&self) -> Self {
        Self { messages: self.messages / 4, bytes: self.bytes / 4 }
    }

    /// Whether one more message of this size does not fit.
    fn is_full<'m>(&self, held: impl Iterator<Item = &'m Message>, size: usize) -> bool {
        let (count, bytes) = held.fold((0, 0), |(count, bytes), message| (count + 1, bytes + message.size()));
        count >= self.messages || bytes + size > self.bytes
    }
}

impl Draft {
    fn size(&self) -> usize {
        self.subject.len() + self.body.len() + payload_size(&self.payload)
    }

    /// Checks the subject (one line), the body and the payload (bounded).
    fn check_text(&self) -> Result<(), Refusal> {
        text_given("the subject", &self.subject)?;
        if self.subject.chars().count() > LONGEST_TITLE || self.subject.chars().any(char::is_control) {
            return Err(refusal!(Code::Value, "a subject is one line of at most {LONGEST_TITLE} characters")
                .hint("say the rest in --body, which may come from `@file` or `-`")
                .detail("field", "subject"));
        }
        for (field, bytes) in [("body", self.body.len()), ("payload", payload_size(&self.payload))] {
            if bytes > LONGEST_BODY {
                return Err(refusal!(
                    Code::Limit,
                    "the {field} is {bytes} bytes long; the limit is {LONGEST_BODY}"
                )
                .hint("put the long form into a file of the repository and name it")
                .detail("field", field));
            }
        }
        if self.payload.len() > MOST_PAIRS {
            return Err(refusal!(Code::Limit, "a payload has at most {MOST_PAIRS} pairs")
                .hint("put the rest into the body")
                .detail("field", "payload"));
        }
        if self.payload.keys().any(|key| key.trim().is_empty() || key.chars().any(char::is_control)) {
            return Err(refusal!(Code::Value, "a key of the payload is a word")
                .hint("--payload KEY=VALUE")
                .detail("field", "payload"));
        }
        if !PRIORITY.contains(&self.priority) {
            return Err(Refusal::new(
                Code::Value,
                format!("a priority lies between {} and {}", PRIORITY.start(), PRIORITY.end()),
            )
            .hint("0 is usual; 50 is a nudge, 100 is a halt"));
        }
        if self.respond_by.is_some() && !self.requires_response {
            return Err(refusal!(
                Code::Incomplete,
                "only a message that requires a response may have a time limit"
            )
            .hint("--requires-response with --within"));
        }
        Ok(())
    }
}

/// Whether no limit applies to this sender: people, overseers, and liza's own overseer.
fn is_unlimited_sender(board: &Board, from: &AgentId) -> bool {
    from.is_human()
        || from.is_automatic_overseer()
        || board.agent(from).is_some_and(|agent| agent.has(&Role::overseer()))
}

/// Finds room for one message.
struct Search<'b> {
    board: &'b Board,
    draft: &'b Draft,
    /// The messages that leave the board.
    gone: Vec<usize>,
}

impl Search<'_> {
    fn held<'s>(
        &'s self,
        counts: &'s dyn Fn(&Message) -> bool,
    ) -> impl DoubleEndedIterator<Item = (usize, &'s Message)> {
        let all = self.board.rest.messages.iter().enumerate();
        all.filter(|(at, message)| !self.gone.contains(at) && counts(message))
    }

    fn is_full(&self, room: &Room, counts: &dyn Fn(&Message) -> bool) -> bool {
        room.is_full(self.held(counts).map(|(_, message)| message), self.draft.size())
    }

    /// Removes the oldest of these messages until the new one fits, or until none is left.
    fn drop_until_it_fits(
        &mut self,
        room: &Room,
        counts: &dyn Fn(&Message) -> bool,
        may_go: &dyn Fn(&Message) -> bool,
    ) {
        while self.is_full(room, counts) {
            let next = self.held(may_go).next().map(|(at, _)| at);
            let Some(oldest) = next else { return };
            self.gone.push(oldest);
        }
    }

    /// Replaces an earlier message of the same sender and kind, so that neither the number nor the size grows.
    fn replace_its_own(&mut self, alike: &dyn Fn(&Message) -> bool) {
        let mut freed: usize = 0;
        loop {
            let next = self.held(alike).next().map(|(at, message)| (at, message.size()));
            let Some((oldest, size)) = next else { return };
            self.gone.push(oldest);
            freed += size;
            if freed >= self.draft.size() {
                return;
            }
        }
    }
}

/// Which messages leave the board so that there is room for this one, or why there is none.
///
/// Messages without a reader (to a retired agent or a role without agents) leave first: the log keeps them. People and
/// overseers are never refused, and neither is a call for help to a person.
fn make_room(board: &Board, from: &AgentId, draft: &Draft) -> Result<Vec<usize>, &'static str> {
    let unlimited = is_unlimited_sender(board, from);
    let for_people = draft.kind == MessageKind::Escalate && draft.to == Recipient::One(AgentId::human());
    let waits = |message: &Message| board.is_unseen(message);
    let here = |message: &Message| message.to == draft.to && waits(message);
    let mine = |message: &Message| message.from == *from && waits(message);
    let mine_here = |message: &Message| message.from == *from && here(message);
    let alike = |message: &Message| message.kind == draft.kind && mine_here(message);
    let everything = |_: &Message| true;
    let unreadable = |message: &Message| board.is_absent(&message.to) && waits(message);
    let mine_unreadable = |message: &Message| message.from == *from && unreadable(message);
    let here_unreadable = |message: &Message| message.to == draft.to && unreadable(message);
    let mine_here_unreadable = |message: &Message| message.from == *from && here_unreadable(message);
    type Which<'w> = &'w dyn Fn(&Message) -> bool;
    let bounds: [(bool, Room, Which, Which, &str); 4] = [
        (false, UNSEEN.share(), &mine_here, &mine_here_unreadable, "has not read your earlier messages"),
        (true, UNSEEN, &here, &here_unreadable, "has not read earlier messages"),
        (
            false,
            ALL.share(),
            &mine,
            &mine_unreadable,
            "cannot receive more from you: too many of your messages are unread",
        ),
        (
            true,
            ALL,
            &everything,
            &unreadable,
            "cannot receive more: the board holds as many messages as it may",
        ),
    ];
    let mut search = Search { board, draft, gone: Vec::new() };
    let mut replaced = false;
    for (binds_all, room, counts, may_go, why) in bounds {
        if unlimited && !binds_all {
            continue;
        }
        search.drop_until_it_fits(&room, counts, may_go);
        if !search.is_full(&room, counts) {
            continue;
        }
        if !(unlimited || for_people) {
            return Err(why);
        }
        if !replaced {
            replaced = true;
            search.replace_its_own(&alike);
        }
    }
    Ok(search.gone)
}

/// Puts a message on the board and returns its id. Whether it may be sent was checked before.
///
/// A rule that calls this says so with `Verb::drafts`.
pub fn post(board: &mut Board, call: &Call, from: AgentId, draft: &Draft) -> String {
    let id = next_id("message", board.rest.messages.iter().map(|message| message.id.as_str()));
    let asked =
        board.rest.messages.iter().position(|message| Some(&message.id) == draft.in_reply_to.as_ref());
    if let Some(at) = asked
        && board.rest.messages[at].is_unanswered()
        && board.is_for(&board.rest.messages[at], &from)
    {
        board.rest.messages[at].answered_by = Some(id.clone());
    }
    // Only `check` refuses messages; a message that arrives here is always stored.
    let mut gone = make_room(board, &from, draft).unwrap_or_default();
    gone.sort_unstable();
    for at in gone.into_iter().rev() {
        board.rest.messages.remove(at);
    }
    board.rest.messages.push(draft.sent(id.clone(), call.now.wall, from));
    let_go_of_read(board);
    id
}

/// Removes the oldest read messages from the board; the journal has them. The newest message always stays: its number
/// must not be used twice.
fn let_go_of_read(board: &mut Board) {
    let (mut read, mut bytes, mut questions) = (0, 0, 0);
    let mut keep: Vec<bool> = Vec::with_capacity(board.rest.messages.len());
    for message in board.rest.messages.iter().rev() {
        let kept = if keep.is_empty() || board.is_unseen(message) {
            true
        } else if message.is_unanswered() {
            questions += 1;
            questions <= QUESTIONS_KEPT
        } else {
            read += 1;
            bytes += message.size();
            read <= READ_KEPT && bytes <= READ_BYTES
        };
        keep.push(kept);
    }
    board.rest.messages.retain(|_| keep.pop().unwrap_or(true));
}

logged! {
    pub struct SendMessage {
        pub message: Draft,
    }
}

outcome!(Sent { id: String, to: Recipient });

impl Verb for SendMessage {
    const OPERATION: Option<Operation> = Some(Operation::Message);
    type Outcome = Sent;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let draft = &self.message;
        draft.check_text()?;
        if let Some(task) = &draft.task_id {
            find(board, task)?;
        }
        if let Some(asked) = &draft.in_reply_to {
            // A message that has left the board may still be answered.
            let last = board.rest.messages.iter().map(Message::number).max().unwrap_or(0);
            if !message_number(asked).is_some_and(|number| (1..=last).contains(&number)) {
                return Err(refusal!(Code::UnknownRecord, "there is no message `{asked}`")
                    .hint("`liza message inbox` and `liza message list` show them"));
            }
        }
        check_kind(board, call, draft.kind)?;
        check_pair(board, call, draft)?;
        check_priority(board, call, draft.priority)?;
        match make_room(board, &call.by.id(), draft) {
            Ok(_) => Ok(()),
            Err(why) => Err(refusal!(Code::Limit, "{} {why}", draft.to)
                .hint(
                    "wait until messages are read: `liza message list` shows unread ones; if you need a decision now: \
                     --to human --type escalate",
                )
                .detail("to", draft.to.to_string())),
        }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let id = post(board, call, call.by.id(), &self.message);
        Sent { id, to: self.message.to.clone() }
    }

    fn drafts(&self) -> &[Draft] {
        std::slice::from_ref(&self.message)
    }
}

/// Refuses kinds of message that the sender's role may not send.
fn check_kind(board: &Board, call: &Call, kind: MessageKind) -> Result<(), Refusal> {
    let (may, who) = match kind {
        MessageKind::Nudge | MessageKind::Halt | MessageKind::Resume => {
            (call.by.has_role(board, &Role::overseer()), "people and overseers")
        }
        MessageKind::ReviewFeedback | MessageKind::ReviewApproved => {
            let reviews = call.by.has_any_role(board, &[Role::code_reviewer(), Role::red_team()]);
            let denied = |id: &AgentId| {
                board.agent(id).is_some_and(|agent| agent.grants.denied.contains(&Operation::Review))
            };
            (reviews && !denied(&call.by.id()), "roles that may review")
        }
        MessageKind::TaskAssignment => {
            return plans(board, call, "assign tasks");
        }
        _ => return Ok(()),
    };
    if may {
        return Ok(());
    }
    Err(refusal!(Code::Role, "`{}` may not send a {}: that is for {who}", call.by.id(), kind.as_str())
        .hint("ask for what you need: --type request_input, or --type escalate if you need a decision"))
}

/// The highest priorities are for people and overseers, so that no other message comes before their orders.
fn check_priority(board: &Board, call: &Call, priority: i64) -> Result<(), Refusal> {
    if priority <= HIGHEST_OF_AGENTS || is_unlimited_sender(board, &call.by.id()) {
        return Ok(());
    }
    Err(refusal!(
        Code::Value,
        "a priority of {priority} is for people and overseers; `{}` may say at most {HIGHEST_OF_AGENTS}",
        call.by.id()
    )
    .hint(format!("--priority {HIGHEST_OF_AGENTS}, or --to human --type escalate if you need a decision"))
    .detail("field", "priority"))
}

/// The kinds of message that every agent may send to a person.
const TO_PEOPLE: [MessageKind; 3] =
    [MessageKind::Escalate, MessageKind::RequestInput, MessageKind::RequestClarification];

/// Refuses unless this sender may write to this recipient.
fn check_pair(board: &Board, call: &Call, draft: &Draft) -> Result<(), Refusal> {
    if draft.to == Recipient::One(AgentId::automatic_overseer()) {
        return Err(refusal!(
            Code::UnknownAgent,
            "`overseer` is a part of liza that checks sessions and reads no messages"
        )
        .hint("go on with your work, or ask a person: --to human --type escalate"));
    }
    if let Recipient::One(id) = &draft.to
        && !id.is_human()
        && board.agent(id).is_none()
    {
        return Err(refusal!(Code::UnknownAgent, "there is no agent `{id}` on this board")
            .hint(format!("{}; --to role:ROLE reaches all agents of a role", board.hint_for_agent(id))));
    }
    if call.by.is_human() || is_answer(board, call, draft) {
        return Ok(());
    }
    let leads = call.by.has_any_role(board, &[Role::planner(), Role::overseer()]);
    // An agent may always announce its work to reviewers, whatever else it may send to them.
    let may = |role: &Role| {
        (draft.kind == MessageKind::SubmitForReview && *role == Role::code_reviewer())
            || may_message(board, &call.by, role)
    };
    let allowed = match &draft.to {
        Recipient::One(id) if id.is_human() => leads || TO_PEOPLE.contains(&draft.kind),
        Recipient::One(id) if id.is_same(&call.by.id()) => false,
        Recipient::One(id) => board.agent(id).is_some_and(|agent| agent.roles.iter().any(may)),
        Recipient::Role(role) => may(role),
    };
    if allowed {
        return Ok(());
    }
    let roles = reachable(board, &call.by.id());
    let people: Vec<&str> = TO_PEOPLE.iter().map(|kind| kind.as_str()).collect();
    let people = if leads { "`human`".to_owned() } else { format!("`human` with {}", people.join(", ")) };
    let hint = if roles.is_empty() {
        format!("you may write to {people}")
    } else {
        format!("you may write to agents of the roles {} (--to role:ROLE), and to {people}", roles.join(", "))
    };
    Err(refusal!(Code::Role, "`{}` may not send a {} to {}", call.by.id(), draft.kind.as_str(), draft.to)
        .hint(hint)
        .detail("may_message", roles))
}

/// Whether the draft answers a question, or a person's message, to its sender.
fn is_answer(board: &Board, call: &Call, draft: &Draft) -> bool {
    board.rest.messages.iter().any(|message| {
        Some(&message.id) == draft.in_reply_to.as_ref()
            && (message.requires_response || message.from.is_human())
            && board.is_for(message, &call.by.id())
            && draft.to == Recipient::One(message.from.clone())
    })
}

/// The roles an agent may write to.
fn reachable(board: &Board, id: &AgentId) -> Vec<String> {
    let Some(agent) = board.agent(id) else { return Vec::new() };
    let mut roles: Vec<String> = match &agent.grants.may_message {
        Some(roles) => roles.iter().map(Role::to_string).collect(),
        None => agent
            .roles
            .iter()
            .flat_map(|role| default_recipients(role.as_str()))
            .map(|role| (*role).to_owned())
            .collect(),
    };
    roles.sort();
    roles.dedup();
    roles
}

/// The actor has seen these messages. Only messages to the actor are marked; other ids are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeeMessages {
    pub ids: Vec<String>,
}

outcome!(MessagesSeen { seen: Vec<String> });

impl Verb for SeeMessages {
    const OPERATION: Option<Operation> = None;
    type Outcome = MessagesSeen;

    fn check(&self, _: &Board, _: &Call) -> Result<(), Refusal> {
        if self.ids.len() <= ALL.messages {
            return Ok(());
        }
        Err(refusal!(Code::Limit, "at most {} messages are marked at once", ALL.messages))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let by = call.by.id();
        let seen: Vec<usize> = board
            .rest
            .messages
            .iter()
            .enumerate()
            .filter(|(_, message)| {
                self.ids.contains(&message.id) && board.is_for(message, &by) && !message.seen_by.contains(&by)
            })
            .map(|(at, _)| at)
            .collect();
        let mut ids = Vec::with_capacity(seen.len());
        for at in seen {
            let message = &mut board.rest.messages[at];
            message.seen_by.push(by.clone());
            ids.push(message.id.clone());
        }
        let_go_of_read(board);
        MessagesSeen { seen: ids }
    }
}
