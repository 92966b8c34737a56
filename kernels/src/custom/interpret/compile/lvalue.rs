//! Places: where values are loaded from and stored to.

use super::{Compiled, Compiler};
use crate::custom::interpret::bytecode::{MachineInst, Reg};
use crate::custom::interpret::expr::{Expr, ExprKind};
use crate::custom::interpret::token::refuse;
use crate::custom::interpret::types::Type;

/// Where a value is.
#[derive(Clone, Copy, Debug)]
pub(super) enum LValue {
    Register(Reg),
    /// Private memory: an object, its first byte, and the byte within it.
    Own {
        object: usize,
        at: u32,
        offset: u32,
    },
    /// Behind a pointer, at a byte.
    Memory {
        pointer: Reg,
        offset: u32,
    },
    /// An element of an array of scalars.
    Element {
        pointer: Reg,
        index: Reg,
    },
}

impl Compiler<'_> {
    /// The place of an expression: of anything that has one, and of every struct.
    pub(super) fn place(&mut self, of: &Expr) -> Compiled<LValue> {
        match &of.kind {
            ExprKind::Variable(at) => match self.slots.get(*at) {
                Some(slot) => Ok(*slot),
                None => refuse(of.line, "an unknown variable"),
            },
            ExprKind::Object(at) => {
                let object = self.named.get(*at).copied().unwrap_or(0);
                Ok(LValue::Memory { pointer: self.address_of(object, 0, of.line)?, offset: 0 })
            }
            ExprKind::Deref(pointer) => self.pointed(of, pointer),
            ExprKind::Field(outer, offset) => {
                let offset = *offset as u32;
                match self.place(outer)? {
                    LValue::Own { object, at, offset: from } => {
                        Ok(LValue::Own { object, at, offset: from + offset })
                    }
                    LValue::Memory { pointer, offset: from } => {
                        Ok(LValue::Memory { pointer, offset: from + offset })
                    }
                    _ => refuse(of.line, "a field of something that is not in memory"),
                }
            }
            ExprKind::Comma(both) => {
                self.effect(&both[0])?;
                self.place(&both[1])
            }
            ExprKind::Assign(both) => {
                let to = self.place(&both[0])?;
                let from = self.place(&both[1])?;
                self.copy(to, from, &of.ty, of.line)?;
                Ok(to)
            }
            ExprKind::Choose(three) => {
                let (to, no, end) = (self.register(of.line)?, self.label(), self.label());
                self.branch(&three[0], false, no)?;
                self.address(&three[1], Some(to))?;
                self.emit(MachineInst::Jump { to: end }, of.line)?;
                self.bind(no);
                self.address(&three[2], Some(to))?;
                self.bind(end);
                Ok(LValue::Memory { pointer: to, offset: 0 })
            }
            ExprKind::Call(at, args) => {
                let result = self.call(*at, args, of.line)?;
                let Some(result) = result else { return refuse(of.line, "a call without a value") };
                // The next call writes the result anew.
                let link = self.frames[self.function].link;
                let copy = self.own_memory("a result", &of.ty, link, of.line)?;
                self.copy(copy, result, &of.ty, of.line)?;
                Ok(copy)
            }
            _ => refuse(of.line, "expected something in memory"),
        }
    }

    /// What a pointer points to.
    fn pointed(&mut self, of: &Expr, pointer: &Expr) -> Compiled<LValue> {
        match &pointer.kind {
            ExprKind::Address(target) if target.ty == of.ty => return self.place(target),
            ExprKind::Offset(both, step) => {
                if let Some(place) = self.fixed_element(of, &both[0], both[1].known(), *step)? {
                    return Ok(place);
                }
                if of.ty.is_scalar() && *step == of.ty.stored().size() as i64 {
                    let pointer = self.value(&both[0], None)?;
                    let index = self.value(&both[1], None)?;
                    return Ok(LValue::Element { pointer, index });
                }
            }
            _ => {}
        }
        Ok(LValue::Memory { pointer: self.value(pointer, None)?, offset: 0 })
    }

    /// An element of a private array at a known index within it.
    fn fixed_element(
        &mut self,
        of: &Expr,
        array: &Expr,
        index: Option<u64>,
        step: i64,
    ) -> Compiled<Option<LValue>> {
        let (ExprKind::Address(array), Some(index)) = (&array.kind, index) else { return Ok(None) };
        let Type::Array(element, extent) = &array.ty else { return Ok(None) };
        let size = self.size(&of.ty, of.line)?;
        if **element != of.ty || index >= *extent || step.unsigned_abs() != size || step < 0 {
            return Ok(None);
        }
        match self.place(array)? {
            LValue::Own { object, at, offset } => {
                Ok(Some(LValue::Own { object, at, offset: offset + (index * size) as u32 }))
            }
            LValue::Memory { pointer, offset } => {
                Ok(Some(LValue::Memory { pointer, offset: offset + (index * size) as u32 }))
            }
            _ => Ok(None),
        }
    }

    /// The register of a pointer to a place.
    pub(super) fn address(&mut self, of: &Expr, want: Option<Reg>) -> Compiled<Reg> {
        let place = self.place(of)?;
        let address = self.address_of_place(place, of.line)?;
        self.delivered(address, want, of.line)
    }

    fn address_of_place(&mut self, place: LValue, line: usize) -> Compiled<Reg> {
        match place {
            LValue::Own { object, offset, .. } => self.address_of(object, u64::from(offset), line),
            LValue::Memory { pointer, offset: 0 } => Ok(pointer),
            LValue::Memory { pointer, offset } => {
                let to = self.register(line)?;
                self.emit(MachineInst::Advance { to, pointer, by: i64::from(offset) }, line)?;
                Ok(to)
            }
            LValue::Register(_) | LValue::Element { .. } => refuse(line, "expected something in memory"),
        }
    }

    /// Loads a scalar.
    pub(super) fn load(&mut self, from: LValue, ty: &Type, want: Option<Reg>, line: usize) -> Compiled<Reg> {
        let dtype = ty.stored();
        let (to, inst) = match from {
            LValue::Register(register) => return self.delivered(register, want, line),
            LValue::Own { at, offset, .. } => {
                let to = self.wanted(want, line)?;
                (to, MachineInst::LoadOwn { to, at: at + offset, dtype })
            }
            LValue::Memory { pointer, offset } => {
                let to = self.wanted(want, line)?;
                (to, MachineInst::Load { to, pointer, offset, dtype })
            }
            LValue::Element { pointer, index } => {
                let to = self.wanted(want, line)?;
                (to, MachineInst::LoadAt { to, pointer, index, dtype })
            }
        };
        self.emit(inst, line)?;
        Ok(to)
    }

    /// Stores a scalar.
    pub(super) fn store(&mut self, to: LValue, ty: &Type, from: Reg, line: usize) -> Compiled<()> {
        let dtype = ty.stored();
        let inst = match to {
            LValue::Own { at, offset, .. } => MachineInst::StoreOwn { at: at + offset, from, dtype },
            LValue::Memory { pointer, offset } => MachineInst::Store { pointer, offset, from, dtype },
            LValue::Element { pointer, index } => MachineInst::StoreAt { pointer, index, from, dtype },
            LValue::Register(to) => MachineInst::Move { to, from },
        };
        self.emit(inst, line)
    }

    /// Copies a struct.
    pub(super) fn copy(&mut self, to: LValue, from: LValue, ty: &Type, line: usize) -> Compiled<()> {
        let bytes = self.size(ty, line)? as u32;
        if let (LValue::Own { at: to, offset: by, .. }, LValue::Own { at: from, offset, .. }) = (to, from) {
            return self.emit(MachineInst::CopyOwn { to: to + by, from: from + offset, bytes }, line);
        }
        let (to, from) = (self.address_of_place(to, line)?, self.address_of_place(from, line)?);
        self.emit(MachineInst::Copy { to, from, bytes }, line)
    }

    /// The register that is wanted, or a free one.
    pub(super) fn wanted(&mut self, want: Option<Reg>, line: usize) -> Compiled<Reg> {
        want.map_or_else(|| self.register(line), Ok)
    }

    /// A value that is in a register, in the one that is wanted.
    pub(super) fn delivered(&mut self, from: Reg, want: Option<Reg>, line: usize) -> Compiled<Reg> {
        match want {
            Some(to) if to != from => {
                self.emit(MachineInst::Move { to, from }, line)?;
                Ok(to)
            }
            _ => Ok(from),
        }
    }
}
