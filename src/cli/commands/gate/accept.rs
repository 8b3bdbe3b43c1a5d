use crate::cli::prelude::*;
use crate::flow::gates::accepted::{Changed, changed};

/// Accept the present gate definitions in liza.yaml (people only)
///
/// A gate runs as a person accepted it. If liza.yaml defines it differently, approvals and merges stop until a person
/// has seen the difference and accepts it. --dry-run shows the difference and accepts nothing.
///
/// Example: liza gate accept
#[derive(Args)]
pub struct AcceptArgs {
    /// Show the difference and accept nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl OnBoard for AcceptArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        session.people_only("accept a changed gate definition")?;
        let snapshot = session.ctx.read(&Needs::Nothing)?;
        let changes = changed(&snapshot.board, &session.ctx.project_config()?);
        let revision = snapshot.board.revision;
        let shown = differences(&changes);
        if self.dry_run || changes.is_empty() {
            let text = match changes.is_empty() {
                true => "no gate has changed since it was accepted".to_owned(),
                false => format!("{shown}\nnothing was accepted (--dry-run)"),
            };
            return Ok(Answer::new(json!({ "changed": changes, "accepted": false }), text).at(revision));
        }
        let gates = changes.into_iter().map(GateDefinition::from).collect();
        session.commit(AcceptGates { gates }, |accepted| {
            format!("{shown}\naccepted: {}", commas(&accepted.gates))
        })
    }
}

fn differences(changes: &[Changed]) -> String {
    let line = |change: &Changed| match &change.accepted {
        None => format!("{}: new\n  + {}", change.gate, shown_line(&change.now)),
        Some(before) => {
            format!("{}:\n  - {}\n  + {}", change.gate, shown_line(before), shown_line(&change.now))
        }
    };
    changes.iter().map(line).collect::<Vec<_>>().join("\n")
}
