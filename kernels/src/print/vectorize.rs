//! Packs: a few neighbouring points along the contiguous axis, which one item of a GPU computes together.
//!
//! Neighbouring elements in memory are moved as one vector of up to 16 bytes, values that all points of a
//! pack share are computed once, and the rest is a loop over the points that compilers unroll. A vector has
//! to be aligned to its size: an operand starts at a multiple of 16 bytes (see [`super::Entry`]), and an
//! address is taken as aligned if every part of it is.
//!
//! All loads of a pack come before its stores. That is correct because two operands may share memory (an
//! update in place) only if the point that overwrites an element is the only one that reads it. Since the
//! printer does not know which operands share memory, no pointer is `restrict`, and nothing is loaded through
//! the read-only cache. Both would let compilers move loads before stores; the text here does that itself.

use super::Dialect;
use super::cpu_lanes::AccumulatorLayout;
use super::kernel::Printer;
use crate::dtype::DType;
use crate::nest::{Index, Inst, PhaseKind, Store};
use crate::schedule::access::{Address, Walk, Walks};
use crate::schedule::packs::{Picked, aligned_to};
use std::ops::RangeInclusive;

/// The pack being printed.
#[derive(Clone, Debug, Default)]
pub(super) struct PackState {
    /// The axis along which its points lie; `a{axis}` is the first of them.
    pub(super) axis: usize,
    /// Number of points.
    pub(super) width: u32,
    /// What the pack loads as vectors.
    pub(super) vectors: Vec<VectorLoads>,
    /// Stores of the phase that are vectors.
    pub(super) stores: Vec<usize>,
    /// The loop over its points is open, `l` counts them.
    pub(super) inside: bool,
}

/// Neighbouring vectors of an operand, and the loads of a phase that pick their elements from them.
#[derive(Clone, Debug)]
pub(super) struct VectorLoads {
    /// The first load, which names them.
    name: usize,
    operand: usize,
    /// The address of vector 0, from which the others are counted.
    address: Address,
    numbers: RangeInclusive<i64>,
    /// Each load's instruction, and the place of its elements.
    loads: Vec<(usize, Picked)>,
}

impl VectorLoads {
    /// Adds a load to the vectors that it shares or continues, or else as new ones. Loads come in the order
    /// of their first vectors.
    fn add(all: &mut Vec<VectorLoads>, (at, operand, address, picked): Load, width: u32) {
        let numbers = picked.vectors(width);
        let address = Address { base: 0, ..address };
        let beside = |of: &&mut VectorLoads| {
            let same = of.operand == operand && of.address == address;
            same && (*of.numbers.start()..=of.numbers.end() + 1).contains(numbers.start())
        };
        match all.iter_mut().find(beside) {
            Some(of) => {
                of.name = of.name.min(at);
                of.numbers = *of.numbers.start()..=*of.numbers.end().max(numbers.end());
                of.loads.push((at, picked));
            }
            None => all.push(VectorLoads { name: at, operand, address, numbers, loads: vec![(at, picked)] }),
        }
    }

    /// How many.
    fn count(&self) -> i64 {
        self.numbers.end() - self.numbers.start() + 1
    }
}

/// A load of a pack: its instruction, its operand, its address and the place of its elements.
type Load = (usize, usize, Address, Picked);

/// The type of a vector.
fn vector(dtype: DType, width: u32) -> String {
    format!("{}x{width}", element(dtype))
}

/// The element type of a vector. OpenCL C has halves only behind pointers.
fn element(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "u8",
        DType::F16 | DType::BF16 => "u16",
        _ => dtype.short(),
    }
}

/// The definitions of the vectors that `kernels` names.
pub(super) fn types(dialect: Dialect, kernels: &str) -> String {
    let mut text = String::new();
    for dtype in DType::REAL.into_iter().filter(|d| *d != DType::Bool && !d.is_half()) {
        for width in [2, 4, 8, 16] {
            let (name, bytes) = (vector(dtype, width), dtype.size() * width as usize);
            if !kernels.contains(&format!("{name} ")) {
                continue;
            }
            text += &match dialect {
                Dialect::OpenClC => {
                    format!(
                        "typedef struct __attribute__((aligned({bytes}))) {{ {} e[{width}]; }} {name};\n",
                        dtype.short()
                    )
                }
                Dialect::CudaCpp => {
                    format!("struct alignas({bytes}) {name} {{ {} e[{width}]; }};\n", dtype.short())
                }
            };
        }
    }
    text
}

