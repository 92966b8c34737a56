//! Members in processes of their own. Each test starts itself under `mpirun`; what the members find is
//! printed, and read here.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use workalike::cuda::Cuda;
use workalike::engine::device::group::{Group, threads};
use workalike::ops::Reduction;
use workalike::prelude::*;

const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test of this file in so many processes; `None` in each of them.
fn processes(test: &str, count: usize) -> Option<(bool, String)> {
    if std::env::var_os("OMPI_COMM_WORLD_RANK").is_some() {
        return None;
    }
    let count = count.to_string();
    let output = Command::new("mpirun")
        .args(["--oversubscribe", "-n", &count])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--include-ignored", "--nocapture", "--test-threads=1"])
        // A fresh machine may have no other user.
        .envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")])
        .output()
        .expect("mpirun: install OpenMPI");
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Some((output.status.success(), text))
}

/// Runs `work` as each member in a process, and expects each to print `done`.
fn each(test: &str, count: usize, work: impl Fn(Arc<dyn Group>)) {
    match processes(test, count) {
        Some((succeeded, text)) => {
            let done = text.matches("a member is done").count();
            assert!(succeeded && done == count, "{done} of {count} members are done:\n{text}");
        }
        None => {
            work(workalike_mpi::world(PATIENCE).unwrap());
            println!("a member is done");
        }
    }
}

fn numbers(rank: usize, n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7 + rank * 3) as f32 * 0.37).sin()).collect()
}

/// Each kind of collective, of small and of large arrays, beside a group of threads: the same bits.
#[test]
fn collectives_are_those_of_threads() {
    each("collectives_are_those_of_threads", 3, |seat| check_collectives(seat, Host::threads(1)));
}

/// GPUs of several processes reach each other's memory, and fold in the order of ranks.
#[test]
#[ignore = "needs two GPUs of NVIDIA"]
fn collectives_of_gpus_are_those_of_threads() {
    each("collectives_of_gpus_are_those_of_threads", 2, |seat| {
        let gpu = Cuda::device(seat.rank());
        check_collectives(seat, gpu);
    });
}

fn check_collectives(seat: Arc<dyn Group>, device: impl Open) {
    let (rank, size) = (seat.rank(), seat.size());
    let x = vector::<f32>("x");
    let f = function([&x])
        .output(x.all_reduce(Reduction::Sum, "g"))
        .output(x.all_reduce(Reduction::Max, "g"))
        // It shares their exchange, with elements of another size.
        .output((100.0 * &x).cast(DType::I8).all_reduce(Reduction::Sum, "g"))
        .output(x.all_gather(0, "g"))
        .output(x.reduce_scatter(Reduction::Sum, 0, "g"))
        .output(x.broadcast_from(1, "g"))
        .output(x.collective_permute(1, "g"))
        .output(x.collective_permute([(size - 1, 0)], "g"))
        .output(x.cast(DType::F16).all_reduce(Reduction::Mean, "g"))
        .compile()
        .unwrap();
    let mut sim = f.optimize(member("g", seat, device)).unwrap();
    for n in [size, size * 20_011] {
        let own = sim.call(args![numbers(rank, n)]).unwrap();
        let others = std::thread::scope(|scope| {
            let run = |(rank, seat): (usize, Arc<dyn Group>)| {
                let mut sim = f.optimize(member("g", seat, Host::threads(1))).unwrap();
                sim.call(args![numbers(rank, n)]).unwrap().into_values()
            };
            let all: Vec<_> = threads(size, PATIENCE)
                .into_iter()
                .enumerate()
                .map(|m| scope.spawn(move || run(m)))
                .collect();
            all.into_iter().map(|member| member.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(own.into_values(), others[rank], "{n} elements");
    }
}

/// A network that is trained by two processes has the weights of one device, and of two threads to the bit.
#[test]
fn two_processes_train_like_one() {
    each("two_processes_train_like_one", 2, |seat| {
        let rank = seat.rank();
        let (x, t) = (matrix::<f32>("x"), vector::<i64>("t"));
        let weights = |rows: usize, columns: usize| {
            Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 5 + j * 3) % 11) as f32 * 0.1 - 0.5)
        };
        let (w0, w1) = (shared("w0", weights(6, 16)), shared("w1", weights(16, 4)));
        let cost = categorical_crossentropy(softmax(x.dot(&w0).tanh().dot(&w1), 1), &t).mean(..);
        let grads = grad(&cost, [&w0, &w1]).unwrap();
        let train = function([&x, &t])
            .output(&cost)
            .update(&w0, &*w0 - 0.5 * &grads[0])
            .update(&w1, &*w1 - 0.5 * &grads[1])
            .compile()
            .unwrap();
        let xs = Value::from_vec(&[8, 6], numbers(0, 48)).unwrap();
        let ts: Vec<i64> = (0..8).map(|i| i % 4).collect();
        let reference = train.fork().unwrap();
        let parallel =
            Function::from_bytes(&train.data_parallel("g", ["x", "t"]).unwrap().to_bytes().unwrap()).unwrap();
        let mut sim = parallel.optimize(member("g", seat, Host::threads(1))).unwrap();
        let mut local = parallel.optimize(group("g", [Host::threads(1), Host::threads(1)])).unwrap();
        for step in 0..10 {
            let costs = [
                reference.call(args![&xs, &ts]).unwrap()[0].item::<f32>().unwrap(),
                sim.call(args![&xs, &ts]).unwrap()[0].item::<f32>().unwrap(),
                local.call(args![&xs, &ts]).unwrap()[0].item::<f32>().unwrap(),
            ];
            assert!((costs[0] - costs[1]).abs() < 1e-5 && costs[1] == costs[2], "step {step}: {costs:?}");
        }
        for name in ["w0", "w1"] {
            assert_eq!(sim.get_value(name).unwrap(), local.get_value(name).unwrap(), "{name} at {rank}");
            let want = reference.shared(name).unwrap().get_value().unwrap().to_vec::<f32>().unwrap();
            let got = sim.get_value(name).unwrap().to_vec::<f32>().unwrap();
            assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-5), "{name}");
        }
    });
}

