use clap::Args;

use crate::board::rules::BlessGate;
use crate::flow::Failure;
use crate::flow::init::parse_task;
use crate::policy::gate::{AdapterKind, Gate};

use super::super::super::Session;
use super::super::super::ui::Answer;

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
    pub name: String,
    /// What it is to find: at least 8 hexadecimal digits
    #[arg(long)]
    pub hash: String,
    /// For the work of this task only
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// Why the new hash is the right one
    #[arg(long)]
    pub reason: String,
}

pub fn run(session: &mut Session, args: &BlessArgs) -> Result<Answer, Failure> {
    let task = args.task.as_deref().map(parse_task).transpose()?;
    let reason = session.input.text(&args.reason)?;
    comparing(&session.ctx.project_config()?.gates, &args.name)?;
    session.seal_request()?;
    let bless = BlessGate { gate: args.name.clone(), hash: args.hash.clone(), task, reason };
    let committed = session.ctx.commit(bless)?;
    let hash = committed.outcome["hash"].as_str().unwrap_or_default();
    let text = match (committed.outcome["task"].as_str(), committed.outcome["former"].as_str()) {
        (Some(task), _) => format!("{} is to find {hash} in the work of {task}", args.name),
        (None, Some(former)) => format!("{} is to find {hash}, no longer {former}", args.name),
        (None, None) => format!("{} is to find {hash}", args.name),
    };
    Ok(Answer::new(committed.outcome, text).at(committed.board.revision))
}

/// Only a gate that compares hashes can be told which one is right.
fn comparing(gates: &[Gate], name: &str) -> Result<(), Failure> {
    let compares = |gate: &&Gate| gate.adapter == AdapterKind::TraceHash;
    let refused = |what: String| {
        let names: Vec<&str> = gates.iter().filter(compares).map(|gate| gate.name.as_str()).collect();
        Err(Failure::new("refused.value", what).hint(if names.is_empty() {
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
