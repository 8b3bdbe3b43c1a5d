//! Builds a command line from an entry and a job.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::policy::provider::{Denied, PromptBy, ProviderEntry, Words};
use crate::policy::team::Limits;

/// Linux accepts no argument longer than 128 KiB; other systems accept less in total.
const LONGEST_ARGUMENT: usize = 96 * 1024;

/// How many turns a program gets beyond liza's own limit: it must still run to read that it should hand over.
const TURNS_TO_SPARE: u64 = 5;

/// The work, and where to do it.
#[derive(Debug)]
pub struct Job {
    pub prompt: String,
    /// A file that holds the prompt.
    pub prompt_file: PathBuf,
    /// Where the agent works: a task's worktree, a review checkout, or the root for a planner.
    pub worktree: PathBuf,
    /// The git directory that all worktrees share.
    pub common_dir: PathBuf,
    /// The git directory of this worktree, if it is a linked one; otherwise the shared one.
    pub git_dir: PathBuf,
    pub board_dir: PathBuf,
    /// The directory of this session's files.
    pub run_dir: PathBuf,
    pub model: Option<String>,
    pub args: Vec<String>,
    /// Tools that it may not use.
    pub denied: Denied,
    /// The session to continue, if the former one may be continued.
    pub session: Option<String>,
    pub limits: Limits,
}

/// The program to start.
#[derive(Debug)]
pub struct Invocation {
    pub program: String,
    pub args: Vec<String>,
    /// Its input; none if absent.
    pub stdin: Option<Vec<u8>>,
    pub env: BTreeMap<String, String>,
    /// The file to which it writes its token usage.
    pub usage_file: Option<PathBuf>,
}

pub fn invocation(entry: &ProviderEntry, job: &Job) -> Invocation {
    let values = Values::of(entry, job);
    let mut words = values.all(&entry.command, entry, job);
    let mentions = |list: &str| entry.command.iter().flat_map(Words::as_slice).any(|word| word == list);
    if !mentions("{args}") {
        words.extend(values.extra(&job.args));
    }
    let mut words = words.into_iter();
    let mut env: BTreeMap<String, String> =
        entry.set.iter().filter_map(|(name, text)| Some((name.clone(), values.fill(text)?))).collect();
    env.insert("LIZA_PROMPT_FILE".to_owned(), path(&job.prompt_file));
    Invocation {
        program: words.next().unwrap_or_default(),
        args: words.collect(),
        stdin: (entry.prompt.unwrap_or_default() == PromptBy::Stdin)
            .then(|| entry.escaped(&job.prompt).into_bytes()),
        env,
        usage_file: names_value(entry, "{usage_file}").then(|| usage_file(job)),
    }
}

