//! Tokens without an agent, and agents whose token is lost.

use crate::board::AgentId;
use crate::git::Worktrees;

use super::{Finding, Scene};
use crate::flow::context::token_hash;
use crate::flow::failure::Failure;

pub fn tokens(scene: &Scene) -> Result<Vec<Finding>, Failure> {
    let Some(board) = scene.board() else { return Ok(Vec::new()) };
    let dir = scene.ctx.store.layout().tokens();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| AgentId::new(name).ok());
        // Temporary files are somebody else's concern.
        if name.to_string_lossy().starts_with('.') || id.is_some_and(|id| board.agent(&id).is_some()) {
            continue;
        }
        let path = entry.path();
        found.push(
            Finding::new(
                "agent.stray_token",
                format!("{} is the token of nobody on this board", path.display()),
                "it opens nothing, and looks as if it did",
                "it goes to .liza/trash",
            )
            .mended_by(move |ctx| {
                let (home, trash) = (ctx.worktrees_dir(), ctx.store.layout().trash());
                let kept = Worktrees::new(&ctx.repo, &home, &trash).discard(&path)?;
                Ok(Some(format!("as {}", kept.display())))
            }),
        );
    }
    for (id, agent) in board.rest.agents.iter().filter(|(_, agent)| agent.is_active()) {
        let path = dir.join(id.as_str());
        let what = match crate::store::files::read_whole(&path, 4096) {
            Err(_) => format!("the token file of `{id}` is gone"),
            Ok((bytes, _)) if token_hash(String::from_utf8_lossy(&bytes).trim()) != agent.token_hash => {
                format!("the token file of `{id}` is not of its present registration")
            }
            Ok(_) => continue,
        };
        found.push(Finding::new(
            "agent.no_token",
            what,
            "whoever starts that agent by its file cannot act for it",
            format!("register it again (`liza agent register --id {id} --role …`), which ends its leases, or retire it"),
        ));
    }
    Ok(found)
}
