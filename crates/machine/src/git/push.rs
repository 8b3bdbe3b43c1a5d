//! Pushes one commit to a branch of a remote, for a person. Never with force.
//!
//! Programs that a push may start (credential helpers, the ssh command, the hook `pre-push`) are those a person
//! accepted. The remote's address is read from the repository; how to reach it (`url.*`, `http.*`) only from the
//! user's own configuration.

use std::time::Duration;

use super::prelude::*;
use super::query::config_of;

const SILENCE: Duration = Duration::from_secs(1);

/// Where a branch can be pushed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    pub name: String,
    pub url: String,
}

/// Every remote, by name.
pub fn remotes(repo: &Repo) -> Result<Vec<Remote>, QueryError> {
    let unreadable = || QueryError::read("the remotes of the repository");
    let config = config_of(repo).map_err(unreadable())?;
    let mut found: BTreeMap<String, (Option<String>, Option<String>)> = BTreeMap::new();
    let entries = config.entries(Some("^remote\\..*\\.(push)?url$")).map_err(unreadable())?;
    let read = entries.for_each(|entry| {
        let (key, value) = (lossy(entry.name_bytes()), lossy(entry.value_bytes()));
        let Some((name, last)) = key.strip_prefix("remote.").and_then(|rest| rest.rsplit_once('.')) else {
            return;
        };
        let known = found.entry(name.to_owned()).or_default();
        let which = if last == "pushurl" { &mut known.1 } else { &mut known.0 };
        which.get_or_insert(value);
    });
    read.map_err(unreadable())?;
    let all = found.into_iter().filter_map(|(name, (url, push))| Some(Remote { name, url: push.or(url)? }));
    Ok(all.collect())
}

/// The remote that `git push` would choose for a branch.
pub fn remote_of(repo: &Repo, branch: &str) -> Option<String> {
    let config = config_of(repo).ok()?;
    let set = |key: &str| config.get_string(key).ok();
    let keys = [
        format!("branch.{branch}.pushRemote"),
        "remote.pushDefault".to_owned(),
        format!("branch.{branch}.remote"),
    ];
    keys.iter().find_map(|key| set(key)).filter(|name| name != ".")
}

/// Pushes a commit to a branch of a remote. The remote refuses anything but a fast-forward.
pub fn push(
    repo: &Repo,
    remote: &Remote,
    commit: &CommitId,
    branch: &str,
    say: impl FnOnce(),
) -> Result<(), GitError> {
    let refname = format!("refs/heads/{branch}");
    if let Some(board) = super::door::may_run_hook(repo, "pre-push") {
        let zero = "0".repeat(commit.as_str().len());
        let scratch = super::scratch::scratch_dir(&repo.common_dir, &repo.root)?;
        let fed = scratch.path().join("pre-push");
        fs::write(&fed, format!("{commit} {commit} {refname} {zero}\n")).map_err(GitError::io(&fed))?;
        let git = Git::acting(&repo.root, "hook").args(["run", "--ignore-missing"]);
        let mut option = OsString::from("--to-stdin=");
        option.push(&fed);
        let git = git.arg(option).args(["pre-push", "--", remote.name.as_str(), remote.url.as_str()]);
        git.held_for_gate(&board).run()?;
    }
    let git = Git::acting(&repo.root, "push").with(user_settings(repo)).args(["--quiet", "--no-verify"]);
    let git = git.args(["--no-follow-tags", "--recurse-submodules=no", "--"]);
    git.arg(&remote.url).arg(format!("{commit}:{refname}")).run_saying(SILENCE, say)
}

/// The user's settings for reaching other machines, from outside the repository.
fn user_settings(repo: &Repo) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Ok(config) = config_of(repo) else { return found };
    let Ok(entries) = config.entries(Some("^(url|http|https)\\.")) else { return found };
    let _ = entries.for_each(|entry| {
        let outside = !matches!(
            entry.level(),
            git2::ConfigLevel::Local | git2::ConfigLevel::Worktree | git2::ConfigLevel::App
        );
        if outside {
            found.push((lossy(entry.name_bytes()), lossy(entry.value_bytes())));
        }
    });
    found
}
