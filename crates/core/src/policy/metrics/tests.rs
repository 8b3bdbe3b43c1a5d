//! Histories whose figures were computed by hand.

use proptest::prelude::*;

use super::*;
use crate::board::rules::{CloseSprint, RecordUsage, Reject, StartSprint};
use crate::board::testing::*;
use crate::board::{history::Event, history::HistoryEntry, spent::SessionKind, state::Sprint};

fn of_board(bench: &Bench) -> Metrics {
    let all: Vec<&Task> = bench.board.tasks.iter().collect();
    metrics(&Asked {
        board: &bench.board,
        tasks: all.clone(),
        all: &all,
        planning: bench.board.rest.spent_planning,
        everything: bench.board.rest.spent,
        before: &BTreeMap::new(),
        from: None,
        until: None,
        only_tasks: false,
    })
}

fn spread(spread: Spread) -> (u64, u64, u64, u64, u64) {
    (spread.count, spread.total, spread.median, spread.p90, spread.max)
}

fn used(task: Option<&str>, kind: SessionKind, round: u32, tokens: u64, usd: f64) -> RecordUsage {
    RecordUsage {
        task: task.map(id),
        kind,
        round: task.map(|_| round),
        spent: Spent { sessions: 1, input_tokens: tokens, cost_usd: usd, seconds: 2, ..Spent::default() },
    }
}

/// Claimed after `wait`, submitted after `work`.
fn work(bench: &mut Bench, coder: &str, name: &str, wait: u64, work: u64) {
    bench.tick(wait);
    bench.claim(coder, name);
    bench.tick(work);
    let checkpoint = bench.checkpoint(name);
    bench.ok(coder, checkpoint);
    let submit = bench.submit(name);
    bench.ok(coder, submit);
}

/// Review claimed after `wait`, verdict after `review`.
fn judge_after(bench: &mut Bench, reviewer: &str, name: &str, wait: u64, review: u64, reason: Option<&str>) {
    bench.tick(wait);
    let start = bench.start_review(name);
    bench.ok(reviewer, start);
    bench.tick(review);
    match reason {
        Some(reason) => {
            let reject: Reject = bench.reject(name, reason);
            bench.ok(reviewer, reject);
        }
        None => {
            let approve = bench.approve(name);
            bench.ok(reviewer, approve);
        }
    }
}

#[test]
fn metrics_match_a_hand_computed_history() {
    let mut bench = Bench::with_tasks(&["a", "b", "c", "d"]);
    // a: waits 10, work 20, waits 5, reviewed in 7, sent back; waits 3, work 30, waits 1, reviewed in 9, approved; 4 later merged.
    work(&mut bench, "coder-1", "a", 10, 20);
    judge_after(&mut bench, "reviewer-1", "a", 5, 7, Some(REASONS[0]));
    work(&mut bench, "coder-1", "a", 3, 30);
    judge_after(&mut bench, "reviewer-1", "a", 1, 9, None);
    bench.tick(4);
    bench.merge("a");
    // b: after 89 seconds claimed, let go after 6, blocked by a person.
    bench.claim("coder-1", "b");
    bench.tick(6);
    let release = bench.release("b");
    bench.ok("coder-1", release);
    let block = bench.block("b");
    bench.ok("human", block);
    // c: given up.
    let abandon = bench.abandon("c");
    bench.ok("human", abandon);
    for record in [
        (Some("a"), SessionKind::Work, 1, 100, 1.0),
        (Some("a"), SessionKind::Review, 1, 10, 0.0),
        (Some("a"), SessionKind::Work, 2, 200, 0.5),
        (Some("a"), SessionKind::Review, 2, 20, 0.0),
        (Some("b"), SessionKind::Work, 1, 7, 0.0),
        (Some("c"), SessionKind::Work, 1, 5, 0.25),
        (None, SessionKind::Plan, 0, 1000, 0.0),
    ] {
        let (task, kind, round, tokens, usd) = record;
        bench.ok("coder-1", used(task, kind, round, tokens, usd));
    }
    let found = of_board(&bench);
    let tasks = &found.tasks;
    let counted = (tasks.total, tasks.done, tasks.in_progress, tasks.blocked, tasks.waiting, tasks.abandoned);
    assert_eq!(counted, (4, 1, 0, 1, 1, 1));
    assert_eq!(spread(found.iterations), (2, 3, 1, 2, 2));
    assert_eq!(spread(found.review_cycles), (1, 1, 1, 1, 1));
    let times = &found.seconds;
    assert_eq!(spread(times.lead), (1, 89, 89, 89, 89));
    assert_eq!(spread(times.claim_queue), (3, 10 + 3 + 89, 10, 89, 89));
    assert_eq!(spread(times.work), (3, 20 + 30 + 6, 20, 30, 30));
    assert_eq!(spread(times.review_queue), (2, 6, 1, 5, 5));
    assert_eq!(spread(times.review), (2, 16, 7, 9, 9));
    assert_eq!(spread(times.merge_queue), (1, 4, 4, 4, 4));
    let verdicts = &found.verdicts;
    assert_eq!((verdicts.total, verdicts.approvals, verdicts.rejections), (2, 1, 1));
    assert_eq!((verdicts.approval_rate, verdicts.first_round_rate), (Some(0.5), Some(0.0)));
    assert_eq!(verdicts.reviewers["reviewer-1"].verdicts, 2);
    let outcomes: Vec<(&str, u64)> =
        found.spent.by_outcome().into_iter().map(|(name, amount)| (name, amount.tokens)).collect();
    assert_eq!(
        outcomes,
        [
            ("total", 1342),
            ("merged", 200),
            ("rejected_rounds", 100),
            ("abandoned", 5),
            ("unfinished", 7),
            ("reviewing", 30),
            ("planning", 1000),
        ]
    );
    assert!((found.spent.total.cost_usd - 1.75).abs() < 1e-9 && found.spent.total.sessions == 7);
    let figures: BTreeMap<String, f64> = found.figures().into_iter().collect();
    for (name, value) in [
        ("tasks_done", 1.0),
        ("iterations_total", 3.0),
        ("lead_seconds_median", 89.0),
        ("tokens_merged", 200.0),
    ] {
        assert_eq!(figures[name], value, "{name}");
    }
    assert_eq!(figures.len(), found.figures().len(), "every name is used once");
}

