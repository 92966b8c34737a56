//! The values of a declared variable.

use super::super::expr::Expr;
use super::super::token::refuse;
use super::super::types::{LARGEST, Type};
use super::declarator::Declared;
use super::{Parsed, Parser};

impl Parser<'_> {
    /// The values of what is declared, which are next, each with its byte. An array without an extent gets
    /// that of its values.
    pub(super) fn values(&mut self, declared: &mut Declared) -> Parsed<Vec<(u64, Expr)>> {
        let mut items = Vec::new();
        let element = match &declared.ty {
            Type::Array(element, _) if declared.unsized_array => element.clone(),
            ty => {
                let ty = ty.clone();
                self.initializer(&ty, 0, &mut items)?;
                return Ok(items);
            }
        };
        if !self.is("{") {
            return refuse(declared.line, "expected values in braces for an array without an extent");
        }
        let open = Type::Array(element.clone(), u64::MAX);
        let count = self.within(|parser| parser.listed(&open, 0, &mut items))?;
        if count == 0 {
            return refuse(declared.line, "expected values in braces for an array without an extent");
        }
        declared.ty = Type::Array(element, count);
        Ok(items)
    }

    /// Reads the values of a type at a byte; each is a scalar or a whole struct.
    fn initializer(&mut self, ty: &Type, offset: u64, out: &mut Vec<(u64, Expr)>) -> Parsed<()> {
        if self.is("{") {
            return self.within(|parser| parser.listed(ty, offset, out).map(|_| ()));
        }
        let line = self.line();
        let value = self.assignment()?;
        if matches!(ty, Type::Array(..)) {
            return refuse(line, format!("expected values in braces for {}", self.records.name(ty)));
        }
        let value = self.converted(value, ty)?;
        out.push((offset, value));
        Ok(())
    }

    /// Values in braces. Returns how many parts of the type they are.
    fn listed(&mut self, ty: &Type, offset: u64, out: &mut Vec<(u64, Expr)>) -> Parsed<u64> {
        let line = self.line();
        self.expect("{")?;
        let mut count = 0;
        while !self.takes("}") {
            let Some((at, own)) = self.part(ty, count, line)? else {
                return self.refuse(format!("too many values for {}", self.records.name(ty)));
            };
            self.member(&own, offset.saturating_add(at), None, out)?;
            count += 1;
            if !self.takes(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(count)
    }

    /// Reads the values of a part within braces. A struct or an array in it may have no braces of its own:
    /// then it takes as many of the values as it has parts. `first`: a value that was read already.
    fn member(
        &mut self,
        ty: &Type,
        offset: u64,
        first: Option<Expr>,
        out: &mut Vec<(u64, Expr)>,
    ) -> Parsed<()> {
        if out.len() as u64 > LARGEST >> 8 {
            return self.refuse("too many values");
        }
        if self.is(".") || self.is("[") {
            return self.refuse("designators are not supported");
        }
        let line = self.line();
        let first = match first {
            None if self.is("{") => return self.initializer(ty, offset, out),
            None => self.assignment()?,
            Some(value) => value,
        };
        let same = matches!((ty, &first.ty), (Type::Record(a), Type::Record(b)) if a == b);
        if same || !matches!(ty, Type::Array(..) | Type::Record(_)) {
            let value = self.converted(first, ty)?;
            out.push((offset, value));
            return Ok(());
        }
        let (mut next, mut count) = (Some(first), 0);
        while let Some((at, own)) = self.part(ty, count, line)? {
            let ends = self.peek_at(1).is_some_and(|token| token.is("}"));
            if next.is_none() && (ends || !self.takes(",")) {
                break;
            }
            self.member(&own, offset.saturating_add(at), next.take(), out)?;
            count += 1;
        }
        match next {
            Some(value) => refuse(value.line, format!("{} has no room for a value", self.records.name(ty))),
            None => Ok(()),
        }
    }

    /// The part of this number of an array or a struct, with its byte: a union has one, and so has a scalar.
    fn part(&self, ty: &Type, number: u64, line: usize) -> Parsed<Option<(u64, Type)>> {
        Ok(match ty {
            Type::Array(element, extent) if number < *extent => {
                Some((self.size(element, line)?.saturating_mul(number), Type::clone(element)))
            }
            Type::Array(..) => None,
            Type::Record(at) => {
                let record = self.records.get(*at).filter(|record| !record.is_union || number == 0);
                let fields = record.and_then(|record| record.fields.as_ref());
                let field = fields.and_then(|fields| fields.get(usize::try_from(number).ok()?));
                field.map(|field| (field.offset, field.ty.clone()))
            }
            scalar => (number == 0).then(|| (0, scalar.clone())),
        })
    }
}
