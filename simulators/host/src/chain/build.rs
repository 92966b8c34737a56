//! Selects the instructions of a chain and generates its code.

use super::super::plan::patterns::each_used;
use super::{Chain, ChainInst, ChainOpcode, PLACES, SLOTS, lanes};
use crate::plan::analysis::Facts;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use workalike_kernels::DType;
use workalike_kernels::nest::{Fold, Inst};
use workalike_kernels::ops;

/// The kind of an instruction of a chain.
#[derive(Clone, Copy, Debug)]
enum MemberKind {
    /// The step for `accumulator op place`, and the one for `place op accumulator`.
    Binary(ChainOpcode, ChainOpcode),
    Unary(ChainOpcode),
    /// Likewise, into the mask.
    Compare(ChainOpcode, ChainOpcode),
    Where,
    Ones,
    /// A fold of its argument, or of the product of two: the step for the accumulator and the value.
    Fold(ChainOpcode),
}

/// An instruction of a chain, or a fold at its end.
#[derive(Clone, Debug)]
pub(in super::super) struct ChainMember {
    /// Its value; of a fold its accumulator, numbered after the values.
    pub(in super::super) id: usize,
    /// The dtype of the chain, f32 or f64.
    pub(in super::super) dtype: DType,
    kind: MemberKind,
    /// The values that it uses.
    pub(in super::super) args: Vec<usize>,
}

impl ChainMember {
    /// The instruction as a member of a chain, if it can be one.
    fn new(insts: &[Inst], facts: &Facts, i: usize) -> Option<ChainMember> {
        let register = |value: usize| facts.dtypes[value].register();
        let mut args = Vec::new();
        each_used(insts, facts, i, |root| args.push(root));
        let (kind, dtype) = match &insts[i] {
            Inst::Op { op, .. } => {
                let kind = match *op {
                    ops::ADD => MemberKind::Binary(ChainOpcode::Add, ChainOpcode::Add),
                    ops::SUB => MemberKind::Binary(ChainOpcode::Sub, ChainOpcode::SubOther),
                    ops::MUL => MemberKind::Binary(ChainOpcode::Mul, ChainOpcode::Mul),
                    ops::DIV => MemberKind::Binary(ChainOpcode::Div, ChainOpcode::DivOther),
                    ops::MAXIMUM => MemberKind::Binary(ChainOpcode::Max, ChainOpcode::MaxOther),
                    ops::MINIMUM => MemberKind::Binary(ChainOpcode::Min, ChainOpcode::MinOther),
                    ops::NEG => MemberKind::Unary(ChainOpcode::Neg),
                    ops::SQR => MemberKind::Unary(ChainOpcode::Sqr),
                    ops::SQRT => MemberKind::Unary(ChainOpcode::Sqrt),
                    ops::LT => MemberKind::Compare(ChainOpcode::Lt, ChainOpcode::Gt),
                    ops::LE => MemberKind::Compare(ChainOpcode::Le, ChainOpcode::Ge),
                    ops::GT => MemberKind::Compare(ChainOpcode::Gt, ChainOpcode::Lt),
                    ops::GE => MemberKind::Compare(ChainOpcode::Ge, ChainOpcode::Le),
                    ops::EQ => MemberKind::Compare(ChainOpcode::Eq, ChainOpcode::Eq),
                    ops::NE => MemberKind::Compare(ChainOpcode::Ne, ChainOpcode::Ne),
                    ops::WHERE => MemberKind::Where,
                    _ => return None,
                };
                (kind, register(*args.last()?))
            }
            Inst::Cast { value, to } if facts.dtypes[*value as usize] == DType::Bool => {
                (MemberKind::Ones, to.register())
            }
            _ => return None,
        };
        (lanes(dtype) > 0).then_some(ChainMember { id: i, dtype, kind, args })
    }

