//! One run: an idea through all phases, with a summary after each.

use super::agent::{self, Call};
use super::command::{self, CommandRequest};
use super::lab::{BY_SIGNAL, Progress};
use super::worktree::Listing;
use super::{Lab, results, worktree};
use crate::experiment::{
    Idea, Outcome, ReviewEnd, Step, Summary, Verdict, artifacts, missing_sections, prompts, verdict,
};
use crate::flow::interruption;
use crate::flow::prelude::*;
use crate::host::anchored_path::Temporary;
use crate::policy::experiment::CODEX_MCP;
use crate::store::files::{replace, replace_disposable};

/// Below this free space the disk counts as full.
const LEAST_ROOM: u64 = 64 * 1024;
/// The largest part of a diff that a reviewer is shown.
const LARGEST_SHOWN_DIFF: usize = 512 * 1024;

/// The phase of a run that has not started yet.
pub const START: &str = "start";

pub struct Run<'a> {
    pub lab: &'a Lab,
    pub idea: &'a Idea,
    pub slot: u32,
    pub keep_worktree: bool,
    pub base: CommitId,
    pub dir: PathBuf,
    pub worktree: PathBuf,
    pub repo_files: &'a [prompts::RepoFile],
    pub report: &'a dyn Fn(Progress),
    pub summary: Summary,
}

/// Why a run is over.
enum Over {
    As(Outcome, Option<String>),
    Failed(Failure),
}

impl From<Failure> for Over {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

type Going<T = ()> = std::result::Result<T, Over>;

fn end<T>(outcome: Outcome, why: impl Into<String>) -> Going<T> {
    Err(Over::As(outcome, Some(why.into())))
}

impl Run<'_> {
    /// Takes the idea through its phases. Writes the summary in any case, unless the disk is full.
    pub fn carry_out(mut self) -> Summary {
        let (outcome, why) = match self.phases() {
            Ok(()) => (Outcome::Scored, None),
            // A failure because of a full disk is no verdict on the idea.
            Err(Over::As(outcome, why)) if outcome.is_judged() && self.disk_is_full() => {
                let why = why.map_or(String::new(), |why| format!(" ({outcome}: {why})"));
                (Outcome::Error, Some(format!("the disk of the experiments is full{why}")))
            }
            Err(Over::As(outcome, why)) => (outcome, why),
            Err(Over::Failed(failure)) => (Outcome::Error, Some(failure.message)),
        };
        self.summary.status = outcome;
        self.summary.error = why.map(|why| self.lab.redacted(&why));
        self.summary.ended = Some(host::now().wall);
        // Write the outcome first: a long sweep must not be repeated because its worktree could not be removed.
        let before = self.summary.clone();
        let mut written = self.write_summary();
        crash::point("experiment.ended");
        if let Err(failure) = self.clean_up() {
            self.summary.remarks.push(self.lab.redacted(&failure.message));
        }
        if written.is_err() || self.summary != before {
            written = self.write_summary();
        }
        if let Err(failure) = written {
            self.summary.status = Outcome::Error;
            self.summary.error = Some(failure.message);
        }
        self.summary
    }

    fn phases(&mut self) -> Going {
        replace_disposable(&self.dir.join(artifacts::IDEA), self.lab.redacted(&self.idea.text).as_bytes())
            .map_err(Failure::from)?;
        self.enter("worktree")?;
        worktree::make(self.lab, &self.worktree, &self.base, &self.summary.run_id)?;
        crash::point("experiment.worktree");
        let plan = self.plan()?;
        self.edit_and_review(&plan)?;
        self.test()?;
        self.sweep()
    }

    fn disk_is_full(&self) -> bool {
        [&self.lab.runs, &self.lab.worktrees]
            .iter()
            .any(|dir| host::room(dir).is_some_and(|room| room.free < LEAST_ROOM))
    }

