//! Patterns taken apart, and the search that decides overlap.
//!
//! A pattern is a row of names and gaps (`**`), a name a row of characters and gaps (`*`). Whether two such
//! rows can stand for the same thing is one question on both levels, answered by one table: cell (i, j) says
//! whether the rest of the first row from i and the rest of the second from j have something in common. Every
//! cell is filled once, so no number of stars makes it slow; recursion without the table would be exponential.

use super::spelling::{folded, is_skipped, spelled_out};

/// The letter for a wildcard in an example.
const ANY_LETTER: char = 'x';

/// A piece of a row: either a gap (any number of things, also none) or exactly one thing.
trait Piece {
    fn is_gap(&self) -> bool;
}

/// One element of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Glyph {
    Char(char),
    /// `?`
    AnyOne,
    /// `*`
    AnyRun,
}

/// One element of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Name(Vec<Glyph>),
    /// `**`
    AnyNames,
}

impl Piece for Glyph {
    fn is_gap(&self) -> bool {
        matches!(self, Self::AnyRun)
    }
}

impl Piece for Part {
    fn is_gap(&self) -> bool {
        matches!(self, Self::AnyNames)
    }
}

impl Glyph {
    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Char(a), Self::Char(b)) => a == b,
            _ => true,
        }
    }
}

impl Part {
    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Name(a), Self::Name(b)) => common(a, b, Glyph::meets).is_some(),
            _ => true,
        }
    }

    fn is_literal(&self) -> bool {
        matches!(self, Self::Name(glyphs) if glyphs.iter().all(|glyph| matches!(glyph, Glyph::Char(_))))
    }
}

/// How the letters of a pattern are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// One letter for each letter, so that every exact match matches here too.
    IgnoringCase,
    /// As `IgnoringCase`, but `ß` is `ss`, and variation selectors are left out. It is tried besides `IgnoringCase` and
    /// does not replace it: here `?` no longer matches `ß`.
    SpelledOut,
}

/// A pattern taken apart.
#[derive(Debug, Clone)]
pub(super) struct Shape(Vec<Part>);

impl Shape {
    /// Takes apart the canonical text of a pattern.
    pub fn of(text: &str, reading: Reading) -> Self {
        let mut parts: Vec<Part> = text
            .split('/')
            .filter(|name| !name.is_empty())
            .map(|name| if name == "**" { Part::AnyNames } else { Part::Name(glyphs_of(name, reading)) })
            .collect();
        // Below a directory there is at least one more name; the directory itself is no file.
        if text.ends_with('/') {
            parts.push(Part::AnyNames);
        }
        if parts.last() == Some(&Part::AnyNames) {
            parts.push(Part::Name(vec![Glyph::AnyRun]));
        }
        Self(parts)
    }

    /// The shape of a path, in which `*` and `?` are letters like others.
    pub fn of_file(path: &str, reading: Reading) -> Self {
        let name = |name: &str| {
            let glyphs = name.chars().flat_map(|c| match c {
                '*' | '?' => vec![Glyph::Char(c)],
                _ => glyphs_of(c.encode_utf8(&mut [0; 4]), reading),
            });
            Part::Name(glyphs.collect())
        };
        Self(path.split('/').map(name).collect())
    }

    /// Whether tasks with these shapes could collide: one path fits both, or one shape is a file that the other needs
    /// as a directory.
    pub fn collides(&self, other: &Self) -> bool {
        let shared = self.shared_literals(other);
        match (&self.0[shared..], &other.0[shared..]) {
            ([], _) | (_, []) => true,
            // Two different literal names decide nearly every case without a table.
            ([a, ..], [b, ..]) if a.is_literal() && b.is_literal() => false,
            (a, b) => common(a, b, Part::meets).is_some(),
        }
    }

    /// A path over which the shapes collide; none if they do not.
    pub fn collision(&self, other: &Self) -> Option<String> {
        let shared = self.shared_literals(other);
        if shared == self.0.len() {
            return other.example_in_both(other);
        }
        if shared == other.0.len() {
            return self.example_in_both(self);
        }
        self.example_in_both(other)
    }

    fn example_in_both(&self, other: &Self) -> Option<String> {
        let steps = common(&self.0, &other.0, Part::meets)?;
        let names = steps.iter().map(|step| match step.pieces(&self.0, &other.0) {
            (Some(Part::Name(a)), Some(Part::Name(b))) => name_in_both(a, b),
            (Some(Part::Name(only)), _) | (_, Some(Part::Name(only))) => name_in_both(only, only),
            _ => ANY_LETTER.to_string(),
        });
        Some(names.collect::<Vec<String>>().join("/"))
    }

