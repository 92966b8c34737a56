//! `Serialize` and `Deserialize` for Value: dtype, shape, and the elements' bytes.

use crate::value::Value;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use workalike_kernels::DType;

/// The serialized form: the dtype's NumPy name, the extents, and the elements in row-major order,
/// little-endian.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Value", deny_unknown_fields)]
struct SerializedValue<'a> {
    dtype: Cow<'a, str>,
    shape: Cow<'a, [usize]>,
    bytes: CowBytes<'a>,
}

struct CowBytes<'a>(Cow<'a, [u8]>);

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = self.contiguous().map_err(S::Error::custom)?;
        let stored = SerializedValue {
            dtype: Cow::Borrowed(self.dtype().name()),
            shape: Cow::Borrowed(self.shape()),
            bytes: CowBytes(Cow::Borrowed(whole.contiguous_bytes().unwrap_or(&[]))),
        };
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Value {
    /// Memory is allocated for bytes that are there, never for a claimed shape.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        let stored = SerializedValue::deserialize(deserializer)?;
        let dtype = DType::parse(&stored.dtype);
        let dtype = dtype.ok_or_else(|| D::Error::custom(format!("unknown dtype {:?}", stored.dtype)))?;
        Value::from_bytes(dtype, &stored.shape, &stored.bytes.0).map_err(D::Error::custom)
    }
}

impl Serialize for CowBytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for CowBytes<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(AnyBytes).map(|bytes| CowBytes(Cow::Owned(bytes)))
    }
}

/// Accepts bytes, and sequences of numbers from formats that have no bytes.
struct AnyBytes;

impl<'de> Visitor<'de> for AnyBytes {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of an array")
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }

    fn visit_byte_buf<E: serde::de::Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
        Ok(bytes)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<u8>, A::Error> {
        // The list grows with the bytes that are read: the length that a file claims is not trusted.
        let mut bytes = Vec::new();
        while let Some(byte) = seq.next_element()? {
            bytes.push(byte);
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_travel_and_damaged_ones_are_refused() {
        let matrix = Value::from([[1.5f32, f32::NAN], [-0.0, f32::INFINITY]]);
        let turned = matrix.view_as(&[2, 2], &[1, 2], 0).unwrap();
        for value in [matrix, turned, Value::from(true), Value::zeros(DType::F16, &[0, 3]).unwrap()] {
            let config = bincode::config::standard();
            let bytes = bincode::serde::encode_to_vec(&value, config).unwrap();
            let (back, _): (Value, usize) = bincode::serde::decode_from_slice(&bytes, config).unwrap();
            assert_eq!((back.dtype(), back.shape()), (value.dtype(), value.shape()));
            assert_eq!(back.contiguous_bytes(), value.contiguous().unwrap().contiguous_bytes());
            for cut in 0..bytes.len() {
                let cut: Result<(Value, usize), _> = bincode::serde::decode_from_slice(&bytes[..cut], config);
                assert!(cut.is_err());
            }
        }
        let huge = SerializedValue {
            dtype: Cow::Borrowed("float64"),
            shape: Cow::Owned(vec![1 << 40, 1 << 20]),
            bytes: CowBytes(Cow::Owned(vec![0; 8])),
        };
        let config = bincode::config::standard();
        let bytes = bincode::serde::encode_to_vec(&huge, config).unwrap();
        assert!(bincode::serde::decode_from_slice::<Value, _>(&bytes, config).is_err());
    }
}
