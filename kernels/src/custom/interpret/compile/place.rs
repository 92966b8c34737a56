//! Places: where values are loaded from and stored to.

use super::super::expr::{Expr, Kind};
use super::super::program::{Inst, Reg};
use super::super::token::refuse;
use super::super::types::Type;
use super::{Compiled, Compiler};

/// Where a value is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
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
    pub(super) fn place(&mut self, of: &Expr) -> Compiled<Place> {
        match &of.kind {
            Kind::Variable(at) => match self.slots.get(*at) {
                Some(slot) => Ok(*slot),
                None => refuse(of.line, "an unknown variable"),
            },
            Kind::Object(at) => {
                let object = self.named.get(*at).copied().unwrap_or(0);
                Ok(Place::Memory { pointer: self.address_of(object, 0, of.line)?, offset: 0 })
            }
            Kind::Deref(pointer) => self.pointed(of, pointer),
            Kind::Field(outer, offset) => {
                let offset = *offset as u32;
                match self.place(outer)? {
                    Place::Own { object, at, offset: from } => {
                        Ok(Place::Own { object, at, offset: from + offset })
                    }
                    Place::Memory { pointer, offset: from } => {
                        Ok(Place::Memory { pointer, offset: from + offset })
                    }
                    _ => refuse(of.line, "a field of something that is not in memory"),
                }
            }
            Kind::Comma(both) => {
                self.effect(&both[0])?;
                self.place(&both[1])
            }
            Kind::Assign(both) => {
                let to = self.place(&both[0])?;
                let from = self.place(&both[1])?;
                self.copy(to, from, &of.ty, of.line)?;
                Ok(to)
            }
            Kind::Choose(three) => {
                let (to, no, end) = (self.register(of.line)?, self.label(), self.label());
                self.branch(&three[0], false, no)?;
                self.address(&three[1], Some(to))?;
                self.emit(Inst::Jump { to: end }, of.line)?;
                self.bind(no);
                self.address(&three[2], Some(to))?;
                self.bind(end);
                Ok(Place::Memory { pointer: to, offset: 0 })
            }
            Kind::Call(at, args) => {
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
    fn pointed(&mut self, of: &Expr, pointer: &Expr) -> Compiled<Place> {
        match &pointer.kind {
            Kind::Address(target) if target.ty == of.ty => return self.place(target),
            Kind::Offset(both, step) => {
                if let Some(place) = self.fixed_element(of, &both[0], both[1].known(), *step)? {
                    return Ok(place);
                }
                if of.ty.is_scalar() && *step == of.ty.stored().size() as i64 {
                    let pointer = self.value(&both[0], None)?;
                    let index = self.value(&both[1], None)?;
                    return Ok(Place::Element { pointer, index });
                }
            }
            _ => {}
        }
        Ok(Place::Memory { pointer: self.value(pointer, None)?, offset: 0 })
    }

    /// An element of a private array at a known index within it.
    fn fixed_element(
        &mut self,
        of: &Expr,
        array: &Expr,
        index: Option<u64>,
        step: i64,
    ) -> Compiled<Option<Place>> {
        let (Kind::Address(array), Some(index)) = (&array.kind, index) else { return Ok(None) };
        let Type::Array(element, extent) = &array.ty else { return Ok(None) };
        let size = self.size(&of.ty, of.line)?;
        if **element != of.ty || index >= *extent || step.unsigned_abs() != size || step < 0 {
            return Ok(None);
        }
        match self.place(array)? {
            Place::Own { object, at, offset } => {
                Ok(Some(Place::Own { object, at, offset: offset + (index * size) as u32 }))
            }
            Place::Memory { pointer, offset } => {
                Ok(Some(Place::Memory { pointer, offset: offset + (index * size) as u32 }))
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

    fn address_of_place(&mut self, place: Place, line: usize) -> Compiled<Reg> {
        match place {
            Place::Own { object, offset, .. } => self.address_of(object, u64::from(offset), line),
            Place::Memory { pointer, offset: 0 } => Ok(pointer),
            Place::Memory { pointer, offset } => {
                let to = self.register(line)?;
                self.emit(Inst::Advance { to, pointer, by: i64::from(offset) }, line)?;
                Ok(to)
            }
            Place::Register(_) | Place::Element { .. } => refuse(line, "expected something in memory"),
        }
    }

    /// Loads a scalar.
    pub(super) fn load(&mut self, from: Place, ty: &Type, want: Option<Reg>, line: usize) -> Compiled<Reg> {
        let dtype = ty.stored();
        let (to, inst) = match from {
            Place::Register(register) => return self.delivered(register, want, line),
            Place::Own { at, offset, .. } => {
                let to = self.wanted(want, line)?;
                (to, Inst::LoadOwn { to, at: at + offset, dtype })
            }
            Place::Memory { pointer, offset } => {
                let to = self.wanted(want, line)?;
                (to, Inst::Load { to, pointer, offset, dtype })
            }
            Place::Element { pointer, index } => {
                let to = self.wanted(want, line)?;
                (to, Inst::LoadAt { to, pointer, index, dtype })
            }
        };
        self.emit(inst, line)?;
        Ok(to)
    }

    /// Stores a scalar.
    pub(super) fn store(&mut self, to: Place, ty: &Type, from: Reg, line: usize) -> Compiled<()> {
        let dtype = ty.stored();
        let inst = match to {
            Place::Own { at, offset, .. } => Inst::StoreOwn { at: at + offset, from, dtype },
            Place::Memory { pointer, offset } => Inst::Store { pointer, offset, from, dtype },
            Place::Element { pointer, index } => Inst::StoreAt { pointer, index, from, dtype },
            Place::Register(to) => Inst::Move { to, from },
        };
        self.emit(inst, line)
    }

    /// Copies a struct.
    pub(super) fn copy(&mut self, to: Place, from: Place, ty: &Type, line: usize) -> Compiled<()> {
        let bytes = self.size(ty, line)? as u32;
        if let (Place::Own { at: to, offset: by, .. }, Place::Own { at: from, offset, .. }) = (to, from) {
            return self.emit(Inst::CopyOwn { to: to + by, from: from + offset, bytes }, line);
        }
        let (to, from) = (self.address_of_place(to, line)?, self.address_of_place(from, line)?);
        self.emit(Inst::Copy { to, from, bytes }, line)
    }

    /// The register that is wanted, or a free one.
    pub(super) fn wanted(&mut self, want: Option<Reg>, line: usize) -> Compiled<Reg> {
        want.map_or_else(|| self.register(line), Ok)
    }

    /// A value that is in a register, in the one that is wanted.
    pub(super) fn delivered(&mut self, from: Reg, want: Option<Reg>, line: usize) -> Compiled<Reg> {
        match want {
            Some(to) if to != from => {
                self.emit(Inst::Move { to, from }, line)?;
                Ok(to)
            }
            _ => Ok(from),
        }
    }
}
