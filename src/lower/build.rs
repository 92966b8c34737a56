//! Building Nests: phases with typed SSA, loads through views, compositions expanded.

use crate::dtype::DType;
use crate::kernels::Scalar;
use crate::kernels::nest::{
    Block, Fold, FoldOf, Index, Inst, Mode, Nest, Operand, Phase, PhaseKind, Store, Value,
};
use crate::kernels::ops::{self, Body, Build, Ex, ScalarOp};
use crate::lower::View;
use crate::lower::program::{BufferId, Program};

/// Where along one axis of a view an element is loaded or stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum At {
    /// At the position along this axis of the Nest.
    Axis(usize),
    /// At 0: the view's extent is 1.
    First,
    /// At a computed i64.
    Value(Value),
}

impl At {
    /// The first `rank` axes of the Nest, in order.
    pub(crate) fn axes(rank: usize) -> Vec<At> {
        (0..rank).map(At::Axis).collect()
    }
}

/// A Nest in the making, and the buffers of its operands.
pub(crate) struct NestBuilder {
    pub(crate) nest: Nest,
    pub(crate) buffers: Vec<BufferId>,
}

impl NestBuilder {
    pub(crate) fn new(name: &str, grid: &[u64], inner: &[u64]) -> NestBuilder {
        let axes = grid.iter().chain(inner).copied().collect();
        let nest = Nest { name: name.into(), axes, grid: grid.len(), operands: vec![], phases: vec![] };
        NestBuilder { nest, buffers: vec![] }
    }

    pub(crate) fn phase<'b>(&'b mut self, kind: PhaseKind, program: &'b Program) -> PhaseBuilder<'b> {
        let (block, dtypes, folds, stores) = (Block::default(), vec![], vec![], vec![]);
        PhaseBuilder { to: self, program, kind, block, dtypes, folds, stores }
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
pub(crate) struct PhaseBuilder<'b> {
    to: &'b mut NestBuilder,
    program: &'b Program,
    kind: PhaseKind,
    block: Block,
    dtypes: Vec<DType>,
    folds: Vec<FoldOf>,
    stores: Vec<Store>,
}

impl PhaseBuilder<'_> {
    fn push(&mut self, inst: Inst, dtype: DType) -> Value {
        let reusable = self.kind != PhaseKind::Ordered || !matches!(inst, Inst::Load { .. });
        if reusable && let Some(at) = self.block.insts.iter().position(|i| *i == inst) {
            return at as Value;
        }
        self.block.insts.push(inst);
        self.dtypes.push(dtype);
        self.dtypes.len() as Value - 1
    }

    pub(crate) fn number(&mut self, dtype: DType, value: i128) -> Value {
        self.push(Inst::Const(Scalar::from_i128(dtype, value)), dtype)
    }

    pub(crate) fn axis(&mut self, axis: usize) -> Value {
        self.push(Inst::Axis(axis), DType::I64)
    }

    pub(crate) fn apply(&mut self, op: ScalarOp, args: &[Value]) -> Value {
        let args: Vec<Ex> = args.iter().map(|&a| a as Ex).collect();
        Build::op(self, op, &args) as Value
    }

    pub(crate) fn convert(&mut self, value: Value, dtype: DType) -> Value {
        Build::cast(self, value as Ex, dtype) as Value
    }

    /// An integer as i64; what is too large for it becomes the largest.
    pub(crate) fn signed(&mut self, value: Value) -> Value {
        let value = if self.dtypes[value as usize] == DType::U64 {
            let most = self.number(DType::U64, i64::MAX.into());
            self.apply(ops::MINIMUM, &[value, most])
        } else {
            value
        };
        self.convert(value, DType::I64)
    }

    /// The position along an axis of this extent that an integer names, by NumPy's rule for indices. `report`: the status
    /// word, and what is stored there if the integer is out of range.
    pub(crate) fn position(&mut self, value: Value, extent: u64, report: Option<(BufferId, i128)>) -> Value {
        let mode = match report {
            None => Mode::FromEnd,
            Some((buffer, number)) => {
                let status = self.to.operand(buffer, DType::I64, &[], true);
                // Numbers of methods and nodes are put together so that they fit.
                Mode::Report { status, node: i64::try_from(number).unwrap_or(i64::MAX) }
            }
        };
        self.position_by(value, extent, mode)
    }

    /// The nearest position along an axis of this extent.
    pub(crate) fn nearest(&mut self, value: Value, extent: u64) -> Value {
        self.position_by(value, extent, Mode::Clamp)
    }

    fn position_by(&mut self, value: Value, extent: u64, mode: Mode) -> Value {
        let value = self.signed(value);
        self.push(Inst::Position { value, extent, mode }, DType::I64)
    }

