//! One reviewer approved a commit and another rejects it: neither verdict wins. The planner gets both positions.

use crate::text::clipped;

use super::prelude::*;

/// How much of a position a question quotes; the reviews have the rest.
const POSITION_CHARS: usize = 600;

impl Position {
    fn of(review: &Review, body: &Body) -> Self {
        let held = |id: &String| review.raised.contains(id) || review.kept_open.contains(id);
        let held = body.issues.iter().filter(|issue| held(&issue.id));
        Self {
            reviewer: review.reviewer.clone(),
            verdict: review.verdict,
            accepted_with_notes: review.accepted_with_notes,
            summary: review.summary.trim().to_owned(),
            issues: held
                .map(|issue| {
                    let (severity, text) = (issue.severity.as_str(), issue.last_words().trim());
                    format!("[{}] {severity} {}:{}: {text}", issue.id, issue.file, issue.line)
                })
                .collect(),
        }
    }

    fn words(&self) -> String {
        let says = match self.verdict {
            Verdict::Approve if self.accepted_with_notes => "asked for small changes and accepts",
            Verdict::Approve => "approves",
            _ => "rejects",
        };
        let summary = if self.summary.is_empty() { "(no word)" } else { &self.summary };
        let mut text = format!("{} {says} it: {summary}", self.reviewer);
        for issue in &self.issues {
            text.push_str(&format!("; {issue}"));
        }
        clipped(&text, POSITION_CHARS).into_owned()
    }
}

/// Blocks the task if the rejection just recorded contradicts an approval of the same commit. The approvals end: after
/// the planner's answer the review starts again.
pub fn contradicted(
    head: &mut Head,
    body: &mut Body,
    call: &Call,
    config: &Config,
    rejection: &Rejection<'_>,
) -> Option<SentBack> {
    let approvals = head.approvals.take()?;
    convergence::take_back_resolved(&mut body.issues, head.review_cycles_total + 1, rejection.feedback);
    let positions = positions(body, &approvals);
    let names = |verdict: Verdict| -> String {
        let those = positions.iter().filter(|position| position.verdict == verdict);
        let named = |position: &Position| {
            let notes = if position.accepted_with_notes { " (with notes)" } else { "" };
            format!("{}{notes}", position.reviewer)
        };
        those.map(named).collect::<Vec<_>>().join(" and ")
    };
    let short = rejection.commit.short();
    let (for_it, against) = (names(Verdict::Approve), names(Verdict::RequestChanges));
    let reason = format!("reviewers disagree: {for_it} approved {short}, {against} rejects it");
    let words: Vec<String> = positions.iter().map(Position::words).collect();
    let questions = vec![
        format!("Who is right about {short}? {}", words.join(" — ")),
        format!(
            "Has what {against} found to be mended? Say so in the answer: it is reviewed again with it, and goes back to its coder or on to the merge from there."
        ),
    ];
    head.review_cycles_current += 1;
    head.review_cycles_total += 1;
    end_claim(head);
    head.status = Status::Blocked;
    head.reserved_until = None;
    head.holds_paths_until = Some(Deadline::after(call.now, config.blocked_hold_seconds));
    body.blocked_from = Some(Status::ReadyForReview);
    body.blocked_reason = Some(reason.clone());
    body.blocked_questions = questions.clone();
    conclude(body, call, config.lease_seconds, Ending::NeedsDiscussion);
    body.history.push(
        entry(call, Event::Blocked)
            .step(Status::ReadyForReview, Status::Blocked)
            .commit(rejection.commit)
            .detail(reason.clone()),
    );
    Some(SentBack {
        task: head.id.clone(),
        status: head.status,
        issues: rejection.taken.raised.clone(),
        cycles: head.review_cycles_total,
        same_as: None,
        blocked_reason: Some(reason),
        disagreement: None,
        positions: Some(SaidOf::Reviewers(positions)),
        questions: Some(questions),
    })
}

/// The position of each approving reviewer, and then that of the rejecting one.
fn positions(body: &Body, approvals: &Approvals) -> Vec<Position> {
    let given = approvals.by.iter().filter_map(|approval| {
        body.reviews.iter().rfind(|review| {
            review.verdict == Verdict::Approve
                && review.commit == approval.commit
                && review.reviewer.is_same(&approval.reviewer)
        })
    });
    given.chain(body.reviews.last()).map(|review| Position::of(review, body)).collect()
}
