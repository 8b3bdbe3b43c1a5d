use crate::cli::prelude::*;
use crate::flow::deliver::{self, Delivered, PullRequest, Wanted};

/// Bring integration to your branch or open a pull request
///
/// People only. Without --to, the branch is the one you have checked out. If `git merge --ff-only` would work, that
/// is what happens, files included; liza refuses what git would refuse and names the files. If your branch has
/// commits of its own, they are first merged into integration, through the gates. A routed goal is delivered only after
/// its auditor approved it. --pr pushes integration instead and opens a pull or merge request with `gh` or `glab`. liza
/// never forces a push or a branch.
///
/// Example: liza deliver --to main
#[derive(Args)]
pub struct DeliverArgs {
    /// Branch to move, or with --pr the base of the request (default: the current branch)
    #[arg(long = "to", value_name = "BRANCH")]
    pub branch: Option<String>,
    /// Create the branch if it does not exist
    #[arg(long, requires = "branch", conflicts_with = "pr")]
    pub create: bool,
    /// Push integration and open a pull or merge request
    #[arg(long)]
    pub pr: bool,
    /// Remote to push to (default: the branch's own, or origin)
    #[arg(long, value_name = "NAME", requires = "pr")]
    pub remote: Option<String>,
    /// Deliver a changed liza.yaml without asking
    #[arg(long)]
    pub accept_config: bool,
    /// Deliver what no auditor has approved, for this reason; it is put on record
    #[arg(long, value_name = "REASON")]
    pub unaudited: Option<String>,
    /// Show what would be done and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl OnBoard for DeliverArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let cwd = std::env::current_dir().map_err(|error| Failure::io("find", Path::new("."), &error))?;
        let unaudited = self.unaudited.is_some();
        let wanted = Wanted { to: self.branch.as_deref(), create: self.create, cwd: &cwd, unaudited };
        if self.pr {
            return self.request(session, &wanted);
        }
        let plan = match deliver::plan(&session.ctx, &wanted) {
            Err(failure) if !self.dry_run => {
                return Err(deliver::report_conflict_to_planner(&session.ctx, failure));
            }
            other => other?,
        };
        if self.dry_run {
            let foreseen = plan.foreseen();
            let mut text = would(&plan.source, &foreseen);
            if let Some(change) = &plan.config {
                text.line(format!("it would change liza.yaml (--accept-config):\n{change}"));
            }
            let mut data = serde_json::to_value(foreseen).unwrap_or_default();
            data["config"] = json!(plan.config);
            return Ok(Answer::new(data, text));
        }
        self.accepts(session, plan.config.as_deref())?;
        self.waive(session)?;
        session.carry_out(|ctx| deliver::deliver(ctx, &plan), delivered)
    }
}

impl DeliverArgs {
    /// A changed liza.yaml decides which gates and agents run: a person must see the difference first.
    fn accepts(&self, session: &Session, change: Option<&str>) -> Result<(), Failure> {
        let Some(change) = change.filter(|_| !self.accept_config) else { return Ok(()) };
        let question = format!("{change}\nThis would change liza.yaml. Deliver it?");
        match session.ui.ask(&question) {
            Some(true) => Ok(()),
            Some(false) => {
                Err(Failure::new(ErrorCode::RefusedDeclined, "not delivered: liza.yaml stays as it is"))
            }
            None => {
                let what = format!("this would change liza.yaml:\n{change}");
                Err(Failure::new(ErrorCode::UsageConfirm, what)
                    .hint("read the difference, then run it again with --accept-config")
                    .detail("diff", change))
            }
        }
    }

    /// Puts on record that a person delivers what no auditor has approved.
    fn waive(&self, session: &Session) -> Result<(), Failure> {
        let Some(reason) = &self.unaudited else { return Ok(()) };
        let reason = session.input.text(reason)?;
        let board = session.ctx.read(&Needs::Nothing)?.board;
        if !board.unaudited().is_empty() {
            session.ctx.commit_step(WaiveAudit { reason, counted: true })?;
        }
        Ok(())
    }

    fn request(&self, session: &mut Session, wanted: &Wanted<'_>) -> Result<Answer, Failure> {
        let asked = deliver::request(&session.ctx, wanted, self.remote.as_deref())?;
        if self.dry_run {
            let text = format!(
                "would push {} ({}) to {} ({}) and {}:\n{}\n\n{}",
                asked.branch,
                asked.commit.short(),
                asked.remote,
                asked.remote_url,
                if asked.can_be_opened() { "run" } else { "leave this to you" },
                asked.command,
                asked.text()
            );
            return Ok(Answer::new(asked, text));
        }
        self.accepts(session, asked.config.as_deref())?;
        self.waive(session)?;
        session.carry_out(|ctx| deliver::open(ctx, asked), requested)
    }
}

fn would(source: &str, foreseen: &Delivered) -> String {
    let mut text = String::new();
    let Delivered { branch, new, old, commits, files, .. } = foreseen;
    match old {
        None => text.line(format!("would make {branch} at {new}")),
        Some(_) if foreseen.advanced => {
            text.line(format!("would bring the own commits of {branch} into {source} through the gates, then move {branch} there"));
        }
        Some(_) => text.line(format!(
            "would move {branch} to {new} ({}, {})",
            plural(*commits, "commit"),
            plural(*files, "file")
        )),
    }
    if let Some(checkout) = &foreseen.checkout {
        text.line(format!("would write the files of {}", checkout.display()));
    }
    text
}

fn delivered(done: &Delivered) -> String {
    let mut text = format!("{} is at {}\n", done.branch, done.new);
    if done.old.is_some() {
        let brought = format!("{}, {}", plural(done.commits, "commit"), plural(done.files, "file"));
        let own = if done.advanced { "; its own commits are in integration, too" } else { "" };
        text.line(format!("{brought}{own}"));
    }
    if let Some(checkout) = &done.checkout {
        text.line(format!("the files of {} are up to date", checkout.display()));
    }
    text
}

fn requested(asked: &PullRequest) -> String {
    let pushed = format!(
        "pushed {} ({}) to {} ({})",
        asked.branch,
        asked.commit.short(),
        asked.remote,
        asked.remote_url
    );
    match &asked.url {
        Some(url) => format!("{pushed}\n{url}"),
        None => format!("{pushed}\nneither `gh` nor `glab` can open the request; type:\n{}", asked.command),
    }
}