    /// The index list of a view's element.
    fn index(&mut self, view: &View, at: &[At]) -> Vec<Index> {
        let mut list = Vec::with_capacity(view.index.len());
        for (index, dynamic) in view.index.iter().zip(&view.dynamic) {
            let mut result = Index::constant(index.offset);
            let mut values: Vec<Value> = Vec::new();
            for &(axis, coefficient) in &index.terms {
                match at[axis] {
                    At::Axis(axis) => result.add_term(axis, coefficient),
                    At::First => {}
                    At::Value(v) if coefficient == 1 => values.push(v),
                    At::Value(v) => {
                        let factor = self.number(DType::I64, coefficient as i128);
                        values.push(self.apply(ops::MUL, &[v, factor]));
                    }
                }
            }
            for &buffer in dynamic {
                let operand = self.to.operand(buffer, DType::I64, &[], false);
                values.push(self.push(Inst::Load { operand, index: vec![] }, DType::I64));
            }
            result.dynamic = values.into_iter().reduce(|a, b| self.apply(ops::ADD, &[a, b]));
            list.push(result);
        }
        list
    }

    /// The element of a view at these positions along its axes.
    pub(crate) fn load(&mut self, view: &View, at: &[At]) -> Value {
        let dtype = self.program.buffers[view.buffer].dtype;
        let index = self.index(view, at);
        let operand = self.to.operand(view.buffer, dtype, &view.base, false);
        self.push(Inst::Load { operand, index }, dtype)
    }

    /// Stores into a buffer seen with these extents, converted to its dtype.
    pub(crate) fn store(
        &mut self,
        buffer: BufferId,
        base: &[u64],
        at: &[At],
        value: Value,
        when: Option<Value>,
    ) {
        let dtype = self.program.buffers[buffer].dtype;
        let value = self.convert(value, dtype);
        let index = self.index(&View::whole(buffer, base), at);
        let operand = self.to.operand(buffer, dtype, base, true);
        self.stores.push(Store { operand, index, value, when, add: false });
    }

    /// Stores at a position of a view.
    pub(crate) fn store_view(&mut self, view: &View, at: &[At], value: Value) {
        self.put(view, at, value, false);
    }

    /// Adds to the element at a position of a view.
    pub(crate) fn add_view(&mut self, view: &View, at: &[At], value: Value) {
        self.put(view, at, value, true);
    }

    fn put(&mut self, view: &View, at: &[At], value: Value, add: bool) {
        let dtype = self.program.buffers[view.buffer].dtype;
        let value = self.convert(value, dtype);
        let index = self.index(view, at);
        let operand = self.to.operand(view.buffer, dtype, &view.base, true);
        self.stores.push(Store { operand, index, value, when: None, add });
    }

    pub(crate) fn fold(&mut self, fold: Fold, value: Value, index: Option<Value>) -> usize {
        self.folds.push(FoldOf { fold, value, index });
        self.folds.len() - 1
    }

    /// What an earlier phase folded.
    pub(crate) fn folded(&mut self, phase: usize, fold: usize, dtype: DType) -> Value {
        self.push(Inst::Folded { phase, fold }, dtype)
    }

    /// Adds the phase to its Nest; gives its position.
    pub(crate) fn finish(self) -> usize {
        let PhaseBuilder { to, kind, block, folds, stores, .. } = self;
        to.nest.phases.push(Phase { kind, block, folds, stores });
        to.nest.phases.len() - 1
    }
}

impl Build for PhaseBuilder<'_> {
    fn op(&mut self, op: ScalarOp, args: &[Ex]) -> Ex {
        let given: Vec<DType> = args.iter().map(|&a| self.dtypes[a]).collect();
        // Graph ops were typed when they were built and rows only combine what their signatures accept.
        let Some(signature) = op.signature(&given) else {
            debug_assert!(false, "{op:?} does not accept {given:?}");
            return args.first().copied().unwrap_or(0);
        };
        let args: Vec<Ex> = args.iter().zip(&signature.args).map(|(&a, &d)| self.cast(a, d)).collect();
        match op.row().body {
            Body::Composition(compose) => {
                // Halves are rounded once, at the end: what lies between may not fit in one.
                let wide: Vec<Ex> =
                    args.iter().zip(&signature.args).map(|(&a, d)| self.cast(a, d.register())).collect();
                let result = compose(self, &wide);
                self.cast(result, signature.result)
            }
            Body::Primitive { .. } => {
                let args = args.iter().map(|&a| a as Value).collect();
                self.push(Inst::Op { op, args }, signature.result) as Ex
            }
        }
    }

    fn constant(&mut self, like: Ex, value: f64) -> Ex {
        let dtype = self.dtypes[like];
        self.push(Inst::Const(Scalar::from_f64(dtype, value)), dtype) as Ex
    }

    fn cast(&mut self, value: Ex, dtype: DType) -> Ex {
        if self.dtypes[value] == dtype {
            return value;
        }
        self.push(Inst::Cast { to: dtype, value: value as Value }, dtype) as Ex
    }

    fn dtype(&self, value: Ex) -> DType {
        self.dtypes[value]
    }
}
