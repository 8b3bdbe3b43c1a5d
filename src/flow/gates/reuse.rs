//! Earlier results: a pass is reused for the same tree, command, settings and environment.
//!
//! A failure is not: the caller may have fixed its cause outside of the tree.

use std::os::unix::ffi::OsStrExt;

use super::prune;
use crate::flow::prelude::*;
use crate::store::files;

/// Raised when a change in running gates invalidates earlier results.
const FORMAT: u32 = 3;
const LARGEST: usize = 64 * 1024;
/// How many results are kept.
const MOST: usize = 2_000;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Former {
    format: u32,
    key: String,
    outcome: GateOutcome,
}

/// The cache key of this gate's result on this tree under these circumstances.
pub fn key_of(
    tree: &CommitId,
    gate: &Gate,
    expected: Option<&str>,
    environment: &BTreeMap<OsString, String>,
    prepared: Option<&str>,
) -> String {
    let mut settings = serde_json::json!({
        "format": FORMAT,
        "tree": tree,
        "gate": gate.name,
        "command": gate.command,
        "adapter": gate.adapter,
        "report": gate.report,
        "expected": expected,
        "at_most": gate.at_most,
        "at_least": gate.at_least,
        "flaky_retries": gate.flaky_retries,
    });
    if let Some(prepared) = prepared {
        settings["prepared"] = prepared.into();
    }
    if let Some(of) = gate.of {
        settings["of"] = json!(of);
    }
    let mut hasher = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    add(settings.to_string().as_bytes());
    for (name, value) in environment {
        add(name.as_bytes());
        add(value.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

fn directory(ctx: &Context) -> PathBuf {
    ctx.machine.gates().join("cache")
}

/// The earlier result; an unreadable file counts as none.
pub fn find(ctx: &Context, key: &str, binds: bool) -> Option<GateOutcome> {
    let (bytes, _) = files::read_whole(&directory(ctx).join(format!("{key}.json")), LARGEST as u64).ok()?;
    // Any process can write such a file: where a pass decides something, it counts only if liza has recorded it.
    let board = ctx.store.read(&Needs::Nothing).ok()?.board;
    if binds && !board.rest.gate_ledger.has_pass(key, &crate::wire::state::hash(&bytes)) {
        return None;
    }
    let former: Former = read_foreign(&bytes, Limits::of_bytes(LARGEST)).ok()?;
    let holds = former.format == FORMAT && former.key == key && former.outcome.status == GateStatus::Pass;
    let mut outcome = holds.then_some(former.outcome)?;
    outcome.reused = true;
    outcome.log = outcome.log.filter(|log| ctx.root().join(log).exists());
    Some(outcome)
}

/// Keeps a pass, even a flaky one, which stays marked as such. If it cannot be kept, that only costs time.
pub fn keep(ctx: &Context, key: &str, outcome: &GateOutcome, binds: bool) {
    if outcome.status != GateStatus::Pass {
        return;
    }
    let former = Former { format: FORMAT, key: key.to_owned(), outcome: outcome.clone() };
    let dir = directory(ctx);
    if let Ok(text) = serde_json::to_vec(&former)
        && files::make_private_dirs(ctx.machine.home(), &dir).is_ok()
        && files::replace(&dir.join(format!("{key}.json")), &text).is_ok()
        && binds
    {
        let pass = RecordPass { key: key.to_owned(), outcome: crate::wire::state::hash(&text) };
        let _ = ctx.commit_as_liza(pass);
    }
    prune(&dir, MOST, |_| true);
}
