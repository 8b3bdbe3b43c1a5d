use crate::cli::prelude::*;
use crate::policy::gate::{AdapterKind, Gate};

/// Declare a hash right: from now on a gate that compares hashes is to find this one
///
/// For the integration branch (people only), or with --task for the work of one task until that is merged; then it
/// holds for the integration branch. A reviewer may do that too, if he did not work on the task. It is recorded with
/// the reason, and goes before what liza.yaml says under `expect`.
///
/// Example: liza gate bless replay --hash a1b2c3d4e5f60718 --reason "one more step in the trace"
#[derive(Args)]
pub struct BlessArgs {
    /// The gate; its adapter is trace-hash
    #[arg(value_name = "GATE")]
    pub name: GateName,
    /// What it is to find: at least 8 hexadecimal digits
    #[arg(long)]
    pub hash: String,
    /// For the work of this task only
    #[arg(long, value_name = "TASK")]
    pub task: Option<TaskId>,
    /// Why the new hash is the right one
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
            (Some(task), _) => format!("{} is to find {hash} in the work of {task}", self.name),
            (None, Some(former)) => format!("{} is to find {hash}, no longer {former}", self.name),
            (None, None) => format!("{} is to find {hash}", self.name),
        })
    }
}

/// Only a gate that compares hashes can be told which one is right.
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
