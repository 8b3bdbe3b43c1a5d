use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::flow::Failure;
use crate::flow::archive::KEEP_DAYS;
use crate::flow::gc::empty_trash;
use crate::flow::trash::restore;
use crate::store::trash::Removed;
use crate::text::{ago, bytes, pad_to};

use super::super::Session;
use super::super::ui::Answer;
use super::people_only;

/// Look at what was removed, bring it back, or delete it for good
///
/// Example: liza trash list
#[derive(Subcommand)]
pub enum TrashCommand {
    List(ListArgs),
    Restore(RestoreArgs),
    Empty(EmptyArgs),
}

/// List what is in .liza/trash: size, age and where it came from
///
/// Example: liza trash list
#[derive(Args)]
pub struct ListArgs {}

/// Move something back to where it was, if that place is free (people)
///
/// A worktree becomes one again, on its branch.
///
/// Example: liza trash restore t1
#[derive(Args)]
pub struct RestoreArgs {
    /// Its name in `liza trash list`
    pub name: String,
}

/// Delete for good what has been in the trash long enough (people)
///
/// Example: liza trash empty --older-than 30 --dry-run
#[derive(Args)]
pub struct EmptyArgs {
    /// What has been there at least so many days
    #[arg(long, value_name = "DAYS", default_value_t = KEEP_DAYS)]
    pub older_than: u64,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

pub fn run(session: &mut Session, command: &TrashCommand) -> Result<Answer, Failure> {
    match command {
        TrashCommand::List(_) => list(session),
        TrashCommand::Restore(args) => {
            people_only(session, "take things out of the trash")?;
            let place = restore(&session.ctx, &args.name)?;
            let text = format!("{} is back in {}", args.name, place.display());
            Ok(Answer::new(json!({ "name": args.name, "path": place }), text))
        }
        TrashCommand::Empty(args) => {
            people_only(session, "delete what is in the trash")?;
            session.ctx.store.refuse_other_version()?;
            let deleted = empty_trash(&session.ctx, args.older_than, args.dry_run)?;
            let freed: u64 = deleted.iter().map(|removed| removed.bytes).sum();
            let verb = if args.dry_run { "would be deleted" } else { "deleted" };
            let mut text: String = deleted
                .iter()
                .map(|removed| format!("{verb}: {} ({})\n", removed.name, bytes(removed.bytes)))
                .collect();
            let sum = if args.dry_run { "would be freed" } else { "freed" };
            text.push_str(&format!("{} {sum}\n", bytes(freed)));
            let data = json!({ "deleted": deleted, "freed": freed, "dry_run": args.dry_run });
            Ok(Answer::new(data, text))
        }
    }
}

fn list(session: &Session) -> Result<Answer, Failure> {
    let now = session.ctx.now.wall;
    let removed = session.ctx.store.removed()?;
    let total: u64 = removed.iter().map(|removed| removed.bytes).sum();
    let rows: Vec<Value> = removed
        .iter()
        .map(|removed| {
            let mut row = serde_json::to_value(removed).unwrap_or_default();
            row["age_seconds"] = json!(removed.age_seconds(now));
            row
        })
        .collect();
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
        text.push_str(&format!("{} in all; `liza trash restore NAME` brings one back\n", bytes(total)));
    }
    Ok(Answer::new(json!({ "trash": rows, "bytes": total }), text))
}
