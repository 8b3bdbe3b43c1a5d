use crate::cli::prelude::*;
use crate::flow::verify as verify_flow;

/// Check that board, journal and repository agree
///
/// Checks the hash chain of the journal, replays the journal against the board, and checks that merged work is in
/// integration. Exit 6 at the first difference.
///
/// Example: liza verify
#[derive(Args)]
pub struct VerifyArgs {}

impl OnBoard for VerifyArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let checks = verify_flow::verify(&session.ctx)?;
        let mut text = String::new();
        for check in &checks {
            text.line(format!("{} {}: {}", if check.ok { "ok  " } else { "FAIL" }, check.name, check.detail));
        }
        match checks.iter().find(|check| !check.ok) {
            None => Ok(Answer::new(json!({ "checks": checks }), text)),
            Some(broken) => {
                Err(Failure::new(ErrorCode::BoardVerify, format!("{}: {}", broken.name, broken.detail))
                    .hint("`liza doctor` shows what to do; nothing was changed")
                    .detail("checks", serde_json::to_value(&checks).unwrap_or_default()))
            }
        }
    }
}
