mod apply;
mod check;
mod create;
mod review;

use crate::cli::prelude::*;

commands! {
    /// Create, check, review or apply a patch bundle file
    ///
    /// Example: liza bundle create t1
    pub enum BundleCommand {
        Create(create::CreateArgs),
        Check(check::CheckArgs),
        Review(review::ReviewArgs),
        Apply(apply::ApplyArgs),
    }
}

fn listed(files: &[String]) -> String {
    files.iter().map(|name| format!("\n  {}", shown_line(name))).collect()
}

/// Binds the request to the content of the file, not to its name.
fn seal_bytes(session: &mut Session, bytes: &[u8]) {
    if let Some(request) = &mut session.ctx.request {
        let both = format!("{}{}", request.digest, crate::wire::bundle::checksum(bytes));
        request.digest = crate::wire::bundle::checksum(both.as_bytes());
    }
}
