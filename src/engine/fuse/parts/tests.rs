use super::*;
use crate::engine::fuse::join::join;
use crate::engine::fuse::limits::FusionLimits;

/// `to[at..at + 4] = from` for vectors.
fn copy_to(program: &Program, [from, to]: [BufferId; 2], at: i64) -> Step {
    let (from_shape, to_shape) = (&program.buffers[from].shape, &program.buffers[to].shape);
    let mut nest = Nest { name: "join".into(), ..Nest::copy(DType::F32, from_shape) };
    nest.operands[1] = Operand::contiguous(DType::F32, to_shape, true);
    nest.phases[0].stores[0].index[0].offset = at;
    Step::Nest { nest, buffers: vec![from, to] }
}

/// A vector of 8 that two steps assemble at these places, and a copy of it.
fn assembled(places: [i64; 2]) -> (Program, BufferId) {
    let mut program = Program::default();
    let [a, b] = [0, 1].map(|input| program.buffer(DType::F32, &[4], Role::Input(input)));
    let [whole, out] = [0; 2].map(|_| program.buffer(DType::F32, &[8], Role::Temp));
    program.buffers[whole].mutable = true;
    let steps = vec![copy_to(&program, [a, whole], places[0]), copy_to(&program, [b, whole], places[1])];
    program.steps = steps;
    program.steps.push(Step::Nest { nest: Nest::copy(DType::F32, &[8]), buffers: vec![whole, out] });
    program.outputs = vec![out];
    (program, whole)
}

#[test]
fn parts_come_back_to_where_they_were() {
    let (mut program, whole) = assembled([0, 4]);
    let before = program.print();
    let parts = split(&mut program);
    let written: Vec<Vec<BufferId>> = program.steps.iter().map(Step::writes).collect();
    // Both parts, then the array, then its reader: none writes what another does.
    assert_eq!(written.len(), 4);
    assert_eq!(written[2], [whole]);
    assert!(program.steps[..2].iter().all(|step| !step.buffers().any(|id| id == whole)));
    parts.unite(&mut program);
    assert_eq!(program.print(), before);
    assert!(program.buffers[whole].mutable);
}

#[test]
fn one_step_that_writes_all_parts_needs_no_order() {
    let (mut program, whole) = assembled([4, 0]);
    let parts = split(&mut program);
    let [Step::Nest { nest: a, buffers: of_a }, Step::Nest { nest: b, buffers: of_b }] = &program.steps[..2]
    else {
        panic!("two Nests")
    };
    let (nest, buffers) = join((a, of_a), (b, of_b), &|_| false, FusionLimits::least()).unwrap();
    program.steps.splice(..2, [Step::Nest { nest, buffers }]);
    parts.unite(&mut program);
    let Step::Nest { nest, buffers } = &program.steps[0] else { panic!("a Nest") };
    // Both stores are to one operand.
    assert_eq!(buffers.iter().filter(|id| **id == whole).count(), 1);
    let offsets: Vec<i64> = nest.phases[0].stores.iter().map(|store| store.index[0].offset).collect();
    assert_eq!((offsets, program.buffers[whole].mutable), (vec![4, 0], false));
    workalike_kernels::verify::verify(nest).unwrap();
}

#[test]
fn what_overlaps_or_is_read_before_it_is_complete_is_left_alone() {
    let (mut overlapping, whole) = assembled([0, 3]);
    let parts = split(&mut overlapping);
    assert!(parts.places.is_empty() && overlapping.buffers[whole].mutable);
    let (mut read, _) = assembled([0, 4]);
    read.steps.swap(1, 2);
    assert!(split(&mut read).places.is_empty());
}
