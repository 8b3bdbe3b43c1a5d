//! Names from sentences: ids of tasks, anchors of headings.

/// The most words of a name.
const MOST_WORDS: usize = 6;
const MOST_CHARS: usize = 40;

/// A short id from a title: its first words in lower case, joined by hyphens. Empty if the title has no Latin letter or
/// digit.
pub fn slug(title: &str) -> String {
    let lower = title.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = String::new();
    for word in words.take(MOST_WORDS) {
        let room = MOST_CHARS.saturating_sub(name.len() + usize::from(!name.is_empty()));
        if name.is_empty() {
            name.extend(word.chars().take(MOST_CHARS));
        } else if word.len() <= room {
            name.push('-');
            name.push_str(word);
        } else {
            break;
        }
    }
    name
}

/// The anchors of a Markdown text: of its headings, as hosting sites make them, and explicit ones.
pub fn anchors(markdown: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut fenced = false;
    let mut before = "";
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let heading = line.trim_start().strip_prefix('#').map(|rest| rest.trim_start_matches('#'));
        let underlined =
            !line.is_empty() && (line.chars().all(|c| c == '=') || line.chars().all(|c| c == '-'));
        if fenced {
        } else if let Some(heading) = heading.filter(|heading| heading.starts_with([' ', '\t'])) {
            add_heading(&mut found, heading);
        } else if underlined && !before.trim().is_empty() {
            add_heading(&mut found, before);
        }
        found.extend(set_by_hand(line));
        before = line;
    }
    found
}

/// A repeated heading gets a number at its end.
fn add_heading(found: &mut Vec<String>, heading: &str) {
    let (heading, own) = match heading.trim().strip_suffix('}').and_then(|rest| rest.rsplit_once("{#")) {
        Some((heading, own)) => (heading, Some(own.to_owned())),
        None => (heading, None),
    };
    let kept = heading.trim().trim_end_matches('#').trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
    let again = found.iter().filter(|one| **one == anchor).count();
    if again > 0 {
        found.push(format!("{anchor}-{again}"));
    }
    found.push(anchor);
    found.extend(own);
}

/// `<a id="x">` and `<a name="x">`.
fn set_by_hand(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for key in [" id=\"", " name=\""] {
        for rest in line.split(key).skip(1) {
            found.extend(rest.split_once('"').map(|(anchor, _)| anchor.to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_become_short_ids() {
        for (title, id) in [
            ("Greet by name", "greet-by-name"),
            ("Add a --json flag to every command of the tool", "add-a-json-flag-to-every"),
            ("Fehler: die Straße (ß) fehlt!", "fehler-die-stra-e-fehlt"),
            ("漢字", ""),
            ("", ""),
        ] {
            assert_eq!(slug(title), id, "{title}");
        }
        assert_eq!(slug(&"x".repeat(90)).len(), MOST_CHARS);
        assert!(slug("supercalifragilistic expialidocious and more words").len() <= MOST_CHARS);
    }

    #[test]
    fn headings_get_the_anchors_of_hosting_sites() {
        let text = "# The Goal\n\n## Errors & exits (1, 2)\n```\n# no heading\n```\n#tag\nUnder\n=====\n## The Goal\n### Own {#mine}\n<a name=\"set\"></a>\n";
        assert_eq!(
            anchors(text),
            ["the-goal", "errors--exits-1-2", "under", "the-goal-1", "the-goal", "own", "mine", "set"]
        );
    }
}
