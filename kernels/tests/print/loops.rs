//! Exact text of the loops of small Nests.

use super::corpus::Builder;
use super::{add, gpu, kernels, printed};
use workalike_kernels::nest::PhaseKind::{Ordered, Point, Reduce};
use workalike_kernels::nest::{Fold, Index};
use workalike_kernels::print::{Dialect, KernelEntry, Target};
use workalike_kernels::{DType, ops};

#[test]
fn a_contiguous_map_has_one_axis() {
    let source = printed(add(), &gpu(Dialect::CudaCpp));
    assert_eq!(source.entries, [KernelEntry { name: "k0_x_y".into(), groups: 10, group: 64, sizes: vec![] }]);
    assert_eq!(
        kernels(&source),
        "extern \"C\" __global__ __launch_bounds__(64)
void k0_x_y(const f32* b0, const f32* b1, f32* b2) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 64u + (u32)threadIdx.x;
    if (p < 600u) {
        const i32 a1 = (i32)p;
        const f32 v0 = b0[a1];
        const f32 v1 = b1[0];
        const f32 v2 = v0 + v1;
        b2[a1] = v2;
    }
}
"
    );
}

#[test]
fn cpus_get_runs_of_tiles() {
    let source = printed(add(), &Target { lanes: 2, cpu: true, ..gpu(Dialect::OpenClC) });
    assert_eq!(source.entries, [KernelEntry { name: "k0_x_y".into(), groups: 10, group: 1, sizes: vec![] }]);
    assert_eq!(
        kernels(&source),
        "__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k0_x_y(__global const f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global f32* b2, const u64 byte2) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 2u;
    const u32 last = first + 2u < 19u ? first + 2u : 19u;
    for (u32 p = first; p < last; ++p) {
        const i32 c1 = (i32)p * 32;
        const i32 n = 600 - c1 < 32 ? 600 - c1 : 32;
        {
            const f32 v1 = b1[0];
            f32 w2[32];
            for (i32 l = 0; l < n; ++l) {
                const i32 a1 = c1 + l;
                const f32 v0 = b0[a1];
                const f32 v2 = v0 + v1;
                w2[l] = v2;
            }
            for (i32 l = 0; l < n; ++l) {
                const i32 a1 = c1 + l;
                b2[a1] = w2[l];
            }
        }
    }
}
"
    );
}

#[test]
fn a_row_sum_folds_through_group_memory() {
    let case = Builder::new("sum", &[3, 40], 1)
        .input(DType::F16, &[3, 40])
        .output(DType::F16, &[3])
        .phase(Reduce, |p| {
            let v = p.load(0, &[0, 1]);
            p.fold(Fold::Sum, v);
        })
        .phase(Point, |p| {
            let v = p.folded(0, 0);
            p.store(1, &[0], v);
        });
    let source = printed(case.done(), &gpu(Dialect::OpenClC));
    assert_eq!(
        kernels(&source),
        "__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void k0_sum(__global const half* b0, const u64 byte0, __global half* b1, const u64 byte1) {
    b0 = (__global const half*)((__global const u8*)b0 + byte0);
    b1 = (__global half*)((__global u8*)b1 + byte1);
    __local f32 l_f32_0[32];
    const u32 t = (u32)get_local_id(0);
    const u32 y = t;
    {
        const u32 p = (u32)get_group_id(0);
        const i32 a0 = (i32)p;
        f32 f0_0 = 0.0f;
        {
            {
                const u32 q = y;
                const i32 a1 = (i32)q;
                const f32 v0 = vload_half(a0 * 40 + a1, b0);
                f0_0 = f0_0 + v0;
            }
            if (y < 8u) {
                const u32 q = 32u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = vload_half(a0 * 40 + a1, b0);
                f0_0 = f0_0 + v0;
            }
        }
        l_f32_0[t] = f0_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 4u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 4u];
                f0_0 = f0_0 + o0;
            }
            l_f32_0[t] = f0_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0u) {
            #pragma unroll
            for (u32 s = 1u; s < 4u; ++s) {
                const f32 o0 = l_f32_0[t + s];
                f0_0 = f0_0 + o0;
            }
        }
        if (y == 0u) {
            vstore_half_rte(f0_0, a0, b1);
        }
    }
}
"
    );
}

