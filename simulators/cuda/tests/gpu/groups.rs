//! Members of groups on GPUs of their own. They need NCCL, and two GPUs that can access each other's memory.

use crate::Test;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};
use workalike::Result;
use workalike::engine::device::group::threads;
use workalike::engine::{GroupSimulator, StepPlan};
use workalike::prelude::*;
use workalike_cuda::Cuda;

pub(crate) const TESTS: &[Test] = crate::tests![
    exchanges_are_steps_of_recordings,
    the_same_bits_on_repetition,
    every_kind_has_the_bits_of_main_memory,
    large_sums_in_place_have_the_values_of_main_memory,
    largest_floats_keep_nan,
    a_call_that_fails_for_one_member,
    a_member_that_stays_away,
    other_sizes_are_found_before_they_are_exchanged,
];

/// Why they cannot run.
pub(crate) fn missing() -> Option<String> {
    if workalike_cuda::list().len() < 2 {
        return Some("fewer than two CUDA devices".into());
    }
    let device = Cuda::device(0).open().ok()?;
    let transport = device.direct_transport()?.name();
    (!transport.starts_with("NCCL")).then(|| "no NCCL".into())
}

fn pair(f: &Function) -> GroupSimulator {
    f.optimize(group("g", [Cuda::device(0), Cuda::device(1)])).unwrap()
}

/// The steps of each member's Program.
fn steps(sim: &mut GroupSimulator, x: &[f32]) -> Vec<String> {
    sim.each_member(|_, member| Ok(member.plan(args![x.to_vec()])?.to_string())).unwrap()
}

fn exchanges_are_steps_of_recordings() {
    let (x, w) = (vector::<f32>("x"), shared("w", vec![1f32, 2.0]));
    let new = &*w + x.all_reduce(Reduction::Sum, "g");
    let f = function([&x]).output(&new * 2.0).update(&w, new).compile().unwrap();
    let mut sim = pair(&f);
    let got = sim.each_member(|rank, member| member.call(args![vec![rank as f32, 1.0]])?[0].to_vec::<f32>());
    assert_eq!(got.unwrap(), [[4.0, 8.0]; 2]);
    for plan in steps(&mut sim, &[0.0, 0.0]) {
        assert!(plan.contains("library all_reduce") && !plan.contains("main memory"), "{plan}");
    }
    sim.each_member(|_, member| member.run_n(100, args![vec![1f32, 0.0]])).unwrap();
    assert_eq!(sim.get_value("w").unwrap().to_vec::<f32>().unwrap(), [202.0, 4.0]);
    let through = f.optimize(group("g", [Cuda::device(0), Cuda::device(1)]).in_main_memory());
    for plan in steps(&mut through.unwrap(), &[0.0, 0.0]) {
        assert!(plan.contains("main memory"), "{plan}");
    }
}

fn the_same_bits_on_repetition() {
    let x = vector::<f32>("x");
    let f = function([&x]).output(x.all_reduce(Reduction::Sum, "g")).compile().unwrap();
    let run = || -> Vec<Vec<f32>> {
        let value =
            |rank: usize| (0..100_003).map(|i| ((i * 7 + rank * 3) as f32).sin()).collect::<Vec<f32>>();
        let mut sim = pair(&f);
        sim.each_member(|rank, member| member.call(args![value(rank)])?[0].to_vec()).unwrap()
    };
    let first = run();
    assert!(first[0] == first[1], "members have other bits");
    (0..3).for_each(|_| assert!(run() == first, "other bits on repetition"));
}

