//! Halves, type parameters, constants and strided arrays.

use super::Run;
use half::{bf16, f16};
use workalike_kernels::DType;

#[test]
fn type_parameters_and_halves() {
    let text = "KERNEL void k(const ga_size n, type_x *x, type_y *y) {
        ga_size i = GID_0 * LDIM_0 + LID_0;
        if (i >= n) return;
        work_x z = load_x(x, i);
        z += 1;
        store_y(y, i, z);
    }";
    let run = |x, y| Run::typed(text, &[("x", x), ("y", y)]).groups([2, 1, 1], [2, 1, 1]).number(3u64);
    let halves = [0.5, 2.0, 1e4].map(f16::from_f32);
    let found = run(DType::F16, DType::BF16).output(&halves).output(&[bf16::ZERO; 4]).all().unwrap();
    let want = [1.5, 3.0, 10001.0, 0.0].map(bf16::from_f32);
    assert_eq!(bytemuck::pod_collect_to_vec::<u8, bf16>(&found[1]), want);
    let found = run(DType::U8, DType::F32).output(&[255u8, 1, 2]).output(&[0f32; 3]).all().unwrap();
    assert_eq!(bytemuck::pod_collect_to_vec::<u8, f32>(&found[1]), [0.0, 2.0, 3.0]);
}

#[test]
fn halves_round_to_the_nearest_even() {
    let text = "KERNEL void k(GLOBAL_MEM const f32 *x, GLOBAL_MEM f16 *y, GLOBAL_MEM bf16 *z) {
        store_f16(y, LID_0, x[LID_0]); store_bf16(z, LID_0, load_f16(y, LID_0)); }";
    let x = [1.0 + 2f32.powi(-11), 1.0 + 3.0 * 2f32.powi(-11), 70000.0, -0.0, f32::NAN, 1e-8];
    let run =
        Run::of(text).groups([1; 3], [6, 1, 1]).input(&x).output(&[f16::ZERO; 6]).output(&[bf16::ZERO; 6]);
    let found = run.all().unwrap();
    let bits = |values: Vec<u16>| values;
    let want: Vec<f16> = x.iter().map(|x| f16::from_f32(*x)).collect();
    assert_eq!(
        bits(bytemuck::pod_collect_to_vec(&found[0])),
        want.iter().map(|x| x.to_bits()).collect::<Vec<u16>>()
    );
    let want: Vec<u16> = want.iter().map(|x| bf16::from_f32(x.to_f32()).to_bits()).collect();
    assert_eq!(bits(bytemuck::pod_collect_to_vec(&found[1])), want);
}

#[test]
fn arrays_in_constant_memory() {
    let text = "CONSTANT_MEM i32 offsets[2][2] = {{1, 2}, {-3}};
        CONSTANT_MEM const f32 scale = 0.5f * 4;
        KERNEL void k(GLOBAL_MEM f32 *out) { out[LID_0] = table[2 - LID_0] * scale + offsets[LID_0 / 2][LID_0 % 2]; }";
    let run = Run::of(text).constant("table", &[1f32, 2.0, 3.0]).groups([1; 3], [3, 1, 1]);
    assert_eq!(run.output(&[0f32; 3]).first::<f32>(), [7.0, 6.0, -1.0]);
}

#[test]
fn halves_in_constant_memory() {
    let text = "CONSTANT_MEM f16 t[2] = {1.0f, 2}; CONSTANT_MEM bf16 b = 3.0;
        KERNEL void k(GLOBAL_MEM f32 *out) { f16 own[2] = {1.0f, 2};
            out[0] = load_f16(t, 0); out[1] = load_f16(t, 1); out[2] = load_bf16(&b, 0); out[3] = load_f16(own, 1); }";
    assert_eq!(Run::of(text).output(&[0f32; 4]).first::<f32>(), [1.0, 2.0, 3.0, 2.0]);
}

#[test]
fn an_array_for_two_parameters_is_one() {
    let text = "KERNEL void k(GLOBAL_MEM const i32 *a, GLOBAL_MEM i32 *b, GLOBAL_MEM i32 *c) {
        b[0] = (a == b) + 10 * (b == c) + 100 * (b + 1 - a) + 1000 * (b < a + 1); c[1] = a[0] + 1; }";
    let mut run = Run::of(text).output(&[0i32; 2]).output(&[0i32; 2]);
    run.args = vec![run.args[0], run.args[0], run.args[1]];
    let found = run.all().unwrap();
    assert_eq!(bytemuck::pod_collect_to_vec::<u8, i32>(&found[0]), [1101, 0]);
    assert_eq!(bytemuck::pod_collect_to_vec::<u8, i32>(&found[1]), [0, 1102]);
}

#[test]
fn a_pointer_that_is_const_may_write() {
    let text = "KERNEL void k(GLOBAL_MEM f32 *const x, GLOBAL_MEM f32 const *RESTRICT y) { x[0] = y[0]; }";
    let params = &workalike_kernels::custom::KernelSource::dialect(text).unwrap();
    let kinds: Vec<String> =
        params.signatures().next().unwrap().params.iter().map(|param| param.kind.to_string()).collect();
    assert_eq!(kinds, ["an array of float32 to write", "an array of float32"]);
    assert_eq!(Run::of(text).output(&[0f32]).input(&[2f32]).first::<f32>(), [2.0]);
}

#[test]
fn theanos_eye() {
    let text = r#"#include "cluda.h"
KERNEL void eye(GLOBAL_MEM type_a *a, ga_size n, ga_size m, ga_ssize k) {
    ga_ssize coff = max(k, (ga_ssize) 0);
    ga_ssize roff = -min(k, (ga_ssize) 0);
    ga_size nb = (ga_size) min(n - roff, m - coff);
    for (ga_size i = LID_0; i < nb; i += LDIM_0) {
        store_a(a, (i + roff)*m + i + coff, 1);
    }
}"#;
    for (n, m, k) in [(5u64, 7u64, 0i64), (6, 4, -2), (3, 9, 5), (1, 1, 0)] {
        let run = Run::typed(text, &[("a", DType::F32)]).groups([1; 3], [8, 1, 1]);
        let found = run.output(&vec![0f32; (n * m) as usize]).number(n).number(m).number(k).first::<f32>();
        let want = (0..n * m).map(|at| f32::from(u8::from((at % m) as i64 - (at / m) as i64 == k)));
        assert_eq!(found, want.collect::<Vec<f32>>(), "{n} {m} {k}");
    }
}

#[test]
fn a_bool_array_is_one_of_bytes() {
    let text = "KERNEL void k(GLOBAL_MEM const u8 *x, GLOBAL_MEM bool *y, GLOBAL_MEM ga_int *n) {
        y[LID_0] = x[LID_0]; n[LID_0] = load_bool(x, LID_0) + y[LID_0]; }";
    let source = Run::of(text).groups([1; 3], [3, 1, 1]).input(&[0u8, 1, 7]);
    let mut run = source.output(&[0u8; 3]).output(&[0i32; 3]);
    run.arrays[1].0 = DType::Bool;
    let found = run.all().unwrap();
    assert_eq!(found[0], [0, 1, 1]);
    assert_eq!(bytemuck::pod_collect_to_vec::<u8, i32>(&found[1]), [0, 2, 2]);
}
