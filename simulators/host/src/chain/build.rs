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

/// Calls `code(position, step, value)` for each step except stores, and `made(position, value, is a mask)`
/// for each value that is computed.
fn steps(
    sequence: &[&Member],
    mut code: impl FnMut(usize, Step, Option<usize>),
    mut made: impl FnMut(usize, usize, bool),
) {
    // The values that they hold.
    let (mut accumulator, mut mask) = (None, None);
    let mut make = |position: usize, member: &Member, code: &mut dyn FnMut(usize, Step, Option<usize>)| {
        let mut code = |step, value| code(position, step, value);
        let mut both = |accumulator: Option<usize>, [a, b]: [usize; 2], step, other| {
            if accumulator == Some(a) {
                code(step, Some(b));
                a
            } else if accumulator == Some(b) {
                code(other, Some(a));
                b
            } else {
                code(Step::Load, Some(a));
                code(step, Some(b));
                a
            }
        };
        match (member.kind, &member.args[..]) {
            (Kind::Binary(step, other), &[a, b]) => {
                both(accumulator, [a, b], step, other);
                accumulator = Some(member.id);
            }
            (Kind::Compare(step, other), &[a, b]) => {
                accumulator = Some(both(accumulator, [a, b], step, other));
                mask = Some(member.id);
                return true;
            }
            (Kind::Unary(step), &[a, ..]) => {
                if accumulator != Some(a) {
                    code(Step::Load, Some(a));
                }
                code(step, None);
                accumulator = Some(member.id);
            }
            (Kind::Where, &[condition, yes, no]) => {
                if mask != Some(condition) {
                    code(Step::LoadMask, Some(condition));
                    mask = Some(condition);
                }
                let mut code = |step, value| code(step, value);
                if accumulator == Some(yes) {
                    code(Step::Where, Some(no));
                } else if accumulator == Some(no) {
                    code(Step::WhereOther, Some(yes));
                } else {
                    code(Step::Load, Some(yes));
                    code(Step::Where, Some(no));
                }
                accumulator = Some(member.id);
            }
            (_, &[condition, ..]) => {
                if mask != Some(condition) {
                    code(Step::LoadMask, Some(condition));
                    mask = Some(condition);
                }
                code(Step::Ones, None);
                accumulator = Some(member.id);
            }
            (_, []) => (),
        }
        false
    };
    for (position, member) in sequence.iter().enumerate() {
        let is_mask = make(position, member, &mut code);
        made(position, member.id, is_mask);
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
    // The values that are read from a place, with the last position that does.
    let mut last_reads: HashMap<usize, usize> = HashMap::new();
    let mut arguments: Vec<usize> = Vec::new();
    let inside = |value: usize| members.iter().any(|m| m.id == value);
    let note_read = |position: usize, _: Step, value: Option<usize>| {
        if let Some(value) = value {
            last_reads.insert(value, position);
            if !inside(value) && !arguments.contains(&value) {
                arguments.push(value);
            }
        }
    };
    steps(&sequence, note_read, |_, _, _| ());
    let results: Vec<usize> = sequence.iter().map(|m| m.id).filter(|id| outside(*id)).collect();
    let given = arguments.len() + results.len();
    if given + SLOTS > PLACES {
        return None;
    }
    let mut places: HashMap<usize, u8> = HashMap::new();
    places.extend(arguments.iter().chain(&results).enumerate().map(|(place, value)| (*value, place as u8)));
    let mut slots: Vec<Option<usize>> = vec![None; SLOTS];
    let mut fits = true;
    let code = std::cell::RefCell::new(Vec::new());
    let places = std::cell::RefCell::new(places);
    let place_of = |value: usize| places.borrow().get(&value).copied();
    steps(
        &sequence,
        |_, step, value| {
            let place = value.map_or(Some(0), place_of).unwrap_or(0);
            code.borrow_mut().push(Code { step, place });
        },
        |position, value, is_mask| {
            for slot in &mut slots {
                slot.take_if(|holds| last_reads.get(holds).is_none_or(|last| *last <= position));
            }
            if !outside(value) {
                // Only values that are read after they have left the accumulator need a slot.
                if last_reads.get(&value).is_none_or(|last| *last <= position) {
                    return;
                }
                let Some(slot) = slots.iter().position(Option::is_none) else {
                    fits = false;
                    return;
                };
                slots[slot] = Some(value);
                places.borrow_mut().insert(value, (given + slot) as u8);
            }
            let step = if is_mask { Step::StoreMask } else { Step::Store };
            code.borrow_mut().push(Code { step, place: place_of(value).unwrap_or(0) });
        },
    );
    let sizes = arguments.iter().chain(&results).map(|value| size(*value)).collect();
    let dtype = members.first()?.dtype;
    let chain = Chain { dtype, code: code.into_inner(), sizes, arguments: arguments.len() };
    fits.then_some((chain, arguments, results))
}
