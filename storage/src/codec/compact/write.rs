//! Values to bytes.

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::{Error, zigzag};
use crate::varint;

/// Writes behind what the bytes hold.
pub(super) struct Writer<'a>(pub(super) &'a mut Vec<u8>);

impl Writer<'_> {
    fn number(&mut self, number: u64) {
        varint::put(self.0, number);
    }

    fn length(&mut self, length: Option<usize>) -> Result<(), Error> {
        self.number(length.ok_or_else(|| Error::because("a sequence of unknown length"))? as u64);
        Ok(())
    }
}

/// Methods that write a number: the name, its type, and the number to write.
macro_rules! numbers {
    ($($name:ident $type:ty => $number:expr;)*) => {
        $(fn $name(mut self, value: $type) -> Result<(), Error> {
            let number: fn($type) -> u64 = $number;
            self.number(number(value));
            Ok(())
        })*
    };
}

/// Methods for what has no form.
macro_rules! refused {
    ($($name:ident $type:ty;)*) => {
        $(fn $name(self, _: $type) -> Result<(), Error> {
            Err(Error::because(concat!(stringify!($type), " has no form")))
        })*
    };
}

impl Serializer for Writer<'_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    numbers! {
        serialize_u16 u16 => u64::from;
        serialize_u32 u32 => u64::from;
        serialize_u64 u64 => |value| value;
        serialize_i16 i16 => |value| zigzag(value.into());
        serialize_i32 i32 => |value| zigzag(value.into());
        serialize_i64 i64 => zigzag;
        serialize_char char => |value| u32::from(value).into();
    }

    refused! {
        serialize_f32 f32;
        serialize_f64 f64;
        serialize_i128 i128;
        serialize_u128 u128;
    }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.serialize_u8(value.into())
    }

    fn serialize_u8(self, value: u8) -> Result<(), Error> {
        self.0.push(value);
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), Error> {
        self.serialize_u8(value.cast_unsigned())
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.serialize_bytes(value.as_bytes())
    }

    fn serialize_bytes(mut self, value: &[u8]) -> Result<(), Error> {
        self.number(value.len() as u64);
        self.0.extend_from_slice(value);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_u8(0)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        self.0.push(1);
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, variant: u32, _: &'static str) -> Result<(), Error> {
        self.serialize_u32(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        mut self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.number(variant.into());
        value.serialize(self)
    }

    fn serialize_seq(mut self, length: Option<usize>) -> Result<Self, Error> {
        self.length(length)?;
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Error> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Error> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        mut self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Error> {
        self.number(variant.into());
        Ok(self)
    }

    fn serialize_map(mut self, length: Option<usize>) -> Result<Self, Error> {
        self.length(length)?;
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Error> {
        Ok(self)
    }

    fn serialize_struct_variant(
        mut self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Error> {
        self.number(variant.into());
        Ok(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// What has parts is the parts, one behind the other: the trait and its method.
macro_rules! parts {
    ($($trait:ident $method:ident ($($key:ident)?);)*) => {
        $(impl $trait for Writer<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, $($key: &'static str,)? value: &T) -> Result<(), Error> {
                value.serialize(Writer(self.0))
            }

            fn end(self) -> Result<(), Error> {
                Ok(())
            }
        })*
    };
}

parts! {
    SerializeSeq serialize_element();
    SerializeTuple serialize_element();
    SerializeTupleStruct serialize_field();
    SerializeTupleVariant serialize_field();
    SerializeStruct serialize_field(_name);
    SerializeStructVariant serialize_field(_name);
}

impl SerializeMap for Writer<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        key.serialize(Writer(self.0))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(Writer(self.0))
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}
