//! Generated text of library ops, against the files in `tests/snapshots`. `BLESS=1` rewrites the files.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::collections::BTreeSet;
use std::path::Path;
use workalike_kernels::DType;
use workalike_kernels::library::{Cumulate, LibraryOp, Scatter, Sorting};
use workalike_kernels::nest::Fold;
use workalike_kernels::print::library::{ALIGNMENT, LaunchArg};
use workalike_kernels::print::{Dialect, ForSizes, Target};

/// A device of many lanes.
fn target(dialect: Dialect) -> Target {
    Target {
        dialect,
        max_group: 1024,
        local_memory: 48 << 10,
        lanes: 200_000,
        cpu: false,
        fast: false,
        sizes: ForSizes::One,
    }
}

fn sorting(dtype: DType, shape: [u64; 3], values: bool, indices: bool) -> Sorting {
    Sorting { dtype, shape, kept: shape[1], descending: false, values, indices, only: None }
}

fn sort(dtype: DType, shape: [u64; 3], values: bool, indices: bool) -> Box<dyn LibraryOp> {
    Box::new(sorting(dtype, shape, values, indices))
}

fn running(fold: Fold, dtype: DType, shape: [u64; 3]) -> Box<dyn LibraryOp> {
    Box::new(Cumulate { fold, dtype, from: dtype, shape, reverse: false })
}

fn rows(fold: Option<Fold>, dtype: DType, [points, rows, width]: [u64; 3]) -> Scatter {
    Scatter { dtype, fold, points, rows, width, each_row: true, each_column: true }
}

fn scatter(fold: Option<Fold>, dtype: DType, sizes: [u64; 3]) -> Box<dyn LibraryOp> {
    Box::new(rows(fold, dtype, sizes))
}

fn ops() -> Vec<(&'static str, Box<dyn LibraryOp>)> {
    let topk = Sorting { kept: 10, descending: true, ..sorting(DType::F16, [64, 10_000, 1], true, true) };
    let few = Sorting { kept: 50, ..sorting(DType::F32, [3, 1 << 20, 1], true, true) };
    let medians =
        Sorting { only: Some(vec![4999, 5000]), ..sorting(DType::F64, [500, 10_000, 1], true, false) };
    let one = Scatter {
        each_row: false,
        each_column: false,
        ..rows(Some(Fold::Sum), DType::F32, [100_000, 1000, 16])
    };
    vec![
        ("sort_short_rows", sort(DType::F32, [1000, 100, 1], true, true)),
        ("sort_shortest_rows", sort(DType::F32, [1000, 9, 1], true, true)),
        ("sort_rows", sort(DType::F32, [1000, 4096, 1], true, false)),
        ("sort_columns", sort(DType::I16, [1, 3001, 50], true, true)),
        ("sort_long_columns", sort(DType::F32, [1, 200_000, 7], true, true)),
        ("sort_long", sort(DType::F32, [1, 1 << 24, 1], true, false)),
        ("argsort_long", sort(DType::F64, [3, 1 << 20, 1], false, true)),
        ("topk", Box::new(topk)),
        ("topk_few_rows", Box::new(few)),
        ("medians", Box::new(medians)),
        ("scatter_add", scatter(Some(Fold::Sum), DType::F32, [100_000, 50_000, 256])),
        ("scatter_max", scatter(Some(Fold::Max), DType::F16, [300, 10, 7])),
        ("scatter_set", scatter(None, DType::F64, [5000, 100, 1])),
        ("scatter_set_sparse", scatter(None, DType::F32, [1000, 1 << 24, 64])),
        ("scatter_one", Box::new(one)),
        ("scatter_sums", scatter(Some(Fold::Sum), DType::F16, [1 << 20, 1 << 16, 1])),
        ("scatter_sums_few", scatter(Some(Fold::Sum), DType::F32, [10_000, 1 << 16, 2])),
        ("scatter_grouped", scatter(Some(Fold::Sum), DType::F32, [10_000, 1 << 16, 64])),
        ("scatter_sums_small", scatter(Some(Fold::Sum), DType::F32, [1 << 20, 64, 4])),
        ("scatter_counts", scatter(Some(Fold::Sum), DType::I32, [1 << 20, 256, 1])),
        ("scatter_extremes", scatter(Some(Fold::Max), DType::F32, [1 << 20, 4096, 1])),
        ("cumsum_long", running(Fold::Sum, DType::F32, [1, 1 << 24, 1])),
        ("cumsum_rows", running(Fold::Sum, DType::F64, [4096, 4096, 1])),
        ("cummax_columns", running(Fold::Max, DType::F32, [1, 4096, 1024])),
        ("cumprod_columns", running(Fold::Product, DType::I32, [1 << 16, 100, 8])),
    ]
}

