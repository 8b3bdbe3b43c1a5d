//! Starting a board in somebody's repository without touching what is theirs.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::board::rules::Init;
use crate::board::transition::Rule;
use crate::board::{Actor, Board, Call, Config, Credentials, Needs, Role, TaskId, Transition, World};
use crate::git::facts::{GitVersion, RepoFacts};
use crate::git::{Expected, RefError, refs};
use crate::store::files;
use crate::wire::to_json_pretty;

use super::context::Context;
use super::failure::Failure;

pub struct InitOptions {
    pub goal: String,
    pub spec: Option<String>,
    pub integration: String,
    pub allow_network_fs: bool,
}

/// What agents read, installed under `.liza/specs`.
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

const PROJECT_CONFIG: &str = include_str!("../../templates/liza.yaml");
const VISION: &str = include_str!("../../templates/vision.md");
const DEFAULT_SPEC: &str = "specs/vision.md";
const EXCLUDES: [&str; 2] = ["/.liza/", "/.worktrees/"];

pub fn init(ctx: &Context, options: &InitOptions) -> Result<(Value, u64, Vec<String>), Failure> {
    if ctx.credentials != Credentials::Human {
        return Err(Failure::new("refused.human_only", "only a person may start a board"));
    }
    no_board_yet(ctx)?;
    check_repository(ctx, options)?;
    let spec = check_spec(ctx, options)?;
    check_rule(ctx, options, &spec)?;
    let mut told = Vec::new();
    let head = integration_branch(ctx, &options.integration, &mut told)?;
    for dir in ctx.store.layout().directories() {
        files::make_private_dir(&dir)?;
    }
    install_texts(ctx)?;
    exclude(ctx)?;
    install_project_files(ctx, options, &spec, &mut told)?;
    crate::host::crash::point("init.prepared");
    let init = Init {
        goal: options.goal.clone(),
        spec_ref: spec.clone(),
        config: Config::new(&options.integration),
        integration_head: head.clone(),
    };
    let board = ctx.store.create(Transition::from(init), &ctx.now)?;
    let data = json!({
        "board": ctx.store.dir(), "goal": options.goal, "spec": spec, "integration_branch": options.integration,
        "integration_head": head, "created": told,
    });
    Ok((data, board.revision, told))
}

/// Never hides or resets what is there.
fn no_board_yet(ctx: &Context) -> Result<(), Failure> {
    let layout = ctx.store.layout();
    if fs::symlink_metadata(layout.state()).is_err()
        && fs::symlink_metadata(layout.log()).is_err()
        && ctx.store.image_revisions().is_empty()
    {
        return Ok(());
    }
    // An `init` that died before its last step has made no board yet: it may be repeated.
    if ctx.store.is_unfinished() {
        return Ok(());
    }
    let what = match ctx.store.read(&Needs::Nothing) {
        Ok(snapshot) => format!(
            "a board is here already: \"{}\", revision {}, {} tasks",
            snapshot.board.rest.goal.description,
            snapshot.board.revision,
            snapshot.board.tasks.len()
        ),
        Err(error) => format!("something is left of a board ({error})"),
    };
    Err(Failure::new("refused.board_exists", what)
        .hint("`liza status` shows it, `liza doctor` says what is wrong with it; nothing was changed")
        .detail("board", ctx.store.dir().display().to_string()))
}

pub(super) fn check_repository(ctx: &Context, options: &InitOptions) -> Result<(), Failure> {
    let installed = GitVersion::installed()?;
    if installed < GitVersion::OLDEST {
        return Err(Failure::new(
            "git.version",
            format!("git {}.{} is too old", installed.major, installed.minor),
        )
        .hint(format!(
            "install git {}.{} or newer",
            GitVersion::OLDEST.major,
            GitVersion::OLDEST.minor
        )));
    }
    let facts = RepoFacts::load(&ctx.repo)?;
    if facts.unborn {
        return Err(Failure::new("git.no_commit", "this repository has no commit yet")
            .hint("make a first commit (`git commit --allow-empty -m start`), then run `liza init` again"));
    }
    if !options.allow_network_fs
        && let Some(kind) = network_file_system(ctx.root())
    {
        return Err(Failure::new(
            "io.network_fs",
            format!("{} lies on a network file system ({kind})", ctx.root().display()),
        )
        .hint("locks may not hold there; use a local disk, or --allow-network-fs if you know they do"));
    }
    Ok(())
}

/// File systems whose locks cannot be relied on between machines.
const NETWORK: [(u64, &str); 12] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
    (0x7375_7245, "Coda"),
    (0x564c, "NCP"),
];

fn network_name(magic: u64) -> Option<&'static str> {
    NETWORK.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name)
}

fn network_file_system(path: &Path) -> Option<&'static str> {
    let magic = rustix::fs::statfs(path).ok()?.f_type;
    network_name((magic as u64) & 0xffff_ffff)
}

fn check_spec(ctx: &Context, options: &InitOptions) -> Result<String, Failure> {
    match &options.spec {
        Some(spec) if ctx.spec_found(spec)? => Ok(spec.clone()),
        Some(spec) => Err(Failure::new("refused.value", format!("the spec `{spec}` is not there"))
            .hint("write it first, or leave --spec out and fill in the template that `liza init` makes")),
        None => {
            ctx.spec_found(DEFAULT_SPEC)?;
            Ok(DEFAULT_SPEC.to_owned())
        }
    }
}

