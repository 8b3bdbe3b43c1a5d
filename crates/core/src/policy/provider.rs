//! How an agent command is started and what it prints: data, so that a new provider needs no code.

pub use super::provider_errors::ErrorTable;

use super::prelude::*;

sparse_settings! {
    /// One provider. In liza.yaml, missing fields are taken from the built-in entry of the same name or the one that
    /// `base` names.
    pub struct ProviderEntry {
        /// The entry from which missing fields are taken.
        pub base: Option<String>,
        /// The program and its arguments. `{prompt}`, `{prompt_file}`, `{model}`, `{worktree}`, `{common_dir}`, `{git_dir}`,
        /// `{board_dir}`, `{run_dir}`, `{session}`, `{max_turns}` and `{usage_file}` are filled in; the words `{permissions}` and
        /// `{args}` stand for those lists. A word, or a list of words, that names a value there is none of is left out.
        pub command: Vec<Words>,
        /// The arguments that set the agent's permissions.
        pub permissions: Option<Vec<Words>>,
        /// How tools are denied to an agent; tools that are not listed here cannot be denied.
        pub deny: Option<Denials>,
        /// How the prompt is passed; by default on standard input.
        pub prompt: Option<PromptBy>,
        /// The format of its output; by default plain text.
        pub output: Option<OutputFormat>,
        /// Names of the caller's variables that the command gets besides the common ones; `AWS_*` names several. They
        /// are added to those of the base.
        pub env: Vec<String>,
        /// Texts in a prompt and their replacements: for programs that expand `@file` in their input. A prompt in a
        /// file is not changed.
        pub escape: BTreeMap<String, String>,
        /// The note at the start of a prompt with escaped texts, if the program does not undo the escapes.
        pub escape_note: Option<String>,
        /// Variables that liza sets, besides those of the base.
        pub set: BTreeMap<String, String>,
        /// The arguments that print its help; without them `liza doctor` does not check it.
        pub help: Vec<String>,
        /// Options that exist but are missing in its help.
        pub unlisted: Vec<String>,
        /// Exit codes that mean: the command reached its own limit.
        pub limit_exits: Vec<i32>,
        /// Exit codes that are failures although they have another meaning elsewhere: 42 asks for a restart.
        pub crash_exits: Vec<i32>,
        /// Remarks for people who use it.
        pub remarks: Vec<String>,
        /// Why it cannot run agents, if so. An entry with its own command does not inherit this.
        pub unfit: Option<String>,
        /// Error messages by class; those of the base follow.
        pub errors: Option<ErrorTable>,
        /// The command with which a person logs in.
        pub login_command: Option<String>,
    }
}

words! {
    /// A kind of tools, whatever the provider's names for them.
    pub enum ToolClass {
        /// Read files.
        Read = "read",
        /// Change files.
        Write = "write",
        /// Run commands, tests and `liza` among them.
        Run = "run",
        /// Reach other machines.
        Network = "network",
    }
}

impl ToolClass {
    /// The forbidden action, in words for an agent.
    pub fn words(self) -> &'static str {
        match self {
            Self::Read => "reading files",
            Self::Write => "changing files",
            Self::Run => "running commands",
            Self::Network => "reaching other machines",
        }
    }
}

sparse_settings! {
    /// The options with which an agent command denies tools.
    pub struct Denials {
        /// The arguments that deny tools by name; `{tools}` is replaced by the names, separated by commas.
        pub by_name: Vec<String>,
        /// Tools that no agent gets, by the provider's names: they leave the worktree, or wait for a later time.
        pub always: Vec<String>,
        pub read: Option<Denial>,
        pub write: Option<Denial>,
        pub run: Option<Denial>,
        pub network: Option<Denial>,
    }
}

sparse_settings! {
    /// How one kind of tools is denied. With neither names nor permissions, the provider has no tools of that kind.
    pub struct Denial {
        /// The provider's names of such tools.
        pub tools: Vec<String>,
        /// Permissions that replace the usual ones.
        pub permissions: Option<Vec<Words>>,
        /// The agent can no longer run `liza`; so this denial is used only if liza.yaml asks for it explicitly.
        pub without_liza: bool,
        /// What the denial leaves open, or why it is reliable.
        pub remark: Option<String>,
    }
}

/// The tools an agent is started without.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Denied {
    pub classes: Vec<ToolClass>,
    /// By the provider's names.
    pub tools: Vec<String>,
}

impl Denied {
    /// The permissions instead of the entry's, if there are any.
    pub fn permissions<'e>(&self, entry: &'e ProviderEntry) -> Option<&'e [Words]> {
        self.classes.iter().find_map(|class| entry.denial(*class)?.permissions.as_deref())
    }

    /// The arguments that deny the remaining tools by name.
    pub fn words(&self, entry: &ProviderEntry) -> Vec<String> {
        let of_classes =
            self.classes.iter().filter_map(|class| entry.denial(*class)).flat_map(|one| &one.tools);
        let mut names: Vec<&str> = Vec::new();
        for name in entry.always_denied().iter().chain(of_classes).chain(&self.tools) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        if names.is_empty() {
            return Vec::new();
        }
        entry.denies_by_name().iter().map(|word| word.replace("{tools}", &names.join(","))).collect()
    }
}

