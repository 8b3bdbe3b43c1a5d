//! Which of the caller's variables an agent gets.

use std::ffi::OsString;

use crate::policy::provider::ProviderEntry;

/// Variables that every program may need. Each is listed: a pattern would pass variables that were never considered.
const COMMON: &str = "\
    PATH HOME USER LOGNAME SHELL TMPDIR TERM TZ LANG LANGUAGE LC_ALL LC_ADDRESS LC_COLLATE LC_CTYPE \
    LC_IDENTIFICATION LC_MEASUREMENT LC_MESSAGES LC_MONETARY LC_NAME LC_NUMERIC LC_PAPER LC_TELEPHONE \
    LC_TIME XDG_BIN_HOME XDG_CACHE_HOME XDG_CONFIG_DIRS XDG_CONFIG_HOME XDG_DATA_DIRS XDG_DATA_HOME \
    XDG_RUNTIME_DIR XDG_STATE_HOME SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS HTTP_PROXY \
    HTTPS_PROXY ALL_PROXY NO_PROXY FTP_PROXY http_proxy https_proxy all_proxy no_proxy ftp_proxy";

/// The common variables and those that the entry lists. None of liza's or git's own: the runner decides who an agent
/// is and where it works, not the process that started the runner.
pub fn environment(
    entry: &ProviderEntry,
    caller: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    caller.into_iter().filter(|(name, _)| name.to_str().is_some_and(|name| passes(entry, name))).collect()
}

/// Whether a variable names an identity or where git works: such a variable is never passed on.
pub fn is_own(name: &str) -> bool {
    name.starts_with("LIZA_") || name.starts_with("GIT_")
}

/// Whether every program may need this variable.
pub fn is_common(name: &str) -> bool {
    COMMON.split(' ').any(|common| common == name)
}

fn passes(entry: &ProviderEntry, name: &str) -> bool {
    if is_own(name) {
        return false;
    }
    is_common(name)
        || entry.env.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some(start) => !start.is_empty() && name.starts_with(start),
            None => wanted == name,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ProjectConfig;
    use crate::provider::Catalog;

    /// Secrets and switches that are common on developers' machines.
    const CANARIES: [&str; 40] = [
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AZURE_CLIENT_SECRET",
        "CARGO_REGISTRY_TOKEN",
        "CI_JOB_TOKEN",
        "CLOUDFLARE_API_TOKEN",
        "DATABASE_URL",
        "DIGITALOCEAN_TOKEN",
        "DOCKER_AUTH_CONFIG",
        "DOCKER_PASSWORD",
        "GITLAB_TOKEN",
        "GIT_ASKPASS",
        "GIT_CONFIG_COUNT",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_SSH_COMMAND",
        "GIT_WORK_TREE",
        "GPG_AGENT_INFO",
        "HEROKU_API_KEY",
        "HF_TOKEN",
        "KUBECONFIG",
        "LC_SECRET",
        "LD_PRELOAD",
        "LIZA_AGENT_ID",
        "LIZA_AGENT_TOKEN",
        "LIZA_AGENT_TOKEN_FILE",
        "LIZA_CLAIM",
        "NODE_OPTIONS",
        "NPM_TOKEN",
        "PGPASSWORD",
        "PYPI_TOKEN",
        "SENTRY_AUTH_TOKEN",
        "SLACK_BOT_TOKEN",
        "SSH_AUTH_SOCK",
        "STRIPE_SECRET_KEY",
        "TF_VAR_password",
        "TWILIO_AUTH_TOKEN",
        "VAULT_TOKEN",
        "XDG_SECRET",
    ];

    fn names(entry: &ProviderEntry, caller: &[&str]) -> Vec<String> {
        let caller = caller.iter().map(|name| (OsString::from(name), OsString::from("canary")));
        environment(entry, caller).into_iter().filter_map(|(name, _)| name.into_string().ok()).collect()
    }

    #[test]
    fn no_canary_reaches_a_provider() {
        let catalog = Catalog::new(&ProjectConfig::default());
        let mut looked_at = 0;
        for (name, entry) in catalog.usable() {
            assert!(names(entry, &CANARIES).is_empty(), "{name}: {:?}", names(entry, &CANARIES));
            looked_at += 1;
        }
        assert_eq!(looked_at, 12);
    }

    #[test]
    fn common_and_listed_variables_pass() {
        let catalog = Catalog::new(&ProjectConfig::default());
        let claude = catalog.entry("claude").expect("claude");
        let caller = ["PATH", "LC_ALL", "https_proxy", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "SECRET"];
        assert_eq!(names(claude, &caller), ["PATH", "LC_ALL", "https_proxy", "ANTHROPIC_API_KEY"]);
        let entry = ProviderEntry { env: vec!["AWS_*".into(), "*".into()], ..ProviderEntry::default() };
        assert_eq!(
            names(&entry, &["AWS_REGION", "AWS_X", "AZURE_X", "HOME"]),
            ["AWS_REGION", "AWS_X", "HOME"]
        );
        let entry = ProviderEntry { env: vec!["LIZA_*".into(), "G*".into()], ..ProviderEntry::default() };
        assert_eq!(names(&entry, &["LIZA_AGENT_ID", "GIT_DIR", "GOPATH"]), ["GOPATH"]);
    }
}
