//! Messages that wake the planner.

use std::collections::BTreeMap;

use crate::board::records::{Draft, MessageKind};
use crate::board::rules::{SeeMessages, SendMessage};
use crate::board::testing::Bench;
use crate::policy::wake::{Trigger, wakes};

fn draft(to: &str, kind: MessageKind) -> Draft {
    Draft {
        to: to.parse().expect("an address"),
        kind,
        subject: "about the parser".to_owned(),
        body: String::new(),
        payload: BTreeMap::new(),
        task_id: None,
        in_reply_to: None,
        priority: 0,
        requires_response: false,
        respond_by: None,
    }
}

fn send(to: &str, kind: MessageKind) -> SendMessage {
    SendMessage { message: draft(to, kind) }
}

fn with(message: Draft) -> SendMessage {
    SendMessage { message }
}

fn see(ids: &[&str]) -> SeeMessages {
    SeeMessages { ids: ids.iter().map(|id| (*id).to_owned()).collect() }
}

#[test]
fn unread_or_unanswered_message_wakes_planner() {
    let mut bench = Bench::with_tasks(&["t1"]);
    let triggers = |bench: &Bench| -> Vec<(Trigger, Vec<String>)> {
        wakes(&bench.board, bench.now.wall).into_iter().map(|wake| (wake.trigger, wake.about)).collect()
    };
    bench.ok("planner-1", send("coder-1", MessageKind::ProvideInput));
    assert_eq!(triggers(&bench), []);
    let mut question = draft("role:planner", MessageKind::RequestInput);
    question.requires_response = true;
    question.respond_by = Some(bench.now.wall.plus_seconds(60));
    bench.ok("coder-1", with(question));
    bench.ok("coder-1", send("planner-1", MessageKind::TaskComplete));
    let both = vec!["message-2".to_owned(), "message-3".to_owned()];
    assert_eq!(triggers(&bench), [(Trigger::Message, both)]);
    bench.ok("planner-1", see(&["message-2", "message-3"]));
    assert_eq!(triggers(&bench), []);
    bench.tick(60);
    assert_eq!(triggers(&bench), [], "not late yet");
    bench.tick(1);
    assert_eq!(triggers(&bench), [(Trigger::AnswerOverdue, vec!["message-2".to_owned()])]);
    let mut answer = draft("coder-1", MessageKind::ProvideInput);
    answer.in_reply_to = Some("message-2".to_owned());
    bench.ok("planner-1", with(answer));
    assert_eq!(triggers(&bench), []);
}
