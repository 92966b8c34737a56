//! Groups: barriers, local memory, positions, atomic adds.

use super::Run;

#[test]
fn a_tree_reduction_in_local_memory() {
    let text = "DEVICE_FN f32 reduced(f32 value, LOCAL_MEM_ARG f32 *shared, u32 size) {
            shared[LID_0] = value;
            local_barrier();
            for (u32 half_ = size / 2; half_ > 0; half_ /= 2) {
                if (LID_0 < half_) shared[LID_0] += shared[LID_0 + half_];
                local_barrier();
            }
            return shared[0];
        }
        KERNEL void sums(GLOBAL_MEM const f32 *x, GLOBAL_MEM f32 *out, LOCAL_MEM_ARG f32 *part) {
            LOCAL_MEM f32 fixed[64];
            LOCAL_MEM u32 count;
            if (LID_0 == 0) count = LDIM_0;
            global_barrier();
            const f32 own = x[GID_0 * LDIM_0 + LID_0];
            const f32 a = reduced(own, fixed, count), b = reduced(2 * own, part, 64);
            if (LID_0 == 63) out[GID_0] = a + b;
        }";
    let x: Vec<f32> = (0..640).map(|i| (i % 61) as f32 * 0.5).collect();
    let run = Run::of(text).groups([10, 1, 1], [64, 1, 1]).input(&x).output(&[0f32; 10]).local(256);
    let want: Vec<f32> = x.chunks(64).map(|group| group.iter().sum::<f32>() * 3.0).collect();
    assert_eq!(run.first::<f32>(), want);
}

#[test]
fn positions_in_three_dimensions() {
    let text = "KERNEL void k(GLOBAL_MEM u32 *out) {
            u32 x = GID_0 * LDIM_0 + LID_0, y = GID_1 * LDIM_1 + LID_1, z = GID_2 * LDIM_2 + LID_2;
            u32 w = GDIM_0 * LDIM_0, h = GDIM_1 * LDIM_1;
            out[(z * h + y) * w + x] += x + 100 * y + 10000 * z;
        }";
    let found = Run::of(text).groups([2, 3, 1], [4, 1, 2]).output(&[0u32; 48]).first::<u32>();
    let want: Vec<u32> = (0..48).map(|i| i % 8 + 100 * (i / 8 % 3) + 10000 * (i / 24)).collect();
    assert_eq!(found, want);
}

#[test]
fn a_transposed_tile_with_a_barrier_in_a_loop() {
    let text = "#define TILE 4
        KERNEL void transpose(GLOBAL_MEM const i32 *x, GLOBAL_MEM i32 *y, u32 n) {
            LOCAL_MEM i32 tile[TILE][TILE + 1];
            for (u32 row = 0; row < n; row += TILE) {
                tile[LID_1][LID_0] = x[(row + LID_1) * n + GID_0 * TILE + LID_0];
                local_barrier();
                y[(GID_0 * TILE + LID_1) * n + row + LID_0] = tile[LID_0][LID_1];
                local_barrier();
            }
        }";
    let x: Vec<i32> = (0..64).collect();
    let run = Run::of(text).groups([2, 1, 1], [4, 4, 1]).input(&x).output(&[0i32; 64]).number(8u32);
    assert_eq!(run.first::<i32>(), (0..64).map(|i| i % 8 * 8 + i / 8).collect::<Vec<i32>>());
}

#[test]
fn atomic_adds_return_what_was_there() {
    let text = "KERNEL void k(GLOBAL_MEM u32 *count, GLOBAL_MEM f64 *sum, GLOBAL_MEM u32 *order) {
            order[GID_0 * LDIM_0 + LID_0] = atomic_add_u32(count, 3) / 3;
            atomic_add_f64(sum + 1, 0.5);
        }";
    let run = Run::of(text).groups([5, 1, 1], [7, 1, 1]);
    let found = run.output(&[0u32]).output(&[0f64; 2]).output(&[0u32; 35]).all().unwrap();
    assert_eq!(bytemuck::pod_collect_to_vec::<u8, u32>(&found[0]), [105]);
    assert_eq!(bytemuck::pod_collect_to_vec::<u8, f64>(&found[1]), [0.0, 17.5]);
    assert_eq!(bytemuck::pod_collect_to_vec::<u8, u32>(&found[2]), (0..35).collect::<Vec<u32>>());
}

#[test]
fn no_groups_run_nothing() {
    let run = Run::of("KERNEL void k(GLOBAL_MEM u32 *x) { x[5] = 1; }").groups([0, 1, 1], [1, 1, 1]);
    assert_eq!(run.output(&[7u32]).first::<u32>(), [7]);
}

#[test]
fn barriers_that_not_all_reach() {
    let text = "KERNEL void k(GLOBAL_MEM u32 *x) {\n  if (LID_0 < 2)\n    local_barrier();\n}";
    let words = [
        "kernels:3: not all work items",
        "work item [2, 0, 0] has ended",
        "kernel k",
        "kernels:3 |     local_barrier();",
    ];
    Run::of(text).groups([1; 3], [4, 1, 1]).output(&[0u32]).fails(&words);
    let text = "KERNEL void k(GLOBAL_MEM u32 *x) {\n  if (LID_0 > 2)\n    local_barrier();\n}";
    Run::of(text).groups([1; 3], [4, 1, 1]).output(&[0u32]).fails(&[
        "kernels:3",
        "[0, 0, 0] has ended",
        "work item [3, 0, 0] of group [0, 0, 0]",
    ]);
    let text = "KERNEL void k(GLOBAL_MEM u32 *x) {\n  if (LID_0 > 2)\n    local_barrier();\n  else local_barrier();\n}";
    Run::of(text)
        .groups([1; 3], [4, 1, 1])
        .output(&[0u32])
        .fails(&["kernels:4", "work item [3, 0, 0] waits at that of line 3"]);
}

/// Work items have no memory of their own to allocate, with or without barriers.
#[test]
fn many_work_items_take_no_time() {
    let text = |barrier: &str| {
        format!(
            "KERNEL void k(GLOBAL_MEM const f32 *x, GLOBAL_MEM f32 *y, u32 n) {{
                const u32 i = GID_0 * LDIM_0 + LID_0;
                f32 z = x[i % n];
                {barrier}
                if (i < n) y[i] = (z * 2 + 1) * (z - 3) + (f32)i;
            }}"
        )
    };
    let x: Vec<f32> = (0..100_000).map(|i| (i % 7) as f32).collect();
    let want: Vec<f32> = (0..).zip(&x).map(|(i, z)| (z * 2.0 + 1.0) * (z - 3.0) + i as f32).collect();
    for barrier in ["", "local_barrier();"] {
        let run = Run::of(&text(barrier)).groups([1563, 1, 1], [64, 1, 1]);
        let start = std::time::Instant::now();
        assert_eq!(run.input(&x).output(&vec![0f32; x.len()]).number(100_000u32).first::<f32>(), want);
        assert!(start.elapsed().as_secs() < 5, "{:?} {barrier}", start.elapsed());
    }
}
