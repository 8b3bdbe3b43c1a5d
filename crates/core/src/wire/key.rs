//! Map keys when reading: always text in the file, whatever their type.

use std::marker::PhantomData;

use super::prelude::*;

/// One key; a number or flag is parsed from the text only if the reader asks for one.
pub(super) struct Key<'de, E> {
    text: Cow<'de, str>,
    error: PhantomData<E>,
}

impl<'de, E> Key<'de, E> {
    pub(super) fn new(text: Cow<'de, str>) -> Self {
        Self { text, error: PhantomData }
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident $what:literal),* $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
            match self.text.parse() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(E::custom(concat!("the key is not ", $what))),
            }
        })*
    };
}

impl<'de, E: de::Error> Deserializer<'de> for Key<'de, E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.text {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    parsed! {
        deserialize_bool visit_bool "true or false",
        deserialize_i8 visit_i8 "a number in range", deserialize_i16 visit_i16 "a number in range",
        deserialize_i32 visit_i32 "a number in range", deserialize_i64 visit_i64 "a number in range",
        deserialize_i128 visit_i128 "a number in range", deserialize_u8 visit_u8 "a number in range",
        deserialize_u16 visit_u16 "a number in range", deserialize_u32 visit_u32 "a number in range",
        deserialize_u64 visit_u64 "a number in range", deserialize_u128 visit_u128 "a number in range",
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_some(self)
    }
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, E> {
        visitor.visit_newtype_struct(self)
    }
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, E> {
        let text: CowStrDeserializer<'de, E> = self.text.into_deserializer();
        text.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

/// The keys one map has shown so far.
///
/// Our own maps are sorted, so a key above all before it is new without looking further. The others, in
/// whatever order, cost one search each: through a few by eye, through many by hash.
#[derive(Default)]
pub(super) struct SeenKeys<'de> {
    ascending: Vec<Cow<'de, str>>,
    few: Vec<Cow<'de, str>>,
    many: HashSet<Cow<'de, str>>,
}

const FEW: usize = 16;

impl<'de> SeenKeys<'de> {
    /// Remembers `key`; false if it was known.
    #[allow(clippy::ptr_arg, reason = "a borrowed key stays borrowed when kept")]
    pub(super) fn insert(&mut self, key: &Cow<'de, str>) -> bool {
        match self.ascending.last() {
            Some(last) if last >= key => {
                let new = self.ascending.binary_search(key).is_err() && !self.few.contains(key);
                if new && self.few.len() < FEW {
                    self.few.push(key.clone());
                    return true;
                }
                new && self.many.insert(key.clone())
            }
            _ => {
                self.ascending.push(key.clone());
                true
            }
        }
    }
}
