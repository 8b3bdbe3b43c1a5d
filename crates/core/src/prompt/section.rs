//! The section of a Markdown text that an anchor names.

/// The section under the heading with this anchor, up to the next heading of its rank; none if there is no such
/// heading.
pub fn section<'t>(text: &'t str, anchor: &str) -> Option<&'t str> {
    let wanted = anchor.to_lowercase();
    let mut found: Option<(usize, usize)> = None;
    let mut seen: Vec<String> = Vec::new();
    let mut code: Option<(char, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if let Some(fence) = fence_mark(line) {
            // Inside a code block, only a longer row of the same mark, alone on its line, ends it.
            code = match code {
                None => Some(fence),
                Some((mark, length))
                    if fence.0 == mark && fence.1 >= length && line.trim().chars().all(|c| c == mark) =>
                {
                    None
                }
                open => open,
            };
            continue;
        }
        let Some((rank, title)) = heading(line).filter(|_| code.is_none()) else { continue };
        match found {
            Some((from, of_rank)) if rank <= of_rank => return Some(&text[from..start]),
            Some(_) => continue,
            None => {}
        }
        let slug = slug(title);
        let before = seen.iter().filter(|former| **former == slug).count();
        let name = if before == 0 { slug.clone() } else { format!("{slug}-{before}") };
        seen.push(slug);
        if name == wanted {
            found = Some((start, rank));
        }
    }
    found.map(|(from, _)| &text[from..])
}

fn fence_mark(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start_matches(' ');
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    (length >= 3).then_some((mark, length))
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let rank = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line.get(rank..)?;
    ((1..=6).contains(&rank) && title.starts_with([' ', '\t']))
        .then(|| (rank, title.trim().trim_end_matches('#').trim()))
}

/// Makes an anchor like hosting sites: lower case, blanks as hyphens, punctuation dropped.
fn slug(title: &str) -> String {
    title
        .to_lowercase()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            _ if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# All\nintro\n## First part!\none\n### Detail\ntwo\n```\n## not a heading\n```\n## Second\nthree\n## Second\nfour\n";

    #[test]
    fn a_section_ends_at_the_next_heading_of_its_rank() {
        assert_eq!(
            section(TEXT, "first-part"),
            Some("## First part!\none\n### Detail\ntwo\n```\n## not a heading\n```\n")
        );
        assert_eq!(section(TEXT, "Detail"), Some("### Detail\ntwo\n```\n## not a heading\n```\n"));
        assert_eq!(section(TEXT, "all"), Some(TEXT));
    }

    #[test]
    fn equal_headings_are_numbered() {
        assert_eq!(section(TEXT, "second"), Some("## Second\nthree\n"));
        assert_eq!(section(TEXT, "second-1"), Some("## Second\nfour\n"));
    }

    #[test]
    fn no_heading_no_section() {
        for anchor in ["", "nowhere", "not-a-heading"] {
            assert_eq!(section(TEXT, anchor), None, "{anchor}");
        }
        assert_eq!(section("", "a"), None);
        assert_eq!(section("#tag\n####### seven\n", "tag"), None);
    }
}