/// Asks the rule before anything is made: what it refuses leaves nothing behind.
fn check_rule(ctx: &Context, options: &InitOptions, spec: &str) -> Result<(), Failure> {
    let head = ctx.query()?.head_commit()?;
    let init = Init {
        goal: options.goal.clone(),
        spec_ref: spec.to_owned(),
        config: Config::new(&options.integration),
        integration_head: head.ok_or_else(|| Failure::new("git.no_commit", "HEAD names no commit"))?,
    };
    let world = World::default();
    let call = Call::new(Actor::Human, &ctx.now, &world);
    Ok(Rule::check(&init, &Board::nothing(), &call)?)
}

/// Makes the branch from HEAD, or takes the one that is there. The checkout is not touched.
pub(super) fn integration_branch(
    ctx: &Context,
    branch: &str,
    told: &mut Vec<String>,
) -> Result<crate::board::CommitId, Failure> {
    let refname = refs::of_branch(branch)?;
    let query = ctx.query()?;
    if let Some(head) = query.head_of_branch(branch)? {
        told.push(format!("branch {branch} (was there, at {})", head.short()));
        return Ok(head);
    }
    let head = query.head_commit()?.ok_or_else(|| Failure::new("git.no_commit", "HEAD names no commit"))?;
    match refs::update(&ctx.repo, &refname, &head, Expected::Absent) {
        Ok(()) => told.push(format!("branch {branch} from HEAD ({})", head.short())),
        Err(RefError::Taken { at, .. }) => return Ok(at),
        Err(error) => return Err(error.into()),
    }
    Ok(head)
}

pub(super) fn install_texts(ctx: &Context) -> Result<(), Failure> {
    let specs = ctx.store.layout().specs();
    for (name, text) in AGENT_SPECS {
        let path = specs.join(name);
        if let Some(parent) = path.parent() {
            files::make_private_dirs(parent)?;
        }
        files::replace(&path, text.as_bytes())?;
    }
    for name in crate::wire::schema::NAMES {
        let path = ctx.store.layout().schema().join(format!("{name}.schema.json"));
        if let Some(schema) = crate::wire::schema::schema(name) {
            files::replace(&path, to_json_pretty(&schema).as_bytes())?;
        }
    }
    Ok(())
}

/// Keeps our directories out of the user's `git status`, through a file git never commits.
pub(super) fn exclude(ctx: &Context) -> Result<(), Failure> {
    let info = ctx.repo.common_dir.join("info");
    let path = info.join("exclude");
    let text = match fs::read(&path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::io("read", &path, &error)),
    };
    let missing: Vec<&str> =
        EXCLUDES.into_iter().filter(|line| !text.lines().any(|known| known.trim() == *line)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut new = text;
    if !new.is_empty() && !new.ends_with('\n') {
        new.push('\n');
    }
    for line in missing {
        new.push_str(line);
        new.push('\n');
    }
    fs::create_dir_all(&info).map_err(|error| Failure::io("make", &info, &error))?;
    files::replace(&path, new.as_bytes())?;
    Ok(())
}

pub(super) fn install_project_files(
    ctx: &Context,
    options: &InitOptions,
    spec: &str,
    told: &mut Vec<String>,
) -> Result<(), Failure> {
    let config = ctx.root().join("liza.yaml");
    if fs::symlink_metadata(&config).is_err() {
        write_shared(&config, PROJECT_CONFIG)?;
        told.push("liza.yaml (yours to edit and commit)".to_owned());
    }
    if options.spec.is_none() && !ctx.spec_found(spec)? {
        let path = ctx.root().join(spec);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| Failure::io("make", parent, &error))?;
        }
        write_shared(&path, &VISION.replace("{{goal}}", &options.goal))?;
        told.push(format!("{spec} from the template (fill it in and commit it)"));
    }
    Ok(())
}

/// A file of the user's project: ordinary rights, and never over one that is there.
fn write_shared(path: &PathBuf, text: &str) -> Result<(), Failure> {
    use std::io::Write as _;
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(|error| Failure::io("create", path, &error))?;
    file.write_all(text.as_bytes()).map_err(|error| Failure::io("write", path, &error))
}

/// Names that `--role` and ids are checked with before anything is opened.
pub fn parse_role(text: &str) -> Result<Role, Failure> {
    Role::new(text).map_err(|why| Failure::usage(format!("`{text}` cannot be a role: {why}")))
}

pub fn parse_task(text: &str) -> Result<TaskId, Failure> {
    TaskId::new(text).map_err(|why| {
        Failure::usage(format!("`{text}` cannot be a task id: {why}"))
            .hint("an id is up to 64 letters, digits, `_` and `-`, starting with a letter or digit")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_file_system_is_known_by_its_magic() {
        for (magic, name) in NETWORK {
            assert_eq!(network_name(magic), Some(name));
        }
        for local in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994] {
            assert_eq!(network_name(local), None);
        }
    }
}
