//! An elementwise Nest over a library op's result is fused as the op's epilogue: it runs where the element is
//! computed, and the result itself is never stored.
//!
//! The pass runs when library ops and their readers have their final form. The result must be scratch that a
//! single elementwise Nest reads, each point its own element. The device says which epilogues it supports.

use super::{is_nothing, nothing, touches_mutable};
use crate::engine::dependences::Dependences;
use crate::lower::program::{BufferId, Epilogue, LibraryStep, Program, Role, Step};
use workalike_device::LibraryOp;
use workalike_kernels::DType;
use workalike_kernels::nest::{Index, Inst, Nest};
use workalike_kernels::verify::Verified;

/// The bytes of scratch memory that an op needs with this Nest as its epilogue, where the operand at this
/// position is the op's result; `None` if the device does not support it.
pub(super) type Takes<'a> = &'a dyn Fn(&dyn LibraryOp, &Verified, usize) -> Option<u64>;

/// Tries every library op.
pub(super) fn run(program: &mut Program, takes: Takes<'_>) {
    let mut uses = Dependences::of(program);
    for position in 0..program.steps.len() {
        let Some((reader, mut step, scratch)) = fused(program, &uses, position, takes) else { continue };
        step.scratch = (scratch > 0).then(|| program.buffer(DType::U8, &[scratch], Role::Temp));
        uses.replace(program, position, nothing());
        uses.replace(program, reader, Step::Library(step));
    }
    program.steps.retain(|step| !is_nothing(step));
}

/// The position of a result's only reader, the step that replaces it, and the bytes of scratch memory it
/// needs.
fn fused(
    program: &Program,
    uses: &Dependences,
    position: usize,
    takes: Takes<'_>,
) -> Option<(usize, LibraryStep, u64)> {
    let Step::Library(library) = &program.steps[position] else { return None };
    let ([result], None, false) = (&library.outputs[..], &library.epilogue, library.op.reads_outputs())
    else {
        return None;
    };
    let mut readers = uses.readers[*result].iter();
    let (1, Some(&reader), None) = (uses.writers[*result].len(), readers.next(), readers.next()) else {
        return None;
    };
    let Step::Nest { nest, buffers } = &program.steps[reader] else { return None };
    let buffer = &program.buffers[*result];
    if buffer.role != Role::Temp || uses.roots[*result] || buffer.mutable {
        return None;
    }
    let ordered = touches_mutable(program, &program.steps[reader]);
    let reports = buffers.iter().any(|&b| program.buffers[b].role == Role::Status);
    let inputs = || library.inputs.iter().map(|input| input.0);
    let writes_input = program.steps[reader].writes().iter().any(|&w| inputs().any(|input| input == w));
    if ordered
        || reports
        || writes_input
        || inputs().any(|input| gets_its_update(program, uses, input, position, reader))
    {
        return None;
    }
    let operand = result_operand(nest, buffers, *result, buffer.len())?;
    if nest.operands[operand].dtype != buffer.dtype {
        return None;
    }
    // An ill-formed Nest stays a step, which the engine refuses when it compiles.
    let nest = Verified::new(nest.clone()).ok()?;
    let scratch = takes(&*library.op, &nest, operand)?;
    let epilogue = Some(Epilogue { nest, buffers: buffers.clone() });
    Some((reader, LibraryStep { epilogue, scratch: None, ..library.clone() }, scratch))
}

/// Whether an input is a shared variable whose new value is written between the op's old and new positions or
/// by the fused step: then the update could not be made in place.
fn gets_its_update(program: &Program, uses: &Dependences, input: BufferId, from: usize, to: usize) -> bool {
    let Role::Shared(shared) = program.buffers[input].role else { return false };
    let new = program.updates.iter().find(|update| update.0 == shared);
    new.is_some_and(|&(_, new)| uses.writers[new].iter().any(|&w| w > from && w <= to))
}

