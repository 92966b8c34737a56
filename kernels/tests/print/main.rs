//! Generated text: exact for a few small Nests, plausible for the whole corpus.

#[path = "../corpus/mod.rs"]
mod corpus;
mod loops;
mod sizes;

use corpus::{Builder, Case, computed, modes};
use workalike_kernels::nest::PhaseKind::{Map, Point, Reduce};
use workalike_kernels::nest::{Fold, Index, IndexMode, Inst};
use workalike_kernels::print::{Dialect, ForSizes, Target, TranslationUnit, print};
use workalike_kernels::verify::Verified;
use workalike_kernels::{DType, Scalar, ops};

fn gpu(dialect: Dialect) -> Target {
    Target {
        dialect,
        max_group: 1024,
        local_memory: 48 << 10,
        lanes: 1 << 16,
        cpu: false,
        fast: false,
        sizes: ForSizes::One,
    }
}

fn targets() -> Vec<Target> {
    let cpu = Target { lanes: 4, cpu: true, ..gpu(Dialect::OpenClC) };
    let tiny = Target { lanes: 64, max_group: 64, local_memory: 1 << 10, ..gpu(Dialect::OpenClC) };
    vec![gpu(Dialect::OpenClC), gpu(Dialect::CudaCpp), cpu, tiny]
}

fn printed(case: Case, target: &Target) -> TranslationUnit {
    print(&[Verified::new(case.nest).expect("a sound Nest")], target)
}

/// The text from the first kernel on.
fn kernels(source: &TranslationUnit) -> &str {
    let at = source.text.find("\n\n").expect("a kernel");
    &source.text[at + 2..]
}

fn add() -> Case {
    Builder::new("x + y", &[20, 30], 2)
        .input(DType::F32, &[20, 30])
        .input(DType::F32, &[])
        .output(DType::F32, &[20, 30])
        .phase(Point, |p| {
            let (a, b) = (p.load(0, &[0, 1]), p.load(1, &[]));
            let v = p.op(ops::ADD, &[a, b]);
            let _unused = p.op(ops::EXP, &[v]);
            p.store(2, &[0, 1], v);
        })
        .done()
}

/// Each row is scaled by a number of its own, which then decays: operands 3 and 1 may share memory.
fn scaled_then_decayed(rows: u64, folds_between: bool) -> Case {
    let mut case = Builder::new("decay", &[rows, 4096], 1)
        .input(DType::F32, &[rows, 4096])
        .input(DType::F32, &[rows])
        .output(DType::F32, &[rows, 4096])
        .output(DType::F32, &[rows])
        .phase(Map, |p| {
            let (x, scale) = (p.load(0, &[0, 1]), p.load(1, &[0]));
            let v = p.op(ops::MUL, &[x, scale]);
            p.store(2, &[0, 1], v);
        });
    if folds_between {
        case = case.output(DType::F32, &[rows]).phase(Reduce, |p| {
            let x = p.load(0, &[0, 1]);
            p.fold(Fold::Sum, x);
        });
    }
    case.phase(Point, |p| {
        let (scale, rate) = (p.load(1, &[0]), p.constant(DType::F32, 0.99));
        let v = p.op(ops::MUL, &[scale, rate]);
        p.store(3, &[0], v);
        if folds_between {
            let sum = p.folded(1, 0);
            p.store(4, &[0], sum);
        }
    })
    .done()
}

#[test]
fn all_items_have_read_what_one_overwrites() {
    for (dialect, barrier) in [
        (Dialect::CudaCpp, "__syncthreads();"),
        (Dialect::OpenClC, "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"),
    ] {
        for rows in [1, 7] {
            let source = printed(scaled_then_decayed(rows, false), &gpu(dialect));
            let (map, point) = kernels(&source).split_once("if (y == 0u)").expect("a Point phase");
            assert!(source.entries[0].group > 1 && point.contains("b3["), "{point}");
            let (_, after) = map.rsplit_once("b2").expect("a Map phase");
            assert!(after.contains(barrier), "{dialect:?}, {rows} rows: no barrier before the store:\n{map}");
        }
        // A fold has a barrier already, so there is no second one.
        let source = printed(scaled_then_decayed(7, true), &gpu(dialect));
        let (map, _) = kernels(&source).split_once("f1_0").expect("a fold");
        assert!(!map.contains(barrier), "{map}");
    }
}

