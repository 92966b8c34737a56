//! Kernels of users: their signatures, what is refused, and the text that devices compile.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::path::Path;
use std::sync::Arc;
use workalike_kernels::custom::{
    CustomLaunch, KernelArg, KernelCall, KernelSignature, KernelSource, Language, ParamKind, ScalarFunction,
    SourceError,
};
use workalike_kernels::library::LibraryOp;
use workalike_kernels::nest::{Block, Index, Inst, Nest, Operand, Phase, PhaseKind, Store};
use workalike_kernels::print::{Dialect, ForSizes, Target, print};
use workalike_kernels::verify::Verified;
use workalike_kernels::{DType, Scalar};

fn target(dialect: Dialect) -> Target {
    Target {
        dialect,
        max_group: 256,
        local_memory: 48 << 10,
        lanes: 1 << 16,
        cpu: false,
        fast: false,
        sizes: ForSizes::One,
    }
}

fn array(dtype: DType, written: bool) -> ParamKind {
    ParamKind::Array { dtype: Some(dtype), written }
}

fn signatures(language: Language, text: &str) -> Vec<KernelSignature> {
    KernelSource::new(language, text, &[]).unwrap().signatures().cloned().collect()
}

fn kinds(signature: &KernelSignature) -> Vec<(&str, ParamKind)> {
    signature.params.iter().map(|param| (param.name.as_str(), param.kind)).collect()
}

#[test]
fn signatures_are_read_in_each_language() {
    let found = signatures(
        Language::CudaCpp,
        "// __global__ void no(int x) {}\n/* __global__ void neither() {} */\n#define NO __global__ void no() {}\n\
         __device__ float helper(float x) { return x; }\n\
         __global__ void __launch_bounds__(256) first(float *__restrict__ dest, const double * a, unsigned long long n)\n\
         { const char *text = \"__global__ void no() {}\"; }\n\
         extern \"C\" __global__ void second(int4* p) {}\n__global__ void declared(int x);\n",
    );
    assert_eq!(found.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["first", "second"]);
    let expected = [
        ("dest", array(DType::F32, true)),
        ("a", array(DType::F64, false)),
        ("n", ParamKind::Scalar(DType::U64)),
    ];
    assert_eq!(kinds(&found[0]), expected);
    assert_eq!(kinds(&found[1]), [("p", ParamKind::Array { dtype: None, written: true })]);
    let found = signatures(
        Language::OpenClC,
        "__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void k(__global const uchar *x, const int n, \
         __local float *t) {}\nkernel void nothing(void) {}",
    );
    let expected =
        [("x", array(DType::U8, false)), ("n", ParamKind::Scalar(DType::I32)), ("t", ParamKind::Local)];
    assert_eq!(kinds(&found[0]), expected);
    assert_eq!(kinds(&found[1]), []);
}

#[test]
fn type_parameters_have_their_dtypes() {
    let text = "KERNEL void k(type_x *x, const work_x by, type_xy *z) { }";
    let of = |x| KernelSource::new(Language::Dialect, text, &[("x", x), ("xy", DType::I8)]).unwrap();
    let source = of(DType::F16);
    let expected = [
        ("x", array(DType::F16, true)),
        ("by", ParamKind::Scalar(DType::F32)),
        ("z", array(DType::I8, true)),
    ];
    assert_eq!(kinds(source.signature("k").unwrap()), expected);
    let unknown = KernelSource::dialect("KERNEL void k(work_y by) {}").unwrap_err();
    assert!(unknown.message.contains("work_y by"), "{unknown}");
}

#[test]
fn what_is_no_kernel_is_refused() {
    let refused = |text: &str| KernelSource::dialect(text).unwrap_err();
    let at = |line, error: SourceError, word: &str| {
        assert!(error.line == line && error.message.contains(word), "{error}");
    };
    at(1, refused(""), "expected a kernel");
    at(1, refused("KERNEL"), "expected a kernel");
    at(1, refused("KERNEL void k"), "expected a kernel");
    at(2, refused("\nKERNEL void k(f32 *x"), "closing bracket");
    at(1, refused("KERNEL void k(f32) {}"), "the type and the name");
    at(3, refused("KERNEL void k(\n  f32 *x,\n  f32 **y) {}"), "f32 **y");
    at(1, refused("KERNEL void k(f32 x[4]) {}"), "x[4]");
    at(1, refused("KERNEL void k(Thing x) {}"), "unknown type");
    at(1, refused("KERNEL void k() {\0}"), "NUL");
    // Any bytes are a text that is taken or refused.
    for text in [
        "KERNEL void ünï(f32 *x) { /* ü",
        "KERNEL ( ) \" ' // \\",
        "KERNEL void k(,) {}",
        "__kernel__attribute__((",
    ] {
        let _ = KernelSource::dialect(text);
    }
}

