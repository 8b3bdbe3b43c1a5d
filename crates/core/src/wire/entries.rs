//! Walking the entries of a map or list in the canonical layout.

use serde::de::{self, DeserializeSeed, Deserializer, Visitor};

use super::key::{Key, SeenKeys};
use super::lines::ParseError;
use super::lines::{Lines, Margin};
use super::parse::{Value, ValuePosition};

/// Where the first entry of a collection begins.
#[derive(Clone, Copy)]
pub(super) enum First {
    OnItsLine,
    Here,
    Passed,
}

/// The entries of a map or list that has at least one.
pub(super) struct Entries<'p, 'de> {
    pub(super) lines: &'p mut Lines<'de>,
    pub(super) indent: usize,
    pub(super) depth: usize,
    pub(super) first: First,
    /// Present if the reader would not notice a repeated key itself; derived structs do.
    pub(super) seen: Option<SeenKeys<'de>>,
}

impl<'de> Entries<'_, 'de> {
    fn advance(&mut self) -> Result<bool, ParseError> {
        match std::mem::replace(&mut self.first, First::Passed) {
            First::Here => Ok(true),
            First::OnItsLine => self.lines.enter_line(self.indent).map(|()| true),
            First::Passed => match self.lines.margin(self.indent) {
                Margin::EndOfText | Margin::Less => Ok(false),
                Margin::Same => {
                    self.lines.skip(self.indent);
                    Ok(true)
                }
                Margin::More => self.lines.enter_line(self.indent).map(|()| true),
            },
        }
    }

    /// Refuses entries that the reader did not ask for.
    pub(super) fn finish(self) -> Result<(), ParseError> {
        match (self.first, self.lines.margin(self.indent)) {
            (First::Passed, Margin::EndOfText | Margin::Less) => Ok(()),
            _ => Err(self.lines.error("more entries than expected, or another indentation")),
        }
    }

    fn value(&mut self, position: ValuePosition) -> Value<'_, 'de> {
        Value { lines: self.lines, indent: self.indent.saturating_add(2), depth: self.depth, position }
    }
}

impl<'de> de::MapAccess<'de> for &mut Entries<'_, 'de> {
    type Error = ParseError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ParseError> {
        if !self.advance()? {
            return Ok(None);
        }
        let key = self.lines.key()?;
        if self.seen.as_mut().is_some_and(|seen| !seen.insert(&key)) {
            return Err(self.lines.error(format!("the key `{}` appears twice", key.escape_debug())));
        }
        let line = self.lines.line();
        seed.deserialize(Key::new(key)).map(Some).map_err(|error: ParseError| error.or_line(line))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ParseError> {
        let line = self.lines.line();
        seed.deserialize(self.value(ValuePosition::AfterKey)).map_err(|error| error.or_line(line))
    }
}

impl<'de> de::SeqAccess<'de> for &mut Entries<'_, 'de> {
    type Error = ParseError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ParseError> {
        if !self.advance()? {
            return Ok(None);
        }
        if !self.lines.dash_ahead(0) {
            return Err(self.lines.error("expected a list item"));
        }
        self.lines.skip(1);
        let line = self.lines.line();
        seed.deserialize(self.value(ValuePosition::AfterDash)).map(Some).map_err(|error| error.or_line(line))
    }
}

/// An empty map or list.
pub(super) struct NoEntries;

impl<'de> de::MapAccess<'de> for NoEntries {
    type Error = ParseError;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, _: K) -> Result<Option<K::Value>, ParseError> {
        Ok(None)
    }
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, _: S) -> Result<S::Value, ParseError> {
        Err(de::Error::custom("an empty map has no value"))
    }
}

impl<'de> de::SeqAccess<'de> for NoEntries {
    type Error = ParseError;
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, _: S) -> Result<Option<S::Value>, ParseError> {
        Ok(None)
    }
}

/// The content of an enum variant written as a one-key map.
impl<'de> de::EnumAccess<'de> for &mut Entries<'_, 'de> {
    type Error = ParseError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), ParseError> {
        match de::MapAccess::next_key_seed(&mut &mut *self, seed)? {
            Some(variant) => Ok((variant, self)),
            None => Err(self.lines.error("expected a variant")),
        }
    }
}

impl<'de> de::VariantAccess<'de> for &mut Entries<'_, 'de> {
    type Error = ParseError;

    fn unit_variant(self) -> Result<(), ParseError> {
        Err(self.lines.error("this variant takes no value"))
    }
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, ParseError> {
        seed.deserialize(self.value(ValuePosition::AfterKey))
    }
    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, ParseError> {
        self.value(ValuePosition::AfterKey).deserialize_tuple(length, visitor)
    }
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ParseError> {
        self.value(ValuePosition::AfterKey).deserialize_struct("", fields, visitor)
    }
}
