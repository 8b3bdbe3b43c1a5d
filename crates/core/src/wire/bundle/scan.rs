//! Scans the bytes before they are parsed: the version, and how many values there are. Sixty megabytes of `[1,1,1…]`
//! are refused before liza builds a tree of them.

/// More values than any bundle within the limits has.
pub const MOST_VALUES: usize = 1_500_000;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// The number under `version` of the outermost object.
    pub version: Option<u64>,
    pub too_many: bool,
}

pub fn scan(bytes: &[u8]) -> Scan {
    let mut found = Scan::default();
    let (mut at, mut depth, mut values) = (0, 0_usize, 0_usize);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                values += 1;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            b'"' => {
                let start = at;
                at = end_of_text(bytes, at);
                if depth == 1 && found.version.is_none() && bytes.get(start..at) == Some(&b"version\""[..]) {
                    found.version = number_behind(&bytes[at..]);
                }
            }
            _ => {}
        }
        if values > MOST_VALUES {
            found.too_many = true;
            // Only the version is still of interest.
            if found.version.is_some() {
                return found;
            }
        }
    }
    found
}

/// The position after the closing quote.
fn end_of_text(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => break,
            b'\\' => at += 1,
            _ => {}
        }
    }
    at.min(bytes.len())
}

fn number_behind(bytes: &[u8]) -> Option<u64> {
    let rest = bytes.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let ends = rest.get(digits).is_none_or(|byte| matches!(byte, b',' | b'}') || byte.is_ascii_whitespace());
    if !ends {
        return None;
    }
    std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_outermost_one() {
        for (text, version) in [
            (r#"{"version":1}"#, Some(1)),
            (r#"{ "a" : {"version": 7}, "version" : 2 , "x":3}"#, Some(2)),
            (r#"{"a":"\"version\":3","version":4}"#, Some(4)),
            (r#"{"version":"1"}"#, None),
            (r#"{"version":1.5}"#, None),
            (r#"{"version"#, None),
            (r#"{"a\"#, None),
        ] {
            assert_eq!(scan(text.as_bytes()).version, version, "{text}");
        }
        let many = format!("{{\"x\":[{}1],\"version\":9}}", "1,".repeat(MOST_VALUES));
        assert_eq!(scan(many.as_bytes()), Scan { version: Some(9), too_many: true });
    }
}
