//! The JSON Schemas of dispatches and results.

use serde_json::{Value, json};

use super::dispatch::TaskDispatch;
use super::results::{AuditResult, CoderResult, OperatorResult, SupervisorResult};

pub const NAMES: [&str; 5] = [
    "task-dispatch",
    "worker-result-supervisor",
    "worker-result-operator",
    "worker-result-coder",
    "review-result-auditor",
];

pub fn schema(name: &str) -> Option<Value> {
    let schema = match name {
        "task-dispatch" => return Some(schemars::schema_for!(TaskDispatch).to_value()),
        "worker-result-supervisor" => schemars::schema_for!(SupervisorResult).to_value(),
        "worker-result-operator" => schemars::schema_for!(OperatorResult).to_value(),
        "worker-result-coder" => schemars::schema_for!(CoderResult).to_value(),
        "review-result-auditor" => schemars::schema_for!(AuditResult).to_value(),
        _ => return None,
    };
    Some(blocked_says_why(schema))
}

/// An agent that is blocked must say why: the types cannot express this rule.
fn blocked_says_why(mut schema: Value) -> Value {
    if let Some(map) = schema.as_object_mut() {
        map.insert("if".to_owned(), json!({ "properties": { "status": { "const": "blocked" } } }));
        map.insert(
            "then".to_owned(),
            json!({ "required": ["blocked_reason"], "properties": { "blocked_reason": { "type": "string", "minLength": 1 } } }),
        );
    }
    schema
}

/// The name of a result's schema, such as `worker-result-operator` for `worker-result.operator/1`.
pub fn name_of(schema: &str) -> String {
    schema.split('/').next().unwrap_or_default().replace('.', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_refuses_unknown_fields() {
        for name in NAMES {
            let schema = schema(name).expect("a schema");
            assert_eq!(schema["additionalProperties"], false, "{name}");
            assert!(schema["required"].as_array().is_some_and(|all| all.len() >= 4), "{name}");
        }
        assert_eq!(name_of(OperatorResult::SCHEMA), "worker-result-operator");
        assert_eq!(name_of(AuditResult::SCHEMA), "review-result-auditor");
        assert!(schema("other").is_none());
    }
}
