//! Texts that are made to break a compiler: each gives an error, quickly.

use super::Run;
use std::time::{Duration, Instant};

fn refused(text: &str, words: &[&str]) {
    let start = Instant::now();
    Run::of(text).output(&[0f32]).fails(words);
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?} for {}",
        start.elapsed(),
        &text[..60.min(text.len())]
    );
}

fn kernel(head: &str, body: &str) -> String {
    format!("{head}\nKERNEL void k(GLOBAL_MEM f32 *x) {{ {body} }}")
}

#[test]
fn nesting() {
    let deep = |open: &str, inner: &str, close: &str, count: usize| {
        [&open.repeat(count), inner, &close.repeat(count)].concat()
    };
    for count in [150, 100_000] {
        refused(&kernel("", &format!("x[0] = {};", deep("(", "1", ")", count))), &["nested deeper"]);
        refused(&kernel("", &format!("x[0] = {};", deep("-", " 1", "", count))), &["kernels:2"]);
        refused(&kernel("", &format!("x[0] = {};", deep("1 + (", "1", ")", count))), &["nested deeper"]);
        refused(&kernel("", &format!("x[0] = {}1;", "x[0] = ".repeat(count))), &["nested deeper"]);
        refused(&kernel("", &format!("x[0] = {}1;", "1 ? 1 : ".repeat(count))), &["nested deeper"]);
        refused(&kernel("", &deep("{", "", "}", count)), &["nested deeper"]);
        refused(&kernel("", &deep("if (1) ", "x[0] = 1;", "", count)), &["nested deeper"]);
        refused(&kernel("", &deep("for (;;) ", "x[0] = 1;", "", count)), &["nested deeper"]);
        refused(&kernel("", &format!("f32 {}p;", "*".repeat(count))), &["nested deeper"]);
        refused(&kernel("", &format!("f32 p{};", "[1]".repeat(count))), &["nested deeper"]);
        refused(&kernel("", &format!("f32 p[1] = {};", deep("{", "1", "}", count))), &["kernels:2"]);
        refused(&kernel(&deep("struct { ", "f32 a;", "} b;", count), ""), &["nested deeper"]);
        refused(&kernel("", &format!("x[0] = {}1;", "sizeof ".repeat(count))), &["nested deeper"]);
        refused(&kernel(&format!("#if {}\n#endif", deep("(", "1", ")", count)), ""), &["nested deeper"]);
    }
    refused(&kernel("", &format!("x[0] = 1{};", " + x[0]".repeat(100_000))), &["more than 400 operators"]);
    refused(&kernel("", &format!("x[0] = 1{};", ", x[0]".repeat(100_000))), &["more than 400 operators"]);
    refused(&kernel(&format!("#if {}\n#endif\n#error end", "!".repeat(100_000) + "1"), ""), &["#error end"]);
}

#[test]
fn long_texts_that_are_fine() {
    let long = |body: &str| Run::of(&kernel("", body)).output(&[0f32]).first::<f32>()[0];
    assert_eq!(long(&"x[0] += 1; ".repeat(10_000)), 10_000.0);
    assert_eq!(long(&format!("x[0] = 1{};", " + 1".repeat(300))), 301.0);
    assert_eq!(long(&format!("{} x[0] = 3;", "if (x[0] > 1) x[0] = 2; else ".repeat(3_000))), 3.0);
}

#[test]
fn macros() {
    let mut bomb = String::from("#define A0 1 1 1 1 1 1 1 1 1 1\n");
    (1..30).for_each(|at| bomb += &format!("#define A{at} {}\n", format!("A{} ", at - 1).repeat(10)));
    refused(&kernel(&bomb, "A29"), &["macros expand to more than"]);
    let mut empty = String::from("#define A0\n");
    (1..30).for_each(|at| empty += &format!("#define A{at} {}\n", format!("A{} ", at - 1).repeat(10)));
    refused(&kernel(&empty, "A29"), &["macros expand to more than"]);
    let mut chain = String::from("#define A0 1\n");
    (1..5_000).for_each(|at| chain += &format!("#define A{at} A{}\n", at - 1));
    refused(&kernel(&chain, "x[0] = A4999;"), &["macros are nested deeper"]);
    let nested = ["F(".repeat(100_000), "1".into(), ")".repeat(100_000)].concat();
    refused(&kernel("#define F(x) x", &format!("x[0] = {nested};")), &["nested deeper"]);
    let doubled = "#define F(x) x x\n".to_string();
    let nested = ["F(".repeat(40), "1".into(), ")".repeat(40)].concat();
    refused(&kernel(&doubled, &nested), &["macros expand to more than"]);
    refused(&kernel("#define F(x) x", "F(1"), &["behind the arguments of macro F"]);
}

