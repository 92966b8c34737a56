//! Numbers, operators, control flow, structs and functions.

use super::{Run, computed, value};

#[test]
fn integers_are_promoted_and_converted_as_in_c() {
    assert_eq!(value::<i32>("i32", "(char)200"), -56);
    assert_eq!(value::<i32>("i32", "(unsigned char)-1 + 1"), 256);
    assert_eq!(value::<i32>("i32", "-1 < 1u"), 0);
    assert_eq!(value::<i32>("i32", "(i64)-1 < (u32)1"), 1);
    assert_eq!(value::<u64>("u64", "-1"), u64::MAX);
    assert_eq!(value::<u64>("u64", "-1 + 0u"), u64::from(u32::MAX));
    assert_eq!(value::<i64>("i64", "2147483647 + 1"), i64::from(i32::MIN));
    assert_eq!(value::<i64>("i64", "2147483648"), 1 << 31);
    assert_eq!(value::<i32>("i32", "-7 / 2"), -3);
    assert_eq!(value::<i32>("i32", "-7 % 3"), -1);
    assert_eq!(value::<u32>("u32", "-7 / 2u"), (-7i32 as u32) / 2);
    assert_eq!(value::<i32>("i32", "(1 << 31 >> 31) + (1 << (i64)3)"), 7);
    assert_eq!(value::<i32>("i32", "-8 >> 1"), -4);
    assert_eq!(value::<u32>("u32", "(u32)-8 >> 1"), (-8i32 as u32) >> 1);
    assert_eq!(value::<i32>("i32", "sizeof(short) + sizeof(long long) * 10 + sizeof(unsigned)"), 86);
    assert_eq!(value::<u8>("u8", "~(u8)1"), 254);
    assert_eq!(value::<i16>("i16", "(short)0x18001"), -32767);
    assert_eq!(value::<i32>("i32", "!0 + !5 + !0.0f + ('a' == 97)"), 3);
    assert_eq!(value::<i32>("i32", "(bool)0.25 + (bool)256"), 2);
}

#[test]
fn values_without_braces_of_their_own() {
    let filled = |declared: &str, value: &str| value_of(declared, value);
    assert_eq!(filled("i32 t[2][2] = {1, 2, 3, 4};", "t[1][0] * 10 + t[1][1]"), 34);
    assert_eq!(filled("i32 t[2][2] = {1, {2}, 3};", "t[0][1] * 10 + t[1][0]"), 23);
    assert_eq!(filled("i32 t[2][2] = {{1}, 2, 3};", "t[0][1] * 100 + t[1][0] * 10 + t[1][1]"), 23);
    assert_eq!(filled("i32 t[][2] = {1, 2, 3, 4, 5,};", "sizeof(t) + t[2][0] * 100 + t[2][1]"), 524);
    assert_eq!(filled("i32 t[] = {1, (2, 3), 4};", "sizeof(t) * 10 + t[1]"), 123);
    let record = "struct P { i32 a; struct { i32 b; i32 c[2]; } d; } p = {1, 2, 3, 4}, q[] = {p, 5, {6}};";
    assert_eq!(filled(record, "p.d.c[1] * 1000 + q[0].d.b * 100 + q[1].a * 10 + q[1].d.b"), 4256);
}

fn value_of(declared: &str, value: &str) -> i32 {
    computed("i32", &format!("{declared} r = {value};"))
}

#[test]
fn a_bool_of_libgpuarray_is_a_byte() {
    assert_eq!(value::<i32>("i32", "(ga_bool)5 + (bool)5"), 6);
    let run = Run::of("KERNEL void k(GLOBAL_MEM i32 *out, ga_bool b) { ga_bool c = 7; out[0] = b + c; }");
    assert_eq!(run.output(&[0i32]).number(true).first::<i32>(), [8]);
}

#[test]
fn functions_may_have_parameters_without_names() {
    let text = "DEVICE_FN i32 f(i32, i32 b, f32 *) { return b; }
        LAUNCH_FIRST KERNEL LAUNCH_BOUNDS(B, (1)) void k(GLOBAL_MEM i32 *x) { x[0] = f(1, 2, 0); }";
    let text = text.replace("LAUNCH_FIRST", "\n#define B ((32) * 2)\n");
    assert_eq!(Run::of(&text).output(&[0i32]).first::<i32>(), [2]);
}

