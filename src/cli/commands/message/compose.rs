//! Arguments that the message commands share.

use crate::cli::prelude::*;

/// The longest time to wait for an answer.
const LONGEST_WAIT: u64 = 30 * 86_400;

/// Options of every new message.
#[derive(Args)]
pub struct Extras {
    /// Value for programs; repeat
    #[arg(long, value_name = "KEY=VALUE")]
    pub payload: Vec<String>,
    /// Priority from -100 to 100; higher ones are read first
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub priority: i64,
    /// Require an answer
    #[arg(long)]
    pub requires_response: bool,
    /// Require an answer within this time (90s, 15m, 2h, 1d)
    #[arg(long, value_name = "DURATION")]
    pub within: Option<String>,
}

pub fn post(session: &mut Session, message: Draft) -> Result<Answer, Failure> {
    session.seal_request()?;
    let to = message.to.clone();
    let committed = session.ctx.commit(SendMessage { message })?;
    let mut text = format!("sent to {to} as {}", committed.outcome.id);
    if let Recipient::Role(role) = &to
        && !committed.board.rest.agents.values().any(|agent| agent.has(role))
    {
        text.push_str("; no agent has that role yet, so the first one that gets it will read the message");
    }
    Ok(Answer::new(committed.outcome, text).at(committed.board.revision))
}

impl Extras {
    /// A message without task and without a message that it replies to.
    pub fn draft(
        &self,
        session: &Session,
        to: Recipient,
        kind: MessageKind,
        subject: String,
        body: String,
    ) -> Result<Draft, Failure> {
        let payload = session.input.pairs(&self.payload)?;
        let requires_response = self.requires_response || self.within.is_some();
        let respond_by = self.within.as_deref().map(|text| answer_deadline(session, text)).transpose()?;
        let words = Draft::new(to, kind, subject, body);
        Ok(Draft { payload, priority: self.priority, requires_response, respond_by, ..words })
    }
}

/// The time until which an answer is expected.
fn answer_deadline(session: &Session, within: &str) -> Result<Wall, Failure> {
    let seconds = seconds(within).ok_or_else(|| {
        Failure::usage(format!("`{within}` is not a duration"))
            .hint("a number with s, m, h or d, such as 15m; at most 30d")
    })?;
    Ok(session.ctx.now.wall.plus_seconds(seconds))
}

fn seconds(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let each = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    let number = text.strip_suffix(unit).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    number.parse::<u64>().ok()?.checked_mul(each).filter(|seconds| (1..=LONGEST_WAIT).contains(seconds))
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn durations_are_numbers_with_a_unit() {
        assert_eq!(seconds("90s"), Some(90));
        assert_eq!(seconds("15m"), Some(900));
        assert_eq!(seconds("2h"), Some(7_200));
        assert_eq!(seconds("30d"), Some(30 * 86_400));
        for wrong in ["", "s", "0s", "15", "-1m", "+1m", "1.5h", "31d", "99999999999999999999d", "1w", "1é"]
        {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
