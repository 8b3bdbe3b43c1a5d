//! Bytes as text: the standard alphabet, with padding.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// None for any text that [`encode`] would not write: every content has one spelling.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3);
    let groups = digits.len() / 4;
    for (number, group) in digits.chunks(4).enumerate() {
        let padding = group.iter().rev().take_while(|digit| **digit == b'=').count();
        if padding > 2 || padding > 0 && number + 1 < groups {
            return None;
        }
        let mut bits = 0_u32;
        for digit in &group[..4 - padding] {
            bits = bits << 6 | value(*digit)?;
        }
        bits <<= 6 * padding;
        let whole = bits.to_be_bytes();
        let kept = 3 - padding;
        if whole[1 + kept..].iter().any(|left| *left != 0) {
            return None;
        }
        bytes.extend_from_slice(&whole[1..=kept]);
    }
    Some(bytes)
}

fn value(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_follows_the_standard() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foobar", "Zm9vYmFy"),
            (b"\xff\xfe\xfd\x00", "//79AA=="),
        ] {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).as_deref(), Some(bytes));
        }
    }

    #[test]
    fn base64_accepts_only_canonical_text() {
        for text in
            ["Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm 9v", "Zm9v\n", "Zm-_", "é=="]
        {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
