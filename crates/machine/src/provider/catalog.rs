//! All agent commands: the built-in ones, and what the project adds or changes.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use thiserror::Error;

use crate::policy::{ProjectConfig, provider::ProviderEntry};
use crate::text::{list_words, shown_line};
use crate::wire::{ForeignError, Limits, read_foreign};

const BUILT_IN: &str = include_str!("../../templates/providers.yaml");
/// The error messages of the built-in ones: separate tables, so that the catalog stays readable.
const ERRORS: &str = include_str!("../../templates/provider_errors.yaml");
/// The entry whose patterns apply to every agent command.
const COMMON: &str = "command";

type Entries = BTreeMap<String, ProviderEntry>;

/// Why no agent can be started by this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Unusable {
    pub message: String,
    pub hint: String,
}

#[derive(Debug, Clone, Default)]
pub struct Catalog {
    entries: BTreeMap<String, Result<ProviderEntry, Unusable>>,
}

impl Catalog {
    /// An error in one entry of the project is reported when a command asks for that entry.
    pub fn new(config: &ProjectConfig) -> Self {
        let mut entries: BTreeMap<_, _> =
            built_in().iter().map(|(name, entry)| (name.clone(), Ok(entry.clone()))).collect();
        for name in config.providers.keys() {
            entries.insert(name.clone(), settle(name, &config.providers, &mut Vec::new()));
        }
        let common = built_in().get(COMMON).and_then(|entry| entry.errors.clone()).unwrap_or_default();
        for (name, entry) in &mut entries {
            if let Ok(settled) = entry {
                let own = settled.errors.take().unwrap_or_default();
                settled.errors = Some(if own == common { own } else { own.before(&common) });
            }
            if let Ok(settled) = entry
                && let Err(unusable) = check(name, settled)
            {
                *entry = Err(unusable);
            }
        }
        Self { entries }
    }

    pub fn entry(&self, name: &str) -> Result<&ProviderEntry, Unusable> {
        match self.entries.get(name) {
            Some(entry) => entry.as_ref().map_err(Clone::clone),
            None => Err(Unusable {
                message: format!("there is no provider `{}`", shown_line(name)),
                hint: format!(
                    "{}choose one of {}, or describe it under `providers:` in liza.yaml",
                    crate::text::nearest(name, self.usable().map(|(name, _)| name))
                        .map_or(String::new(), |alike| format!("did you mean `{alike}`? Otherwise ")),
                    list_words(self.usable().map(|(name, _)| name))
                ),
            }),
        }
    }

    /// Every name, including entries that cannot be used.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    pub fn usable(&self) -> impl Iterator<Item = (&str, &ProviderEntry)> {
        self.entries.iter().filter_map(|(name, entry)| Some((name.as_str(), entry.as_ref().ok()?)))
    }
}

fn read_built_in() -> Result<Entries, ForeignError> {
    let mut entries: Entries = read_foreign(BUILT_IN.as_bytes(), Limits::default())?;
    let errors: Entries = read_foreign(ERRORS.as_bytes(), Limits::default())?;
    for (name, said) in errors {
        if let Some(entry) = entries.get_mut(&name) {
            *entry = entry.over(&said);
        }
    }
    Ok(entries)
}

/// A test parses the same text, so parsing cannot fail.
fn built_in() -> &'static Entries {
    static READ: OnceLock<Entries> = OnceLock::new();
    READ.get_or_init(|| read_built_in().unwrap_or_default())
}

/// The project's entry on top of its base, which may itself be the project's.
fn settle(name: &str, own: &Entries, seen: &mut Vec<String>) -> Result<ProviderEntry, Unusable> {
    if seen.iter().any(|before| before == name) {
        seen.push(name.to_owned());
        return Err(Unusable {
            message: format!("the providers {} form a cycle of `base`", seen.join(" -> ")),
            hint: "give one of them a `command` instead of a `base` in liza.yaml".to_owned(),
        });
    }
    seen.push(name.to_owned());
    let Some(entry) = own.get(name) else {
        return built_in().get(name).cloned().ok_or_else(|| {
            let known: Vec<&str> = own.keys().chain(built_in().keys()).map(String::as_str).collect();
            Unusable {
                message: format!("there is no provider `{}` to use as a base", shown_line(name)),
                hint: format!("in liza.yaml, set `base` to one of {}", list_words(known)),
            }
        });
    };
    let base = match entry.base.as_deref() {
        // An entry that changes a built-in one has it as its base.
        Some(base) if base == name => match built_in().get(name) {
            Some(base) => base.clone(),
            None => return settle(base, own, seen),
        },
        Some(base) => settle(base, own, seen)?,
        None => built_in().get(name).cloned().unwrap_or_default(),
    };
    Ok(entry.over(&base))
}

