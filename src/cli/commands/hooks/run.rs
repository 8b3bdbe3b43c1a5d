use crate::cli::prelude::*;
use crate::flow::context::token_hash;
use crate::flow::hooks::judge::{HookCall, judge};
use crate::flow::hooks::{DEFAULT_TIMEOUT, Hook, PROBE, PROBED, TIMEOUT};

/// Decide about a git operation; the installed hooks call this
///
/// Exit 0 allows it, exit 1, 3 or 6 refuses it. Reads only. pre-commit: no liza files; in a task's worktree also
/// checkpoint, lease and scope. commit-msg: no trailers that only liza writes. pre-push: no unmerged task branches.
/// reference-transaction: the integration branch moves only to the commit of an open intent.
///
/// Example: liza hooks run pre-commit
#[derive(Args)]
pub struct RunArgs {
    /// pre-commit, commit-msg, pre-push or reference-transaction
    pub name: Hook,
    /// File of the hook; liza finds the repository from it
    #[arg(long, value_name = "PATH")]
    pub hook: Option<PathBuf>,
    /// Integration branch named in the hook's file
    #[arg(long, value_name = "BRANCH", hide = true)]
    pub branch: Option<String>,
    /// Arguments that git passed to the hook
    #[arg(last = true)]
    pub args: Vec<String>,
}

impl Execute for RunArgs {
    /// Answers git. Does not authenticate the caller: git's child processes lack the token.
    fn execute(&self, call: &Invocation) -> Result<Answer, Failure> {
        let ui = call.ui;
        let hook = self.name;
        if let Some(note) = std::env::var_os(PROBE).filter(|note| !note.is_empty()) {
            use std::io::Write as _;
            let opened = std::fs::OpenOptions::new().append(true).open(&note);
            let _ = opened.and_then(|mut file| writeln!(file, "{}", hook.name()));
            return Ok(Answer::new(json!({ "probe": hook.name() }), "").exit(PROBED));
        }
        bound();
        let judged = [Class::Refused, Class::Stale, Class::Tier0, Class::Board];
        match ask(hook, self, ui) {
            Ok(()) => Ok(Answer::new(json!({ "hook": hook.name(), "allowed": true }), "")),
            Err(failure) if hook == Hook::ReferenceTransaction => Err(failure),
            Err(failure) if judged.contains(&failure.code.class()) => Err(failure),
            // What cannot be checked is allowed: submit and merge check again.
            Err(failure) => {
                if failure.code != ErrorCode::UsageNoBoard {
                    ui.narrate(&format!("{} could not be checked: {}", hook.name(), failure.message));
                }
                let data = json!({ "hook": hook.name(), "allowed": true, "unchecked": failure.message });
                Ok(Answer::new(data, ""))
            }
        }
    }
}

/// A hanging hook would hang git: after the timeout this process ends without an answer.
fn bound() {
    let set = std::env::var(TIMEOUT).ok().and_then(|text| text.parse().ok());
    let seconds = set.filter(|seconds| (1..100).contains(seconds)).unwrap_or(DEFAULT_TIMEOUT);
    // Without a thread there is no timeout.
    let _ = crate::host::start_thread(move || {
        std::thread::sleep(Duration::from_secs(seconds));
        std::process::exit(124);
    });
}

fn ask(hook: Hook, args: &RunArgs, ui: Ui) -> Result<(), Failure> {
    let cwd = std::env::current_dir().map_err(|error| {
        Failure::new(ErrorCode::IoFailed, format!("cannot determine the current directory: {error}"))
    })?;
    // The board of the repository that the hook belongs to; the environment must not select another one.
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
    let hook_call = HookCall {
        args: args.args.clone(),
        stdin: stdin_of(hook)?,
        branch: args.branch.clone(),
        cwd,
        index: std::env::var_os("GIT_INDEX_FILE"),
        agent: text("LIZA_AGENT_ID").and_then(|id| AgentId::new(&id).ok()),
        token_hash: token.map(|token| token_hash(&token)),
        claim,
    };
    judge(&ctx, hook, &hook_call)
}

fn stdin_of(hook: Hook) -> Result<String, Failure> {
    // The pre-commit program reads the lines itself and passes their values in the environment.
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    if hook == Hook::PrePush
        && let (Some(local), Some(id)) = (variable("PRE_COMMIT_LOCAL_BRANCH"), variable("PRE_COMMIT_TO_REF"))
    {
        let remote = variable("PRE_COMMIT_REMOTE_BRANCH").unwrap_or_else(|| local.clone());
        return Ok(format!("{local} {id} {remote} {}\n", "0".repeat(id.len())));
    }
    if !matches!(hook, Hook::PrePush | Hook::ReferenceTransaction) {
        return Ok(String::new());
    }
    let mut text = String::new();
    std::io::Read::read_to_string(&mut std::io::stdin(), &mut text)
        .map_err(|error| Failure::new(ErrorCode::IoFailed, format!("cannot read standard input: {error}")))?;
    Ok(text)
}
