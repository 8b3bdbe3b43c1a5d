//! The canonical YAML layout to values: exactly what [`super::emit`] writes, nothing more.
//!
//! Being strict is the point. A comment, a tab, another indentation or another way of quoting means that liza
//! did not write the bytes, and they belong to [`super::read_foreign`].

use super::DEEPEST;
use super::chars::reads_as_text;
use super::entries::{Entries, First, NoEntries};
use super::key::SeenKeys;
use super::lines::{Kind, Lines, Margin, ParseError, Scalar};
use super::prelude::*;

type Result<T> = std::result::Result<T, ParseError>;

/// Reads a run of whole lines at `indent`: a document, or the entries of one map cut out of it.
pub fn parse<'de, T: Deserialize<'de>>(text: &'de str, indent: usize) -> Result<T> {
    whole(Lines::new(text), |lines| {
        T::deserialize(Value { lines, indent, depth: 0, position: ValuePosition::LineStart })
    })
}

/// Reads one list item, from the line with its dash at column `indent` to the last line that belongs to it.
pub fn parse_item<'de, T: Deserialize<'de>>(text: &'de str, indent: usize) -> Result<T> {
    whole(Lines::new(text), |lines| {
        lines.enter_line(indent)?;
        if !lines.dash_ahead(0) {
            return Err(lines.error("expected a list item"));
        }
        lines.skip(1);
        T::deserialize(Value {
            lines,
            indent: indent.saturating_add(2),
            depth: 2,
            position: ValuePosition::AfterDash,
        })
    })
}

fn whole<'de, T>(mut lines: Lines<'de>, read: impl FnOnce(&mut Lines<'de>) -> Result<T>) -> Result<T> {
    let value = read(&mut lines).map_err(|error| error.or_line(lines.line()))?;
    match lines.peek() {
        None => Ok(value),
        Some(_) => Err(lines.error("unexpected text after the value")),
    }
}

/// What stands before the value on its line.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ValuePosition {
    LineStart,
    AfterKey,
    AfterDash,
}

/// One value to read; `indent` is the indentation of its lines, if it has more than one.
pub(super) struct Value<'p, 'de> {
    pub(super) lines: &'p mut Lines<'de>,
    pub(super) indent: usize,
    pub(super) depth: usize,
    pub(super) position: ValuePosition,
}

impl<'p, 'de> Value<'p, 'de> {
    fn kind(&self) -> Result<Kind> {
        match (self.position, self.lines.peek()) {
            (ValuePosition::LineStart, _) => {
                if self.lines.margin(self.indent) != Margin::Same {
                    return Err(self.lines.error(format!("expected a line indented by {}", self.indent)));
                }
                Ok(if self.lines.dash_ahead(self.indent) {
                    Kind::List
                } else {
                    self.lines.kind_ahead(self.indent)
                })
            }
            (ValuePosition::AfterKey, Some(b'\n')) => {
                let dash = self.indent.saturating_add(1);
                Ok(if self.lines.dash_ahead(dash) { Kind::List } else { Kind::Map })
            }
            (ValuePosition::AfterDash, Some(b'\n')) => Ok(Kind::List),
            (ValuePosition::AfterKey, _) => Ok(match self.lines.kind_ahead(1) {
                Kind::Map if !self.lines.has_line(1, "{}") => Kind::Scalar,
                kind => kind,
            }),
            (ValuePosition::AfterDash, _) => Ok(self.lines.kind_ahead(1)),
        }
    }

    /// Moves to the first character of a value on this line.
    fn enter_inline(&mut self) -> Result<()> {
        match (self.position, self.lines.peek()) {
            (ValuePosition::LineStart, _) => self.lines.enter_line(self.indent),
            (_, Some(b' ')) => {
                self.lines.skip(1);
                Ok(())
            }
            _ => Err(self.lines.error("expected a value on this line")),
        }
    }

    fn is_null(&self) -> bool {
        let ahead = if self.position == ValuePosition::LineStart { self.indent } else { 1 };
        self.lines.has_line(ahead, "null")
    }

