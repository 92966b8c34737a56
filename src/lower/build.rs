//! Building Nests: phases with typed SSA, loads through views, compositions expanded.

use super::view::View;
use crate::lower::Refusal;
use crate::lower::program::{BufferId, Program};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use workalike_kernels::custom::ScalarFunction;
use workalike_kernels::nest::{
    Block, Fold, FoldOf, Index, IndexMode, Inst, Nest, Operand, Phase, PhaseKind, Store, Value,
};
use workalike_kernels::ops::{self, Build, Ex, OpBody, ScalarOp};
use workalike_kernels::{DType, Scalar};

/// Instructions of a phase, at most.
const INSTRUCTIONS: u32 = 1 << 20;

/// Number of phases that were begun. A phase numbers its values from a multiple of [`INSTRUCTIONS`] of its
/// own, so that the values of other phases are recognised. Nests hold the positions of instructions and do
/// not depend on it.
static PHASES: AtomicU32 = AtomicU32::new(0);

/// Where along one axis of a view an element is loaded or stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum At {
    /// At the position along this axis of the Nest.
    Axis(usize),
    /// At 0: the view's extent is 1.
    First,
    /// At a computed int64, which must lie within the axis: see [`PhaseBuilder::position`].
    Value(Value),
}

impl At {
    /// The first `rank` axes of the Nest, in order.
    pub fn axes(rank: usize) -> Vec<At> {
        (0..rank).map(At::Axis).collect()
    }
}

/// A Nest in the making, and the buffers of its operands. [`Lowering::push`](super::Lowering::push) appends
/// it.
#[derive(Debug)]
pub struct NestBuilder {
    pub(crate) nest: Nest,
    pub(crate) buffers: Vec<BufferId>,
    /// The first request that could not be met.
    pub(crate) mistake: Option<Refusal>,
}

impl NestBuilder {
    /// A Nest without phases over grid axes and inner axes of these extents. The name becomes a part of
    /// kernels' names.
    pub fn new(name: &str, grid: &[u64], inner: &[u64]) -> NestBuilder {
        let axes = grid.iter().chain(inner).copied().collect();
        let nest = Nest { name: name.into(), axes, grid: grid.len(), operands: vec![], phases: vec![] };
        NestBuilder { nest, buffers: vec![], mistake: None }
    }

    /// The next phase. It is a part of the Nest once it is [finished](PhaseBuilder::finish). The Program is
    /// that of [`Lowering::program`](super::Lowering::program).
    pub fn phase<'b>(&'b mut self, kind: PhaseKind, program: &'b Program) -> PhaseBuilder<'b> {
        let (block, dtypes, folds, stores) = (Block::default(), vec![], vec![], vec![]);
        let tags = u32::MAX / INSTRUCTIONS;
        let first = (PHASES.fetch_add(1, Ordering::Relaxed) % tags + 1) * INSTRUCTIONS;
        PhaseBuilder { to: self, program, kind, first, block, dtypes, folds, stores }
    }

    fn refuse(&mut self, why: impl FnOnce() -> Refusal) {
        self.mistake.get_or_insert_with(why);
    }

    /// The operand for a buffer seen with these extents; the same one for the same request.
    fn operand(&mut self, buffer: BufferId, dtype: DType, base: &[u64], written: bool) -> usize {
        let same =
            self.nest.operands.iter().zip(&self.buffers).position(|(o, &b)| b == buffer && o.shape == base);
        if let Some(at) = same {
            self.nest.operands[at].written |= written;
            return at;
        }
        self.nest.operands.push(Operand::contiguous(dtype, base, written));
        self.buffers.push(buffer);
        self.buffers.len() - 1
    }
}

/// A phase in the making. As a [`Build`]er it expands compositions and inserts conversions.
///
/// A [`Value`] belongs to the phase that returned it. A request that a phase cannot fulfil (a value of
/// another phase, an axis that the phase does not have, a number of positions that is not the view's number
/// of axes) is recorded in the Nest, and [`Lowering::push`](super::Lowering::push) refuses it.
#[derive(Debug)]
pub struct PhaseBuilder<'b> {
    to: &'b mut NestBuilder,
    program: &'b Program,
    kind: PhaseKind,
    /// The number of its first value.
    first: Value,
    block: Block,
    dtypes: Vec<DType>,
    folds: Vec<FoldOf>,
    stores: Vec<Store>,
}

