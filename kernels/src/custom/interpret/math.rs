//! The functions that OpenCL C and CUDA C++ have in common under one name.

use super::arithmetic::{Fn1, Fn2, Fn3, Register};
use crate::dtype::DType;

/// A function of floats, for f32 and f64.
#[derive(Clone, Copy)]
pub(super) enum Math {
    One(Fn1, Fn1),
    Two(Fn2, Fn2),
    Three(Fn3, Fn3),
    /// Whether a float is of a kind: its result is an int.
    Is(Fn1, Fn1),
    /// The second argument is an int.
    WithInt(Fn2, Fn2),
}

/// Computed in f64 for both, so that results in f32 are rounded once.
macro_rules! wide {
    (|$a:ident| $e:expr) => {
        Math::One(
            |bits| {
                let $a = f64::from(f32::get(bits));
                ($e as f32).put()
            },
            |bits| {
                let $a = f64::get(bits);
                $e.put()
            },
        )
    };
    (|$a:ident, $b:ident| $e:expr) => {
        Math::Two(
            |a, b| {
                let ($a, $b) = (f64::from(f32::get(a)), f64::from(f32::get(b)));
                ($e as f32).put()
            },
            |a, b| {
                let ($a, $b) = (f64::get(a), f64::get(b));
                $e.put()
            },
        )
    };
}

/// Computed in the type itself: `exact!(One |a| a.sqrt())`.
macro_rules! exact {
    ($kind:ident |$($a:ident),+| $e:expr) => {
        Math::$kind(
            |$($a),+| {
                $(let $a = f32::get($a);)+
                $e.put()
            },
            |$($a),+| {
                $(let $a = f64::get($a);)+
                $e.put()
            },
        )
    };
}

/// The function of this name.
pub(super) fn math(name: &str) -> Option<Math> {
    Some(match name {
        "sqrt" => exact!(One | a | a.sqrt()),
        "fabs" => exact!(One | a | a.abs()),
        "floor" => exact!(One | a | a.floor()),
        "ceil" => exact!(One | a | a.ceil()),
        "trunc" => exact!(One | a | a.trunc()),
        "round" => exact!(One | a | a.round()),
        "rint" => exact!(One | a | a.round_ties_even()),
        "fmin" => exact!(Two | a, b | a.min(b)),
        "fmax" => exact!(Two | a, b | a.max(b)),
        "fmod" => exact!(Two | a, b | a % b),
        "copysign" => exact!(Two | a, b | a.copysign(b)),
        "fma" => exact!(Three | a, b, c | a.mul_add(b, c)),
        "isnan" => exact!(Is | a | a.is_nan()),
        "isinf" => exact!(Is | a | a.is_infinite()),
        "isfinite" => exact!(Is | a | a.is_finite()),
        "signbit" => exact!(Is | a | a.is_sign_negative()),
        "fdim" => Math::Two(
            |a, b| libm::fdimf(f32::get(a), f32::get(b)).put(),
            |a, b| libm::fdim(f64::get(a), f64::get(b)).put(),
        ),
        "nextafter" => Math::Two(
            |a, b| libm::nextafterf(f32::get(a), f32::get(b)).put(),
            |a, b| libm::nextafter(f64::get(a), f64::get(b)).put(),
        ),
        "remainder" => Math::Two(
            |a, b| libm::remainderf(f32::get(a), f32::get(b)).put(),
            |a, b| libm::remainder(f64::get(a), f64::get(b)).put(),
        ),
        "ldexp" => Math::WithInt(
            |a, n| libm::ldexpf(f32::get(a), i32::get(n)).put(),
            |a, n| libm::ldexp(f64::get(a), i32::get(n)).put(),
        ),
        _ => return transcendental(name),
    })
}