#[test]
fn floats_are_computed_in_their_own_type() {
    assert_eq!(value::<f32>("f32", "1.0f / 3.0f"), 1.0 / 3.0);
    assert_eq!(value::<f64>("f64", "1.0f / 3.0f"), f64::from(1.0f32 / 3.0));
    assert_eq!(value::<f64>("f64", "1.0 / 3"), 1.0 / 3.0);
    assert_eq!(value::<f32>("f32", "16777216.0f + 1.0f"), 16777216.0);
    assert_eq!(value::<i32>("i32", "(i32)-2.9f"), -2);
    assert_eq!(value::<f32>("f32", "(f32)0xffffffffffffffff"), u64::MAX as f32);
    assert_eq!(value::<f32>("f32", "0x1.8p1f"), 3.0);
    // No contraction: the product is rounded.
    let (a, b) = (1.0f32 + f32::EPSILON, 1.0f32 - f32::EPSILON);
    let run = Run::of(
        "KERNEL void k(f32 a, f32 b, GLOBAL_MEM f32 *out) { out[0] = a * b - 1.0f; out[1] = fma(a, b, -1.0f); }",
    );
    let found = run.number(a).number(b).output(&[0f32; 2]).first::<f32>();
    assert_eq!(found, [a * b - 1.0, a.mul_add(b, -1.0)]);
}

#[test]
fn math_has_the_names_of_both_languages() {
    assert_eq!(value::<f32>("f32", "sqrt(2.0f) + fabs(-1.5f)"), 2f32.sqrt() + 1.5);
    assert_eq!(value::<f64>("f64", "pow(2.0, 0.5) * exp(1.0)"), 2f64.powf(0.5) * 1f64.exp());
    assert_eq!(value::<f32>("f32", "rint(2.5f) + round(2.5f) * 10.0f + trunc(-2.5f)"), 30.0);
    assert_eq!(value::<i32>("i32", "isnan(0.0f / 0.0f) + isinf(1.0 / 0.0) * 2 + isfinite(1.0f) * 4"), 7);
    assert_eq!(value::<i64>("i64", "min((i64)-3, (i64)5) + max(2, 9)"), 6);
    assert_eq!(value::<u32>("u32", "max(1u, 2u) + abs(-3)"), 5);
    assert_eq!(value::<f32>("f32", "ldexp(0.75f, 3) + fmax(0.0f / 0.0f, 1.0f) + fmin(-1.0f, 2.0f)"), 6.0);
    assert_eq!(value::<f32>("f32", "rsqrt(4.0f) + hypot(3.0f, 4.0f) + fmod(7.5f, 2.0f)"), 7.0);
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    near(value("f64", "tgamma(5.0) + lgamma(1.0) + erf(0.0) + erfc(0.0)"), 25.0);
    near(value("f64", "log2(8.0) + log10(100.0) + exp2(3.0) + exp10(2.0) + cbrt(27.0)"), 116.0);
}

#[test]
fn control_flow() {
    assert_eq!(
        computed::<i32>(
            "i32",
            "for (i32 i = 0; i < 10; i++) { if (i == 3) continue; if (i == 7) break; r += i; }"
        ),
        18
    );
    assert_eq!(computed::<i32>("i32", "i32 i = 5; while (i-- > 0) r = r * 10 + i;"), 43210);
    assert_eq!(computed::<i32>("i32", "do r++; while (r < 5);"), 5);
    assert_eq!(computed::<i32>("i32", "for (;;) { if (++r > 8) break; }"), 9);
    let switch = |x: i32| {
        computed::<i32>(
            "i32",
            &format!(
                "switch ({x}) {{ case 1: r += 1; case 2: r += 2; break; case 'a': {{ r = 9; break; }} default: r = 7; case -4: r *= 3; }}"
            ),
        )
    };
    assert_eq!([1, 2, 97, 5, -4].map(switch), [3, 2, 9, 21, 0]);
    let arms = |x: i32| {
        computed::<i32>("i32", &format!("if ({x} == 0) r = 1; else if ({x} == 1) r = 2; else r = 3;"))
    };
    assert_eq!([0, 1, 2].map(arms), [1, 2, 3]);
    assert_eq!(computed::<i32>("i32", "i32 n = 0; r = (n++ && n++) || (n++ , n == 2); r = r * 10 + n;"), 12);
    assert_eq!(computed::<i32>("i32", "i32 a = 1, b; b = a = 5; r = a > 3 ? b ? a + b : 0 : -1;"), 10);
    assert_eq!(
        computed::<i32>("i32", "i32 i = 3; r = i++ + 10; r += --i; r <<= 2; r |= 1; r ^= 2; r %= 50;"),
        17
    );
    assert_eq!(computed::<u8>("u8", "u8 x = 250; x += 10; r = x;"), 4);
    assert_eq!(
        computed::<i32>(
            "i32",
            "i32 x = 1; { i32 x = 2; r += x; } for (i32 x = 0; x < 3; ++x) r += 10; r += x;"
        ),
        33
    );
}