#[test]
fn dependency_wait_is_not_queue_time() {
    let mut bench = Bench::new();
    let mut late = new_task("b", "b/");
    late.depends_on = vec![id("a")];
    bench.ok("planner-1", plan_of(vec![new_task("a", "a/"), late]));
    work(&mut bench, "coder-1", "a", 10, 20);
    judge_after(&mut bench, "reviewer-1", "a", 0, 0, None);
    bench.merge("a");
    bench.tick(8);
    bench.claim("coder-2", "b");
    assert_eq!(spread(of_board(&bench).seconds.claim_queue), (2, 18, 8, 10, 10));
}

fn line(at: i64, event: Event, step: Option<(Status, Status)>) -> HistoryEntry {
    let line = HistoryEntry::new(Wall(at), event, agent("coder-1"));
    match step {
        Some((from, to)) => line.step(from, to),
        None => line,
    }
}

fn journey_of(bench: &mut Bench, status: Status, history: Vec<HistoryEntry>) -> Journey {
    let task = bench.board.tasks.iter_mut().find(|task| task.id == id("a")).expect("a");
    let (head, body) = task.parts_mut();
    head.status = status;
    body.created_at = Wall(100);
    body.history = history;
    journey(task, None)
}

#[test]
fn clock_set_back_gives_zero_spans() {
    let mut bench = Bench::with_tasks(&["a"]);
    let found = journey_of(
        &mut bench,
        Status::Merged,
        vec![
            line(100, Event::Finalized, Some((Status::Draft, Status::Idle))),
            line(90, Event::Claimed, Some((Status::Idle, Status::Working))),
            line(95, Event::Submitted, Some((Status::Working, Status::ReadyForReview))),
            line(60, Event::ReviewStarted, None),
            line(50, Event::Approved, Some((Status::ReadyForReview, Status::Approved))),
            line(40, Event::Merged, Some((Status::Approved, Status::Merged))),
        ],
    );
    assert_eq!((found.lead, found.claim_waits, found.work), (Some(0), vec![0], vec![5]));
    assert_eq!((found.review_waits, found.reviews, found.merge_waits), (vec![0], vec![0], vec![0]));
}

#[test]
fn spans_without_start_or_end_are_not_measured() {
    let mut bench = Bench::with_tasks(&["a"]);
    // The claim is missing: the working time is unknown.
    let found = journey_of(
        &mut bench,
        Status::ReadyForReview,
        vec![
            line(100, Event::Finalized, Some((Status::Draft, Status::Idle))),
            line(200, Event::Submitted, Some((Status::Working, Status::ReadyForReview))),
            line(210, Event::ReviewStarted, None),
            line(215, Event::ReviewReleased, None),
        ],
    );
    assert_eq!((found.work, found.claim_waits), (Vec::new(), Vec::new()));
    assert_eq!((found.review_waits, found.reviews), (vec![10], vec![5]));
    // Unblocked from WORKING, and taken over from an expired holder.
    let found = journey_of(
        &mut bench,
        Status::Working,
        vec![
            line(100, Event::Finalized, Some((Status::Draft, Status::Idle))),
            line(110, Event::Claimed, Some((Status::Idle, Status::Working))),
            line(500, Event::Restored, Some((Status::Working, Status::Idle))),
            line(530, Event::Claimed, Some((Status::Idle, Status::Working))),
            line(900, Event::TakenOver, Some((Status::Working, Status::Working))),
            line(907, Event::HandedOff, Some((Status::Working, Status::Idle))),
        ],
    );
    assert_eq!((found.work, found.claim_waits, found.claims), (vec![7], vec![10, 30], 3));
    // A migrated task: how often is known, how long is not.
    let task = bench.board.tasks.iter_mut().find(|task| task.id == id("a")).expect("a");
    task.parts_mut().0.iteration = 4;
    let found = journey_of(&mut bench, Status::Merged, vec![line(700, Event::Migrated, None)]);
    assert_eq!((found.claims, found.lead, found.ended), (4, None, None));
}

