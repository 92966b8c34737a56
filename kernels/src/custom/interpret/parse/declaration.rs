//! Declarations: variables, types, functions and kernels.

use super::super::expr::{Expr, ExprKind, FunctionDef, LocalVariable, Named, Stmt};
use super::super::memory::encode;
use super::super::token::refuse;
use super::super::types::{LARGEST, Type};
use super::declarator::{Declared, Space, Specifiers};
use super::{Current, Entity, Parsed, Parser};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Functions and kernels of a text at most.
const MOST_FUNCTIONS: usize = 4096;
/// Parameters of a function at most.
const MOST_PARAMS: usize = 256;

impl Parser<'_> {
    /// A declaration outside of functions.
    pub(super) fn external(&mut self) -> Parsed<()> {
        if self.takes(";") {
            return Ok(());
        }
        let line = self.line();
        let specifiers = self.specifiers()?;
        if self.takes(";") {
            return Ok(());
        }
        loop {
            let declared = self.declarator(&specifiers)?;
            let Some(name) = declared.name.clone() else {
                return self.refuse(format!("expected a name, found {}", self.found()));
            };
            if self.is("(") {
                return self.function(&specifiers, declared, name);
            }
            if specifiers.typedef {
                self.declare(name, Entity::Type(declared.ty), line)?;
            } else if specifiers.space == Space::Constant {
                self.constant_memory(declared, name)?;
            } else {
                let message = format!("expected CONSTANT_MEM before `{name}`, which is outside of functions");
                return refuse(declared.line, message);
            }
            if !self.takes(",") {
                return self.expect(";");
            }
        }
    }

    /// An array or a variable in constant memory.
    fn constant_memory(&mut self, mut declared: Declared, name: Arc<str>) -> Parsed<()> {
        let line = declared.line;
        if !self.takes("=") {
            return refuse(line, format!("expected the values of `{name}` in constant memory"));
        }
        if self.records.has_pointer(&declared.ty) {
            return refuse(line, "pointers in constant memory are not supported");
        }
        let items = self.values(&mut declared)?;
        let size = self.size(&declared.ty, line)?;
        self.room(size, line)?;
        let mut bytes = vec![0; size as usize];
        for (offset, value) in items {
            let dtype = value.ty.stored();
            let Some(bits) = value.known() else {
                return refuse(value.line, format!("expected a constant for `{name}`"));
            };
            let at = offset as usize;
            encode(bytes.get_mut(at..at + dtype.size()).unwrap_or(&mut []), bits, dtype);
        }
        let object = Entity::Object(self.objects.len());
        let (ty, bytes) = (declared.ty, Some(bytes));
        self.objects.push(Named { name: name.clone(), ty, constant: true, bytes, owner: None });
        self.declare(name, object, line)
    }

    /// Constant memory must not exceed the size of a type in all.
    fn room(&mut self, size: u64, line: usize) -> Parsed<()> {
        self.constant_bytes = self.constant_bytes.saturating_add(size);
        match self.constant_bytes <= LARGEST >> 6 {
            true => Ok(()),
            false => refuse(line, format!("constant memory is larger than {} bytes", LARGEST >> 6)),
        }
    }

    /// A function behind its name: a prototype or a definition.
    fn function(&mut self, specifiers: &Specifiers, declared: Declared, name: Arc<str>) -> Parsed<()> {
        let line = declared.line;
        if specifiers.typedef || matches!(declared.ty, Type::Array(..)) {
            return refuse(line, "a function's type is not supported here");
        }
        let is_kernel = specifiers.kernel;
        if is_kernel && declared.ty != Type::Void {
            return refuse(line, format!("kernel {name} returns a value; expected void"));
        }
        let variables = self.parameters()?;
        let function = match self.scopes.first().and_then(|scope| scope.get(&name)) {
            None => {
                let at = self.functions.len();
                if at == MOST_FUNCTIONS {
                    return refuse(line, format!("more than {MOST_FUNCTIONS} functions"));
                }
                self.declare(name.clone(), Entity::Function(at), line)?;
                let (result, params, body) = (declared.ty.clone(), variables.len(), None);
                let (variables, calls, has_barrier) = (variables.clone(), BTreeSet::new(), false);
                let name = name.clone();
                self.functions.push(FunctionDef {
                    name,
                    line,
                    is_kernel,
                    result,
                    params,
                    variables,
                    body,
                    calls,
                    has_barrier,
                });
                at
            }
            Some(&Entity::Function(at)) => {
                let known = &self.functions[at];
                let same = known.params == variables.len()
                    && known.result == declared.ty
                    && known.variables.iter().zip(&variables).all(|(a, b)| a.ty == b.ty);
                if !same || known.is_kernel != is_kernel {
                    return refuse(line, format!("`{name}` is declared twice, with different types"));
                }
                at
            }
            Some(_) => return refuse(line, format!("`{name}` is declared twice")),
        };
        if self.takes(";") {
            return Ok(());
        }
        if self.functions[function].body.is_some() {
            return refuse(line, format!("`{name}` is defined twice"));
        }
        self.body(function, variables, declared.ty)
    }

    /// Parameters in brackets.
    fn parameters(&mut self) -> Parsed<Vec<LocalVariable>> {
        self.expect("(")?;
        let mut all = Vec::new();
        let is_void = self.peek_word() == Some("void") && self.peek_at(1).is_some_and(|token| token.is(")"));
        self.at += usize::from(is_void);
        if self.takes(")") {
            return Ok(all);
        }
        loop {
            let specifiers = self.specifiers()?;
            let Declared { name, ty, constant, line, .. } = self.declarator(&specifiers)?;
            let ty = match ty {
                Type::Array(element, _) => Type::pointer((*element).clone(), constant),
                ty => ty,
            };
            if !matches!(ty, Type::Pointer(_)) {
                self.size(&ty, line)?;
            }
            if ty.number().is_some_and(|dtype| dtype.is_half()) {
                return refuse(line, "f16 and bf16 are only stored; a parameter is a f32");
            }
            if all.len() == MOST_PARAMS {
                return refuse(line, format!("a function has more than {MOST_PARAMS} parameters"));
            }
            let name = name.unwrap_or_else(|| "".into());
            all.push(LocalVariable { name, ty, constant, in_memory: false });
            if !self.takes(",") {
                self.expect(")")?;
                return Ok(all);
            }
        }
    }

    fn body(&mut self, function: usize, variables: Vec<LocalVariable>, result: Type) -> Parsed<()> {
        let is_kernel = self.functions[function].is_kernel;
        let mut scope = HashMap::new();
        for (at, variable) in variables.iter().enumerate() {
            // A parameter without a name cannot be used.
            if variable.name.is_empty() {
                continue;
            }
            if scope.insert(variable.name.clone(), Entity::Variable(at)).is_some() {
                return self.refuse(format!("two parameters are called `{}`", variable.name));
            }
        }
        self.scopes.push(scope);
        self.current = Some(Current {
            function,
            is_kernel,
            result,
            variables,
            calls: BTreeSet::new(),
            has_barrier: false,
            loops: 0,
            switches: vec![],
            breakable: 0,
        });
        self.expect("{")?;
        let statements = self.statements()?;
        self.scopes.pop();
        if let Some(current) = self.current.take() {
            let own = &mut self.functions[function];
            own.variables = current.variables;
            own.calls = current.calls;
            own.has_barrier = current.has_barrier;
            own.body = Some(statements);
        }
        Ok(())
    }

    /// A declaration within a function.
    pub(super) fn local(&mut self, out: &mut Vec<Stmt>) -> Parsed<()> {
        let specifiers = self.specifiers()?;
        if specifiers.kernel || specifiers.is_static {
            return self.refuse("expected a variable; static ones are not supported");
        }
        if self.takes(";") {
            return Ok(());
        }
        loop {
            let declared = self.declarator(&specifiers)?;
            let Some(name) = declared.name.clone() else {
                return self.refuse(format!("expected a name, found {}", self.found()));
            };
            if self.is("(") {
                return self.refuse("functions within functions are not supported");
            }
            if specifiers.typedef {
                self.declare(name, Entity::Type(declared.ty), declared.line)?;
            } else if specifiers.space == Space::Local && !matches!(declared.ty, Type::Pointer(_)) {
                self.local_memory(declared, name)?;
            } else {
                self.variable(declared, name, out)?;
            }
            if !self.takes(",") {
                return self.expect(";");
            }
        }
    }

    /// An array or a variable in local memory.
    fn local_memory(&mut self, declared: Declared, name: Arc<str>) -> Parsed<()> {
        let line = declared.line;
        let current = self.current()?;
        if !current.is_kernel {
            return refuse(line, format!("expected LOCAL_MEM `{name}` in the body of a kernel"));
        }
        let owner = Some(current.function);
        if declared.unsized_array || self.is("=") {
            return refuse(line, format!("expected a size and no values for `{name}` in local memory"));
        }
        self.size(&declared.ty, line)?;
        if self.records.has_pointer(&declared.ty) {
            return refuse(line, "pointers in local memory are not supported");
        }
        let object = Entity::Object(self.objects.len());
        let (ty, constant, bytes) = (declared.ty, declared.constant, None);
        self.objects.push(Named { name: name.clone(), ty, constant, bytes, owner });
        self.declare(name, object, line)
    }

    /// A variable of the work item.
    fn variable(&mut self, mut declared: Declared, name: Arc<str>, out: &mut Vec<Stmt>) -> Parsed<()> {
        let line = declared.line;
        let has_value = self.takes("=");
        if declared.unsized_array && !has_value {
            return refuse(line, format!("expected a size for `{name}`"));
        }
        let listed = self.is("{") && !declared.ty.is_scalar();
        // The extent of an open array is known behind its values, so that they cannot name it.
        let open = if declared.unsized_array { Some(self.values(&mut declared)?) } else { None };
        self.size(&declared.ty, line)?;
        let (ty, constant) = (declared.ty.clone(), declared.constant);
        if ty.number().is_some_and(|dtype| dtype.is_half()) {
            return refuse(line, format!("f16 and bf16 are only stored; `{name}` is a f32"));
        }
        let current = self.current()?;
        let at = current.variables.len();
        let in_memory = !ty.is_scalar();
        current.variables.push(LocalVariable { name: name.clone(), ty: ty.clone(), constant, in_memory });
        self.declare(name, Entity::Variable(at), line)?;
        if !has_value {
            return Ok(());
        }
        let variable = Expr { kind: ExprKind::Variable(at), ty: ty.clone(), line, depth: 0 };
        let items = match open {
            Some(items) => items,
            None => self.values(&mut declared)?,
        };
        if listed {
            out.push(Stmt::Clear(at, line));
        }
        for (offset, value) in items {
            let (own, line) = (value.ty.clone(), value.line);
            let target = match in_memory && (listed || offset > 0) {
                true => self.node(ExprKind::Field(Box::new(variable.clone()), offset), own.clone(), line)?,
                false => variable.clone(),
            };
            out.push(Stmt::Expr(self.node(ExprKind::Assign(Box::new([target, value])), own, line)?));
        }
        Ok(())
    }
}
