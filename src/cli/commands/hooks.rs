use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::board::{AgentId, TaskId};
use crate::flow::Failure;
use crate::flow::context::{Caller, Context, token_hash};
use crate::flow::hooks::judge::{Asked, judge};
use crate::flow::hooks::{DEFAULT_TIMEOUT, Hook, PROBE, PROBED, TIMEOUT, install, status};

use super::super::Session;
use super::super::ui::{Answer, Ui};

/// Git hooks: an early word about what submit and merge would refuse, and a guard of the integration branch
///
/// Example: liza hooks status
#[derive(Subcommand)]
pub enum HooksCommand {
    Install(InstallArgs),
    Uninstall(UninstallArgs),
    Status(StatusArgs),
    Run(RunArgs),
}

/// Put liza's block into pre-commit, commit-msg, pre-push and reference-transaction, before what is there
///
/// Where git really looks for hooks. Existing hooks stay and run after it. If core.hooksPath leads elsewhere, or husky,
/// lefthook or pre-commit own the hooks, nothing is installed and the lines to add are printed. Twice is once.
///
/// Example: liza hooks install
#[derive(Args)]
pub struct InstallArgs {
    /// Where somebody else owns the hooks: install those it leaves alone
    #[arg(long)]
    pub beside: bool,
}

/// Take liza's blocks away again; every other hook is as it was
///
/// Example: liza hooks uninstall
#[derive(Args)]
pub struct UninstallArgs {}

/// Say whether git runs the hooks: each is fired, and says its name
///
/// Example: liza hooks status
#[derive(Args)]
pub struct StatusArgs {}

/// What the hooks call: says yes (exit 0) or no (exit 1, 3 or 6)
///
/// Reads only. pre-commit: no liza files, and in a task's worktree checkpoint, lease and scope. commit-msg: no trailers
/// of liza's own. pre-push: no unmerged task branches. reference-transaction: the integration branch moves only as an
/// open intent says.
///
/// Example: liza hooks run pre-commit
#[derive(Args)]
pub struct RunArgs {
    /// pre-commit, commit-msg, pre-push or reference-transaction
    pub name: String,
    /// The hook's own file, by which the repository is found
    #[arg(long, value_name = "PATH")]
    pub hook: Option<PathBuf>,
    /// The integration branch, as the hook's file has it
    #[arg(long, value_name = "BRANCH", hide = true)]
    pub branch: Option<String>,
    /// What git gave the hook
    #[arg(last = true)]
    pub args: Vec<String>,
}

pub fn run(session: &mut Session, command: HooksCommand) -> Result<Answer, Failure> {
    match command {
        HooksCommand::Install(args) => {
            let (data, text) = install_now(&session.ctx, args.beside)?;
            Ok(Answer::new(data, text))
        }
        HooksCommand::Uninstall(_) => uninstall(session),
        HooksCommand::Status(_) => show(session),
        HooksCommand::Run(args) => run_hook(&args, session.ui),
    }
}

/// Also for `init --hooks`.
pub fn install_now(ctx: &Context, beside: bool) -> Result<(serde_json::Value, String), Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new("io.failed", format!("liza cannot tell where it is: {error}")))?;
    let installed = install::install(ctx, &program, beside)?;
    let mut text = String::new();
    for done in &installed.done {
        text.push_str(&format!("{}: {} ({})\n", done.hook.name(), done.what, done.path.display()));
    }
    if let Some(manager) = &installed.manager {
        text.push_str(&format!("{} owns the hooks: {}\n", manager.name, manager.why));
        let left: Vec<&str> = manager.leaves.iter().map(|hook| hook.name()).collect();
        match (installed.done.is_empty(), beside) {
            (false, _) => text.push_str("For the others, "),
            (true, true) => {
                text.push_str(&format!("Nothing was installed: {} leaves none alone. ", manager.name))
            }
            (true, false) => text.push_str("Nothing was installed. "),
        }
        if installed.done.is_empty() {
            text.push_str("To have liza's checks, ");
        }
        text.push_str(&manager.lines);
        if installed.done.is_empty() && !left.is_empty() {
            text.push_str(&format!(
                "`liza hooks install --beside` adds {}, which {} leaves alone.\n",
                left.join(", "),
                manager.name
            ));
        }
        text.push_str("`liza hooks status` says when they fire.\n");
    }
    let data = json!({
        "hooks": installed.done, "manager": installed.manager.as_ref().map(|manager| manager.name),
        "lines": installed.manager.as_ref().map(|manager| manager.lines.clone()),
    });
    Ok((data, text))
}

fn uninstall(session: &mut Session) -> Result<Answer, Failure> {
    let done = install::uninstall(&session.ctx)?;
    let mut text = String::new();
    for one in &done {
        text.push_str(&format!("{}: {} ({})\n", one.hook.name(), one.what, one.path.display()));
    }
    if done.is_empty() {
        text.push_str("no hook of liza's is installed");
    }
    Ok(Answer::new(json!({ "hooks": done }), text))
}