    /// A fold of a value, or of the product of two, into the accumulator `id`, if chains have a step for it.
    fn fold(fold: Fold, id: usize, dtype: DType, args: Vec<usize>) -> Option<ChainMember> {
        // The result has the bits of the fold's own loop: the accumulator first, then the value.
        let step = match (fold, &args[..]) {
            (Fold::Sum, [_]) => ChainOpcode::Add,
            (Fold::Sum, _) => ChainOpcode::AddProduct,
            (Fold::Product, _) => ChainOpcode::Mul,
            (Fold::Max, _) => ChainOpcode::MaxOther,
            (Fold::Min, _) => ChainOpcode::MinOther,
            (Fold::ArgMax | Fold::ArgMin, _) => return None,
        };
        Some(ChainMember { id, dtype, kind: MemberKind::Fold(step), args })
    }

    fn is_fold(&self) -> bool {
        matches!(self.kind, MemberKind::Fold(_))
    }
}

/// Instructions that are done together.
pub(in super::super) enum InstGroup {
    One(usize),
    Chain(Vec<ChainMember>),
}

impl InstGroup {
    /// Calls `then` for each instruction; folds are none.
    pub(in super::super) fn each(&self, mut then: impl FnMut(usize)) {
        match self {
            InstGroup::One(i) => then(*i),
            InstGroup::Chain(members) => members.iter().filter(|m| !m.is_fold()).for_each(|m| then(m.id)),
        }
    }

    /// Adds a fold to a group that computes one of its `args`; says whether it could.
    pub(in super::super) fn add_fold(
        &mut self,
        (insts, facts): (&[Inst], &Facts),
        (fold, id): (Fold, usize),
        args: &[usize],
    ) -> bool {
        let mut members = match self {
            InstGroup::One(i) => ChainMember::new(insts, facts, *i).into_iter().collect(),
            InstGroup::Chain(members) => std::mem::take(members),
        };
        let dtype = members.first().map(|m| m.dtype);
        // A comparison's result is a mask.
        let numbers = args.iter().all(|arg| Some(facts.dtypes[*arg].register()) == dtype);
        let member =
            dtype.filter(|_| numbers).and_then(|dtype| ChainMember::fold(fold, id, dtype, args.to_vec()));
        let added = member.is_some();
        members.extend(member);
        match self {
            InstGroup::One(_) if !added => {}
            _ => *self = InstGroup::Chain(members),
        }
        added
    }
}

/// Calls its second argument with each value that an instruction uses.
type Used<'a> = dyn Fn(usize, &mut dyn FnMut(usize)) + 'a;

/// The most members of a chain.
const MEMBERS: usize = 48;