#[test]
fn cpus_fold_in_lanes() {
    let fold = |name: &str, axes: [u64; 2], place: [usize; 2]| {
        let case = Builder::new(name, &axes, 1)
            .input(DType::F32, &place.map(|axis| axes[axis]))
            .output(DType::F32, &[axes[0]])
            .phase(Reduce, |p| {
                let v = p.load(0, &place);
                p.fold(Fold::Sum, v);
            })
            .phase(Point, |p| {
                let v = p.folded(0, 0);
                p.store(1, &[0], v);
            });
        let source = printed(case.done(), &Target { lanes: 1, cpu: true, ..gpu(Dialect::OpenClC) });
        let from = source.text.find("    for (u32 p").expect("a loop");
        source.text[from..].to_string()
    };
    assert_eq!(
        fold("rows", [3, 130], [0, 1]),
        "    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        f32 f0_0 = 0.0f;
        {
            f32 s0_0[32];
            for (i32 l = 0; l < 32; ++l) {
                s0_0[l] = 0.0f;
            }
            for (i32 c1 = 0; c1 < 128; c1 += 32) {
                for (i32 l = 0; l < 32; ++l) {
                    const i32 a1 = c1 + l;
                    const f32 v0 = b0[a0 * 130 + a1];
                    s0_0[l] = s0_0[l] + v0;
                }
            }
            {
                const i32 c1 = 128;
                for (i32 l = 0; l < 2; ++l) {
                    const i32 a1 = c1 + l;
                    const f32 v0 = b0[a0 * 130 + a1];
                    s0_0[l] = s0_0[l] + v0;
                }
            }
            for (i32 l = 0; l < 32; ++l) {
                f0_0 = f0_0 + s0_0[l];
            }
        }
        {
            b1[a0] = f0_0;
        }
    }
}
"
    );
    assert_eq!(
        fold("columns", [100, 200], [1, 0]),
        "    for (u32 p = first; p < last; ++p) {
        const i32 c0 = (i32)p * 64;
        const i32 n = 100 - c0 < 64 ? 100 - c0 : 64;
        f32 f0_0[64], f0_0b[64];
        for (i32 l = 0; l < 64; ++l) {
            f0_0[l] = 0.0f;
            f0_0b[l] = 0.0f;
        }
        u32 n0 = 0u;
        for (i32 a1 = 0; a1 < 200; ++a1) {
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                const f32 v0 = b0[a0 + a1 * 100];
                f0_0b[l] = f0_0b[l] + v0;
            }
            if ((++n0 & 127u) == 0u) {
                for (i32 l = 0; l < 64; ++l) {
                    f0_0[l] += f0_0b[l];
                    f0_0b[l] = 0;
                }
            }
        }
        for (i32 l = 0; l < 64; ++l) {
            f0_0[l] += f0_0b[l];
        }
        {
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                b1[a0] = f0_0[l];
            }
        }
    }
}
"
    );
}

#[test]
fn an_ordered_phase_is_a_loop() {
    let case = Builder::new("running sum", &[9, 5], 1)
        .input(DType::I32, &[9, 5])
        .output(DType::I32, &[9, 6])
        .phase(Ordered, |p| {
            let (old, new) = (p.load(1, &[0, 1]), p.load(0, &[0, 1]));
            let v = p.op(ops::ADD, &[old, new]);
            let next = Index { offset: 1, ..Index::axis(1) };
            p.store_at(1, vec![Index::axis(0), next], v, None);
        });
    let source = printed(case.done(), &gpu(Dialect::CudaCpp));
    let body = "
        for (i32 a1 = 0; a1 < 5; ++a1) {
            const i32 v0 = b1[a0 * 6 + a1];
            const i32 v1 = b0[a0 * 5 + a1];
            const i32 v2 = (i32)((u32)v0 + (u32)v1);
            b1[a0 * 6 + a1 + 1] = v2;
        }
";
    assert!(source.text.contains(body), "{}", source.text);
}
