//! An op without a device form: it runs on the host between two Segments, `explain` lists it, and strict mode
//! refuses it.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use workalike::graph::TensorType;
use workalike::ops::{Attributes, Gradient, Known, Op};
use workalike::prelude::*;
use workalike::{Error, Result};

/// A user-defined op that sorts a vector.
#[derive(Debug)]
struct Sort;

impl Op for Sort {
    fn id(&self) -> &'static str {
        "tests.sort"
    }
    fn attributes(&self) -> Attributes {
        vec![]
    }
    fn types(&self, inputs: &[&TensorType]) -> std::result::Result<Vec<TensorType>, String> {
        Ok(vec![inputs[0].clone()])
    }
    fn shapes(&self, inputs: &[Known]) -> std::result::Result<Vec<Vec<usize>>, String> {
        Ok(vec![inputs[0].shape.to_vec()])
    }
    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None])
    }
    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let mut elements = inputs[0].to_vec::<f32>()?;
        if elements.iter().any(|e| e.is_nan()) {
            return Err(Error::mismatch("sort", "numbers", "a NaN"));
        }
        elements.sort_by(f32::total_cmp);
        Ok(vec![Value::from_vec(inputs[0].shape(), elements)?])
    }
}

fn sorted_twice() -> (Function, SharedVariable) {
    let x = vector::<f32>("x");
    let total = shared("total", 0f32);
    let sorted = Variable::apply(Sort, &[&x * 2.0]).unwrap().swap_remove(0);
    let y = sorted.exp();
    let f = function([&x]).output(&y).update(&total, &total + sorted.sum(..)).compile().unwrap();
    (f, total)
}

#[test]
fn it_runs_between_segments() {
    let (f, total) = sorted_twice();
    let mut sim = f.optimize(Host::auto()).unwrap();
    let x = vec![3f32, 1., 2.];
    let want: Vec<f32> = [2f32, 4., 6.].iter().map(|e| e.exp()).collect();
    let got = sim.call(args![x.clone()]).unwrap()[0].to_vec::<f32>().unwrap();
    let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 4.0 * f32::EPSILON * b;
    assert!(got.len() == want.len() && got.iter().zip(&want).all(close), "{got:?}, not {want:?}");
    sim.run_n(4, args![x.clone()]).unwrap();
    assert_eq!(sim.get_value("total").unwrap().item::<f32>().unwrap(), 60.0);
    assert_eq!(total.get_value().unwrap().item::<f32>().unwrap(), 0.0);
    let called = f.call(args![x]).unwrap()[0].to_vec::<f32>().unwrap();
    assert!(called.iter().zip(&want).all(close), "{called:?}, not {want:?}");
}

#[test]
fn it_is_explained_and_refused_under_strict() {
    let (f, _) = sorted_twice();
    let mut sim = f.optimize(Host::auto()).unwrap();
    sim.call(args![vec![1f32]]).unwrap();
    let text = sim.explain();
    assert!(text.contains("host node tests.sort") && text.contains("no device rule"), "{text}");
    let mut strict = f.optimize(Host::auto().strict()).unwrap();
    let error = strict.call(args![vec![1f32]]).unwrap_err();
    assert!(matches!(&error, Error::Strict(what) if what.contains("tests.sort")), "{error}");
}

#[test]
fn its_error_names_op_and_node_and_nothing_is_updated() {
    let (f, total) = sorted_twice();
    let error = f.call(args![vec![1f32, f32::NAN]]).unwrap_err().to_string();
    assert!(error.contains("tests.sort") && error.contains("NaN"), "{error}");
    assert_eq!(total.get_value().unwrap().item::<f32>().unwrap(), 0.0);
}

#[test]
fn a_file_with_a_strangers_op_says_which() {
    let (f, _) = sorted_twice();
    let error = Bundle::new().with("f", &f).to_bytes().unwrap_err().to_string();
    assert!(error.contains("tests.sort") && error.contains("Registry"), "{error}");
}

/// The identity; keeps its input.
#[derive(Debug)]
struct Keeps(Arc<Mutex<Vec<Value>>>);

