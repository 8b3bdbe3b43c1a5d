//! Templates: the text is liza's or the project's, the facts are filled in.

use std::io;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};
use thiserror::Error;

use crate::text::shown_line;

use super::facts::Facts;

pub const LARGEST_TEMPLATE: usize = 64 * 1024;
/// Larger than all parts together, each of which has its own bound: only a template that repeats itself exceeds it.
pub const LARGEST_PROMPT: usize = 640 * 1024;

/// Steps of the template engine; a prompt takes a few hundred.
const MOST_STEPS: u64 = 100_000;

/// Templates that are part of every prompt, rendered first and available by name.
pub const PIECES: [&str; 2] = ["bootstrap", "contract"];

/// The built-in template with this name.
pub fn built_in(name: &str) -> Option<&'static str> {
    Some(match name {
        "planner" => include_str!("../../templates/prompts/planner.md"),
        "coder" => include_str!("../../templates/prompts/coder.md"),
        "code_reviewer" => include_str!("../../templates/prompts/code_reviewer.md"),
        "red_team" => include_str!("../../templates/prompts/red_team.md"),
        "test_engineer" => include_str!("../../templates/prompts/test_engineer.md"),
        "report" => include_str!("../../templates/prompts/report.md"),
        "agent" => include_str!("../../templates/prompts/agent.md"),
        "bootstrap" => include_str!("../../templates/prompts/bootstrap.md"),
        "contract" => include_str!("../../templates/prompts/contract.md"),
        _ => return None,
    })
}

#[derive(Debug)]
pub struct Template {
    /// The file, as shown to people.
    pub name: String,
    pub source: String,
}

impl Template {
    pub fn built_in(name: &str) -> Option<Self> {
        built_in(name).map(|source| Self { name: format!("built-in {name}.md"), source: source.to_owned() })
    }
}

#[derive(Debug, Error)]
#[error("{file}{}: {why}", line.map_or_else(String::new, |line| format!(":{line}")))]
pub struct TemplateError {
    pub file: String,
    pub line: Option<usize>,
    pub why: String,
}

#[derive(Debug)]
pub struct Rendered {
    pub text: String,
    /// The parts of the prompt with their sizes; the rest is the template's own text.
    pub sizes: Vec<(String, usize)>,
}

/// Fills in the facts. An unknown name is an error, even in a branch that is not rendered.
pub fn render(template: &Template, facts: &Facts) -> Result<Rendered, TemplateError> {
    let wrong = |line: Option<usize>, why: String| TemplateError { file: template.name.clone(), line, why };
    if template.source.len() > LARGEST_TEMPLATE {
        let why = format!("it is {} bytes long; the limit is {LARGEST_TEMPLATE}", template.source.len());
        return Err(wrong(None, why));
    }
    let environment = environment();
    let problem = |error: &minijinja::Error| wrong(error.line(), words_of(error));
    // The name is used only in liza's own messages.
    let compiled =
        environment.template_from_named_str("prompt", &template.source).map_err(|error| problem(&error))?;
    let built_in: Vec<&str> = environment.globals().map(|(name, _)| name).collect();
    let known: Vec<&str> = facts.names().collect();
    let mut unknown: Vec<String> = compiled
        .undeclared_variables(false)
        .into_iter()
        .filter(|name| !known.contains(&name.as_str()) && !built_in.contains(&name.as_str()))
        .collect();
    unknown.sort();
    if let Some(name) = unknown.first() {
        let why =
            format!("there is no `{}` for this role; there are: {}", shown_line(name), known.join(", "));
        return Err(wrong(line_naming(&template.source, name), why));
    }
    let mut out = Bounded { text: Vec::new(), full: false };
    let ended = compiled.render_captured_to(facts.values(), &mut out).map(|_| ());
    if out.full {
        return Err(wrong(None, format!("the prompt would be longer than {LARGEST_PROMPT} bytes")));
    }
    ended.map_err(|error| problem(&error))?;
    let text = String::from_utf8(out.text).map_err(|error| wrong(None, error.to_string()))?;
    let mut sizes: Vec<(String, usize)> = Vec::new();
    for (name, part) in facts.parts().iter().filter(|(_, part)| text.contains(part.as_str())) {
        match sizes.iter_mut().find(|(known, _)| known == name) {
            Some((_, bytes)) => *bytes += part.len(),
            None => sizes.push(((*name).to_owned(), part.len())),
        }
    }
    Ok(Rendered { text, sizes })
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // For any file name: a prompt is not HTML, and the facts are already safe.
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(MOST_STEPS));
    environment.set_recursion_limit(50);
    if let Ok(syntax) =
        SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build()
    {
        environment.set_syntax(syntax);
    }
    environment
}

fn words_of(error: &minijinja::Error) -> String {
    let what = match error.kind() {
        ErrorKind::UndefinedError => "it names an unknown value".to_owned(),
        ErrorKind::OutOfFuel => "it takes too many steps".to_owned(),
        kind => kind.to_string(),
    };
    match error.detail() {
        Some(detail) => format!("{what}: {}", shown_line(detail)),
        None => what,
    }
}

/// The first line of a template that contains a name as a word.
fn line_naming(source: &str, name: &str) -> Option<usize> {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    source
        .lines()
        .position(|line| line.contains(['{', '%']) && line.split(|c| !inside(c)).any(|word| word == name))
        .map(|at| at + 1)
}

/// Limits the size of a prompt.
struct Bounded {
    text: Vec<u8>,
    full: bool,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.text.len() + bytes.len() > LARGEST_PROMPT {
            self.full = true;
            return Err(io::Error::other("too long"));
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
