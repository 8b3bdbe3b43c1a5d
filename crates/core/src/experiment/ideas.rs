//! Splits files of ideas.

use std::collections::BTreeSet;

/// A longer idea is refused: it would fill the prompt of every step.
pub const LARGEST_IDEA: usize = 64 * 1024;
pub const MOST_IDEAS: usize = 1000;
const LONGEST_SLUG: usize = 40;

/// One idea, to be tried in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idea {
    /// Its name on the command line and in run ids.
    pub id: String,
    pub title: String,
    pub text: String,
}

impl Idea {
    /// A whole text as one idea; `name` is used if the text has no title.
    pub fn whole(name: &str, text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let first = text.lines().map(|line| line.trim_start_matches(['#', '*', '-', ' ']).trim());
        let title = first.into_iter().find(|line| !line.is_empty()).unwrap_or(name);
        let id = Some(slug(title)).filter(|slug| !slug.is_empty()).unwrap_or_else(|| slug(name));
        let id = if id.is_empty() { "idea".to_owned() } else { id };
        Some(Self { id, title: title.chars().take(120).collect(), text: format!("{text}\n") })
    }
}

/// The ideas of one file: one per `##` heading, else one per part between lines of `---`, else the whole. Text above
/// the first heading introduces the file and is no idea. Lines in code fences do not split.
pub fn split(name: &str, text: &str) -> Vec<Idea> {
    let by_heading = pieces(text, |line| line.starts_with("## "), true);
    let texts = if by_heading.len() > 1 {
        by_heading.into_iter().skip(1).collect()
    } else {
        pieces(text, |line| line.trim_end() == "---", false)
    };
    texts.iter().filter_map(|text| Idea::whole(name, text)).collect()
}

/// The text split before each dividing line; that line stays at the head of its part or is dropped.
fn pieces(text: &str, divides: impl Fn(&str) -> bool, kept: bool) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut fence: Option<char> = None;
    for line in text.lines() {
        let mark =
            ['`', '~'].into_iter().find(|mark| line.trim_start().starts_with(&mark.to_string().repeat(3)));
        let fenced = fence.is_some() || mark.is_some();
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        if !fenced && divides(line) {
            pieces.push(String::new());
            if !kept {
                continue;
            }
        }
        if let Some(last) = pieces.last_mut() {
            last.push_str(line);
            last.push('\n');
        }
    }
    pieces
}

/// Makes the ids unique: `name`, `name-2`, `name-3`, …
pub fn unique(ideas: Vec<Idea>) -> Vec<Idea> {
    let mut taken = BTreeSet::new();
    let named = |mut idea: Idea| {
        let base = idea.id.clone();
        let mut number = 1;
        while !taken.insert(idea.id.clone()) {
            number += 1;
            idea.id = format!("{base}-{number}");
        }
        idea
    };
    ideas.into_iter().map(named).collect()
}

/// Lower-case letters and digits of a text, joined by single dashes, short enough for a directory name.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= LONGEST_SLUG {
            break;
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<String> {
        unique(split("file", text)).into_iter().map(|idea| idea.id).collect()
    }

    #[test]
    fn ideas_split_at_headings_then_at_rules() {
        assert_eq!(ids("# All\nintro\n## First try\na\n---\nb\n## Second\nc\n"), ["first-try", "second"]);
        assert_eq!(ids("Use a cache\n---\n\nUse two\nlines\n---\n"), ["use-a-cache", "use-two"]);
        assert_eq!(ids("Only this one\n# not a second\n"), ["only-this-one"]);
        assert_eq!(ids("\n  \n"), Vec::<String>::new());
        assert_eq!(ids("## Same\n1\n## Same\n2\n## Same\n3"), ["same", "same-2", "same-3"]);
        assert_eq!(ids("## äöü\nx\n"), ["file"], "a title without a letter of ASCII");
    }

    #[test]
    fn lines_in_code_fences_divide_nothing() {
        let text = "## One\n```\n## two\n---\n```\n## Three\n~~~\n``` \n## four\n~~~\n";
        let found = split("file", text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].text.contains("## two") && found[1].text.contains("## four"));
    }

    #[test]
    fn slugs_are_short_and_plain() {
        assert_eq!(slug("  Try: a *bigger* cache! (v2) "), "try-a-bigger-cache-v2");
        assert!(slug(&"word ".repeat(50)).len() <= LONGEST_SLUG);
    }
}
