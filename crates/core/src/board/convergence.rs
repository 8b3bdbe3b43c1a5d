//! Decides whether a finding repeats an issue of an earlier round: the same line, followed through the changes, in words
//! of the same meaning. An issue keeps its id and its history over all rounds.

use crate::text::{shared_meaning, significant_words, similarity};

use super::prelude::*;
use super::review::{Feedback, Finding, Issue, IssueRound, IssueStatus, PriorStatus, Severity, Standing};

/// A finding at most this many lines off is at the same line: reviewers count roughly, and may mean the line above.
const NEAR: u32 = 3;
/// A finding at most this many lines off repeats the issue only in nearly the same words: it is another line of the function.
const AROUND: u32 = 20;
/// How alike texts within [`NEAR`] must be: most of the words that carry the meaning, or nearly the same sentence.
const NEAR_MEANING: f64 = 0.6;
const NEAR_WORDS: f64 = 0.8;
/// How alike texts within [`AROUND`] must be.
const AROUND_MEANING: f64 = 0.8;
const AROUND_WORDS: f64 = 0.9;
/// How alike a finding and a resolved issue must be. Stricter: a false match would blame the coder for a regression.
const RESOLVED_ALIKE: f64 = 0.9;

/// Lines of one file that were replaced by others, as git counts them without context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hunk {
    pub old_start: u32,
    pub old_lines: u32,
    pub new_start: u32,
    pub new_lines: u32,
}

record! {
    /// How one file changed.
    #[derive(Eq)]
    pub struct FileDrift {
        /// Its name before; empty for a new file.
        pub from: String,
        /// Its name now; absent for a deleted file.
        pub to: Option<String>,
        pub hunks: Vec<Hunk>,
    }

    /// The difference between a commit that was reviewed before and the one under review. The command asks git before it
    /// takes the lock; rules only read the answer.
    #[derive(Eq)]
    pub struct Drift {
        pub since: CommitId,
        /// The paths that differ; of very many, only the first.
        pub changed: Vec<String>,
        /// The changed files among those that issues are about.
        pub files: Vec<FileDrift>,
    }
}

/// The lines where an issue is now: one line, or all lines that replaced it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IssueLines {
    file: String,
    first: u32,
    last: u32,
    /// The best guess at one line.
    line: u32,
}

impl Drift {
    fn follow_line(&self, file: &str, line: u32) -> IssueLines {
        let stays = |line: u32| IssueLines { file: file.to_owned(), first: line, last: line, line };
        let Some(found) = self.files.iter().find(|drift| drift.from == file) else { return stays(line) };
        let Some(to) = &found.to else { return stays(line) };
        let mut moved = i64::from(line);
        for hunk in &found.hunks {
            // For an insertion, git names the line before the new lines.
            let begins = if hunk.old_lines == 0 { hunk.old_start.saturating_add(1) } else { hunk.old_start };
            if line < begins {
                break;
            }
            if hunk.old_lines > 0 && line - begins < hunk.old_lines {
                let first = hunk.new_start.max(1);
                let last = first.saturating_add(hunk.new_lines.max(1) - 1);
                let guess = first.saturating_add(line - begins).min(last);
                return IssueLines { file: to.clone(), first, last, line: guess };
            }
            moved += i64::from(hunk.new_lines) - i64::from(hunk.old_lines);
        }
        let line = u32::try_from(moved.max(1)).unwrap_or(line);
        IssueLines { file: to.clone(), ..stays(line) }
    }

    /// Whether a line of the commit under review was already in the former commit.
    fn left_unchanged(&self, file: &str, line: u32) -> bool {
        let Some(found) = self.files.iter().find(|drift| drift.to.as_deref() == Some(file)) else {
            return true;
        };
        !found.hunks.iter().any(|hunk| line >= hunk.new_start && line - hunk.new_start < hunk.new_lines)
    }
}

/// A finding that is an issue of an earlier round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repeated {
    /// The number of the finding in the review, from 1.
    pub finding: usize,
    pub issue: String,
    /// The same review calls the issue resolved.
    pub said_resolved: bool,
    /// An earlier review had called the issue resolved.
    pub reopened: bool,
}

/// What a review changed in the list of issues.
#[derive(Debug, Default)]
pub struct Taken {
    /// Ids of the issues that are new.
    pub raised: Vec<String>,
    pub repeated: Vec<Repeated>,
}

/// The review that [`take`] records.
pub struct Round<'a> {
    pub number: u32,
    pub by: AgentId,
    pub commit: &'a CommitId,
    /// The commit of the last review of another commit.
    pub former: Option<&'a CommitId>,
    pub feedback: &'a Feedback,
    pub drift: &'a [Drift],
    /// The red team reviewed: it may raise issues on lines that earlier reviews accepted.
    pub red_team: bool,
    /// Issues that the review does not name count as resolved: it is the last approval needed.
    pub resolves_the_rest: bool,
}

