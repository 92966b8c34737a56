//! Statements as instructions.

use super::super::arithmetic::{Operator, binary};
use super::super::expr::{Expr, LoopStmt, Stmt, Switch};
use super::super::token::refuse;
use super::lvalue::LValue;
use super::{Compiled, Compiler};
use crate::custom::interpret::bytecode::MachineInst;
use crate::dtype::DType;

impl Compiler<'_> {
    pub(super) fn statements(&mut self, all: &[Stmt]) -> Compiled<()> {
        all.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, of: &Stmt) -> Compiled<()> {
        // Registers of intermediate values are free again behind the statement.
        let free = self.next;
        let done = self.compiled(of);
        self.next = free;
        done
    }

    fn compiled(&mut self, of: &Stmt) -> Compiled<()> {
        match of {
            Stmt::Expr(expr) => self.effect(expr),
            Stmt::Block(all) => self.statements(all),
            Stmt::If { arms, otherwise } => self.choice(arms, otherwise.as_deref()),
            Stmt::Loop(of) => self.looped(of),
            Stmt::Switch(of) => self.switch(of),
            Stmt::Case(at) => {
                if let Some(&label) = self.cases.last().and_then(|labels| labels.get(*at)) {
                    self.bind(label);
                }
                Ok(())
            }
            Stmt::Break(line) => self.jump(self.breaks.last().copied(), *line),
            Stmt::Continue(line) => self.jump(self.continues.last().copied(), *line),
            Stmt::Return(value, line) => {
                let result = self.frames[self.function].result;
                match (value, result) {
                    (Some(value), Some(LValue::Register(register))) => {
                        self.value(value, Some(register))?;
                    }
                    (Some(value), Some(result)) => {
                        let from = self.place(value)?;
                        self.copy(result, from, &value.ty, *line)?;
                    }
                    _ => {}
                }
                self.leave(*line)
            }
            Stmt::Clear(at, line) => match self.slots.get(*at) {
                Some(&LValue::Own { at: from, .. }) => {
                    let ty = &self.unit.functions[self.function].variables[*at].ty;
                    let bytes = self.size(ty, *line)? as u32;
                    self.emit(MachineInst::ClearOwn { at: from, bytes }, *line)
                }
                _ => Ok(()),
            },
        }
    }

    fn jump(&mut self, to: Option<u32>, line: usize) -> Compiled<()> {
        match to {
            Some(to) => self.emit(MachineInst::Jump { to }, line),
            None => refuse(line, "a jump out of nothing"),
        }
    }

    fn choice(&mut self, arms: &[(Expr, Stmt)], otherwise: Option<&Stmt>) -> Compiled<()> {
        let end = self.label();
        for (at, (condition, body)) in arms.iter().enumerate() {
            let next = self.label();
            let free = self.next;
            self.branch(condition, false, next)?;
            self.next = free;
            self.statement(body)?;
            if at + 1 < arms.len() || otherwise.is_some() {
                self.emit(MachineInst::Jump { to: end }, condition.line)?;
            }
            self.bind(next);
        }
        if let Some(otherwise) = otherwise {
            self.statement(otherwise)?;
        }
        self.bind(end);
        Ok(())
    }

    /// A loop: its condition is computed at its end.
    fn looped(&mut self, of: &LoopStmt) -> Compiled<()> {
        self.statements(&of.start)?;
        let (top, next, test, end) = (self.label(), self.label(), self.label(), self.label());
        let line = of.condition.as_ref().map_or(of.line, |condition| condition.line);
        if !of.body_first && of.condition.is_some() {
            self.emit(MachineInst::Jump { to: test }, line)?;
        }
        self.bind(top);
        self.breaks.push(end);
        self.continues.push(next);
        self.statement(&of.body)?;
        self.breaks.pop();
        self.continues.pop();
        self.bind(next);
        let free = self.next;
        if let Some(step) = &of.step {
            self.effect(step)?;
        }
        self.next = free;
        self.bind(test);
        match &of.condition {
            Some(condition) => self.branch(condition, true, top)?,
            None => self.emit(MachineInst::Jump { to: top }, line)?,
        }
        self.bind(end);
        Ok(())
    }

    fn switch(&mut self, of: &Switch) -> Compiled<()> {
        let line = of.value.line;
        let value = self.value(&of.value, None)?;
        let Some(function) = binary(Operator::Equal, DType::U64) else {
            return refuse(line, "no comparison");
        };
        let end = self.label();
        let labels: Vec<u32> = of.cases.iter().map(|_| self.label()).collect();
        for (case, &to) in of.cases.iter().zip(&labels) {
            if let Some(bits) = case {
                let b = self.constant(*bits, line)?;
                self.emit(MachineInst::BranchBy { function, a: value, b, when: true, to }, line)?;
            }
        }
        let default = of.cases.iter().position(Option::is_none).and_then(|at| labels.get(at));
        self.emit(MachineInst::Jump { to: default.copied().unwrap_or(end) }, line)?;
        self.breaks.push(end);
        self.cases.push(labels);
        self.statement(&of.body)?;
        self.cases.pop();
        self.breaks.pop();
        self.bind(end);
        Ok(())
    }
}
