//! Maps with transposed operands, in square tiles: see [`TransposeTile`].

use super::kernel::Printer;
use crate::dtype::DType;
use crate::nest::Inst;
use crate::schedule::access::Address;
use crate::schedule::group_memory::array_type;
use crate::schedule::transpose::{ITEMS, TransposeTile};

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