/// A source with everything that is rewritten.
const TEXT: &str = "// A comment, and a kernel: KERNEL void no() {}
#include \"cluda.h\"
DEVICE_FN f32 twice(f32 x) { return x + x; }

KERNEL void first(GLOBAL_MEM const f32 *x, type_y *y /* no space */, const u64 n, // a comment
                  LOCAL_MEM_ARG f32 *part, LOCAL_MEM_ARG u32 *seen)
{
    LOCAL_MEM f32 fixed[16];
    u64 i = GID_0 * LDIM_0 + LID_0;
    if (i < n) store_y(y, i, twice(x[i]) + part[0] + fixed[0] + seen[0]);
    local_barrier();
}

KERNEL void second(GLOBAL_MEM i64 *total) { atomic_add_i64(total, 1); }
";

/// Whether a text is that of a file below `tests/snapshots`; with `BLESS` it becomes it.
fn is_snapshot(name: &str, text: &str) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/snapshots").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    std::fs::read_to_string(&path).unwrap_or_default() == text
}

#[test]
fn texts_are_what_the_files_say() {
    let dialect = KernelSource::new(Language::Dialect, TEXT, &[("y", DType::F16)]).unwrap();
    let dialect = dialect.constant("table", &[0.1f32, -3.0]).unwrap();
    let dialect = dialect.constant("limits", &[i64::MIN, 7]).unwrap();
    let raw = "__global__ void raw(float *x, int n)\n{\n    x[threadIdx.x] += n;\n}\n";
    let raw = KernelSource::new(Language::CudaCpp, raw, &[]).unwrap();
    let mut differing = Vec::new();
    for (name, source, dialect) in [
        ("cuda_custom/dialect.cu", &dialect, Dialect::CudaCpp),
        ("cuda_custom/raw.cu", &raw, Dialect::CudaCpp),
        ("opencl_custom/dialect.cl", &dialect, Dialect::OpenClC),
    ] {
        let text = source.printed(&target(dialect)).unwrap();
        differing.extend((!is_snapshot(name, &text)).then_some(name));
    }
    assert!(differing.is_empty(), "run BLESS=1 cargo test -p workalike-kernels --test custom: {differing:?}");
    assert!(raw.printed(&target(Dialect::OpenClC)).is_none());
}

/// Lines keep their numbers behind the `#line` directive.
#[test]
fn lines_keep_their_numbers() {
    let source = KernelSource::new(Language::Dialect, TEXT, &[("y", DType::F16)]).unwrap();
    for dialect in [Dialect::CudaCpp, Dialect::OpenClC] {
        let text = source.printed(&target(dialect)).unwrap();
        let (_, own) = text.split_once("#line 1 \"kernels\"\n").unwrap();
        let line = |text: &str| text.lines().position(|line| line.contains("local_barrier();")).unwrap();
        assert_eq!(line(own), line(TEXT), "{text}");
    }
}

/// A function of a user within a Nest, of halves that are computed in f32.
fn softplus() -> ScalarFunction {
    let named =
        |list: &[(&str, DType)]| list.iter().map(|(name, d)| ((*name).into(), *d)).collect::<Vec<_>>();
    let params = named(&[("x", DType::F16), ("beta", DType::F32)]);
    let statements = "f32 t = beta * x;\ny = log1p(exp(t)) / beta; kept = t > 0";
    let results = named(&[("y", DType::F16), ("kept", DType::Bool)]);
    ScalarFunction::new("soft plus", params, results, 0, statements).unwrap()
}

/// `y[i] = softplus(x[i], beta)`.
fn softplus_nest() -> Nest {
    let operand = |dtype, shape: &[u64], written| Operand::contiguous(dtype, shape, written);
    let load = |operand, index| Inst::Load { operand, index };
    let mut block = Block::default();
    let args = vec![block.push(load(0, vec![Index::axis(0)])), block.push(load(1, vec![]))];
    let value = block.push(Inst::Call { function: Arc::new(softplus()), args });
    let store = Store { operand: 2, index: vec![Index::axis(0)], value, when: None, add: false };
    Nest {
        name: "softplus".into(),
        axes: vec![1000],
        grid: 1,
        operands: vec![
            operand(DType::F16, &[1000], false),
            operand(DType::F32, &[], false),
            operand(DType::F16, &[1000], true),
        ],
        phases: vec![Phase { kind: PhaseKind::Point, block, folds: vec![], stores: vec![store] }],
    }
}

