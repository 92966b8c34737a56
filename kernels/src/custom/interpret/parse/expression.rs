//! Expressions, as they are written.

use super::super::expr::{Expr, ExprKind};
use super::super::literal::literal;
use super::super::math::instead;
use super::super::token::{Token, precedence, refuse};
use super::super::types::Type;
use super::{Entity, Parsed, Parser};
use crate::custom::dialect;
use crate::dtype::DType;

impl Parser<'_> {
    /// An expression, with commas.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        let mut left = self.assignment()?;
        while self.is(",") {
            let line = self.line();
            self.at += 1;
            let right = self.assignment()?;
            let right = self.value(right)?;
            let ty = right.ty.clone();
            left = self.node(ExprKind::Comma(Box::new([left, right])), ty, line)?;
        }
        Ok(left)
    }

    /// An expression without commas.
    pub(super) fn assignment(&mut self) -> Parsed<Expr> {
        self.within(|parser| {
            let target = parser.conditional()?;
            let line = parser.line();
            let Some(&Token::Mark(mark)) = parser.peek() else { return Ok(target) };
            let Some(operator) = mark.strip_suffix('=').filter(|operator| {
                operator.is_empty()
                    || *operator != "=" && precedence(operator).is_some() && !matches!(mark, "<=" | ">=")
            }) else {
                return Ok(target);
            };
            parser.at += 1;
            let value = parser.assignment()?;
            match operator {
                "" => parser.assign(target, value, line),
                operator => parser.update(target, operator, value, false, line),
            }
        })
    }

    pub(super) fn conditional(&mut self) -> Parsed<Expr> {
        let condition = self.binary(1)?;
        let line = self.line();
        if !self.takes("?") {
            return Ok(condition);
        }
        let yes = self.within(Self::expression)?;
        self.expect(":")?;
        let no = self.within(Self::conditional)?;
        self.choose(condition, yes, no, line)
    }

    fn binary(&mut self, least: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        while let Some(&Token::Mark(mark)) = self.peek() {
            let Some(strength) = precedence(mark).filter(|strength| *strength >= least) else { break };
            let line = self.line();
            self.at += 1;
            let right = self.binary(strength + 1)?;
            left = match mark {
                "&&" | "||" => self.logic(mark == "||", left, right, line)?,
                mark => self.operate(mark, left, right, line)?,
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let line = self.line();
        if let Some(&Token::Mark(mark @ ("-" | "+" | "!" | "~" | "*" | "&" | "++" | "--"))) = self.peek() {
            self.at += 1;
            let of = self.within(Self::unary)?;
            return self.prefixed(mark, of, line);
        }
        if self.takes_word("sizeof") {
            return self.within(|parser| parser.size_of(line));
        }
        if self.is("(") && self.begins_type_at(1) {
            self.at += 1;
            let ty = self.type_name()?;
            self.expect(")")?;
            if self.is("{") {
                return self.refuse("compound literals are not supported");
            }
            let of = self.within(Self::unary)?;
            return self.cast(of, &ty, line);
        }
        let primary = self.primary()?;
        self.postfix(primary)
    }

    /// Whether a type begins behind the next tokens.
    fn begins_type_at(&mut self, ahead: usize) -> bool {
        self.at += ahead;
        let begins = self.begins_type();
        self.at -= ahead;
        begins
    }

    fn size_of(&mut self, line: usize) -> Parsed<Expr> {
        let ty = if self.is("(") && self.begins_type_at(1) {
            self.at += 1;
            let ty = self.type_name()?;
            self.expect(")")?;
            ty
        } else {
            self.unary()?.ty
        };
        let size = self.size(&ty, line)?;
        self.node(ExprKind::Number(size), Type::SIZE, line)
    }

    fn prefixed(&mut self, mark: &str, of: Expr, line: usize) -> Parsed<Expr> {
        match mark {
            "*" => {
                let of = self.value(of)?;
                self.deref(of, line)
            }
            "&" => self.address(of, line),
            "++" | "--" => {
                let one = self.node(ExprKind::Number(1), Type::INT, line)?;
                self.update(of, &mark[..1], one, false, line)
            }
            mark => self.signed(mark, of, line),
        }
    }

    fn postfix(&mut self, mut of: Expr) -> Parsed<Expr> {
        loop {
            let line = self.line();
            if self.takes("[") {
                let index = self.expression()?;
                self.expect("]")?;
                of = self.element(of, index, line)?;
            } else if self.takes(".") {
                of = self.field(of, line)?;
            } else if self.takes("->") {
                let pointer = self.value(of)?;
                let record = self.deref(pointer, line)?;
                of = self.field(record, line)?;
            } else if self.is("++") || self.is("--") {
                let operator = if self.is("++") { "+" } else { "-" };
                self.at += 1;
                let one = self.node(ExprKind::Number(1), Type::INT, line)?;
                of = self.update(of, operator, one, true, line)?;
            } else {
                return Ok(of);
            }
        }
    }

    /// A field of a struct; its name is next.
    fn field(&mut self, of: Expr, line: usize) -> Parsed<Expr> {
        let name = self.name()?;
        let record = match &of.ty {
            Type::Record(at) => self.records.get(*at),
            _ => None,
        };
        let Some(record) = record else {
            return refuse(
                line,
                format!("expected a struct before `.{name}`, found {}", self.records.name(&of.ty)),
            );
        };
        let Some(field) = record.field(&name).cloned() else {
            return refuse(line, format!("{} has no field `{name}`", self.records.name(&of.ty)));
        };
        self.node(ExprKind::Field(Box::new(of), field.offset), field.ty, line)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let line = self.line();
        match self.peek().cloned() {
            Some(Token::Mark("(")) => {
                self.at += 1;
                let inner = self.within(Self::expression)?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(Token::Number(text)) => {
                self.at += 1;
                let number = literal(&text).or_else(|message| refuse(line, message))?;
                self.node(ExprKind::Number(number.bits), Type::Number(number.dtype), line)
            }
            Some(Token::Char(number)) => {
                self.at += 1;
                self.node(ExprKind::Number(number.cast_unsigned()), Type::INT, line)
            }
            Some(Token::Text(_)) => self.refuse("strings are not supported"),
            Some(Token::Word(word)) => self.named(&word, line),
            _ => self.refuse(format!("expected an expression, found {}", self.found())),
        }
    }

    /// An expression that begins with a word.
    fn named(&mut self, word: &str, line: usize) -> Parsed<Expr> {
        if self.peek_at(1).is_some_and(|token| token.is("(")) {
            return self.call(word, line);
        }
        if let Some(item) = dialect::item_word(word) {
            self.at += 1;
            return self.node(ExprKind::Item(item), Type::SIZE, line);
        }
        let entity = self.find(word).cloned();
        let (kind, ty) = match entity {
            Some(Entity::Variable(at)) => {
                let variable = self.current()?.variables.get(at).cloned();
                let Some(variable) = variable else { return self.refuse(format!("unknown name `{word}`")) };
                (ExprKind::Variable(at), variable.ty)
            }
            Some(Entity::Object(at)) => match self.objects.get(at) {
                Some(object) => (ExprKind::Object(at), object.ty.clone()),
                None => return self.refuse(format!("unknown name `{word}`")),
            },
            Some(Entity::Number(bits)) => (ExprKind::Number(bits), Type::INT),
            Some(Entity::Function(_)) => {
                return self
                    .refuse(format!("`{word}` is a function; pointers to functions are not supported"));
            }
            _ => match word {
                "true" | "false" => (ExprKind::Number(u64::from(word == "true")), Type::Number(DType::Bool)),
                "NULL" => (ExprKind::Number(0), Type::INT),
                word => return self.unknown(word),
            },
        };
        self.at += 1;
        self.node(kind, ty, line)
    }

    /// The error for a name that nothing has.
    pub(super) fn unknown<T>(&self, word: &str) -> Parsed<T> {
        if let Some(instead) = instead(word) {
            return self.refuse(format!("`{word}` is not part of the dialect; use {instead}"));
        }
        if dialect::is_keyword(word) {
            return self.refuse(format!("the keyword `{word}` cannot be here"));
        }
        self.refuse(format!("unknown name `{word}`"))
    }
}
