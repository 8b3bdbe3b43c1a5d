//! Starts a board in a repository without changing the user's own files.

use super::gates::accepted::definitions;
use super::ownership::{EXPERIMENT_REFS, FORMER_REFS, OUR_REFS, TASK_BRANCHES};
use super::prelude::*;
use super::propose;
use super::settings;
use super::setup::{Plan, Setup, Wanted, check_provider};
use super::specs::{DEFAULT_SPEC, vision_of};
use crate::board::Config;
use crate::git::facts::{GitVersion, RepoFacts};
use crate::store::{Snapshot, files};

pub struct InitOptions {
    pub goal: String,
    pub spec: Option<String>,
    pub integration: String,
    pub allow_network_fs: bool,
    pub wanted: Wanted,
}

/// The pages for agents, installed under `.liza/specs`.
pub(super) const AGENT_SPECS: [(&str, &str); 5] = [
    ("architecture/roles.md", include_str!("../../templates/specs/architecture/roles.md")),
    (
        "architecture/blackboard-schema.md",
        include_str!("../../templates/specs/architecture/blackboard-schema.md"),
    ),
    ("protocols/worktree-protocol.md", include_str!("../../templates/specs/protocols/worktree-protocol.md")),
    ("protocols/review-protocol.md", include_str!("../../templates/specs/protocols/review-protocol.md")),
    ("protocols/circuit-breaker.md", include_str!("../../templates/specs/protocols/circuit-breaker.md")),
];

pub const EXCLUDES: [&str; 2] = ["/.liza/", "/.worktrees/"];

/// A new board, and what was made with it.
#[derive(Debug, Serialize)]
pub struct Made {
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub board: PathBuf,
    pub goal: String,
    pub spec: String,
    pub integration_branch: String,
    pub integration_head: CommitId,
    pub created: Vec<String>,
    /// The choices for a new liza.yaml.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<Setup>,
    /// Gates that would fit the project, for a liza.yaml that has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed_gates: Option<String>,
}

pub fn init(ctx: &Context, options: &InitOptions) -> Result<(Made, u64)> {
    if !ctx.credentials.shows_nothing() {
        return Err(Failure::new(Code::HumanOnly, "only a person may start a board"));
    }
    no_board_yet(ctx)?;
    check_repository(ctx, options)?;
    if let Some(provider) = &options.wanted.provider {
        check_provider(provider)?;
    }
    let spec = check_spec(ctx, options)?;
    check_rule(ctx, options, &spec)?;
    let mut created = Vec::new();
    let head = integration_branch(ctx, &options.integration, &mut created)?;
    former_refs_aside(ctx, &mut created)?;
    ctx.store.make_directories()?;
    ctx.machine.make_directories()?;
    install_texts(ctx)?;
    exclude(ctx)?;
    let proposed = proposal_beside(ctx);
    let written = install_project_files(ctx, options, &spec, &mut created)?;
    crash::point("init.prepared");
    let init = Init {
        goal: options.goal.clone(),
        spec_ref: spec.clone(),
        config: Config::new(&options.integration),
        integration_head: head.clone(),
        git_settings: Some(super::git_settings::keep_present(ctx)?),
        made_below: ctx.credentials.mark(),
    };
    let mut revision = ctx.store.create(Transition::from(init), &ctx.now)?.revision;
    // From here on there is a board. If the trial of a gate fails, `liza gate run` can repeat it.
    let setup = match written {
        Some((plan, text)) => Some(plan.try_gates(ctx, &head, text)?),
        None => {
            wanted_settings(ctx, &options.wanted)?;
            None
        }
    };
    // Gates in a present liza.yaml are a person's.
    if let Some(gates) =
        ctx.project_config().ok().map(|config| definitions(&config)).filter(|gates| !gates.is_empty())
    {
        revision = ctx.commit_as_liza(AcceptGates { gates })?.board.revision;
    }
    let made = Made {
        board: ctx.store.address().to_owned(),
        goal: options.goal.clone(),
        spec,
        integration_branch: options.integration.clone(),
        integration_head: head,
        created,
        setup,
        proposed_gates: proposed,
    };
    Ok((made, revision))
}

/// Never hides or resets an existing board.
fn no_board_yet(ctx: &Context) -> Result<()> {
    // An `init` that died before its last step has made no board yet: it may be repeated.
    if (ctx.store.is_untouched() && ctx.store.witnessed_revision().is_none()) || ctx.store.is_unfinished() {
        return Ok(());
    }
    let what = match ctx.store.read(&Needs::Nothing) {
        Ok(Snapshot { board, .. }) => {
            let (goal, tasks) = (&board.rest.goal.description, board.tasks.len());
            format!(
                "a board exists already: \"{goal}\", revision {}, {}",
                board.revision,
                crate::text::plural(tasks, "task")
            )
        }
        Err(error) => format!("parts of a board are left ({error})"),
    };
    Err(Failure::new(Code::BoardExists, what)
        .hint("`liza status` shows it, `liza doctor` lists its faults; nothing was changed")
        .detail("board", ctx.store.display().to_string()))
}

