//! When two different texts are the same name to a file system.
//!
//! Some file systems do not tell `A` from `a`, and some do not tell `é` written as one character from `e`
//! followed by an accent. The first is met by comparing folded text, the second by allowing one spelling
//! only (Unicode's normal form C): of two texts that pass, equal names are equal texts, and no table of all
//! compositions is needed.
//!
//! Not covered: several marks of one letter written in another order (pointed Hebrew, for instance), which would
//! take tables of every mark's class; the composed signs of historic scripts; and a `?` that stands for a letter
//! like `ß` where another pattern says `ss`.

/// Whether `c`, after `before`, can also be written in another way that Unicode prefers.
pub(super) fn has_two_spellings(before: Option<char>, c: char) -> bool {
    if c < '\u{300}' {
        return false;
    }
    is_part_of_another(c) || has_preferred_twin(c) || before.is_some_and(|first| composes(first, c))
}

/// Accents, Japanese voicing marks and Korean vowels and finals: what composed characters are made of.
fn is_part_of_another(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{653}'..='\u{655}' | '\u{3099}' | '\u{309a}'
        | '\u{1161}'..='\u{1175}' | '\u{11a8}'..='\u{11c2}')
}

/// Characters that normalisation replaces: `Å` the unit by `Å` the letter, compatibility ideographs by
/// the ordinary ones, precomposed letters of some scripts by letter and sign.
fn has_preferred_twin(c: char) -> bool {
    matches!(c,
        '\u{374}' | '\u{37e}' | '\u{387}' | '\u{958}'..='\u{95f}' | '\u{9dc}' | '\u{9dd}' | '\u{9df}'
        | '\u{a33}' | '\u{a36}' | '\u{a59}'..='\u{a5b}' | '\u{a5e}' | '\u{b5c}' | '\u{b5d}'
        | '\u{f43}' | '\u{f4d}' | '\u{f52}' | '\u{f57}' | '\u{f5c}' | '\u{f69}' | '\u{f73}' | '\u{f75}' | '\u{f76}'
        | '\u{f78}' | '\u{f81}' | '\u{f93}' | '\u{f9d}' | '\u{fa2}' | '\u{fa7}' | '\u{fac}' | '\u{fb9}'
        | '\u{1f71}' | '\u{1f73}' | '\u{1f75}' | '\u{1f77}' | '\u{1f79}' | '\u{1f7b}' | '\u{1f7d}' | '\u{1fbb}'
        | '\u{1fbe}' | '\u{1fc9}' | '\u{1fcb}' | '\u{1fd3}' | '\u{1fdb}' | '\u{1fe3}' | '\u{1feb}' | '\u{1fee}'
        | '\u{1fef}' | '\u{1ff9}' | '\u{1ffb}' | '\u{1ffd}' | '\u{2000}' | '\u{2001}' | '\u{2126}' | '\u{212a}'
        | '\u{212b}' | '\u{2329}' | '\u{232a}' | '\u{2adc}' | '\u{f900}'..='\u{fad9}' | '\u{fb1d}'..='\u{fb4e}'
        | '\u{1d15e}'..='\u{1d164}' | '\u{1d1bb}'..='\u{1d1c0}' | '\u{2f800}'..='\u{2fa1d}')
}

/// Vowel signs of the living Indian scripts that join with the sign before them into one. Alone they are
/// ordinary letters, so only the pair is refused.
fn composes(first: char, c: char) -> bool {
    matches!(
        (first, c),
        ('\u{928}' | '\u{930}' | '\u{933}', '\u{93c}')
            | ('\u{9c7}', '\u{9be}' | '\u{9d7}')
            | ('\u{b47}', '\u{b3e}' | '\u{b56}' | '\u{b57}')
            | ('\u{bc6}' | '\u{bc7}', '\u{bbe}')
            | ('\u{b92}' | '\u{bc6}', '\u{bd7}')
            | ('\u{c46}', '\u{c56}')
            | ('\u{cc6}', '\u{cc2}' | '\u{cd6}')
            | ('\u{cbf}' | '\u{cc6}' | '\u{cca}', '\u{cd5}')
            | ('\u{d46}' | '\u{d47}', '\u{d3e}')
            | ('\u{d46}', '\u{d57}')
            | ('\u{dd9}' | '\u{ddc}', '\u{dca}')
            | ('\u{dd9}', '\u{dcf}' | '\u{ddf}')
            | ('\u{1025}', '\u{102e}')
    )
}

/// The form in which two characters are one to a file system that ignores case.
///
/// Up and down again, because some letters meet only there: `ſ`, `S` and `s`; `ς`, `Σ` and `σ`.
pub(super) fn folded(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let upper = only(c.to_uppercase()).unwrap_or(c);
    only(upper.to_lowercase()).unwrap_or(upper)
}

/// The folded letters of `c` where its capital takes several, as `ß` does (`SS`): some file systems take
/// these for the same name.
pub(super) fn spelled_out(c: char) -> Option<Vec<char>> {
    // Folded first: the capital `ẞ` has a capital of one letter, itself.
    let capitals = folded(c).to_uppercase();
    (capitals.len() > 1).then(|| capitals.map(folded).collect())
}

fn only(mut letters: impl ExactSizeIterator<Item = char>) -> Option<char> {
    if letters.len() == 1 { letters.next() } else { None }
}

/// Whether `c` only selects a glyph of the character before it; some file systems skip such characters.
pub(super) fn is_skipped(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}
