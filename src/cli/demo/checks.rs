//! Checks that each event of the demo really happened, from the board, the journal and the repository; the scripts have no say.

use super::stage::{Stage, Tested};
use super::story::Story;
use crate::board::Transition;
use crate::board::history::{Event, HistoryEntry};
use crate::board::review::IssueStatus;
use crate::board::state::GoalStatus;
use crate::cli::prelude::*;
use crate::wire::log::Record;

/// One event that the demo must show.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    pub name: &'static str,
    /// Whether it happened.
    pub shown: bool,
    pub what: &'static str,
    /// The evidence for it, or against it.
    pub found: String,
    /// The command or page that shows it.
    #[serde(rename = "where")]
    pub shown_by: String,
}

/// The log of the gate that stopped the merge of `join`.
const GATE_LOG: &str = "gate-merge-tests.log";

/// A task of the demo, on the board after the run.
struct DemoTask<'b>(&'b Task);

impl<'b> DemoTask<'b> {
    fn of(board: &'b Board, id: &str) -> Result<Self, Failure> {
        let found = board.tasks.iter().find(|task| task.id.as_str() == id);
        let missing = || Failure::new(ErrorCode::BugDemo, format!("there is no task `{id}`"));
        found.map(Self).ok_or_else(missing)
    }

    fn events(&self, event: Event) -> impl Iterator<Item = &'b HistoryEntry> {
        self.0.body().history.iter().filter(move |line| line.event == event)
    }

    fn is_merged(&self) -> bool {
        self.0.status == Status::Merged
    }

    fn was_claimed_from(&self, status: Status) -> bool {
        self.events(Event::Claimed).any(|line| line.from == Some(status))
    }

    /// The detail of the first such event in the task's history.
    fn detail(&self, event: Event) -> &'b str {
        self.events(event).next().and_then(|line| line.detail.as_deref()).unwrap_or_default()
    }

    /// The commit that was submitted first.
    fn first_commit(&self) -> &'b str {
        let first = self.events(Event::Submitted).next().and_then(|line| line.commit.as_ref());
        first.map_or("", |commit| commit.as_str())
    }

    /// Whether the journal has the merge of this task before the first claim of `later`. The events that `liza run` prints
    /// do not prove the order: they come from several processes.
    fn merged_before(&self, log: &[Record], later: &str) -> bool {
        let merge = self.0.body().merge.as_ref().and_then(|merge| merge.commit.as_ref());
        let merged = log.iter().find(
            |record| matches!(&record.what, Transition::FinishMerge(done) if Some(&done.merge_commit) == merge),
        );
        let claimed = log.iter().find(
            |record| matches!(&record.what, Transition::BeginClaim(begun) if begun.task.as_str() == later),
        );
        merged.zip(claimed).is_some_and(|(merged, claimed)| merged.revision < claimed.revision)
    }

    fn merge(&self) -> &'b str {
        self.0.body().merge.as_ref().and_then(|merge| merge.commit.as_ref()).map_or("", CommitId::short)
    }

    /// The agent of the first such event.
    fn first_by(&self, event: Event) -> &'b str {
        self.events(event).next().map_or("", |line| line.agent.as_str())
    }
}

pub fn judge(stage: &Stage, story: &Story) -> Result<Vec<Check>, Failure> {
    let board = stage.board()?;
    let commits = stage.git(&["rev-list", "--first-parent", "integration"])?;
    let commits: Vec<&str> = commits.lines().collect();
    // The tests of all commits take as long as all other checks; both run at the same time.
    std::thread::scope(|scope| {
        let test = || stage.tests_of("history", &commits);
        let history = std::thread::Builder::new().spawn_scoped(scope, test);
        let mut checks = board_checks(stage, story, &board)?;
        let history = match history {
            Ok(running) => running
                .join()
                .map_err(|_| Failure::new(ErrorCode::BugDemo, "the tests could not be run"))??,
            Err(_) => test()?,
        };
        checks.push(gate(stage, &board, &history)?);
        checks.push(goal(stage, story, &board, history.first())?);
        Ok(checks)
    })
}

/// The checks that need only the board, the journal and the story.
fn board_checks(stage: &Stage, story: &Story, board: &Board) -> Result<Vec<Check>, Failure> {
    Ok(vec![
        decomposition(stage, board)?,
        parallel(story),
        ownership(stage, story, board)?,
        rejection(board)?,
        own_approval(stage, board)?,
        takeover(stage, story, board)?,
        conflict(stage, board)?,
        pause(story, board)?,
    ])
}

