//! Reads and changes single settings of `liza.yaml`.

use super::config_file::{LARGEST_CONFIG, read_config};
use super::gates::accepted::{self, changed, definitions};
use super::prelude::*;
use crate::store::files::replace_shared;
use crate::wire::read_foreign_value;
use crate::wire::yaml_edit::{self, Step, inline_value, path_of, target_of, value_at, words};

/// Every setting with its meaning: `liza config reference`.
pub const REFERENCE: &str = include_str!("../../templates/liza.yaml");

/// One setting.
#[derive(Debug, Serialize)]
pub struct Setting {
    pub key: String,
    /// The effective value; null if nothing is set and there is no default.
    pub value: Value,
    /// Whether liza.yaml sets it, or it is a default.
    pub set: bool,
}

/// A changed setting.
#[derive(Debug, Serialize)]
pub struct Changed {
    pub key: String,
    pub before: Value,
    pub value: Value,
    /// Gates whose definition was accepted with it.
    pub accepted: Vec<String>,
    /// Gates that it changes and that were not as a person accepted them before: they wait for `liza gate accept`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_accepted: Vec<String>,
}

/// The effective value of this key: from liza.yaml, else the default.
pub fn get(ctx: &Context, key: &str) -> Result<Setting> {
    let (_, tree) = read(ctx)?;
    let usage = |why: String| Failure::usage(why).hint(KEYS);
    let first = words(key).map_err(usage)?.into_iter().next().unwrap_or_default();
    known_key(&first)?;
    let said = path_of(key, &tree).ok().and_then(|path| value_at(&tree, &path).cloned());
    if let Some(value) = said.filter(|value| !value.is_null()) {
        return Ok(Setting { key: key.to_owned(), value, set: true });
    }
    let defaults = serde_json::to_value(ctx.project_config()?).unwrap_or_default();
    let value = path_of(key, &defaults).ok().and_then(|path| value_at(&defaults, &path).cloned());
    Ok(Setting { key: key.to_owned(), value: value.unwrap_or_default(), set: false })
}

const KEYS: &str = "`liza config reference` lists every key";

fn known_key(first: &str) -> Result<()> {
    let schema = crate::wire::schema::schema("config").unwrap_or_default();
    let keys = schema.get("properties").and_then(Value::as_object);
    let known = keys.is_some_and(|keys| keys.contains_key(first));
    if known {
        return Ok(());
    }
    Err(Failure::usage(format!("liza.yaml knows no key `{}`", shown_line(first))).hint(KEYS))
}

fn read(ctx: &Context) -> Result<(String, Value)> {
    let path = ctx.root().join("liza.yaml");
    let text = match read_whole(&path, LARGEST_CONFIG as u64) {
        Ok((bytes, _)) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::io("read", &path, &error)),
    };
    if text.trim().is_empty() {
        return Ok((text, json!({})));
    }
    read_config(text.as_bytes())?;
    let tree = read_foreign_value(text.as_bytes(), Limits::of_bytes(LARGEST_CONFIG))
        .map_err(|error| failure!(ErrorCode::UsageConfig, "liza.yaml: {error}"))?;
    Ok((text, tree))
}

/// Changes one setting for a person. This also accepts a gate defined that way, and no other.
pub fn set(ctx: &Context, key: &str, value: &str) -> Result<Changed> {
    let (changed, before, after) = edit(ctx, key, value)?;
    let (accepted, not_accepted) = accept(ctx, &before, &after)?;
    Ok(Changed { accepted, not_accepted, ..changed })
}

/// Changes one setting. The file stays as it was or gets exactly this change; an invalid value leaves it unchanged.
pub(super) fn change(ctx: &Context, key: &str, value: &str) -> Result<Changed> {
    Ok(edit(ctx, key, value)?.0)
}

