use crate::cli::prelude::*;
use crate::flow::doctor::{Listed, examine, listing};
use crate::flow::{git_settings, restore};
use crate::text::list_words;

/// Find problems, explain them, and fix them with --fix
///
/// Exit 1 if a problem remains. liza never removes the only copy of work. --dry-run changes nothing.
///
/// Example: liza doctor --fix
#[derive(Args)]
pub struct DoctorArgs {
    /// Fix what liza can fix; replaced files are kept under .liza/edits
    #[arg(long)]
    pub fix: bool,
    /// Show what --fix would do; change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print the board of this revision, rebuilt from image and journal
    #[arg(long, value_name = "REVISION", conflicts_with = "fix", add = Completer::Revisions)]
    pub image: Option<u64>,
    /// Restore the plan of this revision as a new change; git work and reviews since then stay
    #[arg(long, value_name = "REVISION", conflicts_with_all = ["fix", "image"], add = Completer::Revisions)]
    pub restore: Option<u64>,
    /// Show which git settings, hooks and attributes changed, and accept them (people only)
    #[arg(long, conflicts_with_all = ["fix", "image", "restore"])]
    pub accept_git: bool,
}

impl OnBoard for DoctorArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        if self.accept_git {
            return accept_git(session, self.dry_run);
        }
        if let Some(revision) = self.image {
            let rebuilt = session.ctx.store.rebuild_unproven(Some(revision))?;
            let text = rebuilt.text().to_owned();
            return Ok(Answer::new(json!({ "revision": revision, "state": text }), text)
                .verbatim()
                .at(revision));
        }
        if let Some(revision) = self.restore {
            return restore_plan(session, revision, self.dry_run);
        }
        let fix = self.fix && !self.dry_run;
        if fix && !session.ctx.is_human() {
            return Err(Failure::new(Code::HumanOnly, "only a person may fix the board")
                .hint("`liza doctor` without --fix only reports"));
        }
        let findings = examine(&session.ctx, fix)?;
        let mut text = String::new();
        for finding in &findings {
            let mark = if finding.fixed { "fixed" } else { "found" };
            let by = if finding.fixable { "--fix" } else { "to do" };
            text.line(format!("{mark}: {}\n  why it matters: {}", finding.what, finding.why));
            text.line(format!("  {by}: {}", finding.remedy));
        }
        if findings.is_empty() {
            text.push_str("no problems found");
        }
        // An unreadable liza.yaml is among the findings already.
        let providers = listing(&session.ctx).unwrap_or_default();
        if let Some(note) = provider_note(&providers) {
            text = format!("{}\n{note}", text.trim_end());
        }
        let left = findings.iter().filter(|finding| !finding.fixed).count();
        let data = json!({ "findings": findings, "left": left, "providers": providers });
        let problem = (left > 0).then(|| {
            Failure::new(ErrorCode::RefusedFindings, format!("{} left", plural(left, "finding")))
                .hint("`data.findings` explains each; `liza doctor --fix` fixes what liza can fix")
        });
        Ok(Answer::new(data, text).failed_if(problem))
    }
}

/// Shows the differences from the accepted git settings, and accepts the present ones.
fn accept_git(session: &mut Session, dry_run: bool) -> Result<Answer, Failure> {
    if dry_run {
        let differences = git_settings::differences(&session.ctx)?;
        return Ok(Answer::new(
            json!({ "differences": differences }),
            changed_settings(&differences, "would be accepted"),
        ));
    }
    session.people_only("accept settings of git")?;
    let (differences, outcome, revision) = git_settings::accept(&session.ctx)?;
    let data =
        json!({ "differences": differences, "settings": outcome.settings, "changed": outcome.changed });
    Ok(Answer::new(data, changed_settings(&differences, "accepted")).at(revision))
}

fn changed_settings(differences: &[String], done: &str) -> String {
    let mut text = String::new();
    for line in differences {
        text.line(format!("{done}: {}", crate::text::shown_line(line)));
    }
    if differences.is_empty() {
        text.push_str("the git settings are the accepted ones");
    }
    text
}

/// The agent commands installed on this machine, if liza.yaml uses one.
fn provider_note(providers: &[Listed]) -> Option<String> {
    providers.iter().find(|one| one.used)?;
    let here = providers.iter().filter(|one| one.installed.is_some());
    let words: Vec<String> = here
        .map(|one| format!("{}{}", shown_line(&one.name), if one.used { " (used)" } else { "" }))
        .collect();
    (!words.is_empty()).then(|| format!("note: agent commands installed here: {}", list_words(words)))
}

fn restore_plan(session: &mut Session, revision: u64, dry_run: bool) -> Result<Answer, Failure> {
    let ctx = &session.ctx;
    let plan = restore::plan(ctx, revision)?;
    let mut text = String::new();
    let verb = if dry_run { "would be" } else { "is" };
    for back in &plan.tasks {
        let words = if back.text { ", with its former text" } else { "" };
        text.line(format!("{}: {} -> {}{words}", back.id, back.from, back.to));
    }
    for (changed, name) in [(plan.goal, "the goal"), (plan.config, "the configuration")] {
        if changed {
            text.line(format!("{name} {verb} that of revision {revision}"));
        }
    }
    for (ids, why) in [
        (&plan.landed, "landed since, and stay MERGED"),
        (&plan.added, "were added since, and stay as they are"),
        (&plan.left, "have left the board since, and stay in the archive"),
    ] {
        if !ids.is_empty() {
            text.line(format!("{}: {why}", commas(ids)));
        }
    }
    if let Some(broken) = &plan.broken {
        text.line(format!("the present file {verb} kept under .liza/edits, and replaced: {broken}"));
    }
    let mut data = serde_json::to_value(&plan).unwrap_or_default();
    if plan.is_empty() {
        text.line(format!("nothing else differs from revision {revision}"));
    }
    if dry_run {
        return Ok(Answer::new(data, text).at(plan.on));
    }
    let before = plan.on;
    let now = restore::carry_out(ctx, plan)?;
    text.push_str(&if now == before {
        "nothing was restored".to_owned()
    } else {
        format!("restored as revision {now}; `liza log` shows what happened since")
    });
    data["now"] = json!(now);
    Ok(Answer::new(data, text).at(now))
}
