use crate::cli::prelude::*;
use crate::store::trash::Removed;

/// List the entries of .liza/trash with size, age and origin
///
/// Example: liza trash list
#[derive(Args)]
pub struct ListArgs {}

impl OnBoard for ListArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let now = session.ctx.now.wall;
        let removed = session.ctx.machine.removed()?;
        let total: u64 = removed.iter().map(|removed| removed.bytes).sum();
        let row = |removed: &Removed| {
            let mut row = json!(removed);
            row["age_seconds"] = json!(removed.age_seconds(now));
            row
        };
        let rows: Vec<Value> = removed.iter().map(row).collect();
        let line = |removed: &Removed| {
            let origin = removed.origin.as_ref().map_or("?".to_owned(), |path| path.display().to_string());
            format!(
                "{}  {}  {}  {}  from {origin}\n",
                pad_to(&removed.name, 20),
                pad_to(removed.kind.as_str(), 8),
                pad_to(&bytes(removed.bytes), 10),
                pad_to(&ago(now.since(removed.since)), 12),
            )
        };
        let mut text: String = removed.iter().map(line).collect();
        if removed.is_empty() {
            text.push_str("the trash is empty");
        } else {
            text.line(format!("{} in all; `liza trash restore NAME` restores one", bytes(total)));
        }
        Ok(Answer::new(json!({ "trash": rows, "bytes": total }), text))
    }
}
