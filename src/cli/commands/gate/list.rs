use crate::cli::prelude::*;
use crate::flow::gates::command_line;
use crate::policy::gate::{Gate, On};

/// The text for a project without gates.
pub(super) fn none_configured() -> String {
    format!("no gates are configured; {HOW}")
}

const HOW: &str = "add `gates:` to liza.yaml, such as\n  gates:\n    - name: test\n      command: cargo test --workspace\n      adapter: cargo-test";

/// List gates: when each runs, whether required, and its command
///
/// Example: liza gate list
#[derive(Args)]
pub struct ListArgs {}

impl OnBoard for ListArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let config = session.ctx.project_config()?;
        let row = |gate: &Gate| {
            json!({
                "name": gate.name, "required": gate.is_required(), "on": gate.on, "command": gate.command,
                "adapter": gate.adapter, "timeout": timeout(gate), "flaky_retries": gate.flaky_retries,
            })
        };
        let mut data: Vec<_> = config.gates.iter().map(row).collect();
        let mut lines: Vec<String> = config.gates.iter().map(line).collect();
        for gate in &config.inactive_gates {
            let mut inactive = row(gate);
            inactive["inactive"] = json!(gate.inactive);
            data.push(inactive);
            let why = gate.inactive.as_deref().unwrap_or_default();
            let (name, command) = (pad_to(&gate.name, 14), command_line(&gate.command));
            lines.push(format!("{name} inactive  {command}: {}", shown_line(why)));
            lines.push(format!("  `liza config set gates.{}.inactive null` activates it", gate.name));
        }
        let text = if lines.is_empty() { none_configured() } else { lines.join("\n") };
        Ok(Answer::new(json!({ "gates": data, "keep": config.gating.keep }), text))
    }
}

fn timeout(gate: &Gate) -> u64 {
    gate.timeout.unwrap_or(Gate::DEFAULT_TIMEOUT)
}

fn line(gate: &Gate) -> String {
    // A required gate always runs before approval and merge.
    let when = [
        ("submit", gate.on.contains(&On::Submit)),
        ("approve", gate.is_required()),
        ("merge", gate.is_required() || gate.on.contains(&On::Merge)),
    ];
    let when = commas(when.into_iter().filter_map(|(word, is_so)| is_so.then_some(word)));
    let adapter = serde_json::to_value(gate.adapter).unwrap_or_default();
    format!(
        "{} {} {} {} {} {}",
        pad_to(&gate.name, 14),
        pad_to(if gate.is_required() { "required" } else { "optional" }, 9),
        pad_to(&when, 22),
        pad_to(adapter.as_str().unwrap_or_default(), 11),
        pad_to(&format!("{} s", timeout(gate)), 8),
        command_line(&gate.command)
    )
}
