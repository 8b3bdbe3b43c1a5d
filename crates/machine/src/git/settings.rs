//! The settings of a repository that make git run programs, read other files or produce other results.
//!
//! A person accepts them (`init`, `liza doctor --accept-git`); the record is kept beside the board, which names it by
//! its hash. Liza's own git commands see the record and no later setting (`door`).

use std::os::unix::fs::PermissionsExt;

use serde::{Deserialize, Serialize};

use super::prelude::*;
use super::query::{config_of, open_bare};

/// The settings as they are now, or as they were when a person accepted them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Settings {
    /// The relevant settings of the repository, its user and the system, in git's order, with included files
    /// resolved.
    config: Vec<Setting>,
    /// Attributes that are not committed: the repository's and the user's.
    repository_attributes: Option<String>,
    user_attributes: Option<String>,
    /// Files that take effect by existing: hooks, and files that change how history looks. With mode and hash.
    files: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    pub key: String,
    /// None for a key without a value, which means yes.
    pub value: Option<String>,
}

/// Files of the repository, each of which changes how history or objects look.
const DECIDING: [&str; 5] =
    ["shallow", "info/grafts", "objects/info/alternates", "objects/info/http-alternates", "config.worktree"];

impl Settings {
    pub fn of(repo: &Repo) -> Result<Self, QueryError> {
        let common = &repo.common_dir;
        let unreadable = || QueryError::read("the settings of the repository");
        let git = open_bare(common).map_err(unreadable())?;
        let config = git.config().map_err(unreadable())?;
        let mut found = listed(&config).map_err(unreadable())?;
        // Git keeps the settings of the main checkout there, once worktrees have their own.
        if let Ok(own) = git2::Config::open(&common.join("config.worktree"))
            && config.get_bool("extensions.worktreeconfig").unwrap_or(false)
        {
            found.extend(listed(&own).map_err(unreadable())?);
        }
        let mut files = BTreeMap::new();
        for name in DECIDING {
            note(&mut files, name, &common.join(name));
        }
        let hooks = hooks_dir(repo, &found);
        for hook in fs::read_dir(&hooks).into_iter().flatten().flatten() {
            let name = hook.file_name().to_string_lossy().into_owned();
            if !name.ends_with(".sample") {
                note(&mut files, &format!("hooks/{name}"), &hook.path());
            }
        }
        Ok(Self {
            repository_attributes: text_of(&common.join("info/attributes")),
            user_attributes: user_attributes(&found).and_then(|file| text_of(&file)),
            config: found,
            files,
        })
    }

    /// The present config settings alone, without attributes and files.
    pub(super) fn current(repo: &Repo) -> Self {
        let config = config_of(repo).and_then(|config| listed(&config)).unwrap_or_default();
        Self { config, ..Self::default() }
    }

    /// The record's name on the board, and its bytes.
    pub fn record(&self) -> (String, Vec<u8>) {
        let bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        (blake3::hash(&bytes).to_hex().to_string(), bytes)
    }

    /// Reads a record, if it matches the name on the board.
    pub fn from_record(name: &str, bytes: &[u8]) -> Option<Self> {
        let is_it = blake3::hash(bytes).to_hex().as_str() == name;
        is_it.then(|| serde_json::from_slice(bytes).ok())?
    }

    /// The names of relevant settings that have changed.
    pub fn changed_since(&self, before: &Self) -> Vec<String> {
        let (now, then) = (self.by_name(), before.by_name());
        let all: BTreeSet<&String> = now.keys().chain(then.keys()).collect();
        all.into_iter().filter(|name| now.get(*name) != then.get(*name)).cloned().collect()
    }

    /// The changed settings, each with its old and new value.
    pub fn difference(&self, before: &Self) -> Vec<String> {
        let (now, then) = (self.by_name(), before.by_name());
        let word = |side: &BTreeMap<String, String>, name: &String| {
            side.get(name)
                .map_or("not there".to_owned(), |value| format!("`{}`", value.trim_end_matches('\n')))
        };
        let line = |name: &String| format!("{name}: {} -> {}", word(&then, name), word(&now, name));
        self.changed_since(before).iter().map(line).collect()
    }

    /// The same, with these hooks as they are now.
    pub fn with_hooks_of(mut self, now: &Self, hooks: impl Iterator<Item = String>) -> Self {
        for name in hooks.map(|hook| format!("hooks/{hook}")) {
            match now.files.get(&name) {
                Some(mark) => self.files.insert(name, mark.clone()),
                None => self.files.remove(&name),
            };
        }
        self
    }

    fn by_name(&self) -> BTreeMap<String, String> {
        let mut all: BTreeMap<String, String> = BTreeMap::new();
        for setting in self.config.iter().filter(|setting| matters(&setting.key)) {
            // The same key may occur more than once.
            let value = all.entry(setting.key.clone()).or_default();
            value.push_str(setting.value.as_deref().unwrap_or("true"));
            value.push('\n');
        }
        let attributes =
            [("info/attributes", &self.repository_attributes), ("attributes", &self.user_attributes)];
        for (name, text) in attributes {
            if let Some(text) = text {
                let name = if name == "attributes" {
                    "the user's attributes".to_owned()
                } else {
                    format!(".git/{name}")
                };
                all.insert(name, text.clone());
            }
        }
        all.extend(self.files.iter().map(|(name, what)| (format!(".git/{name}"), what.clone())));
        all
    }

