//! Folds (reductions), in an order that depends on nothing but the Nest.
//!
//! - `rules`: what each fold does with an element.
//! - `tiles`: folds of computed tiles, lane by lane, and finally over the lanes of one tile.
//! - `memory_reduce`: phases that only fold memory, without tiles. `strided_reduce` has their loops along
//!   rows and down columns, for every rule; `floats` those along rows of floats, in vector registers;
//!   `column_reduce` folds narrow matrices.
//! - `mapped_reduce`: folds over tests of elements: any, all and counts.
//! - `argreduce`: argmax and argmin.
//! - `read_modify_write`: folds of values into elements at computed addresses.

/// Evaluates an expression with the Rust type of a number's dtype as `$t`; bools and halves have
/// their own, and checked Nests hold no complex numbers.
macro_rules! with_number {
    (@ $dtype:expr, $t:ident, $then:expr, $otherwise:expr; $($name:ident $number:ident),*) => {
        match $dtype {
            $(workalike_kernels::DType::$name => {
                type $t = $number;
                $then
            })*
            workalike_kernels::DType::Bool
            | workalike_kernels::DType::F16
            | workalike_kernels::DType::BF16
            | workalike_kernels::DType::C64
            | workalike_kernels::DType::C128 => $otherwise,
        }
    };
    ($dtype:expr, $t:ident => $then:expr, else $otherwise:expr) => {
        with_number!(@ $dtype, $t, $then, $otherwise;
            I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64)
    };
}

pub(super) mod argreduce;
pub(super) mod column_reduce;
pub(super) mod floats;
pub(super) mod mapped_reduce;
pub(super) mod memory_reduce;
pub(super) mod read_modify_write;
pub(super) mod rules;
pub(super) mod strided_reduce;
pub(super) mod tiles;