fn names_value(entry: &ProviderEntry, value: &str) -> bool {
    let words = entry.command.iter().chain(entry.permissions.iter().flatten()).flat_map(Words::as_slice);
    words.chain(entry.set.values()).any(|word| word.contains(value))
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

/// The values of the placeholders, if they have one.
struct Values([(&'static str, Option<String>); 11]);

fn usage_file(job: &Job) -> PathBuf {
    job.run_dir.join("usage.json")
}

impl Values {
    fn of(entry: &ProviderEntry, job: &Job) -> Self {
        let linked = job.git_dir != job.common_dir;
        Self([
            ("prompt", Some(prompt_argument(entry, job))),
            ("prompt_file", Some(path(&job.prompt_file))),
            ("model", job.model.clone()),
            ("worktree", Some(path(&job.worktree))),
            ("common_dir", Some(path(&job.common_dir))),
            ("git_dir", linked.then(|| path(&job.git_dir))),
            ("board_dir", Some(path(&job.board_dir))),
            ("run_dir", Some(path(&job.run_dir))),
            ("session", job.session.clone()),
            (
                "max_turns",
                job.limits.turns.filter(|turns| *turns > 0).map(|turns| (turns + TURNS_TO_SPARE).to_string()),
            ),
            ("usage_file", Some(path(&usage_file(job)))),
        ])
    }

    fn all(&self, command: &[Words], entry: &ProviderEntry, job: &Job) -> Vec<String> {
        let mut done = Vec::new();
        for words in command {
            match words {
                Words::One(word) if word == "{permissions}" => {
                    let usual = entry.permissions.as_deref().unwrap_or_default();
                    let list = job.denied.permissions(entry).unwrap_or(usual).iter().map(Words::as_slice);
                    done.extend(list.filter_map(|words| self.together(words)).flatten());
                    done.extend(job.denied.words(entry));
                }
                Words::One(word) if word == "{args}" => done.extend(self.extra(&job.args)),
                words => done.extend(self.together(words.as_slice()).into_iter().flatten()),
            }
        }
        done
    }

    /// Arguments of the role: each is filled separately.
    fn extra(&self, args: &[String]) -> Vec<String> {
        args.iter().filter_map(|word| self.fill(word)).collect()
    }

    fn together(&self, words: &[String]) -> Option<Vec<String>> {
        words.iter().map(|word| self.fill(word)).collect()
    }

    /// One pass from left to right: a value that looks like a placeholder is not expanded. None if a placeholder has
    /// no value; braces around anything else are text.
    fn fill(&self, template: &str) -> Option<String> {
        let mut done = String::with_capacity(template.len());
        let mut rest = template;
        while let Some(open) = rest.find('{') {
            done.push_str(&rest[..open]);
            rest = &rest[open..];
            let known = self.0.iter().find_map(|(name, value)| {
                let after = rest[1..].strip_prefix(name)?.strip_prefix('}')?;
                Some((value, after))
            });
            match known {
                Some((value, after)) => {
                    done.push_str(value.as_deref()?);
                    rest = after;
                }
                None => {
                    done.push('{');
                    rest = &rest[1..];
                }
            }
        }
        done.push_str(rest);
        Some(done)
    }
}

/// An argument has a maximum length and cannot contain a NUL byte.
fn prompt_argument(entry: &ProviderEntry, job: &Job) -> String {
    if entry.prompt.unwrap_or_default() == PromptBy::Argument && job.prompt.len() > LONGEST_ARGUMENT {
        return entry.escaped(&format!(
            "Your instructions are in the file {}. Read the whole file first, then do what it says.",
            path(&job.prompt_file)
        ));
    }
    entry.escaped(&job.prompt).replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ProjectConfig;
    use crate::provider::Catalog;

    fn job() -> Job {
        Job {
            prompt: "Do it.".to_owned(),
            prompt_file: "/r/.liza/runs/t/1/prompt.md".into(),
            worktree: "/r/.worktrees/t".into(),
            common_dir: "/r/.git".into(),
            git_dir: "/r/.git/worktrees/t".into(),
            board_dir: "/r/.liza".into(),
            run_dir: "/r/.liza/runs/t/1".into(),
            model: None,
            args: Vec::new(),
            denied: Denied::default(),
            session: None,
            limits: Limits::default(),
        }
    }

    fn full() -> Job {
        Job {
            model: Some("big".to_owned()),
            session: Some("s-1".to_owned()),
            args: vec!["--extra".to_owned(), "{board_dir}/x".to_owned()],
            limits: Limits { turns: Some(50), ..Limits::default() },
            ..job()
        }
    }

    /// Whether it is the value of a variable and not an argument.
    fn in_set(entry: &ProviderEntry, value: &str) -> bool {
        entry.set.values().any(|word| word.contains(value))
    }

    fn line(name: &str, job: &Job) -> String {
        let catalog = Catalog::new(&ProjectConfig::default());
        let started = invocation(catalog.entry(name).expect("an entry"), job);
        std::iter::once(started.program).chain(started.args).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn groups_without_a_value_are_dropped() {
        let tools = "--permission-mode acceptEdits --allowedTools=Bash,BashOutput,KillShell,Read,Edit,MultiEdit,Write,NotebookEdit,Glob,Grep,LS,TodoWrite --disallowedTools=Task,Agent,Workflow,Skill,SendMessage,ListAgents,EnterWorktree,ExitWorktree,CronCreate,CronDelete,CronList,ScheduleWakeup,WebFetch,WebSearch";
        assert_eq!(
            line("claude", &job()),
            format!("claude -p --output-format stream-json --verbose {tools}")
        );
        assert_eq!(
            line("claude", &full()),
            format!(
                "claude -p --output-format stream-json --verbose {tools} --model big --max-turns 55 --resume s-1 --extra /r/.liza/x"
            )
        );
    }

    #[test]
    fn sandboxed_agent_may_write_for_a_commit() {
        let granted = |job: &Job| {
            let line = line("codex", job);
            let words: Vec<&str> = line.split(' ').collect();
            let pairs = words.windows(2).filter(|pair| pair[0] == "--add-dir");
            pairs.map(|pair| pair[1].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            granted(&job()),
            ["/r/.liza", "/r/.git/worktrees/t", "/r/.git/objects", "/r/.git/refs", "/r/.git/logs"]
        );
        let at_the_root = Job { git_dir: "/r/.git".into(), worktree: "/r".into(), ..job() };
        assert_eq!(granted(&at_the_root), ["/r/.liza"]);
        assert!(line("codex", &full()).ends_with("--model big --extra /r/.liza/x resume s-1 -"));
    }

    #[test]
    fn prompt_enters_as_the_entry_says() {
        let catalog = Catalog::new(&ProjectConfig::default());
        let start = |name: &str, job: &Job| invocation(catalog.entry(name).expect("an entry"), job);
        assert_eq!(start("gemini", &job()).stdin.as_deref(), Some(&b"Do it."[..]));
        let copilot = start("copilot", &job());
        assert_eq!((copilot.stdin, copilot.args[1].as_str()), (None, "Do it."));
        assert_eq!(copilot.usage_file, Some("/r/.liza/runs/t/1/usage.json".into()));
        assert!(copilot.args.contains(&"/r/.liza/runs/t/1/usage.json".to_owned()));
        let aider = start("aider", &job());
        assert_eq!((aider.stdin, aider.args[1].as_str()), (None, "/r/.liza/runs/t/1/prompt.md"));
        assert_eq!((aider.usage_file, aider.env["COLUMNS"].as_str()), (None, "400"));
        assert_eq!(aider.env["LIZA_PROMPT_FILE"], "/r/.liza/runs/t/1/prompt.md");
    }

    #[test]
    fn too_long_prompt_is_passed_as_a_file() {
        let catalog = Catalog::new(&ProjectConfig::default());
        let long = Job { prompt: "x".repeat(LONGEST_ARGUMENT + 1), ..job() };
        let kimi = invocation(catalog.entry("kimi").expect("kimi"), &long);
        assert!(kimi.args[1].contains("/r/.liza/runs/t/1/prompt.md") && kimi.args[1].len() < 300);
        let zero = Job { prompt: "a\0b".to_owned(), ..job() };
        assert_eq!(invocation(catalog.entry("kimi").expect("kimi"), &zero).args[1], "a\u{fffd}b");
    }

    #[test]
    fn project_command_args_precede_role_args() {
        let entry = ProviderEntry {
            command: vec![
                "mine".into(),
                "--file={prompt_file}".into(),
                "{\"a\":1}".into(),
                "--m={model}".into(),
            ],
            ..ProviderEntry::default()
        };
        let started = invocation(&entry, &Job { args: vec!["--more".to_owned()], ..job() });
        assert_eq!(started.program, "mine");
        assert_eq!(started.args, ["--file=/r/.liza/runs/t/1/prompt.md", "{\"a\":1}", "--more"]);
        assert_eq!(started.stdin.as_deref(), Some(&b"Do it."[..]));
    }

    /// The text of a prompt, a model's name or a session's id stays one unchanged word.
    #[test]
    fn values_are_never_expanded_again() {
        let payloads = [
            "{prompt}",
            "{prompt_file}",
            "{model}",
            "{worktree}",
            "{common_dir}",
            "{git_dir}",
            "{board_dir}",
            "{run_dir}",
            "{session}",
            "{max_turns}",
            "{usage_file}",
            "{permissions}",
            "{args}",
            "{{prompt}}",
            "{{ 7 * 7 }}",
            "{% include '/etc/passwd' %}",
            "{pro{prompt}mpt}",
            "$(touch canary) `touch canary` ; touch canary",
            "--model evil\n--resume",
            "${HOME} %s {0} {}",
            "'\"\\ * ? ~ ! # &",
        ];
        let catalog = Catalog::new(&ProjectConfig::default());
        for payload in payloads {
            let job = Job {
                prompt: payload.to_owned(),
                model: Some(payload.to_owned()),
                session: Some(payload.to_owned()),
                ..job()
            };
            for (name, entry) in catalog.usable() {
                let started = invocation(entry, &job);
                let count = started.args.iter().filter(|word| word.as_str() == payload).count();
                let named = |value: &str| usize::from(names_value(entry, value) && !in_set(entry, value));
                let expected = named("{prompt}") + named("{model}") + named("{session}");
                assert_eq!(count, expected, "{name}: {payload}: {:?}", started.args);
                if let Some(stdin) = started.stdin {
                    assert_eq!(stdin, payload.as_bytes(), "{name}");
                }
            }
        }
    }
}
