//! The keys by which elements are sorted: unsigned integers in the order of the elements.

use super::super::function;
use super::SortPlan;
use crate::dtype::DType;
use crate::print::Dialect;

impl SortPlan {
    /// The dtype `K` of keys, and the function that gives an element's.
    pub(super) fn key_function(&self, dialect: Dialect) -> String {
        let (key, function) = (self.key.short(), function(dialect));
        format!(
            "typedef {key} K;\n{function} K key_of({} x) {{\n{}}}\n",
            self.bits.short(),
            self.key_text(dialect)
        )
    }

    /// The key of an element.
    pub(super) fn key_text(&self, dialect: Dialect) -> String {
        let bits = 8 * self.call.dtype.size();
        let long = if bits == 64 { format!("U{}", dialect.long()) } else { "u".into() };
        let all = u64::MAX >> (64 - bits);
        let top = 1u64 << (bits - 1);
        let mut text = "K k = x;\n".to_string();
        if self.call.dtype.is_float() {
            let infinity: u64 = match self.call.dtype {
                DType::F16 => 0x7c00,
                DType::BF16 => 0x7f80,
                DType::F32 => 0x7f80_0000,
                _ => 0x7ff0_0000_0000_0000,
            };
            let rest = all ^ top;
            text += &format!(
                "if (k == {top}{long}) k = 0;\n\
                 k = (k & {rest}{long}) > {infinity}{long} ? {all}{long} : k ^ ((k & {top}{long}) ? {all}{long} : {top}{long});\n"
            );
        } else if self.call.dtype.is_signed() {
            text += &format!("k ^= {top}{long};\n");
        }
        if self.call.descending {
            text += &format!("k = k ^ {all}{long};\n");
        }
        text + "return k;\n"
    }
}
