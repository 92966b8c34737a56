//! The keywords of the dialect, as macros and types of both languages.

use crate::dtype::DType;
use crate::nest::Store;
use crate::print::{Dialect, Target, prelude};

/// Keyword, in OpenCL C, in CUDA C++.
const KEYWORDS: &[(&str, &str, &str)] = &[
    ("KERNEL", "__kernel", "extern \"C\" __global__"),
    ("LAUNCH_BOUNDS(items, groups)", "", "__launch_bounds__((items), (groups))"),
    ("DEVICE_FN", "static inline", "static __device__ __forceinline__"),
    ("GLOBAL_MEM", "__global", ""),
    ("LOCAL_MEM", "__local", "__shared__"),
    ("LOCAL_MEM_ARG", "__local", ""),
    ("CONSTANT_MEM", "__constant", "__constant__"),
    ("RESTRICT", "restrict", "__restrict__"),
    ("LID_0", "get_local_id(0)", "threadIdx.x"),
    ("LID_1", "get_local_id(1)", "threadIdx.y"),
    ("LID_2", "get_local_id(2)", "threadIdx.z"),
    ("LDIM_0", "get_local_size(0)", "blockDim.x"),
    ("LDIM_1", "get_local_size(1)", "blockDim.y"),
    ("LDIM_2", "get_local_size(2)", "blockDim.z"),
    ("GID_0", "get_group_id(0)", "blockIdx.x"),
    ("GID_1", "get_group_id(1)", "blockIdx.y"),
    ("GID_2", "get_group_id(2)", "blockIdx.z"),
    ("GDIM_0", "get_num_groups(0)", "gridDim.x"),
    ("GDIM_1", "get_num_groups(1)", "gridDim.y"),
    ("GDIM_2", "get_num_groups(2)", "gridDim.z"),
    ("local_barrier()", "barrier(CLK_LOCAL_MEM_FENCE)", "__syncthreads()"),
    ("global_barrier()", "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)", "__syncthreads()"),
    ("shuffle_down(value, lanes)", "", "__shfl_down_sync(0xffffffffu, (value), (lanes))"),
    ("shuffle_up(value, lanes)", "", "__shfl_up_sync(0xffffffffu, (value), (lanes))"),
    ("shuffle_xor(value, lanes)", "", "__shfl_xor_sync(0xffffffffu, (value), (lanes))"),
];

/// libgpuarray's names of the types of numbers, for kernels written for Theano.
const GPUARRAY: &[(&str, DType)] = &[
    ("ga_bool", DType::U8),
    ("ga_byte", DType::I8),
    ("ga_ubyte", DType::U8),
    ("ga_short", DType::I16),
    ("ga_ushort", DType::U16),
    ("ga_int", DType::I32),
    ("ga_uint", DType::U32),
    ("ga_long", DType::I64),
    ("ga_ulong", DType::U64),
    ("ga_size", DType::U64),
    ("ga_ssize", DType::I64),
    ("ga_float", DType::F32),
    ("ga_double", DType::F64),
    ("ga_half", DType::F16),
];

/// The names of the keywords.
fn words() -> impl Iterator<Item = &'static str> {
    KEYWORDS.iter().map(|(keyword, ..)| keyword.split('(').next().unwrap_or(keyword))
}

/// Whether a word is a keyword on every device.
pub(super) fn is_keyword(word: &str) -> bool {
    words().any(|keyword| keyword == word && !keyword.starts_with("shuffle"))
}

/// The number of a word among those for the position of a work item and the sizes, `LID_0` to `GDIM_2`.
pub(super) fn item_word(word: &str) -> Option<u16> {
    let of_dimension = |word: &&str| ["_0", "_1", "_2"].iter().any(|end| word.ends_with(end));
    (0..).zip(words().filter(of_dimension)).find(|(_, keyword)| *keyword == word).map(|(number, _)| number)
}

/// The text before a source in the dialect: the keywords, types and functions that it uses. `types`: its type
/// parameters.
pub(super) fn head(target: &Target, text: &str, types: &[(String, DType)]) -> String {
    let dialect = target.dialect;
    let uses = |word: &str| text.contains(word);
    let doubles = types.iter().any(|(_, dtype)| *dtype == DType::F64);
    let f64 = doubles || uses("f64") || uses("double");
    let mut macros = String::new();
    let mut define = |name: &str, meaning: &str| macros += &format!("#define {name} {meaning}\n");
    for (keyword, opencl, cuda) in KEYWORDS {
        let meaning = if dialect == Dialect::OpenClC { opencl } else { cuda };
        let missing = keyword.starts_with("shuffle") && meaning.is_empty();
        if !missing {
            define(keyword, meaning);
        }
    }
    if dialect == Dialect::CudaCpp {
        define("HAS_SHUFFLE", "1");
        define("WARP_SIZE", "32");
    }
    let stored = |dtype: DType| if dtype == DType::Bool { "u8" } else { dialect.stored(dtype) };
    for (name, dtype) in GPUARRAY.iter().filter(|(name, _)| uses(name)) {
        define(name, stored(*dtype));
    }
    for dtype in DType::REAL {
        let name = dtype.short();
        if dtype.is_half() {
            define(name, stored(dtype));
        }
        access(&mut define, &uses, dialect, name, dtype);
        let add = prelude::adding_name(dtype);
        if Store::can_add_to(dtype) && uses(&format!("atomic_add_{name}")) {
            define(&format!("atomic_add_{name}(pointer, value)"), &format!("{add}((pointer), (value))"));
        }
    }
    for (name, dtype) in types {
        define(&format!("type_{name}"), stored(*dtype));
        define(&format!("work_{name}"), if *dtype == DType::Bool { "u8" } else { dtype.register().short() });
        access(&mut define, &|_| true, dialect, name, *dtype);
    }
    let functions = prelude::prelude(target, f64, &macros);
    dialect.head(f64, false) + &functions + &macros
}

/// `load_NAME(pointer, index)` and `store_NAME(pointer, index, value)`: halves are stored as halves and
/// computed in f32.
fn access(
    define: &mut dyn FnMut(&str, &str),
    uses: &dyn Fn(&str) -> bool,
    dialect: Dialect,
    name: &str,
    dtype: DType,
) {
    if uses(&format!("load_{name}")) {
        let meaning = dialect.load(dtype, "(pointer)", "(index)");
        define(&format!("load_{name}(pointer, index)"), &format!("({meaning})"));
    }
    if uses(&format!("store_{name}")) {
        let value = if dtype.is_half() { "(f32)(value)" } else { "(value)" };
        let meaning = dialect.store(dtype, "(pointer)", "(index)", value);
        define(&format!("store_{name}(pointer, index, value)"), meaning.trim_end_matches(';'));
    }
}
