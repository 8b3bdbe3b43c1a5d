//! Checks that an agent's answer is exactly one value of its schema, and names the wrong fields.

use std::fmt;

use serde::de::DeserializeOwned;

use super::dispatch::{Slice, cross_rules};
use super::results::{Common, SliceResult, SupervisorResult};
use crate::board::result::ResultStatus;
use crate::board::task::Head;
use crate::board::{Role, TaskId};
use crate::text::clipped;
use crate::wire::{Limits, read_foreign};

/// The largest accepted result.
pub const LARGEST_RESULT: usize = 512 * 1024;
/// The deepest nesting of a result.
const DEEPEST_RESULT: usize = 24;

/// A problem of a value, and its field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The path of the field, such as `evidence[2].exit`; `(message)` for the text as a whole.
    pub field: String,
    pub why: String,
}

/// The field that stands for the text as a whole.
pub const WHOLE: &str = "(message)";

impl Problem {
    pub fn new(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self { field: field.into(), why: why.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.why)
    }
}

/// All problems in one line.
pub fn listed(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// BLAKE3 of these bytes, as a task names its result.
pub fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Whether a text has the form of the id of a scenario.
pub fn is_scenario(text: &str) -> bool {
    let digits =
        |rest: &str| rest.len() == 12 && rest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    text.strip_prefix("scenario-").is_some_and(digits)
}

/// The expected result.
#[derive(Debug, Clone)]
pub struct Expected<'e> {
    pub role: &'e Role,
    pub slice_id: &'e TaskId,
    /// The scenario of the slice, if known.
    pub ssot_id: Option<&'e str>,
    /// Whether it is the plan of a workstream, or a merge slice.
    pub shape: Shape,
}

/// What a supervisor's result must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Plan,
    Merge,
    Other,
}

impl Shape {
    pub fn of(head: &Head) -> Self {
        if head.is_stream_plan() {
            Self::Plan
        } else if head.is_merge_slice() {
            Self::Merge
        } else {
            Self::Other
        }
    }
}

/// The result in `bytes`, if they are exactly one JSON value of the schema of this slice; otherwise all problems.
pub fn read_result(bytes: &[u8], expected: &Expected<'_>) -> Result<SliceResult, Vec<Problem>> {
    let whole = |why: String| vec![Problem::new(WHOLE, why)];
    if bytes.len() > LARGEST_RESULT {
        return Err(whole(format!("it has {} bytes; at most {LARGEST_RESULT} are read", bytes.len())));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| whole("it is not valid UTF-8".to_owned()))?;
    exactly_one_value(text).map_err(whole)?;
    let result = match expected.role.as_str() {
        "supervisor" => SliceResult::Supervisor(typed(bytes)?),
        "operator" => SliceResult::Operator(typed(bytes)?),
        "auditor" => SliceResult::Audit(typed(bytes)?),
        _ if expected.role.codes() => SliceResult::Coder(typed(bytes)?),
        other => return Err(whole(format!("the role {other} does not answer with JSON"))),
    };
    let problems = problems_of(&result, expected);
    if problems.is_empty() { Ok(result) } else { Err(problems) }
}

fn typed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Vec<Problem>> {
    let limits = Limits { bytes: LARGEST_RESULT, depth: DEEPEST_RESULT, tokens: LARGEST_RESULT };
    read_foreign(bytes, limits).map_err(|error| {
        let field = error.path.clone().or_else(|| quoted_field(&error.message));
        let line = error.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        vec![Problem::new(field.unwrap_or_else(|| WHOLE.to_owned()), format!("{line}{}", error.message))]
    })
}

/// The field of a message such as "missing field `x`".
fn quoted_field(message: &str) -> Option<String> {
    let about = ["missing field `", "unknown field `"];
    let rest = about.iter().find_map(|start| message.strip_prefix(start))?;
    rest.split('`').next().map(str::to_owned)
}

