//! Specifiers and declarators: the type and the name of what is declared.

use super::super::math::instead;
use super::super::token::{Token, refuse};
use super::super::types::{DEEPEST, Type};
use super::{Entity, Parsed, Parser};
use crate::custom::signature::dtype_of;
use crate::dtype::DType;
use std::collections::HashSet;
use std::sync::Arc;

/// Fields of a struct at most.
const MOST_FIELDS: usize = 4096;

/// The memory that a declaration names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Private,
    Local,
    Constant,
}

/// What is before a declared name.
#[derive(Debug)]
pub(super) struct Specifiers {
    pub(super) ty: Type,
    pub(super) constant: bool,
    pub(super) space: Space,
    pub(super) typedef: bool,
    pub(super) kernel: bool,
    pub(super) is_static: bool,
}

/// A declared name with its type.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) name: Option<Arc<str>>,
    pub(super) ty: Type,
    pub(super) constant: bool,
    /// An array whose size is that of its values.
    pub(super) unsized_array: bool,
    pub(super) line: usize,
}

/// Words that types are made of.
const NUMBERS: [&str; 8] = ["unsigned", "signed", "char", "short", "int", "long", "float", "double"];
/// Words that change nothing here.
const IGNORED: [&str; 10] = [
    "volatile",
    "restrict",
    "__restrict__",
    "__restrict",
    "RESTRICT",
    "register",
    "inline",
    "DEVICE_FN",
    "GLOBAL_MEM",
    "LOCAL_MEM_ARG",
];
const OTHERS: [&str; 10] =
    ["void", "struct", "union", "enum", "const", "typedef", "static", "KERNEL", "LOCAL_MEM", "CONSTANT_MEM"];