    pub(super) fn repository_attributes(&self) -> Option<&str> {
        self.repository_attributes.as_deref()
    }

    pub(super) fn user_attributes(&self) -> Option<&str> {
        self.user_attributes.as_deref()
    }

    /// Whether such a file is as it was accepted.
    pub(super) fn is_accepted(&self, repo: &Repo, name: &str) -> bool {
        let mut now = BTreeMap::new();
        note(&mut now, name, &repo.common_dir.join(name));
        now.get(name) == self.files.get(name)
    }

    /// Whether this hook was accepted and is unchanged.
    pub(super) fn accepted_hook(&self, repo: &Repo, hook: &str) -> bool {
        let name = format!("hooks/{hook}");
        let mut now = BTreeMap::new();
        note(&mut now, &name, &hooks_dir(repo, &self.config).join(hook));
        now.get(&name).is_some_and(|mark| self.files.get(&name) == Some(mark))
    }

    /// Whether these settings may make git start a program when it reads or writes files.
    pub(super) fn runs_programs(&self) -> bool {
        self.config.iter().any(|setting| {
            let key = setting.key.as_str();
            (key.starts_with("filter.") && !key.ends_with(".required"))
                || (key.starts_with("merge.") && key.ends_with(".driver"))
        })
    }

    /// These settings as a git config file; identities and the repository format as they are now.
    pub(super) fn config_file(&self, now: &Self) -> String {
        let mut text = String::new();
        let old = self.config.iter().filter(|setting| !is_current(&setting.key));
        for setting in old.chain(now.config.iter().filter(|setting| is_current(&setting.key))) {
            if !is_left_out(&setting.key) {
                text.push_str(&entry(setting));
            }
        }
        text
    }
}

/// Settings that apply as they are now: identities, and how the repository is stored.
fn is_current(key: &str) -> bool {
    ["user.", "author.", "committer.", "extensions."].iter().any(|start| key.starts_with(start))
        || key == "core.repositoryformatversion"
}

/// liza itself sets, for each command, where git looks.
fn is_left_out(key: &str) -> bool {
    key.starts_with("include.")
        || key.starts_with("includeif.")
        || ["core.worktree", "core.bare", "core.hookspath", "core.attributesfile", "core.fsmonitor"]
            .contains(&key)
        || key == "extensions.worktreeconfig"
}

fn entry(setting: &Setting) -> String {
    let Some((section, rest)) = setting.key.split_once('.') else { return String::new() };
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let (head, name) = match rest.rsplit_once('.') {
        Some((below, name)) => (format!("[{section} \"{}\"]", quoted(below)), name),
        None => (format!("[{section}]"), rest),
    };
    match &setting.value {
        None => format!("{head}\n\t{name}\n"),
        Some(value) => {
            let value = quoted(value).replace('\n', "\\n").replace('\t', "\\t");
            format!("{head}\n\t{name} = \"{value}\"\n")
        }
    }
}

fn listed(config: &git2::Config) -> Result<Vec<Setting>, git2::Error> {
    let mut found = Vec::new();
    config.entries(None)?.for_each(|entry| {
        let key = lossy(entry.name_bytes());
        if !matters(&key) && !is_current(&key) {
            return;
        }
        found.push(Setting { key, value: entry.has_value().then(|| lossy(entry.value_bytes())) });
    })?;
    Ok(found)
}

/// Where git looks for hooks.
fn hooks_dir(repo: &Repo, config: &[Setting]) -> PathBuf {
    let set = config.iter().rev().find(|setting| setting.key == "core.hookspath");
    match set.and_then(|setting| setting.value.as_deref()).filter(|path| !path.is_empty()) {
        Some(path) => repo.root.join(home_of(path)),
        None => repo.common_dir.join("hooks"),
    }
}

fn user_attributes(config: &[Setting]) -> Option<PathBuf> {
    let set = config.iter().rev().find(|setting| setting.key == "core.attributesfile");
    if let Some(path) = set.and_then(|setting| setting.value.as_deref()) {
        return Some(home_of(path));
    }
    let below = |variable: &str, rest: &str| Some(PathBuf::from(std::env::var_os(variable)?).join(rest));
    below("XDG_CONFIG_HOME", "git/attributes").or_else(|| below("HOME", ".config/git/attributes"))
}

fn home_of(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    }
}

fn text_of(path: &Path) -> Option<String> {
    read_plain(path).ok().map(|bytes| lossy(&bytes))
}

