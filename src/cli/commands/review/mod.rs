mod approve;
pub mod claim;
mod discuss;
mod feedback;
mod list;
mod reject;
mod release;
mod renew;
mod show;

use crate::cli::prelude::*;

commands! {
    /// Review the submitted work of another agent
    ///
    /// Example: liza review claim t1
    pub enum ReviewCommand {
        List(list::ListArgs),
        Claim(claim::ClaimArgs),
        Renew(renew::RenewArgs),
        Release(release::ReleaseArgs),
        Show(show::ShowArgs),
        Approve(approve::ApproveArgs),
        Reject(reject::RejectArgs),
        Discuss(discuss::DiscussArgs),
    }
}

fn under_review(status: Status) -> bool {
    matches!(status, Status::ReadyForReview | Status::Approved)
}