/// Members exchange small arrays by our kernel and large ones by NCCL, which has only some reductions.
fn every_kind_has_the_bits_of_main_memory() {
    use DType::{BF16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let dtypes = [F32, F64, F16, BF16, I8, I16, I32, I64, U8, U16, U32, U64, Bool];
    let xs: Vec<Variable> = dtypes
        .iter()
        .map(|dtype| Variable::input(&format!("x{dtype}"), TensorType::of_rank(*dtype, 1)))
        .collect();
    let f = xs.iter().fold(function(&xs), |f, x| {
        f.output(x.all_reduce(Reduction::Sum, "g"))
            .output(x.all_reduce(Reduction::Max, "g"))
            .output(x.all_reduce(Reduction::Min, "g"))
            .output(x.all_gather(0, "g"))
            .output(x.reduce_scatter(Reduction::Sum, 0, "g"))
            .output(x.broadcast_from(1, "g"))
            .output(x.collective_permute(1, "g"))
            .output(x.collective_permute([(1, 0)], "g"))
    });
    let f = f.compile().unwrap();
    let mut direct = pair(&f);
    let gpus = [Cuda::device(0), Cuda::device(1)];
    let mut through = f.optimize(group("g", gpus).in_main_memory()).unwrap();
    for elements in [2, 18, 2050, 300_002] {
        let given = |rank: usize| -> Vec<Value> {
            let number =
                |i: usize| ((i * 37 + rank * 11) % 101) as f64 - if i % 3 == rank { 0.0 } else { 49.625 };
            let numbers: Vec<f64> = (0..elements).map(number).collect();
            let of = |dtype: &DType| Value::from_vec(&[elements], numbers.clone())?.cast(*dtype);
            dtypes.iter().map(of).collect::<Result<Vec<Value>>>().unwrap()
        };
        let run = |sim: &mut GroupSimulator| {
            let outputs = sim.each_member(|rank, member| {
                let args = given(rank).into_iter().fold(Args::new(), Args::with);
                member.call(&args)?;
                Ok((member.plan(&args)?.to_string(), member.call(&args)?.into_values()))
            });
            outputs.unwrap().into_iter().unzip::<String, Vec<Value>, Vec<_>, Vec<_>>()
        };
        let ((plans, got), (_, expected)) = (run(&mut direct), run(&mut through));
        assert!(plans.iter().all(|plan| !plan.contains("main memory")), "{}", plans[0]);
        for (rank, (got, expected)) in got.iter().zip(&expected).enumerate() {
            for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
                let dtype = dtypes[at / 8];
                assert!(got == expected, "output {} of {elements} {dtype}, member {rank}", at % 8);
            }
        }
    }
}

/// Sums of gradients that are computed, reduced and added, by our kernel and by NCCL. Other steps are given
/// memory meanwhile.
fn large_sums_in_place_have_the_values_of_main_memory() {
    for elements in [300_000, 3_000_000] {
        let x = vector::<f32>("x");
        let weights: Vec<_> = (0..3).map(|at| shared(&format!("w{at}"), vec![at as f32; elements])).collect();
        let mut f = function([&x]);
        let mut hidden = x.clone();
        for (at, w) in weights.iter().enumerate() {
            // Whole numbers, whose sums are exact.
            hidden = &hidden * 2.0 - hidden.max(..);
            f = f.update(w, &**w + (&hidden * 3.0).all_reduce(Reduction::Sum, "g") * (at + 1) as f32);
        }
        let f = f.compile().unwrap();
        let run = |mut sim: GroupSimulator| {
            let given =
                |rank: usize| (0..elements).map(|i| ((i + rank) % 7) as f32 - 3.0).collect::<Vec<_>>();
            sim.each_member(|rank, member| member.run_n(3, args![given(rank)])).unwrap();
            (0..3).map(|at| sim.get_value(&format!("w{at}")).unwrap()).collect::<Vec<Value>>()
        };
        let gpus = [Cuda::device(0), Cuda::device(1)];
        let through = run(f.optimize(group("g", gpus).in_main_memory()).unwrap());
        let mut direct = pair(&f);
        for plan in direct.each_member(|_, member| member.plan(args![vec![0f32; elements]])).unwrap() {
            let place =
                |id| plan.buffers.iter().find(|buffer| buffer.id == id).and_then(|buffer| buffer.offset);
            let sums = plan.steps.iter().filter(|step| step.name.starts_with("all_reduce"));
            let in_place = |step: &StepPlan| {
                let mut written = step.operands.iter().filter(|operand| operand.written);
                written.all(|to| {
                    let at = place(to.buffer);
                    at.is_some() && step.operands.iter().any(|from| from.read && place(from.buffer) == at)
                })
            };
            assert!(sums.clone().count() > 0 && sums.clone().all(in_place), "{plan}");
        }
        assert!(run(direct) == through, "{elements} elements");
    }
}

