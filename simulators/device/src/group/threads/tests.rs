use super::*;
use crate::group::{CollectiveKind, Route};
use bytemuck::{cast_slice, cast_slice_mut};
use std::thread;
use workalike_kernels::DType;
use workalike_kernels::library::LibraryOp;
use workalike_kernels::nest::Fold;

/// What each member of a group gets, given the elements that each has.
fn exchanged(
    kind: &CollectiveKind,
    inputs: &[Vec<f32>],
    results: usize,
) -> Vec<Result<Vec<f32>, GroupError>> {
    let members = threads(inputs.len(), PATIENCE);
    thread::scope(|scope| {
        let work = members.iter().zip(inputs).map(|(member, input)| {
            scope.spawn(move || {
                let collective = collective(kind.clone(), input.len(), member.clone());
                let mut output = vec![f32::NAN; results];
                member.exchange(&collective, &[cast_slice(input)], &mut [cast_slice_mut(&mut output)])?;
                Ok(output)
            })
        });
        let work: Vec<_> = work.collect();
        work.into_iter().map(|member| member.join().unwrap()).collect()
    })
}

const PATIENCE: Duration = Duration::from_secs(60);

fn array(kind: CollectiveKind, dtype: DType, elements: usize) -> CollectiveArray {
    CollectiveArray { kind, dtype, elements: elements as u64 }
}

fn collective(kind: CollectiveKind, elements: usize, group: Arc<dyn Group>) -> Collective {
    Collective { arrays: vec![array(kind, DType::F32, elements)], group, number: 7 }
}

#[test]
fn members_get_what_the_kind_says() {
    let inputs: Vec<Vec<f32>> = (0..3).map(|rank| vec![rank as f32, 10.0, -(rank as f32)]).collect();
    let all = |kind: CollectiveKind, results: usize| -> Vec<Vec<f32>> {
        exchanged(&kind, &inputs, results).into_iter().map(Result::unwrap).collect()
    };
    assert_eq!(all(CollectiveKind::AllReduce(Fold::Sum), 3), vec![[3.0, 30.0, -3.0]; 3]);
    assert_eq!(all(CollectiveKind::AllReduce(Fold::Max), 3), vec![[2.0, 10.0, 0.0]; 3]);
    assert_eq!(all(CollectiveKind::AllReduce(Fold::Min), 3), vec![[0.0, 10.0, -2.0]; 3]);
    assert_eq!(all(CollectiveKind::ReduceScatter(Fold::Sum), 1), [[3.0], [30.0], [-3.0]]);
    assert_eq!(all(CollectiveKind::AllGather, 9), vec![inputs.concat(); 3]);
    assert_eq!(all(CollectiveKind::Broadcast { root: 1 }, 3), vec![inputs[1].clone(); 3]);
    let shifted = all(CollectiveKind::Permute(Route::Shift(-4)), 3);
    assert_eq!(shifted, [1, 2, 0].map(|rank: usize| inputs[rank].clone()));
    let swapped = all(CollectiveKind::Permute([(0, 2), (2, 0)].into()), 3);
    assert_eq!(swapped, [inputs[2].clone(), vec![0.0; 3], inputs[0].clone()]);
}

#[test]
fn large_sums_are_shared_and_have_the_same_bits() {
    let inputs: Vec<Vec<f32>> =
        (0..3).map(|rank| (0..10_007).map(|i| ((i * 7 + rank) as f32).sin()).collect()).collect();
    let sums = exchanged(&CollectiveKind::AllReduce(Fold::Sum), &inputs, 10_007);
    let expected: Vec<f32> = (0..10_007).map(|i| inputs[0][i] + inputs[1][i] + inputs[2][i]).collect();
    sums.into_iter().for_each(|sum| assert_eq!(sum.unwrap(), expected));
}

