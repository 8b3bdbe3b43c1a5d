//! The files that a prompt is made from: templates and specs, read from the main root only and never through a link.

use std::fs::OpenOptions;

use super::KIB;
use crate::board::goals::{GOAL_SPEC, Goal, PinnedSpec};
use crate::flow::config_file::regular_file_inside;
use crate::flow::prelude::*;
use crate::flow::specs::SpecText;
use crate::prompt::{Block, Bound, LARGEST_TEMPLATE, PIECES, Template, built_in, section};
use crate::store::lock::open_no_follow;

const SPEC_SHOWN: usize = 64 * KIB;

/// Why a page for agents cannot be read; none if it can.
pub fn unreadable(dir: &Path, page: &Path) -> Option<String> {
    match regular_file_inside(dir, page) {
        Err(why) => Some(format!("cannot be read ({why})")),
        Ok(None) => Some("is missing".to_owned()),
        Ok(Some(path)) => match open_no_follow(&path, OpenOptions::new().read(true)) {
            Err(error) => Some(format!("cannot be read ({error})")),
            Ok(file) => file.metadata().is_ok_and(|meta| meta.len() == 0).then(|| "is empty".to_owned()),
        },
    }
}

/// The spec that a reference names, or the section of its anchor; or an error.
///
/// An agent is shown the text that is pinned with its task. Without a pin, as for the goal and on older boards, it is
/// the present text.
pub fn spec(
    ctx: &Context,
    goal: &Goal,
    spec_ref: Option<&str>,
    pin: Option<&PinnedSpec>,
) -> Result<Block, String> {
    let spec_ref = spec_ref.filter(|text| !text.is_empty()).ok_or("none is named")?;
    let (name, anchor) = spec_ref.split_once('#').unwrap_or((spec_ref, ""));
    let (of, text) = match pin {
        Some(pin) => (pin.of.clone(), pinned_text(ctx, goal, pin)?),
        None => match ctx.spec_text(goal, spec_ref) {
            Ok(Some(SpecText { of, text })) => (of, text),
            Ok(None) => return Err(format!("{} does not exist", quoted(name))),
            Err(failure) => return Err(format!("{} cannot be read ({})", quoted(name), failure.message)),
        },
    };
    if of == GOAL_SPEC {
        let bound = Bound::new(SPEC_SHOWN, "`liza goal show`");
        return Ok(Block::in_language("the goal", "markdown", &text, &bound));
    }
    let whole = match pin {
        Some(pin) => ctx.store.spec_text_location(&pin.hash).display().to_string(),
        None => ctx.root().join(&of).display().to_string(),
    };
    let bound = Bound::new(SPEC_SHOWN, quoted(&whole));
    let part = if anchor.is_empty() { None } else { section(&text, anchor) };
    let of = quoted(&of);
    let mut origin = match part {
        Some(_) => format!("the project's spec {of}, section {}", quoted(anchor)),
        None if anchor.is_empty() => format!("the project's spec {of}"),
        None => {
            format!("the project's spec {of}, which has no section {} and is shown whole", quoted(anchor))
        }
    };
    if pin.is_some() {
        origin.push_str(", as it was when the task was planned");
    }
    Ok(Block::in_language(&origin, "markdown", part.unwrap_or(&text), &bound))
}

/// The text of a pin; the present text serves if it has the same hash.
fn pinned_text(ctx: &Context, goal: &Goal, pin: &PinnedSpec) -> Result<String, String> {
    if let Some(bytes) = ctx.store.spec_text(&pin.hash) {
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let present = ctx.spec_text(goal, &pin.of).ok().flatten().filter(|text| text.pin() == *pin);
    present.map(|text| text.text).ok_or_else(|| {
        format!(
            "the text of {} that the task is pinned to is gone (`liza doctor --fix` looks for its copy, `liza spec-change --spec {} …` pins the present text)",
            quoted(&pin.of),
            pin.of
        )
    })
}

/// The template of a role: named in liza.yaml, else in `.liza/templates`, else the built-in one, else that for any role.
pub fn template(ctx: &Context, role: &Role, config: &ProjectConfig) -> Result<Template> {
    if let Some(name) = config.roles.get(role).and_then(|role| role.template.as_deref()) {
        let described = format!("{}, which liza.yaml names for the role {role},", quoted(name));
        let path = RepoPath::new(name).map_err(|why| unusable(&described, &why.to_string()))?;
        let found = read(ctx.root(), path.as_str(), name).map_err(|why| unusable(&described, &why))?;
        return found.ok_or_else(|| unusable(&described, "it does not exist"));
    }
    // A role may have the name of a template piece; the piece is not a prompt.
    if !PIECES.contains(&role.as_str()) {
        if let Some(own) = installed(ctx, role.as_str())? {
            return Ok(own);
        }
        if let Some(own) = Template::built_in(role.as_str()).filter(|_| built_in(role.as_str()).is_some()) {
            return Ok(own);
        }
    }
    piece(ctx, "agent")
}

/// The template for a report: the project's own template of the role, else the built-in one for reports.
pub fn report_template(ctx: &Context, role: &Role, config: &ProjectConfig) -> Result<Template> {
    let own = config.roles.get(role).is_some_and(|role| role.template.is_some());
    if own || installed(ctx, role.as_str())?.is_some() {
        return template(ctx, role, config);
    }
    piece(ctx, "report")
}

/// A template that liza knows by name, the project's version or the built-in one.
pub fn piece(ctx: &Context, name: &str) -> Result<Template> {
    if let Some(own) = installed(ctx, name)? {
        return Ok(own);
    }
    Template::built_in(name)
        .ok_or_else(|| failure!(ErrorCode::BugTemplate, "there is no built-in template `{name}`"))
}

fn installed(ctx: &Context, name: &str) -> Result<Option<Template>> {
    let file = format!("{name}.md");
    let shown = format!(".liza/templates/{file}");
    read(&ctx.store.templates_location(), &file, &shown).map_err(|why| unusable(&quoted(&shown), &why))
}

/// A file below `dir`, if it exists.
fn read(dir: &Path, file: &str, shown: &str) -> Result<Option<Template>, String> {
    let Some(path) = regular_file_inside(dir, Path::new(file))? else { return Ok(None) };
    let (bytes, _) = read_whole(&path, LARGEST_TEMPLATE as u64).map_err(|error| error.to_string())?;
    let source = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    Ok(Some(Template { name: shown_line(shown).into_owned(), source }))
}

fn unusable(file: &str, why: &str) -> Failure {
    failure!(ErrorCode::UsageTemplate, "the prompt template {file} cannot be used: {why}")
        .hint("fix it, or name another template; liza starts no agent without its prompt")
}
