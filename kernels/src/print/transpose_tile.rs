//! Maps with transposed operands, beside operands that are contiguous along the last loop.
//!
//! A group of a GPU takes a square tile of points. Transposed operands are read along their contiguous axis
//! into group memory and used from there, so that all accesses to global memory are coalesced (G. Ruetsch and
//! P. Micikevicius, "Optimizing matrix transpose in CUDA", 2009).

use super::Target;
use super::access::{Address, Walk, Walks};
use super::folds::array_type;
use super::kernel::Printer;
use crate::dtype::DType;
use crate::nest::{Inst, Nest};

/// Items of a group along a line of the tile, and number of lines at a time.
const ITEMS: [u64; 2] = [32, 8];
/// Edges of the tile in points, each with the maximum group memory in bytes: the larger tile must leave
/// memory for other groups.
const EDGES: [(u64, u64); 2] = [(64, 24 << 10), (32, 40 << 10)];
/// Shorter lines get no tiles.
const SHORT: u64 = 16;
/// Minimum stride in elements that counts as transposed.
const FAR: u64 = 8;
/// Maximum number of registers for elements that are read ahead of the stores.
const AHEAD: u64 = 32;

/// The division of a map into square tiles.
#[derive(Clone, Debug)]
pub(super) struct TransposeTile {
    /// The last loop, along which results are contiguous.
    along: Walk,
    /// The loop along which the transposed operands are contiguous.
    across: Walk,
    /// The other loops.
    others: Vec<Walk>,
    edge: u64,
    /// Loads of the only phase that are transposed.
    loads: Vec<usize>,
    /// Other loads, whose elements an item reads for all its points before it stores. Stores might be to the
    /// same memory, so no compiler could reorder the loads.
    ahead: Vec<usize>,
}

impl TransposeTile {
    /// `None` if no load is transposed, or tiles do not pay.
    pub(super) fn choose(
        nest: &Nest,
        walks: &Walks,
        dtypes: &[Vec<DType>],
        target: &Target,
    ) -> Option<TransposeTile> {
        if target.cpu || !nest.is_map() || nest.grid_points() < target.lanes / 4 {
            return None;
        }
        let (along, rest) = walks.grid.split_last()?;
        let phase = nest.phases.first()?;
        let lies_along =
            |s: &crate::nest::Store| Address::new(nest, s.operand, &s.index).steps[along.axis] == 1;
        if along.extent < SHORT || !phase.stores.iter().any(lies_along) {
            return None;
        }
        let turned = |inst: &Inst, across: &Walk| match inst {
            Inst::Load { operand, index } if !nest.operands[*operand].written => {
                let address = Address::new(nest, *operand, index);
                let far = address.steps[along.axis].unsigned_abs() >= FAR;
                far && address.steps[across.axis] == 1 && address.dynamic.is_empty()
            }
            _ => false,
        };
        let loads = |across: &Walk| -> Vec<usize> {
            let insts = phase.block.insts.iter().enumerate();
            insts.filter(|(_, inst)| turned(inst, across)).map(|(at, _)| at).collect()
        };
        let candidates = rest.iter().filter(|walk| walk.extent >= SHORT);
        let (loads, across) = candidates
            .map(|walk| (loads(walk), walk))
            .max_by_key(|(loads, walk)| (loads.len(), walk.axis))?;
        let bytes: u64 = loads.iter().map(|&at| dtypes[0][at].register().size() as u64).sum();
        let room = target.local_memory.min(48 << 10);
        let fits = |&&(edge, most): &&(u64, u64)| {
            bytes * edge * (edge + 1) <= most.min(room)
                && (edge == ITEMS[0] || along.extent.min(across.extent) >= edge)
        };
        let edge = EDGES.iter().find(fits)?.0;
        let items = ITEMS[0] * ITEMS[1];
        if loads.is_empty() || u64::from(target.max_group) < items {
            return None;
        }
        let ahead: Vec<usize> = (0..phase.block.insts.len())
            .filter(|at| !loads.contains(at))
            .filter(|&at| match &phase.block.insts[at] {
                Inst::Load { operand, index } => Address::new(nest, *operand, index).dynamic.is_empty(),
                _ => false,
            })
            .collect();
        let words: u64 = ahead.iter().map(|&at| dtypes[0][at].register().size().div_ceil(4) as u64).sum();
        let ahead = if words * edge * edge / items <= AHEAD { ahead } else { vec![] };
        let others = rest.iter().filter(|walk| *walk != across).cloned().collect();
        let turned =
            TransposeTile { along: along.clone(), across: across.clone(), others, edge, loads, ahead };
        (turned.launch().0 < 1 << 31).then_some(turned)
    }

    fn squares(&self, walk: &Walk) -> u64 {
        walk.extent.div_ceil(self.edge)
    }