#[test]
fn sizes() {
    refused(&kernel("", "f32 a[1 << 20];"), &["private memory"]);
    refused(&kernel("", "f32 a[1 << 30][1 << 30];"), &["larger than"]);
    refused(&kernel("", "f32 a[0xffffffffffffffff];"), &["extent above 0"]);
    refused(&kernel("", "f32 a[-1];"), &["extent above 0"]);
    refused(&kernel("", "LOCAL_MEM f32 a[1 << 20];"), &["local memory is larger"]);
    refused(&kernel("CONSTANT_MEM f32 a[1 << 27] = {1};", ""), &["constant memory is larger"]);
    let mut types = String::from("typedef f32 T0[100];\n");
    (1..50).for_each(|at| types += &format!("typedef T{} T{at}[100];\n", at - 1));
    refused(&kernel(&types, "T49 a;"), &["larger than"]);
    let mut structs = String::from("struct S0 { f32 a[1000]; };\n");
    (1..50).for_each(|at| structs += &format!("struct S{at} {{ struct S{} a[1000]; }};\n", at - 1));
    refused(&kernel(&structs, ""), &["larger than"]);
    let mut pointers = String::from("typedef f32 *T0;\n");
    (1..100).for_each(|at| pointers += &format!("typedef T{} *T{at};\n", at - 1));
    refused(&kernel(&pointers, ""), &["nested deeper"]);
    let many: String = (0..40_000).map(|at| format!("f32 v{at} = x[0];")).collect();
    refused(&kernel("", &many), &["variables"]);
    let many: String = (0..70_000).map(|at| format!("{{ f32 v; f32 *p = &v; x[0] = {at}; }}")).collect();
    refused(&kernel("", &many), &["variables"]);
    refused(&kernel("struct S { struct S s; };", ""), &["struct S is not defined"]);
    refused(&kernel("", &" ".repeat(5 << 20)), &["longer than"]);
}

#[test]
fn ends() {
    refused("KERNEL void k(GLOBAL_MEM f32 *x) { x[0] = 1; /* no end", &["kernels:1", "`*/`"]);
    refused(
        "KERNEL void k(GLOBAL_MEM f32 *x) {\n x[0] = \"no end;\n}",
        &["kernels:2", "before the end of the line"],
    );
    refused(
        "KERNEL void k(GLOBAL_MEM f32 *x) {\n x[0] = 'no\n}",
        &["kernels:2", "before the end of the line"],
    );
    refused("KERNEL void k(GLOBAL_MEM f32 *x) {\n#if 1\n}", &["kernels:2", "#endif"]);
    refused("KERNEL void k(GLOBAL_MEM f32 *x) {\n#endif\n}", &["kernels:2", "#endif without #if"]);
    refused("KERNEL void k(GLOBAL_MEM f32 *x) {\n x[0] = 1;", &["kernels:2", "expected `}`"]);
    refused("KERNEL void k(GLOBAL_MEM f32 *x) { x[0] = 1; @ }", &["`@` is no character"]);
    refused("KERNEL void k(GLOBAL_MEM f32 *x) { x[0] = \u{e9}; }", &["is no character"]);
    refused("KERNEL void k(GLOBAL_MEM f32 *x) {\n#", &["expected `}`"]);
    for end in [
        "x",
        "x[",
        "x[0",
        "x[0] =",
        "f(",
        "for (",
        "for (;;",
        "if (",
        "struct",
        "struct {",
        "sizeof",
        "sizeof(",
        "(f32",
        "x.",
        "x ?",
        "switch (",
        "case",
        "do",
        "f32 y[",
        "f32 y = {",
        "#define",
        "#if",
        "enum {",
        "enum { A =",
        "&",
        "KERNEL",
        "LAUNCH_BOUNDS",
        "_Pragma",
    ] {
        refused(&format!("KERNEL void k(GLOBAL_MEM f32 *x) {{\n {end}"), &["kernels:"]);
        refused(&format!("KERNEL void k(GLOBAL_MEM f32 *x) {{ }}\n{end}"), &["kernels:"]);
    }
}

/// Every text that differs from a good one by a token or two gives a result or an error.
#[test]
fn mutated_texts_do_no_harm() {
    let text = "typedef struct { f32 a; i32 b[2]; } S;
        #define M(a, b) ((a) + (b))
        DEVICE_FN S f(S s, f32 *p) { s.b[0] = M(s.b[1], 2); p[0] += s.a; return s; }
        CONSTANT_MEM i32 t[] = {1, 2, 3};
        KERNEL void k(GLOBAL_MEM f32 *x, u32 n) { LOCAL_MEM f32 l[8]; S s = {1, {2, 3}};
        { u32 i = n; l[i] = x[i % 4]; local_barrier(); s = f(s, &l[i]); if (i == 2) s.a = 1; }
        switch (n) { case 1: x[0] = s.a ? -s.b[1] : t[n]; break; default: x[1] = sqrt(l[0]) * (f32)n; } }";
    let pieces: Vec<&str> = text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let mut state = 7u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let (mut good, mut bad) = (0, 0);
    for _ in 0..3_000 {
        let mut own = pieces.clone();
        for _ in 0..=next(2) {
            let (at, from) = (next(own.len()), next(pieces.len()));
            match next(3) {
                0 => own[at] = pieces[from],
                1 => own.insert(at, pieces[from]),
                _ => drop(own.remove(at)),
            }
        }
        let text = own.concat();
        // The signature is what the arguments below are for.
        if !text.contains("KERNEL void k(GLOBAL_MEM f32 *x, u32 n)")
            || workalike_kernels::custom::Source::dialect(text.as_str()).is_err()
        {
            continue;
        }
        let run = Run::of(&text).groups([1; 3], [2, 1, 1]).output(&[1f32; 4]).number(2u32);
        match run.all() {
            Ok(_) => good += 1,
            Err(_) => bad += 1,
        }
    }
    assert!(good > 100 && bad > 100, "{good} {bad}");
}