#[test]
fn stores_that_add_are_calls_of_their_own() {
    let case = || {
        Builder::new("scatter", &[64, 4], 2)
            .input(DType::I64, &[64])
            .input(DType::F32, &[64, 4])
            .output(DType::F32, &[9, 4])
            .phase(Point, |p| {
                let (place, v) = (p.load(0, &[0]), p.load(1, &[0, 1]));
                p.add_at(2, vec![computed(place), Index::axis(1)], v, None);
            })
            .done()
    };
    for target in targets() {
        let text = printed(case(), &target).text;
        let call = text.lines().find(|l| l.trim_start().starts_with("add_to_f32(b2 + ")).expect("a call");
        assert!(!call.contains("y0"), "each point adds by itself: {call}");
        let atomic = if target.dialect == Dialect::CudaCpp {
            "atomicAdd(at, x);"
        } else {
            "atomic_cmpxchg(word, old, "
        };
        assert!(text.contains(atomic), "{text}");
        assert!(!text.contains("cl_khr_int64_base_atomics"), "32 bits need no extension");
    }
}

#[test]
fn index_modes_are_written_out() {
    for mode in modes(3) {
        let case = Builder::new("gather", &[64], 1)
            .input(DType::I64, &[64])
            .input(DType::F32, &[4])
            .output(DType::F32, &[64])
            .output(DType::I64, &[])
            .phase(Point, |p| {
                let at = p.load(0, &[0]);
                let at = p.position(at, 4, mode);
                let v = p.load_at(1, vec![computed(at)]);
                p.store(2, &[0], v);
            });
        let source = printed(case.done(), &gpu(Dialect::CudaCpp));
        let text = kernels(&source);
        let stores = text.lines().find(|line| line.contains("b3[0] = "));
        let reports = stores.is_some_and(|line| line.trim_start().starts_with("if (") && line.contains("17"));
        assert_eq!(reports, matches!(mode, IndexMode::Report { .. }), "{mode:?}: {text}");
        assert_eq!(stores.is_some(), reports, "{mode:?}: {text}");
        assert_eq!(text.contains("remainder_i64(v"), mode == IndexMode::Wrap, "{mode:?}: {text}");
    }
}

#[test]
fn fast_code_calls_fast_functions() {
    let case = || {
        let b = Builder::new("waves", &[64], 1).input(DType::F32, &[64]).output(DType::F32, &[64]);
        b.phase(Point, |p| {
            let v = p.load(0, &[0]);
            let v = [ops::SIN, ops::EXP].into_iter().fold(v, |v, op| p.op(op, &[v]));
            p.store(1, &[0], v);
        })
        .done()
    };
    for target in targets() {
        let (exact, fast) =
            (printed(case(), &target), printed(case(), &Target { fast: true, ..target.clone() }));
        assert_eq!(kernels(&exact), kernels(&fast), "only what stands before the kernels differs");
        assert_eq!(exact.entries, fast.entries);
        let (exact, fast) = (exact.text, fast.text);
        if target.dialect == Dialect::OpenClC {
            assert!(exact.contains("FP_CONTRACT OFF") && !fast.contains("FP_CONTRACT"));
            continue;
        }
        assert!(!exact.contains("#define expf"));
        assert!(
            fast.contains("#define expf __expf\n") && !fast.contains("tanh"),
            "what is called, and no more"
        );
        let (function, name) =
            (fast.find("return sinf(x);").unwrap(), fast.find("#define sinf fast_sin").unwrap());
        assert!(function < name, "the function itself calls the exact one");
    }
}

