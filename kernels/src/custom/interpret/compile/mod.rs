//! From typed functions to instructions.

mod calls;
mod expression;
mod lvalue;
mod statement;

use super::bytecode::{
    CompiledKernel, Expected, ITEM_REGISTERS, KernelParameter, MachineInst, MachineProgram, Object,
    ObjectLocation, Reg,
};
use super::expr::{FunctionDef, Named};
use super::memory::pointer;
use super::parse::ParsedUnit;
use super::token::refuse;
use super::types::Type;
use crate::custom::SourceError;
use calls::{barriers, check_calls};
use lvalue::LValue;
use std::collections::HashMap;

type Compiled<T> = Result<T, SourceError>;

/// Registers at most; above them are constants, until all are known.
const MOST_REGISTERS: usize = 1 << 15;
/// Arrays and variables in memory at most.
const MOST_OBJECTS: usize = (1 << 16) - 1;
/// Bytes of private memory of a work item at most.
const MOST_OWN: u64 = 1 << 20;
/// Bytes of local memory of a group at most.
pub(super) const MOST_LOCAL: u64 = 256 << 10;
/// Instructions at most.
const MOST_CODE: usize = 1 << 20;

/// Where a function's arguments and result are.
struct CallFrame {
    link: Option<Reg>,
    params: Vec<LValue>,
    result: Option<LValue>,
}

struct Compiler<'a> {
    unit: &'a ParsedUnit,
    code: Vec<MachineInst>,
    lines: Vec<u32>,
    constants: HashMap<u64, Reg>,
    /// The values of the constants, in the order of their registers.
    pool: Vec<u64>,
    objects: Vec<Object>,
    /// The objects of the text's own arrays, by their number.
    named: Vec<usize>,
    frames: Vec<CallFrame>,
    entries: Vec<u32>,
    own: u64,
    /// The next free register.
    next: usize,
    /// The most registers that were taken.
    high: usize,
    // Of the function that is compiled:
    slots: Vec<LValue>,
    function: usize,
    labels: Vec<Option<u32>>,
    held: Vec<Reg>,
    /// Where `break` and `continue` go, and the labels of the cases.
    breaks: Vec<u32>,
    continues: Vec<u32>,
    cases: Vec<Vec<u32>>,
}

/// Compiles what was read.
pub(super) fn compile(unit: &ParsedUnit) -> Compiled<MachineProgram> {
    check_calls(&unit.functions)?;
    let mut compiler = Compiler {
        unit,
        code: vec![],
        lines: vec![],
        constants: HashMap::new(),
        pool: vec![],
        objects: vec![Object { name: "a null pointer".into(), memory: ObjectLocation::Null, element: 1 }],
        named: vec![],
        frames: vec![],
        entries: vec![],
        own: 0,
        next: ITEM_REGISTERS,
        high: ITEM_REGISTERS,
        slots: vec![],
        function: 0,
        labels: vec![],
        held: vec![],
        breaks: vec![],
        continues: vec![],
        cases: vec![],
    };
    let mut memory = vec![];
    let locals = compiler.place_named(&unit.objects, &mut memory)?;
    for function in &unit.functions {
        let frame = compiler.frame(function)?;
        compiler.frames.push(frame);
    }
    for at in 0..unit.functions.len() {
        compiler.function(at)?;
    }
    let kernels = compiler.kernels(&locals)?;
    compiler.finish(memory, kernels)
}

