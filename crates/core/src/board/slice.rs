//! The purpose of a slice of work, who may take it, and how long it may take.

use std::ops::RangeInclusive;

use super::ids::Role;
use super::paths::PathPattern;
use super::prelude::*;
use super::task::Kind;

/// The longest time limit of a coder's task: beyond it, a wrong approach is noticed too late.
pub const HARD_CAP_MINUTES: u32 = 12;

/// Shorter work costs more to dispatch, review and merge than to do.
pub const MICRO_MINUTES: u32 = 2;

words! {
    /// The purpose of a slice.
    pub enum SliceKind {
        Probe = "probe",
        Work = "work",
        Review = "review",
        Merge = "merge",
    }
}

named_by!(SliceKind);

impl SliceKind {
    /// The default purpose of a task with this role.
    pub fn of_role(role: &Role) -> Self {
        if *role == Role::auditor() { Self::Review } else { Self::Work }
    }

    /// The recommended minutes for a slice.
    pub fn band(self, role: &Role) -> RangeInclusive<u32> {
        match self {
            Self::Work if matches!(role.as_str(), "planner" | "supervisor") => 6..=10,
            Self::Probe => 2..=6,
            Self::Work | Self::Review => 4..=12,
            Self::Merge => 15..=25,
        }
    }

    /// The purpose of that range, for messages.
    pub fn words(self, role: &Role) -> &'static str {
        match self {
            Self::Work if matches!(role.as_str(), "planner" | "supervisor") => "planning",
            other => other.as_str(),
        }
    }
}

/// The fields that the rules for slices read, of a task, a dispatch or a slice in a plan.
#[derive(Debug, Clone, Copy)]
pub struct SliceShape<'s> {
    pub role: &'s Role,
    pub kind: Kind,
    pub slice_kind: Option<SliceKind>,
    pub timebox_minutes: Option<u32>,
    pub owns: &'s [PathPattern],
}

/// A broken rule: the field, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceProblem {
    pub field: &'static str,
    pub why: String,
    pub hint: &'static str,
}

/// Every broken rule between role, kind, slice kind, time limit and paths. Tags make no exception.
pub fn slice_problems(slice: &SliceShape<'_>) -> Vec<SliceProblem> {
    let SliceShape { role, kind, timebox_minutes, owns, .. } = *slice;
    let mut found = Vec::new();
    let mut wrong = |field: &'static str, why: String, hint: &'static str| {
        found.push(SliceProblem { field, why, hint });
    };
    let reports = kind == Kind::Report;
    let named = slice.slice_kind;
    if reports && !role.reports() {
        wrong(
            "role",
            format!("a report is made by supervisor, operator or auditor, not by {role}"),
            "name one of these roles, or make it a task of another kind",
        );
    }
    if reports && !owns.is_empty() {
        wrong("owns", "a report changes no file, so it owns no path".to_owned(), "leave owns empty");
    }
    if let Some(named) = named {
        let fits = match named {
            SliceKind::Merge => *role == Role::supervisor(),
            SliceKind::Probe => *role == Role::operator(),
            SliceKind::Review => *role == Role::auditor(),
            SliceKind::Work => *role != Role::auditor() && !role.judges(),
        };
        if !fits {
            let who = match named {
                SliceKind::Merge => "only supervisors take merge slices",
                SliceKind::Probe => "only operators take probes",
                SliceKind::Review => "only auditors take review slices",
                SliceKind::Work => "an auditor or reviewer takes no work slice",
            };
            wrong("slice_kind", format!("{who}, and this one is for {role}"), "change role or slice_kind");
        }
        if named == SliceKind::Merge && reports {
            wrong("kind", "a merge slice is a code task".to_owned(), "use kind code");
        }
        if matches!(named, SliceKind::Probe | SliceKind::Review) && !reports {
            wrong("kind", format!("a {} changes no file", named.as_str()), "use kind report");
        }
    }
    if role.codes() && timebox_minutes.is_some_and(|minutes| minutes > HARD_CAP_MINUTES) {
        let minutes = timebox_minutes.unwrap_or_default();
        wrong(
            "timebox_minutes",
            format!("{minutes} minutes; a coder's task gets at most {HARD_CAP_MINUTES}"),
            "split it into smaller tasks; the task that merges the parts is a merge slice of a supervisor \
             (--role supervisor --slice-kind merge)",
        );
    }
    found
}

/// Whether a coder's task has more time than allowed. Tags do not raise the limit: longer work is split, and a
/// supervisor merges the parts.
pub fn exceeds_hard_cap(role: &Role, minutes: Option<u32>) -> bool {
    *role == Role::coder() && minutes.is_some_and(|minutes| minutes > HARD_CAP_MINUTES)
}

/// The same for older records, in which tags made an exception.
pub fn exceeds_former_cap(role: &Role, tags: &[String], minutes: Option<u32>) -> bool {
    let tagged = |name: &str| tags.iter().any(|tag| tag.eq_ignore_ascii_case(name));
    let lifted = ["merge", "probe", "planning"].iter().any(|name| tagged(name));
    !lifted && exceeds_hard_cap(role, minutes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(name: &str) -> Role {
        Role::new(name).expect("a role")
    }

    fn fields(
        role: &Role,
        kind: Kind,
        slice_kind: Option<SliceKind>,
        minutes: Option<u32>,
    ) -> Vec<&'static str> {
        let shape = SliceShape { role, kind, slice_kind, timebox_minutes: minutes, owns: &[] };
        slice_problems(&shape).into_iter().map(|problem| problem.field).collect()
    }

    #[test]
    fn caps_hold_whatever_the_tags_say() {
        let tags = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(exceeds_hard_cap(&role("coder"), Some(13)));
        assert!(!exceeds_hard_cap(&role("coder"), Some(12)));
        assert!(!exceeds_hard_cap(&role("supervisor"), Some(20)));
        assert!(!exceeds_hard_cap(&role("coder"), None));
        assert!(!exceeds_former_cap(&role("coder"), &tags(&["merge"]), Some(20)));
        assert!(exceeds_former_cap(&role("coder"), &tags(&["vm"]), Some(20)));
        for name in ["coder", "test_engineer"] {
            assert_eq!(fields(&role(name), Kind::Code, None, Some(13)), ["timebox_minutes"]);
            assert!(fields(&role(name), Kind::Code, None, Some(12)).is_empty());
        }
    }

    #[test]
    fn each_role_takes_its_slice_kinds_only() {
        use SliceKind::{Merge, Probe, Review, Work};
        for (name, kind, slice, broken) in [
            ("supervisor", Kind::Code, Merge, &[][..]),
            ("coder", Kind::Code, Merge, &["slice_kind"]),
            ("operator", Kind::Report, Probe, &[]),
            ("operator", Kind::Report, Work, &[]),
            ("operator", Kind::Code, Probe, &["kind"]),
            ("auditor", Kind::Report, Review, &[]),
            ("auditor", Kind::Report, Work, &["slice_kind"]),
            ("operator", Kind::Report, Review, &["slice_kind"]),
            ("coder", Kind::Report, Work, &["role"]),
            ("supervisor", Kind::Report, Merge, &["kind"]),
        ] {
            assert_eq!(fields(&role(name), kind, Some(slice), None), broken, "{name} {}", slice.as_str());
        }
        let owns = [PathPattern::new("src/").expect("a pattern")];
        let role = role("operator");
        let shape = SliceShape {
            role: &role,
            kind: Kind::Report,
            slice_kind: None,
            timebox_minutes: None,
            owns: &owns,
        };
        assert_eq!(slice_problems(&shape)[0].field, "owns");
    }
}