    /// Reports and records the phase. A signal or a switch ends the run here.
    fn enter(&mut self, phase: &str) -> Going {
        if interruption::signal().is_some() {
            return end(Outcome::Interrupted, BY_SIGNAL);
        }
        if let Some(kind) = self.lab.switch() {
            return end(Outcome::Interrupted, format!("{} is set", kind.as_str()));
        }
        let first = self.summary.phase == START;
        phase.clone_into(&mut self.summary.phase);
        // The phase need not survive a power cut.
        if first {
            self.write_summary()?
        } else {
            self.note_progress()?
        }
        self.say(phase);
        crash::point("experiment.phase");
        Ok(())
    }

    fn say(&self, what: impl Into<String>) {
        let (run_id, idea) = (self.summary.run_id.clone(), self.idea.id.clone());
        (self.report)(Progress { run_id, idea, what: what.into() });
    }

    fn summary_text(&self) -> String {
        let value = self.lab.redacted_json(serde_json::to_value(&self.summary).unwrap_or_default());
        format!("{}\n", to_json_pretty(&value))
    }

    fn write_summary(&self) -> Result<()> {
        Ok(replace(&self.dir.join(artifacts::SUMMARY), self.summary_text().as_bytes())?)
    }

    /// The same without waiting for the disk.
    fn note_progress(&self) -> Result<()> {
        Ok(replace_disposable(&self.dir.join(artifacts::SUMMARY), self.summary_text().as_bytes())?)
    }

    /// Calls an agent and counts its usage.
    fn ask(&mut self, step: Step, round: u32, prompt: &str, names: [&str; 2]) -> Going<agent::Answer> {
        let call = Call {
            step,
            round,
            prompt,
            prompt_name: names[0],
            answer_name: names[1],
            worktree: &self.worktree,
            run_dir: &self.dir,
        };
        let answer = agent::call(self.lab, &call)?;
        self.summary.use_up(step.as_str(), answer.seconds, answer.usage.tokens(), answer.usage.cost_usd);
        match answer.stopped {
            Some(why) => end(Outcome::Interrupted, why),
            None => Ok(answer),
        }
    }

    fn plan(&mut self) -> Going<String> {
        self.enter("planner")?;
        let text = self.lab.instructions(self.lab.config().prompts.planner.as_ref(), prompts::PLANNER)?;
        let first = prompts::planner(&text, self.idea, self.repo_files);
        let names = [artifacts::PLANNER_PROMPT, artifacts::PLAN];
        let seen = worktree::listing(&self.worktree);
        let mut answer = self.ask(Step::Planner, 1, &first, names)?;
        self.leave_untouched(Step::Planner, &self.base.clone(), seen.as_ref())?;
        if answer.failed.is_none() && !missing_sections(&answer.text).is_empty() {
            let again = prompts::planner_again(&first, &missing_sections(&answer.text));
            answer = self.ask(Step::Planner, 2, &again, names)?;
            self.leave_untouched(Step::Planner, &self.base.clone(), seen.as_ref())?;
        }
        if let Some(why) = answer.failed {
            return end(Outcome::PlanFailed, why);
        }
        let missing = missing_sections(&answer.text);
        if !missing.is_empty() {
            return end(Outcome::PlanFailed, format!("the plan has no section {}", missing.join(" and ")));
        }
        self.summary.plan = Some(answer.text.clone());
        Ok(answer.text)
    }

    /// Restores files that a read-only agent has changed, and reports that.
    fn leave_untouched(&mut self, who: Step, commit: &CommitId, seen: Option<&Listing>) -> Going {
        if seen.is_some() && worktree::listing(&self.worktree).as_ref() == seen {
            return Ok(());
        }
        let tree = self.tree_of(commit)?;
        if worktree::put_back(self.lab, &self.worktree, commit, &tree)? {
            self.summary.remarks.push(format!("the {who} changed files of the worktree; liza restored them"));
        }
        Ok(())
    }

    fn tree_of(&self, commit: &CommitId) -> Result<CommitId> {
        Ok(crate::git::Query::open(&self.lab.repo)?.tree_of(commit)?)
    }

