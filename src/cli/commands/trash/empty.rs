use crate::cli::prelude::*;
use crate::flow::archive::KEEP_DAYS;
use crate::flow::gc::empty_trash;

/// Permanently delete old entries of the trash (people only)
///
/// Example: liza trash empty --older-than 30 --dry-run
#[derive(Args)]
pub struct EmptyArgs {
    /// Minimum time in the trash, in days
    #[arg(long, value_name = "DAYS", default_value_t = KEEP_DAYS)]
    pub older_than: u64,
    /// Show what would be done; change nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl OnBoard for EmptyArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        session.people_only("empty the trash")?;
        session.ctx.store.refuse_other_version()?;
        let deleted = empty_trash(&session.ctx, self.older_than, self.dry_run)?;
        let freed: u64 = deleted.iter().map(|removed| removed.bytes).sum();
        let verb = if self.dry_run { "would be deleted" } else { "deleted" };
        let mut text: String = deleted
            .iter()
            .map(|removed| format!("{verb}: {} ({})\n", removed.name, bytes(removed.bytes)))
            .collect();
        let sum = if self.dry_run { "would be freed" } else { "freed" };
        text.line(format!("{} {sum}", bytes(freed)));
        let data = json!({ "deleted": deleted, "freed": freed, "dry_run": self.dry_run });
        Ok(Answer::new(data, text))
    }
}
