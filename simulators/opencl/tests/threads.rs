//! Several threads use OpenCL for the first time in a process at once. Drivers initialize once per process,
//! so this test binary runs itself many times.
#![allow(clippy::unwrap_used)] // nothing here but tests

use std::process::Command;
use std::sync::Barrier;
use std::thread;
use workalike::engine::Open;
use workalike_opencl::{OpenCl, list};

/// Set in the child.
const CHILD: &str = "WORKALIKE_OPENCL_TEST_CHILD";

#[test]
fn the_first_users_all_find_the_same() {
    if std::env::var_os(CHILD).is_some() {
        return ask_at_once();
    }
    for run in 0..20 {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let output =
            child.args(["--exact", "the_first_users_all_find_the_same"]).env(CHILD, "1").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "run {run}: {}\n{text}", output.status);
    }
}

/// In the child.
fn ask_at_once() {
    const THREADS: usize = 8;
    let start = Barrier::new(THREADS);
    // All threads list the devices, half of them open one before.
    let ask = |thread: usize| {
        start.wait();
        let opened = (thread % 2 == 1).then(|| OpenCl::auto().open().map(|d| d.properties().id.clone()));
        let ids = list().map(|all| all.iter().map(|info| info.id()).collect::<Vec<_>>());
        (opened.map(|id| id.map_err(|e| e.to_string())), ids.map_err(|e| e.to_string()))
    };
    let answers: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|i| {
                scope.spawn({
                    let ask = &ask;
                    move || ask(i)
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let later =
        list().map(|all| all.iter().map(|info| info.id()).collect::<Vec<_>>()).map_err(|e| e.to_string());
    for (opened, ids) in answers {
        assert_eq!(ids, later);
        if let Some(opened) = opened {
            assert_eq!(opened.is_ok(), later.as_ref().is_ok_and(|ids| !ids.is_empty()), "{opened:?}");
        }
    }
}
