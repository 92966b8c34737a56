//! The differences between the two languages. Everything else is printed once.

use super::Dialect;
use super::prelude::adding_name;
use crate::dtype::DType;

impl Dialect {
    /// The head of a translation unit.
    pub(crate) fn head(self, f64: bool, fast: bool) -> String {
        let mut text = String::new();
        let types = match self {
            Dialect::OpenClC => {
                if !fast {
                    text += "#pragma OPENCL FP_CONTRACT OFF\n";
                }
                if f64 {
                    text += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
                }
                ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"]
            }
            Dialect::CudaCpp => [
                "signed char",
                "unsigned char",
                "short",
                "unsigned short",
                "int",
                "unsigned int",
                "long long",
                "unsigned long long",
            ],
        };
        for (ours, theirs) in ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"].iter().zip(types) {
            text += &format!("typedef {theirs} {ours};\n");
        }
        text += "typedef float f32;\n";
        if f64 {
            text += "typedef double f64;\n";
        }
        if self == Dialect::CudaCpp {
            text += "#if __CUDA_ARCH__ >= 900\n\
                     #define BEGIN asm volatile(\"griddepcontrol.launch_dependents;\\n\\tgriddepcontrol.wait;\" ::: \"memory\");\n\
                     #else\n#define BEGIN\n#endif\n";
        }
        text
    }

    /// The text of a kernel before its parameters.
    pub(super) fn kernel(self, name: &str, group: u32) -> String {
        match self {
            Dialect::OpenClC => {
                format!("__kernel __attribute__((reqd_work_group_size({group}, 1, 1)))\nvoid {name}")
            }
            Dialect::CudaCpp => format!("extern \"C\" __global__ __launch_bounds__({group})\nvoid {name}"),
        }
    }

    /// The type of a pointer to an operand.
    fn pointer(self, dtype: DType, written: bool) -> String {
        let space = if self == Dialect::OpenClC { "__global " } else { "" };
        let constant = if written { "" } else { "const " };
        format!("{space}{constant}{}*", self.stored(dtype))
    }

    /// The parameters of an operand: a pointer, and in OpenCL C, which has no pointers into the middle of a
    /// buffer, the byte at which the operand starts.
    pub(super) fn parameter(self, dtype: DType, written: bool, [name, byte]: &[String; 2]) -> String {
        let pointer = format!("{} {name}", self.pointer(dtype, written));
        if self == Dialect::OpenClC { format!("{pointer}, const u64 {byte}") } else { pointer }
    }

    /// The statement that makes the pointer of an operand point to its first element, if one is needed.
    pub(super) fn start(self, dtype: DType, written: bool, [name, byte]: &[String; 2]) -> Option<String> {
        let (pointer, bytes) = (self.pointer(dtype, written), self.pointer(DType::U8, written));
        (self == Dialect::OpenClC).then(|| format!("{name} = ({pointer})(({bytes}){name} + {byte});"))
    }

    /// The statement before a kernel's first memory access. In a programmatic dependent launch (CUDA, from
    /// compute capability 9.0) it triggers the launch of dependents, and waits for the kernels that this one
    /// depends on. It has no effect in other launches.
    pub(super) fn begin(self) -> Option<&'static str> {
        (self == Dialect::CudaCpp).then_some("BEGIN")
    }

    /// The qualifier of an array in group memory.
    pub(super) fn local(self) -> &'static str {
        match self {
            Dialect::OpenClC => "__local",
            Dialect::CudaCpp => "__shared__",
        }
    }

    /// The type of an element in memory.
    pub(crate) fn stored(self, dtype: DType) -> &'static str {
        match (dtype, self) {
            (DType::Bool, _) => "u8",
            (DType::F16, Dialect::OpenClC) => "half",
            (DType::F16 | DType::BF16, _) => "u16",
            _ => dtype.short(),
        }
    }

    /// An element read into a register.
    pub(crate) fn load(self, dtype: DType, pointer: &str, index: &str) -> String {
        match (dtype, self) {
            (DType::Bool, _) => format!("{pointer}[{index}] != 0"),
            (DType::F16, Dialect::OpenClC) => format!("vload_half({index}, {pointer})"),
            (DType::F16, _) => format!("f16_to_f32({pointer}[{index}])"),
            (DType::BF16, _) => format!("bf16_to_f32({pointer}[{index}])"),
            _ => format!("{pointer}[{index}]"),
        }
    }

    /// A register written to an element.
    pub(crate) fn store(self, dtype: DType, pointer: &str, index: &str, value: &str) -> String {
        match (dtype, self) {
            (DType::F16, Dialect::OpenClC) => format!("vstore_half_rte({value}, {index}, {pointer});"),
            (DType::F16, _) => format!("{pointer}[{index}] = f32_to_f16({value});"),
            (DType::BF16, _) => format!("{pointer}[{index}] = f32_to_bf16({value});"),
            _ => format!("{pointer}[{index}] = {value};"),
        }
    }

    /// A register added to an element atomically. The functions are in `prelude`.
    pub(super) fn add(self, dtype: DType, pointer: &str, index: &str, value: &str) -> String {
        format!("{}({pointer} + {index}, {value});", adding_name(dtype))
    }

    /// The group's number, as the unsigned index type.
    pub(super) fn group_index(self, unsigned: &str) -> String {
        match self {
            Dialect::OpenClC => format!("({unsigned})get_group_id(0)"),
            Dialect::CudaCpp => format!("({unsigned})blockIdx.x"),
        }
    }

    /// The item's number in its group, as the unsigned index type.
    pub(super) fn item_index(self, unsigned: &str) -> String {
        match self {
            Dialect::OpenClC => format!("({unsigned})get_local_id(0)"),
            Dialect::CudaCpp => format!("({unsigned})threadIdx.x"),
        }
    }

    /// A barrier of the group. Afterwards its items see each other's stores to group memory, and to global
    /// memory if `global` is true.
    pub(super) fn barrier(self, global: bool) -> &'static str {
        match (self, global) {
            (Dialect::OpenClC, false) => "barrier(CLK_LOCAL_MEM_FENCE);",
            (Dialect::OpenClC, true) => "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
            (Dialect::CudaCpp, _) => "__syncthreads();",
        }
    }

    /// A function of the math library for a register dtype.
    pub(super) fn math(self, name: &str, register: DType) -> String {
        match (self, register) {
            (Dialect::CudaCpp, DType::F32) => format!("{name}f"),
            _ => name.to_string(),
        }
    }

    /// The suffix of 64-bit integer literals.
    pub(super) fn long(self) -> &'static str {
        match self {
            Dialect::OpenClC => "L",
            Dialect::CudaCpp => "LL",
        }
    }

    /// A float given by its bits.
    pub(super) fn float_bits(self, register: DType, bits: u64) -> String {
        match (self, register) {
            (Dialect::OpenClC, DType::F64) => format!("as_double(0x{bits:016x}UL)"),
            (Dialect::CudaCpp, DType::F64) => format!("__longlong_as_double(0x{bits:016x}LL)"),
            (Dialect::OpenClC, _) => format!("as_float(0x{bits:08x}u)"),
            (Dialect::CudaCpp, _) => format!("__uint_as_float(0x{bits:08x}u)"),
        }
    }
}