#[test]
fn red_team_turn_is_review_time_not_verdict() {
    let mut bench = Bench::with_tasks(&["a"]);
    bench.awaiting_red_team("coder-1", "a");
    bench.tick(2);
    let start = bench.start_review("a");
    bench.ok("red-1", start);
    bench.tick(11);
    let clear = bench.clear("a");
    bench.ok("red-1", clear);
    let found = of_board(&bench);
    assert_eq!(found.seconds.review.max, 11);
    assert_eq!((found.verdicts.judged_tasks, found.verdicts.approved_at_once), (1, 1));
    assert_eq!(found.verdicts.total, 2);
}

#[test]
fn sprint_covers_named_or_active_tasks() {
    let mut bench = Bench::with_tasks(&["a", "b", "c"]);
    work(&mut bench, "coder-1", "a", 1, 1);
    judge_after(&mut bench, "reviewer-1", "a", 1, 1, None);
    bench.merge("a");
    bench.tick(10);
    let mut sprint = Sprint::begin("sprint-2", bench.now.wall);
    bench.add(&["d"]);
    let names = |sprint: &Sprint, bench: &Bench| {
        let all: Vec<&Task> = bench.board.tasks.iter().collect();
        in_sprint(sprint, &all).iter().map(|task| task.id.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&sprint, &bench), "b c d", "a was finished before");
    sprint.timeline.ended = Some(Wall(bench.now.wall.0 - 1));
    assert_eq!(names(&sprint, &bench), "b c", "d came later");
    sprint.scope = vec![id("a"), id("b")];
    assert_eq!(names(&sprint, &bench), "a b");
    let replace = bench.replace("b", "d");
    bench.ok("planner-1", replace);
    assert_eq!(names(&sprint, &bench), "a b d", "what took its place belongs to it");
}

/// Work before a sprint does not count for it, and the sums over all sprints are those of the board.
#[test]
fn sprint_metrics_add_up_to_the_boards() {
    let mut bench = Bench::with_tasks(&["a", "b"]);
    let sprint_now = |bench: &Bench| {
        let sprint = &bench.board.rest.sprint;
        let all: Vec<&Task> = bench.board.tasks.iter().collect();
        metrics(&Asked {
            board: &bench.board,
            tasks: in_sprint(sprint, &all),
            all: &all,
            planning: bench.board.rest.spent_planning.since(&sprint.planning_before),
            everything: bench.board.rest.spent.since(&sprint.spent_before),
            before: &sprint.before,
            from: Some(sprint.timeline.started),
            until: None,
            only_tasks: false,
        })
    };
    work(&mut bench, "coder-1", "a", 10, 20);
    judge_after(&mut bench, "reviewer-1", "a", 5, 7, Some(REASONS[0]));
    work(&mut bench, "coder-2", "b", 0, 8);
    judge_after(&mut bench, "reviewer-1", "b", 0, 3, None);
    bench.merge("b");
    bench.claim("coder-1", "a");
    bench.tick(4);
    bench.ok("coder-1", used(Some("a"), SessionKind::Work, 1, 500, 1.0));
    bench.ok("coder-1", used(Some("b"), SessionKind::Work, 1, 90, 0.0));
    bench.ok("coder-1", used(None, SessionKind::Plan, 0, 10, 0.0));
    let first = sprint_now(&bench);
    let closing = first.figures().into_iter().collect();
    let id_1 = bench.board.rest.sprint.id.clone();
    bench.ok("human", CloseSprint { id: id_1, metrics: closing, retrospective: None, note: None });
    bench.ok("human", StartSprint { id: "second".to_owned(), goal: None, scope: vec![], deadline: None });
    assert!(bench.board.rest.former_sprints.iter().all(|sprint| sprint.before.is_empty()));
    let nothing = sprint_now(&bench);
    assert_eq!((nothing.verdicts.total, nothing.spent.total.tokens, nothing.iterations.count), (0, 0, 0));
    assert_eq!((nothing.seconds.work.count, nothing.seconds.lead.count, nothing.drift.count), (0, 0, 0));
    // The work in progress continues for 6 of its 10 seconds.
    bench.tick(6);
    let checkpoint = bench.checkpoint("a");
    bench.ok("coder-1", checkpoint);
    let submit = bench.submit("a");
    bench.ok("coder-1", submit);
    judge_after(&mut bench, "reviewer-1", "a", 1, 9, None);
    bench.merge("a");
    bench.ok("coder-1", used(Some("a"), SessionKind::Work, 2, 70, 0.25));
    bench.ok("coder-1", used(Some("a"), SessionKind::Review, 2, 5, 0.0));
    let second = sprint_now(&bench);
    let board = of_board(&bench);
    assert_eq!((first.verdicts.total, second.verdicts.total, board.verdicts.total), (2, 1, 3));
    assert_eq!((first.verdicts.rejections, second.verdicts.rejections), (1, 0));
    assert_eq!(
        (second.verdicts.judged_tasks, second.review_cycles.total),
        (0, 0),
        "its first verdict was before"
    );
    assert_eq!(spread(second.seconds.work), (1, 6, 6, 6, 6));
    assert_eq!((second.seconds.claim_queue.count, second.seconds.review.total), (0, 9));
    assert_eq!(
        (first.spent.total.tokens, second.spent.total.tokens, board.spent.total.tokens),
        (600, 75, 675)
    );
    assert_eq!((second.spent.merged.tokens, second.spent.reviewing.tokens), (70, 5));
    assert_eq!(second.spent.rejected_rounds.tokens, 0, "the round that was sent back was the first sprint's");
    assert_eq!(first.iterations.total + second.iterations.total, board.iterations.total);
    assert_eq!(first.seconds.lead.total + second.seconds.lead.total, board.seconds.lead.total);
}