impl Parser<'_> {
    /// Whether a declaration or a type begins here.
    pub(super) fn begins_type(&self) -> bool {
        let Some(word) = self.peek_word() else { return false };
        let known = [&NUMBERS[..], &IGNORED, &OTHERS].iter().any(|list| list.contains(&word));
        known || self.named_type(word).is_some()
    }

    /// The type of a name.
    fn named_type(&self, word: &str) -> Option<Type> {
        match self.find(word) {
            Some(Entity::Type(ty)) => return Some(ty.clone()),
            Some(_) => return None,
            None => {}
        }
        let stored = |dtype: DType| if dtype == DType::Bool { DType::U8 } else { dtype };
        if let Some(dtype) = self.source.type_parameter(word) {
            return Some(Type::Number(stored(dtype)));
        }
        if NUMBERS.contains(&word) || instead(word).is_some() || word.starts_with("__") {
            return None;
        }
        // An array of libgpuarray's bools is one of bytes, and its number is one as well.
        let own = |word: &str| (word == "ga_bool").then_some(DType::U8);
        dtype_of(&[word], &own).map(Type::Number)
    }

    pub(super) fn specifiers(&mut self) -> Parsed<Specifiers> {
        let line = self.line();
        let (mut constant, mut space) = (false, Space::Private);
        let (mut typedef, mut kernel, mut is_static) = (false, false, false);
        let mut numbers: Vec<Arc<str>> = Vec::new();
        let mut ty = None;
        while let Some(word) = self.peek().and_then(Token::word).cloned() {
            match &*word {
                "const" => constant = true,
                "typedef" => typedef = true,
                "static" => is_static = true,
                "KERNEL" => kernel = true,
                "LOCAL_MEM" => space = Space::Local,
                "CONSTANT_MEM" => (space, constant) = (Space::Constant, true),
                "LAUNCH_BOUNDS" => self.skip_brackets()?,
                word if IGNORED.contains(&word) => {}
                _ if ty.is_some() => break,
                number if NUMBERS.contains(&number) => numbers.push(word.clone()),
                _ if !numbers.is_empty() => break,
                "void" => ty = Some(Type::Void),
                "struct" | "union" | "enum" => {
                    ty = Some(self.tagged()?);
                    continue;
                }
                name => match self.named_type(name) {
                    Some(named) => ty = Some(named),
                    None => break,
                },
            }
            self.at += 1;
        }
        let ty = match ty {
            Some(ty) => ty,
            None if !numbers.is_empty() => number_of(&numbers, line)?,
            None => return self.unknown_type(),
        };
        Ok(Specifiers { ty, constant, space, typedef, kernel, is_static })
    }

    fn unknown_type<T>(&self) -> Parsed<T> {
        let word = self.peek_word().unwrap_or("");
        let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let base = &word[..word.len() - digits.len()];
        if ["2", "3", "4", "8", "16"].contains(&digits) && dtype_of(&[base], &|_| None).is_some() {
            return self.refuse(format!("the vector type `{word}` is not part of the dialect"));
        }
        match instead(word) {
            Some(instead) => self.refuse(format!("`{word}` is not part of the dialect; use {instead}")),
            None => self.refuse(format!("expected a type, found {}", self.found())),
        }
    }

    /// Up to the bracket that closes the next one.
    fn skip_brackets(&mut self) -> Parsed<()> {
        self.at += 1;
        let mut depth = 0usize;
        loop {
            match self.peek() {
                Some(Token::Mark("(")) => depth += 1,
                Some(Token::Mark(")")) if depth == 1 => return Ok(()),
                Some(Token::Mark(")")) if depth > 1 => depth -= 1,
                Some(_) if depth > 0 => {}
                _ => return self.refuse("expected LAUNCH_BOUNDS(items, groups)"),
            }
            self.at += 1;
        }
    }

    /// A struct, a union or an enum.
    fn tagged(&mut self) -> Parsed<Type> {
        let line = self.line();
        let kind = self.peek_word().unwrap_or("").to_string();
        self.at += 1;
        let name = if self.is("{") { None } else { Some(self.name()?) };
        if kind == "enum" {
            if self.takes("{") {
                self.enumerators()?;
            }
            return Ok(Type::INT);
        }
        let key: Arc<str> = format!("struct {}", name.as_deref().unwrap_or("")).into();
        let is_union = kind == "union";
        let known = match name.as_ref().and_then(|_| self.find(&key)) {
            Some(&Entity::Record(at)) => Some(at),
            _ => None,
        };
        let own = self.scopes.last().is_some_and(|scope| scope.contains_key(&key));
        let defines = self.is("{");
        let at = match known.filter(|_| own || !defines) {
            Some(at) => at,
            None => {
                let shown = name.as_deref().unwrap_or("without a name").to_string();
                let at = self.records.declare(shown, is_union);
                if name.is_some() {
                    self.declare(key, Entity::Record(at), line)?;
                }
                at
            }
        };
        let Some(record) = self.records.get(at) else { return self.refuse("an unknown struct") };
        if record.is_union != is_union || (defines && record.fields.is_some()) {
            return refuse(line, format!("{kind} {} is declared twice", record.name));
        }
        if self.takes("{") {
            let fields = self.within(Self::fields)?;
            self.records.complete(at, fields).or_else(|message| refuse(line, message))?;
        }
        Ok(Type::Record(at))
    }

    fn fields(&mut self) -> Parsed<Vec<(Arc<str>, Type, bool)>> {
        let mut all: Vec<(Arc<str>, Type, bool)> = Vec::new();
        let mut names = HashSet::new();
        while !self.takes("}") {
            let specifiers = self.specifiers()?;
            loop {
                let declared = self.declarator(&specifiers)?;
                let Some(name) = declared.name else {
                    return self.refuse(format!("expected the name of a field, found {}", self.found()));
                };
                if self.is(":") || declared.unsized_array {
                    return refuse(
                        declared.line,
                        format!("field `{name}`: bit fields and open arrays are not supported"),
                    );
                }
                if !names.insert(name.clone()) {
                    return refuse(declared.line, format!("two fields are called `{name}`"));
                }
                if all.len() == MOST_FIELDS {
                    return refuse(declared.line, format!("a struct has more than {MOST_FIELDS} fields"));
                }
                self.size(&declared.ty, declared.line)?;
                all.push((name, declared.ty, declared.constant));
                if !self.takes(",") {
                    self.expect(";")?;
                    break;
                }
            }
        }
        Ok(all)
    }

    fn enumerators(&mut self) -> Parsed<()> {
        let mut next = 0i64;
        while !self.takes("}") {
            let line = self.line();
            let name = self.name()?;
            if self.takes("=") {
                next = self.constant_integer()?;
            }
            let Ok(number) = i32::try_from(next) else { return refuse(line, format!("`{name}` is no int")) };
            self.declare(name, Entity::Number(i64::from(number).cast_unsigned()), line)?;
            next += 1;
            if !self.takes(",") && !self.is("}") {
                return self.refuse(format!("expected `,` or `}}`, found {}", self.found()));
            }
        }
        Ok(())
    }

    /// Stars, a name and extents. The name may be missing.
    pub(super) fn declarator(&mut self, specifiers: &Specifiers) -> Parsed<Declared> {
        let line = self.line();
        let (mut ty, mut constant) = (specifiers.ty.clone(), specifiers.constant);
        while self.takes("*") {
            ty = Type::pointer(ty, constant);
            constant = false;
            self.check_depth(&ty)?;
            while let Some(word) = self.peek_word().filter(|word| *word == "const" || IGNORED.contains(word))
            {
                constant |= word == "const";
                self.at += 1;
            }
        }
        if self.is("(") && (self.peek_at(1).is_some_and(|token| token.is("*") || token.is("("))) {
            return self.refuse("pointers to functions and to arrays are not supported");
        }
        let named = self.peek_word().is_some();
        let name = if named { Some(self.name()?) } else { None };
        let mut extents = Vec::new();
        let mut unsized_array = false;
        while self.takes("[") {
            if extents.is_empty() && self.takes("]") {
                unsized_array = true;
                extents.push(0);
                continue;
            }
            let extent = self.constant_integer()?;
            self.expect("]")?;
            match u64::try_from(extent) {
                Ok(extent) if extent > 0 => extents.push(extent),
                _ => return refuse(line, format!("expected an extent above 0, found {extent}")),
            }
        }
        for extent in extents.into_iter().rev() {
            if self.records.size(&ty).is_err() {
                self.size(&ty, line)?;
            }
            ty = Type::Array(Arc::new(ty), extent);
            self.check_depth(&ty)?;
        }
        Ok(Declared { name, ty, constant, unsized_array, line })
    }

    fn check_depth(&self, ty: &Type) -> Parsed<()> {
        match self.records.depth(ty) <= DEEPEST {
            true => Ok(()),
            false => self.refuse(format!("a type is nested deeper than {DEEPEST}")),
        }
    }

    /// A type without a name, as in a cast.
    pub(super) fn type_name(&mut self) -> Parsed<Type> {
        let specifiers = self.specifiers()?;
        let declared = self.declarator(&specifiers)?;
        match declared.name {
            None if !declared.unsized_array => Ok(declared.ty),
            _ => refuse(declared.line, "expected a type without a name"),
        }
    }

    /// A constant expression.
    pub(super) fn constant_integer(&mut self) -> Parsed<i64> {
        let line = self.line();
        let expr = self.conditional()?;
        let expr = self.value(expr)?;
        match expr.known().filter(|_| expr.ty.is_integer()) {
            Some(bits) => Ok(bits.cast_signed()),
            None => refuse(line, "expected a constant integer"),
        }
    }
}

/// The type of words such as `unsigned long int`.
fn number_of(words: &[Arc<str>], line: usize) -> Parsed<Type> {
    let has = |word: &str| words.iter().any(|own| &**own == word);
    let sign = if has("unsigned") { Some("unsigned") } else { has("signed").then_some("signed") };
    let rest: Vec<&str> = words.iter().map(|word| &**word).filter(|word| !word.ends_with("signed")).collect();
    let rest: Vec<&str> = match rest[..] {
        [only] => vec![only],
        _ => rest.into_iter().filter(|word| *word != "int").collect(),
    };
    let long = rest == ["long", "long"];
    let all: Vec<&str> =
        sign.into_iter().chain(rest.into_iter().take(if long { 1 } else { usize::MAX })).collect();
    match dtype_of(&all, &|_| None) {
        Some(dtype) => Ok(Type::Number(dtype)),
        None => refuse(line, format!("`{}` is no type", words.join(" "))),
    }
}
