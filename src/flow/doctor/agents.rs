//! Tokens without an agent, agents whose token is lost, and missing pages that agents must read.

use super::{Finding, Scene};
use crate::flow::briefing::unreadable;
use crate::flow::context::token_hash;
use crate::flow::init::AGENT_SPECS;
use crate::flow::prelude::*;

pub fn tokens(scene: &Scene) -> Result<Vec<Finding>> {
    let Some(board) = scene.board() else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for path in scene.ctx.machine.token_files() {
        let name = path.file_name().unwrap_or_default();
        let id = name.to_str().and_then(|name| AgentId::new(name).ok());
        // Temporary files are handled elsewhere.
        if name.to_string_lossy().starts_with('.') || id.is_some_and(|id| board.agent(&id).is_some()) {
            continue;
        }
        found.push(
            Finding::new(
                "agent.stray_token",
                format!("{} is a token of no agent on this board", path.display()),
                "it has no effect, but looks valid",
                "moves it to .liza/trash",
            )
            .fixed_by(move |ctx| {
                let kept = ctx.worktrees().discard(&path)?;
                Ok(Some(format!("as {}", kept.display())))
            }),
        );
    }
    for (id, agent) in board.rest.agents.iter().filter(|(_, agent)| agent.is_active()) {
        let path = scene.ctx.machine.token_file(id);
        let what = match read_whole(&path, 4096) {
            Err(_) => format!("the token file of `{id}` is gone"),
            Ok((bytes, _)) if token_hash(String::from_utf8_lossy(&bytes).trim()) != agent.token_hash => {
                format!("the token file of `{id}` is not of its present registration")
            }
            Ok(_) => continue,
        };
        found.push(Finding::new(
            "agent.no_token",
            what,
            "a program that uses this file cannot act as that agent",
            format!("register it again (`liza agent register --id {id} --role …`), which ends its leases, or retire it"),
        ));
    }
    Ok(found)
}

/// liza starts no agent whose pages are missing.
pub fn pages(scene: &Scene) -> Result<Vec<Finding>> {
    let dir = scene.ctx.store.specs_location();
    let mut found = Vec::new();
    for (name, text) in AGENT_SPECS {
        let Some(why) = unreadable(&dir, Path::new(name)) else { continue };
        let finding = Finding::new(
            "specs.page",
            format!("{} {why}", dir.join(name).display()),
            "every agent must read it, and liza starts none without it",
            "restores liza's own version",
        );
        // Another file in its place may be a person's work.
        let free =
            fs::symlink_metadata(dir.join(name)).map_or(true, |meta| meta.is_file() && meta.len() == 0);
        found.push(if free {
            finding.fixed_by(move |ctx| Ok(ctx.store.install_page(name, text).map(|()| None)?))
        } else {
            Finding { remedy: "move that file away, then run `liza doctor --fix`".to_owned(), ..finding }
        });
    }
    Ok(found)
}
