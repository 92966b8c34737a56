//! The values of expressions.

use super::super::expr::{Expr, Kind};
use super::super::program::{Inst, Reg};
use super::super::token::refuse;
use super::super::types::Type;
use super::place::Place;
use super::{Compiled, Compiler};

impl Compiler<'_> {
    /// Computes an expression for its effect.
    pub(super) fn effect(&mut self, of: &Expr) -> Compiled<()> {
        let line = of.line;
        match &of.kind {
            Kind::Barrier => self.emit(Inst::Barrier, line),
            Kind::Call(at, args) => self.call(*at, args, line).map(|_| ()),
            Kind::Cast(inner) if of.ty == Type::Void => self.effect(inner),
            Kind::Comma(both) => {
                self.effect(&both[0])?;
                self.effect(&both[1])
            }
            Kind::Choose(three) if of.ty == Type::Void => {
                let (no, end) = (self.label(), self.label());
                self.branch(&three[0], false, no)?;
                self.effect(&three[1])?;
                self.emit(Inst::Jump { to: end }, line)?;
                self.bind(no);
                self.effect(&three[2])?;
                self.bind(end);
                Ok(())
            }
            Kind::Update { target, change, .. } => self.update(target, change, false, None, line).map(|_| ()),
            _ if of.ty.is_scalar() => self.value(of, None).map(|_| ()),
            _ if of.ty == Type::Void => refuse(line, "expected a value"),
            _ => self.place(of).map(|_| ()),
        }
    }

    /// Computes a scalar, in the register that is wanted.
    pub(super) fn value(&mut self, of: &Expr, want: Option<Reg>) -> Compiled<Reg> {
        let line = of.line;
        match &of.kind {
            Kind::Number(bits) => {
                let register = self.constant(*bits, line)?;
                self.delivered(register, want, line)
            }
            Kind::Variable(_) | Kind::Object(_) | Kind::Deref(_) | Kind::Field(..) => {
                let place = self.place(of)?;
                self.load(place, &of.ty, want, line)
            }
            Kind::Item(register) => self.delivered(*register, want, line),
            Kind::Address(place) => self.address(place, want),
            Kind::Cast(inner) if of.ty != Type::Void => self.value(inner, want),
            Kind::Comma(both) => {
                self.effect(&both[0])?;
                self.value(&both[1], want)
            }
            Kind::Logic { .. } => {
                let (to, no, end) = (self.wanted(want, line)?, self.label(), self.label());
                let [one, zero] = [self.constant(1, line)?, self.constant(0, line)?];
                self.branch(of, false, no)?;
                self.emit(Inst::Move { to, from: one }, line)?;
                self.emit(Inst::Jump { to: end }, line)?;
                self.bind(no);
                self.emit(Inst::Move { to, from: zero }, line)?;
                self.bind(end);
                Ok(to)
            }
            Kind::Choose(three) => {
                let (to, no, end) = (self.wanted(want, line)?, self.label(), self.label());
                self.branch(&three[0], false, no)?;
                self.value(&three[1], Some(to))?;
                self.emit(Inst::Jump { to: end }, line)?;
                self.bind(no);
                self.value(&three[2], Some(to))?;
                self.bind(end);
                Ok(to)
            }
            Kind::Assign(both) => self.assigned(both, want, line),
            Kind::Update { target, change, post } => self.update(target, change, *post, want, line),
            Kind::Held => match self.held.last() {
                Some(&held) => self.delivered(held, want, line),
                None => refuse(line, "an assignment without a target"),
            },
            Kind::Call(at, args) => match self.call(*at, args, line)? {
                // The next call writes the result anew.
                Some(Place::Register(from)) => {
                    let to = self.wanted(want, line)?;
                    self.delivered(from, Some(to), line)
                }
                _ => refuse(line, "expected a value, found a call of a void function"),
            },
            Kind::Barrier | Kind::Cast(_) => refuse(line, "expected a value, found none"),
            _ => self.computed(of, want),
        }
    }

    /// Expressions that are one instruction on the values of their operands.
    fn computed(&mut self, of: &Expr, want: Option<Reg>) -> Compiled<Reg> {
        let line = of.line;
        let (to, inst) = match &of.kind {
            Kind::Apply1(function, inner) => {
                let (function, a) = (*function, self.value(inner, None)?);
                let to = self.wanted(want, line)?;
                (to, Inst::Apply1 { function, to, a })
            }
            Kind::Apply2(function, both) => {
                let (function, [a, b]) = (*function, self.both(both)?);
                let to = self.wanted(want, line)?;
                (to, Inst::Apply2 { function, to, a, b })
            }
            Kind::Divide(function, both) => {
                let (function, [a, b]) = (*function, self.both(both)?);
                let to = self.wanted(want, line)?;
                (to, Inst::Divide { function, to, a, b })
            }
            Kind::Shift(function, both, bits) => {
                let (function, bits, [a, b]) = (*function, *bits, self.both(both)?);
                let to = self.wanted(want, line)?;
                (to, Inst::Shift { function, to, a, b, bits })
            }
            Kind::Apply3(function, three) => {
                let [a, b] = [self.value(&three[0], None)?, self.value(&three[1], None)?];
                let (function, c) = (*function, self.value(&three[2], None)?);
                let to = self.wanted(want, line)?;
                (to, Inst::Apply3 { function, to, a, b, c })
            }
            Kind::Offset(both, step) => return self.offset(both, *step, want, line),
            Kind::Distance(both, step) => {
                let (step, [a, b]) = (*step, self.both(both)?);
                let to = self.wanted(want, line)?;
                (to, Inst::Distance { to, a, b, step })
            }
            Kind::AtomicAdd(function, both) => {
                let (function, [pointer, value]) = (*function, self.both(both)?);
                let (to, dtype) = (self.wanted(want, line)?, of.ty.stored());
                (to, Inst::AtomicAdd { function, to, pointer, value, dtype })
            }
            _ => return refuse(line, "expected a value"),
        };
        self.emit(inst, line)?;
        Ok(to)
    }

    /// A pointer moved by elements.
    fn offset(&mut self, both: &[Expr; 2], step: i64, want: Option<Reg>, line: usize) -> Compiled<Reg> {
        let pointer = self.value(&both[0], None)?;
        let known = both[1].known().and_then(|index| index.cast_signed().checked_mul(step));
        let to = match known {
            Some(by) => {
                let to = self.wanted(want, line)?;
                self.emit(Inst::Advance { to, pointer, by }, line)?;
                to
            }
            None => {
                let index = self.value(&both[1], None)?;
                let to = self.wanted(want, line)?;
                self.emit(Inst::Offset { to, pointer, index, step }, line)?;
                to
            }
        };
        Ok(to)
    }

    fn both(&mut self, both: &[Expr; 2]) -> Compiled<[Reg; 2]> {
        Ok([self.value(&both[0], None)?, self.value(&both[1], None)?])
    }

    fn assigned(&mut self, both: &[Expr; 2], want: Option<Reg>, line: usize) -> Compiled<Reg> {
        let value = match self.place(&both[0])? {
            Place::Register(register) => self.value(&both[1], Some(register))?,
            place => {
                let value = self.value(&both[1], None)?;
                self.store(place, &both[0].ty, value, line)?;
                value
            }
        };
        self.delivered(value, want, line)
    }

    /// A compound assignment, `++` or `--`.
    fn update(
        &mut self,
        target: &Expr,
        change: &Expr,
        post: bool,
        want: Option<Reg>,
        line: usize,
    ) -> Compiled<Reg> {
        let place = self.place(target)?;
        let held = self.load(place, &target.ty, None, line)?;
        let before = match (post, place) {
            (true, Place::Register(_)) => {
                let to = self.register(line)?;
                self.delivered(held, Some(to), line)?
            }
            _ => held,
        };
        self.held.push(held);
        let after = match place {
            Place::Register(register) => self.value(change, Some(register))?,
            place => {
                let value = self.value(change, None)?;
                self.store(place, &target.ty, value, line)?;
                value
            }
        };
        self.held.pop();
        self.delivered(if post { before } else { after }, want, line)
    }

    /// Jumps to a label if a condition holds or not, as `when` says.
    pub(super) fn branch(&mut self, of: &Expr, when: bool, to: u32) -> Compiled<()> {
        let line = of.line;
        match &of.kind {
            Kind::Number(bits) => match (*bits != 0) == when {
                true => self.emit(Inst::Jump { to }, line),
                false => Ok(()),
            },
            Kind::Logic { any, of } if *any == when => {
                self.branch(&of[0], when, to)?;
                self.branch(&of[1], when, to)
            }
            Kind::Logic { of, .. } => {
                let past = self.label();
                self.branch(&of[0], !when, past)?;
                self.branch(&of[1], when, to)?;
                self.bind(past);
                Ok(())
            }
            Kind::Apply2(function, both) => {
                let [a, b] = self.both(both)?;
                self.emit(Inst::BranchBy { function: *function, a, b, when, to }, line)
            }
            _ => {
                let condition = self.value(of, None)?;
                self.emit(Inst::Branch { condition, when, to }, line)
            }
        }
    }

    /// Calls a function; returns where its result is until the next call.
    pub(super) fn call(&mut self, at: usize, args: &[Expr], line: usize) -> Compiled<Option<Place>> {
        // All arguments first: they may call the function as well.
        let mut given = Vec::with_capacity(args.len());
        for arg in args {
            given.push(match arg.ty.is_scalar() {
                true => Place::Register(self.value(arg, None)?),
                false => self.place(arg)?,
            });
        }
        let Some(link) = self.frames[at].link else { return refuse(line, "a kernel cannot be called") };
        if args.iter().any(|arg| !arg.ty.is_scalar()) {
            // Parameters in memory can be written once the function is active.
            let from = self.constant(1, line)?;
            self.emit(Inst::Move { to: link, from }, line)?;
        }
        for (number, (arg, from)) in args.iter().zip(given).enumerate() {
            let to = self.frames[at].params.get(number).copied();
            match (to, from) {
                (Some(Place::Register(to)), Place::Register(from)) => {
                    self.emit(Inst::Move { to, from }, line)?
                }
                (Some(to), from) => self.copy(to, from, &arg.ty, line)?,
                (None, _) => return refuse(line, "too many arguments"),
            }
        }
        self.emit(Inst::Call { link, to: at as u32 }, line)?;
        Ok(self.frames[at].result)
    }
}