/// The operand by which an elementwise Nest reads a result of `elements` elements, if each point reads its
/// own.
fn result_operand(nest: &Nest, buffers: &[BufferId], result: BufferId, elements: u64) -> Option<usize> {
    let mut names = (0..buffers.len()).filter(|&at| buffers[at] == result);
    let (operand, None) = (names.next()?, names.next()) else { return None };
    let [phase] = &nest.phases[..] else { return None };
    let whole = nest.is_map() && nest.grid == nest.axes.len() && nest.grid_points() == elements;
    if !whole || nest.operands[operand].written {
        return None;
    }
    let own = phase.block.insts.iter().all(|inst| match inst {
        Inst::Load { operand: of, index } if *of == operand => {
            let address = nest.operands[operand].affine(index, nest.axes.len());
            address.is_some_and(|address| address.is_row_major(&nest.axes))
        }
        _ => true,
    });
    let plain = |index: &Index| index.dynamic.is_none();
    let stores = phase.stores.iter().all(|s| !s.add && s.when.is_none() && s.index.iter().all(plain));
    (own && stores).then_some(operand)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use workalike_device::Matmul;
    use workalike_kernels::nest::{Block, Operand, Phase, PhaseKind, Store};
    use workalike_kernels::ops;

    const SHAPE: [u64; 2] = [6, 4];

    /// `to = w - from`, each over these axes, `from` read at this index.
    fn subtract(shape: &[u64], index: Vec<Index>) -> Nest {
        let own: Vec<Index> = (0..shape.len()).map(Index::axis).collect();
        let insts = vec![
            Inst::Load { operand: 0, index: own.clone() },
            Inst::Load { operand: 1, index },
            Inst::Op { op: ops::SUB, args: vec![0, 1] },
        ];
        let stores = vec![Store { operand: 2, index: own, value: 2, when: None, add: false }];
        let phases = vec![Phase { kind: PhaseKind::Point, block: Block { insts }, folds: vec![], stores }];
        let operands = [false, false, true].map(|w| Operand::contiguous(DType::F32, shape, w)).to_vec();
        Nest { name: "subtract".into(), axes: shape.to_vec(), grid: shape.len(), operands, phases }
    }

    /// `w <- w - x @ g`: the product, and what follows.
    fn update() -> Program {
        let mut program = Program::default();
        let buffer = |p: &mut Program, role| p.buffer(DType::F32, &SHAPE, role);
        let x = program.buffer(DType::F32, &[6, 5], Role::Input(0));
        let g = program.buffer(DType::F32, &[5, 4], Role::Input(1));
        let w = buffer(&mut program, Role::Shared(0));
        let (sums, new) = (buffer(&mut program, Role::Temp), buffer(&mut program, Role::Temp));
        let product =
            Matmul { dtype: DType::F32, batch: 1, m: 6, n: 4, k: 5, a: [0, 5, 1], b: [0, 4, 1], fast: false };
        program.steps = vec![
            Step::Library(LibraryStep {
                op: Arc::new(product),
                inputs: vec![(x, 0), (g, 0)],
                outputs: vec![sums],
                scratch: None,
                epilogue: None,
            }),
            Step::Nest {
                nest: subtract(&SHAPE, vec![Index::axis(0), Index::axis(1)]),
                buffers: vec![w, sums, new],
            },
        ];
        program.updates = vec![(0, new)];
        program
    }

    const SUMS: BufferId = 3;

    /// Whether anything became an epilogue.
    fn changes(program: &Program, takes: Takes<'_>) -> bool {
        let mut tried = program.clone();
        run(&mut tried, takes);
        tried.print() != program.print()
    }

    fn nest(program: &mut Program) -> &mut Nest {
        match &mut program.steps[1] {
            Step::Nest { nest, .. } => nest,
            _ => panic!("a Nest"),
        }
    }

    #[test]
    fn an_update_becomes_the_epilogue_of_its_product_and_stays_in_place() {
        let mut program = update();
        run(&mut program, &|_, _, _| Some(0));
        let text = "t4:f32[6,4] <- library matmul float32 1x6x4x5, subtract <- input0:f32[6,5] input1:f32[5,4] shared0:f32[6,4]\n\
                    outputs \nupdate shared0 <- t4:f32[6,4]\n";
        assert_eq!(program.print(), text);
        assert_eq!(crate::engine::memory::lifetimes(&program)[SUMS], None, "the product is not stored");
        let program = crate::engine::inplace::update_in_place(program, &[96]);
        assert_eq!(program.steps[0].writes(), [2]);
        let work = crate::engine::cost::step(&program, &program.steps[0]);
        assert_eq!((work.launches, work.flops), (1, 2.0 * 120.0 + 24.0));
        assert_eq!((work.bytes_read, work.bytes_written), (4 * (30 + 20 + 24), 4 * 24));
    }

    #[test]
    fn scratch_memory_of_an_epilogue_is_a_buffer_of_its_own() {
        let mut program = update();
        run(&mut program, &|_, _, _| Some(64));
        let Step::Library(step) = &program.steps[0] else { panic!("a product") };
        let scratch = &program.buffers[step.scratch.unwrap()];
        assert_eq!((scratch.bytes(), &scratch.role), (64, &Role::Temp));
        assert_eq!(program.steps[0].writes(), [4, 5]);
    }

    #[test]
    fn a_device_that_has_no_epilogues_is_given_none() {
        assert!(!changes(&update(), &|_, _, _| None));
    }

    #[test]
    fn a_product_that_something_else_reads_is_stored() {
        let mut program = update();
        let copy = program.buffer(DType::F32, &SHAPE, Role::Temp);
        let mut second = program.steps[1].clone();
        let Step::Nest { buffers, .. } = &mut second else { panic!("a Nest") };
        buffers[2] = copy;
        program.steps.push(second);
        program.outputs = vec![copy];
        assert!(!changes(&program, &|_, _, _| Some(0)));
    }

    #[test]
    fn a_product_that_is_a_result_is_stored() {
        let mut program = update();
        program.outputs = vec![SUMS];
        assert!(!changes(&program, &|_, _, _| Some(0)));
        program.outputs.clear();
        program.buffers[SUMS].mutable = true;
        assert!(!changes(&program, &|_, _, _| Some(0)));
    }

    #[test]
    fn each_point_must_read_its_own_element() {
        // Transposed, shifted by one, all the same, computed.
        let last = Index { dynamic: Some(0), ..Index::default() };
        for index in [
            vec![Index::axis(1), Index::axis(0)],
            vec![Index::axis(0), Index { offset: 1, ..Index::axis(1) }],
            vec![Index::axis(0), Index::constant(0)],
            vec![Index::axis(0), last],
        ] {
            let mut program = update();
            *nest(&mut program) = subtract(&SHAPE, index.clone());
            assert!(!changes(&program, &|_, _, _| Some(0)), "{index:?}");
        }
        // Fewer points, more points.
        for shape in [[3, 4], [6, 8]] {
            let mut program = update();
            *nest(&mut program) = subtract(&shape, vec![Index::axis(0), Index::axis(1)]);
            assert!(!changes(&program, &|_, _, _| Some(0)), "{shape:?}");
        }
        // The same elements, differently named.
        for shape in [&[24][..], &[3, 8], &[2, 3, 1, 4]] {
            let mut program = update();
            *nest(&mut program) = subtract(shape, (0..shape.len()).map(Index::axis).collect());
            assert!(changes(&program, &|_, _, _| Some(0)), "{shape:?}");
        }
    }

    #[test]
    fn what_folds_adds_or_chooses_is_no_epilogue() {
        type Change = fn(&mut Nest);
        let changed: [Change; 4] = [
            |n| n.phases[0].stores[0].add = true,
            |n| n.phases[0].stores[0].when = Some(0),
            |n| n.phases.push(n.phases[0].clone()),
            |n| n.phases[0].kind = PhaseKind::Map,
        ];
        for (at, change) in changed.into_iter().enumerate() {
            let mut program = update();
            change(nest(&mut program));
            assert!(!changes(&program, &|_, _, _| Some(0)), "{at}");
        }
    }

    #[test]
    fn nothing_is_written_over_a_factor() {
        // The factor itself.
        let mut program = update();
        let Step::Nest { buffers, .. } = &mut program.steps[1] else { panic!("a Nest") };
        buffers[2] = 1;
        assert!(!changes(&program, &|_, _, _| Some(0)));
        // An update that could be made in place if the product were done by then.
        let mut program = update();
        let Step::Library(product) = &mut program.steps[0] else { panic!("a product") };
        product.inputs[0].0 = 2;
        assert!(!changes(&program, &|_, _, _| Some(0)));
    }

    #[test]
    fn what_is_written_in_parts_keeps_its_order() {
        let mut program = update();
        program.buffers[4].mutable = true;
        assert!(!changes(&program, &|_, _, _| Some(0)));
        program.buffers[4].mutable = false;
        program.buffers[2].role = Role::Status;
        assert!(!changes(&program, &|_, _, _| Some(0)));
    }
}
