use clap::Args;
use serde_json::Value;

use crate::board::history::{Assumption, Checkpoint, Plan};
use crate::board::rules::{AddTasks, NewTask};
use crate::board::task::{Kind, Risk, Scope};
use crate::board::{PathPattern, Role, TaskId};
use crate::flow::context::Context;
use crate::flow::init::{parse_role, parse_task};
use crate::flow::{Failure, submit};
use crate::wire::{Limits, read_foreign};

use super::super::Session;
use super::super::ui::Answer;
use super::task::commit;

/// Add a task as a draft, or claimable at once with --finalize (planner, people)
///
/// A whole task may come as YAML or JSON: liza task add --from FILE (or - for standard input).
///
/// Example: liza task add --id t1 --title "Greet by name" --spec specs/vision.md --done "prints Hello, Ada" --in src/ --in tests/ --finalize
#[derive(Args)]
pub struct AddArgs {
    /// Its id: letters, digits, `_` and `-`
    #[arg(long, required_unless_present = "from")]
    pub id: Option<String>,
    /// What it is, in a line
    #[arg(long, required_unless_present = "from")]
    pub title: Option<String>,
    /// More about it
    #[arg(long, default_value = "")]
    pub desc: String,
    /// The file that says what is wanted
    #[arg(long, value_name = "FILE[#ANCHOR]")]
    pub spec: Option<String>,
    /// When it is done; repeat for each criterion
    #[arg(long, value_name = "CRITERION")]
    pub done: Vec<String>,
    /// A path it may change; repeat
    #[arg(long = "in", value_name = "PATH")]
    pub inside: Vec<String>,
    /// A path it must not change; repeat
    #[arg(long = "out", value_name = "PATH")]
    pub outside: Vec<String>,
    /// Something its reviewer has to answer; repeat for each
    #[arg(long, value_name = "ITEM")]
    pub check: Vec<String>,
    /// A path nobody else may own meanwhile (default: all of --in); repeat
    #[arg(long, value_name = "PATH")]
    pub owns: Vec<String>,
    /// A task that must be merged first; repeat
    #[arg(long, value_name = "TASK")]
    pub depends: Vec<String>,
    /// Higher is more urgent
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub priority: i64,
    /// code (needs tests), docs, config or spec
    #[arg(long, default_value = "code")]
    pub kind: String,
    /// low, medium or high
    #[arg(long, default_value = "low")]
    pub risk: String,
    /// Who may claim it
    #[arg(long, default_value = "coder")]
    pub role: String,
    /// The task it was cut from
    #[arg(long, value_name = "TASK")]
    pub parent: Option<String>,
    /// A tag; repeat
    #[arg(long)]
    pub tag: Vec<String>,
    /// A file or artifact it needs; repeat
    #[arg(long, value_name = "NAME")]
    pub input: Vec<String>,
    /// A file or artifact it makes; repeat
    #[arg(long, value_name = "NAME")]
    pub output: Vec<String>,
    /// How many files it will probably change
    #[arg(long, value_name = "N")]
    pub expected_files: Option<u32>,
    /// How many lines it will probably change
    #[arg(long, value_name = "N")]
    pub expected_lines: Option<u32>,
    /// How many minutes it is given; at most 12 for a coder's work
    #[arg(long, value_name = "MINUTES")]
    pub timebox: Option<u32>,
    /// Make it claimable in the same step
    #[arg(long)]
    pub finalize: bool,
    /// Take the task from a YAML or JSON file, or - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "title"])]
    pub from: Option<String>,
}

/// Say what you will do, before you do it
///
/// Accepted only while the worktree is as it was at the claim. Critical assumptions beyond the budget block the task.
/// The whole checkpoint may come as YAML or JSON with --from.
///
/// Example: liza task checkpoint t1 --intent "greet accepts --name" --risks "none, stdlib only" --validate "sh tests/test_greet.sh" --expect "ok" --file greet.sh --file tests/test_greet.sh
#[derive(Args)]
pub struct CheckpointArgs {
    /// The task
    pub id: String,
    /// What will be observably different
    #[arg(long, default_value = "")]
    pub intent: String,
    /// Something taken for granted; repeat
    #[arg(long, value_name = "TEXT")]
    pub assume: Vec<String>,
    /// Something taken for granted that would change everything if wrong; repeat
    #[arg(long, value_name = "TEXT")]
    pub assume_critical: Vec<String>,
    /// What could go wrong
    #[arg(long, default_value = "")]
    pub risks: String,
    /// The command that will show it is right; liza runs it at submit
    #[arg(long, value_name = "CMD", default_value = "")]
    pub validate: String,
    /// What that command must print
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub expect: String,
    /// A file that will be changed; repeat
    #[arg(long, value_name = "PATH")]
    pub file: Vec<String>,
    /// Take the checkpoint from a YAML or JSON file, or - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["intent", "assume", "assume_critical", "risks", "validate", "expect", "file"])]
    pub from: Option<String>,
}

