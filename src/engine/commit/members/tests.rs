use super::*;
use crate::ops::CollectiveOp;
use std::time::Duration;
use workalike_device::group::{Group, GroupError, threads};

/// A group whose exchanges a device makes by itself.
#[derive(Debug)]
struct Direct(Arc<dyn Group>);

impl Group for Direct {
    fn transport(&self) -> &str {
        "a device"
    }

    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn patience(&self) -> Duration {
        self.0.patience()
    }

    fn exchange(
        &self,
        collective: &Collective,
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]],
    ) -> Result<(), GroupError> {
        self.0.exchange(collective, inputs, outputs)
    }

    fn needs_check(&self) -> bool {
        true
    }
}

fn seat() -> Arc<dyn Group> {
    threads(2, Duration::from_secs(1)).remove(0)
}

/// Sums of a group, in this order: by the device, or through main memory.
fn sums(group: &Arc<dyn Group>, by_device: &[bool]) -> Program {
    let mut program = Program::default();
    let input = program.buffer(DType::F32, &[4], Role::Input(0));
    for (number, by_device) in by_device.iter().enumerate() {
        let sum = program.buffer(DType::F32, &[4], Role::Temp);
        let kind = CollectiveKind::AllReduce(Fold::Sum);
        let array = CollectiveArray { kind: kind.clone(), dtype: DType::F32, elements: 4 };
        let op = Collective { arrays: vec![array], group: group.clone(), number: number as u64 };
        program.steps.push(match by_device {
            true => Step::Library(LibraryStep {
                op: Arc::new(op),
                inputs: vec![(input, 0)],
                outputs: vec![sum],
                scratch: None,
                epilogue: None,
            }),
            false => Step::Host(HostNode {
                op: Arc::new(CollectiveOp::new(kind, "g")),
                node: number,
                why: "a test".into(),
                inputs: vec![input],
                outputs: vec![sum],
                exchange: Some(op),
            }),
        });
        program.outputs.push(sum);
    }
    program
}

/// Positions and reports of the checks.
fn checks(program: &Program) -> Vec<(usize, i64)> {
    let check = |step: &Step| match step {
        Step::Library(LibraryStep { op, .. }) => op.downcast::<ExchangeCheck>().map(|check| check.report),
        _ => None,
    };
    let steps = program.steps.iter().enumerate();
    steps.filter_map(|(at, step)| Some((at, check(step)?))).collect()
}

#[test]
fn one_check_comes_behind_the_last_exchange_of_devices_and_of_main_memory() {
    let group: Arc<dyn Group> = Arc::new(Direct(seat()));
    for (by_device, expected) in [
        (&[true, true][..], vec![(2, 102)]),
        (&[true, false], vec![(2, 101)]),
        (&[false, true, false], vec![(3, 102)]),
        (&[false, false], vec![]),
        (&[], vec![]),
    ] {
        let mut program = sums(&group, by_device);
        check_exchanges(&mut program, 100, &[]);
        assert_eq!(checks(&program), expected, "{by_device:?}");
        assert_eq!(program.status.is_some(), !expected.is_empty());
    }
}

#[test]
fn exchanges_that_report_by_themselves_are_not_checked() {
    let mut program = sums(&seat(), &[true, true]);
    check_exchanges(&mut program, 100, &[]);
    assert_eq!((checks(&program), program.status), (vec![], None));
}

/// A report of the first of these steps, before them all.
fn reporting(mut program: Program) -> Program {
    let status = program.status_words();
    let x = program.buffer(DType::F32, &[4], Role::Shared(0));
    program.updates.push((0, x));
    let check = on_status("check", status, vec![], vec![]);
    program.steps.insert(0, check);
    program
}

/// The arrays of each exchange, and `-` for other steps.
fn exchanged(program: &Program) -> Vec<String> {
    let arrays = |op: &Collective| {
        op.arrays
            .iter()
            .map(|array| format!("{} {}", array.elements, array.dtype))
            .collect::<Vec<_>>()
            .join(", ")
    };
    program.steps.iter().map(|step| step.exchange().map_or("-".into(), arrays)).collect()
}

#[test]
fn the_last_sum_of_a_group_takes_its_report_along() {
    for by_device in [true, false] {
        let mut program = reporting(sums(&seat(), &[by_device; 2]));
        exchange_reports(&mut program);
        assert_eq!(exchanged(&program), ["-", "4 float32", "4 float32, 1 int64", "-"], "{by_device}");
        assert!(program.steps[3].writes().contains(&program.status.unwrap()));
    }
}

#[test]
fn reports_that_come_later_or_beside_other_exchanges_are_exchanged_by_themselves() {
    let mut program = reporting(sums(&seat(), &[true]));
    let check = program.steps.remove(0);
    program.steps.push(check);
    exchange_reports(&mut program);
    assert_eq!(exchanged(&program), ["4 float32", "-", "1 int64", "-"]);
    let mut program = reporting(sums(&seat(), &[true]));
    let Step::Library(step) = &mut program.steps[1] else { panic!("no exchange") };
    let mut op = Collective::of(step.op.as_ref()).unwrap().clone();
    op.arrays[0].kind = CollectiveKind::Broadcast { root: 1 };
    step.op = Arc::new(op);
    exchange_reports(&mut program);
    assert_eq!(exchanged(&program), ["-", "1 int64", "-", "4 float32"]);
}

#[test]
fn reports_of_two_groups_go_through_both() {
    let (rows, columns) = (seat(), seat());
    let mut program = reporting(sums(&rows, &[true]));
    program.steps.extend(sums(&columns, &[true]).steps);
    exchange_reports(&mut program);
    assert_eq!(exchanged(&program), ["-", "4 float32, 1 int64", "-", "4 float32, 1 int64", "-"]);
}

#[test]
fn the_check_behind_the_exchange_of_reports_takes_them_over() {
    let group: Arc<dyn Group> = Arc::new(Direct(seat()));
    for (by_device, positions, steps) in [(&[true, true][..], vec![3], 4), (&[true, false], vec![3], 4)] {
        let mut program = reporting(sums(&group, by_device));
        let reports = exchange_reports(&mut program);
        let (status, report) = (program.status.unwrap(), reports[0].1);
        check_exchanges(&mut program, 100, &reports);
        assert_eq!(checks(&program).iter().map(|(at, _)| *at).collect::<Vec<_>>(), positions);
        assert_eq!(program.steps.len(), steps);
        let check = &program.steps[3];
        assert!(check.reads().contains(&report) && check.writes().contains(&status), "{by_device:?}");
    }
}

/// The report of the first group must be there before the exchange of the second.
#[test]
fn only_the_last_group_of_several_leaves_reports_to_its_check() {
    let groups: [Arc<dyn Group>; 2] = [Arc::new(Direct(seat())), Arc::new(Direct(seat()))];
    let mut program = reporting(sums(&groups[0], &[true]));
    program.steps.extend(sums(&groups[1], &[true]).steps);
    let reports = exchange_reports(&mut program);
    check_exchanges(&mut program, 100, &reports);
    assert_eq!(exchanged(&program), ["-", "4 float32, 1 int64", "-", "4 float32, 1 int64", "-", "-"]);
    let takes = |step: &Step| match step {
        Step::Library(LibraryStep { op, .. }) => op.downcast::<ExchangeCheck>().map(|op| op.takes_report),
        _ => None,
    };
    let taken: Vec<bool> = program.steps.iter().filter_map(takes).collect();
    assert_eq!(taken.iter().filter(|taken| **taken).count(), 1);
}
