//! Whether the demo showed what it is there to show: judged by the board, the log and the repository, not by the script.

use serde::Serialize;
use serde_json::Value;

use crate::flow::Failure;
use crate::supervise::Kind;

use super::stage::{Stage, Tested};
use super::story::Story;

/// One of the things shown.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    pub name: &'static str,
    /// Whether it happened.
    pub shown: bool,
    pub what: &'static str,
    /// What was found.
    pub found: String,
    /// Where anybody can see it.
    #[serde(rename = "where")]
    pub place: String,
}

/// Where the gate that stopped `join` wrote what it said.
const GATE_LOG: &str = "gate-merge-tests.log";

/// A task with its history, as `liza task show` tells it.
struct Task(Value);

impl Task {
    fn of(stage: &Stage, id: &str) -> Result<Self, Failure> {
        Ok(Self(stage.liza_json(&["task", "show", id])?))
    }

    fn id(&self) -> &str {
        self.0["id"].as_str().unwrap_or_default()
    }

    fn events(&self, name: &str) -> impl Iterator<Item = &Value> {
        let all = self.0["history"].as_array().into_iter().flatten();
        all.filter(move |line| line["event"] == *name)
    }

    fn is_merged(&self) -> bool {
        self.0["status"] == "MERGED"
    }

    /// What was handed in at first.
    fn first_commit(&self) -> &str {
        self.events("submitted").next().and_then(|line| line["commit"].as_str()).unwrap_or_default()
    }

    fn merge(&self) -> String {
        self.0["merge"]["commit"].as_str().unwrap_or_default().chars().take(7).collect()
    }

    fn agents_of<'a>(&'a self, event: &'a str) -> Vec<&'a str> {
        self.events(event).filter_map(|line| line["agent"].as_str()).collect()
    }
}

pub fn judge(stage: &Stage, story: &Story) -> Result<Vec<Check>, Failure> {
    let status = stage.liza_json(&["status"])?;
    let commits = stage.git(&["rev-list", "--first-parent", "integration"])?;
    let commits: Vec<&str> = commits.lines().collect();
    // The tests of every commit take as long as all else; they are run meanwhile.
    std::thread::scope(|scope| {
        let history = scope.spawn(|| stage.tests_of("history", &commits));
        let mut checks = seen(stage, story, &status)?;
        let history =
            history.join().map_err(|_| Failure::new("bug.demo", "the tests could not be run"))??;
        checks.push(gate(stage, story, &history)?);
        checks.push(goal(stage, story, &status, history.first())?);
        Ok(checks)
    })
}

/// What the board and the log tell.
fn seen(stage: &Stage, story: &Story, status: &Value) -> Result<Vec<Check>, Failure> {
    Ok(vec![
        decomposition(stage, story, status)?,
        parallel(story),
        ownership(story),
        rejection(stage)?,
        own_approval(stage, status)?,
        takeover(stage, story)?,
        conflict(stage)?,
        pause(stage, story)?,
    ])
}

