use crate::cli::commands::task::flags::patterns;
use crate::cli::prelude::*;
use crate::flow::bug::{BugReport, report};

/// Report a bug with a failing test
///
/// For test engineers and people. Takes exactly the named test files from your current checkout, committed or not,
/// puts them on top of integration in a private tree, and runs the command there. The command must run and fail; then
/// liza adds a draft `bug-N` and reports it to the planner.
///
/// Example: liza bug --title "Empty names crash greet" --test tests/test_empty.sh --run "sh tests/test_empty.sh" --in greet.sh
#[derive(Args)]
pub struct BugArgs {
    /// What is wrong, in one line
    #[arg(long)]
    pub title: String,
    /// Test file, relative to the top of your checkout; repeat
    #[arg(long, value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    pub test: Vec<String>,
    /// Command that runs the test and fails
    #[arg(long, value_name = "CMD")]
    pub run: String,
    /// Description
    #[arg(long, default_value = "")]
    pub desc: String,
    /// Path that the fix may change, besides the test; repeat
    #[arg(long = "in", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub inside: Vec<String>,
    /// File that describes the right behaviour (default: the spec of the goal)
    #[arg(long, value_name = "FILE[#ANCHOR]")]
    pub spec: Option<String>,
    /// low, medium or high
    #[arg(long, default_value = "low")]
    pub risk: Risk,
    /// Time limit of the test (default: 1800)
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,
}

impl OnBoard for BugArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let found = BugReport {
            title: session.input.text(&self.title)?,
            description: session.input.text(&self.desc)?,
            tests: self.test.clone(),
            command: session.input.text(&self.run)?,
            inside: patterns("--in", &self.inside)?,
            spec: self.spec.clone(),
            risk: self.risk,
            timeout: self.timeout,
        };
        if let Some(spec) = &found.spec {
            // Refuses an invalid name here; finalizing checks that the file exists.
            session.ctx.spec_found(spec)?;
        }
        session.seal_request()?;
        let dir = std::env::current_dir()
            .map_err(|error| Failure::usage(format!("cannot determine the current directory: {error}")))?;
        let (data, revision) = report(&session.ctx, &dir, &found)?;
        let id = &data.task;
        let text = format!(
            "{id} is a draft: the test fails on integration and is kept as refs/liza/bugs/{id}\n\
         next: a planner makes it claimable with `liza task finalize {id}`"
        );
        Ok(Answer::new(&data, text).at(revision))
    }
}
