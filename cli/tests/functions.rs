//! The other built-in Functions, made, run and read back.

mod common;

use common::{Bench, devices};
use serde_json::json;

#[test]
fn ops_of_one_argument() {
    for device in devices() {
        let bench = Bench::new();
        let unary = |name: &str| {
            bench.ok(&["make", &format!("unary:{name}"), "--out", "f.walk"]);
            bench.ok(&["run", "f.walk", "--device", device, "--input", "x=x.npy", "--out", "out"]);
            bench.load("out/y.npy")
        };
        let x = [-2.5f32, -0.0, 0.25, 3.0];
        bench.save_f32("x.npy", "(4,)", &x);
        unary("tanh:float32");
        for (y, x) in bench.load_f32("out/y.npy").into_iter().zip(x) {
            assert!((y - x.tanh()).abs() <= 4.0 * f32::EPSILON * y.abs(), "tanh({x}) = {y}");
        }
        unary("sqr:f32");
        assert_eq!(bench.load_f32("out/y.npy"), x.map(|x| x * x));
        // A synonym, and the other byte order.
        let big: Vec<u8> = x.iter().flat_map(|x| x.to_be_bytes()).collect();
        bench.save("x.npy", ">f4", "(2, 2)", &big);
        let (header, _) = unary("neg:float32:2");
        assert!(header.contains("'shape': (2, 2)"), "{header}");
        assert_eq!(bench.load_f32("out/y.npy"), x.map(|x| -x));

        bench.save_i64("x.npy", "()", &[9]);
        let (header, y) = unary("sqrt:int64:0");
        assert!(header.contains("'<f8'") && header.contains("'shape': ()"), "{header}");
        assert_eq!(y, 3f64.to_le_bytes());

        bench.save("x.npy", "|i1", "(3,)", &[0xff, 0, 5]);
        let (header, y) = unary("square:int8");
        assert!(header.contains("'|i1'"), "{header}");
        assert_eq!(y, [1, 0, 25]);
        bench.save("x.npy", "|b1", "(3,)", &[1, 0, 1]);
        let (header, y) = unary("logical_not:bool");
        assert!(header.contains("'|b1'"), "{header}");
        assert_eq!(y, [0, 1, 0]);

        // 1 and -2 as float16 and bfloat16.
        bench.save("x.npy", "<f2", "(2,)", &[0x00, 0x3c, 0x00, 0xc0]);
        assert_eq!(unary("negative:float16").1, [0x00, 0xbc, 0x00, 0x40]);
        bench.save("x.npy", "<V2", "(2,)", &[0x80, 0x3f, 0x00, 0xc0]);
        let (header, y) = unary("negative:bfloat16");
        assert!(header.contains("'<V2'"), "{header}");
        assert_eq!(y, [0x80, 0xbf, 0x00, 0x40]);
    }
}

#[test]
fn ops_of_two_and_three_arguments() {
    for device in devices() {
        let bench = Bench::new();
        let run = |name: &str, inputs: &str| {
            bench.ok(&["make", name, "--out", "f.walk"]);
            let inputs: Vec<String> = inputs.chars().map(|x| format!("{x}={x}.npy")).collect();
            let mut words = vec!["run", "f.walk", "--device", device, "--out", "out"];
            inputs.iter().for_each(|input| words.extend(["--input", input]));
            bench.ok(&words);
            bench.load("out/out.npy")
        };
        bench.save_f32("x.npy", "(2, 1)", &[1.0, 10.0]);
        bench.save_f32("y.npy", "(3,)", &[1.0, 2.0, 3.0]);
        // A column and a row, without ranks in the name.
        let (header, _) = run("binary:add:f32", "xy");
        assert!(header.contains("'shape': (2, 3)"), "{header}");
        assert_eq!(bench.load_f32("out/out.npy"), [2.0, 3.0, 4.0, 11.0, 12.0, 13.0]);
        run("binary:power:f32:2,1", "xy");
        assert_eq!(bench.load_f32("out/out.npy"), [1.0, 1.0, 1.0, 10.0, 100.0, 1000.0]);
        let (header, out) = run("binary:less:f32", "xy");
        assert!(header.contains("'|b1'"), "{header}");
        assert_eq!(out, [0, 1, 1, 0, 0, 0]);
        bench.save_f32("z.npy", "()", &[2.0]);
        run("ternary:clip:f32", "xyz");
        assert_eq!(bench.load_f32("out/out.npy"), [1.0, 2.0, 2.0, 2.0, 2.0, 2.0]);
        bench.save("x.npy", "|b1", "(3,)", &[1, 0, 1]);
        run("ternary:where:f32", "xyz");
        assert_eq!(bench.load_f32("out/out.npy"), [1.0, 2.0, 3.0]);
        // Two dtypes, and empty arrays.
        bench.save_i64("x.npy", "(0, 1)", &[]);
        let (header, out) = run("binary:multiply:i64,f32", "xy");
        assert!(header.contains("'<f8'") && header.contains("'shape': (0, 3)"), "{header}");
        assert!(out.is_empty());
        // Shapes that do not broadcast are refused; the error names both.
        bench.save_f32("x.npy", "(2,)", &[1.0, 2.0]);
        bench.ok(&["make", "binary:add:f32", "--out", "f.walk"]);
        let words = ["run", "f.walk", "--device", device, "--input", "x=x.npy", "--input", "y=y.npy"];
        bench.refused(&words, "axis 0 does not broadcast: (2,), (3,)");
    }
}

