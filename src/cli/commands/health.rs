use clap::Args;
use serde_json::json;

use crate::board::state::VERSION;
use crate::board::{Needs, violations};
use crate::flow::doctor::{Listed, examine, listing};
use crate::flow::{Failure, restore, verify as verify_flow};
use crate::store::Snapshot;
use crate::store::read::{LARGEST_STATE, invalid};
use crate::text::{list_words, plural, shown_line};
use crate::wire::state::{Decoded, StateError};

use super::super::ui::Answer;
use super::super::{Session, exit};

/// Check the board, or a file that should be one: schema and every invariant
///
/// Names each offending field. Exit 6 if anything is wrong.
///
/// Example: liza validate
#[derive(Args)]
pub struct ValidateArgs {
    /// A file to check instead of the board
    pub file: Option<String>,
}

/// Check that board, log and repository tell the same story
///
/// The hash chain of the log, the log replayed against the board, merged work in integration. Exit 6 at the first
/// broken link.
///
/// Example: liza verify
#[derive(Args)]
pub struct VerifyArgs {}

/// Say what is wrong, why it matters and what --fix would do
///
/// Exit 1 if anything is left. Nothing that is the only copy of work is removed. --dry-run changes nothing.
///
/// Example: liza doctor --fix
#[derive(Args)]
pub struct DoctorArgs {
    /// Mend what can be mended; what is replaced is kept under .liza/edits
    #[arg(long)]
    pub fix: bool,
    /// Say what --fix would do, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print the board of this revision instead, made again from image and log
    #[arg(long, value_name = "REVISION", conflicts_with = "fix")]
    pub image: Option<u64>,
    /// Bring the plan of this revision back as a new change; what happened since in git and reviews stays
    #[arg(long, value_name = "REVISION", conflicts_with_all = ["fix", "image"])]
    pub restore: Option<u64>,
}

pub fn validate(session: &mut Session, args: &ValidateArgs) -> Result<Answer, Failure> {
    let (board, whose) = match &args.file {
        None => match session.ctx.read(&Needs::Everything)? {
            snapshot if snapshot.version == u64::from(VERSION) => (snapshot.board, "the board".to_owned()),
            other => return other_version(&other),
        },
        Some(file) => (read_file(session, file)?, file.clone()),
    };
    let found = violations(&board);
    if found.is_empty() {
        let text =
            format!("{whose} is valid: revision {}, {}", board.revision, plural(board.tasks.len(), "task"));
        return Ok(Answer::new(json!({ "valid": true, "violations": [] }), text).at(board.revision));
    }
    let list: Vec<_> = found
        .iter()
        .map(|violation| json!({ "invariant": violation.invariant, "place": violation.place, "message": violation.message }))
        .collect();
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    Err(Failure::new(
        "board.violations",
        format!("{whose} breaks {}:\n{}", plural(found.len(), "rule"), lines.join("\n")),
    )
    .hint("repair it with liza's commands; they refuse only what would make it worse")
    .detail("violations", list))
}

/// An old board is as valid as it can be if it can be read; of a newer one this program cannot judge.
fn other_version(snapshot: &Snapshot) -> Result<Answer, Failure> {
    let version = snapshot.version;
    if version > u64::from(VERSION) {
        return Err(invalid(&StateError::Newer(version)).into());
    }
    let tasks = snapshot.board.tasks.len();
    let text = format!(
        "the board of version {version} can be read: {}; what `liza doctor --fix` would make of it, `liza doctor` says",
        plural(tasks, "task")
    );
    Ok(Answer::new(json!({ "valid": true, "violations": [], "version": version, "read_only": true }), text))
}

fn read_file(session: &Session, file: &str) -> Result<crate::board::Board, Failure> {
    let (bytes, _) =
        crate::store::files::read_whole(std::path::Path::new(file), LARGEST_STATE).map_err(|error| {
            Failure::new("board.invalid", format!("{file} cannot be a board: {error}"))
                .hint("name a file that is one")
        })?;
    match Decoded::new(bytes.clone()) {
        Ok(mut decoded) => {
            decoded.load(&Needs::Everything).map_err(|why| invalid(&why))?;
            Ok(decoded.into_board())
        }
        // Without liza's own checksum it is read the strict way, so that the offending place can be named.
        Err(StateError::Edited | StateError::Truncated) => {
            crate::wire::flat::read_edited(&bytes, &session.ctx.now).map_err(|error| {
                Failure::new("board.invalid", format!("{file}: {error}")).hint("mend that place")
            })
        }
        Err(why) => Err(invalid(&why).into()),
    }
}