#[test]
fn structs_unions_pointers_and_functions() {
    let text = "
        typedef struct { f32 x; struct Inner { u8 tag; i64 values[3]; } inner; } Outer;
        typedef union { f32 f; u32 bits; } Word;
        enum { FIRST = 5, SECOND };
        DEVICE_FN Outer made(f32 x, u8 tag) { Outer o; o.x = x; o.inner.tag = tag;
            for (i32 i = 0; i < 3; i++) o.inner.values[i] = i * tag; return o; }
        DEVICE_FN static inline i64 total(const Outer *o) { i64 sum = 0;
            const i64 *p = o->inner.values, *end = p + 3; while (p != end) sum += *p++; return sum + (end - p); }
        DEVICE_FN Outer larger(Outer a, Outer b) { return a.x > b.x ? a : b; }
        DEVICE_FN void swap(i64 *a, i64 *b) { i64 t = *a; *a = *b; *b = t; }
        KERNEL void k(GLOBAL_MEM i64 *out) {
            Outer best = larger(larger(made(1, 1), made(3, 3)), made(2, 2)), copy = best;
            copy.inner.values[0] = 100;
            out[0] = total(&best); out[1] = total(&copy); out[2] = best.inner.tag;
            Word w; w.f = 1.0f; out[3] = w.bits;
            i64 a = SECOND, b = FIRST; swap(&a, &b); out[4] = a * 10 + b;
            i32 m[2][3] = {{1, 2, 3}, {4}}; out[5] = m[0][2] * 100 + m[1][0] * 10 + m[1][2];
            Outer list[] = {made(1, 1), {2.0f, {7, {8, 9}}},}; out[6] = list[1].inner.values[1] + sizeof(list) / sizeof(list[0]);
            i64 *p = &out[7]; p[0] = sizeof(Outer); *(p + 1) = (i64)((u8)0x1ff); 2[p] = p > out;
        }";
    let found = Run::of(text).output(&[0i64; 10]).first::<i64>();
    assert_eq!(found, [9, 109, 3, 0x3f80_0000, 56, 340, 11, 40, 255, 1]);
}

#[test]
fn a_parameter_may_change_and_have_an_address() {
    let text = "DEVICE_FN void add(u32 *n) { *n += 5; }
        KERNEL void k(GLOBAL_MEM u32 *out, u32 n, u32 m) { add(&n); m++; out[LID_0] = n + m; }";
    let run = Run::of(text).groups([1; 3], [3, 1, 1]).output(&[0u32; 3]).number(1u32).number(2u32);
    assert_eq!(run.first::<u32>(), [9; 3]);
}

#[test]
fn structs_in_local_memory_are_arguments_and_results() {
    let text = "typedef struct { i64 a; u8 b; } P;
        DEVICE_FN P joined(P x, P y) { P z = x; z.a += y.a; z.b = y.b; return z; }
        KERNEL void k(GLOBAL_MEM i64 *out) {
            LOCAL_MEM P list[4];
            P own = {LID_0 + 1, (u8)LID_0};
            list[LID_0] = own;
            local_barrier();
            for (u32 i = 1; i < 4; i++) own = joined(own, list[(LID_0 + i) % 4]);
            out[LID_0] = own.a * 10 + own.b + joined(list[0], joined(list[1], list[2])).a * 1000;
        }";
    let found = Run::of(text).groups([1; 3], [4, 1, 1]).output(&[0i64; 4]).first::<i64>();
    assert_eq!(found, [6103, 6100, 6101, 6102]);
}