/// For every finding the index of the issue that the finding repeats. No two findings repeat one issue.
pub fn repeated(issues: &[Issue], feedback: &Feedback, drift: &[Drift]) -> Vec<Option<usize>> {
    let lines: Vec<IssueLines> = issues.iter().map(|issue| lines_now(issue, drift)).collect();
    let mut pairs: Vec<(f64, u32, usize, usize)> = Vec::new();
    for (at, finding) in feedback.issues.iter().enumerate() {
        for (which, issue) in issues.iter().enumerate() {
            if let Some((alike, distance)) = likeness(issue, &lines[which], finding, &feedback.prior) {
                pairs.push((alike, distance, which, at));
            }
        }
    }
    // The most alike first, then the nearest, then the oldest.
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2, a.3).cmp(&(b.1, b.2, b.3))));
    let mut found: Vec<Option<usize>> = vec![None; feedback.issues.len()];
    for (_, _, which, at) in pairs {
        if found[at].is_none() && !found.contains(&Some(which)) {
            found[at] = Some(which);
        }
    }
    found
}

fn lines_now(issue: &Issue, drift: &[Drift]) -> IssueLines {
    let since = drift.iter().find(|drift| Some(&drift.since) == issue.seen_at.as_ref());
    match since {
        Some(drift) => drift.follow_line(&issue.file, issue.line),
        None => {
            IssueLines { file: issue.file.clone(), first: issue.line, last: issue.line, line: issue.line }
        }
    }
}

/// How alike a finding and an issue are and how many lines apart; none if the finding is a new issue. In doubt it is new: a
/// duplicate costs the reviewer one answer, but a finding mistaken for another issue is lost.
fn likeness(issue: &Issue, now: &IssueLines, finding: &Finding, prior: &[PriorStatus]) -> Option<(f64, u32)> {
    if now.file != finding.file {
        return None;
    }
    let said = prior.iter().find(|said| said.id == issue.id).map(|said| said.status);
    let kept_open = said.is_some_and(|status| status != IssueStatus::Resolved);
    // A minor finding does not repeat a grave issue, unless the review names that issue by its id.
    let makes_less = issue.severity.blocks() && !finding.severity.blocks();
    if makes_less && !kept_open {
        return None;
    }
    let last =
        finding.line_end.unwrap_or(finding.line).clamp(finding.line, finding.line.saturating_add(AROUND));
    let off = |first: u32, end: u32| {
        if finding.line > end { finding.line - end } else { first.saturating_sub(last) }
    };
    // If a long passage replaced the issue's line, the distance is to the likeliest line of the passage.
    let (distance, around) = (off(now.line, now.line), off(now.first, now.last));
    if around > AROUND {
        return None;
    }
    let resolved_before = !issue.is_open() && !kept_open;
    // An issue that the reviewer calls resolved is resolved, unless the same review raises the same text again.
    let (meaning_wanted, words_wanted) = match () {
        () if resolved_before && distance > NEAR => return None,
        () if resolved_before => (RESOLVED_ALIKE, RESOLVED_ALIKE),
        () if distance <= NEAR && said != Some(IssueStatus::Resolved) && !makes_less => {
            (NEAR_MEANING, NEAR_WORDS)
        }
        () => (AROUND_MEANING, AROUND_WORDS),
    };
    let words_must_agree = finding.line != now.line || resolved_before || makes_less;
    let alike = |text: &str| {
        if words_must_agree && says_something_else(text, &finding.issue) {
            return None;
        }
        let (meaning, words) = (shared_meaning(text, &finding.issue), similarity(text, &finding.issue));
        (meaning >= meaning_wanted || words >= words_wanted).then_some(meaning.max(words))
    };
    let texts = [issue.issue.as_str(), issue.last_words()];
    texts.into_iter().filter_map(alike).max_by(f64::total_cmp).map(|best| (best, distance))
}

/// Whether each text has a word that the other lacks: `before the delete` and `before the preview`.
fn says_something_else(one: &str, other: &str) -> bool {
    let (one, other) = (significant_words(one), significant_words(other));
    !one.is_subset(&other) && !other.is_subset(&one)
}