impl PhaseBuilder<'_> {
    /// Appends an instruction, or returns an equal one.
    fn emit(&mut self, inst: Inst, dtype: DType) -> Ex {
        let reusable = self.kind != PhaseKind::Ordered || !matches!(inst, Inst::Load { .. });
        if reusable && let Some(at) = self.block.insts.iter().position(|i| *i == inst) {
            return at;
        }
        if self.dtypes.len() >= INSTRUCTIONS as usize {
            self.to.refuse(|| format!("a phase has at most {INSTRUCTIONS} instructions"));
            return 0;
        }
        self.block.insts.push(inst);
        self.dtypes.push(dtype);
        self.dtypes.len() - 1
    }

    fn push(&mut self, inst: Inst, dtype: DType) -> Value {
        let at = self.emit(inst, dtype);
        self.named(at)
    }

    /// The [`Value`] of an instruction.
    fn named(&self, at: Ex) -> Value {
        // An instruction's position is below INSTRUCTIONS.
        self.first + at as Value
    }

    /// Records a mistake, and returns a placeholder.
    fn refused(&mut self, why: impl FnOnce() -> Refusal) -> Ex {
        self.to.refuse(why);
        self.emit(Inst::Const(Scalar::from_i128(DType::I64, 0)), DType::I64)
    }

    /// The instruction of a value.
    fn own(&mut self, value: Value) -> Ex {
        let at = value.checked_sub(self.first).map(|at| at as Ex).filter(|&at| at < self.dtypes.len());
        at.unwrap_or_else(|| self.refused(|| format!("value {value} is not one of this phase")))
    }

    /// The axes of the Nest that exist in this phase.
    fn visible_axes(&self) -> usize {
        let nest = &self.to.nest;
        if self.kind == PhaseKind::Point { nest.grid } else { nest.axes.len() }
    }

    /// Whether the phase has this axis; else it is a mistake.
    fn has_axis(&mut self, axis: usize) -> bool {
        let axes = self.visible_axes();
        if axis >= axes {
            self.to.refuse(|| format!("axis {axis} does not exist in a phase of {axes} axes"));
        }
        axis < axes
    }

    /// A whole number of any dtype.
    pub fn number(&mut self, dtype: DType, value: i128) -> Value {
        self.push(Inst::Const(Scalar::from_i128(dtype, value)), dtype)
    }

    /// A number of any dtype.
    pub fn float(&mut self, dtype: DType, value: f64) -> Value {
        self.push(Inst::Const(Scalar::from_f64(dtype, value)), dtype)
    }

    /// A number of the dtype of another value.
    pub fn float_like(&mut self, like: Value, value: f64) -> Value {
        let like = self.own(like);
        let result = Build::constant(self, like, value);
        self.named(result)
    }

    /// The position along an axis of the Nest, as int64.
    pub fn axis(&mut self, axis: usize) -> Value {
        if !self.has_axis(axis) {
            return self.number(DType::I64, 0);
        }
        self.push(Inst::Axis(axis), DType::I64)
    }

    /// An elementwise op of these arguments, which are converted as its type rule says.
    pub fn apply(&mut self, op: ScalarOp, args: &[Value]) -> Value {
        let args: Vec<Ex> = args.iter().map(|&a| self.own(a)).collect();
        let result = Build::op(self, op, &args);
        self.named(result)
    }

    /// A function of these arguments, which are converted to the dtypes of its parameters: only where
    /// [`Abilities::takes_functions`](super::Abilities::takes_functions).
    pub fn call(&mut self, function: &Arc<ScalarFunction>, args: &[Value]) -> Value {
        if args.len() != function.params().len() {
            self.to
                .refuse(|| format!("{} arguments for a function of {}", args.len(), function.params().len()));
            return self.number(function.result(), 0);
        }
        let cast = |(&arg, dtype): (&Value, DType)| {
            let arg = self.own(arg);
            Build::cast(self, arg, dtype) as Value
        };
        let args = args.iter().zip(function.params()).map(cast).collect();
        self.push(Inst::Call { function: function.clone(), args }, function.result())
    }

    /// A value in another dtype.
    pub fn convert(&mut self, value: Value, dtype: DType) -> Value {
        let value = self.own(value);
        let result = Build::cast(self, value, dtype);
        self.named(result)
    }

    /// An integer as int64; larger values saturate.
    pub fn signed(&mut self, value: Value) -> Value {
        let at = self.own(value);
        let mut value = self.named(at);
        if self.dtypes.get(at) == Some(&DType::U64) {
            let most = self.number(DType::U64, i64::MAX.into());
            value = self.apply(ops::MINIMUM, &[value, most]);
        }
        self.convert(value, DType::I64)
    }

    /// The position along an axis of this extent that an index means by NumPy's rule: a negative one counts
    /// from the end. Out of range it is the nearest position, and with `report` an error of the call.
    /// `report` is the status word, from [`Lowering::check_index_of`](super::Lowering::check_index_of), and
    /// the number of [`Lowering::report`](super::Lowering::report).
    pub fn position(&mut self, value: Value, extent: u64, report: Option<(BufferId, i128)>) -> Value {
        let mode = match report {
            None => IndexMode::FromEnd,
            Some((buffer, number)) => {
                let status = self.to.operand(buffer, DType::I64, &[], true);
                // Numbers of methods and nodes are combined so that they fit.
                IndexMode::Report { status, node: i64::try_from(number).unwrap_or(i64::MAX) }
            }
        };
        self.position_by(value, extent, mode)
    }

    /// The nearest position along an axis of this extent.
    pub fn nearest(&mut self, value: Value, extent: u64) -> Value {
        self.position_by(value, extent, IndexMode::Clamp)
    }

    /// The position along an axis of this extent that is the integer modulo the extent.
    pub fn wrapped(&mut self, value: Value, extent: u64) -> Value {
        self.position_by(value, extent, IndexMode::Wrap)
    }

    fn position_by(&mut self, value: Value, extent: u64, mode: IndexMode) -> Value {
        let value = self.signed(value);
        let at = self.own(value);
        self.push(Inst::Position { value: at as Value, extent, mode }, DType::I64)
    }

    /// The dtype and the index list of a view's element.
    fn index(&mut self, view: &View, at: &[At]) -> Option<(DType, Vec<Index>)> {
        let dtype = match view.check(self.program) {
            Ok(buffer) => buffer.dtype,
            Err(why) => {
                self.to.refuse(|| why);
                return None;
            }
        };
        let axes: Vec<usize> =
            at.iter().filter_map(|at| if let At::Axis(a) = at { Some(*a) } else { None }).collect();
        if at.len() != view.shape.len() {
            let (given, shape) = (at.len(), &view.shape);
            self.to.refuse(|| format!("{given} positions in a view of extents {shape:?}"));
            return None;
        }
        if !axes.into_iter().all(|axis| self.has_axis(axis)) {
            return None;
        }
        let mut list = Vec::with_capacity(view.index.len());
        for (index, dynamic) in view.index.iter().zip(&view.dynamic) {
            let mut result = Index::constant(index.offset);
            let mut values: Vec<Ex> = Vec::new();
            for &(axis, coefficient) in &index.terms {
                match at[axis] {
                    At::Axis(axis) => result.add_term(axis, coefficient),
                    At::First => {}
                    At::Value(v) if coefficient == 1 => values.push(self.own(v)),
                    At::Value(v) => {
                        let v = self.own(v);
                        let factor = Inst::Const(Scalar::from_i128(DType::I64, coefficient.into()));
                        let factor = self.emit(factor, DType::I64);
                        values.push(Build::op(self, ops::MUL, &[v, factor]));
                    }
                }
            }
            for &buffer in dynamic {
                let operand = self.to.operand(buffer, DType::I64, &[], false);
                values.push(self.emit(Inst::Load { operand, index: vec![] }, DType::I64));
            }
            let sum = values.into_iter().reduce(|a, b| Build::op(self, ops::ADD, &[a, b]));
            result.dynamic = sum.map(|sum| sum as Value);
            list.push(result);
        }
        Some((dtype, list))
    }

    /// The element of a view at these positions along its axes.
    pub fn load(&mut self, view: &View, at: &[At]) -> Value {
        let Some((dtype, index)) = self.index(view, at) else { return self.number(DType::I64, 0) };
        let operand = self.to.operand(view.buffer, dtype, &view.base, false);
        self.push(Inst::Load { operand, index }, dtype)
    }

    /// Stores into a buffer seen with these extents, converted to its dtype, where `when` holds. Different
    /// points of the Nest must store to different elements, except for the inner points of an Ordered phase.
    pub fn store(&mut self, buffer: BufferId, base: &[u64], at: &[At], value: Value, when: Option<Value>) {
        self.put(&View::whole(buffer, base), at, value, when, false);
    }

    /// Stores at a position of a view, as [`PhaseBuilder::store`] does.
    pub fn store_view(&mut self, view: &View, at: &[At], value: Value) {
        self.put(view, at, value, None, false);
    }

    /// Adds to the element at a position of a view, which must hold a number: see
    /// [`Abilities::adds_to`](super::Abilities::adds_to).
    pub fn add_view(&mut self, view: &View, at: &[At], value: Value) {
        self.put(view, at, value, None, true);
    }

    fn put(&mut self, view: &View, at: &[At], value: Value, when: Option<Value>, add: bool) {
        let dtype = view.check(self.program).map(|buffer| buffer.dtype);
        let value = self.own(value);
        let value = dtype.map_or(value, |dtype| Build::cast(self, value, dtype));
        let when = when.map(|when| self.own(when) as Value);
        let Some((dtype, index)) = self.index(view, at) else { return };
        let operand = self.to.operand(view.buffer, dtype, &view.base, true);
        self.stores.push(Store { operand, index, value: value as Value, when, add });
    }

    /// Folds a value over the inner points; only in a Reduce phase. ArgMax and ArgMin give the int64 `index`
    /// of the point. Returns the fold's position in the phase.
    pub fn fold(&mut self, fold: Fold, value: Value, index: Option<Value>) -> usize {
        let value = self.own(value) as Value;
        let index = index.map(|index| self.own(index) as Value);
        self.folds.push(FoldOf { fold, value, index });
        self.folds.len() - 1
    }

    /// The result of a fold of an earlier phase, of this dtype (int64 for ArgMax and ArgMin).
    pub fn folded(&mut self, phase: usize, fold: usize, dtype: DType) -> Value {
        self.push(Inst::Folded { phase, fold }, dtype)
    }

    /// Adds the phase to its Nest; returns its position.
    pub fn finish(self) -> usize {
        let PhaseBuilder { to, kind, block, folds, stores, .. } = self;
        to.nest.phases.push(Phase { kind, block, folds, stores });
        to.nest.phases.len() - 1
    }
}

