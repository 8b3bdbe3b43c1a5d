//! Pushes integration to a remote and opens a pull or merge request there.

use super::plan::{self, Wanted};
use crate::flow::prelude::*;
use crate::flow::shell::{Ended, Job, execute};
use crate::git::push::{self, Remote};

/// How long the forge's program may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// How many tasks the text of a request lists.
const MOST_TASKS: usize = 100;

/// A request, or what a person needs to open one.
#[derive(Debug, Serialize)]
pub struct PullRequest {
    pub remote: String,
    pub remote_url: String,
    /// The branch on the remote.
    pub branch: String,
    pub base: String,
    pub commit: CommitId,
    pub title: String,
    /// The file with its text.
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub body: PathBuf,
    /// The URL, once it is open.
    pub url: Option<String>,
    /// The command that opens it.
    pub command: String,
    pub dry_run: bool,
    /// How `liza.yaml` differs from the base, if it does.
    pub config: Option<String>,
    #[serde(skip)]
    text: String,
    #[serde(skip)]
    forge: Option<Forge>,
}

impl PullRequest {
    /// Whether a program that opens it is installed.
    pub fn can_be_opened(&self) -> bool {
        self.forge.is_some()
    }

    /// The text, for a person who reads it before it is sent.
    pub fn text(&self) -> &str {
        &self.text
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forge {
    GitHub,
    GitLab,
}

impl Forge {
    fn program(self) -> &'static str {
        match self {
            Self::GitHub => "gh",
            Self::GitLab => "glab",
        }
    }

    /// The installed program for a remote. If the remote's name shows the forge, only that forge's program.
    fn installed(url: &str) -> Option<Self> {
        let host = Address::of(url).map(|address| address.host.to_lowercase()).unwrap_or_default();
        let all = match () {
            () if host.contains("github") => &[Self::GitHub][..],
            () if host.contains("gitlab") => &[Self::GitLab],
            () => &[Self::GitHub, Self::GitLab],
        };
        all.iter().copied().find(|forge| host::program(forge.program()).is_some())
    }

    fn arguments(self, asked: &PullRequest, body: &str) -> Vec<String> {
        let PullRequest { remote_url, branch, base, title, .. } = asked;
        let address = Address::of(remote_url);
        let words: Vec<&str> = match self {
            Self::GitHub => {
                let repo = address.map_or(remote_url.clone(), |at| format!("{}/{}", at.host, at.path));
                return [
                    &["gh", "pr", "create", "--repo", &repo, "--base", base, "--head", branch][..],
                    &["--title", title, "--body-file", body],
                ]
                .concat()
                .into_iter()
                .map(str::to_owned)
                .collect();
            }
            Self::GitLab => {
                vec!["glab", "mr", "create", "--yes", "--target-branch", base, "--source-branch", branch]
            }
        };
        let repo = address.map_or(remote_url.clone(), |at| format!("https://{}/{}", at.host, at.path));
        let rest =
            ["--repo".to_owned(), repo, "--title".to_owned(), title.clone(), "--description".to_owned()];
        words.into_iter().map(str::to_owned).chain(rest).chain([body.to_owned()]).collect()
    }
}

/// A repository on a forge, parsed from the address of a remote.
struct Address {
    host: String,
    path: String,
}

impl Address {
    fn of(url: &str) -> Option<Self> {
        let (host, path) = match url.split_once("://") {
            Some(("file", _)) => return None,
            Some((_, rest)) => rest.split_once('/')?,
            // `git@host:owner/name`; a colon after a slash is part of a path.
            None => url.split_once(':').filter(|(host, _)| !host.contains('/'))?,
        };
        let host = host.rsplit('@').next().unwrap_or(host);
        let host = host.split(':').next().unwrap_or(host);
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        (!host.is_empty() && path.contains('/'))
            .then(|| Self { host: host.to_owned(), path: path.to_owned() })
    }
}

/// The planned request. Changes nothing.
pub fn request(ctx: &Context, wanted: &Wanted<'_>, remote: Option<&str>) -> Result<PullRequest> {
    let snapshot = ctx.read(&Needs::Nothing)?;
    let board = &snapshot.board;
    let source = board.config().integration_branch.clone();
    plan::permitted_now(ctx, board, &source, !wanted.unaudited)?;
    ctx.integration_in_place(board)?;
    let head = integration_head(ctx, board)?;
    let base = match wanted.to {
        Some(name) => name.strip_prefix("refs/heads/").unwrap_or(name).to_owned(),
        None => plan::stands_on(ctx, wanted.cwd)?,
    };
    let refname = refs::of_branch(&base)?;
    if base == source {
        return Err(Failure::usage(format!("`{base}` is the integration branch itself"))
            .hint("name its target branch: liza deliver --pr --to main"));
    }
    let remote = choose(ctx, remote, &base)?;
    let query = ctx.query()?;
    let there = query.ref_commit(&format!("refs/remotes/{}/{base}", remote.name))?;
    let known = match there {
        Some(there) => Some(there),
        None => query.ref_commit(&refname)?,
    };
    let Some(known) = known else {
        return Err(plan::unknown_branch(ctx, &source, &base, "")?);
    };
    if query.is_ancestor(&head, &known)? {
        let what = format!("`{base}` of {} has everything of `{source}` already", remote.name);
        return Err(Failure::new(Code::NothingSubmitted, what));
    }
    let title =
        clipped(&shown_line(board.rest.goal.description.lines().next().unwrap_or_default()), 70).into_owned();
    let text = body(ctx, board, &known, &head)?;
    let config = plan::config_change(ctx, &known, &head)?;
    let forge = Forge::installed(&remote.url);
    let name = format!("deliver-{}.md", head.short());
    let mut asked = PullRequest {
        remote: remote.name,
        remote_url: remote.url,
        branch: source,
        base,
        commit: head,
        title,
        body: ctx.store.report_file(&name),
        url: None,
        command: String::new(),
        dry_run: true,
        config,
        text,
        forge,
    };
    asked.command = command(&asked);
    Ok(asked)
}

/// The command line that a person types to open it.
fn command(asked: &PullRequest) -> String {
    let forge = asked.forge.unwrap_or(match Address::of(&asked.remote_url) {
        Some(at) if at.host.contains("gitlab") => Forge::GitLab,
        _ => Forge::GitHub,
    });
    let body = asked.body.display().to_string();
    let mut words: Vec<String> = forge.arguments(asked, &body).iter().map(|word| shell_word(word)).collect();
    if forge == Forge::GitLab {
        words.pop();
        words.push(format!("\"$(cat {})\"", shell_word(&body)));
    }
    words.join(" ")
}

/// A word, quoted for a shell.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Pushes, opens the request if a program for it is installed, and records it.
pub fn open(ctx: &Context, mut asked: PullRequest) -> Result<(PullRequest, u64)> {
    let remote = Remote { name: asked.remote.clone(), url: asked.remote_url.clone() };
    let say = || ctx.narrate(format!("pushing to {} ({})", remote.name, remote.url));
    push::push(&ctx.repo, &remote, &asked.commit, &asked.branch, say).map_err(|error| {
        let (name, branch) = (&remote.name, &asked.branch);
        failure!(ErrorCode::GitFailed, "`{branch}` could not be pushed to {name} ({}): {error}", remote.url)
            .hint(format!("nothing was forced; see what git says to: git push {name} refs/heads/{branch}"))
    })?;
    crash::point("deliver.pushed");
    asked.body = ctx.store.write_report(
        asked.body.file_name().and_then(|name| name.to_str()).unwrap_or("deliver.md"),
        &asked.text,
    )?;
    let opened = asked.forge.map(|forge| run(&asked, forge)).transpose();
    asked.url = opened.as_ref().ok().cloned().flatten();
    asked.dry_run = false;
    let record = RecordRequest {
        remote: asked.remote.clone(),
        branch: asked.branch.clone(),
        base: asked.base.clone(),
        commit: asked.commit.clone(),
        url: asked.url.clone(),
    };
    let revision = ctx.commit(record)?.board.revision;
    match opened {
        Ok(_) => Ok((asked, revision)),
        Err(why) => {
            Err(failure!(ErrorCode::GitFailed, "`{}` is pushed to {}, but {why}", asked.branch, asked.remote)
                .hint(format!("open the request yourself: {}", asked.command))
                .with_data(asked, revision))
        }
    }
}

/// The URL of the request, as printed by the forge's program.
fn run(asked: &PullRequest, forge: Forge) -> Result<String, String> {
    let body = match forge {
        Forge::GitHub => asked.body.display().to_string(),
        Forge::GitLab => asked.text.clone(),
    };
    let argv: Vec<OsString> = forge.arguments(asked, &body).into_iter().map(OsString::from).collect();
    let kept = |name: &std::ffi::OsStr| {
        let name = name.to_string_lossy();
        !name.starts_with("GIT_") && !name.starts_with("LIZA_")
    };
    let mut env: Vec<(OsString, OsString)> = std::env::vars_os().filter(|(name, _)| kept(name)).collect();
    env.push(("GH_PROMPT_DISABLED".into(), "1".into()));
    env.push(("NO_COLOR".into(), "1".into()));
    // Not in the repository: the program would make git read settings there that were never accepted.
    let done = execute(&Job::new(argv, Path::new("/"), env, PATIENCE), &|| false);
    let said = String::from_utf8_lossy(&done.output.kept()).into_owned();
    let link =
        said.split_whitespace().rfind(|word| word.starts_with("https://") || word.starts_with("http://"));
    let link = link.map(|link| link.trim_end_matches(['.', ',', ')']).to_owned());
    let exists = said.contains("already exists");
    match (done.ended, link) {
        (Ended::Exited(0), Some(link)) => Ok(link),
        (Ended::Exited(_), Some(link)) if exists => Ok(link),
        (Ended::Exited(0), None) => Err(format!("`{}` named no request", forge.program())),
        (ended, _) => {
            let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            Err(format!("`{}` failed ({ended:?}): {}", forge.program(), shown_line(&clipped(last, 200))))
        }
    }
}

/// The named remote, the one that the base follows, `origin`, or the only one.
fn choose(ctx: &Context, named: Option<&str>, base: &str) -> Result<Remote> {
    let mut all = push::remotes(&ctx.repo)?;
    let names: Vec<String> = all.iter().map(|remote| remote.name.clone()).collect();
    let follows = push::remote_of(&ctx.repo, base);
    let at = |name: &str| names.iter().position(|known| known == name);
    let found = match named {
        Some(name) => at(name).ok_or_else(|| {
            let known = if names.is_empty() { "there is none".to_owned() } else { list_words(&names) };
            failure!(Code::Value, "there is no remote `{name}`").hint(format!("remotes: {known}"))
        })?,
        None => follows
            .as_deref()
            .and_then(at)
            .or_else(|| at("origin"))
            .or((names.len() == 1).then_some(0))
            .ok_or_else(|| {
                let what = "a pull request needs a remote";
                if names.is_empty() {
                    failure!(Code::Value, "{what}, and this repository has none")
                        .hint("git remote add origin URL, then again; `liza deliver` alone needs none")
                } else {
                    failure!(Code::Value, "{what}: {}", list_words(&names))
                        .hint("choose one with --remote NAME")
                }
            })?,
    };
    Ok(all.swap_remove(found))
}

/// Goal, tasks with their reviews, and gates, as Markdown. Names and titles are untrusted text.
fn body(ctx: &Context, board: &Board, base: &CommitId, head: &CommitId) -> Result<String> {
    let query = ctx.query()?;
    let base = query.merge_base(base, head)?;
    let mut tasks = Vec::new();
    let mut gates = BTreeSet::new();
    let mut others = 0;
    let steps = match &base {
        Some(base) => query.first_parents_until(head, base)?,
        None => Vec::new(),
    };
    for commit in steps.iter().rev() {
        let message = query.message_of(commit)?;
        let trailer = |name: &str| -> Vec<&str> {
            let start = format!("{name}: ");
            message.lines().filter_map(|line| line.strip_prefix(&start)).collect()
        };
        let Some(task) = trailer("Liza-Task").first().copied() else {
            others += 1;
            continue;
        };
        let subject = message.lines().next().unwrap_or_default();
        let title = subject.strip_prefix(&format!("Merge {task}: ")).unwrap_or(subject);
        let reviewers: Vec<String> = trailer("Reviewed-by").into_iter().map(md_inline).collect();
        gates.extend(trailer("Liza-Gates").into_iter().flat_map(|names| names.split(", ")).map(md_inline));
        tasks.push(format!(
            "- **{}** {}; reviewed by {}",
            md_inline(task),
            md_inline(title),
            list_words(&reviewers)
        ));
    }
    gates.remove("none");
    let mut text = format!("## Goal\n\n{}\n\n## Tasks\n\n", md_inline(&board.rest.goal.description));
    let more = tasks.len().saturating_sub(MOST_TASKS);
    tasks.truncate(MOST_TASKS);
    if tasks.is_empty() {
        text.push_str("none\n");
    }
    tasks.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    if more > 0 {
        text.push_str(&format!("- and {more} more\n"));
    }
    if others > 0 {
        text.push_str(&format!("- {} of people\n", plural(others, "other commit")));
    }
    let passed = match gates.is_empty() {
        true => "No gate is required in this project.".to_owned(),
        false => format!("Passed on every merged commit: {}.", list_words(&gates)),
    };
    text.push_str(&format!("\n## Gates\n\n{passed}\n"));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forge_repository_is_read_from_remote_url() {
        for (url, expected) in [
            ("https://github.com/o/n.git", Some("github.com o/n")),
            ("git@gitlab.com:g/s/n.git", Some("gitlab.com g/s/n")),
            ("ssh://git@host:2222/o/n", Some("host o/n")),
            ("/srv/git/n.git", None),
            ("file:///srv/git/n.git", None),
            ("../n:x/y", None),
        ] {
            let found = Address::of(url).map(|at| format!("{} {}", at.host, at.path));
            assert_eq!(found.as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn shell_words_survive_any_text() {
        assert_eq!(shell_word("a-b/c.md"), "a-b/c.md");
        assert_eq!(shell_word("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(shell_word(""), "''");
    }
}