fn largest_floats_keep_nan() {
    let x = vector::<f32>("x");
    let largest = x.all_reduce(Reduction::Max, "g");
    let f = function([&x]).output(largest).output(x.all_reduce(Reduction::Sum, "g")).compile().unwrap();
    let mut sim = pair(&f);
    let given = [vec![1f32, f32::NAN], vec![2f32, 3.0]];
    let got = sim.each_member(|rank, member| {
        let outputs = member.call(args![given[rank].clone()])?;
        Ok((outputs[0].to_vec::<f32>()?, outputs[1].to_vec::<f32>()?))
    });
    for (largest, sum) in got.unwrap() {
        assert!(largest[0] == 2.0 && largest[1].is_nan(), "{largest:?}");
        assert!(sum[0] == 3.0 && sum[1].is_nan(), "{sum:?}");
    }
}

/// The others are cut off at once, no member stores an update, and the group opens again.
fn a_call_that_fails_for_one_member() {
    let (x, total) = (vector::<f32>("x"), shared("total", vec![0f32]));
    let f = function([&x]).update(&total, &*total + x.all_reduce(Reduction::Sum, "g")).compile().unwrap();
    let mut sim = pair(&f);
    let good = |sim: &mut GroupSimulator| sim.each_member(|_, member| member.run_n(3, args![vec![1f32]]));
    good(&mut sim).unwrap();
    for _ in 0..2 {
        let start = Instant::now();
        let failed = sim.each_member(|rank, member| match rank {
            0 => member.run_n(3, args![vec![1f32]]),
            _ => member.call(args![1f32]),
        });
        assert!(failed.is_err() && start.elapsed() < Duration::from_secs(60), "{failed:?}");
        let totals = sim.each_member(|_, member| member.get_value("total")?.to_vec::<f32>()).unwrap();
        assert_eq!(totals[0], totals[1], "a member stored an update");
        let before = totals[0][0];
        good(&mut sim).unwrap();
        assert_eq!(sim.get_value("total").unwrap().to_vec::<f32>().unwrap(), [before + 6.0]);
    }
}

fn a_member_that_stays_away() {
    let (x, total) = (vector::<f32>("x"), shared("total", vec![0f32]));
    let f = function([&x]).update(&total, &*total + x.all_reduce(Reduction::Sum, "g")).compile().unwrap();
    let meeting = Barrier::new(2);
    let run = |rank: usize, seat| -> Result<()> {
        let mut sim = f.optimize(member("g", seat, Cuda::device(rank)))?;
        sim.call(args![vec![1f32]])?;
        if rank == 0 {
            let start = Instant::now();
            let error = sim.call(args![vec![1f32]]).unwrap_err().to_string();
            assert!(error.contains("member 1 did not come") && error.contains("2 s"), "{error}");
            assert!(start.elapsed() < Duration::from_secs(30));
            assert_eq!(sim.get_value("total")?.to_vec::<f32>()?, [2.0]);
            let closed = sim.call(args![vec![1f32]]).unwrap_err().to_string();
            assert!(closed.contains("member 1"), "{closed}");
        }
        meeting.wait();
        Ok(())
    };
    let run = &run;
    thread::scope(|scope| {
        let seats = threads(2, Duration::from_secs(2)).into_iter().enumerate();
        let work: Vec<_> = seats.map(|(rank, seat)| scope.spawn(move || run(rank, seat))).collect();
        work.into_iter().for_each(|member| member.join().unwrap().unwrap());
    });
}

fn other_sizes_are_found_before_they_are_exchanged() {
    let x = vector::<f32>("x");
    let f = function([&x]).output(x.all_reduce(Reduction::Sum, "g")).compile().unwrap();
    let mut sim = pair(&f);
    let error = sim.each_member(|rank, member| member.call(args![vec![1f32; 3 + rank]])).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("3 float32") && error.contains("4 float32"), "{error}");
    let sums = sim.each_member(|_, member| member.call(args![vec![1f32; 3]])?[0].to_vec::<f32>());
    assert_eq!(sums.unwrap(), [[2.0; 3]; 2]);
}
