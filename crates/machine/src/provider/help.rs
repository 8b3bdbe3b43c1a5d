//! Whether a program's help mentions the options an entry relies on.

use crate::policy::provider::ProviderEntry;

/// The options of this entry that a help text does not mention.
pub fn unknown_options<'e>(entry: &'e ProviderEntry, help: &str) -> Vec<&'e str> {
    let help = without_colours(help);
    entry.options().into_iter().filter(|option| !mentions(&help, option)).collect()
}

/// Some programs colour their help even for a pipe; the letter that ends a colour code does not belong to the next
/// word.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).get(1..).unwrap_or_default();
    }
    plain + rest
}

/// As a whole word: `--model-list` does not mention `--model`.
fn mentions(help: &str, option: &str) -> bool {
    let part_of_a_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    help.match_indices(option).any(|(at, _)| {
        let before = help[..at].chars().next_back();
        let after = help[at + option.len()..].chars().next();
        !before.is_some_and(part_of_a_word) && !after.is_some_and(part_of_a_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_is_matched_as_a_whole_word() {
        let help =
            "  -c, --config <key=value>\n      --model-list\n  [--json]  \x1b[1;4m--add-dir\x1b[0m=<DIR>";
        let entry = ProviderEntry {
            command: ["x", "-c", "--json", "--add-dir", "--model", "--config", "-j"].map(Into::into).into(),
            ..ProviderEntry::default()
        };
        assert_eq!(unknown_options(&entry, help), ["--model", "-j"]);
    }
}
