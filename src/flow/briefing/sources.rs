//! The files a prompt is made from: templates and specs, read from the main root only and never through a link.

use std::fs::{File, OpenOptions};

use super::KIB;
use crate::flow::config_file::regular_file_inside;
use crate::flow::prelude::*;
use crate::prompt::{Block, Bound, LARGEST_TEMPLATE, PIECES, Template, built_in, section};
use crate::store::lock::open_no_follow;

const LARGEST_SPEC_READ: u64 = 4 * 1024 * 1024;
const SPEC_SHOWN: usize = 64 * KIB;

/// Why a page that agents are sent to cannot be read; nothing if it can.
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

/// The spec a reference names, or the section of its anchor; or what is wrong with it.
pub fn spec(ctx: &Context, spec_ref: Option<&str>) -> Result<Block, String> {
    let spec_ref = spec_ref.filter(|text| !text.is_empty()).ok_or("none is named")?;
    let (name, anchor) = spec_ref.split_once('#').unwrap_or((spec_ref, ""));
    let path = RepoPath::new(name).map_err(|why| format!("{} cannot be one ({why})", quoted(name)))?;
    let found = regular_file_inside(ctx.root(), Path::new(path.as_str()));
    let file = match found {
        Ok(Some(file)) => file,
        Ok(None) => return Err(format!("{} is not there", quoted(name))),
        Err(why) => return Err(format!("{} cannot be read ({why})", quoted(name))),
    };
    let text = open_no_follow(&file, OpenOptions::new().read(true))
        .and_then(|file| start_of(file, LARGEST_SPEC_READ))
        .map_err(|error| format!("{} cannot be read ({error})", quoted(name)))?;
    let bound = Bound::new(SPEC_SHOWN, quoted(&file.display().to_string()));
    let part = if anchor.is_empty() { None } else { section(&text, anchor) };
    let origin = match part {
        Some(_) => format!("the project's spec {}, section {}", quoted(name), quoted(anchor)),
        None if anchor.is_empty() => format!("the project's spec {}", quoted(name)),
        None => format!(
            "the project's spec {}, which has no section {} and is shown whole",
            quoted(name),
            quoted(anchor)
        ),
    };
    Ok(Block::in_language(&origin, "markdown", part.unwrap_or(&text), &bound))
}

fn start_of(file: File, bytes: u64) -> std::io::Result<String> {
    let mut text = Vec::new();
    file.take(bytes).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The template of a role: named in liza.yaml, else in `.liza/templates`, else the built-in one, else that for any role.
pub fn template(ctx: &Context, role: &Role, config: &ProjectConfig) -> Result<Template> {
    if let Some(name) = config.roles.get(role).and_then(|role| role.template.as_deref()) {
        let said = format!("{}, which liza.yaml names for the role {role},", quoted(name));
        let path = RepoPath::new(name).map_err(|why| unusable(&said, &why.to_string()))?;
        let found = read(ctx.root(), path.as_str(), name).map_err(|why| unusable(&said, &why))?;
        return found.ok_or_else(|| unusable(&said, "it is not there"));
    }
    // A role may be called as a piece is; the piece is no prompt.
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

/// A template that liza knows by name, as the project has it or as it comes with liza.
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

/// A file below `dir`, if it is there.
fn read(dir: &Path, file: &str, shown: &str) -> Result<Option<Template>, String> {
    let Some(path) = regular_file_inside(dir, Path::new(file))? else { return Ok(None) };
    let (bytes, _) = read_whole(&path, LARGEST_TEMPLATE as u64).map_err(|error| error.to_string())?;
    let source = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    Ok(Some(Template { name: shown_line(shown).into_owned(), source }))
}

fn unusable(file: &str, why: &str) -> Failure {
    failure!(ErrorCode::UsageTemplate, "the prompt template {file} cannot be used: {why}")
        .hint("mend it, or name another; no agent is started without its prompt")
}
