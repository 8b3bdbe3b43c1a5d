use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::board::Needs;
use crate::flow::claim::integration_head;
use crate::flow::init::parse_task;
use crate::flow::{Failure, bundle};

use super::super::Session;
use super::super::ui::Answer;

/// Work as a file: make a patch bundle from a task, check, review or apply one
///
/// Example: liza bundle create t1
#[derive(Subcommand)]
pub enum BundleCommand {
    Create(CreateArgs),
    Check(CheckArgs),
    Review(ReviewArgs),
    Apply(ApplyArgs),
}

/// Make a .patchbundle.json file from what a task's branch changes
///
/// It stands in .liza/bundles under the next free number of the day, and also where --out says. Work that is not committed is
/// not in it.
///
/// Example: liza bundle create t1
#[derive(Args)]
pub struct CreateArgs {
    /// The task
    pub task: String,
    /// Where to write it as well; nothing may be there yet
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Say whether a bundle is sound and fits: format, limits, paths, owners, checksums
///
/// Changes nothing. Exit 1: the bundle itself is refused. Exit 11: it is sound and does not fit, or somebody owns what it
/// changes.
///
/// Example: liza bundle check t1.patchbundle.json --onto integration
#[derive(Args)]
pub struct CheckArgs {
    /// The bundle
    pub file: PathBuf,
    /// The commit it is to fit; the head of integration without it
    #[arg(long, value_name = "REV")]
    pub onto: Option<String>,
    /// The task it is meant for, whose own paths do not stand in its way
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
}

/// Judge somebody else's bundle: format, gates in a private tree, and every item of its checklist
///
/// The verdict, approve or reject, is kept in .liza/bundles. No task changes its state.
///
/// Example: liza bundle review t1.patchbundle.json --answer "1=yes"
#[derive(Args)]
pub struct ReviewArgs {
    /// The bundle
    pub file: PathBuf,
    /// The answer to one item of its checklist, counted from 1; repeat
    #[arg(long, value_name = "N=yes|no[: TEXT]")]
    pub answer: Vec<String>,
    /// The commit it is judged on; what it was made against without it
    #[arg(long, value_name = "REV")]
    pub onto: Option<String>,
}

/// Apply a bundle to the branch of a task, all of it or nothing
///
/// For whoever holds the task, after its checkpoint, in a clean worktree. The gates judge the outcome first: red ones leave
/// everything as it was. A conflict applies nothing and blocks the task.
///
/// Example: liza bundle apply t1.patchbundle.json --task t2
#[derive(Args)]
pub struct ApplyArgs {
    /// The bundle
    pub file: PathBuf,
    /// The task whose branch it is applied to
    #[arg(long, value_name = "TASK")]
    pub task: String,
}

pub fn run(session: &mut Session, command: &BundleCommand) -> Result<Answer, Failure> {
    match command {
        BundleCommand::Create(args) => create(session, args),
        BundleCommand::Check(args) => check(session, args),
        BundleCommand::Review(args) => review(session, args),
        BundleCommand::Apply(args) => apply(session, args),
    }
}

fn text(data: &Value, key: &str) -> String {
    data[key].as_str().unwrap_or_default().to_owned()
}

fn files(data: &Value) -> String {
    let names = data["files"].as_array().cloned().unwrap_or_default();
    names
        .iter()
        .filter_map(Value::as_str)
        .map(|name| format!("\n  {}", crate::text::shown_line(name)))
        .collect()
}

fn create(session: &mut Session, args: &CreateArgs) -> Result<Answer, Failure> {
    let id = parse_task(&args.task)?;
    session.seal_request()?;
    let (data, revision) = bundle::create(&session.ctx, &id, args.out.as_deref())?;
    let left_out = match data["uncommitted"].as_array().map_or(0, Vec::len) {
        0 => String::new(),
        count => format!("\n{count} files of the worktree are not committed, and so not in it"),
    };
    let told = format!("{}: {}{}{left_out}", text(&data, "bundle"), text(&data, "path"), files(&data));
    Ok(Answer::new(data, told).at(revision))
}

fn check(session: &mut Session, args: &CheckArgs) -> Result<Answer, Failure> {
    let loaded = bundle::load(&args.file)?;
    let named = args.task.as_deref().map(parse_task).transpose()?;
    let own = named.as_ref().or(loaded.bundle.task.as_ref());
    let snapshot = session.ctx.read(&Needs::Nothing)?;
    let onto = match &args.onto {
        Some(rev) => bundle::named(&session.ctx, rev)?,
        None => integration_head(&session.ctx, &snapshot.board)?,
    };
    let applied = bundle::examine(&session.ctx, &snapshot.board, &loaded.bundle, &onto, own)?;
    let data = bundle::report(&loaded.bundle, &onto, &applied);
    if !applied.problems.is_empty() {
        return Err(bundle::told(&loaded.path, &applied.problems).with_data(data, snapshot.board.revision));
    }
    let unknown = match applied.unverified.len() {
        0 => String::new(),
        count => format!("\nno checksum is given of {count} of them: only the lines it names were compared"),
    };
    let told = format!("{} fits {}{}{unknown}", text(&data, "bundle"), onto.short(), files(&data));
    Ok(Answer::new(data, told).at(snapshot.board.revision))
}

/// `2=no: the error is swallowed`
fn answer(given: &str) -> Result<(usize, bool, String), Failure> {
    let parsed = given.split_once('=').and_then(|(number, said)| {
        let (word, text) = said.split_once(':').unwrap_or((said, ""));
        let yes = match word.trim().to_lowercase().as_str() {
            "yes" => true,
            "no" => false,
            _ => return None,
        };
        Some((number.trim().parse().ok()?, yes, text.trim().to_owned()))
    });
    parsed.ok_or_else(|| {
        Failure::usage(format!(
            "--answer `{given}` is not N=yes or N=no, with `: TEXT` behind it if there is more to say"
        ))
        .hint("for example --answer \"1=yes\" --answer \"2=no: empty names crash\"")
    })
}

/// A request is about the file as it was, not about its name.
fn seal_bytes(session: &mut Session, bytes: &[u8]) {
    if let Some(request) = &mut session.ctx.request {
        let both = format!("{}{}", request.digest, crate::wire::bundle::checksum(bytes));
        request.digest = crate::wire::bundle::checksum(both.as_bytes());
    }
}

fn review(session: &mut Session, args: &ReviewArgs) -> Result<Answer, Failure> {
    let loaded = bundle::load(&args.file)?;
    let given = session.input.texts(&args.answer)?;
    let answers = given.iter().map(|given| answer(given)).collect::<Result<Vec<_>, _>>()?;
    session.seal_request()?;
    seal_bytes(session, &loaded.bytes);
    let (data, revision) = bundle::review(&session.ctx, &loaded, args.onto.as_deref(), &answers)?;
    let next = data["next"].as_str().map(|next| format!("\nnext: {next}")).unwrap_or_default();
    let told = format!("approve {} (kept in {}){next}", text(&data, "bundle"), text(&data, "path"));
    Ok(Answer::new(data, told).at(revision))
}

fn apply(session: &mut Session, args: &ApplyArgs) -> Result<Answer, Failure> {
    let loaded = bundle::load(&args.file)?;
    let task = parse_task(&args.task)?;
    session.seal_request()?;
    seal_bytes(session, &loaded.bytes);
    let (data, revision) = bundle::apply(&session.ctx, &loaded, &task)?;
    let how = if data["already_applied"] == true { "was applied already" } else { "is applied" };
    let told = format!(
        "{} {how} to {task} as {}{}\nnext: liza task submit {task}",
        text(&data, "bundle"),
        text(&data, "commit"),
        files(&data)
    );
    Ok(Answer::new(data, told).at(revision))
}
