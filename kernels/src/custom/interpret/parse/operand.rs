//! Values and places: decay of arrays, addresses, conversions and assignments.

use super::super::arithmetic::convert;
use super::super::expr::{Expr, ExprKind};
use super::super::token::refuse;
use super::super::types::Type;
use super::{DEEPEST_EXPR, Parsed, Parser};
use crate::dtype::DType;

impl Parser<'_> {
    /// An expression of parts that are made already.
    pub(super) fn node(&self, kind: ExprKind, ty: Type, line: usize) -> Parsed<Expr> {
        let depth = 1 + match &kind {
            ExprKind::Number(_)
            | ExprKind::Variable(_)
            | ExprKind::Object(_)
            | ExprKind::Item(_)
            | ExprKind::Held
            | ExprKind::Barrier => 0,
            ExprKind::Deref(of)
            | ExprKind::Field(of, _)
            | ExprKind::Address(of)
            | ExprKind::Cast(of)
            | ExprKind::Apply1(_, of) => of.depth,
            ExprKind::Apply2(_, of) | ExprKind::Divide(_, of) | ExprKind::Shift(_, of, _) => deepest(&**of),
            ExprKind::Offset(of, _) | ExprKind::Distance(of, _) => deepest(&**of),
            ExprKind::Logic { of, .. }
            | ExprKind::Comma(of)
            | ExprKind::Assign(of)
            | ExprKind::AtomicAdd(_, of) => deepest(&**of),
            ExprKind::Apply3(_, of) | ExprKind::Choose(of) => deepest(&**of),
            ExprKind::Update { target, change, .. } => target.depth.max(change.depth),
            ExprKind::Call(_, args) => deepest(args),
        };
        match depth <= DEEPEST_EXPR {
            true => Ok(Expr { kind, ty, line, depth }),
            false => refuse(
                line,
                format!("an expression has more than {DEEPEST_EXPR} operators within each other"),
            ),
        }
    }

    /// The value of an expression: an array becomes a pointer to its first element.
    pub(super) fn value(&mut self, of: Expr) -> Parsed<Expr> {
        match of.ty.clone() {
            Type::Array(element, _) => {
                let constant = self.is_constant(&of);
                self.take_address(&of)?;
                let line = of.line;
                self.node(ExprKind::Address(Box::new(of)), Type::pointer((*element).clone(), constant), line)
            }
            Type::Number(dtype) if dtype.is_half() => {
                let name = dtype.short();
                refuse(of.line, format!("{name} is only stored: use load_{name} and store_{name}"))
            }
            _ => Ok(of),
        }
    }

    /// A value of a type that a register holds.
    pub(super) fn scalar(&mut self, of: Expr) -> Parsed<Expr> {
        let of = self.value(of)?;
        match of.ty.is_scalar() {
            true => Ok(of),
            false => refuse(
                of.line,
                format!("expected a number or a pointer, found {}", self.records.name(&of.ty)),
            ),
        }
    }

    /// A number.
    pub(super) fn number(&mut self, of: Expr) -> Parsed<(Expr, DType)> {
        let of = self.value(of)?;
        match of.ty.number() {
            Some(dtype) => Ok((of, dtype)),
            None => refuse(of.line, format!("expected a number, found {}", self.records.name(&of.ty))),
        }
    }

    /// A value that is 0 if it is false.
    pub(super) fn truth(&mut self, of: Expr) -> Parsed<Expr> {
        let of = self.scalar(of)?;
        match of.ty.number() {
            Some(dtype) if dtype.is_float() => self.to_number(of, DType::Bool),
            _ => Ok(of),
        }
    }

    /// A number as one of another type.
    pub(super) fn to_number(&self, of: Expr, to: DType) -> Parsed<Expr> {
        let from = of.ty.stored();
        let (ty, line) = (Type::Number(to), of.line);
        match convert(from, to) {
            Some(function) => self.apply1(function, of, ty, line),
            None => match of.kind {
                ExprKind::Number(_) => Ok(Expr { ty, ..of }),
                _ if from == to => Ok(of),
                _ => self.node(ExprKind::Cast(Box::new(of)), ty, line),
            },
        }
    }

    /// A value as C converts it to the type of what it is assigned to.
    pub(super) fn converted(&mut self, of: Expr, ty: &Type) -> Parsed<Expr> {
        let of = self.value(of)?;
        let line = of.line;
        match (&of.ty, ty) {
            (Type::Number(_), Type::Number(to)) => return self.to_number(of, *to),
            (Type::Record(a), Type::Record(b)) if a == b => return Ok(of),
            (Type::Number(_), Type::Pointer(_)) if of.is_null() => {
                return self.node(ExprKind::Number(0), ty.clone(), line);
            }
            (Type::Pointer(from), Type::Pointer(to)) => {
                let fits = from.ty == to.ty || from.ty == Type::Void || to.ty == Type::Void;
                let holds_pointers = self.records.has_pointer(&from.ty) != self.records.has_pointer(&to.ty);
                let keeps_const = to.constant || !from.constant;
                if fits && !holds_pointers && keeps_const {
                    return self.node(ExprKind::Cast(Box::new(of)), ty.clone(), line);
                }
                if from.ty == to.ty && !keeps_const {
                    let name = self.records.name(&of.ty);
                    return refuse(
                        line,
                        format!("expected a pointer to elements that may be written, found {name}"),
                    );
                }
            }
            _ => {}
        }
        let [expected, found] = [ty, &of.ty].map(|ty| self.records.name(ty));
        refuse(line, format!("expected {expected}, found {found}"))
    }

    /// A cast.
    pub(super) fn cast(&mut self, of: Expr, ty: &Type, line: usize) -> Parsed<Expr> {
        let of = self.value(of)?;
        match (&of.ty, ty) {
            (_, Type::Void) => self.node(ExprKind::Cast(Box::new(of)), Type::Void, line),
            (Type::Number(_), Type::Number(to)) if !to.is_half() => self.to_number(of, *to),
            (Type::Pointer(from), Type::Pointer(to)) => {
                if self.records.has_pointer(&to.ty) && from.ty != to.ty {
                    return refuse(line, "a cast to a pointer to pointers is not supported");
                }
                self.node(ExprKind::Cast(Box::new(of)), ty.clone(), line)
            }
            _ => self.converted(of, ty),
        }
    }

    /// What a pointer points to.
    pub(super) fn deref(&mut self, pointer: Expr, line: usize) -> Parsed<Expr> {
        let Some(pointee) = pointer.ty.pointee().cloned() else {
            return refuse(line, format!("expected a pointer, found {}", self.records.name(&pointer.ty)));
        };
        self.size(&pointee.ty, line)?;
        self.node(ExprKind::Deref(Box::new(pointer)), pointee.ty, line)
    }

    /// `of[index]`.
    pub(super) fn element(&mut self, of: Expr, index: Expr, line: usize) -> Parsed<Expr> {
        let (of, index) = (self.value(of)?, self.value(index)?);
        if of.ty.pointee().is_none() && index.ty.pointee().is_none() {
            return refuse(line, format!("expected an array, found {}", self.records.name(&of.ty)));
        }
        let pointer = self.operate("+", of, index, line)?;
        self.deref(pointer, line)
    }

    /// `&of`.
    pub(super) fn address(&mut self, of: Expr, line: usize) -> Parsed<Expr> {
        if !self.is_place(&of) {
            return refuse(line, "expected something in memory behind `&`");
        }
        let constant = self.is_constant(&of);
        self.take_address(&of)?;
        if let ExprKind::Deref(pointer) = of.kind {
            return Ok(*pointer);
        }
        let ty = Type::pointer(of.ty.clone(), constant);
        self.node(ExprKind::Address(Box::new(of)), ty, line)
    }

    /// Keeps the variable of a place in memory.
    fn take_address(&mut self, of: &Expr) -> Parsed<()> {
        let mut of = of;
        while let ExprKind::Field(outer, _) = &of.kind {
            of = outer;
        }
        if let ExprKind::Variable(at) = of.kind
            && let Some(variable) = self.current()?.variables.get_mut(at)
        {
            variable.in_memory = true;
        }
        Ok(())
    }

    /// Whether it can be assigned to or have an address.
    pub(super) fn is_place(&self, of: &Expr) -> bool {
        match &of.kind {
            ExprKind::Variable(_) | ExprKind::Object(_) | ExprKind::Deref(_) => true,
            ExprKind::Field(outer, _) => self.is_place(outer),
            _ => false,
        }
    }

    /// Whether a place may not be written.
    fn is_constant(&self, of: &Expr) -> bool {
        match &of.kind {
            ExprKind::Variable(at) => {
                let variables = self.current.as_ref().map_or(&[][..], |current| &current.variables);
                variables.get(*at).is_some_and(|variable| variable.constant)
            }
            ExprKind::Object(at) => self.objects.get(*at).is_some_and(|object| object.constant),
            ExprKind::Deref(pointer) => pointer.ty.pointee().is_some_and(|pointee| pointee.constant),
            ExprKind::Field(outer, offset) => {
                let record = match &outer.ty {
                    Type::Record(at) => self.records.get(*at),
                    _ => None,
                };
                let mut fields = record.iter().flat_map(|record| record.fields.iter().flatten());
                let own = fields.any(|field| field.offset == *offset && field.ty == of.ty && field.constant);
                own || self.is_constant(outer)
            }
            _ => false,
        }
    }

    fn require_target(&self, target: &Expr, line: usize) -> Parsed<()> {
        if !self.is_place(target) || matches!(target.ty, Type::Array(..)) {
            return refuse(line, "expected a variable or an element on the left of an assignment");
        }
        if self.is_constant(target) {
            let name = self.name_of(target).map_or("it".into(), |name| format!("`{name}`"));
            return refuse(line, format!("{name} is const and cannot be written"));
        }
        Ok(())
    }

    /// The variable that a place is reached by.
    fn name_of(&self, of: &Expr) -> Option<String> {
        match &of.kind {
            ExprKind::Variable(at) => Some(self.current.as_ref()?.variables.get(*at)?.name.to_string()),
            ExprKind::Object(at) => Some(self.objects.get(*at)?.name.to_string()),
            ExprKind::Deref(of) | ExprKind::Field(of, _) | ExprKind::Address(of) | ExprKind::Cast(of) => {
                self.name_of(of)
            }
            ExprKind::Offset(of, _) => self.name_of(&of[0]),
            _ => None,
        }
    }

    pub(super) fn assign(&mut self, target: Expr, value: Expr, line: usize) -> Parsed<Expr> {
        self.require_target(&target, line)?;
        if let Some(dtype) = target.ty.number().filter(|dtype| dtype.is_half()) {
            let name = dtype.short();
            return refuse(line, format!("{name} is only stored: use load_{name} and store_{name}"));
        }
        let ty = target.ty.clone();
        let value = self.converted(value, &ty)?;
        self.node(ExprKind::Assign(Box::new([target, value])), ty, line)
    }

    /// `target operator= value`; the value before if `post`.
    pub(super) fn update(
        &mut self,
        target: Expr,
        operator: &str,
        value: Expr,
        post: bool,
        line: usize,
    ) -> Parsed<Expr> {
        self.require_target(&target, line)?;
        let ty = target.ty.clone();
        if !ty.is_scalar() {
            return refuse(line, format!("expected a number or a pointer, found {}", self.records.name(&ty)));
        }
        let held = self.node(ExprKind::Held, ty.clone(), line)?;
        let change = self.operate(operator, held, value, line)?;
        let change = self.converted(change, &ty)?;
        let (target, change) = (Box::new(target), Box::new(change));
        self.node(ExprKind::Update { target, change, post }, ty, line)
    }
}

fn deepest(of: &[Expr]) -> usize {
    of.iter().map(|expr| expr.depth).max().unwrap_or(0)
}
