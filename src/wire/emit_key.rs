//! Map keys. Every key in the file is text: a number or flag used as a key is written in quotes, so that no
//! reader turns it into something else.

use serde::ser::{Impossible, Serialize, Serializer};

use super::emit::{EmitError, push_key};

/// Writes `key:`; whatever is not a scalar is refused.
pub(super) struct KeyEmitter<'o> {
    pub(super) out: &'o mut String,
}

type Refused = Impossible<(), EmitError>;

macro_rules! quoted {
    ($($method:ident: $type:ty),* $(,)?) => {
        $(fn $method(self, value: $type) -> Result<(), EmitError> {
            push_key(self.out, &value.to_string())
        })*
    };
}

impl Serializer for KeyEmitter<'_> {
    type Ok = ();
    type Error = EmitError;
    type SerializeSeq = Refused;
    type SerializeTuple = Refused;
    type SerializeTupleStruct = Refused;
    type SerializeTupleVariant = Refused;
    type SerializeMap = Refused;
    type SerializeStruct = Refused;
    type SerializeStructVariant = Refused;

    quoted! {
        serialize_bool: bool, serialize_char: char,
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
    }

    fn serialize_str(self, text: &str) -> Result<(), EmitError> {
        push_key(self.out, text)
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<(), EmitError> {
        push_key(self.out, name)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), EmitError> {
        value.serialize(self)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), EmitError> {
        value.serialize(self)
    }
    fn serialize_f32(self, _: f32) -> Result<(), EmitError> {
        Err(EmitError::KeyNotText)
    }
    fn serialize_f64(self, _: f64) -> Result<(), EmitError> {
        Err(EmitError::KeyNotText)
    }
    fn serialize_bytes(self, _: &[u8]) -> Result<(), EmitError> {
        Err(EmitError::KeyNotText)
    }
    fn serialize_none(self) -> Result<(), EmitError> {
        Err(EmitError::KeyNotText)
    }
    fn serialize_unit(self) -> Result<(), EmitError> {
        Err(EmitError::KeyNotText)
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), EmitError> {
        Err(EmitError::KeyNotText)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), EmitError> {
        Err(EmitError::KeyNotText)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Refused, EmitError> {
        Err(EmitError::KeyNotText)
    }
    fn serialize_tuple(self, _: usize) -> Result<Refused, EmitError> {
        Err(EmitError::KeyNotText)
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Refused, EmitError> {
        Err(EmitError::KeyNotText)
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Refused, EmitError> {
        Err(EmitError::KeyNotText)
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Refused, EmitError> {
        Err(EmitError::KeyNotText)
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Refused, EmitError> {
        Err(EmitError::KeyNotText)
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Refused, EmitError> {
        Err(EmitError::KeyNotText)
    }
}
