//! Values to the canonical YAML layout, in one pass and without an intermediate tree.
//!
//! One key per line, two spaces per level, every string on a single line and quoted unless no reader could
//! take it for anything else. [`super::parse`] reads this layout and nothing else; any YAML reader reads it too.

use std::fmt::{Display, Write as _};

use serde::ser::{self};

use super::DEEPEST;
use super::chars::{is_plain, next_special};
use super::kept::KeptEntries;
use super::prelude::*;

type Result<T> = std::result::Result<T, EmitError>;

/// Why a value cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EmitError {
    #[error("it nests deeper than {DEEPEST} levels")]
    TooDeep,
    #[error("a number is not finite")]
    NotFinite,
    #[error("a map key is not text")]
    KeyNotText,
    #[error("a map key is longer than {LONGEST_KEY} bytes")]
    KeyTooLong,
    #[error("raw bytes cannot be written")]
    RawBytes,
    #[error("{0}")]
    Other(String),
}

impl ser::Error for EmitError {
    fn custom<T: Display>(message: T) -> Self {
        Self::Other(message.to_string())
    }
}

/// YAML readers give up on an unmarked key after 1024 characters.
const LONGEST_KEY: usize = 1000;

/// Appends `value` to `out` as whole lines, each indented by at least `indent` spaces.
///
/// On an error `out` is as it was: half a value in a file would be worse than none.
pub fn emit<T: Serialize + ?Sized>(value: &T, indent: usize, out: &mut String) -> Result<()> {
    let before = out.len();
    value.serialize(Emitter::new(out, indent)).inspect_err(|_| out.truncate(before))
}

/// The same for the struct at the top level; the first entries of some of its lists have their text already.
pub(super) fn emit_beside<T: Serialize + ?Sized>(
    value: &T,
    kept: &[KeptEntries<'_>],
    out: &mut String,
) -> Result<()> {
    let before = out.len();
    value.serialize(Emitter { kept, ..Emitter::new(out, 0) }).inspect_err(|_| out.truncate(before))
}

/// Appends `value` to `out` as one list item whose dash stands at column `indent`.
///
/// The item counts as two levels deep already: it belongs to a list in a map.
pub fn emit_item<T: Serialize + ?Sized>(value: &T, indent: usize, out: &mut String) -> Result<()> {
    let before = out.len();
    push_spaces(out, indent);
    out.push('-');
    let item = Emitter { depth: 2, position: ValuePosition::AfterDash, ..Emitter::new(out, indent + 2) };
    value.serialize(item).inspect_err(|_| out.truncate(before))
}

/// What stands before the value on its line.
#[derive(Clone, Copy, PartialEq)]
enum ValuePosition {
    LineStart,
    AfterKey,
    AfterDash,
}

/// Writes one value; `indent` is the indentation of its lines, if it needs more than one.
struct Emitter<'o> {
    out: &'o mut String,
    indent: usize,
    depth: usize,
    position: ValuePosition,
    /// For a struct: the entries of its lists that have their text already. For a list: its own, if any.
    kept: &'o [KeptEntries<'o>],
}

impl<'o> Emitter<'o> {
    fn new(out: &'o mut String, indent: usize) -> Self {
        Self { out, indent, depth: 0, position: ValuePosition::LineStart, kept: &[] }
    }

    fn lead(&mut self) {
        match self.position {
            ValuePosition::LineStart => push_spaces(self.out, self.indent),
            ValuePosition::AfterKey | ValuePosition::AfterDash => self.out.push(' '),
        }
    }

    fn scalar(mut self, text: &str) -> Result<()> {
        self.lead();
        self.out.push_str(text);
        self.out.push('\n');
        Ok(())
    }

    fn display(mut self, number: impl Display) -> Result<()> {
        self.lead();
        writeln!(self.out, "{number}").map_err(ser::Error::custom)
    }