pub(super) fn check_repository(ctx: &Context, options: &InitOptions) -> Result<()> {
    let installed = GitVersion::installed()?;
    if installed < GitVersion::OLDEST {
        let [(major, minor), (wanted, least)] =
            [installed, GitVersion::OLDEST].map(|version| (version.major, version.minor));
        return Err(failure!(ErrorCode::GitVersion, "git {major}.{minor} is too old")
            .hint(format!("install git {wanted}.{least} or newer")));
    }
    let facts = RepoFacts::load(&ctx.repo)?;
    if facts.unborn {
        return Err(Failure::new(ErrorCode::GitNoCommit, "this repository has no commit yet")
            .hint("make a first commit (`git commit --allow-empty -m start`), then run `liza init` again"));
    }
    if !options.allow_network_fs
        && let Some(kind) = host::network_file_system(ctx.root())
    {
        let root = ctx.root().display();
        return Err(failure!(ErrorCode::IoNetworkFs, "{root} is on a network file system ({kind})").hint(
            "file locks may fail there; use a local disk, or --allow-network-fs if you know that locks work",
        ));
    }
    Ok(())
}

fn check_spec(ctx: &Context, options: &InitOptions) -> Result<String> {
    match &options.spec {
        Some(spec) if ctx.spec_found(spec)? => Ok(spec.clone()),
        Some(spec) => Err(failure!(Code::Value, "the spec `{spec}` does not exist")
            .hint("write it first, or omit --spec and fill in the template that `liza init` makes")),
        None => {
            ctx.spec_found(DEFAULT_SPEC)?;
            Ok(DEFAULT_SPEC.to_owned())
        }
    }
}

/// Checks the rule before anything is made: a refused `init` leaves nothing behind.
fn check_rule(ctx: &Context, options: &InitOptions, spec: &str) -> Result<()> {
    let head = ctx.query()?.head_commit()?;
    let init = Init {
        goal: options.goal.clone(),
        spec_ref: spec.to_owned(),
        config: Config::new(&options.integration),
        integration_head: head.ok_or_else(|| Failure::new(ErrorCode::GitNoCommit, "HEAD names no commit"))?,
        git_settings: None,
        made_below: None,
    };
    let world = World::default();
    let call = Call::new(Actor::Human, &ctx.now, &world);
    Ok(Verb::check(&init, &Board::nothing(), &call)?)
}

/// Makes the branch from HEAD, or uses the existing one. Does not change the checkout.
pub(super) fn integration_branch(ctx: &Context, branch: &str, created: &mut Vec<String>) -> Result<CommitId> {
    let refname = refs::of_branch(branch)?;
    let query = ctx.query()?;
    if let Some(head) = query.head_of_branch(branch)? {
        created.push(format!("branch {branch} (existed, at {})", head.short()));
        return Ok(head);
    }
    let head =
        query.head_commit()?.ok_or_else(|| Failure::new(ErrorCode::GitNoCommit, "HEAD names no commit"))?;
    match refs::update(&ctx.repo, &refname, &head, Expected::Absent) {
        Ok(()) => created.push(format!("branch {branch} from HEAD ({})", head.short())),
        Err(RefError::Taken { at, .. }) => return Ok(at),
        Err(error) => return Err(error.into()),
    }
    Ok(head)
}

/// Moves the refs of a former board aside, so that they stay reachable and do not collide with this board's. Branches
/// named like a task's stay where they are and are noted, so that they do not count as this board's.
fn former_refs_aside(ctx: &Context, created: &mut Vec<String>) -> Result<()> {
    let mut all = refs::list(&ctx.repo, OUR_REFS)?;
    // Runs of experiments belong to no board.
    all.retain(|(name, _)| !name.starts_with(EXPERIMENT_REFS));
    let (aside, former): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(name, _)| name.starts_with(FORMER_REFS));
    let number_of = |name: &str| name.strip_prefix(FORMER_REFS)?.split('/').next()?.parse::<u64>().ok();
    let number = aside.iter().filter_map(|(name, _)| number_of(name)).max().unwrap_or(0) + 1;
    let noted = |branch: &str| {
        let wanted = format!("/heads/{}", branch.trim_start_matches("refs/heads/"));
        aside.iter().any(|(name, _)| name.ends_with(&wanted))
    };
    for (branch, at) in refs::list(&ctx.repo, TASK_BRANCHES.trim_end_matches('/'))? {
        if !noted(&branch) {
            let note = format!("{FORMER_REFS}{number}/{}", branch.trim_start_matches("refs/"));
            refs::pin(&ctx.repo, &note, &at)?;
        }
    }
    if former.is_empty() {
        return Ok(());
    }
    let home = format!("{FORMER_REFS}{number}/");
    let moves: Vec<_> = former
        .into_iter()
        .map(|(name, at)| {
            let to = name.replacen(OUR_REFS, &home, 1);
            (name, at, to)
        })
        .collect();
    refs::rename_all(&ctx.repo, &moves)?;
    created.push(format!("{} of a former board, now under {home}", plural(moves.len(), "ref")));
    Ok(())
}

