//! What a session may use comes to its end. Nobody does anything wrong there; what is left is for saving the work.

use crate::board::oversight::Behaviour;
use crate::policy::overseer::config::OverseerConfig;
use crate::policy::overseer::detection::Detection;

use super::looks::Looks;

const WARNING_PER_CENT: u128 = 75;
const CRITICAL_PER_CENT: u128 = 90;

pub fn tokens(looks: &Looks<'_>, config: &OverseerConfig) -> Option<Detection> {
    let used = looks.latest().tokens;
    match looks.latest().token_limit.filter(|limit| *limit > 0) {
        Some(limit) => spent(looks, Behaviour::TokenExhaustion, used, limit, "tokens"),
        None if used <= config.token_warning_threshold => None,
        None => spent(looks, Behaviour::TokenExhaustion, used, config.max_tokens, "tokens"),
    }
}

pub fn time(looks: &Looks<'_>, config: &OverseerConfig) -> Option<Detection> {
    let limit = looks.latest().wall_limit.filter(|limit| *limit > 0).unwrap_or(config.timeout_seconds);
    spent(looks, Behaviour::Timeout, looks.latest().elapsed_seconds, limit, "seconds")
}

fn spent(
    looks: &Looks<'_>,
    behaviour: Behaviour,
    used: u64,
    limit: u64,
    what: &'static str,
) -> Option<Detection> {
    if limit == 0 {
        return None;
    }
    let hundredths = u128::from(used) * 100;
    let reached = |per_cent: u128| hundredths >= u128::from(limit) * per_cent;
    let evidence = vec![
        format!("{used} of {limit} {what} are used, {} %", hundredths / u128::from(limit)),
        format!("{} {what} are left", limit.saturating_sub(used)),
    ];
    if reached(CRITICAL_PER_CENT) {
        Some(Detection::critical(behaviour, looks.latest(), 1.0, evidence))
    } else if reached(WARNING_PER_CENT) {
        Some(Detection::warning(behaviour, looks.latest(), 1.0, evidence))
    } else {
        None
    }
}