#[test]
fn kernels_are_what_the_files_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/snapshots");
    let bless = std::env::var_os("BLESS").is_some();
    let mut differing = Vec::new();
    for (name, of) in ops() {
        for (dialect, kind, ending) in
            [(Dialect::CudaCpp, "cuda_library", "cu"), (Dialect::OpenClC, "opencl_library", "cl")]
        {
            let routine = of.routine(&target(dialect)).unwrap();
            assert_eq!(of.routine_scratch(&target(dialect)), Some(routine.scratch), "{name}");
            let mut parts = routine.launches.iter().flat_map(|launch| &launch.args);
            let aligned = |arg: &LaunchArg| match arg {
                LaunchArg::Memory(part) => part.offset.is_multiple_of(ALIGNMENT),
                _ => true,
            };
            assert!(parts.all(aligned), "{name}");
            let text = routine.text;
            assert!(!text.contains('$'), "{name} has a word that is not filled in");
            let path = folder.join(kind).join(format!("{name}.{ending}"));
            if bless {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, text).unwrap();
            } else if std::fs::read_to_string(&path).unwrap_or_default() != text {
                differing.push(format!("{kind}/{name}.{ending}"));
            }
        }
    }
    assert!(
        differing.is_empty(),
        "generated code changed; if that is meant, run\n    BLESS=1 cargo test -p workalike-kernels --test library\n\
         and look at the difference before committing it: {differing:?}"
    );
}

/// Distinct texts of an op of many sizes, on a GPU and on a processor.
fn texts(dialect: Dialect, sizes: impl Iterator<Item = Box<dyn LibraryOp>>) -> [usize; 2] {
    let gpu = target(dialect);
    let targets = [gpu.clone(), Target { lanes: 4, max_group: 256, cpu: true, ..gpu }];
    let mut texts: [BTreeSet<String>; 2] = Default::default();
    for op in sizes {
        for (texts, target) in texts.iter_mut().zip(&targets) {
            texts.extend(op.routine(target).map(|routine| routine.text));
        }
    }
    texts.map(|texts| texts.len())
}

#[test]
fn sizes_of_a_class_have_one_text() {
    let lengths = || (2..20_000).step_by(97);
    for (dialect, sorts) in [(Dialect::OpenClC, [4, 3]), (Dialect::CudaCpp, [13, 10])] {
        let rows = lengths().map(|n| running(Fold::Sum, DType::F32, [n % 300 + 1, n, 1]));
        assert_eq!(texts(dialect, rows)[1], 5);
        // Long rows of which there are few are divided.
        let rows = lengths().map(|n| running(Fold::Sum, DType::F32, [n % 300 + 1, n, 1]));
        assert_eq!(texts(dialect, rows)[0], 6);
        let columns = lengths().map(|n| running(Fold::Max, DType::F32, [3, n, n % 300 + 2]));
        assert_eq!(texts(dialect, columns), [2, 2]);
        let sort = lengths().map(|n| sort(DType::F32, [n % 300 + 1, n, 1], true, true));
        assert_eq!(texts(dialect, sort), sorts);
        let scatter = lengths().map(|n| scatter(None, DType::F32, [n, n % 300 + 1, 7]));
        // Radix sorts of one and of two digits.
        assert!(texts(dialect, scatter)[0] <= 2 * sorts[0]);
    }
}