fn transcendental(name: &str) -> Option<Math> {
    Some(match name {
        "rsqrt" => wide!(|a| (1.0 / a.sqrt())),
        "cbrt" => wide!(|a| a.cbrt()),
        "hypot" => wide!(|a, b| a.hypot(b)),
        "exp" => wide!(|a| a.exp()),
        "exp2" => wide!(|a| a.exp2()),
        "exp10" => wide!(|a| libm::exp10(a)),
        "expm1" => wide!(|a| a.exp_m1()),
        "log" => wide!(|a| a.ln()),
        "log2" => wide!(|a| a.log2()),
        "log10" => wide!(|a| a.log10()),
        "log1p" => wide!(|a| a.ln_1p()),
        "pow" => wide!(|a, b| a.powf(b)),
        "sin" => wide!(|a| a.sin()),
        "cos" => wide!(|a| a.cos()),
        "tan" => wide!(|a| a.tan()),
        "asin" => wide!(|a| a.asin()),
        "acos" => wide!(|a| a.acos()),
        "atan" => wide!(|a| a.atan()),
        "atan2" => wide!(|a, b| a.atan2(b)),
        "sinh" => wide!(|a| a.sinh()),
        "cosh" => wide!(|a| a.cosh()),
        "tanh" => wide!(|a| a.tanh()),
        "asinh" => wide!(|a| libm::asinh(a)),
        // `libm`'s gives numbers below -1.
        "acosh" => wide!(|a| (if a < 1.0 { f64::NAN } else { libm::acosh(a) })),
        "atanh" => wide!(|a| libm::atanh(a)),
        "erf" => wide!(|a| libm::erf(a)),
        "erfc" => wide!(|a| libm::erfc(a)),
        "tgamma" => wide!(|a| libm::tgamma(a)),
        "lgamma" => wide!(|a| libm::lgamma(a)),
        _ => return None,
    })
}

/// The magnitude of an integer, in a promoted type.
pub(super) fn magnitude(dtype: DType) -> Option<Fn1> {
    Some(match dtype {
        DType::I32 => |a| i32::get(a).wrapping_abs().put(),
        DType::I64 => |a| i64::get(a).wrapping_abs().put(),
        DType::U32 | DType::U64 => |a| a,
        _ => return None,
    })
}

/// The smaller or the larger of two numbers, in a promoted type. A NaN is ignored if the other is a number.
pub(super) fn extreme(larger: bool, dtype: DType) -> Option<Fn2> {
    macro_rules! of {
        ($t:ty) => {
            if larger {
                |a, b| <$t>::get(a).max(<$t>::get(b)).put()
            } else {
                |a, b| <$t>::get(a).min(<$t>::get(b)).put()
            }
        };
    }
    Some(match dtype {
        DType::I32 => of!(i32),
        DType::U32 => of!(u32),
        DType::I64 => of!(i64),
        DType::U64 => of!(u64),
        DType::F32 => of!(f32),
        DType::F64 => of!(f64),
        _ => return None,
    })
}

/// What stands for a word of one of the two languages in the dialect.
pub(super) fn instead(word: &str) -> Option<&'static str> {
    Some(match word {
        "get_local_id" | "threadIdx" => "LID_0, LID_1 and LID_2",
        "get_local_size" | "blockDim" => "LDIM_0, LDIM_1 and LDIM_2",
        "get_group_id" | "blockIdx" => "GID_0, GID_1 and GID_2",
        "get_num_groups" | "gridDim" => "GDIM_0, GDIM_1 and GDIM_2",
        "get_global_id" => "GID_0 * LDIM_0 + LID_0",
        "get_global_size" => "GDIM_0 * LDIM_0",
        "barrier" | "work_group_barrier" | "__syncthreads" => "local_barrier()",
        "__global" | "global" => "GLOBAL_MEM",
        "__local" | "local" | "__shared__" => "LOCAL_MEM",
        "__constant" | "constant" | "__constant__" => "CONSTANT_MEM",
        "__device__" => "DEVICE_FN",
        "__kernel" | "kernel" | "__global__" => "KERNEL",
        "__launch_bounds__" => "LAUNCH_BOUNDS(items, groups)",
        "half" | "__half" => "f16, load_f16 and store_f16",
        "atomicAdd" | "atomic_add" | "atom_add" => "atomic_add_u32, atomic_add_f32, ..",
        "mad" | "mad24" => "fma or an expression",
        "clamp" => "min and max",
        "vload_half" => "load_f16",
        "vstore_half" | "vstore_half_rte" => "store_f16",
        "__shfl_up_sync" | "__shfl_down_sync" | "__shfl_xor_sync" => {
            "shuffle_up, where HAS_SHUFFLE is defined"
        }
        "convert_float" => "(f32)",
        _ => return None,
    })
}
