//! Functions that generated kernels may call; a translation unit gets those that its text names.
//!
//! In the texts, `$fn`, `$bits`, `$float`, `$rtz_..`, `$high`, `$long` and `$any` stand for what the language calls them.

use super::{Dialect, Target, processor};
use crate::dtype::DType;

/// The definitions that `kernels` needs, in an order in which each stands before its uses.
pub(super) fn prelude(target: &Target, f64: bool, kernels: &str) -> String {
    let dialect = target.dialect;
    let mut chosen: Vec<String> = Vec::new();
    for (name, text) in snippets(target, f64).into_iter().rev() {
        let call = format!("{name}(");
        if kernels.contains(&call) || chosen.iter().any(|later| later.contains(&call)) {
            chosen.push(spell(dialect, &text));
        }
    }
    chosen.reverse();
    chosen.concat()
}

fn spell(dialect: Dialect, text: &str) -> String {
    let words: [(&str, &str); 11] = match dialect {
        Dialect::OpenClC => [
            ("$fn", "static inline"),
            ("$bits", "as_uint"),
            ("$float", "as_float"),
            ("$rtz_f64", "convert_float_rtz"),
            ("$rtz_i32", "convert_float_rtz"),
            ("$rtz_u32", "convert_float_rtz"),
            ("$rtz_i64", "convert_float_rtz"),
            ("$rtz_u64", "convert_float_rtz"),
            ("$high", "mul_hi"),
            ("$long", "L"),
            ("$any", "__attribute__((overloadable))"),
        ],
        Dialect::CudaCpp => [
            ("$fn", "static __device__ __forceinline__"),
            ("$bits", "__float_as_uint"),
            ("$float", "__uint_as_float"),
            ("$rtz_f64", "__double2float_rz"),
            ("$rtz_i32", "__int2float_rz"),
            ("$rtz_u32", "__uint2float_rz"),
            ("$rtz_i64", "__ll2float_rz"),
            ("$rtz_u64", "__ull2float_rz"),
            ("$high", "__umulhi"),
            ("$long", "LL"),
            ("$any", ""),
        ],
    };
    words.iter().fold(text.to_string(), |text, (ours, theirs)| text.replace(ours, theirs))
}

/// All of them: name and text.
fn snippets(target: &Target, f64: bool) -> Vec<(String, String)> {
    let dialect = target.dialect;
    let mut all: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, text: &str| all.push((name.into(), text.into()));
    if dialect == Dialect::CudaCpp {
        add("f16_to_f32", F16_TO_F32_CUDA);
        add("f32_to_f16", F32_TO_F16_CUDA);
        add("round_f16", ROUND_F16_CUDA);
    } else {
        add("round_f16", ROUND_F16_OPENCL);
        add("fma_f32", &fused("f32", "FP_FAST_FMAF"));
        add("fma_f64", &fused("f64", "FP_FAST_FMA"));
    }
    if dialect == Dialect::OpenClC && target.cpu {
        for (name, text) in processor::functions(f64) {
            add(name, &text);
        }
    }
    add("bf16_to_f32", BF16_TO_F32);
    add("f32_to_bf16", F32_TO_BF16);
    add("round_bf16", ROUND_BF16);
    for from in [DType::F64, DType::I32, DType::U32, DType::I64, DType::U64] {
        add(&odd_name(from), &to_odd(from));
    }
    for from in [DType::F32, DType::F64] {
        for to in DType::ALL.into_iter().filter(|d| d.is_integer()) {
            add(&saturating_name(from, to), &saturating(from, to));
        }
    }
    add("philox_u64", PHILOX);
    all
}

/// The function that converts to f32 rounding to odd: what it gives can be rounded once more, to a half, as if it never
/// had been rounded.
pub(super) fn odd_name(from: DType) -> String {
    format!("{}_to_f32_odd", from.short())
}

