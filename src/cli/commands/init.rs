use crate::cli::prelude::*;
use crate::flow::gates::seconds;
use crate::flow::init::{InitOptions, Made, init};
use crate::flow::setup::{Setup, Wanted};

/// Start a board in this git repository
///
/// Creates .liza/ (untracked), the integration branch from HEAD, and a liza.yaml with working settings: the agent CLI
/// found on the PATH, a team, and the project's tests as a gate. liza runs this gate once on HEAD; a gate that fails
/// there is written as inactive, with the reason. Your checkout and your branches do not change. If there is a board
/// already, nothing changes.
///
/// Example: liza init "A greeting program that knows names"
///
/// Example: liza init "A greeting program" --provider codex --no-gate -y
#[derive(Args)]
pub struct InitArgs {
    /// Goal of the team, in one sentence
    pub goal: String,
    /// File that describes the goal in detail (optional)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub spec: Option<String>,
    /// Agent CLI for every role (default: the first one installed)
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Command that tests the project (default: chosen by the files in its root)
    #[arg(long = "gate", value_name = "CMD", conflicts_with = "no_gate", value_hint = ValueHint::CommandString)]
    pub gate_command: Option<String>,
    /// Write no gate and run no tests
    #[arg(long)]
    pub no_gate: bool,
    /// Branch that approved work is merged into
    #[arg(long, value_name = "BRANCH", default_value = "integration")]
    pub integration: String,
    /// Install git hooks too, as `liza hooks install` does
    #[arg(long, conflicts_with = "no_hooks")]
    pub hooks: bool,
    /// Install no git hooks, and do not ask about them
    #[arg(long)]
    pub no_hooks: bool,
    /// Ask no questions; the answer to each is yes
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Allow a board on a network file system
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
            wanted: Wanted {
                provider: self.provider.clone(),
                gate: self.gate_command.as_ref().map(|gate| session.input.text(gate)).transpose()?,
                no_gate: self.no_gate,
            },
        };
        let (made, revision) = init(&session.ctx, &options)?;
        let mut text = format!("created the board in {}\n", session.ctx.store.display());
        for line in &made.created {
            text.line(format!("  {line}"));
        }
        if let Some(setup) = &made.setup {
            text.push_str(&chosen(setup, self.no_gate));
        }
        if let Some(lines) = &made.proposed_gates {
            text.line("Your liza.yaml has no gates. These fit the project; add them to liza.yaml, or replace its line\n`gates: []` by them:\n");
            text.line(lines);
        }
        let mut hooks = None;
        if wants_hooks(session, self) {
            // The board exists; hooks can be installed later.
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
        let has_provider =
            session.ctx.project_config().is_ok_and(|config| !config.providers_in_use().is_empty());
        if !has_provider {
            text.line("Next: install an agent CLI, then\n  liza config set provider NAME");
            text.push_str("  liza run                 until the goal is complete, or a person is needed");
        } else {
            text.push_str(
                "Next:\n  liza run                 until the goal is complete, or a person is needed",
            );
        }
        Ok(Answer::new(Started { made, hooks }, text).at(revision))
    }
}

/// The chosen settings, and how to change them.
fn chosen(setup: &Setup, no_gate: bool) -> String {
    let mut text = String::from("Chosen:\n");
    match &setup.provider {
        Some(name) => {
            let others = setup.installed.iter().filter(|other| *other != name);
            let others = commas(others);
            let others = if others.is_empty() { others } else { format!("; also installed: {others}") };
            let missing = if setup.installed.contains(name) { "" } else { " (not found on the PATH)" };
            text.line(format!("  provider  {name}{missing}{others}"));
        }
        None => text.line("  provider  none: no agent CLI that liza knows was found on the PATH"),
    }
    text.line("  team      1 planner, 2 coders, 1 code reviewer");
    for gate in &setup.gates {
        let command = shown_line(&gate.command);
        match &gate.inactive {
            None => {
                let took = gate.duration_ms.map(seconds).unwrap_or_default();
                text.line(format!("  gate      {}: {command} (passes on HEAD, {took})", gate.name));
            }
            Some(why) => {
                text.line(format!("  gate      {}: {command}, INACTIVE: {why}", gate.name));
            }
        }
    }
    let inactive = setup.gates.iter().find(|gate| gate.inactive.is_some());
    if let Some(gate) = inactive {
        let name = &gate.name;
        text.line(format!("            fix it, then: liza config set gates.{name}.inactive null"));
    } else if setup.gates.is_empty() {
        let why = if no_gate { "as you asked" } else { "liza found no tests of this project" };
        text.line(format!("  gate      none: {why}; no tests check the agents' work"));
        text.line("            add one: liza config set gates.test.command \"COMMAND\"");
    }
    text
}

/// The new board and its installed hooks.
#[derive(Serialize)]
struct Started {
    #[serde(flatten)]
    made: Made,
    #[serde(skip_serializing_if = "Option::is_none")]
    hooks: Option<Value>,
}

/// Installs hooks with the flag, or after a yes on a terminal.
fn wants_hooks(session: &Session, args: &InitArgs) -> bool {
    if args.hooks || args.no_hooks {
        return args.hooks;
    }
    let question = "Install git hooks that guard the integration branch?";
    session.ui.is_attended() && (args.yes || session.ui.ask(question) == Some(true))
}