pub fn verify(session: &mut Session) -> Result<Answer, Failure> {
    let checks = verify_flow::verify(&session.ctx)?;
    let mut text = String::new();
    for check in &checks {
        text.push_str(&format!(
            "{} {}: {}\n",
            if check.ok { "ok  " } else { "FAIL" },
            check.name,
            check.detail
        ));
    }
    match checks.iter().find(|check| !check.ok) {
        None => Ok(Answer::new(json!({ "checks": checks }), text)),
        Some(broken) => Err(Failure::new("board.verify", format!("{}: {}", broken.name, broken.detail))
            .hint("`liza doctor` says what can be done; nothing was changed")
            .detail("checks", serde_json::to_value(&checks).unwrap_or_default())),
    }
}

pub fn doctor(session: &mut Session, args: &DoctorArgs) -> Result<Answer, Failure> {
    if let Some(revision) = args.image {
        let rebuilt = session.ctx.store.rebuild(Some(revision))?;
        return Ok(
            Answer::new(json!({ "revision": revision, "state": rebuilt.text }), rebuilt.text).at(revision)
        );
    }
    if let Some(revision) = args.restore {
        return bring_back(session, revision, args.dry_run);
    }
    let fix = args.fix && !args.dry_run;
    if fix && !session.ctx.is_human() {
        return Err(Failure::new("refused.human_only", "only a person may mend the board")
            .hint("`liza doctor` without --fix only looks"));
    }
    let findings = examine(&session.ctx, fix)?;
    let mut text = String::new();
    for finding in &findings {
        let mark = if finding.fixed { "fixed" } else { "found" };
        let remedy = if finding.fixable {
            format!("--fix: {}", finding.remedy)
        } else {
            format!("to do: {}", finding.remedy)
        };
        text.push_str(&format!("{mark}: {}\n  why it matters: {}\n  {remedy}\n", finding.what, finding.why));
    }
    if findings.is_empty() {
        text.push_str("nothing is wrong");
    }
    // A liza.yaml that cannot be read is among the findings already.
    let providers = listing(&session.ctx).unwrap_or_default();
    if let Some(note) = provider_note(&providers) {
        text = format!("{}\n{note}", text.trim_end());
    }
    let left = findings.iter().filter(|finding| !finding.fixed).count();
    let data = json!({ "findings": findings, "left": left, "providers": providers });
    let mut answer = Answer::new(data, text);
    if left > 0 {
        answer.exit = exit::REFUSED;
    }
    Ok(answer)
}

/// Which agent commands this machine has, for those who use any.
fn provider_note(providers: &[Listed]) -> Option<String> {
    providers.iter().find(|one| one.used)?;
    let here = providers.iter().filter(|one| one.installed.is_some());
    let words: Vec<String> = here
        .map(|one| format!("{}{}", shown_line(&one.name), if one.used { " (used)" } else { "" }))
        .collect();
    (!words.is_empty()).then(|| format!("note: agent commands installed here: {}", list_words(words)))
}

fn bring_back(session: &mut Session, revision: u64, dry_run: bool) -> Result<Answer, Failure> {
    let ctx = &session.ctx;
    let plan = restore::plan(ctx, revision)?;
    let mut text = String::new();
    let mut say = |line: String| text.push_str(&format!("{line}\n"));
    let verb = if dry_run { "would be" } else { "is" };
    for back in &plan.tasks {
        let words = if back.text { ", with its former text" } else { "" };
        say(format!("{}: {} -> {}{words}", back.id, back.from, back.to));
    }
    for (changed, name) in [(plan.goal, "the goal"), (plan.config, "the configuration")] {
        if changed {
            say(format!("{name} {verb} that of revision {revision}"));
        }
    }
    for (ids, why) in [
        (&plan.landed, "landed since, and stay MERGED"),
        (&plan.added, "were added since, and stay as they are"),
        (&plan.left, "have left the board since, and stay in the archive"),
    ] {
        if !ids.is_empty() {
            let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
            say(format!("{}: {why}", ids.join(", ")));
        }
    }
    if let Some(broken) = &plan.broken {
        say(format!("the present file {verb} kept under .liza/edits, and replaced: {broken}"));
    }
    let mut data = serde_json::to_value(&plan).unwrap_or_default();
    if plan.is_empty() {
        say(format!("nothing else differs from revision {revision}"));
    }
    if dry_run {
        return Ok(Answer::new(data, text).at(plan.on));
    }
    let before = plan.on;
    let now = restore::carry_out(ctx, plan)?;
    text.push_str(&if now == before {
        "so nothing was to be brought back".to_owned()
    } else {
        format!("brought back as revision {now}; nothing of what happened since is lost: `liza log`")
    });
    data["now"] = json!(now);
    Ok(Answer::new(data, text).at(now))
}
