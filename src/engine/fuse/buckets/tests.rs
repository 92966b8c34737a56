use super::*;
use crate::lower::program::{BufferId, HostNode, LibraryStep, Role};
use crate::ops::CollectiveOp;
use std::time::Duration;
use workalike_device::group::{CollectiveKind, Group, threads};
use workalike_kernels::DType;
use workalike_kernels::nest::{Fold, Nest};

fn copy(from: BufferId, to: BufferId, n: u64) -> Step {
    Step::Nest { nest: Nest::copy(DType::F32, &[n]), buffers: vec![from, to] }
}

fn exchange(group: &Arc<dyn Group>, kind: CollectiveKind, from: BufferId, to: BufferId, n: u64) -> Step {
    let arrays = vec![CollectiveArray { kind, dtype: DType::F32, elements: n }];
    let op = Collective { arrays, group: group.clone(), number: 0 };
    let (inputs, outputs) = (vec![(from, 0)], vec![to]);
    Step::Library(LibraryStep { op: Arc::new(op), inputs, outputs, scratch: None, epilogue: None })
}

/// What each step is: `c` for a copy, the numbers of elements for an exchange; with the buffers it writes.
fn listed(program: &Program) -> Vec<(String, Vec<BufferId>)> {
    let elements = |op: &Collective| op.arrays.iter().map(|array| array.elements).collect::<Vec<_>>();
    let name = |step: &Step| step.all_reduce().map_or("c".to_string(), |op| format!("{:?}", elements(op)));
    program.steps.iter().map(|step| (name(step), step.writes())).collect()
}

/// Gradients, each computed, added up over members, and used.
fn gradients(sizes: impl IntoIterator<Item = u64>, kind: impl Fn(usize) -> CollectiveKind) -> Program {
    let group = threads(2, Duration::from_secs(1)).remove(0);
    let mut program = Program::default();
    for (at, n) in sizes.into_iter().enumerate() {
        let input = program.buffer(DType::F32, &[n], Role::Input(at));
        let [own, sum, used] = [0; 3].map(|_| program.buffer(DType::F32, &[n], Role::Temp));
        let steps = [copy(input, own, n), exchange(&group, kind(at), own, sum, n), copy(sum, used, n)];
        program.steps.extend(steps);
        program.outputs.push(used);
    }
    program
}

const SUM: CollectiveKind = CollectiveKind::AllReduce(Fold::Sum);

#[test]
fn small_reductions_share_an_exchange() {
    let mut program = gradients([3, 5, 7], |_| SUM);
    run(&mut program);
    let list = listed(&program);
    let expected = [("c", vec![1]), ("c", vec![5]), ("c", vec![9]), ("[3, 5, 7]", vec![2, 6, 10])];
    let expected = expected.into_iter().chain([("c", vec![3]), ("c", vec![7]), ("c", vec![11])]);
    assert_eq!(list, expected.map(|(name, writes)| (name.to_string(), writes)).collect::<Vec<_>>());
}

/// And the last one has room for the members' reports.
#[test]
fn no_exchange_has_more_arrays_than_transports_carry() {
    let mut program = gradients((0..150).map(|at| at % 5 + 1), |_| SUM);
    run(&mut program);
    let arrays = program.steps.iter().filter_map(Step::all_reduce).map(|op| op.arrays.len());
    assert_eq!(arrays.collect::<Vec<_>>(), [MOST_JOINED, MOST_JOINED, 150 - 2 * MOST_JOINED]);
    const { assert!(MOST_JOINED < Collective::MOST_ARRAYS) }
}

#[test]
fn reductions_of_several_kinds_share_one() {
    let mut program =
        gradients([3, 5, 7], |at| if at == 1 { CollectiveKind::AllReduce(Fold::Max) } else { SUM });
    run(&mut program);
    let exchanges: Vec<&Collective> = program.steps.iter().filter_map(Step::all_reduce).collect();
    let [op] = exchanges[..] else { panic!("{} exchanges", exchanges.len()) };
    let kinds = op.arrays.iter().map(|array| (array.kind.fold(), array.elements)).collect::<Vec<_>>();
    assert_eq!(kinds, [(Some(Fold::Sum), 3), (Some(Fold::Max), 5), (Some(Fold::Sum), 7)]);
}

#[test]
fn exchanges_of_devices_and_of_main_memory_stay_apart() {
    let mut program = gradients([3, 5, 7], |_| SUM);
    // The second of the three goes through main memory.
    let Step::Library(step) = &program.steps[4] else { panic!("no exchange") };
    let (op, inputs) = (step.op.clone(), step.inputs.iter().map(|(input, _)| *input).collect());
    program.steps[4] = Step::Host(HostNode {
        op: Arc::new(CollectiveOp::new(SUM, "g")),
        node: 0,
        why: "a test".into(),
        inputs,
        outputs: step.outputs.clone(),
        exchange: Collective::of(op.as_ref()).cloned(),
    });
    let before = listed(&program);
    run(&mut program);
    assert_eq!(listed(&program), before);
}

#[test]
fn small_ones_around_a_large_one_share_an_exchange() {
    let mut program = gradients([3, SHARED_BYTES, 7], |_| SUM);
    run(&mut program);
    let list: Vec<String> = listed(&program).into_iter().map(|(name, _)| name).collect();
    let large = format!("[{SHARED_BYTES}]");
    assert_eq!(list, ["c", "c", &large, "c", "c", "[3, 7]", "c", "c"]);
    // What uses the large one is not held up.
    assert_eq!(listed(&program)[3].1, [7]);
}

#[test]
fn a_large_one_that_waits_for_small_ones_ends_their_bucket() {
    let group = threads(2, Duration::from_secs(1)).remove(0);
    let mut program = Program::default();
    let input = program.buffer(DType::F32, &[4], Role::Input(0));
    let n = SHARED_BYTES;
    let [sum, third] = [0; 2].map(|_| program.buffer(DType::F32, &[4], Role::Temp));
    let [spread, large] = [0; 2].map(|_| program.buffer(DType::F32, &[n], Role::Temp));
    program.steps = vec![
        exchange(&group, SUM, input, sum, 4),
        copy(sum, spread, 4),
        exchange(&group, SUM, spread, large, n),
        exchange(&group, SUM, input, third, 4),
    ];
    program.outputs = vec![large, third];
    let before = listed(&program);
    run(&mut program);
    assert_eq!(listed(&program), before);
}

#[test]
fn other_kinds_stay_apart() {
    let mut program = gradients([3, 5, 7], |at| if at == 1 { CollectiveKind::AllGather } else { SUM });
    let before = listed(&program);
    run(&mut program);
    assert_eq!(listed(&program), before);
}

#[test]
fn what_depends_on_a_sum_is_not_added_with_it() {
    let group = threads(2, Duration::from_secs(1)).remove(0);
    let mut program = Program::default();
    let input = program.buffer(DType::F32, &[4], Role::Input(0));
    let [sum, scaled, second, third] = [0; 4].map(|_| program.buffer(DType::F32, &[4], Role::Temp));
    program.steps = vec![
        exchange(&group, SUM, input, sum, 4),
        copy(sum, scaled, 4),
        exchange(&group, SUM, scaled, second, 4),
        exchange(&group, SUM, input, third, 4),
    ];
    program.outputs = vec![second, third];
    run(&mut program);
    let list: Vec<String> = listed(&program).into_iter().map(|(name, _)| name).collect();
    assert_eq!(list, ["[4]", "c", "[4, 4]"]);
}