impl Printer<'_> {
    /// The elements of a vector as an array.
    pub(super) fn elements(&self, dtype: DType, name: &str) -> String {
        match (self.dialect, dtype) {
            (Dialect::OpenClC, DType::F16) => format!("((half*){name}.e)"),
            _ => format!("{name}.e"),
        }
    }

    /// A vector in memory.
    fn in_memory(&self, operand: usize, width: u32, index: &str) -> String {
        let described = &self.nest.operands[operand];
        let space = if self.dialect == Dialect::OpenClC { "__global " } else { "" };
        let constant = if described.written { "" } else { "const " };
        let pointer = match (self.dialect, described.dtype) {
            (Dialect::OpenClC, DType::F16) => format!("({space}{constant}u16*)b{operand}"),
            _ => format!("b{operand}"),
        };
        format!("*({space}{constant}{}*)({pointer} + {index})", vector(described.dtype, width))
    }

    /// Declares the positions along `walks` of the linear pack in `pack`: those of its first point.
    pub(super) fn positions_of_pack(&mut self, walks: &[Walk], pack: &str, width: u32) {
        let mut walks = walks.to_vec();
        match walks.pop() {
            Some(last) if width > 1 => {
                let packs = last.extent / u64::from(width);
                let (index, axis) = (self.index, last.axis);
                let along = if walks.is_empty() {
                    pack.to_string()
                } else {
                    format!("({pack} % {})", self.number(packs))
                };
                self.line(&format!("const {index} a{axis} = ({index}){along} * {width};"));
                self.positions_above(&walks, pack, packs);
            }
            Some(last) => {
                walks.push(last);
                self.positions(&walks, pack);
            }
            None => {}
        }
    }

    /// Sets up packs of `width` points along an axis for a phase; no packs if `width` is 1.
    pub(super) fn start_packs(&mut self, phase: usize, axis: usize, width: u32) {
        self.pack = None;
        if width == 1 {
            return;
        }
        let nest = self.nest;
        let now = &nest.phases[phase];
        let varies = self.varies(phase, axis);
        let (used, kept) = (self.used_values(phase), &self.kept.reads[phase]);
        let loads = now.block.insts.iter().enumerate().filter_map(|(at, inst)| match inst {
            Inst::Load { operand, index } if used[at] && !kept.contains_key(&at) => {
                let address = Address::new(nest, *operand, index);
                let picked = Picked::of(&address, axis, &varies, (nest, *operand), width.into())?;
                Some((at, *operand, address, picked))
            }
            _ => None,
        });
        let mut loads: Vec<Load> = loads.collect();
        loads.sort_by_key(|(.., picked)| *picked.vectors(width).start());
        let mut vectors = Vec::new();
        loads.into_iter().for_each(|load| VectorLoads::add(&mut vectors, load, width));
        vectors.sort_by_key(|of| of.name);
        let fits = |operand: usize, index: &[Index]| {
            let address = Address::new(nest, operand, index);
            aligned_to(&address, axis, &varies).is_some_and(|to| to >= u64::from(width))
        };
        // Conditional and adding stores are not vectors. Stores to one operand stay in order: all are
        // vectors, or none.
        let plain = |store: &Store| store.when.is_none() && !store.add && fits(store.operand, &store.index);
        let all = |operand: usize| now.stores.iter().filter(|s| s.operand == operand).all(plain);
        let stores = (0..now.stores.len()).filter(|&at| all(now.stores[at].operand));
        self.pack = Some(PackState { axis, width, vectors, stores: stores.collect(), inside: false });
    }

    /// Prints a phase at the points of a pack, or at one point if there are no packs. Some values have names
    /// already.
    pub(super) fn pack_point(&mut self, phase: usize, mut names: Vec<String>, count: u64) {
        let done: Vec<bool> = names.iter().map(|name| !name.is_empty()).collect();
        let Some(pack) = self.pack.clone() else {
            self.block_where(phase, &mut names, |at| !done[at]);
            self.accumulate(phase, &names, count);
            self.carry(phase, count);
            self.stores(phase, &names);
            return;
        };
        let nest = self.nest;
        let varies = self.varies(phase, pack.axis);
        self.block_where(phase, &mut names, |at| !done[at] && !varies[at]);
        pack.vectors.iter().for_each(|vectors| self.load_vectors(vectors, pack.width, &names));
        for &at in &pack.stores {
            let dtype = nest.operands[nest.phases[phase].stores[at].operand].dtype;
            self.line(&format!("{} y{at};", vector(dtype, pack.width)));
        }
        self.open_lanes(pack.width);
        self.pack = Some(PackState { inside: true, ..pack.clone() });
        self.block_where(phase, &mut names, |at| !done[at] && varies[at]);
        self.accumulate(phase, &names, count);
        self.stores(phase, &names);
        self.close();
        self.pack = Some(pack.clone());
        for &at in &pack.stores {
            let store = &nest.phases[phase].stores[at];
            let index = self.address(store.operand, &Address::new(nest, store.operand, &store.index), &names);
            let text = self.in_memory(store.operand, pack.width, &index);
            self.line(&format!("{text} = y{at};"));
        }
        self.carry(phase, count);
    }

    /// Declares and loads neighbouring vectors.
    fn load_vectors(&mut self, vectors: &VectorLoads, width: u32, names: &[String]) {
        let (operand, name) = (vectors.operand, vectors.name);
        let kind = vector(self.nest.operands[operand].dtype, width);
        let mut texts = Vec::new();
        for number in vectors.numbers.clone() {
            let address = Address { base: number * i64::from(width), ..vectors.address.clone() };
            let index = self.address(operand, &address, names);
            texts.push(self.in_memory(operand, width, &index));
        }
        match &texts[..] {
            [one] => self.line(&format!("const {kind} x{name} = {one};")),
            several => {
                self.line(&format!("{kind} x{name}[{}];", several.len()));
                for (at, text) in several.iter().enumerate() {
                    self.line(&format!("x{name}[{at}] = {text};"));
                }
            }
        }
    }

    /// The element that a load picks at the current point of a pack, if it is loaded by vectors.
    pub(super) fn picked(&self, at: usize, dtype: DType) -> Option<String> {
        let pack = self.pack.as_ref().filter(|pack| pack.inside)?;
        let from = pack.vectors.iter().find(|vectors| vectors.loads.iter().any(|load| load.0 == at))?;
        let (_, picked) = from.loads.iter().find(|load| load.0 == at)?;
        let first = picked.first - from.numbers.start() * i64::from(pack.width);
        let place = match (picked.step, first) {
            (1, 0) => "l".to_string(),
            (1, first) => format!("({first} + l)"),
            (step, first) => format!("({first} + {step} * l)"),
        };
        let (vector, place) = match from.count() {
            1 => (format!("x{}", from.name), place),
            _ => (format!("x{}[{place} / {}]", from.name, pack.width), format!("{place} % {}", pack.width)),
        };
        Some(self.dialect.load(dtype, &self.elements(dtype, &vector), &place))
    }

    /// Stores to neighbouring elements, as one vector.
    pub(super) fn store_run(&mut self, phase: usize, run: &[usize], names: &[String]) {
        let (nest, stores) = (self.nest, &self.nest.phases[phase].stores);
        let Some(&first) = run.first() else { return };
        let (operand, width) = (stores[first].operand, run.len() as u32);
        let dtype = nest.operands[operand].dtype;
        self.open("");
        self.line(&format!("{} y{first};", vector(dtype, width)));
        let elements = self.elements(dtype, &format!("y{first}"));
        for (place, &at) in run.iter().enumerate() {
            let value = &names[stores[at].value as usize];
            self.line(&self.dialect.store(dtype, &elements, &place.to_string(), value));
        }
        let index = self.address(operand, &Address::new(nest, operand, &stores[first].index), names);
        let text = self.in_memory(operand, width, &index);
        self.line(&format!("{text} = y{first};"));
        self.close();
    }

    /// Prints all phases of a pack of grid points, for one item.
    pub(super) fn phases_packed(&mut self, walks: &Walks, width: u32) {
        let Some(row) = walks.grid.last() else { return };
        let count = self.nest.inner_points();
        self.side = AccumulatorLayout::Grid(width);
        for phase in 0..self.nest.phases.len() {
            let kind = self.nest.phases[phase].kind;
            if kind == PhaseKind::Reduce {
                self.declare_folds(phase, count);
            }
            let inner: &[Walk] = if kind == PhaseKind::Point { &[] } else { &walks.inner };
            // Values of different phases share names.
            let scope = inner.is_empty() && self.nest.phases.len() > 1;
            if scope {
                self.open("");
            }
            for (at, walk) in inner.iter().enumerate() {
                if at + 1 == inner.len() && kind != PhaseKind::Ordered {
                    self.line("#pragma unroll 4");
                }
                self.open_walk(walk);
            }
            self.start_packs(phase, row.axis, width);
            let names = vec![String::new(); self.nest.phases[phase].block.insts.len()];
            self.pack_point(phase, names, count);
            self.pack = None;
            for _ in 0..inner.len() + usize::from(scope) {
                self.close();
            }
            self.finish_folds(phase, count);
        }
        self.side = AccumulatorLayout::Alone;
    }
}