    fn edit_and_review(&mut self, plan: &str) -> Going {
        let config = self.lab.config();
        let files = &config.prompts;
        let coder = self.lab.instructions(files.coder.as_ref(), prompts::CODER)?;
        let fix = self.lab.instructions(files.coder_fix.as_ref(), prompts::CODER_FIX)?;
        let reviewer = self.lab.instructions(files.reviewer.as_ref(), prompts::REVIEWER)?;
        if config.agents.coder.provider.as_deref() == Some(CODEX_MCP) && config.agents.coder.model.is_some() {
            self.summary.remarks.push("experiment.agents.coder.model is not used with codex_mcp".to_owned());
        }
        let mut prompt = prompts::coder(&coder, self.idea, plan);
        let mut before: Option<Vec<u8>> = None;
        for round in 1..=config.max_review_rounds.saturating_add(1) {
            self.enter(&format!("coder, round {round}"))?;
            self.summary.rounds = round;
            let names = [artifacts::coder_prompt(round), artifacts::coder_output(round)];
            let answer = self.ask(Step::Coder, round, &prompt, names.each_ref().map(String::as_str))?;
            let (commit, diff) = self.snapshot(round)?;
            if let Some(why) = answer.failed {
                return end(Outcome::CoderFailed, why);
            }
            if diff.is_empty() {
                return end(Outcome::NoChange, "the coder changed nothing");
            }
            if before.as_ref() == Some(&diff) {
                return end(
                    Outcome::Rejected,
                    format!("the coder changed nothing after the review of round {}", round - 1),
                );
            }
            let (verdict, review) = self.review(round, &reviewer, plan, &diff, &commit)?;
            self.summary.review = Some(ReviewEnd { verdict, round, commit: Some(commit) });
            self.note_progress()?;
            self.say(format!("round {round}: {}", verdict.as_str()));
            if verdict == Verdict::Approve {
                return Ok(());
            }
            let feedback = prompts::feedback(&fix, &review);
            if round <= config.max_review_rounds {
                let path = self.dir.join(artifacts::coder_fix_prompt(round + 1));
                replace_disposable(&path, self.lab.redacted(&feedback).as_bytes()).map_err(Failure::from)?;
            }
            prompt = prompts::coder_fix(&feedback, self.idea, plan);
            before = Some(diff);
        }
        end(Outcome::Rejected, format!("rejected in {}", plural(self.summary.rounds as usize, "round")))
    }

    /// Keeps the present worktree under the run's ref, and as a diff against the base.
    fn snapshot(&mut self, round: u32) -> Going<(CommitId, Vec<u8>)> {
        let (commit, left_out) = worktree::keep(self.lab, &self.worktree, &self.summary)?;
        self.summary.kept_as = Some(worktree::ref_of(&self.summary.run_id));
        if let Some(left_out) = left_out {
            self.summary.remarks.push(format!("not in the diff of round {round}: {left_out}"));
        }
        let diff = worktree::diff(self.lab, &self.base, &commit)?;
        if let Some(name) = worktree::leaked(self.lab, &self.base, &commit, &diff)? {
            return end(
                Outcome::Error,
                format!("the change contains the value of the variable {name}; its diff is not written"),
            );
        }
        replace_disposable(&self.dir.join(artifacts::diff(round)), &diff).map_err(Failure::from)?;
        Ok((commit, diff))
    }

    fn review(
        &mut self,
        round: u32,
        text: &str,
        plan: &str,
        diff: &[u8],
        commit: &CommitId,
    ) -> Going<(Verdict, String)> {
        self.enter(&format!("reviewer, round {round}"))?;
        let shown = String::from_utf8_lossy(&diff[..diff.len().min(LARGEST_SHOWN_DIFF)]);
        let rest = diff.len().saturating_sub(LARGEST_SHOWN_DIFF);
        let shown = if rest > 0 {
            format!("{shown}\n[{rest} bytes more; the whole change is in the current directory]")
        } else {
            shown.into_owned()
        };
        let first = prompts::reviewer(text, self.idea, plan, &shown);
        let names = [artifacts::reviewer_prompt(round), artifacts::review(round)];
        let names = names.each_ref().map(String::as_str);
        let seen = worktree::listing(&self.worktree);
        let mut answer = self.ask(Step::Reviewer, round, &first, names)?;
        self.leave_untouched(Step::Reviewer, commit, seen.as_ref())?;
        if answer.failed.is_none() && verdict(&answer.text).is_none() {
            answer = self.ask(Step::Reviewer, round, &prompts::reviewer_again(&first), names)?;
            self.leave_untouched(Step::Reviewer, commit, seen.as_ref())?;
        }
        if let Some(why) = answer.failed {
            return end(Outcome::Error, why);
        }
        // An answer without a verdict counts as a rejection.
        let verdict = verdict(&answer.text).unwrap_or(Verdict::Reject);
        Ok((verdict, answer.text))
    }