/// The schema of this name.
pub fn published_schema(name: &str) -> Option<Value> {
    crate::wire::schema::schema(name).or_else(|| crate::director::schema::schema(name))
}

pub(super) fn install_texts(ctx: &Context) -> Result<()> {
    for (name, text) in AGENT_SPECS {
        ctx.store.install_page(name, text)?;
    }
    for name in crate::wire::schema::NAMES.into_iter().chain(crate::director::schema::NAMES) {
        if let Some(schema) = published_schema(name) {
            ctx.store.install_schema(name, &to_json_pretty(&schema))?;
        }
    }
    Ok(())
}

/// Which of the lines that keep liza's directories out of the user's `git status` are missing.
pub fn missing_excludes(ctx: &Context) -> Result<Vec<&'static str>> {
    let text = exclude_text(ctx)?;
    Ok(EXCLUDES.into_iter().filter(|line| !text.lines().any(|known| known.trim() == *line)).collect())
}

fn exclude_text(ctx: &Context) -> Result<String> {
    Ok(String::from_utf8_lossy(&excluded(ctx)?.1).into_owned())
}

/// Git's exclude file of this repository, and its content.
pub(super) fn excluded(ctx: &Context) -> Result<(PathBuf, Vec<u8>)> {
    let path = ctx.repo.common_dir.join("info/exclude");
    match host::read_plain(&path) {
        Ok(bytes) => Ok((path, bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((path, Vec::new())),
        Err(error) => Err(Failure::io("read", &path, &error)),
    }
}

/// Adds the missing lines to a file that git never commits.
pub fn exclude(ctx: &Context) -> Result<()> {
    let missing = missing_excludes(ctx)?;
    if missing.is_empty() {
        return Ok(());
    }
    let mut text = exclude_text(ctx)?;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for line in missing {
        text.push_str(line);
        text.push('\n');
    }
    let info = ctx.repo.common_dir.join("info");
    fs::create_dir_all(&info).map_err(|error| Failure::io("make", &info, &error))?;
    files::replace_shared(&info.join("exclude"), text.as_bytes())?;
    Ok(())
}

/// Gates for an existing `liza.yaml` without gates: liza does not write into that file.
fn proposal_beside(ctx: &Context) -> Option<String> {
    fs::symlink_metadata(ctx.root().join("liza.yaml")).ok()?;
    let kinds = propose::kinds_in(ctx.root());
    let ways: Vec<_> = kinds.iter().filter_map(|kind| kind.ways.first()).collect();
    let has_none = ctx.project_config().is_ok_and(|config| config.gates.is_empty());
    (has_none && !ways.is_empty()).then(|| propose::yaml(&ways))
}

/// The requested settings, in an existing `liza.yaml`; its gates are accepted with the board.
fn wanted_settings(ctx: &Context, wanted: &Wanted) -> Result<()> {
    if let Some(provider) = &wanted.provider {
        settings::change(ctx, "provider", provider)?;
    }
    if let Some(gate) = &wanted.gate {
        settings::change(ctx, "gates.test.command", &Value::from(gate.as_str()).to_string())?;
    }
    Ok(())
}

/// Writes missing files: `liza.yaml`, and the template of the spec. Returns what it wrote of the former, its gates
/// not tried.
pub(super) fn install_project_files(
    ctx: &Context,
    options: &InitOptions,
    spec: &str,
    created: &mut Vec<String>,
) -> Result<Option<(Plan, String)>> {
    let config = ctx.root().join("liza.yaml");
    let mut written = None;
    if fs::symlink_metadata(&config).is_err() {
        let plan = Plan::new(ctx.root(), &options.wanted);
        let text = plan.untried();
        write_shared(ctx, &config, &text)?;
        created.push("liza.yaml (provider, team and gates; yours to edit)".to_owned());
        written = Some((plan, text));
    }
    if options.spec.is_none() && !ctx.spec_found(spec)? {
        let path = ctx.root().join(spec);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| Failure::io("make", parent, &error))?;
        }
        write_shared(ctx, &path, &vision_of(&options.goal))?;
        created.push(format!("{spec} (a template; agents get the goal's text until you fill it in)"));
    }
    Ok(written)
}

/// A file of the user's project: ordinary permissions, written completely or not at all, and never over an existing
/// one.
fn write_shared(ctx: &Context, path: &Path, text: &str) -> Result<()> {
    // Made in liza's own directory: in the user's, a dead process would leave a visible file.
    let temp = ctx.machine.scratch_file(path.file_name().unwrap_or_default());
    let _ = fs::remove_file(&temp);
    let made = fs::write(&temp, text)
        .and_then(|()| fs::File::open(&temp)?.sync_all())
        .map_err(|error| Failure::io("write", &temp, &error));
    crash::point("init.file");
    // A link, unlike a rename, does not replace a file that appeared meanwhile.
    let linked =
        made.and_then(|()| fs::hard_link(&temp, path).map_err(|error| Failure::io("create", path, &error)));
    let _ = fs::remove_file(&temp);
    linked
}