impl Build for PhaseBuilder<'_> {
    fn op(&mut self, op: ScalarOp, args: &[Ex]) -> Ex {
        let given: Option<Vec<DType>> = args.iter().map(|&a| self.dtypes.get(a).copied()).collect();
        // Graph ops were typed when they were built and rows only combine what their signatures accept.
        let Some(signature) = given.as_deref().and_then(|given| op.signature(given)) else {
            return self.refused(|| format!("{op:?} does not accept {given:?}"));
        };
        let args: Vec<Ex> = args.iter().zip(&signature.args).map(|(&a, &d)| self.cast(a, d)).collect();
        match op.row().body {
            OpBody::Composition(compose) => {
                // Halves are rounded once, at the end, since intermediate results may overflow.
                let wide: Vec<Ex> =
                    args.iter().zip(&signature.args).map(|(&a, d)| self.cast(a, d.register())).collect();
                let result = compose(self, &wide);
                self.cast(result, signature.result)
            }
            OpBody::Primitive { .. } => {
                let args = args.iter().map(|&a| a as Value).collect();
                self.emit(Inst::Op { op, args }, signature.result)
            }
        }
    }

    fn constant(&mut self, like: Ex, value: f64) -> Ex {
        let dtype = self.dtype(like);
        self.emit(Inst::Const(Scalar::from_f64(dtype, value)), dtype)
    }

    fn cast(&mut self, value: Ex, dtype: DType) -> Ex {
        match self.dtypes.get(value) {
            Some(&given) if given == dtype => value,
            Some(_) => self.emit(Inst::Cast { to: dtype, value: value as Value }, dtype),
            None => self.refused(|| format!("instruction {value} does not exist")),
        }
    }

    fn dtype(&self, value: Ex) -> DType {
        self.dtypes.get(value).copied().unwrap_or(DType::I64)
    }
}
