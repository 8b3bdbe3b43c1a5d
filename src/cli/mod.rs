//! WORDS: the command line, and everything a person reads.

#![expect(
    clippy::disallowed_methods,
    reason = "the command line, the environment and standard input enter here"
)]

mod args;
mod commands;
mod complete;
mod demo;
pub mod exit;
mod input;
mod live;
mod ui;
mod view;

use std::process::ExitCode;
use std::rc::Rc;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};

use crate::flow::Failure;
use crate::flow::context::{Caller, Context};
use crate::store::lock::LockNote;

use args::Cli;
use input::Input;
use ui::{Answer, Ui};

/// What every command gets: the context, the inputs, and how to print.
pub struct Session {
    pub ctx: Context,
    pub input: Input,
    pub ui: Ui,
    request_id: Option<String>,
}

/// The whole tree of commands, for completion, manual pages and tests.
pub fn command_line() -> clap::Command {
    Cli::command()
}

pub fn run() -> ExitCode {
    let wants_json = std::env::args_os().any(|arg| arg == "--json");
    let parsed = Cli::command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return usage(&error, wants_json),
    };
    let ui = Ui::new(cli.global.json, cli.global.quiet, cli.global.color);
    match execute(cli, ui) {
        Ok(answer) => {
            ui.answer(&answer);
            ExitCode::from(answer.exit)
        }
        Err(failure) => ExitCode::from(ui.failure(&failure)),
    }
}

fn usage(error: &clap::Error, json: bool) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let hint = usage_hint();
    if json {
        let ui = Ui::new(true, false, ui::ColorChoice::Never);
        let message = error.to_string();
        let failure = Failure::new("usage.arguments", message.trim().to_owned()).hint(hint);
        return ExitCode::from(ui.failure(&failure));
    }
    // What was typed comes back in the message, and so must be made safe like any other text.
    let message = error.to_string();
    let message = message.trim_end().trim_end_matches("For more information, try '--help'.").trim_end();
    Ui::new(false, false, ui::ColorChoice::Auto).narrate(&format!("{message}\nhint: {hint}"));
    ExitCode::from(exit::USAGE)
}

/// The help of the command that was meant, as far as the words lead to one; it has an example.
fn usage_hint() -> String {
    let mut root = command_line();
    root.build();
    let (mut command, mut path) = (&root, "liza".to_owned());
    for word in std::env::args().skip(1) {
        if let Some(inner) =
            command.find_subcommand(&word).filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
        {
            command = inner;
            path = format!("{path} {}", inner.get_name());
        }
    }
    format!("run `{path} --help`")
}

fn execute(cli: Cli, ui: Ui) -> Result<Answer, Failure> {
    if let args::Command::Demo(demo) = &cli.command {
        return commands::demo::run(demo, ui);
    }
    // What needs no repository works everywhere.
    match &cli.command {
        args::Command::Schema(schema) => return commands::schema::run(schema),
        args::Command::Completions(completions) => return Ok(commands::completions::run(completions)),
        args::Command::Man(man) => return commands::man::run(man),
        args::Command::Hold(hold) => return commands::hold::run(hold),
        args::Command::Complete(complete) => return commands::completions::complete(complete),
        _ => {}
    }
    if let args::Command::Hooks(commands::hooks::HooksCommand::Run(hook)) = &cli.command {
        return commands::hooks::run_hook(hook, ui);
    }
    let cwd = std::env::current_dir().map_err(|error| {
        Failure::new("io.failed", format!("the current directory cannot be told: {error}"))
    })?;
    let text = |name: &str| std::env::var(name).ok();
    let caller = Caller {
        board_dir: cli
            .global
            .board
            .clone()
            .or_else(|| std::env::var_os("LIZA_DIR").filter(|dir| !dir.is_empty()).map(Into::into)),
        agent_id: text("LIZA_AGENT_ID"),
        token: text("LIZA_AGENT_TOKEN"),
        token_file: std::env::var_os("LIZA_AGENT_TOKEN_FILE").map(Into::into),
        claim: text("LIZA_CLAIM"),
    };
    let asked_of = caller.agent_id.clone();
    let mut ctx = Context::open(&cwd, &caller, Rc::new(move |text: &str| ui.narrate(text)))?;
    if !cli.command.only_looks() {
        ctx.acts_for_somebody()?;
    }
    if cli.command.reads_any_version() {
        ctx.store.read_any_version();
    }
    // A runner cannot speak to a command that is at work; the agent hears it here.
    if let Some(ask) =
        asked_of.and_then(|id| crate::board::AgentId::new(&id).ok()).and_then(|id| ctx.asked_of(&id))
    {
        ui.narrate(&ask);
    }
    if !cli.command.reads_messages()
        && let Some(told) = crate::flow::mail::waiting(&ctx)
    {
        ui.narrate(&told);
    }
    let mut session = Session { ctx, input: Input::default(), ui, request_id: cli.global.request_id.clone() };
    let lock = session.ctx.store.layout().lock();
    // Scripts are told the revision with every answer; where a command did not look, the mark knows it.
    let known = || Some(LockNote::read(&lock).revision).filter(|revision| *revision > 0);
    let outcome = commands::dispatch(&mut session, cli.command);
    if session.ctx.crowded.get() {
        crate::flow::archive::thin_out(&session.ctx);
    }
    match outcome {
        Ok(mut answer) => {
            answer.revision = answer.revision.or_else(known);
            Ok(answer)
        }
        Err(mut failure) => {
            failure.revision = failure.revision.or_else(known);
            Err(failure)
        }
    }
}

impl Session {
    /// Ties the command to its request id, once all its inputs are read.
    pub fn seal_request(&mut self) -> Result<(), Failure> {
        let Some(id) = &self.request_id else { return Ok(()) };
        if id.is_empty() || id.len() > 200 || id.chars().any(char::is_control) {
            return Err(Failure::usage("a request id is 1 to 200 printable characters"));
        }
        let mut hasher = blake3::Hasher::new();
        let mut skip = false;
        for arg in std::env::args().skip(1) {
            if skip {
                skip = false;
            } else if arg == "--request-id" {
                skip = true;
            } else if !arg.starts_with("--request-id=") && arg != "--json" && arg != "-q" && arg != "--quiet"
            {
                hasher.update(arg.as_bytes());
                hasher.update(&[0]);
            }
        }
        hasher.update(&self.input.taken());
        self.ctx.request = Some(crate::board::intent::RequestKey {
            id: id.clone(),
            digest: hasher.finalize().to_hex().to_string(),
        });
        Ok(())
    }
}