/// Arguments that are used or dropped together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Words {
    One(String),
    Together(Vec<String>),
}

impl Words {
    pub fn as_slice(&self) -> &[String] {
        match self {
            Self::One(word) => std::slice::from_ref(word),
            Self::Together(words) => words,
        }
    }
}

impl From<&str> for Words {
    fn from(word: &str) -> Self {
        Self::One(word.to_owned())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptBy {
    /// On standard input.
    #[default]
    Stdin,
    /// As the argument `{prompt}`; a prompt that is too long for an argument becomes a reference to its file.
    Argument,
    /// In the file `{prompt_file}`.
    File,
}

/// The format of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    /// liza reads nothing from it.
    #[default]
    Text,
    ClaudeStream,
    CodexJsonl,
    GeminiStream,
    OpencodeJson,
    QwenStream,
    CopilotJson,
    KimiMessages,
    AiderText,
    VibeMessages,
    /// The messages of the Agent Client Protocol, one per line.
    AcpJsonl,
}

/// The meaning of an exit code of an agent command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Done,
    /// The command asks to be started again at once.
    Restart,
    /// The command reached its own limit.
    Limit,
    Crash,
}

impl ProviderEntry {
    /// The program to start.
    pub fn program(&self) -> &str {
        self.command.first().and_then(|words| words.as_slice().first()).map_or("", String::as_str)
    }

    /// How this kind of tools is denied, if it can be. A command in liza.yaml marks where the restricting arguments go;
    /// a command without that mark gets none of them.
    pub fn denial(&self, class: ToolClass) -> Option<&Denial> {
        let denials = self.deny.as_ref().filter(|_| self.takes_permissions())?;
        let denial = match class {
            ToolClass::Read => &denials.read,
            ToolClass::Write => &denials.write,
            ToolClass::Run => &denials.run,
            ToolClass::Network => &denials.network,
        };
        denial.as_ref()
    }

    /// Whether a former session can be resumed.
    pub fn can_resume(&self) -> bool {
        self.command.iter().flat_map(Words::as_slice).any(|word| word.contains("{session}"))
    }

    /// The arguments that deny tools by their names, if there are any.
    pub fn denies_by_name(&self) -> &[String] {
        match &self.deny {
            Some(denials) if self.takes_permissions() => &denials.by_name,
            _ => &[],
        }
    }

    /// Tools that no agent gets.
    fn always_denied(&self) -> &[String] {
        self.deny.as_ref().map_or(&[], |denials| denials.always.as_slice())
    }