    /// `digits` is Rust's shortest form; YAML 1.1 wants a dot and a signed exponent to see a float.
    fn float(self, digits: &str) -> Result<()> {
        match digits.split_once('e') {
            None => self.scalar(digits),
            Some((mantissa, exponent)) => {
                let dot = if mantissa.contains('.') { "" } else { ".0" };
                let sign = if exponent.starts_with('-') { "" } else { "+" };
                self.scalar(&format!("{mantissa}{dot}e{sign}{exponent}"))
            }
        }
    }

    fn collection(self, shape: Shape) -> Result<Collection<'o>> {
        if self.depth == DEEPEST {
            return Err(EmitError::TooDeep);
        }
        let Self { out, indent, depth, position, kept } = self;
        let mut made =
            Collection { out, indent, depth: depth + 1, position, shape, empty: true, kept, present: 0 };
        if let (Shape::List, [kept]) = (shape, kept) {
            made.out.push('\n');
            made.out.push_str(kept.text);
            (made.empty, made.present) = (false, kept.count);
        }
        Ok(made)
    }

    /// The one-key map around the content of an enum variant.
    fn variant(self, name: &str) -> Result<Emitter<'o>> {
        let mut map = self.collection(Shape::Map)?;
        map.start_entry();
        push_key(map.out, name)?;
        Ok(Emitter {
            depth: map.depth,
            position: ValuePosition::AfterKey,
            ..Emitter::new(map.out, map.indent + 2)
        })
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Map,
    List,
}

/// A map or list being written; its first entry or its end shows whether it is empty.
struct Collection<'o> {
    out: &'o mut String,
    indent: usize,
    depth: usize,
    position: ValuePosition,
    shape: Shape,
    empty: bool,
    kept: &'o [KeptEntries<'o>],
    /// How many of the next items have their text already.
    present: usize,
}

impl Collection<'_> {
    fn start_entry(&mut self) {
        if std::mem::take(&mut self.empty) {
            match (self.position, self.shape) {
                (ValuePosition::AfterDash, Shape::Map) => return self.out.push(' '),
                (ValuePosition::AfterDash, Shape::List) | (ValuePosition::AfterKey, _) => self.out.push('\n'),
                (ValuePosition::LineStart, _) => {}
            }
        }
        push_spaces(self.out, self.indent);
    }

    fn child(&mut self, position: ValuePosition) -> Emitter<'_> {
        Emitter { depth: self.depth, position, ..Emitter::new(self.out, self.indent + 2) }
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<()> {
        self.start_entry();
        push_key(self.out, key)?;
        let kept = match self.kept.iter().position(|kept| kept.key == key) {
            Some(at) => &self.kept[at..=at],
            None => &[],
        };
        value.serialize(Emitter { kept, ..self.child(ValuePosition::AfterKey) })
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        if self.present > 0 {
            self.present -= 1;
            return Ok(());
        }
        self.start_entry();
        self.out.push('-');
        value.serialize(self.child(ValuePosition::AfterDash))
    }

    fn finish(self) -> Result<()> {
        if !self.empty {
            return Ok(());
        }
        let text = if self.shape == Shape::Map { "{}" } else { "[]" };
        Emitter { depth: self.depth, position: self.position, ..Emitter::new(self.out, self.indent) }
            .scalar(text)
    }
}

fn push_spaces(out: &mut String, count: usize) {
    const SPACES: &str = "                                                                ";
    match SPACES.get(..count) {
        Some(spaces) => out.push_str(spaces),
        None => out.extend(std::iter::repeat_n(' ', count)),
    }
}

/// Every key in the file is text: a number or flag used as a key is written in quotes, so that no reader turns it into
/// something else.
fn key_text<T: Serialize + ?Sized>(key: &T) -> Result<String> {
    match serde_json::to_value(key) {
        Ok(Value::String(text)) => Ok(text),
        Ok(Value::Bool(flag)) => Ok(flag.to_string()),
        Ok(Value::Number(number)) if !number.is_f64() => Ok(number.to_string()),
        _ => Err(EmitError::KeyNotText),
    }
}

fn push_key(out: &mut String, key: &str) -> Result<()> {
    let before = out.len();
    push_text(out, key);
    if out.len() - before > LONGEST_KEY {
        return Err(EmitError::KeyTooLong);
    }
    out.push(':');
    Ok(())
}

