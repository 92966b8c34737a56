//! Extents, counts and steps are numbers of any integer type.

use std::ops::ControlFlow::{Break, Continue};
use workalike::prelude::*;

#[test]
fn extents_are_of_any_integer_type() {
    let x = constant((0..12i64).collect::<Vec<_>>());
    let n = x.extent(0);
    let (a, b, c) = (3i64, 4usize, 3u8);
    let four = [
        x.reshape([a, 4]),
        x.reshape([3, b]),
        x.reshape((c, b)),
        x.reshape((n.floor_divide(4), -1)),
        x.reshape(vec![3i32, -1]),
        x.reshape(&[3isize, 4][..]),
    ];
    for (i, y) in four.iter().enumerate() {
        let f = function(()).output(y).output(y.tile([2u8, 1])).output(y.transpose([1i64, 0])).compile();
        let out = f.unwrap().call(args![]).unwrap();
        let shapes = [out[0].shape(), out[1].shape(), out[2].shape()];
        assert_eq!(shapes, [[3, 4], [6, 4], [4, 3]], "{i}");
    }
    let y = constant(ndarray::array![[1f32], [2.0]]);
    for wide in [y.broadcast_to([2, 5]), y.broadcast_to((2u8, 5i64)), y.broadcast_to(like(full([2, 5], 0)))] {
        let f = function(()).output(wide).output(full((2i64, 5u8), 1)).output(full(7, 1)).compile().unwrap();
        let out = f.call(args![]).unwrap();
        assert_eq!([out[0].shape(), out[1].shape(), out[2].shape()], [&[2, 5][..], &[2, 5], &[7]]);
    }
    for (wrong, want) in [
        (x.reshape([-2, 6]), "extent -2 is negative"),
        (y.broadcast_to([-1, 5]), "extent -1 is negative"),
        (y.tile([-1]), "-1 is negative"),
        (y.tile(&n), "expected a whole number"),
        (y.transpose([0, 7]), "axis 7"),
    ] {
        let error = function(()).output(wrong).compile().unwrap_err().to_string();
        assert!(error.contains(want) && error.contains("tests/it/integers.rs:"), "{error}: not {want}");
    }
}

#[test]
fn several_axes_are_rolled_at_once() {
    let x = constant(ndarray::array![[1, 2, 3], [4, 5, 6]]);
    let k = scalar::<i64>("k");
    let rolls = [x.roll([1, -1], [0, 1]), x.roll((&k, -1), (0u8, -1)), x.roll(1, [0, 1]), x.roll(4, 1)];
    let f = function([&k]).outputs(&rolls).compile().unwrap();
    let out = f.call(args![1]).unwrap();
    // NumPy: np.roll(x, (1, -1), (0, 1)), np.roll(x, 1, (0, 1)), np.roll(x, 4, 1).
    let want = [[5, 6, 4, 2, 3, 1], [5, 6, 4, 2, 3, 1], [6, 4, 5, 3, 1, 2], [3, 1, 2, 6, 4, 5]];
    for (i, want) in want.iter().enumerate() {
        assert_eq!(out[i].to_vec::<i32>().unwrap(), want, "{i}");
    }
    let error = x.try_roll([1, 2, 3], [0, 1]).unwrap_err().to_string();
    assert!(error.contains("3 shifts for 2 axes"), "{error}");
}

#[test]
fn counts_are_of_any_integer_type() {
    let n = shared("n", 0i64);
    let f = function(()).output_named("go_on", n.less(100)).update(&n, &n + 1).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let probe = sim.probe(&n, 2u8, 10i32).unwrap();
    sim.run_n(3usize, args![]).unwrap();
    sim.run_n_collect(1i32, args![]).unwrap();
    sim.run_while("go_on", 2u8, args![]).unwrap();
    f.run_n(4i16, args![]).unwrap();
    assert_eq!(sim.read_probe(probe).unwrap().len(), 3);
    let error = sim.run_n(-1, args![]).unwrap_err().to_string();
    assert!(error.contains("expected a number from 0 on, got -1"), "{error}");
    assert_eq!(sim.get(&n).unwrap().item::<i64>().unwrap(), 6);
}

/// A run that is watched is the run.
#[test]
fn a_run_is_watched_and_stopped() {
    let (x, total) = (scalar::<i64>("x"), shared("total", 0i64));
    let f = function([&x]).output(&total + &x).update(&total, &total + &x).compile().unwrap();
    let sequence: Vec<i64> = (1..=10).collect();
    for every in [1, 3, 5, 9, 10, 50] {
        let mut sim = f.optimize(Host::threads(1)).unwrap();
        let mut seen = vec![];
        let (done, outputs) = sim
            .run_n_watched(10, every, args![each(sequence.clone())], |sim, done| {
                let now = sim.get(&total).unwrap().item::<i64>().unwrap();
                assert_eq!(now, (done * (done + 1) / 2) as i64);
                seen.push(done);
                Continue(())
            })
            .unwrap();
        assert_eq!((done, outputs[0].item::<i64>().unwrap()), (10, 55));
        assert_eq!(seen.len() as u64, 10u64.div_ceil(every), "{seen:?}");
        assert_eq!(seen.last(), Some(&10));
    }
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let mut handle = sim.method("main").unwrap();
    let stopped =
        handle.run_n_watched(10, 2, args![7], |_, done| if done < 5 { Continue(()) } else { Break(()) });
    let (done, outputs) = stopped.unwrap();
    assert_eq!((done, outputs[0].item::<i64>().unwrap()), (6, 42));
    assert!(sim.run_n_watched(10, 0, args![7], |_, _| Continue(())).is_err());
    let short = sim.run_n_watched(10, 3, args![each(vec![1i64, 2])], |_, _| Continue(()));
    assert!(short.unwrap_err().to_string().contains("a sequence of 10 slices"));
    assert_eq!(sim.get(&total).unwrap().item::<i64>().unwrap(), 42);
    // None: watched once.
    let mut looks = 0;
    let none = sim.run_n_watched(0, 3, args![1], |_, done| {
        looks += 1;
        if done == 0 { Continue(()) } else { Break(()) }
    });
    assert_eq!((none.unwrap().0, looks), (0, 1));
}

/// What a `main` that returns a Result prints.
#[test]
fn errors_print_their_text() {
    let error = Function::load("out/none.walk").unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
    assert!(!format!("{error:?}").contains("File {"), "{error:?}");
}