impl Op for Keeps {
    fn id(&self) -> &'static str {
        "tests.keeps"
    }
    fn attributes(&self) -> Attributes {
        vec![]
    }
    fn types(&self, inputs: &[&TensorType]) -> std::result::Result<Vec<TensorType>, String> {
        Ok(vec![inputs[0].clone()])
    }
    fn shapes(&self, inputs: &[Known]) -> std::result::Result<Vec<Vec<usize>>, String> {
        Ok(vec![inputs[0].shape.to_vec()])
    }
    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None])
    }
    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        self.0.lock().unwrap().push(inputs[0].clone());
        Ok(vec![inputs[0].clone()])
    }
}

#[test]
fn an_op_may_keep_the_value_of_a_shared_variable() {
    let kept = Arc::new(Mutex::new(vec![]));
    let given = kept.clone();
    let (done, waits) = mpsc::channel();
    std::thread::spawn(move || {
        let x = shared("x", vec![1f32, -1., 2.]);
        let seen = Variable::apply(Keeps(given), &[Variable::from(&x)]).unwrap().swap_remove(0);
        // The number of elements determines a shape, so the values are fetched before anything runs.
        let y = Variable::from(&x).index(idx![seen.greater(0.0)]);
        let none: [&Variable; 0] = [];
        let f = function(none).output(&y).update(&x, &x + 1.0).compile().unwrap();
        let mut sim = f.optimize(Host::auto()).unwrap();
        let results = [(); 2].map(|()| sim.call(args![]).unwrap()[0].to_vec::<f32>().unwrap());
        done.send(results).unwrap();
    });
    // The limit turns a hang into a failure; a loaded machine does not reach it.
    let results = waits.recv_timeout(Duration::from_secs(600)).expect("the calls end");
    assert_eq!(results, [vec![1., 2.], vec![2., 3.]]);
    let first = kept.lock().unwrap()[0].to_vec::<f32>().unwrap();
    assert_eq!(first, [1., -1., 2.]);
}

/// An op whose results differ from its declared types.
#[derive(Debug)]
struct Lies {
    gives: fn(&Value) -> Vec<Value>,
    shapes: fn(&[usize]) -> Vec<Vec<usize>>,
}

impl Op for Lies {
    fn id(&self) -> &'static str {
        "tests.lies"
    }
    fn types(&self, inputs: &[&TensorType]) -> std::result::Result<Vec<TensorType>, String> {
        Ok(vec![inputs[0].clone()])
    }
    fn shapes(&self, inputs: &[Known]) -> std::result::Result<Vec<Vec<usize>>, String> {
        Ok((self.shapes)(inputs[0].shape))
    }
    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None])
    }
    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        Ok((self.gives)(&inputs[0]))
    }
}

#[test]
fn results_are_checked_in_number_dtype_and_shape() {
    let same: fn(&[usize]) -> Vec<Vec<usize>> = |shape| vec![shape.to_vec()];
    type Case = (Lies, [&'static str; 2]);
    let cases: [Case; 5] = [
        (Lies { gives: |_| vec![], shapes: same }, ["expected 1", "got 0"]),
        (Lies { gives: |x| vec![x.clone(), x.clone()], shapes: same }, ["expected 1", "got 2"]),
        (
            Lies { gives: |x| vec![x.cast(DType::I32).unwrap()], shapes: same },
            ["expected float32(4,)", "got int32(4,)"],
        ),
        (
            Lies { gives: |x| vec![x.reshaped(&[2, 2]).unwrap()], shapes: same },
            ["expected float32(4,)", "got float32(2, 2)"],
        ),
        (Lies { gives: |x| vec![x.clone()], shapes: |_| vec![] }, ["shapes", "1"]),
    ];
    for (op, parts) in cases {
        let (x, state) = (vector::<f32>("x"), shared("state", 1f32));
        let y = Variable::apply(op, std::slice::from_ref(&x)).unwrap().swap_remove(0);
        let f = function([&x]).output(&y * 2.0).update(&state, y.sum(..)).compile().unwrap();
        let mut simulator = f.optimize(Host::threads(1)).unwrap();
        let given = || args![[1f32, 2.0, 3.0, 4.0]];
        for error in
            [f.call_reference(given()), f.call(given()), simulator.call(given())].map(Result::unwrap_err)
        {
            let text = error.to_string();
            assert!(text.contains("tests.lies") && parts.iter().all(|p| text.contains(p)), "{text}");
        }
        assert_eq!(state.get_value().unwrap().item::<f32>().unwrap(), 1.0);
    }
}
