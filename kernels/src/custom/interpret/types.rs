//! Types of C, their sizes, and the conversions between numbers.

use crate::dtype::DType;
use std::collections::HashMap;
use std::sync::Arc;

/// Pointers, arrays and structs that a type may be made of.
pub(super) const DEEPEST: usize = 32;
/// Bytes of a type at most.
pub(super) const LARGEST: u64 = 1 << 30;

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    Void,
    /// A number in memory. In a register halves are f32.
    Number(DType),
    Pointer(Arc<Pointee>),
    Array(Arc<Type>, u64),
    /// A struct or a union, by its number in [`Records`].
    Record(usize),
}

/// What a pointer points to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pointee {
    pub(super) ty: Type,
    pub(super) constant: bool,
}

/// A struct or a union.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) name: String,
    /// `None` until its fields are known.
    pub(super) fields: Option<Vec<Field>>,
    /// The numbers of the fields.
    names: HashMap<Arc<str>, usize>,
    pub(super) is_union: bool,
    pub(super) size: u64,
    pub(super) align: u64,
    depth: usize,
    /// Whether a pointer is in it.
    has_pointer: bool,
}

/// A field of a struct or a union.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: Arc<str>,
    pub(super) ty: Type,
    pub(super) constant: bool,
    pub(super) offset: u64,
}

/// The structs and unions of a text.
#[derive(Debug, Default)]
pub(super) struct Records(Vec<Record>);

impl Record {
    /// The field of this name.
    pub(super) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.as_ref()?.get(*self.names.get(name)?)
    }
}

impl Type {
    pub(super) const INT: Type = Type::Number(DType::I32);
    pub(super) const SIZE: Type = Type::Number(DType::U64);

    pub(super) fn pointer(ty: Type, constant: bool) -> Type {
        Type::Pointer(Arc::new(Pointee { ty, constant }))
    }

    pub(super) fn number(&self) -> Option<DType> {
        match self {
            Type::Number(dtype) => Some(*dtype),
            _ => None,
        }
    }

    pub(super) fn pointee(&self) -> Option<&Pointee> {
        match self {
            Type::Pointer(pointee) => Some(pointee),
            _ => None,
        }
    }

    /// Whether a register holds a value of it.
    pub(super) fn is_scalar(&self) -> bool {
        matches!(self, Type::Number(_) | Type::Pointer(_))
    }

    pub(super) fn is_integer(&self) -> bool {
        self.number().is_some_and(|dtype| !dtype.is_float())
    }

    /// The dtype by which a scalar is read and written; pointers are numbers of 64 bits.
    pub(super) fn stored(&self) -> DType {
        self.number().unwrap_or(DType::U64)
    }
}

impl Records {
    /// A new struct or union, whose fields are not known yet.
    pub(super) fn declare(&mut self, name: String, is_union: bool) -> usize {
        let (fields, size, align, depth, has_pointer) = (None, 0, 1, 0, false);
        let names = HashMap::new();
        self.0.push(Record { name, fields, names, is_union, size, align, depth, has_pointer });
        self.0.len() - 1
    }

    pub(super) fn get(&self, at: usize) -> Option<&Record> {
        self.0.get(at)
    }

    /// Gives a record its fields, at offsets as C requires.
    pub(super) fn complete(&mut self, at: usize, fields: Vec<(Arc<str>, Type, bool)>) -> Result<(), String> {
        let is_union = self.get(at).is_some_and(|record| record.is_union);
        let (mut size, mut align, mut placed) = (0u64, 1u64, Vec::new());
        for (name, ty, constant) in fields {
            let (own, own_align) = (self.size(&ty)?, self.align(&ty));
            let offset = if is_union { 0 } else { size.next_multiple_of(own_align) };
            size = size.max(offset + own);
            align = align.max(own_align);
            if size > LARGEST {
                return Err(format!("a type is larger than {LARGEST} bytes"));
            }
            placed.push(Field { name, ty, constant, offset });
        }
        let depth = placed.iter().map(|field| self.depth(&field.ty)).max().unwrap_or(0);
        let has_pointer = placed.iter().any(|field| self.has_pointer(&field.ty));
        if let Some(record) = self.0.get_mut(at) {
            let size = size.next_multiple_of(align).max(1);
            let names = (0..).zip(&placed).map(|(at, field)| (field.name.clone(), at)).collect();
            *record =
                Record { fields: Some(placed), names, size, align, depth, has_pointer, ..record.clone() };
        }
        Ok(())
    }

