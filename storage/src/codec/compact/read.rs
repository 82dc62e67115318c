//! Bytes to values.

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::{Error, unzigzag};
use crate::varint;

/// The bytes that are not read yet.
pub(super) struct Reader<'de>(pub(super) &'de [u8]);

impl<'de> Reader<'de> {
    fn byte(&mut self) -> Result<u8, Error> {
        let (byte, rest) = self.0.split_first().ok_or_else(cut_off)?;
        self.0 = rest;
        Ok(*byte)
    }

    fn flag(&mut self) -> Result<bool, Error> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Error::because("a flag is neither 0 nor 1")),
        }
    }

    fn number<N: TryFrom<u64>>(&mut self) -> Result<N, Error> {
        let number = varint::take(&mut self.0).ok_or_else(cut_off)?;
        number.try_into().map_err(|_| out_of_range())
    }

    fn signed<N: TryFrom<i64>>(&mut self) -> Result<N, Error> {
        unzigzag(self.number()?).try_into().map_err(|_| out_of_range())
    }

    /// A length of things that take a byte each at least.
    fn length(&mut self) -> Result<usize, Error> {
        let length = self.number()?;
        if length > self.0.len() { Err(cut_off()) } else { Ok(length) }
    }

    fn bytes(&mut self) -> Result<&'de [u8], Error> {
        let length = self.length()?;
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        Ok(bytes)
    }

    fn text(&mut self) -> Result<&'de str, Error> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Error::because("a text is not UTF-8"))
    }
}

fn cut_off() -> Error {
    Error::because("the bytes end before the value, or a number is not in its shortest form")
}

fn out_of_range() -> Error {
    Error::because("a number is out of range")
}

/// Methods that read one thing and show it: the name, what the visitor calls it, and how it is read.
macro_rules! values {
    ($($name:ident $visit:ident => $read:expr;)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            let read: fn(&mut Reader<'de>) -> Result<_, Error> = $read;
            visitor.$visit(read(self)?)
        })*
    };
}

/// Methods for what has no form, or only in forms that describe themselves.
macro_rules! refused {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
            Err(Error::because(concat!(stringify!($name), " has no form")))
        })*
    };
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Error;

    values! {
        deserialize_bool visit_bool => Reader::flag;
        deserialize_u8 visit_u8 => Reader::byte;
        deserialize_u16 visit_u16 => Reader::number;
        deserialize_u32 visit_u32 => Reader::number;
        deserialize_u64 visit_u64 => Reader::number;
        deserialize_i8 visit_i8 => |reader| reader.byte().map(u8::cast_signed);
        deserialize_i16 visit_i16 => Reader::signed;
        deserialize_i32 visit_i32 => Reader::signed;
        deserialize_i64 visit_i64 => Reader::signed;
        deserialize_char visit_char => |reader| char::try_from(reader.number::<u32>()?).map_err(|_| out_of_range());
        deserialize_str visit_borrowed_str => Reader::text;
        deserialize_string visit_borrowed_str => Reader::text;
        deserialize_bytes visit_borrowed_bytes => Reader::bytes;
        deserialize_byte_buf visit_borrowed_bytes => Reader::bytes;
    }

    refused! {
        deserialize_any deserialize_ignored_any deserialize_identifier
        deserialize_f32 deserialize_f64 deserialize_i128 deserialize_u128
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.flag()? { visitor.visit_some(self) } else { visitor.visit_none() }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let left = self.length()?;
        visitor.visit_seq(Parts { reader: self, left })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Parts { reader: self, left })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(Parts { reader: self, left })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let left = self.length()?;
        visitor.visit_map(Parts { reader: self, left })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(Parts { reader: self, left: fields.len() })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// So many things, one behind the other.
struct Parts<'a, 'de> {
    reader: &'a mut Reader<'de>,
    left: usize,
}

impl<'de> Parts<'_, 'de> {
    fn next<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

impl<'de> SeqAccess<'de> for Parts<'_, 'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        self.next(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'de> MapAccess<'de> for Parts<'_, 'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        self.next(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(&mut *self.reader)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'de> EnumAccess<'de> for &mut Reader<'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        let variant: u32 = self.number()?;
        let variant = seed.deserialize(IntoDeserializer::<Error>::into_deserializer(variant))?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for &mut Reader<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_tuple(left, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_tuple(fields.len(), visitor)
    }
}