fn decomposition(stage: &Stage, story: &Story, status: &Value) -> Result<Check, Failure> {
    let tasks = status["tasks"].as_array().map_or(0, Vec::len);
    let readme = Task::of(stage, "readme")?;
    let needed: Vec<&str> =
        readme.0["depends_on"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let by_planner = readme.0["created_by"] == "planner-1";
    let in_order = story.in_order("words", "count")
        && story.in_order("words", "top")
        && !needed.is_empty()
        && needed.iter().all(|task| story.in_order(task, "readme"));
    Ok(Check {
        name: "decomposition",
        shown: by_planner && in_order && tasks == stage.cast.tasks as usize,
        what: "the goal cut into tasks with dependencies",
        found: format!("{tasks} tasks by planner-1; readme began after all {} it depends on", needed.len()),
        place: "liza graph".to_owned(),
    })
}

fn parallel(story: &Story) -> Check {
    let at_once = story.coders_at_once();
    Check {
        name: "parallel",
        shown: at_once.len() >= 2,
        what: "work in parallel",
        found: format!("at work at the same moment: {}", at_once.join(", ")),
        place: "the report, \"What happened\"".to_owned(),
    }
}

fn ownership(story: &Story) -> Check {
    let waited = story.waited_for.as_deref() == Some("usage");
    Check {
        name: "ownership",
        shown: waited && story.in_order("usage", "version"),
        what: "an ownership wait",
        found: "version waited while usage had `wordtool`, and began when that was merged".to_owned(),
        place: "liza task show version".to_owned(),
    }
}

fn rejection(stage: &Stage) -> Result<Check, Failure> {
    let count = Task::of(stage, "count")?;
    let issue = &count.0["issues"][0];
    let text = issue["issue"].as_str().unwrap_or_default().to_owned();
    let resolved = issue["status"] == "resolved" && issue["file"] == "commands/count.sh";
    let fixed = count.events("claimed").any(|line| line["from"] == "REJECTED");
    Ok(Check {
        name: "rejection",
        shown: count.events("rejected").next().is_some() && resolved && fixed && count.is_merged(),
        what: "a rejection and its fix",
        found: format!("{}; mended and merged as {}", text, count.merge()),
        place: "liza task show count".to_owned(),
    })
}

fn own_approval(stage: &Stage, status: &Value) -> Result<Check, Failure> {
    let words = Task::of(stage, "words")?;
    let coder = words.agents_of("submitted").first().copied().unwrap_or_default().to_owned();
    let log = stage.liza_json(&["log", "--number", "100000"])?;
    // Once under its own name, once under none; where the kernel does not tell who is whose child, only the first is tried.
    let tries = if cfg!(target_os = "linux") { 2 } else { 1 };
    let refused: Vec<u64> = log["records"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|record| record["event"] == "record_violation" && record["by"] == *coder)
        .filter_map(|record| record["revision"].as_u64())
        .collect();
    let approved_by = words.0["approval"]["reviewer"].as_str().unwrap_or_default().to_owned();
    Ok(Check {
        name: "self_approval",
        shown: refused.len() == tries
            && status["tier0_violations"].as_u64() == u64::try_from(tries).ok()
            && approved_by.starts_with("code-reviewer-"),
        what: "self-approval refused",
        found: format!("{coder} was refused {} times; {approved_by} approved words", refused.len()),
        place: format!(
            "liza log: record_violation at {}",
            refused.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
        ),
    })
}

fn takeover(stage: &Stage, story: &Story) -> Result<Check, Failure> {
    let top = Task::of(stage, "top")?;
    let claimed = top.agents_of("claimed");
    let killed = story.killed.clone().unwrap_or_default();
    let finished = top.agents_of("submitted").first().copied().unwrap_or_default().to_owned();
    let released = top
        .events("released")
        .any(|line| line["detail"].as_str().is_some_and(|detail| detail.contains("signal 9")));
    // The commit of the one who was killed is part of what was merged.
    let kept =
        stage.git(&["log", "--format=%an %s", "integration"])?.contains(&format!("{killed} Test of top"));
    Ok(Check {
        name: "takeover",
        shown: claimed.first() == Some(&killed.as_str())
            && !finished.is_empty()
            && finished != killed
            && released
            && kept
            && top.is_merged(),
        what: "a killed coder's task taken over",
        found: format!("{finished} finished what {killed} had begun; merged as {}", top.merge()),
        place: "liza task show top".to_owned(),
    })
}

fn conflict(stage: &Stage) -> Result<Check, Failure> {
    let both = [Task::of(stage, "upper")?, Task::of(stage, "reverse")?];
    let failed = both.iter().find(|task| task.events("integration_failed").next().is_some());
    let fixed = failed.is_some_and(|task| {
        task.is_merged() && task.events("claimed").any(|line| line["from"] == "INTEGRATION_FAILED")
    });
    let text = stage.git(&["show", "integration:lib/text.sh"])?;
    let found = failed.map_or("there was no conflict".to_owned(), |task| {
        let detail = task.events("integration_failed").next().and_then(|line| line["detail"].as_str());
        format!("{}: {}; settled and merged as {}", task.id(), detail.unwrap_or_default(), task.merge())
    });
    Ok(Check {
        name: "conflict",
        shown: fixed && text.contains("upper() {") && text.contains("backwards() {"),
        what: "a conflict settled by an integration fix",
        found,
        place: failed.map_or(String::new(), |task| format!("liza task show {}", task.id())),
    })
}

fn pause(stage: &Stage, story: &Story) -> Result<Check, Failure> {
    let usage = Task::of(stage, "usage")?;
    let (shown, found) = match &story.pause {
        None => (false, "the run was never paused".to_owned()),
        Some(pause) if pause.begun_meanwhile.is_empty() => (
            pause.resumed && usage.is_merged(),
            format!("nothing began from revision {} to {}; then it went on", pause.from, pause.until),
        ),
        Some(pause) => (false, format!("while paused: {}", pause.begun_meanwhile.join(", "))),
    };
    Ok(Check {
        name: "pause",
        shown,
        what: "PAUSE and resume",
        found,
        place: "liza log: extend_leases".to_owned(),
    })
}

fn gate(stage: &Stage, story: &Story, history: &[Tested]) -> Result<Check, Failure> {
    let (first, second) = (Task::of(stage, "separator")?, Task::of(stage, "join")?);
    let stopped = second.events("integration_failed").next();
    let reason = stopped.and_then(|line| line["detail"].as_str()).unwrap_or_default();
    let mended = second.events("claimed").any(|line| line["from"] == "INTEGRATION_FAILED");
    // Made once more without liza: what each of them handed in, and both together.
    let alone = [first.first_commit(), second.first_commit()];
    let together = stage.git(&["merge-tree", "--write-tree", alone[0], alone[1]])?;
    let tested = stage.tests_of("together", &[alone[0], alone[1], together.trim()])?;
    let red_together = matches!(tested.as_slice(), [one, other, both]
        if one.green && other.green && !both.green && both.said.contains("FAILED  tests/test_join.sh"));
    let prompted = stage.prompts("join").iter().any(|prompt| {
        ["Gate `tests`", GATE_LOG, "tests/test_join.sh"].iter().all(|text| prompt.contains(text))
    });
    let green = history.iter().filter(|commit| commit.green).count();
    Ok(Check {
        name: "gate",
        shown: reason.starts_with("Gate `tests` is red on the merged tree")
            && story.first(Kind::Merged, "separator") < story.first(Kind::MergeFailed, "join")
            && red_together
            && prompted
            && mended
            && second.is_merged()
            && green == history.len(),
        what: "green alone, red together: stopped",
        found: format!(
            "join: {reason}; mended and merged as {}; {green} of {} commits on integration are green",
            second.merge(),
            history.len()
        ),
        place: "liza task show join; liza gate show join".to_owned(),
    })
}

fn goal(stage: &Stage, story: &Story, status: &Value, head: Option<&Tested>) -> Result<Check, Failure> {
    let (green, said) = head.map_or((false, ""), |head| (head.green, head.said.as_str()));
    let complete = story.answer["data"]["outcome"] == "complete"
        && status["goal_status"].as_str().is_some_and(|text| text.eq_ignore_ascii_case("complete"));
    let verified = stage.liza_json(&["verify"]).is_ok();
    let tests = said.lines().filter(|line| line.starts_with("ok ")).count();
    let word = |yes: bool, no: &'static str| if yes { "" } else { no };
    Ok(Check {
        name: "goal",
        shown: green && complete && verified && tests + 1 >= stage.cast.tasks as usize,
        what: "the goal complete, tests green",
        found: format!(
            "{tests} tests on integration{}{}{}",
            word(green, ", and some fail"),
            word(complete, ", goal not complete"),
            word(verified, ", `liza verify` finds something")
        ),
        place: "liza verify; sh tests/run.sh on integration".to_owned(),
    })
}
