//! Assigns each seat of the team a free agent id and a provider.

use super::super::prelude::*;
use super::super::runner::{check_program, choose};
use crate::board::agent::{Agent, numbered_ids};
use crate::flow::agents;
use crate::policy::run::Seat;
use crate::policy::team::HUMAN;

/// A larger number for one role is a typing mistake.
const MOST_OF_A_ROLE: u32 = 64;

/// Proof that a run can start: it is the only one, and the programs of its providers are installed.
pub struct Checked {
    pub(super) one_run: SideLock,
    /// The provider of each entry of the team.
    pub(super) providers: Vec<String>,
}

impl Checked {
    pub fn new(ctx: &Context, team: &[TeamMember], provider: Option<&str>) -> Result<Self, Failure> {
        let config = ctx.project_config()?;
        if let Some(member) = team.iter().find(|member| !(1..=MOST_OF_A_ROLE).contains(&member.count)) {
            return Err(Failure::usage(format!(
                "the team asks for {} of the role {}; it may have 1 to {MOST_OF_A_ROLE} of each",
                member.count, member.role
            ))
            .hint("`--team coder=3`, for example, or `count: 3` under `team` in liza.yaml"));
        }
        let one_run = ctx.machine.take_run()?.ok_or_else(|| {
            Failure::new(ErrorCode::StaleRunning, "another `liza run` works on this board")
                .hint("`liza status` shows it; to stop it, press Ctrl-C in its terminal or type `liza abort`")
        })?;
        let mut providers = Vec::new();
        for member in team {
            providers.push(provider_among(&config, member, provider)?);
        }
        Ok(Self { one_run, providers })
    }
}

/// The provider of an entry of the team.
pub(super) fn provider_of(ctx: &Context, member: &TeamMember, all: Option<&str>) -> Result<String, Failure> {
    provider_among(&ctx.project_config()?, member, all)
}

fn provider_among(config: &ProjectConfig, member: &TeamMember, all: Option<&str>) -> Result<String, Failure> {
    if is_person(config, member, all) {
        return Ok(HUMAN.to_owned());
    }
    let chosen = choose(config, &member.role, requested_provider(config, member, all))?;
    check_program(&chosen)?;
    Ok(chosen.name)
}

/// `--provider` does not replace a person.
fn is_person(config: &ProjectConfig, member: &TeamMember, all: Option<&str>) -> bool {
    member.provider.as_deref() == Some(HUMAN)
        || all.is_none() && requested_provider(config, member, None) == Some(HUMAN)
}

/// Roles that a person plays.
pub(super) fn people(team: &[TeamMember], providers: &[String]) -> BTreeSet<Role> {
    let members = team.iter().zip(providers);
    members.filter(|(_, provider)| *provider == HUMAN).map(|(member, _)| member.role.clone()).collect()
}

/// A person has no seat. If all reviewers are people, one seat merges the tasks that they approved.
fn seated(team: &[TeamMember], providers: Vec<String>) -> Vec<(TeamMember, String)> {
    let reviewer = Role::code_reviewer();
    let (people, mut agents): (Vec<_>, Vec<_>) =
        team.iter().cloned().zip(providers).partition(|(_, provider)| provider == HUMAN);
    let merger = people.into_iter().find(|(member, _)| member.role == reviewer);
    if !agents.iter().any(|(member, _)| member.role == reviewer)
        && let Some((member, provider)) = merger
    {
        agents.push((TeamMember { count: 1, ..member }, provider));
    }
    agents
}

/// An entry of liza.yaml without a provider uses the provider of its role, whatever another entry of that role says.
fn requested_provider<'a>(
    config: &'a ProjectConfig,
    member: &'a TeamMember,
    all: Option<&'a str>,
) -> Option<&'a str> {
    let of_role = || config.roles.get(&member.role).and_then(|role| role.provider.as_deref());
    let of_entry = || of_role().or(config.provider.as_deref()).filter(|_| config.team.contains(member));
    all.or(member.provider.as_deref()).or_else(of_entry)
}

/// A placeholder process: an agent with a runner on record was not registered by hand.
fn no_runner() -> Process {
    Process { boot: "none".to_owned(), ..crate::host::this_process() }
}

/// Whether another process runs this agent, or a person or script registered it.
pub(super) fn is_anothers(ctx: &Context, id: &AgentId, agent: &Agent) -> bool {
    let running = || ctx.machine.is_running(id, agent.runner.as_ref());
    agent.is_active() && (agent.runner.is_none() || running())
}

/// Registers an agent for every seat, so that the rules can say what it may do. Ids are numbered through all entries of a
/// role; ids that were registered by hand are skipped.
pub(super) fn seat_team(
    ctx: &Context,
    team: &[TeamMember],
    providers: Vec<String>,
) -> Result<Vec<(Seat, String)>, Failure> {
    let mut taken = BTreeSet::new();
    let mut seats = Vec::new();
    for (member, provider) in seated(team, providers) {
        let more = seat_more(ctx, &member, provider, taken.clone())?;
        taken.extend(more.iter().map(|(seat, _)| seat.agent.clone()));
        seats.extend(more);
    }
    Ok(seats)
}

/// Adds the seats of one entry of the team.
pub(super) fn seat_more(
    ctx: &Context,
    member: &TeamMember,
    provider: String,
    taken: BTreeSet<AgentId>,
) -> Result<Vec<(Seat, String)>, Failure> {
    let board = ctx.read(&Needs::Nothing)?.board;
    let mut seats = Vec::new();
    let role = &member.role;
    let free = numbered_ids(role).filter(|agent| {
        let Some(known) = board.agent(agent).filter(|known| known.is_active()) else { return true };
        // The run waits for an id that another run or runner uses.
        known.runner.is_some() && (known.has(role) || !is_anothers(ctx, agent, known))
    });
    let free: Vec<_> = free.filter(|agent| !taken.contains(agent)).take(member.count as usize).collect();
    for agent in free {
        let known = board.agent(&agent);
        if !known.is_some_and(|known| known.is_active() && known.has(role)) {
            agents::register_running(ctx, role, Some(agent.clone()), &no_runner(), |_| true)?;
        }
        seats.push((Seat { agent, role: role.clone() }, provider.clone()));
    }
    Ok(seats)
}