/// Records what a review says about issues: known issues move with their lines and get this round's status, and new ones
/// get an id.
pub fn take(issues: &mut Vec<Issue>, round: &Round<'_>) -> Taken {
    let feedback = round.feedback;
    let matched = repeated(issues, feedback, round.drift);
    let mut taken = Taken::default();
    for (which, issue) in issues.iter_mut().enumerate() {
        let was_resolved = match issue.rounds.last() {
            Some(said) => said.standing == Standing::Resolved,
            None => issue.status == IssueStatus::Resolved,
        };
        follow(issue, round);
        let said = feedback.prior.iter().rfind(|said| said.id == issue.id).map(|said| said.status);
        let again = matched.iter().position(|found| *found == Some(which));
        let mut words = None;
        if let Some(at) = again {
            let finding = &feedback.issues[at];
            words = (finding.issue.trim() != issue.last_words().trim()).then(|| finding.issue.clone());
            // Only a review that names the issue by its id lowers its severity.
            let gravest =
                if said.is_some() { finding.severity } else { issue.severity.min(finding.severity) };
            repeat(issue, finding, round.commit);
            issue.severity = gravest;
            taken.repeated.push(Repeated {
                finding: at + 1,
                issue: issue.id.clone(),
                said_resolved: said == Some(IssueStatus::Resolved),
                reopened: was_resolved,
            });
        }
        let standing = match (said, again) {
            (Some(IssueStatus::Partial), _) => Standing::Partial,
            (Some(IssueStatus::Open), _) | (_, Some(_)) => Standing::StillPresent,
            (Some(IssueStatus::Resolved), None) => Standing::Resolved,
            (None, None) if round.resolves_the_rest && !was_resolved => Standing::Resolved,
            (None, None) => continue,
        };
        if standing == Standing::Resolved && was_resolved {
            issue.status = IssueStatus::Resolved;
            if let Some(last) = issue.rounds.last_mut().filter(|_| said.is_some()) {
                last.unnamed = false;
            }
            continue;
        }
        issue.status = match standing {
            Standing::Resolved => IssueStatus::Resolved,
            Standing::Partial => IssueStatus::Partial,
            Standing::New | Standing::StillPresent => IssueStatus::Open,
        };
        let entry = IssueRound {
            round: round.number,
            standing,
            severity: issue.severity,
            line: issue.line,
            reopened: was_resolved,
            words,
            unnamed: said.is_none() && again.is_none(),
        };
        // Two verdicts may belong to one round, a discussion and the verdict after it: the last one counts.
        issue.rounds.retain(|said| said.round < round.number);
        issue.rounds.push(entry);
    }
    taken.repeated.sort_by_key(|one| one.finding);
    for (at, finding) in feedback.issues.iter().enumerate() {
        if matched[at].is_some() {
            continue;
        }
        let mut issue =
            Issue::from_finding(finding, format!("i{}", next_number(issues)), round.number, round.by.clone());
        issue.seen_at = Some(round.commit.clone());
        issue.on_old_lines = on_old_lines(finding, round);
        issue.begin();
        taken.raised.push(issue.id.clone());
        issues.push(issue);
    }
    taken
}

/// Reopens issues that a void approval closed without naming them.
pub fn take_back_unnamed(issues: &mut [Issue]) {
    for issue in issues {
        if issue.rounds.last().is_some_and(|said| said.unnamed) {
            issue.open_again();
        }
    }
}

/// Reopens issues that only the approvals of this round called resolved: a rejection voids those approvals.
pub fn take_back_resolved(issues: &mut [Issue], round: u32, against: &Feedback) {
    for issue in issues {
        let resolved = issue
            .rounds
            .last()
            .is_some_and(|said| said.round == round && said.standing == Standing::Resolved);
        if resolved && !against.prior.iter().any(|said| said.id == issue.id) {
            issue.open_again();
        }
    }
}

/// The number after the last one in use.
fn next_number(issues: &[Issue]) -> u64 {
    let used = issues.iter().filter_map(|issue| issue.id.strip_prefix('i')?.parse::<u64>().ok());
    used.max().unwrap_or(0) + 1
}

/// Moves an issue to the current position of its line.
fn follow(issue: &mut Issue, round: &Round<'_>) {
    let now = lines_now(issue, round.drift);
    let known = issue.seen_at.as_ref().is_some_and(|at| round.drift.iter().any(|drift| &drift.since == at));
    if !known {
        return;
    }
    let length = issue.line_end.map(|end| end.saturating_sub(issue.line));
    issue.file = now.file;
    issue.line = now.line;
    issue.line_end = length.map(|length| now.line.saturating_add(length));
    issue.seen_at = Some(round.commit.clone());
}

/// Moves an issue to the line of the finding that repeats it, with the finding's suggestion; the issue keeps its first text.
fn repeat(issue: &mut Issue, finding: &Finding, commit: &CommitId) {
    issue.file.clone_from(&finding.file);
    issue.line = finding.line;
    issue.line_end = finding.line_end;
    issue.seen_at = Some(commit.clone());
    for (kept, said) in [
        (&mut issue.suggestion, &finding.suggestion),
        (&mut issue.code_before, &finding.code_before),
        (&mut issue.code_after, &finding.code_after),
    ] {
        if said.is_some() {
            kept.clone_from(said);
        }
    }
}

/// Whether the line of a finding was already in the commit of the review before.
fn on_old_lines(finding: &Finding, round: &Round<'_>) -> bool {
    let Some(former) = round.former.filter(|_| !round.red_team) else { return false };
    let since = round.drift.iter().find(|drift| &drift.since == former);
    since.is_some_and(|drift| drift.left_unchanged(&finding.file, finding.line))
}

/// The issues of the wanted severities that were open when a round ended.
pub fn open_after(issues: &[Issue], round: u32, wanted: impl Fn(Severity) -> bool) -> Vec<&Issue> {
    issues.iter().filter(|issue| issue.open_after(round).is_some_and(&wanted)).collect()
}
