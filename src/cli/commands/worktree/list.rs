use crate::cli::prelude::*;
use crate::flow::worktrees::{Place, list};

/// List worktrees with task, branch, size and whether they are unused
///
/// Example: liza worktree list --json
#[derive(Args)]
pub struct ListArgs {}

impl OnBoard for ListArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let places = list(&session.ctx)?;
        let total: u64 = places.iter().map(|place| place.bytes).sum();
        let text = table(&places, total);
        Ok(Answer::new(json!({ "worktrees": places, "bytes": total }), text))
    }
}

fn table(places: &[Place], total: u64) -> String {
    if places.is_empty() {
        return "there are no worktrees".to_owned();
    }
    let width = places.iter().map(|place| place.path.display().to_string().len()).max().unwrap_or(0);
    let purposes = places.iter().map(|place| place.purpose.as_str().len()).max().unwrap_or(0).max(6);
    let mut text = String::new();
    for place in places {
        let state = match (place.status, place.archived) {
            (Some(status), true) => format!("{status}, archived"),
            (Some(status), false) => status.to_string(),
            (None, _) => "-".to_owned(),
        };
        text.line(format!(
            "{}  {}  {}  {}  {}{}",
            pad_to(&place.path.display().to_string(), width),
            pad_to(place.purpose.as_str(), purposes),
            pad_to(&state, 20),
            pad_to(&bytes(place.bytes), 10),
            pad_to(place.branch.as_deref().unwrap_or("(no branch)"), 16),
            if place.dirty { "  uncommitted work" } else { "" },
        ));
        let may = if place.prunable { "may go" } else { "stays" };
        text.line(format!("  {may}: {}", place.why));
    }
    text.line(format!("{} in all", bytes(total)));
    text
}
