//! The only module that prints: the answer to standard output, narration to standard error.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use serde::Serialize;
use serde_json::{Value, json};

use crate::board::Class;
use crate::flow::Failure;
use crate::text::{shown, shown_line, wrapped};
use crate::wire::to_json_line;

/// The exit code of a successful command.
pub const DONE: u8 = 0;

/// Why an answer could not be printed.
static UNPRINTED: OnceLock<String> = OnceLock::new();

/// Remembers that an answer could not be printed. A closed pipe is no error: its reader wanted no more.
pub fn note_unprinted(why: &std::io::Error) {
    if why.kind() != ErrorKind::BrokenPipe {
        let _ = UNPRINTED.set(why.to_string());
    }
}

/// The exit code of a command after printing. An answer that could not be printed is an error; the change itself stays.
pub fn unprinted(exit: u8) -> u8 {
    let Some(why) = UNPRINTED.get().filter(|_| exit == DONE) else { return exit };
    let text = format!(
        "error: cannot write the answer to standard output: {why}\nhint: the command itself was carried out; `liza status` shows the board\n"
    );
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
    Class::Io.exit()
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
pub enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Clone, Copy)]
pub struct Ui {
    pub json: bool,
    pub quiet: bool,
    pub color: bool,
    /// `--color always`: colours also where the output is no terminal.
    forced: bool,
}

/// Tables are unreadable in fewer columns.
const NARROWEST: usize = 40;
const WIDEST: usize = 200;

/// The columns of a terminal that liza uses; `None` if the stream is no terminal.
fn columns_of(stream: impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    let columns = usize::from(size.ws_col);
    Some(if columns == 0 { 80 } else { columns.clamp(NARROWEST, WIDEST) })
}

/// The answer of a command.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub data: Value,
    /// For people; escaped before it is shown, so it may hold foreign text.
    pub text: String,
    /// Text with liza's own terminal colours, shown unescaped instead of `text`.
    pub colored: Option<String>,
    /// The text is a document, such as a diff or a script: shown without wrapping, colours and local times.
    pub verbatim: bool,
    pub revision: Option<u64>,
    pub exit: u8,
    /// Why the exit code is not 0.
    pub problem: Option<Box<Failure>>,
}

impl Answer {
    pub fn new(data: impl Serialize, text: impl Into<String>) -> Self {
        let data = serde_json::to_value(data).unwrap_or_else(
            |error| json!({ "unreadable": format!("the answer cannot be written as JSON: {error}") }),
        );
        Self {
            data,
            text: text.into(),
            colored: None,
            verbatim: false,
            revision: None,
            exit: DONE,
            problem: None,
        }
    }

    /// Shows the text as a document, see `verbatim`.
    pub fn verbatim(mut self) -> Self {
        self.verbatim = true;
        self
    }

    pub fn at(mut self, revision: u64) -> Self {
        self.revision = Some(revision);
        self
    }

    /// Sets an exit code for liza's own hooks and shell scripts.
    pub fn exit(mut self, code: u8) -> Self {
        self.exit = code;
        self
    }

    /// The command failed although it has an answer: in JSON, `ok` is false and `error` has the reason.
    pub fn failed(mut self, failure: Failure) -> Self {
        self.exit = failure.code.exit();
        self.problem = Some(Box::new(failure));
        self
    }

    /// Fails if there is a failure.
    pub fn failed_if(self, failure: Option<Failure>) -> Self {
        match failure {
            Some(failure) => self.failed(failure),
            None => self,
        }
    }
}

/// Joins values with commas.
pub fn commas<T: ToString>(things: impl IntoIterator<Item = T>) -> String {
    things.into_iter().map(|thing| thing.to_string()).collect::<Vec<_>>().join(", ")
}

/// A text that is written line by line.
pub trait Lines {
    fn line(&mut self, line: impl AsRef<str>);
}

impl Lines for String {
    fn line(&mut self, line: impl AsRef<str>) {
        self.push_str(line.as_ref());
        self.push('\n');
    }
}

fn error_object(failure: &Failure) -> Value {
    json!({
        "liza": 1, "ok": false, "revision": failure.revision,
        "error": {
            "code": failure.code, "exit": failure.code.exit(), "message": failure.message, "hint": failure.hint,
            "details": failure.details,
        },
    })
}

