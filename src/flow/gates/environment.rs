//! What of the caller's environment a gate gets: each variable is named, so that no secret comes along unnoticed.

use crate::flow::prelude::*;
use crate::provider::{is_common, is_own};

/// Where toolchains and their caches are. None of these holds a secret.
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

/// What differs from caller to caller and should decide nothing is the same for every gate.
const FIXED: [(&str, &str); 2] = [("TERM", "dumb"), ("SHELL", "/bin/sh")];

/// It names the commit, and a gate judges the tree.
const WITHOUT_WEIGHT: &str = "LIZA_GATE_COMMIT";

/// All that a gate is handed over, by name. Who somebody is and where git works is never part of it, whoever names it.
pub fn handed_over(
    gate: &Gate,
    commit: &str,
    caller: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let passes = |name: &str| {
        is_common(name) || TOOLCHAINS.contains(&name) || gate.pass_environment.iter().any(|own| own == name)
    };
    let of_caller = caller.into_iter().filter(|(name, _)| {
        name.to_str().is_some_and(|name| passes(name) && !gate.environment.contains_key(name))
    });
    let configured = gate.environment.iter().map(|(name, value)| (name.into(), value.into()));
    let mut all: Vec<(OsString, OsString)> = of_caller.chain(configured).collect();
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
    all
}

/// The part of it that can decide what a gate says.
pub fn with_weight(handed: &[(OsString, OsString)]) -> impl Iterator<Item = &(OsString, OsString)> {
    handed.iter().filter(|(name, _)| name != WITHOUT_WEIGHT)
}
