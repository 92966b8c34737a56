//! Functions that generated kernels may call; a translation unit has only the functions that it calls.
//!
//! In the texts, `$fn`, `$bits`, `$float`, `$rtz_..`, `$high`, `$long` and `$any` stand for the names in the
//! language.

use super::cpu_math;
use super::{Dialect, Target, divide, draws, formula};
use crate::dtype::DType;
use crate::nest::Store;

/// The definitions that `kernels` needs, each before its uses.
pub(crate) fn prelude(target: &Target, f64: bool, kernels: &str) -> String {
    let dialect = target.dialect;
    let mut chosen: Vec<String> = Vec::new();
    for (name, text) in snippets(target, f64, kernels).into_iter().rev() {
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

/// Name and text of all functions.
fn snippets(target: &Target, f64: bool, kernels: &str) -> Vec<(String, String)> {
    let dialect = target.dialect;
    let mut all: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, text: &str| all.push((name.into(), text.into()));
    if dialect == Dialect::CudaCpp {
        add("f16_to_f32", F16_TO_F32_CUDA);
        add("f32_to_f16", F32_TO_F16_CUDA);
        add("round_f16", ROUND_F16_CUDA);
        add("larger_f32", &extreme_cuda("larger_f32", "max", ">"));
        add("smaller_f32", &extreme_cuda("smaller_f32", "min", "<"));
    } else {
        add("round_f16", ROUND_F16_OPENCL);
        add("fma_f32", &fused("f32", "FP_FAST_FMAF"));
        add("fma_f64", &fused("f64", "FP_FAST_FMA"));
    }
    if dialect == Dialect::OpenClC && target.cpu {
        for (name, text) in cpu_math::functions(f64) {
            add(name, &text);
        }
    }
    for dtype in [DType::F32, DType::F64].into_iter().filter(|d| f64 || *d == DType::F32) {
        add(&format!("gamma_function_{}", dtype.short()), &gamma(dialect, dtype));
    }
    add("bf16_to_f32", BF16_TO_F32);
    add("f32_to_bf16", F32_TO_BF16);
    add("round_bf16", ROUND_BF16);
    for from in [DType::F64, DType::I32, DType::U32, DType::I64, DType::U64] {
        add(&odd_name(from), &to_odd(from));
    }
    for from in [DType::F32, DType::F64] {
        for to in DType::REAL.into_iter().filter(|d| d.is_integer()) {
            add(&saturating_name(from, to), &saturating(from, to));
        }
    }
    for dtype in DType::REAL.into_iter().filter(|d| Store::can_add_to(*d)) {
        add(&adding_name(dtype), &adding(dialect, dtype));
    }
    add("philox_block", PHILOX_BLOCK);
    add("philox_u64", PHILOX);
    if f64 {
        draws::FUNCTIONS.iter().for_each(|(name, text)| add(name, text));
    }
    all.extend(divide::functions(dialect, f64));
    all.extend(formula::functions(dialect, f64, kernels));
    all
}

/// Replacements of f32 functions in fast code: definitions, then macros, so that the definitions can call the
/// exact functions. In OpenCL C the compiler chooses by its options.
pub(super) fn fast(dialect: Dialect, kernels: &str) -> String {
    if dialect == Dialect::OpenClC {
        return String::new();
    }
    let chosen = FAST_CUDA.iter().filter(|(name, ..)| kernels.contains(&format!("{name}(")));
    let (mut text, mut macros) = (String::new(), String::new());
    for (name, fast, definition) in chosen {
        text += &spell(dialect, definition);
        macros += &format!("#define {name} {fast}\n");
    }
    text + &macros
}

/// The larger or the smaller of two floats, NaN if either is: one instruction since compute capability 8.0.
fn extreme_cuda(name: &str, instruction: &str, better: &str) -> String {
    format!(
        "$fn f32 {name}(f32 a, f32 b) {{\n#if __CUDA_ARCH__ >= 800\n\
         f32 r; asm(\"{instruction}.NaN.f32 %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b)); return r;\n\
         #else\nreturn (a {better} b || a != a) ? a : b;\n#endif\n}}\n"
    )
}

/// The name of the function that adds to an element of memory atomically.
pub(crate) fn adding_name(dtype: DType) -> String {
    format!("add_to_{}", dtype.short())
}

/// An atomic addition that returns what was there before. OpenCL C 1.2 has those of 32-bit integers, with an
/// extension of 64-bit ones. Floats are added in a compare-and-swap loop, which compares bits, so that NaN is
/// equal to itself.
fn adding(dialect: Dialect, dtype: DType) -> String {
    let (name, t) = (adding_name(dtype), dtype.short());
    if dialect == Dialect::CudaCpp {
        let (pointer, value) = if dtype == DType::I64 { ("(u64*)at", "(u64)x") } else { ("at", "x") };
        return format!(
            "$fn {t} {name}({t}* at, {t} x) {{\n    return ({t})atomicAdd({pointer}, {value});\n}}\n"
        );
    }
    let wide = dtype.size() == 8;
    let extension = if wide { "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n" } else { "" };
    let head = format!("{extension}$fn {t} {name}(__global {t}* at, {t} x) {{\n");
    let call = if wide { "atom" } else { "atomic" };
    if !dtype.is_float() {
        return format!("{head}    return {call}_add((volatile __global {t}*)at, x);\n}}\n");
    }
    let (bits, to_bits, to_float) =
        if wide { ("u64", "as_ulong", "as_double") } else { ("u32", "as_uint", "as_float") };
    format!(
        "{head}    volatile __global {bits}* word = (volatile __global {bits}*)at;\n    {bits} old, now = *word;\n    do {{\n        \
         old = now;\n        now = {call}_cmpxchg(word, old, {to_bits}({to_float}(old) + x));\n    }} while (now != old);\n    return {to_float}(old);\n}}\n"
    )
}

/// The name of the function that converts to f32 by rounding to odd. Rounding its result to a half gives the
/// correctly rounded half.
pub(super) fn odd_name(from: DType) -> String {
    format!("{}_to_f32_odd", from.short())
}

fn to_odd(from: DType) -> String {
    let (name, t) = (odd_name(from), from.short());
    format!(
        "$fn f32 {name}({t} x) {{\n    const f32 f = $rtz_{t}(x);\n    return ({t})f == x ? f : $float($bits(f) | 1u);\n}}\n"
    )
}

/// The gamma function. PoCL's `tgamma` has large errors where the result is near the least normal number, or
/// subnormal. There the function divides the result for `x + 16` by the factors in between.
fn gamma(dialect: Dialect, dtype: DType) -> String {
    let (t, call) = (dtype.short(), dialect.math("tgamma", dtype));
    if dialect == Dialect::CudaCpp {
        return format!("$fn {t} gamma_function_{t}({t} x) {{\n    return {call}(x);\n}}\n");
    }
    let small = if dtype == DType::F32 { "-33.0f" } else { "-168.0" };
    format!(
        "$fn {t} gamma_function_{t}({t} x) {{
    if (!(x < {small})) return {call}(x);
    {t} product = x;
    for (int k = 1; k < 16; ++k) product *= x + k;
    return {call}(x + 16) / product;
}}
"
    )
}

