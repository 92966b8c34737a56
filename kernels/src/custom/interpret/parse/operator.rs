//! Operators: the types in which they compute, and constants folded.

use super::super::arithmetic::{Fn1, Fn2, Operator, binary, invert, negate, not};
use super::super::expr::{Expr, ExprKind};
use super::super::token::refuse;
use super::super::types::{Type, common, promoted};
use super::{Parsed, Parser};
use crate::dtype::DType;

/// An operator, whether its operands change sides, and whether its result is an int.
fn operator(mark: &str) -> Option<(Operator, bool, bool)> {
    Some(match mark {
        "+" => (Operator::Add, false, false),
        "-" => (Operator::Subtract, false, false),
        "*" => (Operator::Multiply, false, false),
        "/" => (Operator::Divide, false, false),
        "%" => (Operator::Remainder, false, false),
        "&" => (Operator::And, false, false),
        "|" => (Operator::Or, false, false),
        "^" => (Operator::Xor, false, false),
        "<<" => (Operator::ShiftLeft, false, false),
        ">>" => (Operator::ShiftRight, false, false),
        "<" => (Operator::Less, false, true),
        ">" => (Operator::Less, true, true),
        "<=" => (Operator::LessEqual, false, true),
        ">=" => (Operator::LessEqual, true, true),
        "==" => (Operator::Equal, false, true),
        "!=" => (Operator::Unequal, false, true),
        _ => return None,
    })
}

