//! Boards of other versions in `doctor`: an old one is migrated if a person asks for it, a newer one is left to the
//! liza that wrote it.

use super::doctor::Finding;
use super::evidence;
use super::init::{self, InitOptions};
use super::prelude::*;
use super::setup::Wanted;
use crate::git::query::Query;
use crate::store::other_version::OtherVersion;
use crate::wire::state::hash;
use crate::wire::v1;

/// The finding about a board of another version; none for a board of this version.
pub fn examine(ctx: &Context, fix: bool) -> Result<Option<Finding>> {
    let Some(other) = ctx.store.other_version()? else { return Ok(None) };
    let finding = |what: String, why: &str, remedy: String, fixable: bool| {
        let mut finding = Finding::new("board.version", what, why, remedy);
        finding.fixable = fixable;
        finding
    };
    if other.newer {
        return Ok(Some(finding(
            format!("this board was written by a newer liza (version {})", other.version),
            "this liza reads the board and must not write it",
            "use the newer liza".to_owned(),
            false,
        )));
    }
    let what =
        format!("this board was written by the older shell implementation (version {})", other.version);
    let why = "commands can read it, but not change it";
    if other.version != v1::VERSION {
        let remedy = "this version is unknown; liza leaves the board alone".to_owned();
        return Ok(Some(finding(what, why, remedy, false)));
    }
    let old = match v1::read(&other.bytes, &ctx.now) {
        Ok(old) => old,
        Err(error) => {
            let remedy = format!("it cannot be read ({error}); fix that part of the file, then migrate it");
            return Ok(Some(finding(what, why, remedy, false)));
        }
    };
    let kept = ctx.store.kept_old_board(&other.bytes);
    let remedy = format!(
        "rewrites the board as version 2 and keeps the former state.yaml and log.yaml in {}",
        kept.display()
    );
    let mut found = finding(what, why, remedy, true);
    let remarks = if fix {
        found.fixed = true;
        migrate(ctx, &other, old)?
    } else {
        planned(ctx, old)?
    };
    for remark in remarks {
        found.remedy.push_str(&format!("\n    {remark}"));
    }
    Ok(Some(found))
}

/// What a migration would report, without doing it.
fn planned(ctx: &Context, old: v1::OldBoard) -> Result<Vec<String>> {
    let query = ctx.query()?;
    let branch = old.rest.config.integration_branch.clone();
    let there = query.head_of_branch(&branch)?;
    let is_there = there.is_some();
    let Some(head) = there.map_or_else(|| query.head_commit(), |head| Ok(Some(head)))? else {
        return Ok(old.remarks);
    };
    let mut made = Vec::new();
    if !is_there {
        made.push(format!("branch {branch} will be made from HEAD ({})", head.short()));
    }
    if fs::symlink_metadata(ctx.root().join("liza.yaml")).is_err() {
        made.push("liza.yaml will be made (yours to edit and commit)".to_owned());
    }
    let git = Repository { ctx, query, config: &ctx.project_config()?, head: &head };
    let (old, _) = v1::settle(old, &git, &head, &ctx.now);
    Ok([old.remarks, made].concat())
}

fn migrate(ctx: &Context, other: &OtherVersion, old: v1::OldBoard) -> Result<Vec<String>> {
    let goal = old.rest.goal.clone();
    let options = InitOptions {
        goal: goal.description,
        // A spec that the board names is the user's own, whether or not it exists: liza makes none.
        spec: Some(goal.spec_ref.clone()),
        integration: old.rest.config.integration_branch.clone(),
        allow_network_fs: true,
        // People add what an older board did not have.
        wanted: Wanted { no_gate: true, ..Wanted::default() },
    };
    init::check_repository(ctx, &options)?;
    let mut created = Vec::new();
    let config = ctx.project_config()?;
    // Checked as far as possible before anything is made: a refused migration leaves nothing behind.
    let before = match ctx.query()?.head_of_branch(&options.integration)? {
        Some(head) => head,
        None => ctx
            .query()?
            .head_commit()?
            .ok_or_else(|| Failure::new(ErrorCode::GitNoCommit, "HEAD names no commit"))?,
    };
    check(ctx, &transition(ctx, other, old.clone(), &config, &before)?)?;
    let head = init::integration_branch(ctx, &options.integration, &mut created)?;
    let kept = ctx.store.kept_old_board(&other.bytes);
    ctx.store.make_directories()?;
    ctx.machine.make_directories()?;
    keep_replaced_texts(ctx, &kept)?;
    init::install_texts(ctx)?;
    init::exclude(ctx)?;
    init::install_project_files(ctx, &options, &goal.spec_ref, &mut created)?;
    super::git_settings::keep_present(ctx)?;
    crash::point("migrate.prepared");
    let what = transition(ctx, other, old, &config, &head)?;
    let mut remarks = what.remarks.clone();
    ctx.store.migrate(what, &ctx.now)?;
    remarks.extend(created);
    remarks.push(
        "agents of the old board have no identity here: `liza agent register` gives new ones".to_owned(),
    );
    Ok(remarks)
}

