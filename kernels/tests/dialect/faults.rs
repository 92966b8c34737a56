//! What work items must not do: each is an error with the line, and does no harm.

use super::Run;

#[test]
fn accesses_beyond_an_array() {
    let text = "KERNEL void k(GLOBAL_MEM const f32 *x, GLOBAL_MEM f32 *y, i64 by)\n{\n    y[GID_0 * LDIM_0 + LID_0] = x[LID_0 + by];\n}";
    let run =
        |by: i64| Run::of(text).groups([2, 1, 1], [4, 1, 1]).input(&[1f32; 4]).output(&[0f32; 8]).number(by);
    assert_eq!(run(0).first::<f32>(), [1.0; 8]);
    run(2).fails(&[
        "kernels:3: x[4] is out of range: `x` has 4 elements",
        "kernel k, work item [2, 0, 0] of group [0, 0, 0]",
        "kernels:3 |     y[GID_0",
    ]);
    run(-1).fails(&["x[-1] is out of range"]);
    run(i64::MAX).fails(&["x"]);
    run(i64::MIN).fails(&["x"]);
    run(1 << 60).fails(&["far beyond `x`"]);
    let text = "KERNEL void k(GLOBAL_MEM f32 *y) { y[LID_0 + GID_0 * LDIM_0] = 1; }";
    Run::of(text).groups([3, 1, 1], [4, 1, 1]).output(&[0f32; 10]).fails(&[
        "y[10]",
        "10 elements",
        "work item [2, 0, 0] of group [2, 0, 0]",
    ]);
}

#[test]
fn accesses_beyond_other_memory() {
    let run = |statements: &str| {
        let text = format!(
            "CONSTANT_MEM i32 table[3] = {{1, 2, 3}};\nKERNEL void k(GLOBAL_MEM i32 *out, i32 n, LOCAL_MEM_ARG i32 *given)\n{{ LOCAL_MEM i32 tile[2][4]; i32 own[3]; struct {{ i32 a; i32 b[2]; }} s;\n{statements}\n}}"
        );
        Run::of(&text).output(&[0i32; 4]).number(5i32).local(8)
    };
    run("tile[1][n] = 1;").fails(&["kernels:4", "tile[9] is out of range", "8 elements"]);
    run("given[n] = 1;").fails(&["given[5]", "2 elements"]);
    run("own[n] = 1;").fails(&["own[5]", "3 elements"]);
    run("s.b[n] = 1;").fails(&["s[2] is out of range"]);
    run("out[0] = table[n];").fails(&["table[5]", "3 elements"]);
    run("*(i32 *)table = 1;").fails(&["`table` is const"]);
    run("i32 *p = NULL; *p = 1;").fails(&["null pointer"]);
    run("i32 *p = 0; if (!p && p == NULL) p = out; *(p + n) = 2;").fails(&["out[5]"]);
    run("*(i64 *)(out + 1) = 1;").fails(&["byte 4 of `out`", "multiple of 8"]);
    run("*(i64 *)(own + 2) = 1;").fails(&["bytes 8 to 15 of `own` are out of range", "12 bytes"]);
    run("out[0] = out < (i32 *)own;").fails(&["different arrays", "`out`", "`own`"]);
    assert_eq!(run("i32 *p = out - n; p[n] = 7; out[1] = out + 2 - p;").first::<i32>(), [7, 7, 0, 0]);
}

#[test]
fn divisions_by_zero() {
    for (operator, dtype) in [("/", "i32"), ("%", "u64"), ("/", "i64")] {
        let text = format!(
            "KERNEL void k(GLOBAL_MEM {dtype} *x)\n{{\n  {dtype} n = 0;\n  x[0] = 5 {operator} n;\n}}"
        );
        let run = Run::of(&text);
        match dtype {
            "i32" => run.output(&[0i32]).fails(&["kernels:4: a division by zero"]),
            "u64" => run.output(&[0u64]).fails(&["kernels:4: a division by zero"]),
            _ => run.output(&[0i64]).fails(&["kernels:4: a division by zero"]),
        }
    }
    let text = "KERNEL void k(GLOBAL_MEM f32 *x, i32 n) { x[0] = 1 / (f32)n; x[0] += n ? 1 / n : 0; }";
    assert_eq!(Run::of(text).output(&[0f32]).number(0i32).first::<f32>(), [f32::INFINITY]);
    // The most negative number has no positive one.
    let text = "KERNEL void k(GLOBAL_MEM i32 *x, i32 n) { x[0] /= n; }";
    assert_eq!(Run::of(text).output(&[i32::MIN]).number(-1i32).first::<i32>(), [i32::MIN]);
}

