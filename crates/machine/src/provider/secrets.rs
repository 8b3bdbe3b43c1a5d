//! Values that must not reach a log, a prompt or a report, and their replacement in a stream of bytes.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use memchr::memmem::Finder;

/// Shorter values are common parts of other words: masking them mangles the output and protects nothing.
const SHORTEST: usize = 8;

const TELLING: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];

/// A secret value, and the name that replaces it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    pub name: String,
    pub value: Vec<u8>,
}

/// Without the value: debug prints end up in logs.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret({})", self.name)
    }
}

/// The secrets among an agent's variables, and those the caller knows, such as the agent's token.
pub fn secrets<'a>(
    passed: impl IntoIterator<Item = (&'a OsString, &'a OsString)>,
    extra: impl IntoIterator<Item = (&'a str, Vec<u8>)>,
) -> Vec<Secret> {
    let mut all = Vec::new();
    for (name, value) in passed {
        let (name, value) = (name.to_string_lossy(), value.as_bytes());
        let upper = name.to_ascii_uppercase();
        if TELLING.iter().any(|part| upper.contains(part)) {
            add(&mut all, &name, value);
        } else if upper.ends_with("_PROXY") {
            add(&mut all, &name, password_in(value));
        }
    }
    for (name, value) in extra {
        add(&mut all, name, &value);
    }
    all
}

/// Adds the value, and its form inside JSON, which most agents print.
fn add(all: &mut Vec<Secret>, name: &str, value: &[u8]) {
    let value = value.trim_ascii();
    if value.len() < SHORTEST {
        return;
    }
    let mut push = |value: Vec<u8>| {
        if !all.iter().any(|known| known.value == value) {
            all.push(Secret { name: name.to_owned(), value });
        }
    };
    push(value.to_vec());
    if let Ok(text) = std::str::from_utf8(value)
        && let Ok(quoted) = serde_json::to_string(text)
    {
        push(quoted.as_bytes()[1..quoted.len() - 1].to_vec());
    }
}

/// `http://user:password@host` of a proxy.
fn password_in(url: &[u8]) -> &[u8] {
    let rest = match memchr::memmem::find(url, b"://") {
        Some(at) => &url[at + 3..],
        None => url,
    };
    let Some(at) = memchr::memrchr(b'@', rest) else { return &[] };
    let user = &rest[..at];
    memchr::memchr(b':', user).map_or(&[], |colon| &user[colon + 1..])
}

/// Replaces secrets in a stream, even those split between chunks.
///
/// Holds back at most as many bytes as the longest secret has, and only while they may be the start of one.
#[derive(Debug)]
pub struct Redactor {
    known: Vec<Known>,
    /// Bytes that may be the start of a secret.
    held: Vec<u8>,
    /// How many bytes at the front of `held` belong to a secret that was already replaced.
    covered: usize,
}

#[derive(Debug)]
struct Known {
    finder: Finder<'static>,
    label: Vec<u8>,
}

impl Redactor {
    /// For values without names.
    pub fn new(values: Vec<Vec<u8>>) -> Self {
        Self::labelled(values.into_iter().map(|value| (b"[secret]".to_vec(), value)))
    }

    pub fn of(secrets: &[Secret]) -> Self {
        Self::labelled(
            secrets
                .iter()
                .map(|secret| (format!("[secret {}]", secret.name).into_bytes(), secret.value.clone())),
        )
    }

