use crate::cli::prelude::*;
use crate::flow::agents;

/// Give an agent an identity and a secret token
///
/// Registering an id again ends its former incarnation: the old token stops working and the leases of that
/// incarnation count as expired.
///
/// Example: eval "$(liza agent register --role coder --shell)"
#[derive(Args)]
pub struct RegisterArgs {
    /// Role of the agent; repeat for several
    #[arg(long, required = true, value_name = "ROLE")]
    pub role: Vec<Role>,
    /// Id of the agent (default: the role and the next free number)
    #[arg(long, value_hint = ValueHint::Other)]
    pub id: Option<AgentId>,
    /// Print export lines for a shell
    #[arg(long)]
    pub shell: bool,
}

impl OnBoard for RegisterArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        session.seal_request()?;
        let (registered, revision) = agents::register(&session.ctx, self.role.clone(), self.id.clone())?;
        let agents::Registration { agent, token, token_file } = &registered;
        let id = &agent.id;
        let exports = format!(
            "export LIZA_AGENT_ID={id}\nexport LIZA_AGENT_TOKEN_FILE='{}'",
            token_file.display().to_string().replace('\'', "'\\''")
        );
        let text = if self.shell {
            exports
        } else {
            format!(
                "registered {id} (incarnation {})\ntoken: {token}\nin its shell:\n{exports}",
                agent.incarnation
            )
        };
        Ok(Answer::new(&registered, text).verbatim().at(revision))
    }
}