#[test]
fn shifts_by_too_many_bits() {
    let run = |ty: &str, shift: &str, by: i64| {
        let text =
            format!("KERNEL void k(GLOBAL_MEM i64 *x, i64 n)\n{{\n  {ty} a = 1;\n  x[0] = {shift};\n}}");
        Run::of(&text).output(&[0i64]).number(by)
    };
    assert_eq!(run("i32", "a << n", 31).first::<i64>(), [i64::from(i32::MIN)]);
    run("i32", "a << n", 32).fails(&["kernels:4: a shift by 32 of a number of 32 bits", "kernel k"]);
    run("i32", "a << n", 1 << 32).fails(&["kernels:4: a shift by 4294967296"]);
    run("u32", "a >> n", -1).fails(&["kernels:4: a shift by -1"]);
    run("u64", "a >> n", 64).fails(&["a shift by 64 of a number of 64 bits"]);
    run("i32", "1 << 33", 0).fails(&["a shift by 33"]);
    run("i32", "(a <<= n) + 1", 40).fails(&["a shift by 40"]);
    assert_eq!(run("u64", "a << n", 63).first::<i64>(), [i64::MIN]);
}

#[test]
fn arguments_are_those_of_the_compiled_text() {
    let text = "#define REAL f32\n#define MANY u32\nKERNEL void k(GLOBAL_MEM REAL *x) { x[0] = 1; }";
    assert_eq!(Run::of(text).output(&[0f32]).first::<f32>(), [1.0]);
    let run = Run::of(text).output(&[0f64]);
    run.fails(&["expected an array of float32 to write for `x`, found an array of float64", "kernel k"]);
    let run = Run::of("#define f32 u32\nKERNEL void k(GLOBAL_MEM u32 *x, f32 n) { x[0] = n; }");
    run.output(&[0u32])
        .number(1f32)
        .fails(&["expected a number of uint32 for `n`, found a number of float32"]);
}

#[test]
fn variables_of_a_function_that_has_returned() {
    let text = "DEVICE_FN f32 *dangling(f32 x) { f32 own[2]; own[0] = x; return own; }
        KERNEL void k(GLOBAL_MEM f32 *out) { f32 *p = dangling(1); out[0] = p[0]; }";
    Run::of(text)
        .output(&[0f32])
        .fails(&["kernels:2", "`own` is a variable of a function that has returned"]);
}

#[test]
fn limits_of_launches() {
    let run = || Run::of("KERNEL void k(GLOBAL_MEM u32 *x) { x[0] = 1; }").output(&[0u32]);
    run().groups([1; 3], [1 << 20, 1, 1]).fails(&["kernel k", "at most 1024 work items"]);
    run().groups([1; 3], [u32::MAX; 3]).fails(&["at most 1024 work items"]);
    run().groups([1, 65_536, 1], [1; 3]).fails(&["kernel k", "65536"]);
    run().groups([1, u64::MAX, 1], [1; 3]).fails(&["kernel k", "18446744073709551615"]);
    run().groups([1; 3], [0, 1, 1]).fails(&["group", "at least one work item"]);
    let local =
        Run::of("KERNEL void k(GLOBAL_MEM u32 *x, LOCAL_MEM_ARG u32 *t) { x[0] = 1; }").output(&[0u32]);
    local.clone().local(1 << 40).fails(&["kernel k", "bytes of local memory"]);
    local.local(u64::MAX).fails(&["bytes of local memory"]);
    let states = Run::of(
        "KERNEL void k(GLOBAL_MEM u32 *x) { u32 a[200000]; a[LID_0] = 1; local_barrier(); x[0] = a[LID_0]; }",
    );
    states.output(&[0u32]).groups([1; 3], [1024, 1, 1]).fails(&["work items with barriers need"]);
}
