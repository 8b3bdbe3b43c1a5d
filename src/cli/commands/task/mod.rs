mod abandon;
pub mod add;
mod block;
mod checkpoint;
pub mod claim;
mod edit;
mod finalize;
pub mod flags;
mod handoff;
mod list;
mod release;
mod renew;
mod rescope;
mod show;
mod submit;
mod sync;
mod unblock;

crate::cli::session::commands! {
    /// Add, claim, checkpoint, submit and end tasks
    ///
    /// Example: liza task list --ready
    pub enum TaskCommand {
        Add(add::AddArgs),
        Edit(edit::EditArgs),
        Finalize(finalize::FinalizeArgs),
        List(list::ListArgs),
        Show(show::ShowArgs),
        Claim(claim::ClaimArgs),
        Renew(renew::RenewArgs),
        Checkpoint(checkpoint::CheckpointArgs),
        Submit(submit::SubmitArgs),
        Block(block::BlockArgs),
        Unblock(unblock::UnblockArgs),
        Rescope(rescope::RescopeArgs),
        Abandon(abandon::AbandonArgs),
        Release(release::ReleaseArgs),
        Handoff(handoff::HandoffArgs),
        Sync(sync::SyncArgs),
    }
}
