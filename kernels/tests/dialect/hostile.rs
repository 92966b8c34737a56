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
    for count in [150, 30_000] {
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
    refused(&kernel("", &format!("x[0] = 1{};", " + x[0]".repeat(50_000))), &["more than 256 operators"]);
    refused(&kernel("", &format!("x[0] = 1{};", ", x[0]".repeat(50_000))), &["more than 256 operators"]);
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
    let nested = ["F(".repeat(50_000), "1".into(), ")".repeat(50_000)].concat();
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
    let many: String = (0..40_000).map(|at| format!("f32 v{at};")).collect();
    refused(&kernel("", &many), &["variables"]);
    refused(&kernel("#define T { f32 v; f32 *p = &v; }", &"T ".repeat(70_000)), &["variables"]);
    refused(&kernel("struct S { struct S s; };", ""), &["struct S is not defined"]);
    refused(&kernel("", &" ".repeat(2 << 20)), &["longer than"]);
    refused(&kernel("", &";".repeat(300_000)), &["more than 262144 words and signs"]);
    let error =
        workalike_kernels::custom::KernelSource::dialect(kernel("", &" ".repeat(5 << 20))).unwrap_err();
    assert!(error.message.contains("longer than"), "{error}");
}

/// Each of these took a time that grows with the square of the text.
#[test]
fn long_lists() {
    let list = |count: usize, of: &dyn Fn(usize) -> String| (0..count).map(of).collect::<String>();
    let fields = |count| format!("struct S {{ {} }};", list(count, &|at| format!("f32 a{at};")));
    refused(&kernel(&fields(5_000), ""), &["more than 4096 fields"]);
    let uses = list(20_000, &|at| format!("s.a{} = 1;", 4_000 + at % 90));
    let values = format!("struct S t[] = {{ {} }};", "{},".repeat(60_000));
    refused(&kernel(&fields(4_096), &format!("struct S s; {uses} y;")), &["unknown name `y`"]);
    refused(&kernel(&fields(4_096), &values), &["private memory"]);
    let functions = list(5_000, &|at| format!("DEVICE_FN void g{at}(void) {{}}"));
    refused(&kernel(&functions, ""), &["more than 4096 functions"]);
    let chain = list(4_000, &|at| {
        let calls = if at == 0 { "local_barrier();".into() } else { format!("g{}();", at - 1) };
        format!("DEVICE_FN void g{}(void);\nDEVICE_FN void g{at}(void) {{ {calls} }}", 3_999 - at)
    });
    let calls = list(20_000, &|at| format!("g{}();", at % 4_000));
    refused(&kernel(&chain, &format!("{calls} y;")), &["unknown name `y`"]);
    let run = Run::of(&kernel(&chain, "g3999(); x[0] = 1;")).output(&[0f32]);
    assert_eq!(run.first::<f32>(), [1.0]);
    let names = |count| list(count, &|at| format!("f32 a{at},"));
    let function = |count| format!("DEVICE_FN void f({} f32 z) {{}}", names(count));
    refused(&kernel(&function(300), ""), &["more than 256 parameters"]);
    let words = list(300, &|at| format!("a{at},"));
    refused(&kernel(&format!("#define F({words} z) 1"), ""), &["more than 256 parameters"]);
    let constants = list(20_000, &|at| format!("CONSTANT_MEM u8 c{at} = 1;"));
    refused(&kernel(&constants, "y;"), &["unknown name `y`"]);
    let mut hidden = String::from("#define A0(x) x\n");
    (1..250).for_each(|at| hidden += &format!("#define A{at}(x) A{}(x)\n", at - 1));
    refused(&kernel(&hidden, &format!("A249({}) y;", "z ".repeat(50_000))), &["kernels:"]);
    for text in ["KERNEL ".repeat(500_000), "KERNEL a(".repeat(400_000) + &")".repeat(400_000)] {
        let start = Instant::now();
        assert!(workalike_kernels::custom::KernelSource::dialect(text).is_err());
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }
}

/// The deepest texts that are taken compile and run with little stack; without optimization they need less
/// than the 2 MiB of a thread.
#[test]
fn the_limits_of_nesting_fit_a_small_stack() {
    let nested =
        |blocks: usize, inner: &str| kernel("", &[&"{ ".repeat(blocks), inner, &"}".repeat(blocks)].concat());
    let ifs =
        "if (x[0] >= 0) { ".repeat(44) + &format!("x[0] = 1{};", " + x[0]".repeat(252)) + &"}".repeat(44);
    let texts = vec![
        (nested(90, &format!("x[0] = x[0]{};", " + x[0]".repeat(252))), 253.0),
        (nested(90, &format!("x[0] = 1; x[0] = (x[0]{});", " * x[0]".repeat(250))), 1.0),
        (nested(0, &ifs), 253.0),
        (nested(0, &format!("x[0] = {}x[0]{};", "(x[0] + ".repeat(45), ")".repeat(45))), 46.0),
        (nested(0, &format!("x[0] = {}x[0];", "x[0] < 0 ? 5 : ".repeat(90))), 1.0),
        (nested(0, &format!("x[0] = {}x[0];", "- ".repeat(90))), 1.0),
        (nested(0, &format!("x[0] = x[0]{} + 1;", " && x[0]".repeat(250))), 1.0),
        (nested(0, &format!("x[0] = 0{} || x[0];", " || x[0] < 0".repeat(240))), 1.0),
        (nested(80, &format!("x[0] = x[0]{};", ", x[0]".repeat(250))), 1.0),
    ];
    let run = move || {
        for (text, want) in texts {
            let found = Run::of(&text).output(&[1f32]).all();
            let found = found.map(|all| bytemuck::pod_collect_to_vec::<u8, f32>(&all[0]));
            assert_eq!(found, Ok(vec![want]), "{}", &text[..200]);
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
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
            || workalike_kernels::custom::KernelSource::dialect(text.as_str()).is_err()
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
