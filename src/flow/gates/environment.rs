//! The environment of a gate: each variable is listed, so that no secret is passed unnoticed, and the values are
//! those of the person or runner, not those of the calling agent.

use std::os::unix::ffi::OsStrExt;

use crate::flow::prelude::*;
use crate::provider::{is_common, is_own, secrets};
use crate::store::files::{make_private_dirs, replace_disposable};

const LARGEST_RECORD: usize = 1024 * 1024;

/// Paths of toolchains and their caches. None of these holds a secret.
const TOOLCHAINS: [&str; 38] = [
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "ASDF_DATA_DIR",
    "ASDF_DIR",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CCACHE_DIR",
    "CONDA_PREFIX",
    "DENO_DIR",
    "DOTNET_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GRADLE_USER_HOME",
    "JAVA_HOME",
    "LD_LIBRARY_PATH",
    "M2_HOME",
    "MISE_DATA_DIR",
    "MIX_HOME",
    "NIX_PATH",
    "NVM_DIR",
    "PKG_CONFIG_PATH",
    "PNPM_HOME",
    "POETRY_HOME",
    "PUB_CACHE",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SCCACHE_DIR",
    "SDKMAN_DIR",
    "UV_CACHE_DIR",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
    "npm_config_cache",
];

/// Variables that differ from caller to caller and must not matter are the same for every gate.
const FIXED: [(&str, &str); 2] = [("TERM", "dumb"), ("SHELL", "/bin/sh")];

/// The variable names the commit, but a gate judges the tree.
const WITHOUT_WEIGHT: &str = "LIZA_GATE_COMMIT";

/// The process whose environment counts.
#[derive(Default)]
pub struct Source {
    pub variables: Vec<(OsString, OsString)>,
    /// Secrets of the runner that an agent does not have, by the digest of their value.
    withheld: BTreeMap<String, String>,
}

/// The environment of a runner, for its agent, if neither process can see the other. It holds no values of secrets.
#[derive(Serialize, Deserialize)]
struct Recorded {
    values: BTreeMap<String, String>,
    withheld: BTreeMap<String, String>,
}

impl Source {
    /// For an agent, the environment of its runner counts: it is the person's, in which the merge is judged too. The
    /// agent's own environment lacks secrets, and its command may have changed the rest (`PATH`), so the same
    /// question would get two answers.
    pub fn of(ctx: &Context, board: &Board) -> Self {
        let own = || std::env::vars_os().collect();
        let Credentials::Descendant { of, .. } = &ctx.credentials else {
            return Self { variables: own(), ..Self::default() };
        };
        let seen = board.runs_under(&of.ancestors).and_then(|(_, agent)| agent.runner.as_ref());
        if let Some(variables) = seen.and_then(host::environment_of) {
            return Self { variables, ..Self::default() };
        }
        let on_record = || {
            let Ok(Actor::Agent { id, .. }) = board.identify(&ctx.credentials) else { return None };
            board.agent(&id)?.runner.as_ref()?;
            read_record(ctx, &id)
        };
        on_record().unwrap_or_else(|| Self { variables: own(), ..Self::default() })
    }
}

fn read_record(ctx: &Context, agent: &AgentId) -> Option<Source> {
    let (bytes, _) = read_whole(&ctx.machine.gate_environment(agent), LARGEST_RECORD as u64).ok()?;
    let recorded: Recorded = read_foreign(&bytes, Limits::of_bytes(LARGEST_RECORD)).ok()?;
    let mut withheld = recorded.withheld;
    let mut variables: Vec<(OsString, OsString)> =
        recorded.values.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    // Secrets that the agent did get are not missing.
    for (name, value) in std::env::vars_os() {
        let known = name.to_str().and_then(|name| withheld.get(name));
        if known.is_some_and(|known| *known == digest(&value)) {
            withheld.remove(name.to_string_lossy().as_ref());
            variables.push((name, value));
        }
    }
    Some(Source { variables, withheld })
}

/// Writes the environment for gates of this runner's agent to a file. If that fails, a gate only runs once more than
/// needed.
pub fn record(ctx: &Context, gates: &[Gate], agent: &AgentId) {
    let passed = |name: &str| gates.iter().any(|gate| gate.pass_environment.iter().any(|own| own == name));
    let mut recorded = Recorded { values: BTreeMap::new(), withheld: BTreeMap::new() };
    for (name, value) in std::env::vars_os() {
        let (Some(text), Some(shown)) = (name.to_str(), value.to_str()) else { continue };
        if is_own(text) || !(is_general(text) || passed(text)) {
            continue;
        }
        match secrets([(&name, &value)], []).is_empty() {
            true => recorded.values.insert(text.to_owned(), shown.to_owned()),
            false => recorded.withheld.insert(text.to_owned(), digest(&value)),
        };
    }
    let path = ctx.machine.gate_environment(agent);
    if path.parent().is_some_and(|dir| make_private_dirs(ctx.machine.home(), dir).is_ok())
        && let Ok(text) = serde_json::to_vec(&recorded)
    {
        let _ = replace_disposable(&path, &text);
    }
}

fn digest(value: &std::ffi::OsStr) -> String {
    blake3::hash(value.as_bytes()).to_hex().to_string()
}

fn is_general(name: &str) -> bool {
    is_common(name) || TOOLCHAINS.contains(&name)
}

/// The environment of one gate.
pub struct Handed {
    pub variables: Vec<(OsString, OsString)>,
    /// Variables that it would get from the runner but not here.
    pub withheld: Vec<(OsString, String)>,
}

/// The whole environment of a gate, by name. Identities and git's variables are never part of it, even if listed.
pub fn handed_over(gate: &Gate, commit: &str, source: &Source) -> Handed {
    let passes = |name: &str| {
        (is_general(name) || gate.pass_environment.iter().any(|own| own == name))
            && !gate.environment.contains_key(name)
            && !is_own(name)
    };
    let of_source = source.variables.iter().filter(|(name, _)| name.to_str().is_some_and(passes));
    let configured = gate.environment.iter().map(|(name, value)| (name.into(), value.into()));
    let mut all: Vec<(OsString, OsString)> = of_source.cloned().chain(configured).collect();
    all.retain(|(name, _)| !name.to_str().is_some_and(is_own));
    for (name, value) in FIXED {
        if !gate.environment.contains_key(name) {
            all.retain(|(own, _)| own != name);
            all.push((name.into(), value.into()));
        }
    }
    all.push(("LIZA_GATE".into(), (&gate.name).into()));
    all.push(("LIZA_GATE_COMMIT".into(), commit.into()));
    all.sort();
    let kept_back = source.withheld.iter().filter(|(name, _)| passes(name));
    Handed {
        variables: all,
        withheld: kept_back.map(|(name, digest)| (name.into(), digest.clone())).collect(),
    }
}

impl Handed {
    /// The part that can affect a gate's result: names, and digests of their values.
    pub fn with_weight(&self) -> BTreeMap<OsString, String> {
        let given = self.variables.iter().filter(|(name, _)| name != WITHOUT_WEIGHT);
        let given = given.map(|(name, value)| (name.clone(), digest(value)));
        given.chain(self.withheld.iter().cloned()).collect()
    }
}