fn show(session: &mut Session) -> Result<Answer, Failure> {
    let found = status::status(&session.ctx)?;
    let mut text = format!("hooks are {}\n", if found.active { "active" } else { "inactive" });
    for hook in &found.hooks {
        let mark = if hook.active { "active  " } else { "inactive" };
        text.push_str(&format!("  {mark} {}: {} ({})\n", hook.hook.name(), hook.detail, hook.path.display()));
    }
    match &found.lines {
        Some(lines) => {
            text.push_str(&format!("{} owns the hooks: {lines}", found.manager.unwrap_or("somebody else")))
        }
        None if !found.active => text.push_str("`liza hooks install` puts them there\n"),
        None => {}
    }
    Ok(Answer::new(serde_json::to_value(&found).unwrap_or_default(), text))
}

/// Answers git. Takes no identity check of its own: git's children lack the token.
pub fn run_hook(args: &RunArgs, ui: Ui) -> Result<Answer, Failure> {
    let Some(hook) = Hook::named(&args.name) else {
        return Err(Failure::usage(format!("liza knows no hook `{}`", args.name))
            .hint("pre-commit, commit-msg, pre-push or reference-transaction"));
    };
    if let Some(note) = std::env::var_os(PROBE).filter(|note| !note.is_empty()) {
        use std::io::Write as _;
        let told = std::fs::OpenOptions::new().append(true).open(&note);
        let _ = told.and_then(|mut file| writeln!(file, "{}", hook.name()));
        let mut answer = Answer::new(json!({ "probe": hook.name() }), String::new());
        answer.exit = PROBED;
        return Ok(answer);
    }
    bound();
    match ask(hook, args, ui) {
        Ok(()) => Ok(Answer::new(json!({ "hook": hook.name(), "allowed": true }), String::new())),
        Err(failure) if hook == Hook::ReferenceTransaction => Err(failure),
        Err(failure)
            if ["refused.", "stale.", "tier0.", "board."]
                .iter()
                .any(|kind| failure.code.starts_with(kind)) =>
        {
            Err(failure)
        }
        // What cannot be judged passes: submit and merge look again.
        Err(failure) => {
            if failure.code != "usage.no_board" {
                ui.narrate(&format!("{} could not be checked: {}", hook.name(), failure.message));
            }
            Ok(Answer::new(
                json!({ "hook": hook.name(), "allowed": true, "unchecked": failure.message }),
                String::new(),
            ))
        }
    }
}

/// A hook that hangs would hang everybody's git: after its time this process ends as one that gave no answer.
fn bound() {
    let told = std::env::var(TIMEOUT).ok().and_then(|text| text.parse().ok());
    let seconds = told.filter(|seconds| (1..100).contains(seconds)).unwrap_or(DEFAULT_TIMEOUT);
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(seconds));
        std::process::exit(124);
    });
}

fn ask(hook: Hook, args: &RunArgs, ui: Ui) -> Result<(), Failure> {
    let cwd = std::env::current_dir().map_err(|error| {
        Failure::new("io.failed", format!("the current directory cannot be told: {error}"))
    })?;
    // The board of the repository the hook stands in: what the environment says must not lead to another one.
    let beside_hook = args.hook.as_deref().and_then(|hook| cwd.join(hook).canonicalize().ok());
    let narrator: Rc<dyn Fn(&str)> = Rc::new(move |text: &str| ui.narrate(text));
    let from_hook = beside_hook
        .as_deref()
        .and_then(|hook| hook.parent()?.parent())
        .and_then(|dir| Context::open(dir, &Caller::default(), Rc::clone(&narrator)).ok());
    let ctx = match from_hook {
        Some(ctx) => ctx,
        None => Context::open(&cwd, &Caller::default(), narrator)?,
    };
    let text = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    let token = text("LIZA_AGENT_TOKEN").or_else(|| {
        let file = text("LIZA_AGENT_TOKEN_FILE")?;
        std::fs::read_to_string(file).ok().map(|token| token.trim().to_owned())
    });
    let claim = text("LIZA_CLAIM").and_then(|claim| {
        let (task, epoch) = claim.rsplit_once(':')?;
        Some((TaskId::new(task).ok()?, epoch.parse().ok()?))
    });
    let asked = Asked {
        args: args.args.clone(),
        stdin: stdin_of(hook)?,
        branch: args.branch.clone(),
        cwd,
        index: std::env::var_os("GIT_INDEX_FILE"),
        agent: text("LIZA_AGENT_ID").and_then(|id| AgentId::new(&id).ok()),
        token_hash: token.map(|token| token_hash(&token)),
        claim,
    };
    judge(&ctx, hook, &asked)
}

fn stdin_of(hook: Hook) -> Result<String, Failure> {
    // The pre-commit program takes the lines itself, and hands on what it makes of them.
    let told = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    if hook == Hook::PrePush
        && let (Some(local), Some(id)) = (told("PRE_COMMIT_LOCAL_BRANCH"), told("PRE_COMMIT_TO_REF"))
    {
        let remote = told("PRE_COMMIT_REMOTE_BRANCH").unwrap_or_else(|| local.clone());
        return Ok(format!("{local} {id} {remote} {}\n", "0".repeat(id.len())));
    }
    if !matches!(hook, Hook::PrePush | Hook::ReferenceTransaction) {
        return Ok(String::new());
    }
    let mut text = String::new();
    std::io::Read::read_to_string(&mut std::io::stdin(), &mut text)
        .map_err(|error| Failure::new("io.failed", format!("standard input cannot be read: {error}")))?;
    Ok(text)
}