impl Parser<'_> {
    /// A function of a value, computed now if the value is known.
    pub(super) fn apply1(&self, function: Fn1, of: Expr, ty: Type, line: usize) -> Parsed<Expr> {
        match of.known() {
            Some(bits) => self.node(ExprKind::Number(function(bits)), ty, line),
            None => self.node(ExprKind::Apply1(function, Box::new(of)), ty, line),
        }
    }

    pub(super) fn apply2(&self, function: Fn2, of: [Expr; 2], ty: Type, line: usize) -> Parsed<Expr> {
        match (of[0].known(), of[1].known()) {
            (Some(a), Some(b)) => self.node(ExprKind::Number(function(a, b)), ty, line),
            _ => self.node(ExprKind::Apply2(function, Box::new(of)), ty, line),
        }
    }

    /// `-`, `+`, `~` and `!`.
    pub(super) fn signed(&mut self, mark: &str, of: Expr, line: usize) -> Parsed<Expr> {
        if mark == "!" {
            let of = self.scalar(of)?;
            let function = not(of.ty.stored());
            return self.apply1(function, of, Type::INT, line);
        }
        let (of, dtype) = self.number(of)?;
        let dtype = promoted(dtype);
        let of = self.to_number(of, dtype)?;
        let function = match mark {
            "+" => return Ok(of),
            "-" => negate(dtype),
            _ => invert(dtype),
        };
        match function {
            Some(function) => self.apply1(function, of, Type::Number(dtype), line),
            None => refuse(line, format!("expected an integer behind `{mark}`, found {}", dtype.short())),
        }
    }

    /// A binary operator other than `&&` and `||`.
    pub(super) fn operate(&mut self, mark: &str, a: Expr, b: Expr, line: usize) -> Parsed<Expr> {
        let (a, b) = (self.scalar(a)?, self.scalar(b)?);
        let Some((operator, swapped, compares)) = operator(mark) else {
            return refuse(line, format!("unknown operator `{mark}`"));
        };
        let (Some(x), Some(y)) = (a.ty.number(), b.ty.number()) else {
            return self.on_pointers(mark, operator, a, b, line);
        };
        let shifts = matches!(operator, Operator::ShiftLeft | Operator::ShiftRight);
        let dtype = if shifts { promoted(x) } else { common(x, y) };
        let integers = !x.is_float() && !y.is_float();
        let Some(function) = binary(operator, dtype).filter(|_| integers || !shifts) else {
            return refuse(
                line,
                format!("expected integers for `{mark}`, found {} and {}", x.short(), y.short()),
            );
        };
        // A count keeps its own type: it may be too large for that of the number.
        let of_count = if shifts { promoted(y) } else { dtype };
        let (a, b) = (self.to_number(a, dtype)?, self.to_number(b, of_count)?);
        let ty = if compares { Type::INT } else { Type::Number(dtype) };
        let of = if swapped { [b, a] } else { [a, b] };
        let divides = matches!(operator, Operator::Divide | Operator::Remainder) && integers;
        if divides && of[1].known().is_none_or(|divisor| divisor == 0) {
            return self.node(ExprKind::Divide(function, Box::new(of)), ty, line);
        }
        let bits = dtype.size() as u8 * 8;
        if shifts && of[1].known().is_none_or(|by| by >= u64::from(bits)) {
            return self.node(ExprKind::Shift(function, Box::new(of), bits), ty, line);
        }
        self.apply2(function, of, ty, line)
    }

    /// An operator with a pointer.
    fn on_pointers(&mut self, mark: &str, operator: Operator, a: Expr, b: Expr, line: usize) -> Parsed<Expr> {
        let [x, y] = [&a, &b].map(|of| self.records.name(&of.ty));
        let size = |parser: &Self, of: &Expr| -> Parsed<i64> {
            let pointee = of.ty.pointee().map_or(Type::Void, |pointee| pointee.ty.clone());
            Ok(parser.size(&pointee, line)?.cast_signed())
        };
        match (mark, a.ty.is_integer(), b.ty.is_integer()) {
            ("+", true, false) => self.operate("+", b, a, line),
            ("+" | "-", false, true) => {
                let step = size(self, &a)? * if mark == "-" { -1 } else { 1 };
                let (ty, index) = (a.ty.clone(), self.to_number(b, DType::I64)?);
                self.node(ExprKind::Offset(Box::new([a, index]), step), ty, line)
            }
            _ => {
                let same = match (a.ty.pointee(), b.ty.pointee()) {
                    (Some(a), Some(b)) => a.ty == b.ty,
                    _ => false,
                };
                let equality = matches!(operator, Operator::Equal | Operator::Unequal);
                let null = equality && (a.is_null() || b.is_null());
                let Some(function) = binary(operator, DType::U64).filter(|_| same || null) else {
                    return refuse(line, format!("no operator `{mark}` takes {x} and {y}"));
                };
                if equality {
                    return self.apply2(function, [a, b], Type::INT, line);
                }
                let distance = match mark {
                    "-" => size(self, &a)?,
                    "<" | ">" | "<=" | ">=" => 1,
                    _ => return refuse(line, format!("no operator `{mark}` takes {x} and {y}")),
                };
                let ty = Type::Number(DType::I64);
                let distance = self.node(ExprKind::Distance(Box::new([a, b]), distance), ty, line)?;
                if mark == "-" {
                    return Ok(distance);
                }
                let zero = self.node(ExprKind::Number(0), Type::INT, line)?;
                self.operate(mark, distance, zero, line)
            }
        }
    }

    /// `&&` and `||`.
    pub(super) fn logic(&mut self, any: bool, a: Expr, b: Expr, line: usize) -> Parsed<Expr> {
        let (a, b) = (self.truth(a)?, self.truth(b)?);
        if let (Some(x), Some(y)) = (a.known(), b.known()) {
            let holds = if any { x != 0 || y != 0 } else { x != 0 && y != 0 };
            return self.node(ExprKind::Number(u64::from(holds)), Type::INT, line);
        }
        self.node(ExprKind::Logic { any, of: Box::new([a, b]) }, Type::INT, line)
    }

    /// `condition ? yes : no`.
    pub(super) fn choose(&mut self, condition: Expr, yes: Expr, no: Expr, line: usize) -> Parsed<Expr> {
        let condition = self.truth(condition)?;
        let (yes, no) = (self.value(yes)?, self.value(no)?);
        let ty = match (&yes.ty, &no.ty) {
            (Type::Number(a), Type::Number(b)) if a == b => yes.ty.clone(),
            (Type::Number(a), Type::Number(b)) => Type::Number(common(*a, *b)),
            (Type::Pointer(_), _) if no.is_null() => yes.ty.clone(),
            (_, Type::Pointer(_)) if yes.is_null() => no.ty.clone(),
            // The one whose elements are const takes the other.
            (Type::Pointer(a), Type::Pointer(_)) if a.constant => yes.ty.clone(),
            (Type::Pointer(_), Type::Pointer(_)) => no.ty.clone(),
            _ => yes.ty.clone(),
        };
        if ty == Type::Void && no.ty == Type::Void {
            return self.node(ExprKind::Choose(Box::new([condition, yes, no])), ty, line);
        }
        let (yes, no) = (self.converted(yes, &ty)?, self.converted(no, &ty)?);
        match condition.known() {
            Some(0) if no.known().is_some() => Ok(no),
            Some(1..) if yes.known().is_some() => Ok(yes),
            _ => self.node(ExprKind::Choose(Box::new([condition, yes, no])), ty, line),
        }
    }
}
