//! Random sequences of changes, written and read at every step, and replayed from every board on the way.

use proptest::prelude::*;

use crate::board::intent::Work;
use crate::board::records::{Draft, MessageKind};
use crate::board::rules::*;
use crate::board::state::JournalMark;
use crate::board::testing::*;
use crate::board::{Applied, Board, Needs, Status, Transition, apply, bodies_needed};
use crate::wire::log::{NO_RECORD, Record, read_chain};
use crate::wire::state::Decoded;

use crate::testing::sweep;

use super::rebuild::replay;

const TASKS: [&str; 3] = ["t1", "t2", "t3"];

/// One random attempt; most attempts are refused, which is part of the test.
#[derive(Debug, Clone)]
struct Attempt {
    actor: usize,
    task: usize,
    verb: usize,
    text: String,
    seconds: u64,
    /// All bodies were loaded; that must make no difference.
    all_loaded: bool,
    request: Option<u8>,
}

fn attempts() -> impl Strategy<Value = Vec<Attempt>> {
    let one = (
        0..TEAM.len() + 1,
        0..TASKS.len(),
        0..20usize,
        any::<String>(),
        prop_oneof![4 => Just(0), 1 => Just(LEASE)],
        any::<bool>(),
        proptest::option::weighted(0.2, 0..4u8),
    )
        .prop_map(|(actor, task, verb, text, seconds, all_loaded, request)| Attempt {
            actor,
            task,
            verb,
            text,
            seconds,
            all_loaded,
            request,
        });
    prop::collection::vec(one, 20..60)
}

/// A message with any text.
fn letter(attempt: &Attempt) -> SendMessage {
    let to = ["role:planner", "role:coder", "planner-1", "human"][attempt.task % 4];
    let message = Draft {
        to: to.parse().expect("an address"),
        kind: MessageKind::RequestInput,
        subject: "anything".to_owned(),
        body: attempt.text.clone(),
        payload: [("anything".to_owned(), attempt.text.clone())].into(),
        task_id: Some(id(TASKS[attempt.task])),
        in_reply_to: attempt.all_loaded.then(|| "message-1".to_owned()),
        priority: i64::try_from(attempt.actor).unwrap_or(0),
        requires_response: attempt.request.is_some(),
        respond_by: None,
    };
    SendMessage { message }
}

/// The next step for this task, or another change that is always possible.
fn transition(bench: &Bench, attempt: &Attempt) -> (String, Transition) {
    let name = TASKS[attempt.task];
    let text = || format!("{} because of {}", REASONS[attempt.verb % REASONS.len()], attempt.text);
    let chosen = TEAM.get(attempt.actor).map_or("human", |(name, _)| name);
    let by = |name: &str| name.to_owned();
    if bench.board.task(&id(name)).is_none() {
        return (by(chosen), bench.note("it has left the board").into());
    }
    match attempt.verb {
        0 => return (by(chosen), AddNote { text: text(), task: Some(id(name)) }.into()),
        1 => return (by("planner-1"), Block { reason: text(), ..bench.block(name) }.into()),
        2 => return (by("overseer-1"), bench.release(name).into()),
        3 => return (by(chosen), Heartbeat {}.into()),
        4 => return (by("human"), ExtendLeases { seconds: attempt.seconds }.into()),
        5 => {
            let note = RecordViolation { code: "tier0.role_boundary".to_owned(), message: text() };
            return (by(chosen), note.into());
        }
        18 => return (by(chosen), letter(attempt).into()),
        19 => {
            let ids =
                bench.board.unseen_by(&agent(chosen)).iter().map(|message| message.id.clone()).collect();
            return (by(chosen), SeeMessages { ids }.into());
        }
        _ => {}
    }
    let task = bench.task(name);
    let holder = task.assigned_to.as_ref().map_or("coder-1", |agent| agent.as_str()).to_owned();
    match bench.board.intent_of(&id(name)).map(|intent| &intent.work) {
        Some(Work::Claim(_)) if attempt.verb == 6 => return (by("human"), bench.cancel(name).into()),
        Some(Work::Claim(_)) => return (by(chosen), bench.finish(name).into()),
        Some(Work::Merge(work)) if work.step.is_some() => {
            return (by(chosen), bench.finish_merge(name).into());
        }
        Some(_) if attempt.verb == 6 => {
            return (by(chosen), bench.fail_merge(name, MergeFailure::LogicConflict).into());
        }
        Some(_) => return (by("reviewer-1"), bench.record_move(name).into()),
        None => {}
    }
    match task.status {
        Status::Idle | Status::Rejected | Status::IntegrationFailed => (by(chosen), bench.begin(name).into()),
        Status::Working if attempt.verb == 7 => {
            (holder, HandOff { summary: text(), ..bench.hand_off(name) }.into())
        }
        Status::Working if current_checkpoint(task.body()).is_none() => {
            let mut write = bench.checkpoint(name);
            write.checkpoint.intent = text();
            (holder, write.into())
        }
        Status::Working => (holder, bench.submit(name).into()),
        Status::ReadyForReview => match task.review_lease.as_ref().map(|lease| lease.agent.to_string()) {
            None => (by("reviewer-1"), bench.start_review(name).into()),
            Some(reviewer) if attempt.verb < 12 => (reviewer, bench.reject(name, &text()).into()),
            Some(reviewer) => (reviewer, bench.approve(name).into()),
        },
        Status::Approved => (by("reviewer-2"), bench.begin_merge(name).into()),
        Status::Blocked => {
            (by("planner-1"), Unblock { answer: text(), cycles: 2, ..bench.unblock(name) }.into())
        }
        _ if attempt.verb < 14 => (by("planner-1"), ArchiveTasks { tasks: vec![id(name)] }.into()),
        _ => (by(chosen), bench.note("nothing is left to do").into()),
    }
}