    fn scalar(mut self) -> Result<Scalar<'de>> {
        self.enter_inline()?;
        self.lines.scalar()
    }

    /// Enters a map or list; `None` when it is written as empty.
    fn collection(mut self, shape: Kind) -> Result<Option<Entries<'p, 'de>>> {
        if self.depth == DEEPEST {
            return Err(self.lines.error(format!("it nests deeper than {DEEPEST} levels")));
        }
        let mut first = First::OnItsLine;
        if self.position != ValuePosition::LineStart && self.lines.peek() == Some(b'\n') {
            if self.position == ValuePosition::AfterDash && shape == Kind::Map {
                return Err(self.lines.error("expected the first key beside the dash"));
            }
            self.lines.end_line()?;
        } else {
            self.enter_inline()?;
            if self.lines.take_line(if shape == Kind::Map { "{}" } else { "[]" }) {
                return Ok(None);
            }
            let beside = match self.position {
                ValuePosition::LineStart => true,
                ValuePosition::AfterDash => shape == Kind::Map,
                ValuePosition::AfterKey => false,
            };
            if !beside {
                let wanted = if shape == Kind::Map { "a map" } else { "a list" };
                return Err(self.lines.error(format!("expected {wanted}")));
            }
            first = First::Here;
        }
        let Self { lines, indent, depth, .. } = self;
        Ok(Some(Entries { lines, indent, depth: depth + 1, first, seen: None }))
    }

    fn map<V: Visitor<'de>>(self, visitor: V, seen: Option<SeenKeys<'de>>) -> Result<V::Value> {
        match self.collection(Kind::Map)? {
            None => visitor.visit_map(NoEntries),
            Some(mut entries) => {
                entries.seen = seen;
                let value = visitor.visit_map(&mut entries)?;
                entries.finish()?;
                Ok(value)
            }
        }
    }
}

/// The value of a bare scalar for a reader without a type.
fn visit_bare<'de, V: Visitor<'de>>(text: &'de str, visitor: V) -> Result<V::Value> {
    match text {
        "null" => return visitor.visit_unit(),
        "true" => return visitor.visit_bool(true),
        "false" => return visitor.visit_bool(false),
        _ if reads_as_text(text) => return visitor.visit_borrowed_str(text),
        _ => {}
    }
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let canonical = match digits {
        [b'0'] => true,
        [b'0', next, ..] => *next == b'.',
        [first, ..] => first.is_ascii_digit(),
        [] => false,
    };
    if !canonical {
        return Err(de::Error::custom("the value is neither quoted nor a plain word or number"));
    }
    if digits.iter().all(u8::is_ascii_digit) {
        if let Ok(number) = text.parse::<u64>() {
            return visitor.visit_u64(number);
        }
        if let Ok(number) = text.parse::<i64>() {
            return visitor.visit_i64(number);
        }
        return Err(de::Error::custom("the number is out of range"));
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => visitor.visit_f64(number),
        _ => Err(de::Error::custom("the value is neither quoted nor a plain word or number")),
    }
}

fn visit_text<'de, V: Visitor<'de>>(text: Cow<'de, str>, visitor: V) -> Result<V::Value> {
    match text {
        Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
        Cow::Owned(text) => visitor.visit_string(text),
    }
}

macro_rules! exact_numbers {
    ($($method:ident $visit:ident),* $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self.scalar()? {
                Scalar::Bare(text) if !text.starts_with('+') => match text.parse() {
                    Ok(number) => visitor.$visit(number),
                    Err(_) => visit_bare(text, visitor),
                },
                Scalar::Bare(text) => visit_bare(text, visitor),
                Scalar::Quoted(text) => visit_text(text, visitor),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Value<'_, 'de> {
    type Error = ParseError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.kind()? {
            Kind::Map => self.deserialize_map(visitor),
            Kind::List => self.deserialize_seq(visitor),
            Kind::Scalar => match self.scalar()? {
                Scalar::Quoted(text) => visit_text(text, visitor),
                Scalar::Bare(text) => visit_bare(text, visitor),
            },
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.scalar()? {
            Scalar::Quoted(text) => visit_text(text, visitor),
            Scalar::Bare(text) => visit_bare(text, visitor),
        }
    }
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    // Read at full width or precision, which the untyped road above does not have.
    exact_numbers! {
        deserialize_f32 visit_f32, deserialize_i128 visit_i128, deserialize_u128 visit_u128,
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.is_null() { self.deserialize_any(visitor) } else { visitor.visit_some(self) }
    }
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.collection(Kind::List)? {
            None => visitor.visit_seq(NoEntries),
            Some(mut entries) => {
                let value = visitor.visit_seq(&mut entries)?;
                entries.finish()?;
                Ok(value)
            }
        }
    }
    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.map(visitor, Some(SeenKeys::default()))
    }
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.map(visitor, None)
    }
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        if self.kind()? == Kind::Scalar {
            let text = match self.scalar()? {
                Scalar::Quoted(text) => text,
                Scalar::Bare(text) if reads_as_text(text) => Cow::Borrowed(text),
                Scalar::Bare(_) => return Err(de::Error::custom("expected the name of a variant")),
            };
            let text: CowStrDeserializer<'de, ParseError> = text.into_deserializer();
            return text.deserialize_enum(name, variants, visitor);
        }
        match self.collection(Kind::Map)? {
            None => Err(de::Error::custom("expected a variant, found an empty map")),
            Some(mut entries) => {
                let value = visitor.visit_enum(&mut entries)?;
                entries.finish()?;
                Ok(value)
            }
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f64 char bytes byte_buf unit unit_struct identifier ignored_any
    }
}
