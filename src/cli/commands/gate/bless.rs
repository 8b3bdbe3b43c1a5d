use crate::cli::prelude::*;
use crate::policy::gate::{AdapterKind, Gate};

/// Set the hash that a trace-hash gate expects
///
/// For the integration branch (people only). With --task: for the work of one task until that task is merged, then
/// for the integration branch; a reviewer that did not work on the task may do that too. liza records it with the
/// reason; it overrides `expect` in liza.yaml.
///
/// Example: liza gate bless replay --hash a1b2c3d4e5f60718 --reason "one more step in the trace"
#[derive(Args)]
pub struct BlessArgs {
    /// Name of the gate; its adapter must be trace-hash
    #[arg(value_name = "GATE")]
    pub name: GateName,
    /// Expected hash, at least 8 hexadecimal digits
    #[arg(long)]
    pub hash: String,
    /// Only for the work of this task
    #[arg(long, value_name = "TASK")]
    pub task: Option<TaskId>,
    /// Why this hash is right
    #[arg(long)]
    pub reason: String,
}

impl OnBoard for BlessArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let task = self.task.clone();
        let reason = session.input.text(&self.reason)?;
        comparing(&session.ctx.project_config()?.gates, self.name.as_str())?;
        let bless = BlessGate { gate: self.name.to_string(), hash: self.hash.clone(), task, reason };
        session.commit(bless, |Blessed { hash, task, former, .. }| match (task, former) {
            (Some(task), _) => format!("{} now expects {hash} in the work of {task}", self.name),
            (None, Some(former)) => format!("{} now expects {hash}, no longer {former}", self.name),
            (None, None) => format!("{} now expects {hash}", self.name),
        })
    }
}

/// Refuses a gate that compares no hashes.
fn comparing(gates: &[Gate], name: &str) -> Result<(), Failure> {
    let compares = |gate: &&Gate| gate.adapter == AdapterKind::TraceHash;
    let refused = |what: String| {
        let names: Vec<&str> = gates.iter().filter(compares).map(|gate| gate.name.as_str()).collect();
        Err(Failure::new(Code::Value, what).hint(if names.is_empty() {
            "no gate in liza.yaml has the adapter trace-hash; add one first".to_owned()
        } else {
            format!("gates that compare hashes: {}", names.join(", "))
        }))
    };
    match gates.iter().find(|gate| gate.name == name) {
        None => refused(format!("liza.yaml has no gate `{name}`")),
        Some(gate) if !compares(&gate) => refused(format!(
            "gate `{name}` compares no hashes: its adapter is {}, not trace-hash",
            gate.adapter.as_str()
        )),
        Some(_) => Ok(()),
    }
}