/// The board of a bench as it is on disk.
fn written(bench: &Bench) -> Decoded {
    let content = Decoded::unwritten(bench.board.clone()).content().expect("it can be written");
    let state = content.under(bench.board.revision, &bench.board.journal).expect("it can be written");
    Decoded::new(state.text().into_bytes()).expect("it can be read")
}

/// Applies one attempt the way a commit does, to a board with only the needed bodies loaded.
fn commit_one(disk: &mut Decoded, bench: &mut Bench, attempt: &Attempt) -> Option<Record> {
    bench.tick(attempt.seconds);
    let (by, what) = transition(bench, attempt);
    let key = attempt.request.map(|number| request(&format!("r{number}"), &attempt.text));
    let actor = bench.actor(&by);
    let mut loaded = disk.clone();
    let needs =
        if attempt.all_loaded { Needs::Everything } else { bodies_needed(&loaded.board, &what, &actor) };
    loaded.load(&needs).expect("bodies are there");
    let outcome = apply(&mut loaded.board, &what, &bench.call(actor.clone()), key.as_ref());
    let in_memory = bench.attempt(actor.clone(), what.clone(), key.as_ref());
    assert_eq!(
        format!("{outcome:?}"),
        format!("{in_memory:?}"),
        "a board with few bodies decides like one with all"
    );
    if !matches!(outcome, Ok(Applied::Changed(_))) {
        return None;
    }
    let content = loaded.content().expect("it can be written");
    let record = Record {
        revision: loaded.board.revision,
        prev: loaded.board.journal.hash.clone(),
        by: actor,
        at: bench.now.clone(),
        world: bench.world.clone(),
        request: key,
        what,
        board: content.hash.clone(),
    };
    let (line, hash) = record.line();
    let journal = JournalMark { length: loaded.board.journal.length + line.len() as u64, hash };
    bench.board.journal = journal.clone();
    let state = content.under(loaded.board.revision, &journal).expect("it can be written");
    let bytes = state.text().into_bytes();
    *disk = Decoded::new(bytes.clone()).expect("it can be read");
    // A process need not parse what it has written itself.
    loaded.board.journal = journal;
    let (board, origin) = state.reread(&loaded.board, bytes).expect("the same bytes").into_parts();
    let (read_board, read_origin) = disk.clone().into_parts();
    assert_eq!(format!("{origin:?}"), format!("{read_origin:?}"));
    let known = |board: &Board| -> Vec<_> {
        board
            .tasks
            .iter()
            .map(|task| (task.head().clone(), task.title().to_owned(), task.source().cloned()))
            .collect()
    };
    assert_eq!(known(&board), known(&read_board));
    assert_eq!(
        (board.rest, board.revision, board.journal),
        (read_board.rest, read_board.revision, read_board.journal)
    );
    Some(record)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sweep(16, 96)))]

    #[test]
    fn boards_survive_writing_and_replay(attempts in attempts()) {
        let mut bench = Bench::with_tasks(&TASKS);
        bench.board.journal = JournalMark { length: 0, hash: NO_RECORD.to_owned() };
        let mut disk = written(&bench);
        let mut images = vec![disk.clone()];
        let mut log = String::new();
        for attempt in &attempts {
            let Some(record) = commit_one(&mut disk, &mut bench, attempt) else { continue };
            // Read completely, it equals the board that was never written.
            let mut whole = disk.clone();
            whole.load(&Needs::Everything).expect("bodies are there");
            prop_assert_eq!(&whole.board, &bench.board);
            // Written completely, it has the same bytes as written in part.
            let whole = written(&bench);
            prop_assert_eq!(whole.text(), disk.text());
            log.push_str(&record.line().0);
            images.push(disk.clone());
        }
        let records = read_chain(&log, NO_RECORD.to_owned()).expect("the chain holds");
        prop_assert_eq!(records.len() + 1, images.len());
        for (done, image) in images.iter().enumerate().step_by(7) {
            let rebuilt = replay(image.clone(), &records[done..], None).map_err(TestCaseError::fail)?;
            prop_assert_eq!(rebuilt.text(), disk.text());
        }
        for wanted in images.iter().step_by(5) {
            let revision = wanted.board.revision;
            let rebuilt = replay(images[0].clone(), &records, Some(revision)).map_err(TestCaseError::fail)?;
            prop_assert_eq!(rebuilt.text(), wanted.text());
        }
    }
}

/// The test above is only useful if tasks reach their ends in it.
#[test]
fn random_sequences_reach_the_end_of_tasks() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen: Vec<Status> = Vec::new();
    let mut archived = 0;
    for _ in 0..sweep(30, 60) {
        let Ok(tree) = attempts().new_tree(&mut runner) else { continue };
        let mut bench = Bench::with_tasks(&TASKS);
        let mut disk = written(&bench);
        for attempt in proptest::strategy::ValueTree::current(&tree) {
            commit_one(&mut disk, &mut bench, &attempt);
            seen.extend(bench.board.tasks.iter().map(|task| task.status));
        }
        archived += bench.board.rest.archived;
    }
    for status in
        [Status::Working, Status::ReadyForReview, Status::Rejected, Status::Approved, Status::Merged]
    {
        assert!(seen.contains(&status), "no task was ever {status}");
    }
    assert!(archived > 0, "no task was ever archived");
}