/// The change, and the settings before and after it.
fn edit(ctx: &Context, key: &str, value: &str) -> Result<(Changed, ProjectConfig, ProjectConfig)> {
    let _one_at_a_time = ctx.machine.lock_checkout(ctx.root())?;
    let (text, tree) = read(ctx)?;
    let usage = |why: String| Failure::usage(why).hint(KEYS);
    let first = words(key).map_err(usage)?.into_iter().next().unwrap_or_default();
    known_key(&first)?;
    let value = inline_value(value).unwrap_or_else(|_| Value::from(value));
    let (path, target) = target(key, &first, &tree, value.clone()).map_err(usage)?;
    let before = value_at(&tree, &path).cloned().unwrap_or_default();
    let base = if text.trim().is_empty() { "version: 1\n" } else { text.as_str() };
    let edited = yaml_edit::set(base, &path, &target)
        .map_err(|why| Failure::new(ErrorCode::UsageConfig, why).hint("nothing was changed"))?;
    let after = read_config(edited.as_bytes()).map_err(|failure| {
        let why = failure.message.strip_prefix("liza.yaml: ").unwrap_or(&failure.message).to_owned();
        failure!(ErrorCode::UsageConfig, "`{key}` cannot be {}: {why}", yaml_edit::flow(&value))
            .hint("nothing was changed; `liza config reference` says what fits")
    })?;
    let former = read_config(base.as_bytes())?;
    write(ctx, &text, &edited)?;
    let (key, accepted, not_accepted) = (key.to_owned(), Vec::new(), Vec::new());
    Ok((Changed { key, before, value: target, accepted, not_accepted }, former, after))
}

/// Where the value goes, and the value itself. The first element of a missing list makes the list.
fn target(key: &str, first: &str, tree: &Value, value: Value) -> Result<(Vec<Step>, Value), String> {
    let is_list = matches!(first, "gates" | "team") && tree.get(first).is_none_or(Value::is_null);
    if !is_list || key == first {
        return target_of(key, tree, value);
    }
    let (_, element) = target_of(key, &json!({ first: [] }), value)?;
    Ok((vec![Step::Key(first.to_owned())], json!([element])))
}

/// Replaces the file, unless another process changed it meanwhile.
pub(super) fn write(ctx: &Context, before: &str, after: &str) -> Result<()> {
    let path = ctx.root().join("liza.yaml");
    let meta = fs::symlink_metadata(&path);
    if meta.as_ref().is_ok_and(|meta| !meta.is_file()) {
        return Err(failure!(ErrorCode::UsageConfig, "liza.yaml is a link or no file, so it is not written")
            .hint("change what it leads to with an editor"));
    }
    let now = match read_whole(&path, LARGEST_CONFIG as u64) {
        Ok((bytes, _)) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(Failure::io("read", &path, &error)),
    };
    if now != before.as_bytes() {
        return Err(Failure::new(Code::Edited, "another process changed liza.yaml meanwhile")
            .hint("nothing was changed; repeat the command"));
    }
    crash::point("config.write");
    Ok(replace_shared(&path, after.as_bytes())?)
}

/// Accepts the gates that a change of the file changes; none if there is no board yet. A gate that was not as a person accepted it
/// before the change is left for `liza gate accept`, which shows the difference: another hand may have changed it.
fn accept(
    ctx: &Context,
    before: &ProjectConfig,
    after: &ProjectConfig,
) -> Result<(Vec<String>, Vec<String>)> {
    let Ok(snapshot) = ctx.read(&Needs::Nothing) else { return Ok((Vec::new(), Vec::new())) };
    let former = definitions(before);
    let untouched = |gate: &accepted::Changed| {
        former.iter().any(|known| known.name == gate.gate && known.definition == gate.now)
    };
    let wrong: BTreeSet<String> = changed(&snapshot.board, before)
        .into_iter()
        .filter(|gate| gate.accepted.is_some())
        .map(|gate| gate.gate)
        .collect();
    let touched = changed(&snapshot.board, after).into_iter().filter(|gate| !untouched(gate));
    let (waiting, good): (Vec<_>, Vec<_>) = touched.partition(|gate| wrong.contains(&gate.gate));
    let waiting = waiting.into_iter().map(|gate| gate.gate).collect();
    let gates: Vec<GateDefinition> = good.into_iter().map(GateDefinition::from).collect();
    if gates.is_empty() {
        return Ok((Vec::new(), waiting));
    }
    Ok((ctx.commit(AcceptGates { gates })?.outcome.gates, waiting))
}
