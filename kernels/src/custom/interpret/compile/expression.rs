//! The values of expressions.

use super::super::expr::{Expr, ExprKind};
use super::super::token::refuse;
use super::super::types::Type;
use super::lvalue::LValue;
use super::{Compiled, Compiler};
use crate::custom::interpret::bytecode::{MachineInst, Reg};

impl Compiler<'_> {
    /// Computes an expression for its effect.
    pub(super) fn effect(&mut self, of: &Expr) -> Compiled<()> {
        let line = of.line;
        match &of.kind {
            ExprKind::Barrier => self.emit(MachineInst::Barrier, line),
            ExprKind::Call(at, args) => self.call(*at, args, line).map(|_| ()),
            ExprKind::Cast(inner) if of.ty == Type::Void => self.effect(inner),
            ExprKind::Comma(both) => {
                self.effect(&both[0])?;
                self.effect(&both[1])
            }
            ExprKind::Choose(three) if of.ty == Type::Void => {
                let (no, end) = (self.label(), self.label());
                self.branch(&three[0], false, no)?;
                self.effect(&three[1])?;
                self.emit(MachineInst::Jump { to: end }, line)?;
                self.bind(no);
                self.effect(&three[2])?;
                self.bind(end);
                Ok(())
            }
            ExprKind::Update { target, change, .. } => {
                self.update(target, change, false, None, line).map(|_| ())
            }
            _ if of.ty.is_scalar() => self.value(of, None).map(|_| ()),
            _ if of.ty == Type::Void => refuse(line, "expected a value"),
            _ => self.place(of).map(|_| ()),
        }
    }

    /// Computes a scalar, in the register that is wanted.
    pub(super) fn value(&mut self, of: &Expr, want: Option<Reg>) -> Compiled<Reg> {
        let line = of.line;
        match &of.kind {
            ExprKind::Number(bits) => {
                let register = self.constant(*bits, line)?;
                self.delivered(register, want, line)
            }
            ExprKind::Variable(_) | ExprKind::Object(_) | ExprKind::Deref(_) | ExprKind::Field(..) => {
                let place = self.place(of)?;
                self.load(place, &of.ty, want, line)
            }
            ExprKind::Item(register) => self.delivered(*register, want, line),
            ExprKind::Address(place) => self.address(place, want),
            ExprKind::Cast(inner) if of.ty != Type::Void => self.value(inner, want),
            ExprKind::Comma(both) => {
                self.effect(&both[0])?;
                self.value(&both[1], want)
            }
            ExprKind::Logic { .. } => {
                let (to, no, end) = (self.wanted(want, line)?, self.label(), self.label());
                let [one, zero] = [self.constant(1, line)?, self.constant(0, line)?];
                self.branch(of, false, no)?;
                self.emit(MachineInst::Move { to, from: one }, line)?;
                self.emit(MachineInst::Jump { to: end }, line)?;
                self.bind(no);
                self.emit(MachineInst::Move { to, from: zero }, line)?;
                self.bind(end);
                Ok(to)
            }
            ExprKind::Choose(three) => {
                let (to, no, end) = (self.wanted(want, line)?, self.label(), self.label());
                self.branch(&three[0], false, no)?;
                self.value(&three[1], Some(to))?;
                self.emit(MachineInst::Jump { to: end }, line)?;
                self.bind(no);
                self.value(&three[2], Some(to))?;
                self.bind(end);
                Ok(to)
            }
            ExprKind::Assign(both) => self.assigned(both, want, line),
            ExprKind::Update { target, change, post } => self.update(target, change, *post, want, line),
            ExprKind::Held => match self.held.last() {
                Some(&held) => self.delivered(held, want, line),
                None => refuse(line, "an assignment without a target"),
            },
            ExprKind::Call(at, args) => match self.call(*at, args, line)? {
                // The next call writes the result anew.
                Some(LValue::Register(from)) => {
                    let to = self.wanted(want, line)?;
                    self.delivered(from, Some(to), line)
                }
                _ => refuse(line, "expected a value, found a call of a void function"),
            },
            ExprKind::Barrier | ExprKind::Cast(_) => refuse(line, "expected a value, found none"),
            _ => self.computed(of, want),
        }
    }

    /// Expressions that are one instruction on the values of their operands.
    fn computed(&mut self, of: &Expr, want: Option<Reg>) -> Compiled<Reg> {
        let line = of.line;
        let (to, inst) = match &of.kind {
            ExprKind::Apply1(function, inner) => {
                let (function, a) = (*function, self.value(inner, None)?);
                let to = self.wanted(want, line)?;
                (to, MachineInst::Apply1 { function, to, a })
            }
            ExprKind::Apply2(function, both) => {
                let (function, [a, b]) = (*function, self.both(both)?);
                let to = self.wanted(want, line)?;
                (to, MachineInst::Apply2 { function, to, a, b })
            }
            ExprKind::Divide(function, both) => {
                let (function, [a, b]) = (*function, self.both(both)?);
                let to = self.wanted(want, line)?;
                (to, MachineInst::Divide { function, to, a, b })
            }
            ExprKind::Shift(function, both, bits) => {
                let (function, bits, [a, b]) = (*function, *bits, self.both(both)?);
                let to = self.wanted(want, line)?;
                (to, MachineInst::Shift { function, to, a, b, bits })
            }
            ExprKind::Apply3(function, three) => {
                let [a, b] = [self.value(&three[0], None)?, self.value(&three[1], None)?];
                let (function, c) = (*function, self.value(&three[2], None)?);
                let to = self.wanted(want, line)?;
                (to, MachineInst::Apply3 { function, to, a, b, c })
            }
            ExprKind::Offset(both, step) => return self.offset(both, *step, want, line),
            ExprKind::Distance(both, step) => {
                let (step, [a, b]) = (*step, self.both(both)?);
                let to = self.wanted(want, line)?;
                (to, MachineInst::Distance { to, a, b, step })
            }
            ExprKind::AtomicAdd(function, both) => {
                let (function, [pointer, value]) = (*function, self.both(both)?);
                let (to, dtype) = (self.wanted(want, line)?, of.ty.stored());
                (to, MachineInst::AtomicAdd { function, to, pointer, value, dtype })
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
                self.emit(MachineInst::Advance { to, pointer, by }, line)?;
                to
            }
            None => {
                let index = self.value(&both[1], None)?;
                let to = self.wanted(want, line)?;
                self.emit(MachineInst::Offset { to, pointer, index, step }, line)?;
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
            LValue::Register(register) => self.value(&both[1], Some(register))?,
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
            (true, LValue::Register(_)) => {
                let to = self.register(line)?;
                self.delivered(held, Some(to), line)?
            }
            _ => held,
        };
        self.held.push(held);
        let after = match place {
            LValue::Register(register) => self.value(change, Some(register))?,
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
            ExprKind::Number(bits) => match (*bits != 0) == when {
                true => self.emit(MachineInst::Jump { to }, line),
                false => Ok(()),
            },
            ExprKind::Logic { any, of } if *any == when => {
                self.branch(&of[0], when, to)?;
                self.branch(&of[1], when, to)
            }
            ExprKind::Logic { of, .. } => {
                let past = self.label();
                self.branch(&of[0], !when, past)?;
                self.branch(&of[1], when, to)?;
                self.bind(past);
                Ok(())
            }
            ExprKind::Apply2(function, both) => {
                let [a, b] = self.both(both)?;
                self.emit(MachineInst::BranchBy { function: *function, a, b, when, to }, line)
            }
            _ => {
                let condition = self.value(of, None)?;
                self.emit(MachineInst::Branch { condition, when, to }, line)
            }
        }
    }

    /// Calls a function; returns where its result is until the next call.
    pub(super) fn call(&mut self, at: usize, args: &[Expr], line: usize) -> Compiled<Option<LValue>> {
        // All arguments first: they may call the function as well.
        let mut given = Vec::with_capacity(args.len());
        for arg in args {
            given.push(match arg.ty.is_scalar() {
                true => LValue::Register(self.value(arg, None)?),
                false => self.place(arg)?,
            });
        }
        let Some(link) = self.frames[at].link else { return refuse(line, "a kernel cannot be called") };
        if args.iter().any(|arg| !arg.ty.is_scalar()) {
            // Parameters in memory can be written once the function is active.
            let from = self.constant(1, line)?;
            self.emit(MachineInst::Move { to: link, from }, line)?;
        }
        for (number, (arg, from)) in args.iter().zip(given).enumerate() {
            let to = self.frames[at].params.get(number).copied();
            match (to, from) {
                (Some(LValue::Register(to)), LValue::Register(from)) => {
                    self.emit(MachineInst::Move { to, from }, line)?
                }
                (Some(to), from) => self.copy(to, from, &arg.ty, line)?,
                (None, _) => return refuse(line, "too many arguments"),
            }
        }
        self.emit(MachineInst::Call { link, to: at as u32 }, line)?;
        Ok(self.frames[at].result)
    }
}