pub fn add(session: &mut Session, args: &AddArgs) -> Result<Answer, Failure> {
    let task = match &args.from {
        Some(file) => read_foreign::<NewTask>(&session.input.document(file)?, Limits::default())?,
        None => described(session, args)?,
    };
    let specs_found = specs_found(&session.ctx, std::slice::from_ref(&task))?;
    let id = task.id.clone();
    commit(session, AddTasks::one(task, args.finalize, specs_found), |data| {
        format!("added {id} ({})", data["status"].as_str().unwrap_or_default())
    })
}

fn described(session: &Session, args: &AddArgs) -> Result<NewTask, Failure> {
    let text = |given: &str| session.input.text(given);
    let ids = |given: &[String]| given.iter().map(|id| parse_task(id)).collect::<Result<Vec<TaskId>, _>>();
    Ok(NewTask {
        id: parse_task(args.id.as_deref().unwrap_or_default())?,
        title: text(args.title.as_deref().unwrap_or_default())?,
        description: text(&args.desc)?,
        spec_ref: args.spec.clone(),
        done_when: session.input.texts(&args.done)?,
        scope: Scope { inside: patterns("--in", &args.inside)?, outside: patterns("--out", &args.outside)? },
        checklist: session.input.texts(&args.check)?,
        owns: patterns("--owns", &args.owns)?,
        depends_on: ids(&args.depends)?,
        priority: args.priority,
        kind: word::<Kind>("--kind", &args.kind, "code, docs, config or spec")?,
        risk: word::<Risk>("--risk", &args.risk, "low, medium or high")?,
        role: role(&args.role)?,
        parent: args.parent.as_deref().map(parse_task).transpose()?,
        tags: session.input.texts(&args.tag)?,
        inputs: session.input.texts(&args.input)?,
        expected_outputs: session.input.texts(&args.output)?,
        max_coder_iterations: None,
        max_review_cycles: None,
        expected_files: args.expected_files,
        expected_lines: args.expected_lines,
        timebox_minutes: args.timebox,
    })
}

fn role(text: &str) -> Result<Role, Failure> {
    parse_role(text)
}

pub fn word<T: serde::de::DeserializeOwned>(flag: &str, text: &str, allowed: &str) -> Result<T, Failure> {
    serde_json::from_value(Value::String(text.to_owned()))
        .map_err(|_| Failure::usage(format!("{flag} cannot be `{text}`")).hint(format!("one of {allowed}")))
}

pub fn patterns(flag: &str, given: &[String]) -> Result<Vec<PathPattern>, Failure> {
    given
        .iter()
        .map(|text| {
            PathPattern::new(text).map_err(|why| {
                Failure::new("refused.value", format!("{flag} `{text}`: {why}"))
                    .hint("a file, a directory with a final slash, or a pattern with * ? **, relative to the repository's root")
            })
        })
        .collect()
}

/// Those of the tasks whose spec is there; one that could not be a spec at all is refused.
pub fn specs_found(ctx: &Context, tasks: &[NewTask]) -> Result<Vec<TaskId>, Failure> {
    let mut found = Vec::new();
    for task in tasks {
        if let Some(spec) = &task.spec_ref
            && ctx.spec_found(spec)?
        {
            found.push(task.id.clone());
        }
    }
    Ok(found)
}

pub fn checkpoint(session: &mut Session, args: &CheckpointArgs) -> Result<Answer, Failure> {
    let id = parse_task(&args.id)?;
    let checkpoint = match &args.from {
        Some(file) => read_foreign::<Checkpoint>(&session.input.document(file)?, Limits::default())?,
        None => {
            let plain = session
                .input
                .texts(&args.assume)?
                .into_iter()
                .map(|text| Assumption { text, critical: false });
            let critical = session
                .input
                .texts(&args.assume_critical)?
                .into_iter()
                .map(|text| Assumption { text, critical: true });
            Checkpoint {
                intent: session.input.text(&args.intent)?,
                assumptions: plain.chain(critical).collect(),
                risks: session.input.text(&args.risks)?,
                validation: Plan {
                    command: session.input.text(&args.validate)?,
                    expect: session.input.text(&args.expect)?,
                },
                files_to_modify: args.file.clone(),
            }
        }
    };
    session.seal_request()?;
    super::task::not_in_a_former_place(session, &id)?;
    let (data, revision) = submit::checkpoint(&session.ctx, &id, checkpoint)?;
    let text = if data["status"] == "BLOCKED" {
        format!(
            "{id} is BLOCKED: more critical assumptions than allowed; they are now questions for the planner"
        )
    } else {
        format!("checkpoint of {id} is on record; implement, commit, then `liza task submit {id}`")
    };
    Ok(Answer::new(data, text).at(revision))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_paths_are_refused_with_their_flag() {
        for path in [
            "/etc/passwd",
            "../x",
            "a/../../x",
            "..",
            ".git/config",
            ".GIT/hooks/",
            "sub/.git/x",
            ".liza/state.yaml",
            ".Liza/",
            ".worktrees/t1/x",
            "",
            "a\\b",
            "a\nb",
            "a\u{202e}b",
            "C:/x",
            "git~1/config",
            ".git./x",
            "a\u{7}",
        ] {
            for flag in ["--in", "--out", "--owns"] {
                let failure = patterns(flag, &[path.to_owned()]).expect_err(path);
                assert_eq!(failure.code, "refused.value", "{path:?}");
                assert!(failure.message.contains(flag), "{}", failure.message);
            }
        }
    }
}
