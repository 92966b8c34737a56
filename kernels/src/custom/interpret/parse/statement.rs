//! Statements.

use super::super::expr::{Expr, LoopStmt, Stmt, Switch};
use super::super::token::refuse;
use super::super::types::{Type, promoted};
use super::{Parsed, Parser};
use std::collections::HashMap;

/// Cases of a switch at most.
const MOST_CASES: usize = 1024;

impl Parser<'_> {
    /// Statements up to the closing brace.
    pub(super) fn statements(&mut self) -> Parsed<Vec<Stmt>> {
        let mut all = Vec::new();
        while !self.takes("}") {
            if self.peek().is_none() {
                return self.refuse("expected `}`, found the end");
            }
            if self.begins_type() && !self.peek_at(1).is_some_and(|token| token.is("(")) {
                self.local(&mut all)?;
            } else {
                all.push(self.statement()?);
            }
        }
        Ok(all)
    }

    /// Reads with names of its own.
    fn scoped<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.scopes.push(HashMap::new());
        let done = self.within(read);
        self.scopes.pop();
        done
    }

    fn statement(&mut self) -> Parsed<Stmt> {
        let line = self.line();
        if self.takes("{") {
            return self.scoped(|parser| parser.statements().map(Stmt::Block));
        }
        if self.takes(";") {
            return Ok(Stmt::Block(vec![]));
        }
        let word = self.peek_word().unwrap_or("").to_string();
        if self.peek_at(1).is_some_and(|token| token.is(":")) && !matches!(&*word, "default" | "") {
            return self.refuse("labels and goto are not supported");
        }
        match &*word {
            "if" => self.within(Self::choice),
            "for" | "while" | "do" => self.looped(&word),
            "switch" => self.scoped(Self::switch),
            "case" | "default" => self.case(),
            "goto" | "asm" | "__asm__" => self.refuse(format!("`{word}` is not supported")),
            "break" | "continue" | "return" => {
                self.at += 1;
                let statement = self.jump(&word, line)?;
                self.expect(";")?;
                Ok(statement)
            }
            _ if self.begins_type() && !self.is_call() => {
                self.refuse("expected a statement, found a declaration; put braces around it")
            }
            _ => {
                let expr = self.expression()?;
                self.expect(";")?;
                Ok(Stmt::Expr(expr))
            }
        }
    }

    fn is_call(&self) -> bool {
        self.peek_at(1).is_some_and(|token| token.is("("))
    }

    fn jump(&mut self, word: &str, line: usize) -> Parsed<Stmt> {
        let current = self.current()?;
        match word {
            "break" if current.breakable > 0 => Ok(Stmt::Break(line)),
            "continue" if current.loops > 0 => Ok(Stmt::Continue(line)),
            "return" => {
                let result = current.result.clone();
                if self.is(";") {
                    return match result {
                        Type::Void => Ok(Stmt::Return(None, line)),
                        ty => {
                            refuse(line, format!("expected a value of {} to return", self.records.name(&ty)))
                        }
                    };
                }
                if result == Type::Void {
                    return refuse(line, "a void function returns no value");
                }
                let value = self.expression()?;
                Ok(Stmt::Return(Some(self.converted(value, &result)?), line))
            }
            _ => refuse(line, format!("`{word}` outside of a loop")),
        }
    }

    /// A condition in brackets.
    fn bracketed(&mut self) -> Parsed<Expr> {
        self.expect("(")?;
        let condition = self.expression()?;
        self.expect(")")?;
        self.truth(condition)
    }

    /// `if` with all its `else if`.
    fn choice(&mut self) -> Parsed<Stmt> {
        let mut arms = Vec::new();
        loop {
            self.at += 1;
            let condition = self.bracketed()?;
            arms.push((condition, self.statement()?));
            if !self.takes_word("else") {
                return Ok(Stmt::If { arms, otherwise: None });
            }
            if self.peek_word() != Some("if") {
                let otherwise = Some(Box::new(self.statement()?));
                return Ok(Stmt::If { arms, otherwise });
            }
        }
    }

    fn looped(&mut self, word: &str) -> Parsed<Stmt> {
        let line = self.line();
        self.at += 1;
        self.scoped(|parser| {
            let mut own = LoopStmt {
                start: vec![],
                condition: None,
                step: None,
                body: Stmt::Block(vec![]),
                body_first: word == "do",
                line,
            };
            if word == "while" {
                own.condition = Some(parser.bracketed()?);
            } else if word == "for" {
                parser.head(&mut own)?;
            }
            let current = parser.current()?;
            current.loops += 1;
            current.breakable += 1;
            own.body = parser.statement()?;
            let current = parser.current()?;
            current.loops -= 1;
            current.breakable -= 1;
            if word == "do" {
                if !parser.takes_word("while") {
                    return parser.refuse(format!("expected `while`, found {}", parser.found()));
                }
                own.condition = Some(parser.bracketed()?);
                parser.expect(";")?;
            }
            Ok(Stmt::Loop(Box::new(own)))
        })
    }

    /// What is in the brackets of a `for`.
    fn head(&mut self, own: &mut LoopStmt) -> Parsed<()> {
        self.expect("(")?;
        if self.begins_type() {
            self.local(&mut own.start)?;
        } else if !self.takes(";") {
            own.start.push(Stmt::Expr(self.expression()?));
            self.expect(";")?;
        }
        if !self.is(";") {
            let condition = self.expression()?;
            own.condition = Some(self.truth(condition)?);
        }
        self.expect(";")?;
        if !self.is(")") {
            own.step = Some(self.expression()?);
        }
        self.expect(")")
    }

    fn switch(&mut self) -> Parsed<Stmt> {
        self.at += 1;
        self.expect("(")?;
        let value = self.expression()?;
        self.expect(")")?;
        let (value, dtype) = self.number(value)?;
        if dtype.is_float() {
            return refuse(value.line, "expected an integer for `switch`");
        }
        let value = self.to_number(value, promoted(dtype))?;
        let current = self.current()?;
        current.switches.push(vec![]);
        current.breakable += 1;
        let body = self.statement()?;
        let current = self.current()?;
        current.breakable -= 1;
        let cases = current.switches.pop().unwrap_or_default();
        // A case is compared as a number of the value's type.
        let ty = promoted(dtype);
        let fitted = |bits: u64| {
            super::super::arithmetic::convert(crate::dtype::DType::I64, ty)
                .map_or(bits, |function| function(bits))
        };
        let cases: Vec<Option<u64>> = cases.into_iter().map(|case| case.map(fitted)).collect();
        if (0..cases.len()).any(|at| cases[..at].contains(&cases[at])) {
            return refuse(value.line, "two cases of this switch are the same");
        }
        Ok(Stmt::Switch(Box::new(Switch { value, cases, body })))
    }

    /// Cases and the statement behind them.
    fn case(&mut self) -> Parsed<Stmt> {
        let mut all = Vec::new();
        while matches!(self.peek_word(), Some("case" | "default")) {
            let line = self.line();
            let is_default = self.peek_word() == Some("default");
            self.at += 1;
            let value = if is_default { None } else { Some(self.constant_integer()?.cast_unsigned()) };
            self.expect(":")?;
            match self.current()?.switches.last_mut() {
                Some(cases) if cases.len() < MOST_CASES => {
                    cases.push(value);
                    all.push(Stmt::Case(cases.len() - 1));
                }
                Some(_) => return refuse(line, format!("a switch has more than {MOST_CASES} cases")),
                None => return refuse(line, "a case outside of a switch"),
            }
        }
        if !self.is("}") {
            all.push(self.within(Self::statement)?);
        }
        Ok(Stmt::Block(all))
    }
}
