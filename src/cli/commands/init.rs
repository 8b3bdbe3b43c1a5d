use crate::cli::prelude::*;
use crate::flow::init::{InitOptions, Made, init};

/// Start a board in this git repository
///
/// Makes .liza/ (untracked), the integration branch from HEAD, liza.yaml and specs/vision.md where they are missing.
/// Your checkout and your branches stay as they are. Where a board exists, nothing is changed.
///
/// Example: liza init "A greeting program that knows names"
#[derive(Args)]
pub struct InitArgs {
    /// What the team is to achieve, in a sentence
    pub goal: String,
    /// The file that says what is wanted (default: specs/vision.md)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub spec: Option<String>,
    /// The branch that work is merged into
    #[arg(long, value_name = "BRANCH", default_value = "integration")]
    pub integration: String,
    /// Install git hooks too, as `liza hooks install` does
    #[arg(long, conflicts_with = "no_hooks")]
    pub hooks: bool,
    /// Install no git hooks, and do not ask
    #[arg(long)]
    pub no_hooks: bool,
    /// Answer the question about hooks, which is asked on a terminal, with yes
    #[arg(long)]
    pub yes: bool,
    /// Go ahead on a network file system
    #[arg(long)]
    pub allow_network_fs: bool,
}

impl OnBoard for InitArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let options = InitOptions {
            goal: session.input.text(&self.goal)?,
            spec: self.spec.clone(),
            integration: self.integration.clone(),
            allow_network_fs: self.allow_network_fs,
        };
        let (made, revision) = init(&session.ctx, &options)?;
        let mut text = format!("Board made in {}\n", session.ctx.store.display());
        for line in &made.created {
            text.line(format!("  {line}"));
        }
        if let Some(lines) = &made.proposed_gates {
            text.line("Your liza.yaml has no gates. These would fit what is here; put them into it as they are, or\ninstead of its `gates: []`, if it has that line:\n");
            text.line(lines);
        }
        let mut hooks = None;
        if wants_hooks(session, self) {
            // The board is made; hooks can be had later.
            match super::hooks::install::install_now(&session.ctx, false) {
                Ok((installed, words)) => {
                    hooks = Some(installed);
                    text.push_str(&words);
                }
                Err(failure) => session
                    .ctx
                    .narrate(format!("no hooks: {} (`liza hooks install` tries again)", failure.message)),
            }
        }
        text.push_str(
        "Next:\n  commit liza.yaml and the spec, then `liza integration advance HEAD --reason spec`, so that agents see them\n  liza agent register --role coder --shell    an identity for an agent\n  liza task add --help                        the first task\n  liza run                                    a whole team, once liza.yaml names a `provider`\n  liza status                                 what stands where",
    );
        Ok(Answer::new(Started { made, hooks }, text).at(revision))
    }
}

/// The board, and the hooks that were installed with it.
#[derive(Serialize)]
struct Started {
    #[serde(flatten)]
    made: Made,
    #[serde(skip_serializing_if = "Option::is_none")]
    hooks: Option<Value>,
}

/// With the flag, or after a yes on a terminal.
fn wants_hooks(session: &Session, args: &InitArgs) -> bool {
    if args.hooks || args.no_hooks {
        return args.hooks;
    }
    let question = "Install git hooks that guard the integration branch?";
    session.ui.is_attended() && (args.yes || session.ui.ask(question) == Some(true))
}