/// Members with other graphs, and members at other collectives.
#[test]
fn members_that_differ_are_named() {
    each("members_that_differ_are_named", 2, |seat| {
        let rank = seat.rank();
        let x = vector::<f32>("x");
        let sum = |factor: f32| {
            function([&x]).output((&x * factor).all_reduce(Reduction::Sum, "g")).compile().unwrap()
        };
        let other =
            sum(if rank == 1 { 3.0 } else { 2.0 }).optimize(member("g", seat.clone(), Host::threads(1)));
        let error = other.unwrap_err().to_string();
        assert!(error.contains("another graph") && error.contains("same file"), "{error}");
        let mut sim = sum(1.0).optimize(member("g", seat, Host::threads(1))).unwrap();
        let error = sim.call(args![vec![1f32; 4 + rank]]).unwrap_err().to_string();
        assert!(error.contains("of 4 float32") && error.contains("of 5 float32"), "{error}");
    });
}

/// A member that stays away: the other gets an error in time, keeps its state, and ends.
#[test]
fn a_member_that_stays_away_is_not_waited_for_forever() {
    let name = "a_member_that_stays_away_is_not_waited_for_forever";
    let Some((_, text)) = processes(name, 2) else {
        let seat = workalike_mpi::world(Duration::from_secs(2)).unwrap();
        let (rank, x) = (seat.rank(), scalar::<f32>("x"));
        let total = shared("total", 0f32);
        let f = function([&x]).update(&total, &*total + x.all_reduce(Reduction::Sum, "g")).compile().unwrap();
        let mut sim = f.optimize(member("g", seat, Host::threads(1))).unwrap();
        sim.call(args![1f32]).unwrap();
        if rank == 1 {
            std::thread::sleep(Duration::from_secs(30));
            return;
        }
        let begun = std::time::Instant::now();
        let error = sim.call(args![1f32]).unwrap_err().to_string();
        let (took, state) = (begun.elapsed(), sim.get_value("total").unwrap().item::<f32>().unwrap());
        println!("after {} s: {error}; state {state}", took.as_secs());
        // The launcher ends the others.
        std::process::exit(3);
    };
    assert!(text.contains("member 1 did not come to all_reduce") && text.contains("; state 2"), "{text}");
    assert!(text.contains("after 2 s") || text.contains("after 3 s"), "{text}");
}
