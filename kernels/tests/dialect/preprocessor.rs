//! Macros, conditions and directives.

use super::{Run, computed};

fn under(head: &str, statements: &str) -> i32 {
    let text =
        format!("{head}\nKERNEL void k(GLOBAL_MEM i32 *out) {{ i32 r = 0; {statements}\n out[0] = r; }}");
    Run::of(&text).output(&[0i32]).first::<i32>()[0]
}

#[test]
fn macros_expand_as_in_c() {
    assert_eq!(under("#define TWICE(x) ((x) * 2)\n#define N TWICE(TWICE(3))", "r = N;"), 12);
    assert_eq!(under("DEVICE_FN i32 f(i32 x) { return 100; }\n#define f(x) x + f(x)", "r = f(1);"), 101);
    assert_eq!(
        under(
            "#define EMPTY()\n#define ONE(x) x\n#define PAIR(a, b) a b",
            "r = 4 EMPTY() ONE(); r PAIR(+=, 3);"
        ),
        7
    );
    assert_eq!(under("#define A B\n#define B A\nCONSTANT_MEM i32 A = 3;", "r = A;"), 3);
    assert_eq!(under("#define N 1\n#define N 2\n#undef M", "r = N;"), 2);
    assert_eq!(under("#define f(x) 1\n#define g f", "i32 f = 3; r = g(0) + f;"), 4);
    assert_eq!(under("#define LONG 1 + \\\n 2", "r = LONG;"), 3);
    assert_eq!(under("#define CALL(f, x) f(x)\n#define NEG(x) (-(x))", "r = CALL(NEG, (1, 5));"), -5);
    assert_eq!(under("", "/* r = 1; // */ r = 2; // r = 3; \\\n r = 4;\n"), 2);
}

#[test]
fn conditions_choose_the_text() {
    let choose = |n: i32| {
        under(
            &format!(
                "#define N {n}\n#if N == 1 && defined(N)\n#define R 1\n#elif N > (1 << 2) || !defined N\n#if 0\nnonsense #\n#else\n#define R 2\n#endif\n#else\n#define R 3\n#endif"
            ),
            "r = R;",
        )
    };
    assert_eq!([1, 9, 3].map(choose), [1, 2, 3]);
    assert_eq!(
        under(
            "#ifdef HAS_SHUFFLE\n#error no\n#endif\n#ifndef KERNEL\n#error no\n#endif\n#pragma once\n#line 7",
            "_Pragma(\"unroll\") for (i32 i = 0; i < 3; i++) r += i;"
        ),
        3
    );
    for condition in [
        "defined(T) && 64 % T == 0",
        "!(!defined(T) || 1 / T)",
        "defined(T) ? 64 / T : 0",
        "1 ? 0 : 64 / T",
        "0 && (1 || 1 / 0)",
    ] {
        let head = format!("#if {condition}\n#error no\n#endif");
        assert_eq!(under(&head, "r = 1;"), 1, "{condition}");
    }
    assert_eq!(under("#if UNKNOWN ? 1 : -1 + 1\n#define R 1\n#else\n#define R 2\n#endif", "r = R;"), 2);
}

#[test]
fn what_does_not_count_may_be_no_c() {
    let head = "#if 0\nit's @ `odd` \"\\q\n#define X it's\n#elif 1\n#pragma it's\n#else\n\u{e9} '\n#endif\n\
        #define CAT(a, b) a ## b\n#define STR(a) #a\n";
    assert_eq!(under(head, "r = 3;"), 3);
}

#[test]
fn an_error_has_the_line_of_the_macros_use() {
    let text = "#define BAD no_such_name\nKERNEL void k(GLOBAL_MEM f32 *x)\n{\n    x[0] =\n BAD;\n}\n";
    Run::of(text).output(&[0f32]).fails(&["kernels:5: unknown name `no_such_name`", "kernels:5 |  BAD;"]);
}

#[test]
fn errors_of_the_preprocessor_name_the_line() {
    let refused = |head: &str, words: &[&str]| {
        Run::of(&format!("{head}\nKERNEL void k(GLOBAL_MEM f32 *x) {{}}")).output(&[0f32]).fails(words);
    };
    refused("\n#include <math.h>", &["kernels:2", "cluda.h"]);
    refused("#define CAT(a, b) a ## b\nCAT(a, b)", &["kernels:2", "`##` in macro CAT"]);
    refused("#define STR(a) #a\nSTR(1)", &["kernels:2", "`#` in macro STR"]);
    refused("#define BAD it's", &["kernels:1", "before the end of the line"]);
    refused("#if @\n#endif", &["kernels:1", "`@`"]);
    refused("#if 1\n@\n#endif", &["kernels:2", "`@`"]);
    refused("#if 1 << 64\n#endif", &["kernels:1", "a shift"]);
    refused("#error it's that", &["kernels:1", "#error it 's that"]);
    refused("#define V(...) 1", &["kernels:1", "`...`"]);
    refused("#else", &["kernels:1", "#else without #if"]);
    refused("#if 1\n#else\n#else\n#endif", &["kernels:3", "#else without #if"]);
    refused("#if 1 / 0\n#endif", &["kernels:1", "division by zero"]);
    refused("#if (1\n#endif", &["kernels:1", "expected `)`"]);
    refused("#error use another", &["kernels:1", "use another"]);
    refused(
        "#define F(a, b) a\nCONSTANT_MEM i32 c = F(1);",
        &["kernels:2", "expected 2 arguments of macro F, found 1"],
    );
    assert_eq!(computed::<i32>("i32", "\n#if 1\nr = 1;\n#endif\n"), 1);
}
