//! The estimate of the planner's command: exactly one JSON value of the schema `route/1`.

use super::prelude::*;
use crate::board::route::Estimate;
use crate::board::task::Risk;

/// The name of the schema, in its own field.
pub const ROUTE_SCHEMA: &str = "route/1";
/// The longest answer.
const LONGEST: usize = 16 * 1024;
/// The longest reason.
const LONGEST_WHY: usize = 2000;
/// A year.
const MOST_SECONDS: u64 = 366 * 24 * 3600;

/// An estimate as the agent answers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteAnswer {
    /// `route/1`.
    #[schemars(extend("const" = "route/1"))]
    pub schema: String,
    /// The most seconds that one agent needs.
    pub t_max_s: u64,
    /// The reason for that number, and what is uncertain.
    #[schemars(length(min = 1))]
    pub t_why: String,
    /// One or two files and a few lines.
    pub tiny: bool,
    /// There are no open questions.
    pub clear: bool,
    /// The risk if it is done wrong.
    pub risk: Risk,
}

/// Reads an answer: one value, nothing before or after it, no unknown field.
pub fn read_route(text: &str) -> Result<Estimate, String> {
    if text.len() > LONGEST {
        return Err(format!("it is {} bytes long, more than {LONGEST}", text.len()));
    }
    let answer: RouteAnswer = serde_json::from_str(text.trim()).map_err(|error| error.to_string())?;
    let RouteAnswer { schema, t_max_s, t_why, tiny, clear, risk } = answer;
    if schema != ROUTE_SCHEMA {
        return Err(format!("schema is `{}`", schema.escape_debug()));
    }
    if t_why.trim().is_empty() || t_why.len() > LONGEST_WHY {
        return Err(format!("t_why is a text of 1 to {LONGEST_WHY} bytes"));
    }
    if t_max_s > MOST_SECONDS {
        return Err(format!("t_max_s is above {MOST_SECONDS}"));
    }
    Ok(Estimate { t_max_s, t_why, tiny, clear, risk })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        r#"{"schema":"route/1","t_max_s":60,"t_why":"one line","tiny":true,"clear":true,"risk":"low"}"#;

    #[test]
    fn answer_is_exactly_one_value() {
        let read = read_route(&format!("\n{GOOD}\n")).expect("one value");
        assert_eq!((read.t_max_s, read.risk), (60, Risk::Low));
        for wrong in [
            String::new(),
            format!("Here it is: {GOOD}"),
            format!("```json\n{GOOD}\n```"),
            format!("{GOOD}{GOOD}"),
            GOOD[..40].to_owned(),
            GOOD.replace("route/1", "route/2"),
            GOOD.replace("\"tiny\":true", "\"tiny\":true,\"more\":1"),
            GOOD.replace("one line", " "),
            GOOD.replace("60", "-60"),
            GOOD.replace("\"low\"", "\"none\""),
            format!("{GOOD}{}", " ".repeat(LONGEST)),
        ] {
            assert!(read_route(&wrong).is_err(), "{wrong}");
        }
    }
}