    /// Number of groups, and items per group.
    pub(super) fn launch(&self) -> (u64, u32) {
        let others: u64 = self.others.iter().map(|w| w.extent).product();
        (others * self.squares(&self.across) * self.squares(&self.along), (ITEMS[0] * ITEMS[1]) as u32)
    }
}

impl Printer<'_> {
    /// Prints a whole kernel.
    pub(super) fn transpose_tiles(&mut self, of: &TransposeTile) {
        let (nest, edge, index, count) = (self.nest, of.edge, self.index, self.count);
        let (along, across) = (of.along.axis, of.across.axis);
        let local = self.dialect.local();
        for &at in &of.loads {
            let array = array_type(self.dtypes[0][at]);
            self.line(&format!("{local} {array} w{at}[{}];", edge * (edge + 1)));
        }
        self.line(&format!("const u32 t = {};", self.dialect.item_index("u32")));
        self.line(&format!("const u32 x = t % {}u, y = t / {}u;", ITEMS[0], ITEMS[0]));
        self.line(&format!("const {count} p = {};", self.dialect.group_index(count)));
        let (columns, rows) = (of.squares(&of.along), of.squares(&of.across));
        self.line(&format!(
            "const {index} left = ({index})(p % {c}) * {edge}, top = ({index})(p / {c} % {r}) * {edge};",
            c = self.number(columns),
            r = self.number(rows)
        ));
        self.positions_above(&of.others, "p", columns * rows);
        self.open_square(of, [along, across], ["left", "top"]);
        for &at in &of.loads {
            let Inst::Load { operand, index } = &nest.phases[0].block.insts[at] else { continue };
            let element = self.address(*operand, &Address::new(nest, *operand, index), &[]);
            let element = self.dialect.load(nest.operands[*operand].dtype, &format!("b{operand}"), &element);
            self.line(&format!("w{at}[below * {} + beside] = {element};", edge + 1));
        }
        self.close_square();
        let points = edge * edge / (ITEMS[0] * ITEMS[1]);
        let used = self.used_values(0);
        let ahead: Vec<usize> = of.ahead.iter().copied().filter(|&at| used[at]).collect();
        for &at in &ahead {
            self.line(&format!("{} x{at}[{points}];", array_type(self.dtypes[0][at])));
        }
        if !ahead.is_empty() {
            self.open_square(of, [across, along], ["top", "left"]);
            for &at in &ahead {
                let Inst::Load { operand, index } = &nest.phases[0].block.insts[at] else { continue };
                let element = self.address(*operand, &Address::new(nest, *operand, index), &[]);
                let element =
                    self.dialect.load(nest.operands[*operand].dtype, &format!("b{operand}"), &element);
                self.line(&format!("x{at}[slot] = {element};"));
            }
            self.close_square();
        }
        self.line(self.dialect.barrier(false));
        self.open_square(of, [across, along], ["top", "left"]);
        let mut names = vec![String::new(); nest.phases[0].block.insts.len()];
        let turned = of.loads.iter().map(|&at| (at, format!("w{at}[beside * {} + below]", edge + 1)));
        for (at, element) in turned.chain(ahead.iter().map(|&at| (at, format!("x{at}[slot]")))) {
            let dtype = self.dtypes[0][at];
            let truth = if dtype == DType::Bool { " != 0" } else { "" };
            self.line(&format!("const {} v{at} = {element}{truth};", dtype.register().short()));
            names[at] = format!("v{at}");
        }
        let done: Vec<bool> = names.iter().map(|name| !name.is_empty()).collect();
        self.block_where(0, &mut names, |at| !done[at]);
        self.stores(0, &names);
        self.close_square();
    }

    /// Opens loops over the points of a tile; the second axis varies fastest. The axes start at `top` and
    /// `left`.
    fn open_square(&mut self, of: &TransposeTile, [below, beside]: [usize; 2], [top, left]: [&str; 2]) {
        let index = self.index;
        let [across, down] = [of.edge / ITEMS[0], of.edge / ITEMS[1]];
        self.line("#pragma unroll");
        self.open(&format!("for (u32 slot = 0u; slot < {}u; ++slot)", across * down));
        self.line(&format!(
            "const u32 below = y + slot / {across}u * {}u, beside = x + slot % {across}u * {}u;",
            ITEMS[1], ITEMS[0]
        ));
        self.line(&format!(
            "const {index} a{below} = {top} + ({index})below, a{beside} = {left} + ({index})beside;"
        ));
        let [a, b] = [&of.along, &of.across];
        self.open(&format!("if (a{} < {} && a{} < {})", a.axis, a.extent, b.axis, b.extent));
    }

    fn close_square(&mut self) {
        for _ in 0..2 {
            self.close();
        }
    }
}