/// The instructions of `order`, reordered so that the members of a chain are adjacent. `here` tells which are
/// computed here at all, `used` what an instruction uses. An instruction that uses a `uniform` value is a
/// chain by itself.
pub(in super::super) fn chains(
    insts: &[Inst],
    facts: &Facts,
    order: &[usize],
    (here, used): (&dyn Fn(usize) -> bool, &Used<'_>),
    uniform: impl Fn(usize) -> bool,
) -> Vec<InstGroup> {
    let mut groups = Vec::new();
    let mut open: Vec<ChainMember> = Vec::new();
    let close = |open: &mut Vec<ChainMember>, groups: &mut Vec<InstGroup>| match open.len() {
        0 => (),
        1 if !open[0].args.iter().any(|a| uniform(*a)) => {
            groups.extend(open.pop().map(|one| InstGroup::One(one.id)));
        }
        _ => groups.push(InstGroup::Chain(std::mem::take(open))),
    };
    for &i in order {
        match ChainMember::new(insts, facts, i).filter(|_| here(i)) {
            Some(member) => {
                if open.len() == MEMBERS || open.first().is_some_and(|first| first.dtype != member.dtype) {
                    close(&mut open, &mut groups);
                }
                open.push(member);
            }
            None => {
                let mut waits = false;
                if here(i) {
                    used(i, &mut |root| waits |= open.iter().any(|m| m.id == root));
                }
                if waits {
                    close(&mut open, &mut groups);
                }
                // Before the chain, which may use it.
                groups.push(InstGroup::One(i));
            }
        }
    }
    close(&mut open, &mut groups);
    groups
}

/// Orders members: each when its arguments are computed, directly after one of them where possible.
fn schedule(members: &[ChainMember]) -> Vec<&ChainMember> {
    let mut waiting: Vec<&ChainMember> = members.iter().collect();
    let mut sequence: Vec<&ChainMember> = Vec::new();
    while !waiting.is_empty() {
        let ready = |m: &ChainMember| !m.args.iter().any(|a| waiting.iter().any(|w| w.id == *a));
        let last = sequence.last().map(|m| m.id);
        let next = |m: &ChainMember| ready(m) && last.is_some_and(|last| m.args.contains(&last));
        // The first member that waits is always ready: they are in a valid order.
        let at = waiting.iter().position(|m| next(m)).or_else(|| waiting.iter().position(|m| ready(m)));
        sequence.push(waiting.remove(at.unwrap_or(0)));
    }
    sequence
}

/// A step, and the values at its places, if it reads any.
type Draft = (ChainOpcode, [Option<usize>; 2]);

/// The values that a chain holds in registers.
#[derive(Default)]
struct Registers {
    accumulator: Option<usize>,
    mask: Option<usize>,
}

impl Registers {
    /// The steps that compute a member; these store nothing.
    fn steps(&mut self, member: &ChainMember) -> Vec<Draft> {
        let mut code = Vec::new();
        let mut load_mask = |condition: usize, code: &mut Vec<Draft>| {
            if self.mask != Some(condition) {
                code.push((ChainOpcode::LoadMask, [Some(condition), None]));
                self.mask = Some(condition);
            }
        };
        if let MemberKind::Fold(step) = member.kind {
            self.fold(step, member, &mut code);
            return code;
        }
        // The step for the accumulator and a place, the step for the reverse, and the values of both.
        let (step, other, first, second) = match (member.kind, &member.args[..]) {
            (MemberKind::Binary(step, other) | MemberKind::Compare(step, other), &[a, b]) => {
                (step, other, a, Some(b))
            }
            (MemberKind::Where, &[condition, yes, no]) => {
                load_mask(condition, &mut code);
                (ChainOpcode::Where, ChainOpcode::WhereOther, yes, Some(no))
            }
            (MemberKind::Unary(step), &[a, ..]) => (step, step, a, None),
            (_, &[condition, ..]) => {
                load_mask(condition, &mut code);
                code.push((ChainOpcode::Ones, [None; 2]));
                self.accumulator = Some(member.id);
                return code;
            }
            (_, []) => return code,
        };
        let kept = match second {
            Some(second) if self.accumulator == Some(second) && first != second => {
                code.push((other, [Some(first), None]));
                second
            }
            _ => {
                if self.accumulator != Some(first) {
                    code.push((ChainOpcode::Load, [Some(first), None]));
                }
                code.push((step, [second, None]));
                first
            }
        };
        let compares = matches!(member.kind, MemberKind::Compare(..));
        self.accumulator = Some(if compares { kept } else { member.id });
        self.mask = if compares { Some(member.id) } else { self.mask };
        code
    }

    /// The steps of a fold.
    fn fold(&mut self, step: ChainOpcode, member: &ChainMember, code: &mut Vec<Draft>) {
        let [value, factor] = [0, 1].map(|at| member.args.get(at).copied());
        let swap = factor.is_some() && self.accumulator == factor;
        let (first, second) = if swap { (factor, value) } else { (value, factor) };
        if self.accumulator != first {
            code.push((ChainOpcode::Load, [first, None]));
        }
        let into = Some(member.id);
        code.push(match second {
            Some(_) if second == first => (ChainOpcode::AddSquare, [into, None]),
            Some(_) => (step, [second, into]),
            None => (step, [into, None]),
        });
        self.accumulator = into;
    }
}

/// A chain, and the values at its places.
pub(in super::super) struct Built {
    pub(in super::super) chain: Chain,
    pub(in super::super) arguments: Vec<usize>,
    /// The accumulators of its folds.
    pub(in super::super) folds: Vec<usize>,
    /// The members' values that are used outside.
    pub(in super::super) results: Vec<usize>,
}

/// The arguments of a chain, in the order of their first reads, and per value that a draft reads the position
/// of its last read.
fn reads(members: &[ChainMember], drafts: &[Vec<Draft>]) -> (Vec<usize>, HashMap<usize, usize>) {
    let (mut arguments, mut last) = (Vec::new(), HashMap::new());
    for (position, draft) in drafts.iter().enumerate() {
        for value in draft.iter().flat_map(|(_, values)| values).flatten() {
            last.insert(*value, position);
            if !members.iter().any(|m| m.id == *value) && !arguments.contains(value) {
                arguments.push(*value);
            }
        }
    }
    (arguments, last)
}

/// The chain of these members. `None` if it needs too many places. `outside` tells which values are used
/// elsewhere, `size` gives the bytes of a lane of a value.
pub(in super::super) fn build(
    members: &[ChainMember],
    outside: impl Fn(usize) -> bool,
    size: impl Fn(usize) -> u8,
) -> Option<Built> {
    let dtype = members.first()?.dtype;
    let sequence = schedule(members);
    let mut registers = Registers::default();
    let drafts: Vec<Vec<Draft>> = sequence.iter().map(|member| registers.steps(member)).collect();
    let (arguments, last_reads) = reads(members, &drafts);
    let folds: Vec<usize> = sequence.iter().filter(|m| m.is_fold()).map(|m| m.id).collect();
    let is_result = |m: &&&ChainMember| !m.is_fold() && outside(m.id);
    let results: Vec<usize> = sequence.iter().filter(is_result).map(|m| m.id).collect();
    let given = arguments.len() + folds.len() + results.len();
    if given + SLOTS > PLACES {
        return None;
    }
    let with_places = arguments.iter().chain(&folds).chain(&results).enumerate();
    let mut places: HashMap<usize, u8> = with_places.map(|(place, value)| (*value, place as u8)).collect();
    let mut slots: Vec<Option<usize>> = vec![None; SLOTS];
    let mut code = Vec::new();
    for (position, (member, draft)) in sequence.iter().zip(drafts).enumerate() {
        let place_of =
            |value: Option<usize>| value.and_then(|value| places.get(&value).copied()).unwrap_or(0);
        code.extend(draft.into_iter().map(|(step, [place, with])| ChainInst {
            step,
            place: place_of(place),
            with: place_of(with),
        }));
        let is_read_after = |value: &usize| last_reads.get(value).is_some_and(|last| *last > position);
        for slot in &mut slots {
            slot.take_if(|value| !is_read_after(value));
        }
        let place = match places.entry(member.id) {
            Entry::Occupied(place) => *place.get(),
            // Only values that are read after they have left the accumulator need a slot.
            Entry::Vacant(_) if !is_read_after(&member.id) => continue,
            Entry::Vacant(place) => {
                let slot = slots.iter().position(Option::is_none)?;
                slots[slot] = Some(member.id);
                *place.insert((given + slot) as u8)
            }
        };
        let is_mask = matches!(member.kind, MemberKind::Compare(..));
        let step = if is_mask { ChainOpcode::StoreMask } else { ChainOpcode::Store };
        code.push(ChainInst { step, place, with: 0 });
    }
    let sizes = arguments.iter().map(|value| size(*value));
    let sizes = sizes.chain(folds.iter().map(|_| dtype.size() as u8));
    let sizes = sizes.chain(results.iter().map(|value| size(*value))).collect();
    let chain = Chain { dtype, code, sizes, arguments: arguments.len(), folds: folds.len() };
    Some(Built { chain, arguments, folds, results })
}