fn decomposition(stage: &Stage, board: &Board) -> Result<Check, Failure> {
    let tasks = board.tasks.len();
    let readme = DemoTask::of(board, "readme")?.0;
    let needed = &readme.depends_on;
    let by_planner = readme.body().created_by.as_str() == "planner-1";
    let log = stage.log(board)?;
    let in_order = |earlier: &str, later: &str| -> Result<bool, Failure> {
        Ok(DemoTask::of(board, earlier)?.merged_before(&log, later))
    };
    let mut all_in_order = in_order("words", "count")? && in_order("words", "top")? && !needed.is_empty();
    for task in needed {
        all_in_order = all_in_order && in_order(task.as_str(), "readme")?;
    }
    Ok(Check {
        name: "decomposition",
        shown: by_planner && all_in_order && tasks == stage.cast.tasks as usize,
        what: "the goal split into tasks with dependencies",
        found: format!("{tasks} tasks by planner-1; readme started after its {} dependencies", needed.len()),
        shown_by: "liza graph".to_owned(),
    })
}

fn parallel(story: &Story) -> Check {
    let at_once = story.coders_at_once();
    Check {
        name: "parallel",
        shown: at_once.len() >= 2,
        what: "work in parallel",
        found: format!("at work at the same moment: {}", at_once.join(", ")),
        shown_by: "the report, \"What happened\"".to_owned(),
    }
}

fn ownership(stage: &Stage, story: &Story, board: &Board) -> Result<Check, Failure> {
    let waited = story.waited_for.as_deref() == Some("usage");
    let in_order = DemoTask::of(board, "usage")?.merged_before(&stage.log(board)?, "version");
    Ok(Check {
        name: "ownership",
        shown: waited && in_order,
        what: "a wait for an owned file",
        found: "version waited while usage owned `wordtool`, and started after usage was merged".to_owned(),
        shown_by: "liza task show version".to_owned(),
    })
}

fn rejection(board: &Board) -> Result<Check, Failure> {
    let count = DemoTask::of(board, "count")?;
    let issue = count.0.body().issues.first();
    let text = issue.map_or("", |issue| &issue.issue);
    let resolved =
        issue.is_some_and(|issue| issue.status == IssueStatus::Resolved && issue.file == "commands/count.sh");
    let fixed = count.was_claimed_from(Status::Rejected);
    Ok(Check {
        name: "rejection",
        shown: count.events(Event::Rejected).next().is_some() && resolved && fixed && count.is_merged(),
        what: "a rejection and its fix",
        found: format!("{}; fixed and merged as {}", text, count.merge()),
        shown_by: "liza task show count".to_owned(),
    })
}

fn own_approval(stage: &Stage, board: &Board) -> Result<Check, Failure> {
    let words = DemoTask::of(board, "words")?;
    let coder = words.first_by(Event::Submitted);
    // The coder tries with its own identity and without any; the second try needs a kernel that shows the parents of a process.
    let tries = if cfg!(target_os = "linux") { 2 } else { 1 };
    let log = stage.log(board)?;
    let violations = log.iter().filter(|record| matches!(record.what, Transition::RecordViolation(_)));
    let its = violations.filter(|record| record.by.id().as_str() == coder);
    let refused: Vec<String> = its.map(|record| record.revision.to_string()).collect();
    let approved_by = words.0.body().approval.as_ref().map_or("", |approval| approval.reviewer.as_str());
    Ok(Check {
        name: "self_approval",
        shown: refused.len() == tries
            && u64::try_from(tries) == Ok(board.rest.circuit_breaker.tier0_violations)
            && approved_by.starts_with("code-reviewer-"),
        what: "self-approval refused",
        found: format!("{coder} was refused {} times; {approved_by} approved words", refused.len()),
        shown_by: format!("liza log: record_violation at {}", refused.join(", ")),
    })
}

fn takeover(stage: &Stage, story: &Story, board: &Board) -> Result<Check, Failure> {
    let top = DemoTask::of(board, "top")?;
    let killed = story.killed.as_deref().unwrap_or_default();
    let finished = top.first_by(Event::Submitted);
    let released = top
        .events(Event::Released)
        .any(|line| line.detail.as_ref().is_some_and(|detail| detail.contains("signal 9")));
    // The killed coder's commit is part of integration.
    let kept =
        stage.git(&["log", "--format=%an %s", "integration"])?.contains(&format!("{killed} Test of top"));
    Ok(Check {
        name: "takeover",
        shown: top.first_by(Event::Claimed) == killed
            && !finished.is_empty()
            && finished != killed
            && released
            && kept
            && top.is_merged(),
        what: "a killed coder's task taken over",
        found: format!("{finished} finished the work of {killed}; merged as {}", top.merge()),
        shown_by: "liza task show top".to_owned(),
    })
}