#[test]
fn reductions() {
    for device in devices() {
        let bench = Bench::new();
        let reduce = |name: &str| {
            bench.ok(&["make", &format!("reduce:{name}"), "--out", "f.walk"]);
            bench.ok(&["run", "f.walk", "--device", device, "--input", "x=x.npy", "--out", "out"]);
            bench.load("out/out.npy")
        };
        bench.save_f32("x.npy", "(2, 3)", &[3.0, 1.0, 2.0, 4.0, 6.0, 5.0]);
        for (name, shape, values) in [
            ("sum:f32:0", "(3,)", &[7.0, 7.0, 7.0][..]),
            ("sum:f32:-1", "(2,)", &[6.0, 15.0]),
            ("max:f32:all", "()", &[6.0]),
            ("prod:f32:0,1", "()", &[720.0]),
            ("var=1:f32:1", "(2,)", &[1.0, 1.0]),
            ("norm=inf:f32:0", "(3,)", &[4.0, 6.0, 5.0]),
            ("median:f32:1:2", "(2,)", &[2.0, 5.0]),
            ("cumsum:f32:-1", "(2, 3)", &[3.0, 4.0, 6.0, 4.0, 10.0, 15.0]),
            ("cummax:f32:all", "(6,)", &[3.0, 3.0, 3.0, 4.0, 6.0, 6.0]),
            ("sort:f32:1", "(2, 3)", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
            ("topk=2:f32:-1", "(2, 2)", &[3.0, 2.0, 6.0, 5.0]),
        ] {
            let (header, _) = reduce(name);
            assert!(header.contains(&format!("'shape': {shape}")), "{name}: {header}");
            assert_eq!(bench.load_f32("out/out.npy"), values, "{name} on {device}");
        }
        reduce("argmin:f32:1");
        assert_eq!(bench.load_i64("out/out.npy"), [1, 0]);
        // Column-major files, bytes that are widened, and an empty reduction.
        let mut fortran = std::fs::read(bench.path("x.npy")).unwrap();
        let at = fortran.windows(5).position(|w| w == b"False").unwrap();
        fortran[at..at + 5].copy_from_slice(b"True ");
        std::fs::write(bench.path("x.npy"), fortran).unwrap();
        reduce("sum:f32:0");
        assert_eq!(bench.load_f32("out/out.npy"), [4.0, 6.0, 11.0]);
        bench.save("x.npy", "|u1", "(3,)", &[200, 100, 255]);
        let (header, out) = reduce("sum:u8:0");
        assert!(header.contains("'<u8'"), "{header}");
        assert_eq!(out, 555u64.to_le_bytes());
        bench.save_f32("x.npy", "(2, 0, 3)", &[]);
        reduce("sum:f32:0,1");
        assert_eq!(bench.load_f32("out/out.npy"), [0.0; 3]);
        bench.ok(&["make", "reduce:max:f32:1", "--out", "f.walk"]);
        bench.refused(&["run", "f.walk", "--device", device, "--input", "x=x.npy"], "empty axis");
    }
}

#[test]
fn slices_and_steps() {
    for device in devices() {
        let bench = Bench::new();
        bench.save_f32("x.npy", "(3, 2)", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        bench.ok(&["make", "unary:square:float32", "--out", "f.walk"]);
        bench.ok(&["run", "f.walk", "--device", device, "--each", "x=x.npy", "--out", "deep/out"]);
        assert_eq!(bench.load_f32("deep/out/y.npy"), [25.0, 36.0]);
        bench.save_f32("x.npy", "(0,)", &[]);
        let said = bench.json(&["run", "f.walk", "--device", device, "--input", "x=x.npy", "--json"]);
        assert_eq!(said["outputs"][0]["shape"], json!([0]));
    }
}

#[test]
fn exp_ladder() {
    for device in devices() {
        let bench = Bench::new();
        bench.ok(&["make", "exp-ladder", "--out", "ladder.walk"]);
        let said =
            bench.json(&["run", "ladder.walk", "--device", device, "--steps", "3", "--out", "out", "--json"]);
        assert_eq!((&said["method"], &said["synced"]), (&json!("main"), &json!([])));
        let y = bench.load_f32("out/y.npy");
        assert_eq!(y.len(), 230_400);
        assert!(y.iter().all(|y| (1.0..=std::f32::consts::E * 1.000_001).contains(y)));
        let mean = y.iter().map(|&y| f64::from(y)).sum::<f64>() / y.len() as f64;
        assert!((mean - (std::f64::consts::E - 1.0)).abs() < 0.01, "{mean}");
    }
}

#[test]
fn digits_learn() {
    for device in devices() {
        let bench = Bench::new();
        bench.ok(&["make", "digits", "--out", "d.walk"]);
        // Two images, all white and all black, of digits 3 and 7.
        let x: Vec<f32> = [0.0, 1.0].into_iter().flat_map(|pixel| [pixel; 64]).collect();
        bench.save_f32("x.npy", "(2, 64)", &x);
        bench.save_i64("y.npy", "(2,)", &[3, 7]);
        for (train, predict) in [("train", "predict"), ("softmax_train", "softmax_predict")] {
            let run = ["run", "d.walk", "--device", device, "--input", "x=x.npy", "--method"];
            let input = ["--input", "y=y.npy", "--steps", "200", "--save", "trained.walk", "--json"];
            let said = bench.json(&[&run[..], &[train], &input].concat());
            assert!(said["outputs"][0]["values"][0].as_f64().unwrap() < 0.1, "{said}");
            let run = [
                "run",
                "trained.walk",
                "--device",
                device,
                "--input",
                "x=x.npy",
                "--method",
                predict,
                "--json",
            ];
            assert_eq!(bench.json(&run)["outputs"][0]["values"], json!([3, 7]));
        }
        let info = bench.json(&["info", "d.walk", "--json"]);
        assert_eq!(info["methods"][0]["inputs"][0]["shape"], json!([null, 64]));
        assert_eq!(info["methods"][0]["inputs"][2]["default"]["values"], json!([0.5]));
        assert_eq!(info["methods"][0]["updates"], json!(["w1", "b1", "w2", "b2"]));
    }
}

#[test]
fn the_list_can_be_made() {
    let bench = Bench::new();
    let list = bench.ok(&["make", "--list"]);
    let names: Vec<&str> =
        list.lines().take_while(|l| !l.is_empty()).filter_map(|l| l.split(' ').next()).collect();
    let parametric = ["unary:", "binary:", "ternary:", "reduce:"];
    let (made_of_ops, others): (Vec<&str>, Vec<&str>) =
        names.into_iter().partition(|name| parametric.iter().any(|kind| name.starts_with(kind)));
    assert_eq!((made_of_ops.len(), &others[..]), (4, &["accumulator", "digits", "exp-ladder"][..]));
    for name in others.into_iter().chain(["unary:exp:f64", "binary:pow:f64", "reduce:sum:f32:0,2"]) {
        bench.ok(&["make", name, "--out", "f.walk"]);
        bench.json(&["info", "f.walk", "--json"]);
    }
}

#[test]
fn devices_are_listed() {
    let bench = Bench::new();
    let listed = bench.json(&["devices", "--json"]);
    let devices = listed["devices"].as_array().unwrap();
    assert_eq!(devices[0]["id"], json!("host"));
    assert!(devices.iter().any(|d| d["id"] == listed["auto"] && d["usable"] == true), "{listed}");
    assert!(bench.ok(&["devices"]).contains("(auto)"));
}

#[test]
fn numbers_archives_and_casts() {
    let bench = Bench::new();
    let run = |more: &[&'static str]| [&["run", "f.walk", "--device", "host"], more].concat();
    bench.ok(&["make", "ternary:clip:f32", "--out", "f.walk"]);
    let doubles: Vec<u8> = [0.5f64, 1.5, 2.5].into_iter().flat_map(f64::to_le_bytes).collect();
    bench.save("x.npy", "<f8", "(3,)", &doubles);
    let words = run(&["--input", "x=x.npy", "--input", "y=1", "--input", "z=2e0", "--out", "out"]);
    bench.refused(&words, "--cast");
    bench.ok(&[&words[..], &["--cast"]].concat());
    assert_eq!(bench.load_f32("out/out.npy"), [1.0, 1.5, 2.0]);
    bench.refused(&run(&["--input", "x=1", "--input", "y=one", "--input", "z=2"]), "one");
    let x = workalike::Value::from(vec![5f32]);
    workalike::npz::save(bench.path("all.npz"), [("x", &x), ("z", &x)]).unwrap();
    bench.ok(&run(&["--input", "x=all.npz", "--input", "y=1", "--input", "z=2", "--out", "out"]));
    assert_eq!(bench.load_f32("out/out.npy"), [2.0]);
    bench.refused(
        &run(&["--input", "x=x.npy", "--cast", "--input", "y=all.npz", "--input", "z=2"]),
        "no array \"y\"",
    );
    bench.ok(&["make", "unary:neg:int64:0", "--out", "f.walk"]);
    bench.refused(&run(&["--input", "x=3.5"]), "'3.5' is no int64");
    let said = bench.json(&run(&["--input", "x=3", "--json"]));
    assert_eq!(said["outputs"][0]["values"], json!([-3]));
    // A file takes precedence over a number of the same name.
    bench.save_i64("3", "()", &[4]);
    let said = bench.json(&run(&["--input", "x=3", "--json"]));
    assert_eq!(said["outputs"][0]["values"], json!([-4]));
}

#[test]
fn outputs_that_would_share_a_file_are_refused_before_the_run() {
    use workalike::prelude::*;
    let bench = Bench::new();
    let (x, w) = (scalar::<f32>("x"), shared("w", 0f32));
    let f = function([&x]).output_named("a/b", &x).output_named("a:b", &x + 1.0).update(&w, &w + 1.0);
    Bundle::new().with("f", &f.compile().unwrap()).save(bench.path("f.walk")).unwrap();
    let words = ["run", "f.walk", "--device", "host", "--input", "x=1", "--out", "out", "--save", "g.walk"];
    bench.refused(&words, "a_b.npy");
    assert!(!bench.path("out").exists() && !bench.path("g.walk").exists());
    bench.ok(&["run", "f.walk", "--device", "host", "--input", "x=1"]);
}

#[test]
fn a_process_alone_is_the_only_member_of_its_group() {
    use workalike::prelude::*;
    let bench = Bench::new();
    let (x, w) = (vector::<f32>("x"), shared("w", 0f32));
    let f = function([&x]).output_named("y", &x * 2.0).update(&w, &w + x.sum(..)).compile().unwrap();
    Bundle::new().with("f", &f).save(bench.path("f.walk")).unwrap();
    workalike::npy::save(bench.path("x.npy"), Value::from(vec![1f32, 2.0])).unwrap();
    let plain = ["run", "f.walk", "--device", "host", "--input", "x=x.npy", "--json"];
    let member = [&plain[..], &["--group", "workers", "--divide", "x"]].concat();
    let (said, alone) = (bench.json(&member), bench.json(&plain));
    assert_eq!(said["outputs"], alone["outputs"]);
    assert_eq!(said["synced"], json!(["w"]));
    bench.refused(&[&plain[..], &["--group", "workers", "--divide", "z"]].concat(), "no input z");
    bench.refused(&[&plain[..], &["--divide", "x"]].concat(), "--group");
    let complaint = |variables: &[(&str, &str)]| {
        let output = bench.run_with(&member, variables);
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let two = complaint(&[("RANK", "0"), ("WORLD_SIZE", "2")]);
    assert!(two.contains("torchrun started 2 processes") && two.contains("--features mpi"), "{two}");
    let odd = complaint(&[("RANK", "2"), ("WORLD_SIZE", "2")]);
    assert!(odd.contains("RANK") && odd.contains("below 2"), "{odd}");
}
