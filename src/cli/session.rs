//! Executes commands, with or without a board.

use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;

use serde::Serialize;

use crate::board::Verb;
use crate::board::{AgentId, Code, Role, Transition};
use crate::flow::context::{Caller, Context};
use crate::flow::{ErrorCode, Failure};

use super::args::Global;
use super::input::Input;
use super::ui::{Answer, Ui};

/// One call of the program.
pub struct Invocation {
    pub global: Global,
    pub ui: Ui,
}

/// A command.
pub trait Execute {
    fn execute(&self, call: &Invocation) -> Result<Answer, Failure>;
}

/// A command that works on a board.
pub trait OnBoard {
    const ACCESS: Access = Access::Changes;

    /// Whether liza first reports unseen messages to the caller.
    const ANNOUNCES_MESSAGES: bool = true;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure>;
}

/// What a command does with the board.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Changes the board. Refused for processes that a gate started.
    Changes,
    /// Only reads.
    Reads,
    /// Only reads, and can read boards of other versions.
    ReadsAnyVersion,
}

impl<T: OnBoard> Execute for T {
    fn execute(&self, call: &Invocation) -> Result<Answer, Failure> {
        call.on_board(T::ACCESS, T::ANNOUNCES_MESSAGES, &|session| self.run(session))
    }
}

/// The context, inputs and output of a command on a board.
pub struct Session {
    pub ctx: Context,
    pub input: Input,
    pub ui: Ui,
    request_id: Option<String>,
}