    fn labelled(values: impl Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Self {
        let known = values
            .filter(|(_, value)| !value.is_empty())
            .map(|(label, value)| Known { finder: Finder::new(&value).into_owned(), label })
            .collect();
        Self { known, held: Vec::new(), covered: 0 }
    }

    /// Takes a chunk and returns the bytes that can be passed on.
    pub fn feed(&mut self, chunk: &[u8]) -> Vec<u8> {
        if self.known.is_empty() {
            return chunk.to_vec();
        }
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(chunk);
        let hold = bytes.len() - self.possible_beginning(&bytes);
        self.pass(bytes, hold)
    }

    /// The rest at the end: it completed no secret.
    pub fn finish(&mut self) -> Vec<u8> {
        let bytes = std::mem::take(&mut self.held);
        let end = bytes.len();
        self.pass(bytes, end)
    }

    /// Passes everything before `hold`; the rest waits for more.
    fn pass(&mut self, bytes: Vec<u8>, hold: usize) -> Vec<u8> {
        let mut spans: Vec<(usize, usize, &[u8])> = Vec::new();
        for known in &self.known {
            let length = known.finder.needle().len();
            spans.extend(known.finder.find_iter(&bytes).map(|at| (at, at + length, known.label.as_slice())));
        }
        // Of secrets that start at the same byte, the longest gives the name.
        spans.sort_by_key(|(start, end, _)| (*start, usize::MAX - *end));
        let mut out = Vec::with_capacity(bytes.len());
        let mut done = self.covered;
        for (start, end, label) in spans {
            if start >= hold {
                break;
            }
            if end <= done {
                continue;
            }
            // A secret that overlaps the former is covered by the same label.
            if start >= done {
                out.extend_from_slice(&bytes[done..start]);
                out.extend_from_slice(label);
            }
            done = end;
        }
        if done < hold {
            out.extend_from_slice(&bytes[done..hold]);
            done = hold;
        }
        self.covered = done - hold;
        self.held = bytes[hold..].to_vec();
        out
    }

    /// The length of the longest end of `bytes` with which a secret starts.
    fn possible_beginning(&self, bytes: &[u8]) -> usize {
        let of = |needle: &[u8]| {
            let longest = bytes.len().min(needle.len() - 1);
            (1..=longest).rev().find(|length| bytes.ends_with(&needle[..*length])).unwrap_or(0)
        };
        self.known.iter().map(|known| of(known.finder.needle())).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn os(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn through(secrets: &[&str], chunks: &[&[u8]]) -> String {
        let mut redactor = Redactor::new(secrets.iter().map(|value| value.as_bytes().to_vec()).collect());
        let mut out = Vec::new();
        for chunk in chunks {
            out.extend(redactor.feed(chunk));
        }
        out.extend(redactor.finish());
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn name_and_length_decide_what_is_secret() {
        let env = os(&[
            ("OPENAI_API_KEY", "sk-0123456789"),
            ("GH_TOKEN", " ghp_abcdefgh\n"),
            ("SHORT_KEY", "1234567"),
            ("PATH", "/usr/bin:/usr/local/bin"),
            ("Db_Password", "quote\"and\\back"),
            ("HTTPS_PROXY", "http://me:p4ssw0rd@proxy:8080"),
            ("HTTP_PROXY", "http://proxy:8080"),
        ]);
        let found = secrets(env.iter().map(|(a, b)| (a, b)), [("agent token", b"feedfacecafe".to_vec())]);
        let values: Vec<(&str, String)> = found
            .iter()
            .map(|secret| (secret.name.as_str(), String::from_utf8_lossy(&secret.value).into_owned()))
            .collect();
        assert_eq!(
            values,
            [
                ("OPENAI_API_KEY", "sk-0123456789".to_owned()),
                ("GH_TOKEN", "ghp_abcdefgh".to_owned()),
                ("Db_Password", "quote\"and\\back".to_owned()),
                ("Db_Password", "quote\\\"and\\\\back".to_owned()),
                ("HTTPS_PROXY", "p4ssw0rd".to_owned()),
                ("agent token", "feedfacecafe".to_owned()),
            ]
        );
        assert_eq!(format!("{:?}", found[0]), "Secret(OPENAI_API_KEY)");
        let mut redactor = Redactor::of(&found);
        assert_eq!(redactor.feed(b"key=sk-0123456789!"), b"key=[secret OPENAI_API_KEY]!");
    }

    #[test]
    fn secret_split_anywhere_is_found() {
        let text = b"before TOPSECRET-VALUE after TOPSECRET-VALU";
        let want = "before [secret] after TOPSECRET-VALU";
        for cut in 0..text.len() {
            assert_eq!(through(&["TOPSECRET-VALUE"], &[&text[..cut], &text[cut..]]), want, "{cut}");
        }
        let single: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(through(&["TOPSECRET-VALUE"], &single), want);
    }

    #[test]
    fn overlapping_secrets_are_all_masked() {
        for cut in 0..12 {
            let text = b"123456789012";
            let both = through(&["12345678", "56789012"], &[&text[..cut], &text[cut..]]);
            assert_eq!(both, "[secret]", "{cut}");
            let longer = through(&["12345678", "123456789012"], &[&text[..cut], &text[cut..]]);
            assert_eq!(longer, "[secret]", "{cut}");
        }
    }

    #[test]
    fn bytes_that_start_no_secret_pass_at_once() {
        let mut redactor = Redactor::new(vec![b"TOPSECRET".to_vec()]);
        assert_eq!(redactor.feed(b"a line\n"), b"a line\n");
        assert_eq!(redactor.feed(b"a TOP"), b"a ");
        assert_eq!(redactor.feed(b"IC\n"), b"TOPIC\n");
        assert!(redactor.finish().is_empty());
    }

    /// 64 MiB of the worst input for a naive search pass in one go, with nothing kept.
    #[test]
    fn flood_passes_and_is_not_kept() {
        let secret = [b"a".repeat(63), b"b".to_vec()].concat();
        let mut redactor = Redactor::new(vec![secret, b"0123456789abcdef".to_vec()]);
        let chunk = b"a".repeat(64 * 1024);
        let mut passed = 0;
        for _ in 0..1024 {
            passed += redactor.feed(&chunk).len();
            assert!(redactor.held.len() < 64);
        }
        assert_eq!(passed + redactor.finish().len(), 64 * 1024 * 1024);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn secrets_are_masked_for_any_chunks(
            text in "[ab]{0,60}",
            secrets in proptest::collection::vec("[ab]{3,6}", 1..3),
            cuts in proptest::collection::vec(0usize..60, 0..6),
        ) {
            let values: Vec<&str> = secrets.iter().map(String::as_str).collect();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]).collect();
            let cut = through(&values, &chunks);
            for piece in cut.split("[secret]") {
                for secret in &values {
                    prop_assert!(!piece.contains(secret), "{} in {}", secret, cut);
                }
            }
            let none = values.iter().all(|secret| !text.contains(secret));
            if none {
                prop_assert_eq!(cut, text);
            }
        }
    }
}
