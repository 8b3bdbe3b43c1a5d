//! Foreign text to a tree of plain values, refusing repeated keys; and the way back from a path to its line.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::chars::is_plain;

/// One step from the top of a document towards a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Key(String),
    Item(usize),
}

/// Writes steps as people do: `tasks[3].status`.
pub(super) fn path_text(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Item(index) => path.push_str(&format!("[{index}]")),
            Step::Key(key) if is_plain(key) && !key.contains(['.', ' ']) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Step::Key(key) => path.push_str(&format!("[\"{}\"]", key.escape_debug())),
        }
    }
    path
}

/// What is wrong with the tree, kept apart from the parser's error, which adds its own words.
pub(super) struct Problem {
    pub(super) path: Vec<Step>,
    pub(super) message: String,
}

/// Shared by all seeds of one reading: where they are and what they found.
#[derive(Default)]
pub(super) struct Walk {
    path: RefCell<Vec<Step>>,
    pub(super) problem: RefCell<Option<Problem>>,
}

impl Walk {
    fn fail<E: Error>(&self, message: impl Into<String>) -> E {
        let message = message.into();
        let error = E::custom(&message);
        self.problem.replace(Some(Problem { path: self.path.borrow().clone(), message }));
        error
    }

    fn within<T, E>(&self, step: Step, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.path.borrow_mut().push(step);
        let result = read();
        self.path.borrow_mut().pop();
        result
    }
}

/// Reads any value into a tree at most `depth` levels high.
#[derive(Clone, Copy)]
pub(super) struct Tree<'w> {
    pub(super) walk: &'w Walk,
    pub(super) depth: usize,
}

impl<'w> Tree<'w> {
    fn below<E: Error>(self) -> Result<Self, E> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(Self { depth, ..self }),
            None => Err(self.walk.fail("it nests too deep")),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a map, a list, text, a number, true, false or null")
    }
    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }
    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }
    fn visit_i128<E: Error>(self, _: i128) -> Result<Value, E> {
        Err(self.walk.fail("the number is too large"))
    }
    fn visit_u128<E: Error>(self, _: u128) -> Result<Value, E> {
        Err(self.walk.fail("the number is too large"))
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Number::from_f64(number).map(Value::Number).ok_or_else(|| self.walk.fail("the number is not finite"))
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }
    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut list = Vec::new();
        loop {
            let item = self.walk.within(Step::Item(list.len()), || items.next_element_seed(below))?;
            match item {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key_seed(NewKey { walk: self.walk, map: &map })? {
            let value = self.walk.within(Step::Key(key.clone()), || entries.next_value_seed(below))?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// Reads a key that `map` does not have yet. Failing here, and not after, gives the error the key's line.
struct NewKey<'w> {
    walk: &'w Walk,
    map: &'w Map<String, Value>,
}

impl<'de> DeserializeSeed<'de> for NewKey<'_> {
    type Value = String;
    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<String, D::Error> {
        source.deserialize_any(self)
    }
}

impl NewKey<'_> {
    fn not_text<E: Error>(&self, found: impl fmt::Display) -> E {
        self.walk.fail(format!("the key `{found}` is not text; put quotes around it"))
    }
}

impl<'de> Visitor<'de> for NewKey<'_> {
    type Value = String;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a key made of text")
    }
    fn visit_str<E: Error>(self, key: &str) -> Result<String, E> {
        if self.map.contains_key(key) {
            return Err(self.walk.fail(format!("the key `{}` appears twice", key.escape_debug())));
        }
        Ok(key.to_owned())
    }
    fn visit_bool<E: Error>(self, key: bool) -> Result<String, E> {
        Err(self.not_text(key))
    }
    fn visit_i64<E: Error>(self, key: i64) -> Result<String, E> {
        Err(self.not_text(key))
    }
    fn visit_u64<E: Error>(self, key: u64) -> Result<String, E> {
        Err(self.not_text(key))
    }
    fn visit_f64<E: Error>(self, key: f64) -> Result<String, E> {
        Err(self.not_text(key))
    }
    fn visit_unit<E: Error>(self) -> Result<String, E> {
        Err(self.not_text("null"))
    }
}

/// Fails exactly at the value `path` leads to, so that the parser says on which line that is.
///
/// Only the parser knows lines and only the typed reading knows what is wrong; reading a second time, in the
/// rare case of an error, joins the two without carrying lines through the tree.
pub(super) struct Seek<'p> {
    pub(super) path: &'p [Step],
}

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("another value")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some((Step::Item(index), path)) = self.path.split_first() else {
            return Err(A::Error::custom("here"));
        };
        for _ in 0..*index {
            items.next_element::<IgnoredAny>()?;
        }
        items.next_element_seed(Seek { path })?;
        Err(A::Error::custom("here"))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Some((Step::Key(key), path)) = self.path.split_first() else {
            return Err(A::Error::custom("here"));
        };
        while let Some(found) = entries.next_key_seed(SeekKey { key, last: path.is_empty() })? {
            if found {
                entries.next_value_seed(Seek { path })?;
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Err(A::Error::custom("here"))
    }
}

struct SeekKey<'p> {
    key: &'p str,
    last: bool,
}

impl<'de> DeserializeSeed<'de> for SeekKey<'_> {
    type Value = bool;
    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<bool, D::Error> {
        source.deserialize_str(self)
    }
}

impl Visitor<'_> for SeekKey<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a key made of text")
    }
    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        if key == self.key && self.last { Err(E::custom("here")) } else { Ok(key == self.key) }
    }
}