fn conflict(stage: &Stage, board: &Board) -> Result<Check, Failure> {
    let both = [DemoTask::of(board, "upper")?, DemoTask::of(board, "reverse")?];
    let failed = both.iter().find(|task| task.events(Event::IntegrationFailed).next().is_some());
    let fixed =
        failed.is_some_and(|task| task.is_merged() && task.was_claimed_from(Status::IntegrationFailed));
    let text = stage.git(&["show", "integration:lib/text.sh"])?;
    let found = failed.map_or("there was no conflict".to_owned(), |task| {
        let detail = task.detail(Event::IntegrationFailed);
        format!("{}: {detail}; resolved and merged as {}", task.0.id, task.merge())
    });
    Ok(Check {
        name: "conflict",
        shown: fixed && text.contains("upper() {") && text.contains("backwards() {"),
        what: "a conflict resolved by its coder",
        found,
        shown_by: failed.map_or(String::new(), |task| format!("liza task show {}", task.0.id)),
    })
}

fn pause(story: &Story, board: &Board) -> Result<Check, Failure> {
    let usage = DemoTask::of(board, "usage")?;
    let (shown, found) = match &story.pause {
        None => (false, "the run was never paused".to_owned()),
        Some(pause) if pause.begun_meanwhile.is_empty() => (
            pause.resumed && usage.is_merged(),
            format!(
                "no work started between revisions {} and {}; after `liza resume` the team went on",
                pause.from, pause.until
            ),
        ),
        Some(pause) => (false, format!("while paused: {}", pause.begun_meanwhile.join(", "))),
    };
    Ok(Check {
        name: "pause",
        shown,
        what: "PAUSE and resume",
        found,
        shown_by: "liza log: extend_leases".to_owned(),
    })
}

fn gate(stage: &Stage, board: &Board, history: &[Tested]) -> Result<Check, Failure> {
    let (first, second) = (DemoTask::of(board, "separator")?, DemoTask::of(board, "join")?);
    let reason = second.detail(Event::IntegrationFailed);
    let fixed = second.was_claimed_from(Status::IntegrationFailed);
    // Repeated without liza: the tests of each submitted commit alone, and of both merged.
    let alone = [first.first_commit(), second.first_commit()];
    let together = stage.git(&["merge-tree", "--write-tree", alone[0], alone[1]])?;
    let tested = stage.tests_of("together", &[alone[0], alone[1], together.trim()])?;
    let red_together = matches!(tested.as_slice(), [one, other, both]
        if one.green && other.green && !both.green && both.output.contains("FAILED  tests/test_join.sh"));
    let prompted = stage.prompts("join").iter().any(|prompt| {
        ["Gate `tests`", GATE_LOG, "tests/test_join.sh"].iter().all(|text| prompt.contains(text))
    });
    let green = history.iter().filter(|commit| commit.green).count();
    Ok(Check {
        name: "gate",
        shown: reason.starts_with("Gate `tests` is red on the merged tree")
            && red_together
            && prompted
            && fixed
            && second.is_merged()
            && green == history.len(),
        what: "a merge stopped by a gate",
        found: format!(
            "join: {reason}; fixed and merged as {}; {green} of {} commits on integration are green",
            second.merge(),
            history.len()
        ),
        shown_by: "liza task show join; liza gate show join".to_owned(),
    })
}

fn goal(stage: &Stage, story: &Story, board: &Board, head: Option<&Tested>) -> Result<Check, Failure> {
    let (green, output) = head.map_or((false, ""), |head| (head.green, head.output.as_str()));
    let complete = story.answer.data.as_ref().is_some_and(|end| end.outcome == "complete")
        && board.rest.goal.status == GoalStatus::Complete;
    let verified = stage.must_liza(&["verify"]).is_ok();
    let tests = output.lines().filter(|line| line.starts_with("ok ")).count();
    let word = |yes: bool, no: &'static str| if yes { "" } else { no };
    Ok(Check {
        name: "goal",
        shown: green && complete && verified && tests + 1 >= stage.cast.tasks as usize,
        what: "the goal complete, tests green",
        found: format!(
            "{tests} tests on integration{}{}{}",
            word(green, ", and some fail"),
            word(complete, ", goal not complete"),
            word(verified, ", `liza verify` fails")
        ),
        shown_by: "liza verify; sh tests/run.sh on integration".to_owned(),
    })
}
