//! Texts that do not compile: the error has the line and says what is wrong.

use super::Run;

fn refused(text: &str, words: &[&str]) {
    Run::of(text).groups([1; 3], [1; 3]).output(&[0f32]).fails(words);
}

/// Statements in the second line of a kernel.
fn body(statements: &str, words: &[&str]) {
    refused(&format!("KERNEL void k(GLOBAL_MEM f32 *x) {{\n{statements}\n}}"), words);
}

#[test]
fn names_and_words_of_the_languages() {
    body("x[0] = y;", &["kernels:2: unknown name `y`", "kernels:2 | x[0] = y;"]);
    body("x[0] = f(1);", &["kernels:2: unknown function `f`"]);
    body("x[get_global_id(0)] = 1;", &["kernels:2", "get_global_id", "GID_0 * LDIM_0 + LID_0"]);
    body("x[threadIdx.x] = 1;", &["threadIdx", "LID_0"]);
    body("__syncthreads();", &["__syncthreads", "local_barrier()"]);
    body("x[0] = sqrtf(2.0f);", &["sqrtf", "use sqrt"]);
    body("x[0] = clamp(1, 2, 3);", &["clamp", "min and max"]);
    body("float4 v;", &["float4"]);
    body("half h;", &["half"]);
    body("x[0] = shuffle_up(x[0], 1);", &["shuffle_up", "HAS_SHUFFLE"]);
    refused(
        "__device__ float f(float x) { return x; }\nKERNEL void k(GLOBAL_MEM f32 *x) {}",
        &["__device__", "DEVICE_FN"],
    );
    body("goto end; end: ;", &["goto"]);
    body("x[0] = 1 ? 2;", &["kernels:2", "expected `:`"]);
    body("switch (1) { case 1: x[0] = 1; case 1: ; }", &["cases", "the same"]);
    body("break;", &["`break` outside"]);
    body("return 1;", &["returns no value"]);
    body("if (1) f32 y = 1;", &["declaration"]);
    body("i32 n = 3; f32 a[n];", &["constant integer"]);
    body("f32 x = 1, x = 2;", &["declared twice"]);
    body("\"text\";", &["strings"]);
    body("x[0] = 08;", &["08"]);
    body("static f32 y;", &["static"]);
    body("(void)sizeof(void);", &["void has no size"]);
}

#[test]
fn types_must_fit() {
    body("const f32 y = 1; y = 2;", &["kernels:2: `y` is const"]);
    body("const f32 *p = x; p[0] = 2;", &["`p` is const"]);
    body("const f32 *p = x; f32 *q = p;", &["may be written"]);
    body("i32 *p = x;", &["expected i32 *, found f32 *"]);
    body("x[0] = x;", &["expected f32, found f32 *"]);
    body("x[1.5f] = 1;", &["no operator `+`"]);
    body("x[0] = 1.5f % 2;", &["expected integers for `%`"]);
    body("x[0] = 1.5f << 2;", &["expected integers for `<<`"]);
    body("x[0] = ~1.5f;", &["`~`"]);
    body("x[0] = sqrt(4);", &["expected a float for `sqrt`"]);
    body("x[0] = abs(-1.0f);", &["fabs"]);
    body("x[0] = pow(2.0f);", &["expected 2 arguments of `pow`, found 1"]);
    body("1 = 2;", &["on the left"]);
    body("struct S { f32 a; } s; s.b = 1;", &["struct S has no field `b`"]);
    body("x[0] = (x + 1)->a;", &["expected a struct"]);
    body("f32 **p; LOCAL_MEM f32 *q[3];", &["pointers in local memory"]);
    body("u64 n = (u64)x;", &["expected u64, found f32 *"]);
    body("f32 f[2] = {1, 2, 3};", &["too many values"]);
    body("f32 f[2][2] = {1, 2, 3, 4, 5};", &["too many values"]);
    body("f32 f[] = {};", &["expected values in braces"]);
    body("f32 f[] = 1;", &["expected values in braces"]);
    body("struct { struct {} a; } s = {1};", &["no room for a value"]);
    body("f32 f[1 << 33];", &["expected a constant integer"]);
    body("local_barrier(1);", &["expected 0 arguments"]);
    refused("KERNEL void k(GLOBAL_MEM const f32 *x) { x[0] = 1; }", &["`x` is const"]);
    refused("KERNEL void k(GLOBAL_MEM f32 *x) {}\nf32 y = 1;", &["kernels:2", "CONSTANT_MEM"]);
    refused(
        "DEVICE_FN f32 f(f32 x) { LOCAL_MEM f32 t[2]; return x; }\nKERNEL void k(GLOBAL_MEM f32 *x) {}",
        &["kernels:1", "body of a kernel"],
    );
    refused("DEVICE_FN f32 f(f32 x);\nKERNEL void k(GLOBAL_MEM f32 *x) { f(1); }", &["`f`", "not defined"]);
    refused(
        "DEVICE_FN f32 f(f32 x);\nDEVICE_FN f32 f(i32 x) { return 1; }\nKERNEL void k(GLOBAL_MEM f32 *x) {}",
        &["kernels:2", "different types"],
    );
    refused("KERNEL void k(GLOBAL_MEM f32 *x) { k(x); }", &["is a kernel"]);
    refused(
        "DEVICE_FN f32 *g(f32 (*f)(f32)) { return 0; }\nKERNEL void k(GLOBAL_MEM f32 *x) {}",
        &["pointers to functions"],
    );
}

#[test]
fn halves_are_only_stored() {
    let run = |statements: &str| {
        Run::of(&format!("KERNEL void k(GLOBAL_MEM f16 *x, GLOBAL_MEM bf16 *y) {{ {statements} }}"))
    };
    for (statements, words) in [
        ("x[0] = 1;", ["f16 is only stored", "store_f16"]),
        ("f32 z = y[0];", ["bf16 is only stored", "load_bf16"]),
        ("f32 z = load_f16(y, 0);", ["expected a pointer to f16", "bf16 *"]),
        ("f16 z = 1;", ["only stored", "`z` is a f32"]),
        ("f32 z = (f16)1;", ["f16", ""]),
    ] {
        run(statements).output(&[half::f16::ZERO]).output(&[half::bf16::ZERO]).fails(&words);
    }
}

#[test]
fn recursion() {
    refused(
        "DEVICE_FN i32 f(i32 n)\n{ return n ? f(n - 1) : 0; }\nKERNEL void k(GLOBAL_MEM f32 *x) {}",
        &["kernels:1", "`f` calls itself"],
    );
    refused(
        "DEVICE_FN i32 g(i32 n);\nDEVICE_FN i32 f(i32 n) { return g(n); }\nDEVICE_FN i32 g(i32 n) { return f(n); }\nKERNEL void k(GLOBAL_MEM f32 *x) {}",
        &["calls itself"],
    );
}