/// A file with its content hash and whether it is executable; a link with its target.
fn note(found: &mut BTreeMap<String, String>, name: &str, path: &Path) {
    let Ok(meta) = path.symlink_metadata() else { return };
    let mut what = format!("{:o}", meta.permissions().mode());
    if let Ok(target) = fs::read_link(path) {
        what.push_str(&format!(" -> {}", target.display()));
    }
    if path.is_file()
        && let Ok(bytes) = read_plain(path)
    {
        what.push_str(&format!(" {}", &blake3::hash(&bytes).to_hex()[..16]));
    }
    found.insert(name.to_owned(), what);
}

/// Whether a setting can run a program or change the results of liza's own git commands. Git writes section and last
/// word of a key in lower case. Settings about people, remotes and the look of output do not matter.
fn matters(key: &str) -> bool {
    const OTHERS: [&str; 36] = [
        "user.",
        "author.",
        "committer.",
        "remote.",
        "branch.",
        "color.",
        "column.",
        "gui.",
        "gitk.",
        "help.",
        "advice.",
        "log.",
        "pretty.",
        "format.",
        "sendemail.",
        "url.",
        "push.",
        "pull.",
        "fetch.",
        "rebase.",
        "stash.",
        "tag.",
        "init.",
        "blame.",
        "notes.",
        "http.",
        "gitweb.",
        "instaweb.",
        "safe.",
        "protocol.",
        "remotes.",
        "maintenance.",
        "gc.",
        "feature.",
        "hub.",
        "github.",
    ];
    const HARMLESS: [&str; 6] = [
        "core.repositoryformatversion",
        "core.bare",
        "core.logallrefupdates",
        "core.abbrev",
        "core.compression",
        "core.sharedrepository",
    ];
    let is_remote_command = key.starts_with("remote.")
        && [".uploadpack", ".receivepack", ".vcs", ".proxy"].iter().any(|end| key.ends_with(end));
    let only_looks = OTHERS.iter().any(|start| key.starts_with(start)) || HARMLESS.contains(&key);
    is_remote_command || !only_looks
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fixture;
    use super::*;

    #[test]
    fn settings_that_run_programs_are_noticed() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        let before = Settings::of(&repo).unwrap();
        fixture.git(&["config", "user.name", "another person"]);
        fixture.git(&["config", "branch.x.remote", "origin"]);
        assert_eq!(Settings::of(&repo).unwrap().changed_since(&before), Vec::<String>::new());
        for (key, value) in [
            ("filter.X.Clean", "evil"),
            ("core.hooksPath", "/x"),
            ("include.path", "/x"),
            ("includeIf.hasconfig:remote.*.url:x.path", "/x"),
            ("alias.st", "!evil"),
            ("diff.a.textconv", "evil"),
            ("merge.a.driver", "evil"),
            ("merge.default", "a"),
            ("core.attributesFile", "/x"),
            ("core.fsmonitor", "evil"),
            ("core.fileMode", "maybe"),
            ("core.autocrlf", "input"),
            ("credential.helper", "!evil"),
            ("gpg.program", "evil"),
            ("pager.log", "evil"),
            ("remote.origin.uploadpack", "evil"),
        ] {
            let before = Settings::of(&repo).unwrap();
            fixture.git(&["config", "--add", key, value]);
            let changed = Settings::of(&repo).unwrap().changed_since(&before);
            assert_eq!(changed.len(), 1, "{key}");
            assert_eq!(changed[0].to_lowercase(), key.to_lowercase());
            fixture.git(&["config", "--unset-all", key]);
        }
        let before = Settings::of(&repo).unwrap();
        for name in ["info", "hooks"] {
            fs::create_dir_all(repo.common_dir.join(name)).unwrap();
        }
        let id = format!("{}\n", fixture.head());
        for name in
            ["info/attributes", "info/grafts", "hooks/pre-commit", "objects/info/alternates", "shallow"]
        {
            fs::write(repo.common_dir.join(name), &id).unwrap();
        }
        let now = Settings::of(&repo).unwrap();
        let wanted = [
            ".git/hooks/pre-commit",
            ".git/info/attributes",
            ".git/info/grafts",
            ".git/objects/info/alternates",
            ".git/shallow",
        ];
        assert_eq!(now.changed_since(&before), wanted);
        assert_eq!(before.changed_since(&now).len(), 5);
        assert!(now.accepted_hook(&repo, "pre-commit") && !before.accepted_hook(&repo, "pre-commit"));
    }

    #[test]
    fn record_is_read_only_under_its_own_name() {
        let fixture = Fixture::new();
        fixture.git(&["config", "filter.a \"b\" c.clean", "x \"y\" \\z\tw"]);
        let settings = Settings::of(&fixture.repo()).unwrap();
        let (name, bytes) = settings.record();
        assert_eq!(Settings::from_record(&name, &bytes), Some(settings.clone()));
        assert_eq!(Settings::from_record(&name, b"{}"), None);
        // Git reads the same settings from the file that liza writes.
        let file = fixture.root.join("written");
        fs::write(&file, settings.config_file(&settings)).unwrap();
        let value = fixture.git(&["config", "-f", file.to_str().unwrap(), "filter.a \"b\" c.clean"]);
        assert_eq!(value.trim_end(), "x \"y\" \\z\tw");
    }
}
