//! The values of a declared variable.

use super::super::expr::Expr;
use super::super::token::refuse;
use super::super::types::{LARGEST, Type};
use super::declarator::Declared;
use super::{Parsed, Parser};

impl Parser<'_> {
    /// Gives an array without an extent that of its values, which are next.
    pub(super) fn complete_array(&mut self, declared: &mut Declared) -> Parsed<()> {
        if !declared.unsized_array {
            return Ok(());
        }
        let Type::Array(element, _) = &declared.ty else { return Ok(()) };
        let (mut depth, mut count, mut filled) = (0usize, 0u64, false);
        for lexeme in self.all.iter().skip(self.at) {
            let token = &lexeme.token;
            if ["{", "(", "["].iter().any(|mark| token.is(mark)) {
                filled |= depth > 0;
                depth += 1;
            } else if ["}", ")", "]"].iter().any(|mark| token.is(mark)) {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            } else if depth == 1 && token.is(",") {
                count += u64::from(filled);
                filled = false;
            } else if depth == 0 {
                break;
            } else {
                filled = true;
            }
        }
        count += u64::from(filled);
        if count == 0 {
            return refuse(declared.line, "expected values in braces for an array without an extent");
        }
        declared.ty = Type::Array(element.clone(), count);
        Ok(())
    }

    /// Reads the values of a type at a byte; each is a scalar or a whole struct.
    pub(super) fn initializer(&mut self, ty: &Type, offset: u64, out: &mut Vec<(u64, Expr)>) -> Parsed<()> {
        if self.is("{") {
            return self.within(|parser| parser.listed(ty, offset, out));
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

    /// Values in braces.
    fn listed(&mut self, ty: &Type, offset: u64, out: &mut Vec<(u64, Expr)>) -> Parsed<()> {
        let line = self.line();
        self.expect("{")?;
        let places: Vec<(u64, Type)> = match ty {
            Type::Record(at) => {
                let record = self.records.get(*at);
                let first = record.is_some_and(|record| record.is_union);
                let fields = record.and_then(|record| record.fields.as_ref());
                let places = fields.into_iter().flatten().map(|field| (field.offset, field.ty.clone()));
                places.take(if first { 1 } else { usize::MAX }).collect()
            }
            Type::Array(..) => vec![],
            scalar => vec![(0, scalar.clone())],
        };
        let mut count = 0usize;
        while !self.takes("}") {
            if self.is(".") || self.is("[") {
                return self.refuse("designators are not supported");
            }
            let place = match ty {
                Type::Array(element, extent) if (count as u64) < *extent => {
                    Some((self.size(element, line)? * count as u64, Type::clone(element)))
                }
                _ => places.get(count).cloned(),
            };
            let Some((at, own)) = place else {
                return self.refuse(format!("too many values for {}", self.records.name(ty)));
            };
            if out.len() as u64 > LARGEST >> 8 {
                return self.refuse("too many values");
            }
            self.initializer(&own, offset + at, out)?;
            count += 1;
            if !self.takes(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(())
    }
}
