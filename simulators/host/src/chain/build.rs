//! Selects the instructions of a chain and generates its code.

use super::super::plan::facts::Facts;
use super::super::plan::patterns::each_used;
use super::{Chain, Code, PLACES, SLOTS, Step, lanes};
use std::collections::HashMap;
use workalike_kernels::DType;
use workalike_kernels::nest::Inst;
use workalike_kernels::ops;

/// The kind of an instruction of a chain.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// The step for `accumulator op place`, and the one for `place op accumulator`.
    Binary(Step, Step),
    Unary(Step),
    /// Likewise, into the mask.
    Compare(Step, Step),
    Where,
    Ones,
}

/// An instruction of a chain.
#[derive(Clone, Debug)]
pub(in super::super) struct Member {
    /// Its value.
    pub(in super::super) id: usize,
    /// The dtype of the chain, f32 or f64.
    pub(in super::super) dtype: DType,
    kind: Kind,
    /// The values that it uses.
    pub(in super::super) args: Vec<usize>,
}

impl Member {
    /// The instruction as a member of a chain, if it can be one.
    fn new(insts: &[Inst], facts: &Facts, i: usize) -> Option<Member> {
        let register = |value: usize| facts.dtypes[value].register();
        let mut args = Vec::new();
        each_used(insts, facts, i, |root| args.push(root));
        let (kind, dtype) = match &insts[i] {
            Inst::Op { op, .. } => {
                let kind = match *op {
                    ops::ADD => Kind::Binary(Step::Add, Step::Add),
                    ops::SUB => Kind::Binary(Step::Sub, Step::SubOther),
                    ops::MUL => Kind::Binary(Step::Mul, Step::Mul),
                    ops::DIV => Kind::Binary(Step::Div, Step::DivOther),
                    ops::MAXIMUM => Kind::Binary(Step::Max, Step::MaxOther),
                    ops::MINIMUM => Kind::Binary(Step::Min, Step::MinOther),
                    ops::NEG => Kind::Unary(Step::Neg),
                    ops::SQR => Kind::Unary(Step::Sqr),
                    ops::SQRT => Kind::Unary(Step::Sqrt),
                    ops::LT => Kind::Compare(Step::Lt, Step::Gt),
                    ops::LE => Kind::Compare(Step::Le, Step::Ge),
                    ops::GT => Kind::Compare(Step::Gt, Step::Lt),
                    ops::GE => Kind::Compare(Step::Ge, Step::Le),
                    ops::EQ => Kind::Compare(Step::Eq, Step::Eq),
                    ops::NE => Kind::Compare(Step::Ne, Step::Ne),
                    ops::WHERE => Kind::Where,
                    _ => return None,
                };
                (kind, register(*args.last()?))
            }
            Inst::Cast { value, to } if facts.dtypes[*value as usize] == DType::Bool => {
                (Kind::Ones, to.register())
            }
            _ => return None,
        };
        (lanes(dtype) > 0).then_some(Member { id: i, dtype, kind, args })
    }
}

/// Instructions that are done together.
pub(in super::super) enum Group {
    One(usize),
    Chain(Vec<Member>),
}

impl Group {
    /// Calls `then` for each instruction.
    pub(in super::super) fn each(&self, mut then: impl FnMut(usize)) {
        match self {
            Group::One(i) => then(*i),
            Group::Chain(members) => members.iter().for_each(|m| then(m.id)),
        }
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
) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut open: Vec<Member> = Vec::new();
    let close = |open: &mut Vec<Member>, groups: &mut Vec<Group>| match open.len() {
        0 => (),
        1 if !open[0].args.iter().any(|a| uniform(*a)) => {
            groups.extend(open.pop().map(|one| Group::One(one.id)));
        }
        _ => groups.push(Group::Chain(std::mem::take(open))),
    };
    for &i in order {
        match Member::new(insts, facts, i).filter(|_| here(i)) {
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
                groups.push(Group::One(i));
            }
        }
    }
    close(&mut open, &mut groups);
    groups
}

/// Orders members: each when its arguments are computed, directly after one of them where possible.
fn schedule(members: &[Member]) -> Vec<&Member> {
    let mut waiting: Vec<&Member> = members.iter().collect();
    let mut sequence: Vec<&Member> = Vec::new();
    while !waiting.is_empty() {
        let ready = |m: &Member| !m.args.iter().any(|a| waiting.iter().any(|w| w.id == *a));
        let last = sequence.last().map(|m| m.id);
        let next = |m: &Member| ready(m) && last.is_some_and(|last| m.args.contains(&last));
        // The first member that waits is always ready: they are in a valid order.
        let at = waiting.iter().position(|m| next(m)).or_else(|| waiting.iter().position(|m| ready(m)));
        sequence.push(waiting.remove(at.unwrap_or(0)));
    }
    sequence
}

