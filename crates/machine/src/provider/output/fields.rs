//! Reading other programs' JSON: a missing field, or one of another type, counts as absent.

use serde_json::Value;

use crate::text::clipped;

use super::super::usage::Usage;

/// No real counter gets near this; a larger figure is nonsense and would only spoil sums.
const LARGEST_COUNT: u64 = 1 << 40;

const LONGEST_NAME: usize = 120;
const LONGEST_ERROR: usize = 400;

/// 64 bits: two different consecutive calls do not share them by chance.
const DIGEST_LENGTH: usize = 16;

/// A JSON object on a line.
pub fn object(line: &[u8]) -> Option<Value> {
    line.starts_with(b"{").then(|| serde_json::from_slice(line).ok()).flatten()
}

pub fn text<'v>(value: &'v Value, path: &[&str]) -> Option<&'v str> {
    at(value, path)?.as_str()
}

pub fn count(value: &Value, path: &[&str]) -> Option<u64> {
    let found = at(value, path)?;
    let number = found.as_u64().or_else(|| found.as_f64().filter(|n| *n >= 0.0).map(|n| n as u64))?;
    (number <= LARGEST_COUNT).then_some(number)
}

pub fn money(value: &Value, path: &[&str]) -> Option<f64> {
    at(value, path)?.as_f64().filter(|amount| amount.is_finite() && (0.0..1e9).contains(amount))
}

pub fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

pub fn list<'v>(value: &'v Value, path: &[&str]) -> &'v [Value] {
    at(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Input that was not read from a cache, where a provider counts both together. Some do not.
pub fn fresh(input: u64, cached: u64) -> u64 {
    if cached <= input { input - cached } else { input }
}

/// The tool and a digest of its arguments, which may be confidential.
fn call_name(tool: &str, arguments: &Value) -> String {
    let digest = blake3::hash(arguments.to_string().as_bytes()).to_hex();
    format!("{}#{}", clipped(tool, LONGEST_NAME), &digest[..DIGEST_LENGTH])
}

impl Usage {
    /// A call of a tool. Without its arguments, liza cannot know whether the call was repeated.
    pub(super) fn called(&mut self, tool: &str, arguments: Option<&Value>) {
        self.tool_calls += 1;
        self.last_tool = Some(clipped(tool, LONGEST_NAME).into_owned());
        let call = arguments.map(|arguments| call_name(tool, arguments));
        self.repeated_calls = match &call {
            None => 0,
            Some(_) if call == self.last_call => self.repeated_calls + 1,
            Some(_) => 1,
        };
        self.last_call = call;
    }

    /// A call that failed, and its message.
    pub(super) fn call_failed(&mut self, said: Option<&str>) {
        self.failed_calls += 1;
        self.last_failure = said.map(|said| clipped(said.trim(), LONGEST_ERROR).into_owned());
    }

    pub(super) fn failed(&mut self, why: Option<&str>) {
        self.errors += 1;
        if let Some(why) = why {
            self.last_error = Some(clipped(why, LONGEST_ERROR).into_owned());
        }
    }

    pub(super) fn by_model(&mut self, model: Option<&str>) {
        if let Some(model) = model.filter(|model| !model.is_empty() && model.len() <= LONGEST_NAME) {
            self.model = Some(model.to_owned());
        }
    }

    pub(super) fn in_session(&mut self, id: Option<&str>) {
        if let Some(id) = id.filter(|id| !id.is_empty() && id.len() <= LONGEST_NAME) {
            self.session = Some(id.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn repeated_call_is_recognized_without_arguments() {
        let mut usage = Usage::default();
        let (one, other) = (json!({"command": "echo hunter2"}), json!({"command": "echo hunter3"}));
        let mut counts = Vec::new();
        for arguments in [&one, &one, &one, &other, &one] {
            usage.called("Bash", Some(arguments));
            counts.push(usage.repeated_calls);
        }
        assert_eq!(counts, [1, 2, 3, 1, 1]);
        let name = usage.last_call.clone().expect("a name");
        assert!(name.starts_with("Bash#") && name.len() == 21 && !name.contains("hunter"), "{name}");
        usage.called("Read", Some(&one));
        assert_ne!(usage.last_call.as_ref(), Some(&name), "another tool is another call");
        assert_eq!(usage.repeated_calls, 1);
        usage.called("edit", None);
        usage.called("edit", None);
        assert_eq!((usage.last_call, usage.repeated_calls, usage.tool_calls), (None, 0, 8));
    }
}
