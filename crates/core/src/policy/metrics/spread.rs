//! The distribution of values: count, sum, median, 90th percentile, maximum.

use crate::policy::prelude::*;

/// Whole numbers, by nearest rank: the median of an even number of values is the lower middle one, and every figure is
/// a value that occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Spread {
    pub count: u64,
    pub total: u64,
    pub median: u64,
    pub p90: u64,
    pub max: u64,
}

impl Spread {
    pub fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        let rank = |percent: usize| {
            let at = (values.len() * percent).div_ceil(100).max(1) - 1;
            values.get(at).copied().unwrap_or(0)
        };
        Self {
            count: u64::try_from(values.len()).unwrap_or(u64::MAX),
            total: values.iter().fold(0, |sum, value| sum.saturating_add(*value)),
            median: rank(50),
            p90: rank(90),
            max: values.last().copied().unwrap_or(0),
        }
    }

    /// As single figures, with names.
    pub fn figures(&self, name: &str, into: &mut Vec<(String, f64)>) {
        let parts = [
            ("count", self.count),
            ("total", self.total),
            ("median", self.median),
            ("p90", self.p90),
            ("max", self.max),
        ];
        into.extend(parts.into_iter().map(|(part, value)| (format!("{name}_{part}"), number(value))));
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "figures for people; beyond 2^53 the last digits do not matter"
)]
pub fn number(count: u64) -> f64 {
    count as f64
}

/// A share; none if the whole is 0.
pub fn rate(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (number(part) / number(whole) * 10_000.0).round() / 10_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_match_hand_computed_values() {
        let spread = |values: &[u64]| {
            let s = Spread::of(values.to_vec());
            (s.count, s.total, s.median, s.p90, s.max)
        };
        assert_eq!(spread(&[]), (0, 0, 0, 0, 0));
        assert_eq!(spread(&[7]), (1, 7, 7, 7, 7));
        assert_eq!(spread(&[9, 1]), (2, 10, 1, 9, 9));
        assert_eq!(spread(&[3, 1, 2]), (3, 6, 2, 3, 3));
        assert_eq!(spread(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), (10, 55, 5, 9, 10));
        assert_eq!(spread(&[u64::MAX, u64::MAX]), (2, u64::MAX, u64::MAX, u64::MAX, u64::MAX));
    }

    #[test]
    fn share_of_nothing_is_absent() {
        assert_eq!((rate(1, 3), rate(0, 5), rate(0, 0)), (Some(0.3333), Some(0.0), None));
    }
}
