//! A tree of plain values whose texts stay where they were read: a line of the journal is read into it, and then into
//! its type.

use serde_json::Number;

use super::prelude::*;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plain<'t> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'t, str>),
    List(Vec<Self>),
    /// In the order of the document.
    Map(Vec<(Cow<'t, str>, Self)>),
}

impl<'t> From<&'t Value> for Plain<'t> {
    fn from(value: &'t Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            Value::Array(list) => Self::List(list.iter().map(Self::from).collect()),
            Value::Object(map) => Self::Map(
                map.iter().map(|(key, value)| (Cow::Borrowed(key.as_str()), value.into())).collect(),
            ),
        }
    }
}

impl<'de> Deserialize<'de> for Plain<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlainVisitor)
    }
}

/// A key, borrowed where the document has it without escapes.
struct PlainKey<'t>(Cow<'t, str>);

impl<'de> Deserialize<'de> for PlainKey<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_str(PlainVisitor)? {
            Plain::Text(text) => Ok(Self(text)),
            _ => Err(de::Error::custom("a key is text")),
        }
    }
}

struct PlainVisitor;

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Plain<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }
    fn visit_unit<E>(self) -> Result<Plain<'de>, E> {
        Ok(Plain::Null)
    }
    fn visit_bool<E>(self, flag: bool) -> Result<Plain<'de>, E> {
        Ok(Plain::Bool(flag))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Plain<'de>, E> {
        Ok(Plain::Number(number.into()))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Plain<'de>, E> {
        Ok(Plain::Number(number.into()))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Plain<'de>, E> {
        Ok(Number::from_f64(number).map_or(Plain::Null, Plain::Number))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Plain<'de>, E> {
        Ok(Plain::Text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Plain<'de>, E> {
        Ok(Plain::Text(Cow::Owned(text.to_owned())))
    }
    fn visit_string<E>(self, text: String) -> Result<Plain<'de>, E> {
        Ok(Plain::Text(Cow::Owned(text)))
    }
    fn visit_seq<A: de::SeqAccess<'de>>(self, mut access: A) -> Result<Plain<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = access.next_element()? {
            list.push(item);
        }
        Ok(Plain::List(list))
    }
    fn visit_map<A: de::MapAccess<'de>>(self, mut access: A) -> Result<Plain<'de>, A::Error> {
        let mut map = Vec::with_capacity(8);
        while let Some((PlainKey(key), value)) = access.next_entry()? {
            map.push((key, value));
        }
        Ok(Plain::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_is_read_as_its_value_is() {
        let text = r#"{"a":[1,-2,0.5,true,null,"x","\"\u00e9\n"],"\u0041":{"b":{}},"":[]}"#;
        let value: Value = serde_json::from_str(text).expect("JSON");
        let plain: Plain<'_> = serde_json::from_str(text).expect("JSON");
        assert_eq!(plain, Plain::from(&value));
        let Plain::Map(map) = &plain else { panic!("{plain:?}") };
        let keys: Vec<&str> = map.iter().map(|(key, _)| key.as_ref()).collect();
        assert_eq!(keys, ["a", "A", ""]);
        assert!(matches!(map[0].0, Cow::Borrowed(_)) && matches!(map[1].0, Cow::Owned(_)));
    }
}