    /// The literal names at the beginning.
    pub fn names_at_start(&self) -> impl Iterator<Item = String> {
        let letters = |glyph: &Glyph| if let Glyph::Char(c) = glyph { Some(*c) } else { None };
        self.0.iter().map_while(move |part| match part {
            Part::Name(glyphs) => glyphs.iter().map(letters).collect(),
            Part::AnyNames => None,
        })
    }

    /// How many literal names at the beginning are equal in both.
    fn shared_literals(&self, other: &Self) -> usize {
        self.0.iter().zip(&other.0).take_while(|(a, b)| a == b && a.is_literal()).count()
    }
}

/// Whether reading a text spelled out makes a difference.
pub(super) fn can_be_spelled_out(text: &str) -> bool {
    !text.is_ascii() && text.chars().any(|c| is_skipped(c) || spelled_out(c).is_some())
}

fn glyphs_of(name: &str, reading: Reading) -> Vec<Glyph> {
    let mut glyphs = Vec::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '*' => glyphs.push(Glyph::AnyRun),
            '?' => glyphs.push(Glyph::AnyOne),
            _ if reading == Reading::IgnoringCase => glyphs.push(Glyph::Char(folded(c))),
            _ if is_skipped(c) => {}
            _ => match spelled_out(c) {
                Some(letters) => glyphs.extend(letters.into_iter().map(Glyph::Char)),
                None => glyphs.push(Glyph::Char(folded(c))),
            },
        }
    }
    glyphs
}

fn name_in_both(a: &[Glyph], b: &[Glyph]) -> String {
    let letters = common(a, b, Glyph::meets).unwrap_or_default();
    let name: String = letters
        .iter()
        .map(|step| match step.pieces(a, b) {
            (Some(Glyph::Char(c)), _) | (_, Some(Glyph::Char(c))) => *c,
            _ => ANY_LETTER,
        })
        .collect();
    // Two stars have the empty name in common, but no file has that name.
    if name.is_empty() { ANY_LETTER.to_string() } else { name }
}

/// One thing that both rows stand for: the piece and the row it comes from. The other row has a gap there.
#[derive(Debug, Clone, Copy)]
enum Step {
    Both(usize, usize),
    First(usize),
    Second(usize),
}

impl Step {
    fn pieces<'r, P>(self, first: &'r [P], second: &'r [P]) -> (Option<&'r P>, Option<&'r P>) {
        match self {
            Self::Both(i, j) => (first.get(i), second.get(j)),
            Self::First(i) => (first.get(i), None),
            Self::Second(j) => (None, second.get(j)),
        }
    }
}

/// Finds a sequence that both rows stand for; none if there is no such sequence.
fn common<P: Piece>(first: &[P], second: &[P], meets: impl Fn(&P, &P) -> bool) -> Option<Vec<Step>> {
    let width = second.len() + 1;
    let mut moves: Vec<Option<Move>> = vec![None; (first.len() + 1) * width];
    for i in (0..=first.len()).rev() {
        for j in (0..=second.len()).rev() {
            let leads_on = |i: usize, j: usize| moves[i * width + j].is_some();
            let best = match (first.get(i), second.get(j)) {
                (None, None) => Some(Move::End),
                (Some(a), _) if a.is_gap() && leads_on(i + 1, j) => Some(Move::LeaveFirst),
                (_, Some(b)) if b.is_gap() && leads_on(i, j + 1) => Some(Move::LeaveSecond),
                (Some(a), Some(b)) => match (a.is_gap(), b.is_gap()) {
                    (true, false) => leads_on(i, j + 1).then_some(Move::TakeSecond),
                    (false, true) => leads_on(i + 1, j).then_some(Move::TakeFirst),
                    (false, false) => (leads_on(i + 1, j + 1) && meets(a, b)).then_some(Move::TakeBoth),
                    (true, true) => None,
                },
                _ => None,
            };
            moves[i * width + j] = best;
        }
    }
    let (mut i, mut j, mut steps) = (0, 0, Vec::new());
    loop {
        match moves[i * width + j]? {
            Move::End => return Some(steps),
            Move::LeaveFirst => i += 1,
            Move::LeaveSecond => j += 1,
            Move::TakeFirst => {
                steps.push(Step::First(i));
                i += 1;
            }
            Move::TakeSecond => {
                steps.push(Step::Second(j));
                j += 1;
            }
            Move::TakeBoth => {
                steps.push(Step::Both(i, j));
                i += 1;
                j += 1;
            }
        }
    }
}

/// The step from a cell of the table towards the end of both rows.
#[derive(Debug, Clone, Copy)]
enum Move {
    End,
    /// The gap of the first row ends.
    LeaveFirst,
    LeaveSecond,
    /// The gap of the second row covers this piece.
    TakeFirst,
    TakeSecond,
    TakeBoth,
}
