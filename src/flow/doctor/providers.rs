//! Agent commands: whether those in use are installed, and still know their options.

use super::{Finding, Scene};
use crate::flow::prelude::*;
use crate::flow::programs::find;
use crate::flow::shell;
use crate::policy::provider::ProviderEntry;
use crate::provider::{environment, help};

/// A help text that takes longer asks the network, or a person. On a loaded machine some need many seconds.
fn patience() -> Duration {
    crate::host::waiting_time("LIZA_TEST_HELP_MS", Duration::from_secs(20))
}

/// An agent command of the catalog, on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    pub name: String,
    pub program: String,
    /// Its path, if it is installed.
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub installed: Option<PathBuf>,
    /// Whether liza.yaml uses it.
    pub used: bool,
}

/// Every agent command that can be started by name, installed or not. Runs none.
pub fn listing(ctx: &Context) -> Result<Vec<Listed>> {
    let config = ctx.project_config()?;
    let used = config.providers_in_use();
    let catalog = Catalog::new(&config);
    let listed = catalog.usable().map(|(name, entry)| Listed {
        name: name.to_owned(),
        program: entry.program().to_owned(),
        installed: find(entry.program(), ctx.root()),
        used: used.contains(name),
    });
    Ok(listed.collect())
}

pub fn in_use(scene: &Scene) -> Result<Vec<Finding>> {
    let ctx = scene.ctx;
    // The examination of the machine reports an unreadable liza.yaml.
    let Ok(config) = ctx.project_config() else { return Ok(Vec::new()) };
    let catalog = Catalog::new(&config);
    let mut found = Vec::new();
    for name in config.providers_in_use() {
        let idle = "agents with this provider cannot be started";
        let entry = match catalog.entry(name) {
            Ok(entry) => entry,
            Err(why) => {
                found.push(Finding::new("provider.unusable", why.message, idle, why.hint));
                continue;
            }
        };
        match find(entry.program(), ctx.root()) {
            None => {
                let (program, name) = (shown_line(entry.program()), shown_line(name));
                let what = format!("`{program}`, the program of the provider {name}, was not found");
                found.push(Finding::new("provider.missing", what, idle, missing_remedy(&listing(ctx)?)));
            }
            Some(program) => found.extend(probe(name, entry, &program)),
        }
    }
    Ok(found)
}

fn missing_remedy(listed: &[Listed]) -> String {
    let here: Vec<&str> =
        listed.iter().filter(|one| one.installed.is_some()).map(|one| one.name.as_str()).collect();
    let instead = if here.is_empty() {
        "none of the known ones is installed here".to_owned()
    } else {
        format!("installed here: {}", list_words(here))
    };
    format!("install it, put it on the PATH, or name another provider in liza.yaml ({instead})")
}

/// What the program's own help contradicts in the entry.
fn probe(name: &str, entry: &ProviderEntry, program: &Path) -> Option<Finding> {
    if entry.help.is_empty() {
        return None;
    }
    let help_command = format!("{} {}", entry.program(), entry.help.join(" "));
    let help_command = shown_line(&help_command);
    let common = environment(&ProviderEntry::default(), std::env::vars_os());
    let plain = [("NO_COLOR", "1"), ("TERM", "dumb")].map(|(a, b)| (OsString::from(a), OsString::from(b)));
    let env: Vec<_> = common.into_iter().chain(plain).collect();
    let text = match shell::answer_of(program, &entry.help, &env, &std::env::temp_dir(), patience()) {
        Ok(text) if !text.trim_ascii().is_empty() => text,
        other => {
            let why = other.err().unwrap_or_else(|| "it printed nothing".to_owned());
            return Some(Finding::new(
                "provider.silent",
                format!("`{help_command}` gave no help: {why}"),
                "liza cannot check whether it still knows the options that liza passes",
                "run that command yourself, and fix the installation",
            ));
        }
    };
    let unknown = help::unknown_options(entry, &String::from_utf8_lossy(&text));
    (!unknown.is_empty()).then(|| {
        Finding::new(
            "provider.options",
            format!("`{help_command}` does not mention {}, which the provider {} uses", list_words(unknown), shown_line(name)),
            "a program that does not know an option ends before its agent has started",
            format!(
                "see what `{help_command}` offers instead, and change `command` or `permissions` of the provider {} in liza.yaml; \
                 list an option that works although the help omits it under `unlisted`",
                shown_line(name)
            ),
        )
    })
}
