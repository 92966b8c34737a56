use super::*;
use crate::group::{CollectiveArray, CollectiveKind, Route, gather, threads};
use bytemuck::{cast_slice, cast_slice_mut};
use std::thread;
use workalike_kernels::DType;
use workalike_kernels::nest::Fold;

const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `work` for each of three members, whose library is a group of threads.
fn together<T: Send>(work: impl Fn(&Arc<dyn Group>) -> T + Sync) -> Vec<T> {
    let (seats, work) = (threads(3, PATIENCE), &work);
    thread::scope(|scope| {
        let work = seats.iter().map(|seat| {
            scope.spawn(move || {
                let below = seat.clone();
                let library = move |own: &[u8]| {
                    let mut padded = vec![0; 4096];
                    padded[..own.len()].copy_from_slice(own);
                    padded[4088..].copy_from_slice(&(own.len() as u64).to_le_bytes());
                    let all = gather(&below, &padded).map_err(|error| error.to_string())?;
                    let length =
                        |own: &[u8]| own[4088..].iter().rev().fold(0, |n, b| n << 8 | usize::from(*b));
                    Ok(all.chunks(4096).map(|own| own[..length(own)].to_vec()).collect())
                };
                work(&by_gathering(seat.rank(), 3, PATIENCE, library).unwrap())
            })
        });
        let work: Vec<_> = work.collect();
        work.into_iter().map(|member| member.join().unwrap()).collect()
    })
}

fn exchanged(
    group: &Arc<dyn Group>,
    kind: CollectiveKind,
    given: &[f32],
    results: usize,
) -> Result<Vec<f32>, GroupError> {
    let arrays = vec![CollectiveArray { kind, dtype: DType::F32, elements: given.len() as u64 }];
    let collective = Collective { arrays, group: group.clone(), number: 7 };
    let mut output = vec![f32::NAN; results];
    group.exchange(&collective, &[cast_slice(given)], &mut [cast_slice_mut(&mut output)])?;
    Ok(output)
}

#[test]
fn members_get_what_threads_get() {
    let kinds = [
        (CollectiveKind::AllReduce(Fold::Sum), 3),
        (CollectiveKind::AllReduce(Fold::Max), 3),
        (CollectiveKind::ReduceScatter(Fold::Min), 1),
        (CollectiveKind::AllGather, 9),
        (CollectiveKind::Broadcast { root: 2 }, 3),
        (CollectiveKind::Permute(Route::Shift(1)), 3),
        (CollectiveKind::Permute([(0, 2)].into()), 3),
    ];
    let given = |rank: usize| [rank as f32, 0.1 * rank as f32, -(rank as f32)];
    for (kind, results) in kinds {
        let own = together(|group| exchanged(group, kind.clone(), &given(group.rank()), results).unwrap());
        let seats = threads(3, PATIENCE);
        let of_threads: Vec<Vec<f32>> = thread::scope(|scope| {
            let work = seats.iter().map(|seat| {
                scope.spawn(|| exchanged(seat, kind.clone(), &given(seat.rank()), results).unwrap())
            });
            let work: Vec<_> = work.collect();
            work.into_iter().map(|member| member.join().unwrap()).collect()
        });
        assert_eq!(own, of_threads, "{kind:?}");
    }
}

#[test]
fn errors_of_one_member_are_errors_of_all() {
    let sum = || CollectiveKind::AllReduce(Fold::Sum);
    let all = together(|group| {
        let given = [1f32; 4];
        let own = &given[..if group.rank() == 1 { 4 } else { 3 }];
        let differs = exchanged(group, sum(), own, own.len()).unwrap_err();
        assert_eq!(group.closed().as_ref(), Some(&differs));
        assert_eq!(exchanged(group, sum(), &given, 4), Err(differs.clone()), "the group is closed");
        differs.to_string()
    });
    all.iter().for_each(|error| assert!(error.contains("3 f") && error.contains("4 f"), "{error}"));
    let all = together(|group| {
        // One member's output is too short.
        exchanged(group, sum(), &[1.0; 3], if group.rank() == 2 { 2 } else { 3 }).unwrap_err().to_string()
    });
    assert!(all[0].contains("member 2 could not come") && all[2].contains("outputs of [8] bytes"), "{all:?}");
}

#[test]
fn what_a_library_returns_is_checked() {
    type Library = fn(&[u8]) -> Result<Vec<Vec<u8>>, String>;
    let cases: [(Library, &str); 5] = [
        (|_| Err("no network".into()), "no network"),
        (|own| Ok(vec![own.to_vec()]), "1 members' bytes, not 2"),
        (|own| Ok(vec![vec![], own.to_vec()]), "not what this member sent"),
        (|own| Ok(vec![own.to_vec(), vec![1, 2]]), "member 1 sent 2 bytes"),
        (|own| Ok(vec![own.to_vec(), [own, &[0]].concat()]), "member 1 sent arrays of 5 bytes"),
    ];
    for (library, expected) in cases {
        let member = by_gathering(0, 2, PATIENCE, library).unwrap();
        let error = exchanged(&member, CollectiveKind::AllReduce(Fold::Sum), &[1.0], 1).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    let echo = by_gathering(0, 2, PATIENCE, |own| Ok(vec![own.to_vec(); 2])).unwrap();
    assert_eq!(exchanged(&echo, CollectiveKind::AllReduce(Fold::Sum), &[1.5], 1).unwrap(), [3.0]);
    assert!(by_gathering(2, 2, PATIENCE, |_| Ok(vec![])).unwrap_err().to_string().contains("below 2"));
}