fn transition(
    ctx: &Context,
    other: &OtherVersion,
    old: v1::OldBoard,
    config: &ProjectConfig,
    head: &CommitId,
) -> Result<Migrate> {
    let git = Repository { ctx, query: ctx.query()?, config, head };
    let (mut old, _) = v1::settle(old, &git, head, &ctx.now);
    let settings = super::git_settings::present_name(ctx)?;
    let (by, time) = (AgentId::human(), ctx.now.wall);
    old.rest.git_settings = Some(crate::board::state::GitSettings { settings, by, time });
    Ok(Migrate {
        version: other.version,
        source: hash(&other.bytes),
        kept: ctx.store.name_of_kept(&other.bytes),
        remarks: old.remarks,
        rest: Box::new(old.rest),
        tasks: old.tasks.into_iter().map(|task| task.whole).collect(),
    })
}

fn check(ctx: &Context, what: &Migrate) -> Result<()> {
    let world = World::default();
    let actor = Board::nothing().identify(&ctx.credentials)?;
    Ok(what.check(&Board::nothing(), &Call::new(actor, &ctx.now, &world))?)
}

/// Texts for agents that differ from liza's and would be replaced.
fn keep_replaced_texts(ctx: &Context, kept: &Path) -> Result<()> {
    for (name, text) in init::AGENT_SPECS {
        if let Some(bytes) = ctx.store.page(name)?.filter(|bytes| bytes != text.as_bytes()) {
            ctx.store.keep_old_file(kept, &format!("specs/{name}"), &bytes)?;
        }
    }
    Ok(())
}

/// The repository of the old board.
struct Repository<'c> {
    ctx: &'c Context,
    query: &'c Query,
    config: &'c ProjectConfig,
    head: &'c CommitId,
}

impl v1::Repository for Repository<'_> {
    fn commit(&self, text: &str) -> Option<CommitId> {
        // Only an id counts: a name such as `main` would be another commit tomorrow.
        let hex = (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !hex {
            return None;
        }
        self.query.resolve(text).ok().flatten()
    }

    fn head_of(&self, branch: &str) -> Option<CommitId> {
        self.query.head_of_branch(branch).ok().flatten()
    }

    fn base_of(&self, commit: &CommitId) -> Option<CommitId> {
        self.query.merge_base(self.head, commit).ok().flatten()
    }

    fn in_integration(&self, commit: &CommitId) -> bool {
        self.query.is_ancestor(commit, self.head).unwrap_or(false)
    }

    fn parent_of(&self, commit: &CommitId) -> Option<CommitId> {
        self.query.parents_of(commit).ok()?.into_iter().next()
    }

    fn submission(&self, commit: &CommitId) -> Option<Submission> {
        let merge_base = self.base_of(commit)?;
        let changed = self.query.changed_paths(&merge_base, commit).ok()?;
        let kept = changed.iter().filter(|change| change.status != ChangeStatus::Deleted);
        let kept = kept.map(|change| change.path.as_str());
        Some(Submission {
            commit: commit.clone(),
            tree: self.query.tree_of(commit).ok(),
            time: self.ctx.now.wall,
            tests: self.config.tests_among(kept),
            protected: self.config.protected_among(changed.iter().map(|change| change.path.as_str())),
            files: changed.iter().map(|change| change.path.clone()).collect(),
            authors: evidence::authors(self.ctx, &merge_base, commit).ok()?,
            merge_base,
            validation: Validation {
                command: String::new(),
                expect: String::new(),
                exit: None,
                output_matched: false,
                duration_ms: 0,
                log: String::new(),
                problem: Some("it was submitted on the older board; liza ran no validation".to_owned()),
            },
        })
    }
}