#[test]
fn functions_in_nests_are_printed_and_checked() {
    let nest = Verified::new(softplus_nest()).unwrap();
    let mut differing = vec![];
    for (dialect, name) in
        [(Dialect::CudaCpp, "cuda_custom/function.cu"), (Dialect::OpenClC, "opencl_custom/function.cl")]
    {
        let text = print(&[nest.clone(), nest.clone()], &target(dialect)).text;
        assert_eq!(text.matches("user_softplus_").count(), 3, "one definition: {text}");
        differing.extend((!is_snapshot(name, &text)).then_some(name));
    }
    assert!(differing.is_empty(), "run BLESS=1 cargo test -p workalike-kernels --test custom: {differing:?}");
    let mut wrong = softplus_nest();
    let Inst::Call { args, .. } = &mut wrong.phases[0].block.insts[2] else { panic!("the call moved") };
    args.swap(0, 1);
    assert!(Verified::new(wrong.clone()).unwrap_err().to_string().contains("an argument of a function"));
    let Inst::Call { args, .. } = &mut wrong.phases[0].block.insts[2] else { panic!("the call moved") };
    args.pop();
    assert!(Verified::new(wrong).unwrap_err().to_string().contains("2 parameters has 1 arguments"));
    let refused = |params: &[(&str, DType)], result| {
        let list = |names: &[(&str, DType)]| names.iter().map(|(n, d)| ((*n).into(), *d)).collect();
        ScalarFunction::new("f", list(params), list(&[("y", DType::F32)]), result, "y = x").unwrap_err()
    };
    assert!(refused(&[("x y", DType::F32)], 0).contains("`x y`"));
    assert!(refused(&[("y", DType::F32)], 0).contains("two Variables are called y"));
    assert!(refused(&[("x", DType::F32)], 1).contains("result 1 of 1"));
}

#[test]
fn constants_are_checked() {
    let source = || KernelSource::dialect("KERNEL void k(GLOBAL_MEM f32 *x) {}").unwrap();
    let words = |refused: Result<KernelSource, SourceError>| refused.unwrap_err().message;
    assert!(words(source().constant("a b", &[1f32])).contains("a name of C"));
    assert!(words(source().constant("a", &[1f32]).unwrap().constant("a", &[1i32])).contains("not taken"));
    assert!(words(source().constant("a", &[] as &[f32])).contains("found none"));
    assert!(words(source().constant("a", &[f32::INFINITY])).contains("finite"));
    assert!(words(source().constant("a", &[half::f16::ONE])).contains("found float16"));
    let mixed = [Scalar::from(1f32), Scalar::from(1i32)];
    assert!(words(source().constant("a", &mixed)).contains("one dtype"));
    let text = source().constant("a", &[true, false]).unwrap().constant("b", &[u64::MAX]).unwrap();
    let text = text.printed(&target(Dialect::OpenClC)).unwrap();
    assert!(text.contains("__constant unsigned char a[2] = {1, 0};"), "{text}");
    assert!(text.contains("__constant unsigned long b[1] = {18446744073709551615UL};"), "{text}");
}

#[test]
fn launches_are_checked() {
    let source = Arc::new(
        KernelSource::dialect(
            "KERNEL void k(GLOBAL_MEM const f32 *x, GLOBAL_MEM f32 *y, u32 n) { y[0] = x[n]; }",
        )
        .unwrap(),
    );
    let operands = |written| {
        vec![Operand::contiguous(DType::F32, &[4], false), Operand::contiguous(DType::F32, &[4], written)]
    };
    let n = KernelArg::Scalar(Scalar::from_i128(DType::U32, 3));
    let call =
        |args: Vec<KernelArg>| KernelCall { kernel: "k".into(), grid: [2, 1, 1], group: [8, 1, 1], args };
    let op = |operands, call| CustomLaunch {
        source: source.clone(),
        operands,
        calls: vec![call],
        initialized: true,
    };
    let good = || call(vec![KernelArg::Array(0), KernelArg::Array(1), n]);
    op(operands(true), good()).verify().unwrap();
    let refused = |operands, call: KernelCall, words: &str| {
        let error = op(operands, call).verify().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(operands(false), good(), "`y`, found an array of float32 that is only read");
    refused(operands(true), call(vec![KernelArg::Array(0), KernelArg::Array(1)]), "3 arguments, found 2");
    refused(operands(true), call(vec![KernelArg::Array(0), KernelArg::Array(7), n]), "operand 7 of 2");
    refused(operands(true), call(vec![n, KernelArg::Array(1), n]), "an array of float32 for `x`");
    refused(operands(true), KernelCall { kernel: "q".into(), ..good() }, "one of the kernels k");
    refused(operands(true), KernelCall { group: [0, 1, 1], ..good() }, "at least one work item");
    let huge = Operand::contiguous(DType::F32, &[u64::MAX, 2], true);
    refused(vec![operands(true)[0].clone(), huge], good(), "at most");
    let swapped = operands(true).into_iter().rev().collect();
    refused(swapped, good(), "inputs first");
}
