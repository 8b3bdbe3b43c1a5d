//! Which characters may be written raw, and which strings need no quotes.

/// Whether `c` must be written as an escape wherever text leaves liza.
///
/// Controls drive terminals, line separators split a line for some readers and not for others, and
/// bidirectional and zero-width marks make a text look like another one. Noncharacters are refused by
/// several YAML readers.
pub fn is_hidden(c: char) -> bool {
    match c {
        '\0'..='\x1f'
        | '\x7f'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fdd0}'..='\u{fdef}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => true,
        _ => u32::from(c) & 0xfffe == 0xfffe,
    }
}

const RAW: u8 = 0;
const STOP: u8 = 1;
/// First byte of a sequence that may or may not encode a hidden character.
const LOOK: u8 = 2;

const BYTE_KIND: [u8; 256] = {
    let mut kinds = [RAW; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            0..=0x1f | 0x7f | b'"' | b'\\' => STOP,
            0xc2 | 0xd8 | 0xe1 | 0xe2 | 0xef | 0xf0..=0xf4 => LOOK,
            _ => RAW,
        };
        byte += 1;
    }
    kinds
};

/// Whether eight bytes are all printable ASCII other than quote and backslash, tested at once.
///
/// Prose is mostly that, and looking at it byte by byte would be the larger part of reading and writing it.
fn is_ordinary(word: [u8; 8]) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let word = u64::from_ne_bytes(word);
    let has_zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let below_space = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = has_zero(word ^ (ONES * 0x22));
    let backslash = has_zero(word ^ (ONES * 0x5c));
    let delete = has_zero(word ^ (ONES * 0x7f));
    (word | below_space | quote | backslash | delete) & HIGH == 0
}

/// The position, at or after `from`, of the first character that cannot stand raw between double quotes.
pub(super) fn next_special(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
            if !is_ordinary(*word) {
                break;
            }
            at += 8;
        }
        at += bytes.get(at..)?.iter().position(|byte| BYTE_KIND[usize::from(*byte)] != RAW)?;
        if BYTE_KIND[usize::from(bytes[at])] == STOP {
            return Some(at);
        }
        let c = text.get(at..)?.chars().next()?;
        if is_hidden(c) {
            return Some(at);
        }
        at += c.len_utf8();
    }
}

const PLAIN_BYTE: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        plain[byte] = matches!(byte as u8,
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'/' | b'-' | b' ');
        byte += 1;
    }
    plain
};

/// How many bytes at the start of `bytes` could belong to an unquoted string.
pub(super) fn plain_run(bytes: &[u8]) -> usize {
    let is_plain = |byte: &u8| PLAIN_BYTE[usize::from(*byte)];
    let mut at = 0;
    // Eight bytes without a branch between them.
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        if !word.iter().fold(true, |all, byte| all & is_plain(byte)) {
            break;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| !is_plain(byte)).unwrap_or(rest.len())
}

/// Words of this length that YAML 1.1, YAML 1.2 or a widespread reader takes for something other than text.
fn words(length: usize) -> &'static [&'static str] {
    match length {
        1 => &["y", "n"],
        2 => &["no", "on"],
        3 => &["off", "yes", "inf", "nan"],
        4 => &["null", "true"],
        5 => &["false"],
        8 => &["infinity"],
        _ => &[],
    }
}

/// Whether `text` reads as this very string, unquoted, under YAML 1.1 and 1.2 and in every context.
///
/// Deliberately narrower than YAML: starting with a letter rules out every number, date, time and marker.
pub fn is_plain(text: &str) -> bool {
    plain_run(text.as_bytes()) == text.len() && reads_as_text(text)
}

/// The rest of [`is_plain`], for a `text` already known to be a [`plain_run`].
pub(super) fn reads_as_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last() != Some(&b' ')
        && !words(text.len()).iter().any(|word| word.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_table_agrees_with_the_character_rule() {
        for c in '\0'..=char::MAX {
            let special = is_hidden(c) || c == '"' || c == '\\';
            for around in ["é", "xxxxxxx"] {
                let found = next_special(&format!("{around}{c}{around}"), 0);
                assert_eq!(found, special.then_some(around.len()), "U+{:04X}", u32::from(c));
            }
        }
    }

    #[test]
    fn plain_text_is_only_unambiguous_yaml() {
        for text in ["a", "src/wire/mod.rs", "READY", "add the parser", "a-b_c.d"] {
            assert!(is_plain(text), "{text}");
        }
        for text in ["", " a", "a ", "yes", "Off", "NULL", "1a", "-", "~", "a: b", "a #b", "a,b", "é", "NaN"]
        {
            assert!(!is_plain(text), "{text}");
        }
    }
}