/// Writes a string on one line, plain or double-quoted.
fn push_text(out: &mut String, text: &str) {
    if is_plain(text) {
        return out.push_str(text);
    }
    out.push('"');
    let mut rest = text;
    while let Some(at) = next_special(rest, 0) {
        let (raw, tail) = rest.split_at(at);
        out.push_str(raw);
        let mut chars = tail.chars();
        if let Some(c) = chars.next() {
            push_escape(out, c);
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

fn push_escape(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        _ => {
            let code = u32::from(c);
            let (letter, digits) = match code {
                0..=0xff => ('x', 2),
                0x100..=0xffff => ('u', 4),
                _ => ('U', 8),
            };
            out.extend(['\\', letter]);
            out.extend((0..digits).rev().filter_map(|nth| char::from_digit(code >> (4 * nth) & 0xf, 16)));
        }
    }
}

macro_rules! displayed {
    ($($method:ident: $type:ty),* $(,)?) => {
        $(fn $method(self, number: $type) -> Result<()> {
            self.display(number)
        })*
    };
}

impl<'o> ser::Serializer for Emitter<'o> {
    type Ok = ();
    type Error = EmitError;
    type SerializeSeq = Collection<'o>;
    type SerializeTuple = Collection<'o>;
    type SerializeTupleStruct = Collection<'o>;
    type SerializeTupleVariant = Collection<'o>;
    type SerializeMap = Collection<'o>;
    type SerializeStruct = Collection<'o>;
    type SerializeStructVariant = Collection<'o>;

    displayed! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
    }

    fn serialize_bool(self, flag: bool) -> Result<()> {
        self.scalar(if flag { "true" } else { "false" })
    }
    fn serialize_f32(self, number: f32) -> Result<()> {
        if number.is_finite() { self.float(&format!("{number:?}")) } else { Err(EmitError::NotFinite) }
    }
    fn serialize_f64(self, number: f64) -> Result<()> {
        if number.is_finite() { self.float(&format!("{number:?}")) } else { Err(EmitError::NotFinite) }
    }
    fn serialize_char(self, c: char) -> Result<()> {
        self.serialize_str(c.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(mut self, text: &str) -> Result<()> {
        self.lead();
        push_text(self.out, text);
        self.out.push('\n');
        Ok(())
    }
    fn serialize_bytes(self, _: &[u8]) -> Result<()> {
        Err(EmitError::RawBytes)
    }
    fn serialize_none(self) -> Result<()> {
        self.scalar("null")
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<()> {
        self.scalar("null")
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.scalar("null")
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<()> {
        self.serialize_str(name)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<()> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<()> {
        value.serialize(self.variant(name)?)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Collection<'o>> {
        self.collection(Shape::List)
    }
    fn serialize_tuple(self, _: usize) -> Result<Collection<'o>> {
        self.collection(Shape::List)
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Collection<'o>> {
        self.collection(Shape::List)
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Collection<'o>> {
        self.variant(name)?.collection(Shape::List)
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Collection<'o>> {
        self.collection(Shape::Map)
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Collection<'o>> {
        self.collection(Shape::Map)
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Collection<'o>> {
        self.variant(name)?.collection(Shape::Map)
    }
}

macro_rules! lists {
    ($($trait:ident::$method:ident),*) => {
        $(impl ser::$trait for Collection<'_> {
            type Ok = ();
            type Error = EmitError;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
                self.item(value)
            }
            fn end(self) -> Result<()> {
                self.finish()
            }
        })*
    };
}
lists!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! structs {
    ($($trait:ident),*) => {
        $(impl ser::$trait for Collection<'_> {
            type Ok = ();
            type Error = EmitError;
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<()> {
                self.field(key, value)
            }
            fn end(self) -> Result<()> {
                self.finish()
            }
        })*
    };
}
structs!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Collection<'_> {
    type Ok = ();
    type Error = EmitError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.start_entry();
        push_key(self.out, &key_text(key)?)
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        value.serialize(self.child(ValuePosition::AfterKey))
    }
    fn end(self) -> Result<()> {
        self.finish()
    }
}