/// A table of commands: each row names a command and the type of its arguments.
macro_rules! commands {
    ($(#[$about:meta])* pub enum $group:ident { $($(#[$option:meta])* $name:ident($args:ty),)+ }) => {
        $(#[$about])*
        #[derive(clap::Subcommand)]
        pub enum $group { $($(#[$option])* $name($args),)+ }

        impl $crate::cli::named::Declare for $group {
            fn declare(command: clap::Command, words: &[&str]) -> clap::Command {
                let mut command = command.subcommand_required(true).arg_required_else_help(true);
                $($crate::cli::named::declare_row::<$args>(&mut command, stringify!($name), words);)+
                command
            }
        }

        impl $crate::cli::session::Execute for $group {
            fn execute(
                &self,
                call: &$crate::cli::session::Invocation,
            ) -> Result<$crate::cli::ui::Answer, $crate::flow::Failure> {
                match self {
                    $(Self::$name(args) => $crate::cli::session::Execute::execute(args, call),)+
                }
            }
        }
    };
}
pub(super) use commands;

impl Invocation {
    /// The repository around the current directory, with or without a board, and the caller.
    pub fn context(&self) -> Result<Context, Failure> {
        let ui = self.ui;
        let cwd = std::env::current_dir().map_err(|error| {
            Failure::new(ErrorCode::IoFailed, format!("cannot determine the current directory: {error}"))
        })?;
        let text = |name: &str| std::env::var(name).ok();
        let caller = Caller {
            board_dir: self
                .global
                .board
                .clone()
                .or_else(|| std::env::var_os("LIZA_DIR").filter(|dir| !dir.is_empty()).map(Into::into)),
            agent_id: text("LIZA_AGENT_ID"),
            token: text("LIZA_AGENT_TOKEN"),
            token_file: std::env::var_os("LIZA_AGENT_TOKEN_FILE").map(Into::into),
            claim: text("LIZA_CLAIM"),
        };
        Context::open(&cwd, &caller, Rc::new(move |text: &str| ui.narrate(text)))
    }

    /// Opens the board for a command and runs it there.
    fn on_board(
        &self,
        access: Access,
        announces_messages: bool,
        run: &dyn Fn(&mut Session) -> Result<Answer, Failure>,
    ) -> Result<Answer, Failure> {
        let ui = self.ui;
        let asked_of = std::env::var("LIZA_AGENT_ID").ok();
        let mut ctx = self.context()?;
        match access {
            Access::Changes => ctx.refuse_gate_process()?,
            Access::Reads => {}
            Access::ReadsAnyVersion => ctx.store.read_any_version(),
        }
        // A runner cannot write to its agent; the agent reads the request with its next liza command.
        if let Some(ask) =
            asked_of.and_then(|id| AgentId::new(&id).ok()).and_then(|id| ctx.machine.asked_of(&id))
        {
            ui.narrate(&ask);
        }
        if announces_messages && let Some(unseen) = crate::flow::mail::waiting(&ctx) {
            ui.narrate(&unseen);
        }
        let request_id = self.global.request_id.clone();
        let mut session = Session { ctx, input: Input::default(), ui, request_id };
        let store = session.ctx.store.clone();
        // Every answer has the revision; if the command did not read the board, it is the published one.
        let known = || Some(store.published_revision()).filter(|revision| *revision > 0);
        let outcome = run(&mut session);
        crate::flow::summary::after_command(&session.ctx);
        if session.ctx.crowded.get() {
            crate::flow::archive::archive_if_crowded(&session.ctx);
        }
        let outcome = match outcome {
            Ok(mut answer) => {
                answer.revision = answer.revision.or_else(known);
                Ok(answer)
            }
            Err(mut failure) => {
                failure.revision = failure.revision.or_else(known);
                Err(failure)
            }
        };
        // The process ends now; freeing a large board would only take time.
        let Context { store, .. } = session.ctx;
        std::mem::forget(store);
        outcome
    }
}

impl Session {
    /// Commits one change; `text` describes its outcome.
    pub fn commit<V: Verb + Into<Transition>>(
        &mut self,
        verb: V,
        text: impl Fn(&V::Outcome) -> String,
    ) -> Result<Answer, Failure> {
        self.carry_out(|ctx| Ok(ctx.commit(verb)?.done()), text)
    }

    /// Runs a use case of one or more changes; `text` describes its outcome.
    pub fn carry_out<T: Serialize>(
        &mut self,
        work: impl FnOnce(&Context) -> Result<(T, u64), Failure>,
        text: impl FnOnce(&T) -> String,
    ) -> Result<Answer, Failure> {
        self.seal_request()?;
        let (data, revision) = work(&self.ctx)?;
        let text = text(&data);
        Ok(Answer::new(data, text).at(revision))
    }

    /// Makes JSON or text, whichever the caller asked for.
    pub fn answer<D: Serialize>(&self, data: impl FnOnce() -> D, text: impl FnOnce() -> String) -> Answer {
        if self.ui.json { Answer::new(data(), "") } else { Answer::new((), text()) }
    }

    /// Refuses a role that is neither built in nor defined in liza.yaml.
    pub fn known_role(&self, role: &Role) -> Result<(), Failure> {
        let built_in = crate::board::agent::BUILT_IN_ROLES;
        if built_in.contains(&role.as_str()) || self.ctx.project_config()?.roles.contains_key(role) {
            return Ok(());
        }
        let meant = crate::text::nearest(role.as_str(), built_in)
            .map_or(String::new(), |name| format!("did you mean `{name}`? "));
        Err(Failure::new(Code::UnknownRole, format!("there is no role `{role}`"))
            .hint(format!("{meant}roles: {}; more can be defined in liza.yaml", built_in.join(", "))))
    }

    /// Refuses agents: only people decide about what cannot be undone.
    pub fn people_only(&self, verb: &str) -> Result<(), Failure> {
        if self.ctx.is_human() {
            return Ok(());
        }
        Err(Failure::new(Code::HumanOnly, format!("only a person may {verb}"))
            .hint("report your need with `liza note`"))
    }

    /// Binds the command to its request id, after all its inputs are read.
    pub fn seal_request(&mut self) -> Result<(), Failure> {
        let Some(id) = &self.request_id else { return Ok(()) };
        if id.is_empty() || id.len() > 200 || id.chars().any(char::is_control) {
            return Err(Failure::usage("a request id is 1 to 200 printable characters"));
        }
        let mut hasher = blake3::Hasher::new();
        let mut skip = false;
        for arg in std::env::args_os().skip(1) {
            let arg = arg.as_bytes();
            if skip {
                skip = false;
            } else if arg == b"--request-id" {
                skip = true;
            } else if !arg.starts_with(b"--request-id=")
                && ![&b"--json"[..], b"-q", b"--quiet"].contains(&arg)
            {
                hasher.update(arg);
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