/// Refuses everything except one JSON object with white space around it, and says what it is instead.
fn exactly_one_value(text: &str) -> Result<(), String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("it is empty; expected one JSON object".to_owned());
    }
    if text.starts_with("```") || text.starts_with("~~~") {
        return Err("it is in a code fence; expected one JSON object and nothing else".to_owned());
    }
    if !text.starts_with('{') {
        let begin = clipped(text.lines().next().unwrap_or_default(), 40);
        return Err(format!("it begins with {begin:?}; expected one JSON object and nothing else"));
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => {}
        Some(Err(error)) if error.is_eof() => {
            return Err(format!("it ends before the JSON object does: {error}"));
        }
        Some(Err(error)) => return Err(format!("it is not JSON: {error}")),
        None => return Err("it is empty; expected one JSON object".to_owned()),
    }
    let rest = text[values.byte_offset()..].trim();
    if rest.is_empty() {
        return Ok(());
    }
    if rest.starts_with(['{', '[']) {
        return Err("it holds more than one JSON value; expected exactly one".to_owned());
    }
    Err(format!("text follows the JSON object: {:?}", clipped(rest, 40)))
}

fn problems_of(result: &SliceResult, expected: &Expected<'_>) -> Vec<Problem> {
    let mut found = Vec::new();
    let Common { ssot_id, slice_id, status, summary, blocked_reason, .. } = result.common();
    if slice_id != expected.slice_id {
        let why = format!("is {slice_id}, but this is slice {}", expected.slice_id);
        found.push(Problem::new("slice_id", why));
    }
    match expected.ssot_id {
        Some(wanted) if ssot_id != wanted => {
            found.push(Problem::new("ssot_id", format!("is {}, not {wanted}", clipped(ssot_id, 40))));
        }
        None if !is_scenario(ssot_id) => {
            found.push(Problem::new("ssot_id", "must be `scenario-` and 12 hexadecimal digits"));
        }
        _ => {}
    }
    if summary.trim().is_empty() {
        found.push(Problem::new("summary", "is empty"));
    }
    if status == ResultStatus::Blocked && blocked_reason.is_none_or(|reason| reason.trim().is_empty()) {
        found.push(Problem::new("blocked_reason", "is required if the status is blocked"));
    }
    if let SliceResult::Supervisor(result) = result {
        found.extend(supervisor_problems(result, expected.shape));
    }
    if let SliceResult::Audit(result) = result {
        use super::results::AuditVerdict;
        if result.verdict == AuditVerdict::NeedsEvidence && result.evidence_requests.is_empty() {
            found.push(Problem::new(
                "evidence_requests",
                "must name the requested evidence for NEEDS_EVIDENCE",
            ));
        }
        if result.verdict == AuditVerdict::Block && result.findings.is_empty() {
            found.push(Problem::new("findings", "must name the reason for BLOCK"));
        }
    }
    found
}

fn supervisor_problems(result: &SupervisorResult, shape: Shape) -> Vec<Problem> {
    let mut found = Vec::new();
    let complete = result.status == ResultStatus::Complete;
    match (&result.dispatch_plan, shape) {
        (None, Shape::Plan) if complete => {
            found.push(Problem::new("dispatch_plan", "a complete plan must have one"));
        }
        (Some(_), Shape::Merge) => found.push(Problem::new("dispatch_plan", "a merge slice must have none")),
        _ => {}
    }
    if shape == Shape::Merge && complete && result.checks.is_empty() {
        found.push(Problem::new("checks", "a merge slice names at least one check of the whole"));
    }
    for (at, slice) in result.dispatch_plan.iter().flat_map(|plan| &plan.slices).enumerate() {
        let field = |problem: Problem| Problem {
            field: format!("dispatch_plan.slices[{at}].{}", problem.field),
            ..problem
        };
        let rules = cross_rules(&Slice {
            agent_type: slice.agent_type,
            slice_kind: slice.slice_kind,
            timebox_minutes: Some(slice.timebox_minutes),
            ownership_paths: &slice.ownership_paths,
            allowed_paths: &slice.allowed_paths,
        });
        found.extend(rules.into_iter().chain(slice.task_contract.problems("task_contract")).map(field));
    }
    found
}
