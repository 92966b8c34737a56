//! Compares generated OpenCL C and CUDA C++ and fused Programs with `tests/snapshots`. `BLESS=1` rewrites the
//! files.

use std::path::{Path, PathBuf};
use workalike::kernels::print::Dialect;
use workalike_suite::snapshot::{Paper, examples};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots")
}

#[test]
fn generated_code_agrees_with_the_files() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut expected = Vec::new();
    let mut differing = Vec::new();
    let mut compare = |file: String, text: &str| {
        let path = folder().join(&file);
        if bless {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
        } else if let Some(difference) = difference(&std::fs::read_to_string(&path).unwrap_or_default(), text)
        {
            differing.push(format!("{file}: {difference}"));
        }
        expected.push(path);
    };
    for example in examples().unwrap() {
        let name = example.name;
        let gpu = |dialect| Paper { dialect, cpu: false, matmul: true };
        let opencl = example.print(gpu(Dialect::OpenClC)).unwrap();
        let cuda = example.print(gpu(Dialect::CudaCpp)).unwrap();
        let cpu = example.print(Paper { dialect: Dialect::OpenClC, cpu: true, matmul: true }).unwrap();
        compare(format!("opencl/{name}.cl"), &opencl.source);
        compare(format!("opencl_cpu/{name}.cl"), &cpu.source);
        compare(format!("cuda/{name}.cu"), &cuda.source);
        compare(format!("programs/{name}.txt"), &opencl.program);
        assert_eq!(opencl.program, cuda.program, "{name}: the Program does not depend on the language");
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for kind in ["opencl", "opencl_cpu", "cuda", "programs"] {
        let files = std::fs::read_dir(folder().join(kind)).into_iter().flatten();
        found.extend(files.map(|file| file.unwrap().path()));
    }
    let stale: Vec<_> = found.iter().filter(|path| !expected.contains(path)).collect();
    if bless {
        stale.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    } else {
        assert!(stale.is_empty(), "no example prints {stale:?}; BLESS=1 removes them");
    }
    assert!(
        differing.is_empty(),
        "generated code changed; if that is meant, run\n    BLESS=1 cargo test -p workalike-suite --test snapshots\nand look at the difference before committing it:\n{}",
        differing.join("\n")
    );
}

/// The first line that differs.
fn difference(old: &str, new: &str) -> Option<String> {
    if old == new {
        return None;
    }
    if old.is_empty() {
        return Some("there is no such file".into());
    }
    let (mut a, mut b) = (old.lines(), new.lines());
    let mut number = 1;
    loop {
        match (a.next(), b.next()) {
            (Some(x), Some(y)) if x == y => number += 1,
            (x, y) => {
                let end = "(the end)";
                return Some(format!(
                    "line {number} was\n    {}\nand is\n    {}",
                    x.unwrap_or(end),
                    y.unwrap_or(end)
                ));
            }
        }
    }
}
