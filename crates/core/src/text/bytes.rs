//! Sizes in words.

/// A number of bytes for people.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["KB", "MB", "GB", "TB", "PB"];
    if count < 1024 {
        return if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") };
    }
    let mut amount = count as f64 / 1024.0;
    let mut unit = 0;
    while amount >= 1024.0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_in_the_unit_that_fits() {
        let said: Vec<String> =
            [0, 1, 1023, 1024, 1_500_000, 200 * 1024 * 1024, u64::MAX].into_iter().map(bytes).collect();
        assert_eq!(said, ["0 bytes", "1 byte", "1023 bytes", "1.0 KB", "1.4 MB", "200.0 MB", "16384.0 PB"]);
    }
}