impl Compiler<'_> {
    /// Gives the arrays of the text their places. Returns the bytes of local memory of each kernel.
    fn place_named(&mut self, all: &[Named], constants: &mut Vec<u8>) -> Compiled<HashMap<usize, u64>> {
        let mut locals: HashMap<usize, u64> = HashMap::new();
        for named in all {
            let bytes = self.size(&named.ty, 1)?;
            let memory = match (&named.bytes, named.owner) {
                (Some(values), _) => {
                    constants.resize(constants.len().next_multiple_of(16), 0);
                    let base = constants.len();
                    constants.extend_from_slice(values);
                    ObjectLocation::Constant { base, bytes: bytes as usize }
                }
                (None, owner) => {
                    let used = locals.entry(owner.unwrap_or(usize::MAX)).or_default();
                    let base = used.next_multiple_of(16);
                    *used = base.saturating_add(bytes);
                    if *used > MOST_LOCAL {
                        let line =
                            owner.and_then(|at| self.unit.functions.get(at)).map_or(1, |kernel| kernel.line);
                        return refuse(
                            line,
                            format!("`{}`: local memory is larger than {MOST_LOCAL} bytes", named.name),
                        );
                    }
                    ObjectLocation::Local { base: base as usize, bytes: bytes as usize }
                }
            };
            let element = self.element_size(&named.ty);
            let at = self.object(Object { name: named.name.to_string(), memory, element }, 1)?;
            self.named.push(at);
        }
        Ok(locals)
    }

    fn size(&self, ty: &Type, line: usize) -> Compiled<u64> {
        self.unit.records.size(ty).or_else(|message| refuse(line, message))
    }

    /// The size of an array's element, or of what is no array.
    fn element_size(&self, ty: &Type) -> u64 {
        let mut ty = ty;
        while let Type::Array(element, _) = ty {
            ty = element;
        }
        self.unit.records.size(ty).unwrap_or(1).max(1)
    }

    fn object(&mut self, object: Object, line: usize) -> Compiled<usize> {
        if self.objects.len() >= MOST_OBJECTS {
            return refuse(line, format!("more than {MOST_OBJECTS} variables in memory"));
        }
        self.objects.push(object);
        Ok(self.objects.len() - 1)
    }

    /// Private memory of a type. `link`: of the function to which it belongs.
    fn own_memory(&mut self, name: &str, ty: &Type, link: Option<Reg>, line: usize) -> Compiled<LValue> {
        let bytes = self.size(ty, line)?;
        let base = self.own.next_multiple_of(16);
        self.own = base.saturating_add(bytes);
        if self.own > MOST_OWN {
            return refuse(
                line,
                format!("`{name}`: variables need more than {MOST_OWN} bytes of private memory"),
            );
        }
        let memory = ObjectLocation::Own { base: base as usize, bytes: bytes as usize, link };
        let element = self.element_size(ty);
        let object = self.object(Object { name: name.into(), memory, element }, line)?;
        Ok(LValue::Own { object, at: base as u32, offset: 0 })
    }

    fn register(&mut self, line: usize) -> Compiled<Reg> {
        if self.next >= MOST_REGISTERS {
            return refuse(line, format!("more than {MOST_REGISTERS} variables"));
        }
        self.next += 1;
        self.high = self.high.max(self.next);
        Ok((self.next - 1) as Reg)
    }

    /// The register of a constant.
    fn constant(&mut self, bits: u64, line: usize) -> Compiled<Reg> {
        if let Some(&known) = self.constants.get(&bits) {
            return Ok(known);
        }
        if self.pool.len() >= MOST_REGISTERS {
            return refuse(line, format!("more than {MOST_REGISTERS} constants"));
        }
        let register = (MOST_REGISTERS + self.pool.len()) as Reg;
        self.pool.push(bits);
        self.constants.insert(bits, register);
        Ok(register)
    }

    fn frame(&mut self, function: &FunctionDef) -> Compiled<CallFrame> {
        let line = function.line;
        let link = if function.is_kernel { None } else { Some(self.register(line)?) };
        let mut params = Vec::new();
        for param in function.variables.iter().take(function.params) {
            params.push(match param.ty.is_scalar() {
                true => LValue::Register(self.register(line)?),
                false => self.own_memory(&param.name, &param.ty, link, line)?,
            });
        }
        let result = match &function.result {
            Type::Void => None,
            ty if ty.is_scalar() => Some(LValue::Register(self.register(line)?)),
            // It is read after the function has ended.
            ty => Some(self.own_memory(&function.name, ty, None, line)?),
        };
        Ok(CallFrame { link, params, result })
    }

    fn emit(&mut self, inst: MachineInst, line: usize) -> Compiled<()> {
        if self.code.len() >= MOST_CODE {
            return refuse(line, format!("the text has more than {MOST_CODE} instructions"));
        }
        self.code.push(inst);
        self.lines.push(line as u32);
        Ok(())
    }

    fn label(&mut self) -> u32 {
        self.labels.push(None);
        (self.labels.len() - 1) as u32
    }

    /// Puts a label here.
    fn bind(&mut self, label: u32) {
        if let Some(place) = self.labels.get_mut(label as usize) {
            *place = Some(self.code.len() as u32);
        }
    }

    fn function(&mut self, at: usize) -> Compiled<()> {
        let start = self.code.len();
        self.entries.push(start as u32);
        let function = &self.unit.functions[at];
        let Some(body) = &function.body else { return Ok(()) };
        self.function = at;
        self.labels.clear();
        self.slots.clear();
        let link = self.frames[at].link;
        self.next = self.high;
        for (number, variable) in function.variables.iter().enumerate() {
            let arrival = self.frames[at].params.get(number).copied();
            let slot = match arrival {
                Some(place) if !variable.in_memory || !variable.ty.is_scalar() => place,
                Some(place) => {
                    let own = self.own_memory(&variable.name, &variable.ty, link, function.line)?;
                    let value = self.load(place, &variable.ty, None, function.line)?;
                    self.store(own, &variable.ty, value, function.line)?;
                    own
                }
                None if variable.in_memory => {
                    self.own_memory(&variable.name, &variable.ty, link, function.line)?
                }
                None => LValue::Register(self.register(function.line)?),
            };
            self.slots.push(slot);
        }
        self.statements(body)?;
        self.leave(function.line)?;
        for inst in &mut self.code[start..] {
            if let Some(to) = inst.target() {
                let Some(place) = self.labels.get(*to as usize).copied().flatten() else {
                    return refuse(function.line, "an error of the compiler: a jump to nowhere");
                };
                *to = place;
            }
        }
        self.next = self.high;
        Ok(())
    }

    /// The end of a function or a kernel.
    fn leave(&mut self, line: usize) -> Compiled<()> {
        match self.frames[self.function].link {
            Some(link) => self.emit(MachineInst::Return { link }, line),
            None => self.emit(MachineInst::End, line),
        }
    }

    fn kernels(&mut self, locals: &HashMap<usize, u64>) -> Compiled<HashMap<String, CompiledKernel>> {
        let mut all = HashMap::new();
        let has_barrier = barriers(&self.unit.functions);
        for (at, function) in self.unit.functions.iter().enumerate() {
            if !function.is_kernel || function.body.is_none() {
                continue;
            }
            let mut params = Vec::new();
            for number in 0..function.params {
                let (variable, place) = (&function.variables[number], self.frames[at].params[number]);
                let (register, expected) = match (&variable.ty, place) {
                    (Type::Number(dtype), LValue::Register(register)) => (register, Expected::Number(*dtype)),
                    (Type::Pointer(pointee), LValue::Register(register))
                        if !self.unit.records.has_pointer(&pointee.ty) =>
                    {
                        let (constant, dtype) = (pointee.constant, pointee.ty.number());
                        let memory = ObjectLocation::Argument;
                        let element = self.element_size(&pointee.ty);
                        let name = variable.name.to_string();
                        let object = self.object(Object { name, memory, element }, function.line)?;
                        (register, Expected::Pointer { object, dtype, constant })
                    }
                    _ => {
                        let message = format!(
                            "parameter `{}` of a kernel is neither a number nor a pointer to elements",
                            variable.name
                        );
                        return refuse(function.line, message);
                    }
                };
                params.push(KernelParameter { name: variable.name.clone(), register, expected });
            }
            let (entry, local) = (self.entries[at], locals.get(&at).copied().unwrap_or(0) as usize);
            let kernel = CompiledKernel { entry, params, local, has_barrier: has_barrier[at] };
            all.insert(function.name.to_string(), kernel);
        }
        Ok(all)
    }

    /// Constants get the registers behind all others, and calls their targets.
    fn finish(
        self,
        constants: Vec<u8>,
        kernels: HashMap<String, CompiledKernel>,
    ) -> Compiled<MachineProgram> {
        let Compiler { mut code, lines, pool, objects, own, high, entries, .. } = self;
        let moved = |register: Reg| match usize::from(register).checked_sub(MOST_REGISTERS) {
            Some(constant) => (high + constant) as Reg,
            None => register,
        };
        for inst in &mut code {
            inst.map_registers(&moved);
            if let MachineInst::Call { to, .. } = inst {
                *to = entries[*to as usize];
            }
        }
        let registers = std::iter::repeat_n(0, high).chain(pool).collect();
        Ok(MachineProgram { code, lines, registers, own: own as usize, constants, objects, kernels })
    }

    /// The register of a pointer to an object's byte.
    fn address_of(&mut self, object: usize, offset: u64, line: usize) -> Compiled<Reg> {
        self.constant(pointer(object, offset.cast_signed()).unwrap_or(0), line)
    }
}