    /// A prompt with its escapes, so that the agent reads the original: one pass, the longest text first.
    pub fn escaped(&self, prompt: &str) -> String {
        let mut from: Vec<(&str, &str)> = self.escape.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        from.retain(|(text, _)| !text.is_empty());
        from.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        let mut done = String::with_capacity(prompt.len());
        let mut rest = prompt;
        while let Some(first) = rest.chars().next() {
            match from.iter().find_map(|(text, into)| Some((into, rest.strip_prefix(text)?))) {
                Some((into, after)) => {
                    done.push_str(into);
                    rest = after;
                }
                None => {
                    done.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        match &self.escape_note {
            Some(note) if done != prompt => format!("{note}\n\n{done}"),
            _ => done,
        }
    }

    fn takes_permissions(&self) -> bool {
        self.command.iter().flat_map(Words::as_slice).any(|word| word == "{permissions}")
    }

    pub fn ending(&self, exit: i32) -> Ending {
        match exit {
            0 => Ending::Done,
            code if self.limit_exits.contains(&code) => Ending::Limit,
            code if self.crash_exits.contains(&code) => Ending::Crash,
            42 => Ending::Restart,
            _ => Ending::Crash,
        }
    }

    /// The options of this entry that the help text should mention.
    pub fn options(&self) -> Vec<&str> {
        let words = self.command.iter().chain(self.permissions.iter().flatten()).flat_map(Words::as_slice);
        let mut options: Vec<&str> = words
            .chain(self.denies_by_name())
            .filter(|word| word.starts_with('-') && word.len() > 1 && *word != "--")
            .map(|word| word.split_once('=').map_or(word.as_str(), |(option, _)| option))
            .filter(|option| !self.unlisted.iter().any(|unlisted| unlisted == option))
            .collect();
        options.sort_unstable();
        options.dedup();
        options
    }

    /// This entry, with missing fields from `base`.
    pub fn over(&self, base: &Self) -> Self {
        let mut set = base.set.clone();
        set.extend(self.set.clone());
        let or = |own: &Vec<String>, of_base: &Vec<String>| {
            if own.is_empty() { of_base.clone() } else { own.clone() }
        };
        let same_command = self.command.is_empty();
        let codes = |own: &[i32], of_base: &[i32]| [of_base, own].concat();
        Self {
            base: self.base.clone(),
            command: if same_command { base.command.clone() } else { self.command.clone() },
            permissions: self.permissions.clone().or_else(|| base.permissions.clone()),
            deny: self.deny.clone().or_else(|| base.deny.clone()),
            prompt: self.prompt.or(base.prompt),
            output: self.output.or(base.output),
            env: [base.env.as_slice(), &self.env].concat(),
            escape: if self.escape.is_empty() { base.escape.clone() } else { self.escape.clone() },
            escape_note: self.escape_note.clone().or_else(|| base.escape_note.clone()),
            set,
            help: or(&self.help, &base.help),
            unlisted: [base.unlisted.as_slice(), &self.unlisted].concat(),
            limit_exits: codes(&self.limit_exits, &base.limit_exits),
            crash_exits: codes(&self.crash_exits, &base.crash_exits),
            remarks: or(&self.remarks, &base.remarks),
            unfit: self.unfit.clone().or_else(|| base.unfit.clone().filter(|_| same_command)),
            errors: match (&self.errors, &base.errors) {
                (Some(own), Some(base)) => Some(own.before(base)),
                (own, base) => own.clone().or_else(|| base.clone()),
            },
            login_command: self.login_command.clone().or_else(|| base.login_command.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_classified_per_program() {
        let plain = ProviderEntry::default();
        assert_eq!(plain.ending(0), Ending::Done);
        assert_eq!(plain.ending(42), Ending::Restart);
        assert_eq!(plain.ending(1), Ending::Crash);
        let own = ProviderEntry { limit_exits: vec![53], crash_exits: vec![42], ..plain };
        assert_eq!(own.ending(42), Ending::Crash);
        assert_eq!(own.ending(53), Ending::Limit);
    }

    #[test]
    fn options_are_read_from_all_command_words() {
        let entry = ProviderEntry {
            command: vec!["x".into(), "exec".into(), "--a=b".into(), "-".into(), "{permissions}".into()],
            permissions: Some(vec![Words::Together(vec!["-c".into(), "value".into()]), "--hidden".into()]),
            unlisted: vec!["--hidden".into()],
            ..ProviderEntry::default()
        };
        assert_eq!(entry.options(), ["--a", "-c"]);
        assert_eq!(entry.program(), "x");
    }

    #[test]
    fn escapes_are_applied_once() {
        let escape =
            [("@", "\\@"), ("@@", "(at at)"), ("", "never")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        let entry = ProviderEntry { escape: escape.into(), ..ProviderEntry::default() };
        assert_eq!(entry.escaped("a@b.org @@ \u{fc}@"), "a\\@b.org (at at) \u{fc}\\@");
        assert_eq!(ProviderEntry::default().escaped("a@b"), "a@b");
        let own =
            ProviderEntry { escape_note: Some("Note.".into()), ..ProviderEntry::default() }.over(&entry);
        assert_eq!((own.escaped("@x"), own.escaped("x")), ("Note.\n\n\\@x".into(), "x".into()));
    }

    #[test]
    fn denied_tools_are_joined_in_an_option() {
        let deny = Denials {
            by_name: vec!["--deny={tools}".into()],
            always: vec!["Cron".into(), "Web".into()],
            network: Some(Denial { tools: vec!["Web".into(), "Fetch".into()], ..Denial::default() }),
            ..Denials::default()
        };
        let entry = ProviderEntry {
            command: vec!["x".into(), "{permissions}".into()],
            deny: Some(deny),
            ..ProviderEntry::default()
        };
        assert_eq!(Denied::default().words(&entry), ["--deny=Cron,Web"]);
        let denied = Denied { classes: vec![ToolClass::Network], tools: vec!["Own".into()] };
        assert_eq!(denied.words(&entry), ["--deny=Cron,Web,Fetch,Own"]);
    }

    #[test]
    fn provider_entry_merge_adds_environment() {
        let base = ProviderEntry {
            command: vec!["x".into()],
            permissions: Some(vec!["--all".into()]),
            env: vec!["KEY".into()],
            set: [("A".to_owned(), "1".to_owned())].into(),
            output: Some(OutputFormat::CodexJsonl),
            ..ProviderEntry::default()
        };
        let own = ProviderEntry {
            permissions: Some(Vec::new()),
            env: vec!["MORE".into()],
            set: [("A".to_owned(), "2".to_owned())].into(),
            ..ProviderEntry::default()
        };
        let both = own.over(&base);
        assert_eq!(both.command, base.command);
        assert_eq!(both.permissions, Some(Vec::new()));
        assert_eq!(both.env, ["KEY", "MORE"]);
        assert_eq!(both.set["A"], "2");
        assert_eq!(both.output, base.output);
    }
}