#[test]
fn constants_are_exact() {
    for (value, opencl, cuda) in [
        (Scalar::from_f64(DType::F32, 0.5), "0.5f", "0.5f"),
        (Scalar::from_f64(DType::F32, -3.0), "(-3.0f)", "(-3.0f)"),
        (Scalar::from_f64(DType::F32, 0.1), "0x1.99999ap-4f", "0x1.99999ap-4f"),
        (Scalar::from_f64(DType::F64, 5e-324), "0x0.0000000000001p-1022", "0x0.0000000000001p-1022"),
        (
            Scalar::from_f64(DType::F64, f64::NAN),
            "as_double(0x7ff8000000000000UL)",
            "__longlong_as_double(0x7ff8000000000000LL)",
        ),
        (
            Scalar::from_f64(DType::F16, f64::INFINITY),
            "as_float(0x7f800000u)",
            "__uint_as_float(0x7f800000u)",
        ),
        (
            Scalar::from_i128(DType::I64, i64::MIN.into()),
            "(i64)0x8000000000000000UL",
            "(i64)0x8000000000000000ULL",
        ),
        (Scalar::from_i128(DType::I8, -1), "(i8)(-1)", "(i8)(-1)"),
        (Scalar::from_i128(DType::Bool, 1), "true", "true"),
    ] {
        for (dialect, text) in [(Dialect::OpenClC, opencl), (Dialect::CudaCpp, cuda)] {
            let case = Builder::new("c", &[], 0).output(value.dtype(), &[2]).phase(Point, |p| {
                let v = p.push(Inst::Const(value));
                p.store_at(0, vec![Index::constant(1)], v, None);
            });
            let source = printed(case.done(), &gpu(dialect));
            let stores = [format!("b0[1] = {text};"), format!("vstore_half_rte({text}, 1, b0);")];
            let half = format!("b0[1] = f32_to_f16({text});");
            let found = stores.iter().chain([&half]).any(|s| source.text.contains(s.as_str()));
            assert!(found, "{value}: {}", source.text);
        }
    }
}

#[test]
fn only_what_is_used_is_defined() {
    let source = printed(add(), &gpu(Dialect::OpenClC));
    for absent in ["f64", "bf16", "round_f16", "philox", "restrict"] {
        assert!(!source.text.contains(absent), "{absent}");
    }
    let cast =
        Builder::new("c", &[8], 1).input(DType::F64, &[8]).output(DType::BF16, &[8]).phase(Point, |p| {
            let v = p.load(0, &[0]);
            let v = p.cast(v, DType::BF16);
            p.store(1, &[0], v);
        });
    let text = printed(cast.done(), &gpu(Dialect::CudaCpp)).text;
    for present in [
        "typedef double f64",
        "f32 f64_to_f32_odd(",
        "f32 bf16_to_f32(",
        "u16 f32_to_bf16(",
        "f32 round_bf16(",
    ] {
        assert_eq!(text.matches(present).count(), 1, "{present}");
    }
}

#[test]
fn the_whole_corpus_prints() {
    let nests: Vec<Verified> =
        corpus::all().into_iter().map(|c| Verified::new(c.nest).expect("a sound Nest")).collect();
    for target in targets() {
        let source = print(&nests, &target);
        assert_eq!(source.text, print(&nests, &target).text);
        assert!(!source.text.contains("#error"));
        assert_eq!(source.text.matches('{').count(), source.text.matches('}').count());
        assert_eq!(source.entries.len(), nests.len());
        for (entry, nest) in source.entries.iter().zip(&nests) {
            assert!(entry.name.len() <= 40, "{}", entry.name);
            assert_eq!(source.text.matches(&format!("void {}(", entry.name)).count(), 1, "{}", entry.name);
            assert_eq!(entry.groups == 0, nest.grid_points() == 0, "{}", entry.name);
            assert!((1..=target.max_group).contains(&entry.group), "{}", entry.name);
        }
    }
}