fn check(name: &str, entry: &ProviderEntry) -> Result<(), Unusable> {
    let unusable = |what: String, hint: &str| {
        Err(Unusable {
            message: format!("the provider `{}` {what}", shown_line(name)),
            hint: hint.to_owned(),
        })
    };
    if entry.program().is_empty() {
        let example = format!(
            "in liza.yaml: `providers:`, `{}:`, `command: [my-agent, --file, \"{{prompt_file}}\"]`",
            shown_line(name)
        );
        return unusable("has no command".to_owned(), &example);
    }
    let ours = |variable: &str| variable.starts_with("LIZA_");
    for variable in &entry.env {
        if ours(variable) || variable.starts_with("GIT_") {
            return unusable(
                format!("asks for {}, which no agent inherits", shown_line(variable)),
                "remove it from `env`; liza itself sets what an agent needs",
            );
        }
        if variable.trim_end_matches('*').is_empty() {
            return unusable(
                "asks for all variables".to_owned(),
                "list the variables it needs in `env`; `AWS_*` matches all with that prefix",
            );
        }
    }
    if let Some(variable) = entry.set.keys().find(|variable| ours(variable)) {
        return unusable(
            format!("sets {}, which only liza may set", shown_line(variable)),
            "remove it from `set`",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::breaker::CrashClass;
    use crate::policy::provider::{OutputFormat, PromptBy, Words};

    fn project(yaml: &str) -> Catalog {
        let config: ProjectConfig = read_foreign(yaml.as_bytes(), Limits::default()).expect("liza.yaml");
        Catalog::new(&config)
    }

    fn words(entry: &ProviderEntry) -> Vec<&str> {
        entry.command.iter().flat_map(Words::as_slice).map(String::as_str).collect()
    }

    #[test]
    fn every_built_in_entry_can_be_read() {
        let entries = read_built_in().expect("the built-in catalog");
        let names: Vec<&str> = entries.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "acpx", "aider", "amp", "claude", "codex", "command", "copilot", "cursor", "gemini", "kimi",
                "opencode", "qwen", "vibe"
            ]
        );
        let catalog = Catalog::new(&ProjectConfig::default());
        for name in names.into_iter().filter(|name| *name != "command") {
            let entry = catalog.entry(name).expect("an entry");
            assert_eq!(entry.program(), if name == "cursor" { "cursor-agent" } else { name });
            assert!(!entry.help.is_empty() && !entry.options().is_empty(), "{name}");
            let prompt = entry.prompt.unwrap_or_default();
            assert_eq!(words(entry).contains(&"{prompt}"), prompt == PromptBy::Argument, "{name}");
            assert_eq!(words(entry).contains(&"{prompt_file}"), prompt == PromptBy::File, "{name}");
            assert!(words(entry).contains(&"{permissions}") && words(entry).contains(&"{args}"), "{name}");
            assert_ne!(entry.output.unwrap_or_default(), OutputFormat::Text, "{name}");
        }
    }

    #[test]
    fn failures_are_classified_by_their_output() {
        let catalog = Catalog::new(&ProjectConfig::default());
        let class = |name: &str, said: &str| {
            let entry = catalog.entry(name).expect("an entry");
            entry.errors.as_ref().and_then(|table| table.class_of(said)).map(CrashClass::as_str)
        };
        for (name, said, expected) in [
            ("claude", "Invalid API key · Please run /login", "login"),
            ("claude", "Claude AI usage limit reached|1767618000", "quota"),
            (
                "claude",
                "API Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"}}",
                "rate_limit",
            ),
            ("claude", "Prompt is too long", "context"),
            (
                "codex",
                "unexpected status 401 Unauthorized: Missing bearer or basic authentication in header",
                "login",
            ),
            ("codex", "You've hit your usage limit. Try again in 3 days 2 hours.", "quota"),
            ("codex", "stream disconnected before completion: error sending request", "network"),
            ("gemini", "Please set an Auth method in your settings.json", "login"),
            ("gemini", "Your quota will reset after 12h. exhausted your capacity", "quota"),
            ("opencode", "AI_LoadAPIKeyError: Anthropic API key is missing.", "login"),
            (
                "gemini",
                "When using Gemini API, you must specify the GEMINI_API_KEY environment variable.",
                "login",
            ),
            (
                "qwen",
                "Missing API key for OpenAI-compatible auth. Set settings.security.auth.apiKey",
                "login",
            ),
            ("opencode", "Incorrect API key provided: dummy-key.", "login"),
            ("qwen", "No auth type is selected. Please configure an auth type", "login"),
            ("copilot", "Error: No authentication information found.", "login"),
            ("kimi", "LLM not set, run /login", "login"),
            ("aider", "litellm.AuthenticationError: AnthropicException", "login"),
            ("kimi", "getaddrinfo ENOTFOUND api.moonshot.cn", "network"),
            ("claude", "request failed with status 401", "login"),
            ("aider", "Request failed with status code 429", "rate_limit"),
            ("qwen", "429 status code (no body)", "rate_limit"),
            ("opencode", "{\"statusCode\":529,\"message\":\"try later\"}", "rate_limit"),
        ] {
            assert_eq!(class(name, said), Some(expected), "{name}: {said}");
        }
        for other in
            ["Segmentation fault", "panicked at src/main.rs:429:5", "HEAD is now at 4295291", "took 1.529 s"]
        {
            assert_eq!(class("claude", other), None, "{other}");
        }
        for name in ["claude", "codex", "gemini", "opencode", "qwen", "copilot", "kimi", "aider"] {
            assert!(catalog.entry(name).is_ok_and(|entry| entry.login_command.is_some()), "{name}");
        }
        let own = project("providers: {mine: {command: [x], errors: {quota: ['no coins']}}}");
        let table = own.entry("mine").expect("an entry").errors.clone().expect("a table");
        assert_eq!(table.class_of("No coins left"), Some(CrashClass::Quota));
        assert_eq!(table.class_of("429 too many requests"), Some(CrashClass::RateLimit));
    }

    /// Removing the comment marks must be enough.
    #[test]
    fn liza_yaml_template_example_is_valid() {
        let template = include_str!("../../../../templates/liza.yaml");
        let (_, section) = template.split_once("# The team that").expect("the section on the team");
        let example: String = section
            .lines()
            .filter_map(|line| line.strip_prefix("#   "))
            .map(|line| format!("{line}\n"))
            .collect();
        let config: ProjectConfig = read_foreign(example.as_bytes(), Limits::default()).expect("liza.yaml");
        assert_eq!(config.team.iter().map(|member| member.count).collect::<Vec<_>>(), [1, 2, 1]);
        let catalog = Catalog::new(&config);
        for name in config.providers_in_use().into_iter().chain(config.providers.keys().map(String::as_str)) {
            assert!(catalog.entry(name).is_ok(), "{name}");
        }
        assert!(config.providers.len() >= 2 && config.watch.notify.is_some());
    }

    #[test]
    fn project_command_must_be_named() {
        let catalog = Catalog::new(&ProjectConfig::default());
        let why = catalog.entry("command").expect_err("no command");
        assert!(why.message.contains("has no command") && why.hint.contains("command: ["), "{why:?}");
        let catalog = project("providers: {command: {command: [mine, '{prompt_file}']}}");
        assert_eq!(words(catalog.entry("command").expect("an entry")), ["mine", "{prompt_file}"]);
    }

    #[test]
    fn unknown_provider_lists_the_known_ones() {
        let why = project("providers: {mine: {command: [x]}}").entry("cluade").expect_err("no such provider");
        assert_eq!(why.message, "there is no provider `cluade`");
        assert!(why.hint.starts_with("did you mean `claude`? Otherwise choose one of "), "{}", why.hint);
        for name in ["claude", "mine", "codex"] {
            assert!(why.hint.contains(name), "{}", why.hint);
        }
        assert!(!why.hint.contains("command,"), "{}", why.hint);
    }

    #[test]
    fn fields_of_a_built_in_entry_can_be_changed() {
        let catalog = project(
            "providers:\n  claude: {permissions: [--dangerously-skip-permissions]}\n  careful: {base: claude, env: [AWS_*]}\n",
        );
        let claude = catalog.entry("claude").expect("an entry");
        assert_eq!(claude.permissions, Some(vec!["--dangerously-skip-permissions".into()]));
        assert_eq!(claude.output, Some(OutputFormat::ClaudeStream));
        let careful = catalog.entry("careful").expect("an entry");
        assert_eq!(careful.permissions, claude.permissions, "a base is what the project made of it");
        assert!(careful.env.contains(&"AWS_*".to_owned()) && careful.env.len() > 1);
        assert_eq!(
            project("providers: {codex: {base: codex}}").entry("codex").expect("same").program(),
            "codex"
        );
    }

    #[test]
    fn bad_base_affects_only_its_own_entry() {
        let catalog = project(
            "providers: {a: {base: b}, b: {base: c}, c: {base: a}, d: {base: missing}, e: {base: e}}",
        );
        for name in ["a", "b", "c", "e"] {
            assert!(catalog.entry(name).expect_err("a cycle").message.contains("form a cycle"), "{name}");
        }
        let why = catalog.entry("d").expect_err("no base");
        assert!(why.message.contains("`missing`") && why.hint.contains("claude"), "{why:?}");
        assert!(catalog.entry("claude").is_ok());
        assert_eq!(catalog.names().count(), 18);
    }

    #[test]
    fn entries_cannot_pass_identity_or_git_settings() {
        for (field, word) in [
            ("env: [LIZA_AGENT_TOKEN]", "LIZA_AGENT_TOKEN"),
            ("env: [GIT_DIR]", "GIT_DIR"),
            ("env: ['LIZA_*']", "LIZA_*"),
            ("env: ['*']", "all variables"),
            ("set: {LIZA_AGENT_ID: human}", "LIZA_AGENT_ID"),
        ] {
            let catalog = project(&format!("providers: {{mine: {{command: [x], {field}}}}}"));
            assert!(catalog.entry("mine").expect_err("refused").message.contains(word), "{field}");
        }
    }
}