#[test]
fn members_at_different_collectives_find_out() {
    let outcomes = exchanged(&CollectiveKind::AllReduce(Fold::Sum), &[vec![1.0; 4], vec![1.0; 5]], 4);
    let text = |outcome: &Result<_, GroupError>| outcome.as_ref().unwrap_err().to_string();
    // One of them has an output of another length than it needs, too.
    assert!(
        outcomes.iter().any(|outcome| text(outcome).contains("float32") || text(outcome).contains("bytes"))
    );
    let [a, b] = <[Arc<dyn Group>; 2]>::try_from(threads(2, PATIENCE)).unwrap();
    let kinds = [CollectiveKind::AllReduce(Fold::Sum), CollectiveKind::AllReduce(Fold::Max)];
    let errors = thread::scope(|scope| {
        [(a, &kinds[0]), (b, &kinds[1])]
            .map(|(member, kind)| {
                scope.spawn(move || {
                    let collective = collective(kind.clone(), 1, member.clone());
                    member.exchange(&collective, &[&[0; 4]], &mut [&mut [0; 4]]).unwrap_err().to_string()
                })
            })
            .map(|thread| thread.join().unwrap())
    });
    assert_eq!(errors[0], errors[1], "all members get the same error");
    assert!(
        errors[0].contains("(Sum)") && errors[0].contains("(Max)") && errors[0].contains("#7"),
        "{}",
        errors[0]
    );
}

#[test]
fn who_waits_for_a_member_that_left_or_is_late_gets_an_error() {
    let [a, b, c] = <[Arc<dyn Group>; 3]>::try_from(threads(3, Duration::from_millis(20))).unwrap();
    let wait = |member: Arc<dyn Group>| {
        let collective = collective(CollectiveKind::AllReduce(Fold::Sum), 1, member.clone());
        let errors =
            [(); 2].map(|()| member.exchange(&collective, &[&[0; 4]], &mut [&mut [0; 4]]).unwrap_err());
        assert_eq!(errors[0], errors[1], "the group stays closed");
        errors[0].to_string()
    };
    let error = wait(a);
    assert!(error.contains("members 1, 2 did not come") && error.contains("0.02 s"), "{error}");
    assert_eq!(error, wait(b), "the first error is that of all");
    drop(c);
    let mut members = threads(2, PATIENCE).into_iter();
    drop(members.next());
    let error = wait(members.next().unwrap());
    assert!(error.contains("member 0 has left"), "{error}");
}

#[test]
fn wrong_members_and_sizes_are_named() {
    let group = threads(2, PATIENCE).remove(0);
    let verify =
        |kind, elements| collective(kind, elements, group.clone()).verify().map_err(|e| e.to_string());
    for (kind, elements, word) in [
        (CollectiveKind::Broadcast { root: 2 }, 1, "root"),
        (CollectiveKind::Permute([(0, 2)].into()), 1, "(0, 2)"),
        (CollectiveKind::Permute([(0, 1), (1, 1)].into()), 1, "member 1 twice"),
        (CollectiveKind::ReduceScatter(Fold::Sum), 3, "a multiple of 2"),
        (CollectiveKind::AllReduce(Fold::Product), 3, "Sum, Max or Min"),
        (CollectiveKind::AllGather, 1 << 60, "bytes"),
    ] {
        let error = verify(kind, elements).unwrap_err();
        assert!(error.contains(word), "{error}");
    }
    verify(CollectiveKind::ReduceScatter(Fold::Max), 4).unwrap();
}

#[test]
fn several_arrays_share_a_reduction() {
    for sizes in [[3usize, 0, 5], [5000, 1, 3000]] {
        let sums = thread::scope(|scope| {
            let work: Vec<_> = threads(3, PATIENCE)
                .into_iter()
                .map(|member| {
                    scope.spawn(move || {
                        let arrays =
                            sizes.map(|n| (0..n).map(|i| (i + n * member.rank()) as f32).collect::<Vec<_>>());
                        let mut sums = sizes.map(|n| vec![0f32; n]);
                        let kind = CollectiveKind::AllReduce(Fold::Sum);
                        let collective = Collective {
                            arrays: sizes.map(|n| array(kind.clone(), DType::F32, n)).to_vec(),
                            ..collective(kind, 0, member.clone())
                        };
                        collective.verify().unwrap();
                        let inputs = arrays.each_ref().map(|array| cast_slice(array));
                        let mut outputs = sums.each_mut().map(|sum| cast_slice_mut(sum));
                        member.exchange(&collective, &inputs, &mut outputs).unwrap();
                        sums
                    })
                })
                .collect();
            work.into_iter().map(|member| member.join().unwrap()).collect::<Vec<_>>()
        });
        let want = sizes.map(|n| (0..n).map(|i| (3 * i + 3 * n) as f32).collect::<Vec<_>>());
        sums.iter().for_each(|sum| assert_eq!(*sum, want));
    }
}

