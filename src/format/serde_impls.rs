//! `Serialize` and `Deserialize` for Function and Bundle: the bytes of a file, as part of a user's own
//! messages.

use crate::function::{Bundle, Function};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

impl Serialize for Bundle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.to_bytes().map_err(S::Error::custom)?)
    }
}

impl Serialize for Function {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Bundle::new().with(self.name(), self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Bundle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bundle, D::Error> {
        deserializer.deserialize_byte_buf(FileBytes)
    }
}

impl<'de> Deserialize<'de> for Function {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Function, D::Error> {
        Bundle::deserialize(deserializer)?.into_single().map_err(D::Error::custom)
    }
}

/// Accepts bytes, and sequences of numbers from formats that have no bytes.
struct FileBytes;

impl<'de> Visitor<'de> for FileBytes {
    type Value = Bundle;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a workalike file")
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Bundle, E> {
        Bundle::from_bytes(bytes).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Bundle, A::Error> {
        let mut bytes: Vec<u8> = Vec::new();
        while let Some(byte) = seq.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}
