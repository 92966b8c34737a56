//! `load_x`, `store_x` and `atomic_add_x`.

use super::super::arithmetic::{Operator, binary};
use super::super::expr::{Expr, ExprKind};
use super::super::token::refuse;
use super::super::types::{Pointee, Type};
use super::{Parsed, Parser};
use crate::dtype::DType;
use crate::nest::Store;

/// What is done to memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum MemoryOp {
    Load,
    Store,
    AtomicAdd,
}

impl Parser<'_> {
    /// The access of this name, and its dtype.
    pub(super) fn access(&self, word: &str) -> Option<(MemoryOp, DType)> {
        const ALL: [(&str, MemoryOp); 3] =
            [("load_", MemoryOp::Load), ("store_", MemoryOp::Store), ("atomic_add_", MemoryOp::AtomicAdd)];
        let named = |(prefix, access): &(&str, MemoryOp)| Some((word.strip_prefix(prefix)?, *access));
        let (name, access) = ALL.iter().find_map(named)?;
        let known = DType::REAL.into_iter().find(|dtype| dtype.short() == name);
        let dtype = match access {
            MemoryOp::AtomicAdd => known.filter(|dtype| Store::can_add_to(*dtype)),
            _ => {
                let parameter = self.source.types().iter().find(|(parameter, _)| parameter == name);
                parameter.map(|(_, dtype)| *dtype).or(known)
            }
        };
        Some((access, dtype?))
    }

    pub(super) fn access_call(
        &mut self,
        word: &str,
        access: MemoryOp,
        dtype: DType,
        args: Vec<Expr>,
        line: usize,
    ) -> Parsed<Expr> {
        let expected = if access == MemoryOp::Store { 3 } else { 2 };
        if args.len() != expected {
            return refuse(line, format!("expected {expected} arguments of `{word}`, found {}", args.len()));
        }
        let mut args = args.into_iter();
        let (Some(pointer), Some(second)) = (args.next(), args.next()) else {
            return refuse(line, format!("expected {expected} arguments of `{word}`"));
        };
        let pointer = self.value(pointer)?;
        let pointee = self.pointee_for(word, access, dtype, &pointer, line)?;
        if access != MemoryOp::Load && pointee.constant {
            return refuse(line, format!("`{word}` writes to elements that are const"));
        }
        match (access, args.next()) {
            (MemoryOp::AtomicAdd, _) => {
                let Some(add) = binary(Operator::Add, dtype) else {
                    return refuse(line, format!("there are no atomic adds for {}", dtype.short()));
                };
                let ty = Type::Number(dtype);
                let value = self.converted(second, &ty)?;
                self.node(ExprKind::AtomicAdd(add, Box::new([pointer, value])), ty, line)
            }
            (_, Some(value)) => {
                let place = self.element(pointer, second, line)?;
                if !dtype.is_half() {
                    return self.assign(place, value, line);
                }
                let ty = Type::Number(DType::F32);
                let value = self.converted(value, &ty)?;
                let place = Expr { ty: Type::Number(dtype), ..place };
                self.node(ExprKind::Assign(Box::new([place, value])), ty, line)
            }
            (_, None) => {
                let place = self.element(pointer, second, line)?;
                if dtype == DType::Bool {
                    let zero = self.node(ExprKind::Number(0), Type::INT, line)?;
                    return self.operate("!=", place, zero, line);
                }
                if !dtype.is_half() {
                    return self.value(place);
                }
                let place = Expr { ty: Type::Number(dtype), ..place };
                self.node(ExprKind::Cast(Box::new(place)), Type::Number(DType::F32), line)
            }
        }
    }

    /// What the pointer points to, if the access takes it. bf16 has no type of its own in either language.
    fn pointee_for(
        &self,
        word: &str,
        access: MemoryOp,
        dtype: DType,
        pointer: &Expr,
        line: usize,
    ) -> Parsed<Pointee> {
        let fits = |pointee: &&Pointee| {
            let element = pointee.ty.number();
            let exact = dtype.is_half() || access == MemoryOp::AtomicAdd;
            !exact || element == Some(dtype) || (dtype == DType::BF16 && element == Some(DType::U16))
        };
        match pointer.ty.pointee().filter(fits) {
            Some(pointee) => Ok(pointee.clone()),
            None => {
                let (wanted, found) = (dtype.short(), self.records.name(&pointer.ty));
                refuse(line, format!("expected a pointer to {wanted} for `{word}`, found {found}"))
            }
        }
    }
}
