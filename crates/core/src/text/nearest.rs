//! Finds the known name that an unknown name probably means.

/// The candidate most like `word`, if there is one: at most a third of its letters differ, or one begins with the
/// other. Case does not count.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let wanted: Vec<char> = word.to_lowercase().chars().collect();
    if wanted.is_empty() || wanted.len() > LONGEST {
        return None;
    }
    let most = (wanted.len() / 3).max(1);
    let mut best: Option<(usize, &'c str)> = None;
    for candidate in candidates {
        let letters: Vec<char> = candidate.to_lowercase().chars().take(LONGEST + 1).collect();
        let Some(distance) = distance(&wanted, &letters, most) else { continue };
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Longer names are not compared.
const LONGEST: usize = 100;
/// Shorter beginnings match too many names.
const SHORTEST_START: usize = 3;

/// How many letters must be inserted, removed, replaced or swapped with their neighbour, if at most `most`. A common
/// beginning counts as `most`.
fn distance(a: &[char], b: &[char], most: usize) -> Option<usize> {
    let starts = a.len().min(b.len()) >= SHORTEST_START && (a.starts_with(b) || b.starts_with(a));
    let as_start = starts.then_some(most);
    if a.len().abs_diff(b.len()) > most {
        return as_start;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = row[j] + usize::from(x != y);
            let mut least = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *y && b[j - 1] == *x {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().filter(|found| *found <= most).or(as_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_mistakes_find_the_name() {
        let names = ["greet-by-name", "parse-args", "t1", "t12", "src"];
        for (typed, meant) in [
            ("greet-by-nmae", Some("greet-by-name")),
            ("greet-by", Some("greet-by-name")),
            ("Parse-Args", Some("parse-args")),
            ("pars-args", Some("parse-args")),
            ("scr", Some("src")),
            ("t2", Some("t1")),
            ("deploy", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, names), meant, "{typed}");
        }
        assert_eq!(nearest(&"x".repeat(500), names), None);
    }
}
