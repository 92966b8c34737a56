//! Kernels for any size: one text, with sizes as arguments.

use super::corpus::{self, Builder, Case};
use super::{gpu, kernels, printed};
use workalike_kernels::nest::Fold;
use workalike_kernels::nest::PhaseKind::{Map, Point, Reduce};
use workalike_kernels::print::{Dialect, ForSizes, Target, TranslationUnit};
use workalike_kernels::{DType, ops};

fn any(case: Case, target: Target) -> TranslationUnit {
    printed(case, &Target { sizes: ForSizes::Any, ..target })
}

fn targets() -> [Target; 3] {
    let processor = Target { lanes: 4, cpu: true, ..gpu(Dialect::OpenClC) };
    [gpu(Dialect::OpenClC), gpu(Dialect::CudaCpp), processor]
}

/// The mean of each row, subtracted from it.
fn centered(rows: u64, columns: u64) -> Case {
    Builder::new("center", &[rows, columns], 1)
        .input(DType::F32, &[rows, columns])
        .output(DType::F32, &[rows, columns])
        .phase(Reduce, |p| {
            let x = p.load(0, &[0, 1]);
            p.fold(Fold::Sum, x);
        })
        .phase(Map, |p| {
            let (x, sum) = (p.load(0, &[0, 1]), p.folded(0, 0));
            let share = p.constant(DType::F32, 1.0 / columns as f64);
            let mean = p.op(ops::MUL, &[sum, share]);
            let y = p.op(ops::SUB, &[x, mean]);
            p.store(1, &[0, 1], y);
        })
        .done()
}

#[test]
fn sizes_are_not_in_the_text() {
    for target in targets() {
        for [one, other] in [[(5, 700), (64, 900)], [(12, 40), (2000, 45)]] {
            let [one, other] = [one, other].map(|(m, n)| any(centered(m, n), target.clone()));
            assert_eq!(one.text, other.text);
            assert_ne!(one.entries[0].sizes, other.entries[0].sizes);
        }
        for shapes in [[[17, 96, 100], [48, 100, 300]], [[2, 33, 64], [63, 50, 33]]] {
            let [one, other] = shapes.map(|shape| {
                let mut case = corpus::product(DType::F32, shape, [false; 2]);
                case.nest.name = "product".into();
                any(case, target.clone())
            });
            assert_eq!(one.text, other.text);
        }
    }
}

#[test]
fn addresses_beyond_32_bits_have_a_text_of_their_own() {
    let small = centered(9, 5000);
    let mut large = centered(9, 5000);
    large.nest.axes[0] = 1 << 20;
    large.nest.operands.iter_mut().for_each(|operand| operand.shape[0] = 1 << 20);
    let [small, large] = [small, large].map(|case| any(case, gpu(Dialect::CudaCpp)));
    assert!(large.text.contains("const i64 size") && !small.text.contains("const i64 size"));
}

#[test]
fn a_map_for_any_size() {
    let case = Builder::new("add", &[20, 30], 2)
        .input(DType::F32, &[20, 30])
        .input(DType::F32, &[30])
        .output(DType::F32, &[20, 30])
        .phase(Point, |p| {
            let (x, y) = (p.load(0, &[0, 1]), p.load(1, &[1]));
            let sum = p.op(ops::ADD, &[x, y]);
            p.store(2, &[0, 1], sum);
        })
        .done();
    assert_eq!(kernels(&any(case, gpu(Dialect::CudaCpp))), "extern \"C\" __global__ __launch_bounds__(128)
void k0_add(const f32* b0, const f32* b1, f32* b2, const u32 size0, const u32 size1, const u32 size2, const u32 size3, const i32 size4, const i32 size5) {
    BEGIN
    for (u32 p = (u32)blockIdx.x * 128u + (u32)threadIdx.x; p < size0; p += size1) {
        const i32 a1 = (i32)(p % size2);
        const i32 a0 = (i32)(p / size3);
        const f32 v0 = b0[a0 * size4 + a1];
        const f32 v1 = b1[a1];
        const f32 v2 = v0 + v1;
        b2[a0 * size5 + a1] = v2;
    }
}
");
}