fn to_odd(from: DType) -> String {
    let (name, t) = (odd_name(from), from.short());
    format!(
        "$fn f32 {name}({t} x) {{\n    const f32 f = $rtz_{t}(x);\n    return ({t})f == x ? f : $float($bits(f) | 1u);\n}}\n"
    )
}

/// A product added to a sum, of vectors too: rounded once where the device does that fast, else as it likes. Where it is slow
/// it is a call for each element. Some compilers for CPUs do not say by the language's own macro that it is fast.
fn fused(dtype: &str, fast: &str) -> String {
    let name = format!("#define fma_{dtype}(a, b, c)");
    format!(
        "#if defined({fast}) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)\n{name} fma(a, b, c)\n#else\n{name} mad(a, b, c)\n#endif\n"
    )
}

/// The function that converts a float to an integer as Rust's `as` does.
pub(super) fn saturating_name(from: DType, to: DType) -> String {
    format!("{}_to_{}", from.short(), to.short())
}

/// C leaves conversions out of range undefined, and drivers disagree about NaN.
fn saturating(from: DType, to: DType) -> String {
    let (name, f, t) = (saturating_name(from, to), from.short(), to.short());
    let bits = 8 * to.size() as u32;
    let suffix = if from == DType::F32 { "f" } else { "" };
    let top = 2f64.powi(if to.is_signed() { bits as i32 - 1 } else { bits as i32 });
    let all = format!("0x{}u", "f".repeat(to.size() * 2));
    let all = if bits == 64 { format!("{all}$long") } else { all };
    if to.is_signed() {
        format!(
            "$fn {t} {name}({f} x) {{\n    if (!(x > -{top:?}{suffix})) return x == x ? ({t})(({all} >> 1) + 1u) : ({t})0;\n    \
             return x < {top:?}{suffix} ? ({t})x : ({t})({all} >> 1);\n}}\n"
        )
    } else {
        format!(
            "$fn {t} {name}({f} x) {{\n    if (!(x > 0.0{suffix})) return ({t})0;\n    \
             return x < {top:?}{suffix} ? ({t})x : ({t}){all};\n}}\n"
        )
    }
}

const F16_TO_F32_CUDA: &str = r#"$fn f32 f16_to_f32(u16 h) {
    f32 x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}
"#;

const F32_TO_F16_CUDA: &str = r#"$fn u16 f32_to_f16(f32 x) {
    u16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
"#;

const ROUND_F16_CUDA: &str = "$fn f32 round_f16(f32 x) {
    return f16_to_f32(f32_to_f16(x));
}
";

const ROUND_F16_OPENCL: &str = "$fn f32 round_f16(f32 x) {
    ushort h;
    vstore_half_rte(x, 0, (half*)&h);
    return vload_half(0, (const half*)&h);
}
";

const BF16_TO_F32: &str = "$fn f32 bf16_to_f32(u16 h) {
    return $float((u32)h << 16);
}
";

/// To nearest, ties to even; a NaN stays one.
const F32_TO_BF16: &str = "$fn u16 f32_to_bf16(f32 x) {
    const u32 u = $bits(x);
    return x == x ? (u16)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16) : (u16)((u >> 16) | 0x40u);
}
";

const ROUND_BF16: &str = "$fn f32 round_bf16(f32 x) {
    return bf16_to_f32(f32_to_bf16(x));
}
";

/// The mirror of `ops/philox.rs`.
const PHILOX: &str = "$fn u64 philox_u64(u64 key, u64 counter, u64 lane) {
    u32 c0 = (u32)counter, c1 = (u32)(counter >> 32), c2 = 0u, c3 = 0u;
    u32 k0 = (u32)key, k1 = (u32)(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const u32 h0 = $high(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
        const u32 h1 = $high(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
        c0 = h1 ^ c1 ^ k0;
        c1 = l1;
        c2 = h0 ^ c3 ^ k1;
        c3 = l0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return (lane & 1u) ? ((u64)c2 | (u64)c3 << 32) : ((u64)c0 | (u64)c1 << 32);
}
";
