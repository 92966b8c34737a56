//! The ways to call a Simulator.

use super::common::Budget;
use workalike::function::Outputs;
use workalike::prelude::*;
use workalike::{Error, Result};

fn says(result: Result<impl std::fmt::Debug>, parts: &[&str]) {
    let text = result.unwrap_err().to_string();
    for part in parts {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
}

fn floats(outputs: &Outputs, at: usize) -> Vec<f32> {
    outputs[at].to_vec().unwrap()
}

/// Picks `table[at]` and counts calls.
fn picker() -> Function {
    let (table, at) = (vector::<f32>("table"), vector::<i64>("at"));
    let calls = shared("calls", 0i64);
    let f = function([&table, &at])
        .output_named("picked", table.index(idx![&at]))
        .output_named("count", &calls + 1i64);
    f.update(&calls, &calls + 1i64).name("pick").compile().unwrap()
}

#[test]
fn submitted_calls_keep_their_results_and_their_errors() {
    let mut sim = picker().optimize(Host::threads(1)).unwrap();
    let table = || Value::from((0..10).map(|i| i as f32).collect::<Vec<_>>());
    let good = |i: i64| args![table(), vec![i, 9 - i]];
    let first = sim.submit(good(1)).unwrap();
    let wrong = sim.submit(args![table(), vec![3i64, 10]]).unwrap();
    let last = sim.submit(good(2)).unwrap();
    let dropped = sim.submit(args![table(), vec![-11i64]]).unwrap();
    drop(dropped);
    // A call does not report errors of other calls, in whatever order they are waited for; a failed call is
    // not counted.
    let last = last.wait().unwrap();
    assert_eq!((floats(&last, 0), last.get("count").unwrap().item::<i64>().unwrap()), (vec![2.0, 7.0], 2));
    says(wrong.wait(), &["out of range", "(10,)", "(2,)"]);
    assert_eq!(floats(&first.wait().unwrap(), 0), [1.0, 8.0]);
    assert_eq!(floats(&sim.call(good(4)).unwrap(), 0), [4.0, 5.0]);
    assert_eq!(sim.get_value("calls").unwrap().item::<i64>().unwrap(), 3);
    says(sim.submit(args![table()]).map(|p| p.into_arrays()), &["at", "missing"]);
}

#[test]
fn submitted_results_survive_other_calls() {
    let x = vector::<f32>("x");
    let f = function([&x]).output(&x * 3.0).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let pending: Vec<_> = (0..12).map(|i| sim.submit(args![vec![i as f32; 5000]]).unwrap()).collect();
    sim.call(args![vec![-1f32; 5000]]).unwrap();
    for (i, p) in pending.into_iter().enumerate().rev() {
        assert_eq!(floats(&p.wait().unwrap(), 0), vec![3.0 * i as f32; 5000]);
    }
}

#[test]
fn borrowed_outputs_are_neither_copied_nor_allocated() {
    let budget = Budget::of(1 << 30);
    let x = vector::<f32>("x");
    let mut double = function([&x]).output(&x * 2.0).compile().unwrap().optimize(budget.clone()).unwrap();
    let next = function([&x]).output(&x + 1.0).compile().unwrap();
    let mut next = next.optimize(double.device().clone()).unwrap();
    let give = |v: f32| args![vec![v; 4096]];
    let mut seen = Vec::new();
    let mut counted = (0, 0);
    for round in 0..6 {
        let doubled = double.call_borrowed(give(round as f32)).unwrap();
        assert_eq!((doubled.len(), doubled.array(0).unwrap().shape()), (1, &[4096][..]));
        assert!(doubled.array(1).is_err());
        seen.push(floats(&next.call(args![doubled.array(0).unwrap()]).unwrap(), 0)[4095]);
        let outputs = next.call_device(args![doubled.array(0).unwrap()]).unwrap();
        assert_eq!(outputs[0].to_value().unwrap().to_vec::<f32>().unwrap()[7], 2.0 * round as f32 + 1.0);
        let now = (budget.counts.allocations(), budget.counts.copies());
        if round == 4 {
            counted = now;
        }
        if round == 5 {
            assert_eq!(now, counted);
        }
    }
    assert_eq!(seen, [1.0, 3.0, 5.0, 7.0, 9.0, 11.0]);
    // Copied to another stream through the host.
    let mut far = function([&x]).output(x.sum(..)).compile().unwrap().optimize(Host::threads(1)).unwrap();
    let doubled = double.call_borrowed(give(1.0)).unwrap();
    assert_eq!(floats(&far.call(args![doubled.array(0).unwrap()]).unwrap(), 0), [8192.0]);
    assert_eq!(doubled.to_value(0).unwrap().to_vec::<f32>().unwrap()[0], 2.0);
}

#[test]
fn device_arrays_are_read_in_place_by_every_kind_of_call() {
    let budget = Budget::of(1 << 30);
    let (x, y) = (vector::<f32>("x"), vector::<f32>("y"));
    let w = shared("w", vec![0f32; 4096]);
    let f = function([&x, &y]).output_named("sum", &x + &y).output_named("product", &x * &y);
    let f = f.update(&w, &w + &x).compile().unwrap();
    let mut sim = f.optimize(budget.clone()).unwrap();
    let given: Vec<_> = (1..4).map(|v| sim.upload(vec![v as f32; 4096]).unwrap()).collect();
    let mut copies = 0;
    let mut calls = 0f32;
    for round in 0..8 {
        if round == 4 {
            copies = budget.counts.copies();
        }
        for x in &given {
            let (v, host) = (x.to_value().unwrap().to_vec::<f32>().unwrap()[0], round as f32);
            let args = || args![x, vec![host; 4096]];
            assert_eq!(floats(&sim.call(args()).unwrap(), 1), vec![v * host; 4096]);
            let only = sim.call_outputs(["sum"], args()).unwrap();
            assert_eq!(floats(&only, 0), vec![v + host; 4096]);
            let borrowed = sim.call_borrowed(args()).unwrap();
            assert_eq!(borrowed.to_value(0).unwrap().to_vec::<f32>().unwrap(), vec![v + host; 4096]);
            assert_eq!(floats(&sim.run_n(3, args()).unwrap(), 1), vec![v * host; 4096]);
            calls += 6.0 * v;
        }
    }
    assert_eq!(budget.counts.copies(), copies);
    assert_eq!(sim.get_value("w").unwrap().to_vec::<f32>().unwrap(), vec![calls; 4096]);
}

#[test]
fn selected_outputs_are_computed_and_updates_are_made() {
    let f = picker();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let table = || Value::from(vec![5f32, 6.0]);
    let outputs = sim.call_outputs(["count"], args![table(), vec![7i64]]).unwrap();
    // The index, which is out of range, is not read.
    assert_eq!((outputs.len(), outputs.get("count").unwrap().item::<i64>().unwrap()), (1, 1));
    let both = sim.call_outputs(["count", "picked"], args! {"at" => vec![1i64], "table" => table()}).unwrap();
    assert_eq!((both[0].item::<i64>().unwrap(), floats(&both, 1)), (2, vec![6.0]));
    assert!(sim.call_outputs((), args![table(), vec![0i64]]).unwrap().is_empty());
    assert_eq!(sim.get_value("calls").unwrap().item::<i64>().unwrap(), 3);
    assert_eq!(sim.methods().collect::<Vec<_>>(), ["pick"]);
    says(sim.call_outputs(["cost"], args![table(), vec![0i64]]), &["cost", "picked, count"]);
    sim.add_method("again", &f.renamed("again")).unwrap_or_else(|e| {
        // The parent's value is older than the Simulator's.
        assert!(e.to_string().contains("calls"));
        sim.add_method_keeping("again", &f.renamed("again"), Keep::Simulator).unwrap();
    });
    let again = sim.method("again").unwrap().call_outputs(["count"], args![table(), vec![0i64]]).unwrap();
    assert_eq!(again[0].item::<i64>().unwrap(), 4);
    assert_eq!(
        sim.method("again").unwrap().run_n(2, args![table(), vec![0i64]]).unwrap()[1].item::<i64>().unwrap(),
        6
    );
    sim.sync_to_parent().unwrap();
    assert_eq!(f.shared("calls").unwrap().get_value().unwrap().item::<i64>().unwrap(), 6);
}

#[test]
fn choices_of_outputs_stay_bounded() {
    let x = scalar::<f64>("x");
    let names: Vec<String> = (0..40).map(|i| format!("y{i}")).collect();
    let f = names.iter().enumerate().fold(function([&x]), |f, (i, n)| f.output_named(n, &x + i as f64));
    let mut sim = f.compile().unwrap().optimize(Host::threads(1)).unwrap();
    for round in 0..2 {
        for (i, name) in names.iter().enumerate() {
            let y = sim.call_outputs([name], args![0.5 * round as f64]).unwrap();
            assert_eq!(y[0].item::<f64>().unwrap(), i as f64 + 0.5 * round as f64);
        }
    }
    assert!(sim.explain().matches("method ").count() <= 33);
}

#[test]
fn trusted_calls_equal_calls_and_touch_no_other_memory() {
    let w = shared("w", vec![1f32; 8]);
    let x = matrix::<f32>("x");
    let f = function([&x]).output((&x * &w).sum(1)).update(&w, &w + 1.0).compile().unwrap();
    let (mut sim, mut plain) = (f.optimize(Host::threads(1)).unwrap(), f.optimize(Host::threads(1)).unwrap());
    let value = |v: f32, rows: usize| Value::from(Array2::from_elem((rows, 8), v));
    for round in 0..5 {
        let x = value(round as f32, 3);
        let strided = value(round as f32, 6).view_as(&[3, 8], &[16, 1], 0).unwrap();
        for x in [x, strided] {
            let got = sim.call_trusted(std::slice::from_ref(&x)).unwrap();
            assert_eq!(floats(&got, 0), floats(&plain.call(args![x]).unwrap(), 0));
        }
    }
    assert_eq!(sim.get_value("w").unwrap(), plain.get_value("w").unwrap());
    says(sim.call_trusted(&[value(1.0, 4)]), &["input x", "96 bytes", "128 bytes"]);
    says(sim.call_trusted(&[]), &["missing"]);
    assert_eq!(floats(&sim.call(args![value(1.0, 4)]).unwrap(), 0).len(), 4);
    assert_eq!(floats(&sim.call_trusted(&[value(1.0, 4)]).unwrap(), 0).len(), 4);
}

#[test]
fn typed_functions_check_once() {
    let (x, n) = (matrix::<f32>("x"), scalar::<i64>("n"));
    let f =
        function([&x, &n]).output(&x * n.cast(DType::F32)).output(x.sum(1)).name("scale").compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let mut scale = sim.typed::<(Array2<f32>, i64), (Array2<f32>, Vec<f32>)>().unwrap();
    for k in 1..4 {
        let (y, sums) = scale.call((array![[1f32, 2.0], [3.0, 4.0]], k)).unwrap();
        assert_eq!(y, array![[1f32, 2.0], [3.0, 4.0]] * k as f32);
        assert_eq!(sums, [3.0, 7.0]);
    }
    says(sim.typed::<(Array2<f32>,), (Array2<f32>, Vec<f32>)>(), &["scale", "2 inputs", "1 types"]);
    says(sim.typed::<(Array2<f64>, i64), (Array2<f32>, Vec<f32>)>(), &["input x", "float64"]);
    says(sim.typed::<(Array2<f32>, i64), (Array1<f32>, Vec<f32>)>(), &["output 0", "1 axes"]);
    says(sim.method("none").map(drop), &["no method none"]);
    let fixed = tensor::<f64>("v", [Some(2)]);
    let f = function([&fixed]).output(&fixed + 1.0).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let mut f = sim.typed::<(Vec<f64>,), (ArrayD<f64>,)>().unwrap();
    assert_eq!(f.call((vec![1.0, 2.0],)).unwrap().0, array![2.0, 3.0].into_dyn());
    says(f.call((vec![1.0],)), &["input v", "float64(1,)"]);
}

#[test]
fn fixed_sizes_refuse_other_shapes() {
    let (x, y) = (vector::<f32>("x"), vector::<f32>("y"));
    let w = shared_dynamic("w", vec![0f32; 2], &[0]);
    let f = function([&x, &y]).output(&x + y.sum(..) + w.sum(..)).name("add").compile().unwrap();
    let mut sim = f.optimize(Host::threads(1).fixed_size()).unwrap();
    let give = |n: usize, m: usize| args![vec![1f32; n], vec![1f32; m]];
    sim.call(give(2, 3)).unwrap();
    for _ in 0..2 {
        says(sim.call(give(2, 4)), &["add", "y has shape (4,)", "had (3,)", "fixed_size()"]);
        says(sim.call_device(give(5, 3)), &["x has shape (5,)", "had (2,)"]);
        assert_eq!(floats(&sim.call(give(2, 3)).unwrap(), 0), [4.0, 4.0]);
    }
    sim.set_value("w", vec![1f32; 7]).unwrap();
    says(sim.call(give(2, 3)), &["w has shape (7,)", "had (2,)"]);
    let mut sim = f.optimize(Host::threads(1).fixed_size().dynamic()).unwrap();
    for n in 1..100 {
        assert_eq!(floats(&sim.call(give(n, 3)).unwrap(), 0), vec![4.0; n]);
    }
}

#[test]
fn changing_sizes_record_less_when_they_are_expected() {
    let x = vector::<f32>("x");
    let f = function([&x]).output(x.exp().sum(..)).compile().unwrap();
    let run = |dynamic: bool| {
        let budget = Budget::of(1 << 30);
        let backend =
            if dynamic { budget.clone().dynamic() } else { budget.clone().with_options(Options::default()) };
        let mut sim = f.optimize(backend).unwrap();
        for _ in 0..3 {
            for n in (1..40).map(|n| 1000 * n) {
                sim.call(args![vec![0f32; n]]).unwrap();
            }
        }
        (budget.counts.allocations(), budget.counts.recordings())
    };
    let (often, seldom) = (run(false), run(true));
    assert!(seldom.0 <= often.0 / 2 && seldom.1 < often.1 * 3 / 4, "{often:?} {seldom:?}");
}

#[test]
fn named_arguments_and_defaults() {
    let (x, y, z) = (scalar::<f64>("x"), scalar::<f64>("y"), scalar::<f64>("z"));
    let f = function([In::new(&x), In::new(&y).default(10.0), In::new(&z).name("last").default(100.0)]);
    let f = f.output(&x + &y + &z).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let mut item = |args: Args| sim.call(args).and_then(|o| o[0].item::<f64>());
    assert_eq!(item(args![1.0]).unwrap(), 111.0);
    assert_eq!(item(args! {"last" => 0.0, "x" => 2.0}).unwrap(), 12.0);
    assert_eq!(item(args![1.0, 2.0; last = 3.0]).unwrap(), 6.0);
    assert!(matches!(item(args! {"y" => 0.0}).unwrap_err(), Error::Call { .. }));
    says(item(args! {"x" => 0.0, "w" => 0.0}), &["no input w", "x, y, last"]);
    says(item(args![1.0; x = 2.0]), &["x is given twice"]);
}

#[test]
fn every_way_to_call_is_a_step_to_probes() {
    let (x, total) = (scalar::<f64>("x"), shared("total", 0f64));
    let doubled = 2.0 * &x;
    let f = function([&x]).output_named("sum", &total + &doubled).output_named("x", &x + 0.0);
    let f = f.update(&total, &total + &doubled).compile().unwrap();
    for inner in [false, true] {
        let mut sim = f.fork().unwrap().optimize(Host::threads(1)).unwrap();
        let first = sim.call(args![1.0]).unwrap()[0].item::<f64>().unwrap();
        assert_eq!(first, 2.0);
        let probe = if inner { sim.probe(&doubled, 1, 100) } else { sim.probe("total", 1, 100) }.unwrap();
        let item = |v: Value| v.item::<f64>().unwrap();
        assert_eq!(item(sim.call_borrowed(args![1.0]).unwrap().to_value(0).unwrap()), 4.0);
        assert_eq!(item(sim.call_device(args![1.0]).unwrap()[0].to_value().unwrap()), 6.0);
        assert_eq!(item(sim.submit(args![1.0]).unwrap().wait().unwrap()[0].clone()), 8.0);
        let chosen = sim.call_outputs(["x"], args![1.0]).unwrap();
        assert_eq!((chosen.len(), item(chosen.get("x").unwrap().clone())), (1, 1.0));
        assert_eq!(item(sim.call_trusted(&[Value::from(1.0)]).unwrap()[0].clone()), 12.0);
        assert_eq!(sim.typed::<(f64,), (f64, f64)>().unwrap().call((1.0,)).unwrap(), (14.0, 1.0));
        let seen = sim.read_probe(probe).unwrap().to_vec::<f64>().unwrap();
        let totals = [4.0, 6.0, 8.0, 10.0, 12.0, 14.0];
        assert_eq!(seen, if inner { vec![2.0; 6] } else { totals.to_vec() });
        assert_eq!(sim.methods().count(), 1);
    }
}

#[test]
fn whole_numbers_are_given_to_float_inputs() {
    let (x, n) = (scalar::<f32>("x"), scalar::<i8>("n"));
    let f = function([In::new(&x).default(1), In::new(&n).default(2)])
        .output(&x * 2.0)
        .output(&n * 2)
        .compile()
        .unwrap();
    let outputs = f.call(args![]).unwrap();
    assert_eq!((outputs[0].item::<f32>().unwrap(), outputs[1].item::<i8>().unwrap()), (2.0, 4));
    let outputs = f.call(args![3, 5]).unwrap();
    assert_eq!((outputs[0].item::<f32>().unwrap(), outputs[1].item::<i8>().unwrap()), (6.0, 10));
    let sum = shared("sum", 0f32);
    let g = function([&x]).output(&x).update(&sum, &*sum + &x).compile().unwrap();
    let mut simulator = g.optimize(Host::threads(1)).unwrap();
    simulator.run_n(3, args![each(vec![1, 2, 3])]).unwrap();
    assert_eq!(simulator.get_value("sum").unwrap().item::<f32>().unwrap(), 6.0);
    // Lossy conversions are refused, also of arrays.
    for (bad, why) in
        [(args![16_777_217], "int32()"), (args![1, 300], "int32()"), (args![1, 0.5], "float64()")]
    {
        let text = f.call(bad).unwrap_err().to_string();
        assert!(text.contains(why) && text.contains("convert it first"), "{text}");
    }
    let v = vector::<f32>("v");
    let f = function([&v]).output(&v * 2.0).compile().unwrap();
    assert!(f.call(args![vec![1i32, 2]]).is_err());
    assert!(function([In::new(&n).default(300)]).output(&n * 2).compile().is_err());
}

#[test]
fn a_refused_update_names_the_source_of_its_dtype() {
    let w = shared("w", vec![0f32, 1.0]);
    let n = scalar::<i64>("n");
    let line = line!() + 1;
    let step = w.sqr() / &n;
    let text = function([&n]).update(&w, &*w - step.tanh()).compile().unwrap_err().to_string();
    let place = format!("calls.rs:{line}:");
    assert!(text.contains("float64 came in at true_divide of float32(2,) and n int64()"), "{text}");
    assert!(text.contains(&place), "{text}");
}

/// A tuple is a list of arguments, an array is one.
#[test]
fn arguments_may_be_tuples() {
    let (x, k) = (vector::<f64>("x"), scalar::<f64>("k"));
    let f = function([&x, &k]).output(&x * &k).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let want = [2.0, 4.0];
    assert_eq!(f.call((vec![1.0, 2.0], 2.0)).unwrap()[0].to_f64s(), want);
    assert_eq!(sim.call((&Value::from(vec![1.0, 2.0]), 2.0)).unwrap()[0].to_f64s(), want);
    assert_eq!(sim.run_n(2, (vec![1.0, 2.0], each(vec![5.0, 2.0]))).unwrap()[0].to_f64s(), want);
    assert_eq!(sim.call(args![vec![1.0, 2.0]; k = 2.0]).unwrap()[0].to_f64s(), want);
    let one = function([&x]).output(&x + 1.0).compile().unwrap();
    assert_eq!(one.call(([1.0, 2.0],)).unwrap()[0].to_f64s(), [2.0, 3.0]);
    let none = function(()).output(constant(7i64)).compile().unwrap();
    assert_eq!(none.call(()).unwrap()[0].item::<i64>().unwrap(), 7);
    assert!(none.call((1.0,)).is_err() && f.call((vec![1.0],)).is_err());
}

/// A cost by value, and Variables in every kind of list.
#[test]
fn gradients_are_asked_for_by_any_list() {
    let (x, w) = (vector::<f64>("x"), shared("w", [3.0]));
    let cost = || (&x * &w).sqr().sum(..);
    let all =
        [grad(cost(), [&w]), grad(cost(), vec![&*w]), grad(cost(), (&w, &x)), grad(cost(), [&x].iter())];
    let lens = all.map(|gradients| gradients.unwrap().len());
    assert_eq!(lens, [1, 1, 2, 1]);
}