    fn command(
        &mut self,
        phase: &str,
        command: &crate::policy::gate::GateCommand,
        cwd: Option<&str>,
        seconds: u64,
        log: &str,
    ) -> Going<command::CommandOutcome> {
        let temporary = Temporary::new(&self.lab.runs, &agent::scratch_name(&self.dir))
            .map_err(|error| Failure::io("make", &self.lab.runs, &error))?;
        let request = CommandRequest {
            command,
            worktree: &self.worktree,
            cwd,
            timeout: Duration::from_secs(seconds),
            log: &self.dir.join(log),
            temporary: temporary.path(),
            run_id: &self.summary.run_id,
            slot: self.slot,
        };
        let outcome = command::run(self.lab, &request);
        self.summary.use_up(phase, outcome.ended.seconds, 0, None);
        match outcome.stopped {
            Some(why) => end(Outcome::Interrupted, why),
            None => Ok(outcome),
        }
    }

    fn test(&mut self) -> Going {
        let config = self.lab.config().clone();
        let Some(command) = &config.test_command else { return Ok(()) };
        self.enter("tests")?;
        let outcome = self.command(
            "tests",
            command,
            config.test_cwd.as_deref(),
            config.test_timeout,
            artifacts::TESTS_LOG,
        )?;
        self.summary.tests = Some(outcome.ended);
        match outcome.problem {
            Some(why) => end(Outcome::TestsFailed, format!("the tests failed: {why}")),
            None => Ok(()),
        }
    }

    fn sweep(&mut self) -> Going {
        let config = self.lab.config().clone();
        let Some(command) = &config.sweep_command else {
            return end(Outcome::NoResults, "no `experiment.sweep_command` is set, so there is no score");
        };
        self.enter("sweep")?;
        let before = config.results_csv.as_deref().map(|results| results::before(&self.worktree, results));
        let outcome = self.command(
            "sweep",
            command,
            config.sweep_cwd.as_deref(),
            config.sweep_timeout,
            artifacts::SWEEP_LOG,
        )?;
        self.summary.sweep = Some(outcome.ended);
        if let Some(why) = outcome.problem {
            return end(Outcome::SweepFailed, format!("the sweep failed: {why}"));
        }
        let (Some(results), Some(before)) = (&config.results_csv, before) else {
            return end(Outcome::NoResults, "no `experiment.results_csv` is set, so there is no score");
        };
        let bytes = match results::copy(self.lab, &self.worktree, results, &before, &self.dir) {
            Ok(bytes) => bytes,
            Err(why) => return end(Outcome::NoResults, why),
        };
        match results::score(self.lab, &bytes) {
            Ok((score, remark)) => {
                self.summary.score = Some(score);
                self.summary.remarks.extend(remark);
                Ok(())
            }
            Err(why) => end(Outcome::NoResults, format!("`{results}`: {why}")),
        }
    }

    /// Removes the worktree once its work is kept; a worktree that stays is unlocked for git.
    fn clean_up(&mut self) -> Result<()> {
        if self.worktree.symlink_metadata().is_err() {
            return Ok(());
        }
        if self.keep_worktree {
            return worktree::unlock(self.lab, &self.worktree);
        }
        // Unfinished work of a coder is in no snapshot yet; files of tests and sweeps are not kept.
        if self.summary.phase.starts_with(Step::Coder.as_str()) || self.summary.kept_as.is_none() {
            let kept = worktree::keep_rest(self.lab, &self.worktree, &self.summary)?;
            self.summary.kept_as = self.summary.kept_as.take().or(kept);
        }
        worktree::remove(self.lab, &self.worktree)
    }
}