#[test]
fn the_goal_is_rolled_up_from_its_tasks() {
    let mut bench = Bench::with_tasks(&["a", "b", "c"]);
    for name in ["a", "b"] {
        work(&mut bench, "coder-1", name, 1, 1);
        judge_after(&mut bench, "reviewer-1", name, 1, 1, None);
        bench.merge(name);
    }
    let block = bench.block("c");
    bench.ok("human", block);
    let all: Vec<&Task> = bench.board.tasks.iter().collect();
    let found = goal_roll_up(&bench.board, &all);
    assert_eq!((found.tasks.done, found.tasks.blocked, found.success), (2, 1, false));
    assert_eq!((found.iterations, found.review_cycles, found.review.approved), (2, 0, true));
    assert_eq!(found.tests.files, [file_of("a"), file_of("b")]);
    assert_eq!(found.errors, ["c: the spec is silent"]);
    let abandon = bench.abandon("c");
    bench.ok("human", abandon);
    let all: Vec<&Task> = bench.board.tasks.iter().collect();
    assert!(!goal_roll_up(&bench.board, &all).success, "something was given up");
}

fn any_event() -> impl Strategy<Value = (i64, usize, Option<(usize, usize)>)> {
    (-1000i64..1000, 0usize..EVENTS.len(), proptest::option::of((0usize..11, 0usize..11)))
}

const EVENTS: [Event; 14] = [
    Event::Created,
    Event::Finalized,
    Event::Claimed,
    Event::TakenOver,
    Event::Submitted,
    Event::ReviewStarted,
    Event::ReviewReleased,
    Event::Approved,
    Event::Rejected,
    Event::Merged,
    Event::Blocked,
    Event::Restored,
    Event::Migrated,
    Event::HandedOff,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_history_gives_an_invalid_number(
        lines in proptest::collection::vec(any_event(), 0..30),
        status in 0usize..11,
        cost in -10.0f64..10.0,
    ) {
        let mut bench = Bench::with_tasks(&["a", "b"]);
        let history = lines
            .into_iter()
            .map(|(at, event, step)| {
                let step = step.map(|(from, to)| (Status::ALL[from % Status::ALL.len()], Status::ALL[to % Status::ALL.len()]));
                line(at, EVENTS[event], step)
            })
            .collect();
        journey_of(&mut bench, Status::ALL[status % Status::ALL.len()], history);
        let task = bench.board.tasks.iter_mut().find(|task| task.id == id("a")).expect("a");
        let (head, body) = task.parts_mut();
        head.depends_on = vec![id("a"), id("gone")];
        head.superseded_by = vec![id("a")];
        body.spent.cost_usd = cost;
        let found = of_board(&bench);
        prop_assert!(found.figures().iter().all(|(_, value)| value.is_finite()), "{found:?}");
        let all: Vec<&Task> = bench.board.tasks.iter().collect();
        goal_roll_up(&bench.board, &all);
        let mut sprint = Sprint::begin("s", Wall(0));
        in_sprint(&sprint, &all);
        sprint.scope = vec![id("a")];
        in_sprint(&sprint, &all);
    }
}
