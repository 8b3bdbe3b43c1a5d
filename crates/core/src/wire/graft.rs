//! Converts a tree of plain values to a typed value, with the path of a value that does not fit.

use serde::de::value::StrDeserializer;

use super::key::Key;
use super::plain::Plain;
use super::prelude::*;
use super::tree::Step;

type Result<T> = std::result::Result<T, Misfit>;

/// A value that does not fit; the steps are collected from the inside, so the last is the outermost.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct Misfit {
    steps_up: Vec<Step>,
    pub(super) message: String,
}

impl Misfit {
    fn under(mut self, step: Step) -> Self {
        self.steps_up.push(step);
        self
    }

    pub(super) fn path(&self) -> Vec<Step> {
        self.steps_up.iter().rev().cloned().collect()
    }
}

impl de::Error for Misfit {
    fn custom<T: Display>(message: T) -> Self {
        Self { steps_up: Vec::new(), message: message.to_string() }
    }
}

/// Reads a typed value from a tree; text and numbers are never confused.
pub(super) struct Graft<'de>(pub(super) &'de Plain<'de>);

impl<'de> Graft<'de> {
    fn text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Plain::Number(number) => Err(de::Error::custom(format!(
                "expected text, found the number {number}; put quotes around it"
            ))),
            Plain::Bool(flag) => {
                Err(de::Error::custom(format!("expected text, found `{flag}`; put quotes around it")))
            }
            Plain::Null => Err(de::Error::custom("expected text, found nothing")),
            _ => self.deserialize_any(visitor),
        }
    }
}

impl<'de> Deserializer<'de> for Graft<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Plain::Null => visitor.visit_unit(),
            Plain::Bool(flag) => visitor.visit_bool(*flag),
            Plain::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), _, _) => visitor.visit_u64(number),
                (_, Some(number), _) => visitor.visit_i64(number),
                (_, _, Some(number)) => visitor.visit_f64(number),
                _ => Err(de::Error::custom("the number is out of range")),
            },
            Plain::Text(text) => visitor.visit_borrowed_str(text),
            Plain::List(list) => {
                let mut items = Items { list, next: 0 };
                let value = visitor.visit_seq(&mut items)?;
                if items.next < list.len() {
                    let message = format!("expected {} items, found {}", items.next, list.len());
                    return Err(de::Error::custom(message));
                }
                Ok(value)
            }
            Plain::Map(map) => visitor.visit_map(Entries { entries: map.iter(), current: None }),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.text(visitor)
    }
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.text(visitor)
    }
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if matches!(self.0, Plain::Null) { visitor.visit_none() } else { visitor.visit_some(self) }
    }
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.0 {
            Plain::Map(map) if map.len() == 1 => visitor.visit_enum(Tagged(map)),
            Plain::Map(map) => {
                Err(de::Error::custom(format!("expected one variant, found a map of {}", map.len())))
            }
            Plain::Text(text) => {
                let text: StrDeserializer<'_, Misfit> = text.as_ref().into_deserializer();
                text.deserialize_enum(name, variants, visitor)
            }
            _ => self.text(visitor),
        }
    }
    /// A derived struct would also read its fields, without names, from a list; that is always a mistake.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.0 {
            Plain::List(_) => Err(de::Error::invalid_type(de::Unexpected::Seq, &visitor)),
            _ => self.deserialize_any(visitor),
        }
    }
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier
    }
}

struct Items<'de> {
    list: &'de [Plain<'de>],
    next: usize,
}

impl<'de> de::SeqAccess<'de> for &mut Items<'de> {
    type Error = Misfit;
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Some(item) = self.list.get(self.next) else { return Ok(None) };
        let index = self.next;
        self.next += 1;
        seed.deserialize(Graft(item)).map(Some).map_err(|misfit| misfit.under(Step::Item(index)))
    }
}

struct Entries<'de> {
    entries: std::slice::Iter<'de, (Cow<'de, str>, Plain<'de>)>,
    current: Option<&'de (Cow<'de, str>, Plain<'de>)>,
}

impl<'de> de::MapAccess<'de> for Entries<'de> {
    type Error = Misfit;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        self.current = self.entries.next();
        let Some((key, _)) = self.current else { return Ok(None) };
        read_key(key, seed).map(Some)
    }
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        match self.current.take() {
            Some((key, value)) => read_under(key, value, seed),
            None => Err(de::Error::custom("a value was asked for before its key")),
        }
    }
}

fn read_key<'de, K: DeserializeSeed<'de>>(key: &'de str, seed: K) -> Result<K::Value> {
    seed.deserialize(Key::new(Cow::Borrowed(key)))
        .map_err(|misfit: Misfit| misfit.under(Step::Key(key.to_owned())))
}

fn read_under<'de, S: DeserializeSeed<'de>>(key: &str, value: &'de Plain<'de>, seed: S) -> Result<S::Value> {
    seed.deserialize(Graft(value)).map_err(|misfit| misfit.under(Step::Key(key.to_owned())))
}

/// An enum variant written as a one-key map.
struct Tagged<'de>(&'de [(Cow<'de, str>, Plain<'de>)]);

impl<'de> de::EnumAccess<'de> for Tagged<'de> {
    type Error = Misfit;
    type Variant = Content<'de>;
    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Content<'de>)> {
        match self.0.first() {
            Some((key, value)) => Ok((read_key(key, seed)?, Content { key, value })),
            None => Err(de::Error::custom("expected a variant")),
        }
    }
}

struct Content<'de> {
    key: &'de str,
    value: &'de Plain<'de>,
}

impl<'de> de::VariantAccess<'de> for Content<'de> {
    type Error = Misfit;
    fn unit_variant(self) -> Result<()> {
        let misfit: Misfit = de::Error::custom("this variant takes no value");
        Err(misfit.under(Step::Key(self.key.to_owned())))
    }
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value> {
        read_under(self.key, self.value, seed)
    }
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        Graft(self.value)
            .deserialize_seq(visitor)
            .map_err(|misfit| misfit.under(Step::Key(self.key.to_owned())))
    }
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        Graft(self.value)
            .deserialize_struct("", fields, visitor)
            .map_err(|misfit| misfit.under(Step::Key(self.key.to_owned())))
    }
}