impl Ui {
    pub fn new(json: bool, quiet: bool, color: ColorChoice) -> Self {
        let wanted = match color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                std::io::stdout().is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            }
        };
        Self { json, quiet, color: wanted && !json, forced: matches!(color, ColorChoice::Always) }
    }

    /// Prints the answer. A closed pipe is no error.
    pub fn answer(&self, answer: &Answer) {
        if self.json {
            let mut object = match &answer.problem {
                Some(failure) => error_object(failure),
                None => json!({ "liza": 1, "ok": answer.exit == DONE }),
            };
            object["revision"] = json!(answer.revision);
            object["data"] = answer.data.clone();
            self.out(&format!("{}\n", to_json_line(&object)));
            return;
        }
        if let Some(colored) = &answer.colored {
            self.out(colored);
        } else if answer.verbatim {
            self.out(&shown(&answer.text));
        } else if !answer.text.is_empty() {
            self.out(&self.dressed(&answer.text, self.columns(), self.color));
        }
        let text = answer.colored.as_ref().unwrap_or(&answer.text);
        if !text.is_empty() && !text.ends_with('\n') {
            self.out("\n");
        }
    }

    pub fn failure(&self, failure: &Failure) -> u8 {
        let code = failure.code.exit();
        if self.json {
            let mut object = error_object(failure);
            if let Some(data) = &failure.data {
                object["data"] = data.clone();
            }
            self.out(&format!("{}\n", to_json_line(&object)));
            return code;
        }
        self.narrate_always(&format!("error: {}", failure.message));
        if let Some(hint) = &failure.hint {
            self.narrate_always(&format!("hint: {hint}"));
        }
        code
    }

    pub fn narrate(&self, text: &str) {
        if !self.quiet {
            self.narrate_always(text);
        }
    }

    fn narrate_always(&self, text: &str) {
        let columns = columns_of(std::io::stderr());
        // Standard error in a file gets no colours, even if standard output is a terminal.
        let color = self.color && (columns.is_some() || self.forced);
        self.err(&format!("{}\n", self.dressed(text, columns, color)));
    }

    /// Text for people: escaped, with local times, wrapped to the terminal, coloured.
    fn dressed(&self, text: &str, columns: Option<usize>, color: bool) -> String {
        let safe = shown(text);
        let text = super::times::for_people(&safe);
        let text = match columns {
            Some(columns) => wrapped(&text, columns),
            None => text.into_owned(),
        };
        if color { super::paint::painted(&text) } else { text }
    }

    /// One line of an event, in its colour.
    pub fn event_line(&self, event: &crate::supervise::Event) -> String {
        let line = shown_line(&event.line()).into_owned();
        let line = super::times::for_people(&line).into_owned();
        let line = match self.columns() {
            Some(columns) => wrapped(&line, columns),
            None => line,
        };
        match event.event.tone() {
            Some(tone) if self.color => {
                let word = event.event.word();
                line.replacen(&word, &super::paint::Tone::of_event(tone).paint(&word), 1)
            }
            _ => line,
        }
    }

    /// Asks a person on a terminal; only `yes` or `y` is a yes. `None` without a terminal.
    pub fn ask(&self, question: &str) -> Option<bool> {
        if !self.is_attended() {
            return None;
        }
        self.err(&format!("{} [yes/no] ", shown(question)));
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).ok()?;
        Some(matches!(line.trim().to_lowercase().as_str(), "yes" | "y"))
    }

    /// Whether liza can ask a person: both streams are terminals.
    pub fn is_attended(&self) -> bool {
        !self.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    pub fn is_terminal(&self) -> bool {
        std::io::stdout().is_terminal()
    }

    /// The columns of the terminal; `None` if standard output is no terminal.
    pub fn columns(&self) -> Option<usize> {
        columns_of(std::io::stdout())
    }

    /// The columns of the terminal, or 80.
    pub fn width(&self) -> usize {
        self.columns().unwrap_or(80)
    }

    /// Prints text with liza's own control sequences.
    pub fn raw(&self, text: &str) {
        self.out(text);
    }

    /// Prints events as they happen: one line each for people, one JSON object each for programs.
    pub fn event_sink(&self) -> crate::supervise::Sink {
        let ui = *self;
        std::rc::Rc::new(move |event| {
            if ui.json {
                ui.stream(&to_json_line(&serde_json::to_value(event).unwrap_or_default()));
            } else if !ui.quiet {
                ui.stream(&ui.event_line(event));
            }
        })
    }

    /// Prints one line of a running command, such as `log -f`. False when the reader has closed the pipe.
    pub fn stream(&self, line: &str) -> bool {
        let mut out = std::io::stdout().lock();
        let written =
            out.write_all(line.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
        written.inspect_err(note_unprinted).is_ok()
    }

    fn out(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        if let Err(why) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            note_unprinted(&why);
        }
    }

    fn err(&self, text: &str) {
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
}