/// Sums of floats, the largest integer and the smallest byte, whose sizes in bytes differ.
#[test]
fn arrays_of_several_dtypes_share_a_reduction() {
    for floats in [3usize, 9999] {
        let exchange = |member: &Arc<dyn Group>| {
            let rank = member.rank();
            let arrays = vec![
                array(CollectiveKind::AllReduce(Fold::Sum), DType::F32, floats),
                array(CollectiveKind::AllReduce(Fold::Max), DType::I64, 1),
                array(CollectiveKind::AllReduce(Fold::Min), DType::U8, 2),
            ];
            let collective = Collective { arrays, group: member.clone(), number: 7 };
            collective.verify().unwrap();
            let given: Vec<f32> = (0..floats).map(|i| (i * (rank + 1)) as f32).collect();
            let (mut sums, mut largest, mut least) = (vec![0f32; floats], [0i64], [0u8; 2]);
            let (number, bytes) = ([rank as i64 * 1000], [rank as u8 + 7, 3 - rank as u8]);
            let inputs = [cast_slice(&given), cast_slice(&number), &bytes];
            let mut outputs = [cast_slice_mut(&mut sums), cast_slice_mut(&mut largest), &mut least];
            member.exchange(&collective, &inputs, &mut outputs).unwrap();
            (sums, largest, least)
        };
        let members = threads(3, PATIENCE);
        let found = thread::scope(|scope| {
            let work: Vec<_> = members.iter().map(|member| scope.spawn(move || exchange(member))).collect();
            work.into_iter().map(|member| member.join().unwrap()).collect::<Vec<_>>()
        });
        let sums = (0..floats).map(|i| (6 * i) as f32).collect::<Vec<_>>();
        assert_eq!(found, vec![(sums, [2000], [7, 1]); 3]);
    }
    let group = threads(2, PATIENCE).remove(0);
    let arrays = [CollectiveKind::AllGather, CollectiveKind::AllReduce(Fold::Sum)];
    let arrays = arrays.map(|kind| array(kind, DType::F32, 2)).to_vec();
    let error = Collective { arrays, group, number: 7 }.verify().unwrap_err().to_string();
    assert!(error.contains("reductions for all members"), "{error}");
}

#[test]
fn a_group_opens_again_after_a_members_call_failed() {
    let [a, b] = <[Arc<dyn Group>; 2]>::try_from(threads(2, PATIENCE)).unwrap();
    let exchange = |member: &Arc<dyn Group>| {
        let collective = collective(CollectiveKind::AllReduce(Fold::Sum), 1, member.clone());
        let mut out = [0f32];
        member.exchange(&collective, &[cast_slice(&[2f32])], &mut [cast_slice_mut(&mut out)]).map(|()| out[0])
    };
    thread::scope(|scope| {
        let waits = scope.spawn(|| exchange(&a));
        b.close("out of range");
        let error = waits.join().unwrap().unwrap_err().to_string();
        assert!(error.contains("member 1 could not come") && error.contains("out of range"), "{error}");
    });
    a.reopen().unwrap();
    let sums = thread::scope(|scope| {
        [&a, &b].map(|member| scope.spawn(|| exchange(member))).map(|thread| thread.join().unwrap())
    });
    assert_eq!(sums, [Ok(4.0), Ok(4.0)]);
    drop(b);
    assert!(a.reopen().is_err());
}
