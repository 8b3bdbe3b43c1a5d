//! How long a piece of work may take: the kind of slice a task is, and the band its timebox belongs in.

use std::ops::RangeInclusive;

use super::ids::Role;

/// Longest timebox of a coder's work: past that, nobody notices in time that it leads nowhere.
pub const HARD_CAP_MINUTES: u32 = 12;

/// Shorter work costs more to hand out, review and merge than to do.
pub const MICRO_MINUTES: u32 = 2;

/// What a slice is for. A task says it by a tag of that name; otherwise its role does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slice {
    Planning,
    Probe,
    Work,
    Merge,
}

impl Slice {
    pub fn of(role: &Role, tags: &[String]) -> Self {
        let tagged = |name: &str| tags.iter().any(|tag| tag.eq_ignore_ascii_case(name));
        if tagged("merge") {
            Self::Merge
        } else if tagged("probe") {
            Self::Probe
        } else if tagged("planning") || matches!(role.as_str(), "planner" | "supervisor") {
            Self::Planning
        } else {
            Self::Work
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Probe => "probe",
            Self::Work => "work",
            Self::Merge => "merge",
        }
    }

    /// The minutes it should be given.
    pub fn band(self) -> RangeInclusive<u32> {
        match self {
            Self::Planning => 6..=10,
            Self::Probe => 2..=6,
            Self::Work => 4..=12,
            Self::Merge => 15..=25,
        }
    }
}

/// Whether a coder's work is given more time than it may have. Tags do not lift it: what takes longer is split, and what brings
/// the parts together is a supervisor's.
pub fn exceeds_hard_cap(role: &Role, minutes: Option<u32>) -> bool {
    *role == Role::coder() && minutes.is_some_and(|minutes| minutes > HARD_CAP_MINUTES)
}

/// The same as it was judged before tags counted for nothing; for what is on record.
pub fn exceeds_former_cap(role: &Role, tags: &[String], minutes: Option<u32>) -> bool {
    Slice::of(role, tags) == Slice::Work && exceeds_hard_cap(role, minutes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slice_purpose_comes_from_tag_or_role() {
        let role = |name: &str| Role::new(name).expect("a role");
        let tags = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(Slice::of(&role("coder"), &[]), Slice::Work);
        assert_eq!(Slice::of(&role("planner"), &[]), Slice::Planning);
        assert_eq!(Slice::of(&role("planner"), &tags(&["Merge"])), Slice::Merge);
        assert_eq!(Slice::of(&role("operator"), &tags(&["vm", "probe"])), Slice::Probe);
        assert!(exceeds_hard_cap(&role("coder"), Some(13)));
        assert!(!exceeds_hard_cap(&role("coder"), Some(12)));
        assert!(!exceeds_hard_cap(&role("supervisor"), Some(20)));
        assert!(!exceeds_hard_cap(&role("coder"), None));
        assert!(!exceeds_former_cap(&role("coder"), &tags(&["merge"]), Some(20)));
        assert!(exceeds_former_cap(&role("coder"), &tags(&["vm"]), Some(20)));
    }
}