/// A step, and the value at its place, if it reads one.
type Draft = (Step, Option<usize>);

/// The values that a chain holds in registers.
#[derive(Default)]
struct Registers {
    accumulator: Option<usize>,
    mask: Option<usize>,
}

impl Registers {
    /// The steps that compute a member; these store nothing.
    fn steps(&mut self, member: &Member) -> Vec<Draft> {
        let mut code = Vec::new();
        let mut load_mask = |condition: usize, code: &mut Vec<Draft>| {
            if self.mask != Some(condition) {
                code.push((Step::LoadMask, Some(condition)));
                self.mask = Some(condition);
            }
        };
        // The step for the accumulator and a place, the step for the reverse, and the values of both.
        let (step, other, first, second) = match (member.kind, &member.args[..]) {
            (Kind::Binary(step, other) | Kind::Compare(step, other), &[a, b]) => (step, other, a, Some(b)),
            (Kind::Where, &[condition, yes, no]) => {
                load_mask(condition, &mut code);
                (Step::Where, Step::WhereOther, yes, Some(no))
            }
            (Kind::Unary(step), &[a, ..]) => (step, step, a, None),
            (_, &[condition, ..]) => {
                load_mask(condition, &mut code);
                code.push((Step::Ones, None));
                self.accumulator = Some(member.id);
                return code;
            }
            (_, []) => return code,
        };
        let kept = match second {
            Some(second) if self.accumulator == Some(second) && first != second => {
                code.push((other, Some(first)));
                second
            }
            _ => {
                if self.accumulator != Some(first) {
                    code.push((Step::Load, Some(first)));
                }
                code.push((step, second));
                first
            }
        };
        let compares = matches!(member.kind, Kind::Compare(..));
        self.accumulator = Some(if compares { kept } else { member.id });
        self.mask = if compares { Some(member.id) } else { self.mask };
        code
    }
}

/// The chain of these members, with the values of its arguments and its results (those used `outside`).
/// `None` if it needs too many places. `size` gives the bytes of a lane of a value.
pub(in super::super) fn build(
    members: &[Member],
    outside: impl Fn(usize) -> bool,
    size: impl Fn(usize) -> u8,
) -> Option<(Chain, Vec<usize>, Vec<usize>)> {
    let sequence = schedule(members);
    let mut registers = Registers::default();
    let drafts: Vec<Vec<Draft>> = sequence.iter().map(|member| registers.steps(member)).collect();
    // The values that are read from a place, with the last position that does.
    let mut last_reads: HashMap<usize, usize> = HashMap::new();
    let mut arguments: Vec<usize> = Vec::new();
    for (position, draft) in drafts.iter().enumerate() {
        for value in draft.iter().filter_map(|(_, value)| *value) {
            last_reads.insert(value, position);
            if !members.iter().any(|m| m.id == value) && !arguments.contains(&value) {
                arguments.push(value);
            }
        }
    }
    let results: Vec<usize> = sequence.iter().map(|m| m.id).filter(|id| outside(*id)).collect();
    let given = arguments.len() + results.len();
    if given + SLOTS > PLACES {
        return None;
    }
    let with_places = arguments.iter().chain(&results).enumerate();
    let mut places: HashMap<usize, u8> = with_places.map(|(place, value)| (*value, place as u8)).collect();
    let mut slots: Vec<Option<usize>> = vec![None; SLOTS];
    let mut code = Vec::new();
    for (position, (member, draft)) in sequence.iter().zip(drafts).enumerate() {
        let place_of = |value: usize| places.get(&value).copied().unwrap_or(0);
        code.extend(draft.iter().map(|(step, value)| Code { step: *step, place: value.map_or(0, place_of) }));
        let is_read_after = |value: &usize| last_reads.get(value).is_some_and(|last| *last > position);
        for slot in &mut slots {
            slot.take_if(|value| !is_read_after(value));
        }
        if !outside(member.id) {
            // Only values that are read after they have left the accumulator need a slot.
            if !is_read_after(&member.id) {
                continue;
            }
            let slot = slots.iter().position(Option::is_none)?;
            slots[slot] = Some(member.id);
            places.insert(member.id, (given + slot) as u8);
        }
        let is_mask = matches!(member.kind, Kind::Compare(..));
        let step = if is_mask { Step::StoreMask } else { Step::Store };
        code.push(Code { step, place: places.get(&member.id).copied().unwrap_or(0) });
    }
    let sizes = arguments.iter().chain(&results).map(|value| size(*value)).collect();
    let chain = Chain { dtype: members.first()?.dtype, code, sizes, arguments: arguments.len() };
    Some((chain, arguments, results))
}