    /// Bytes of a type.
    pub(super) fn size(&self, ty: &Type) -> Result<u64, String> {
        let size = match ty {
            Type::Void => return Err("void has no size".into()),
            Type::Number(dtype) => dtype.size() as u64,
            Type::Pointer(_) => 8,
            Type::Array(element, count) => self.size(element)?.saturating_mul(*count),
            Type::Record(at) => match self.get(*at) {
                Some(record) if record.fields.is_some() => record.size,
                _ => return Err(format!("{} is not defined", self.name(ty))),
            },
        };
        match size <= LARGEST {
            true => Ok(size),
            false => Err(format!("a type is larger than {LARGEST} bytes")),
        }
    }

    /// A power of two.
    pub(super) fn align(&self, ty: &Type) -> u64 {
        match ty {
            Type::Void => 1,
            Type::Number(dtype) => dtype.size() as u64,
            Type::Pointer(_) => 8,
            Type::Array(element, _) => self.align(element),
            Type::Record(at) => self.get(*at).map_or(1, |record| record.align),
        }
    }

    /// Types within a type.
    pub(super) fn depth(&self, ty: &Type) -> usize {
        match ty {
            Type::Void | Type::Number(_) => 0,
            Type::Pointer(pointee) => 1 + self.depth(&pointee.ty),
            Type::Array(element, _) => 1 + self.depth(element),
            Type::Record(at) => 1 + self.get(*at).map_or(0, |record| record.depth),
        }
    }

    /// Whether a value of the type holds a pointer.
    pub(super) fn has_pointer(&self, ty: &Type) -> bool {
        match ty {
            Type::Void | Type::Number(_) => false,
            Type::Pointer(_) => true,
            Type::Array(element, _) => self.has_pointer(element),
            Type::Record(at) => self.get(*at).is_some_and(|record| record.has_pointer),
        }
    }

    /// The type as errors write it.
    pub(super) fn name(&self, ty: &Type) -> String {
        match ty {
            Type::Void => "void".into(),
            Type::Number(dtype) => dtype.short().into(),
            Type::Pointer(pointee) => {
                let constant = if pointee.constant { "const " } else { "" };
                format!("{constant}{} *", self.name(&pointee.ty)).replace("* *", "**")
            }
            Type::Array(element, count) => format!("{}[{count}]", self.name(element)),
            Type::Record(at) => match self.get(*at) {
                Some(record) if record.is_union => format!("union {}", record.name),
                Some(record) => format!("struct {}", record.name),
                None => "struct".into(),
            },
        }
    }
}

/// C's integer promotion: types narrower than int become int.
pub(super) fn promoted(dtype: DType) -> DType {
    match dtype {
        DType::Bool | DType::I8 | DType::U8 | DType::I16 | DType::U16 => DType::I32,
        DType::F16 | DType::BF16 => DType::F32,
        other => other,
    }
}

/// C's usual arithmetic conversions: the common type of two numbers.
pub(super) fn common(a: DType, b: DType) -> DType {
    let (a, b) = (promoted(a), promoted(b));
    let rank = |dtype: DType| match dtype {
        DType::I32 => 0,
        DType::U32 => 1,
        DType::I64 => 2,
        DType::U64 => 3,
        DType::F32 => 4,
        _ => 5,
    };
    if rank(a) >= rank(b) { a } else { b }
}