/// The condition that the device has a fast fused multiply-add.
pub(super) fn has_fma(fast: &str) -> String {
    format!("#if defined({fast}) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)")
}

/// A multiply-add of scalars or vectors: fused if that is fast, else of unspecified rounding, because a slow
/// one is a call for each element. Some compilers for CPUs have a fast one but do not define the language's
/// macro.
fn fused(dtype: &str, fast: &str) -> String {
    let name = format!("#define fma_{dtype}(a, b, c)");
    let has = has_fma(fast);
    format!("{has}\n{name} fma(a, b, c)\n#else\n{name} mad(a, b, c)\n#endif\n")
}

/// The name of the function that converts a float to an integer as Rust's `as` does.
pub(super) fn saturating_name(from: DType, to: DType) -> String {
    format!("{}_to_{}", from.short(), to.short())
}

/// In C, conversions out of range are undefined, and drivers differ for NaN.
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

/// Rounds to nearest, ties to even; NaN stays NaN.
const F32_TO_BF16: &str = "$fn u16 f32_to_bf16(f32 x) {
    const u32 u = $bits(x);
    return x == x ? (u16)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16) : (u16)((u >> 16) | 0x40u);
}
";

const ROUND_BF16: &str = "$fn f32 round_bf16(f32 x) {
    return bf16_to_f32(f32_to_bf16(x));
}
";

/// A function of the exact library, its replacement, and the replacement's definition if CUDA has none.
///
/// All of them give NaN and infinities where the exact ones do. Errors: `exp` 2 ulp and one more for each
/// unit of |x|, `log` 3 ulp but 2^-21 around 1, `sin` and `cos` 2^-21 (CUDA's are inaccurate far from 0, so
/// the period is subtracted first), `tanh` 2^-11 of the result.
const FAST_CUDA: [(&str, &str, &str); 5] = [
    ("expf", "__expf", ""),
    ("logf", "__logf", ""),
    ("sinf", "fast_sin", FAST_SIN),
    ("cosf", "fast_cos", FAST_COS),
    ("tanhf", "fast_tanh", FAST_TANH),
];

/// Subtracts a multiple of 2 pi in two parts, so that the difference is as exact as the argument. For large,
/// infinite and NaN arguments it is the exact function.
const FAST_SIN: &str = "$fn f32 fast_sin(f32 x) {
    if (!(fabsf(x) < 16384.0f)) return sinf(x);
    const f32 n = rintf(x * 0.15915494f);
    return __sinf(fmaf(n, 1.7484555e-7f, fmaf(n, -6.2831855f, x)));
}
";

const FAST_COS: &str = "$fn f32 fast_cos(f32 x) {
    if (!(fabsf(x) < 16384.0f)) return cosf(x);
    const f32 n = rintf(x * 0.15915494f);
    return __cosf(fmaf(n, 1.7484555e-7f, fmaf(n, -6.2831855f, x)));
}
";

const FAST_TANH: &str = "$fn f32 fast_tanh(f32 x) {
#if __CUDA_ARCH__ >= 750
    f32 y;
    asm(\"tanh.approx.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));
    return y;
#else
    return tanhf(x);
#endif
}
";

/// The four words of a block: the counterpart of `ops/philox.rs`.
const PHILOX_BLOCK: &str = "$fn void philox_block(u64 key, u64 counter, u32 third, u32 fourth, u32* w) {
    u32 c0 = (u32)counter, c1 = (u32)(counter >> 32), c2 = third, c3 = fourth;
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
    w[0] = c0;
    w[1] = c1;
    w[2] = c2;
    w[3] = c3;
}
";

const PHILOX: &str = "$fn u64 philox_u64(u64 key, u64 counter, u64 lane) {
    u32 w[4];
    philox_block(key, counter, 0u, 0u, w);
    return (lane & 1u) ? ((u64)w[2] | (u64)w[3] << 32) : ((u64)w[0] | (u64)w[1] << 32);
}
";
