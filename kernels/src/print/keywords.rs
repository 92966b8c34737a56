//! The keywords of the dialect, which mean the same in both languages, as macros. Kernels of users and those
//! of library ops are written with them (see the crate's README).

use super::Dialect;
use crate::dtype::DType;

/// Keyword, in OpenCL C, in CUDA C++. OpenCL C 1.2 has no shuffles.
pub(crate) const KEYWORDS: &[(&str, &str, &str)] = &[
    ("KERNEL", "__kernel", "extern \"C\" __global__"),
    ("LAUNCH_BOUNDS(items, groups)", "", "__launch_bounds__((items), (groups))"),
    ("DEVICE_FN", "static inline __attribute__((always_inline))", "static __device__ __forceinline__"),
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

/// A keyword without its parameters.
pub(crate) fn word(keyword: &str) -> &str {
    keyword.split('(').next().unwrap_or(keyword)
}

/// Defines those of a list of keywords that are used and that the language has.
pub(crate) fn define(
    define: &mut dyn FnMut(&str, &str),
    uses: &dyn Fn(&str) -> bool,
    dialect: Dialect,
    list: &[(&str, &str, &str)],
) {
    for (keyword, opencl, cuda) in list {
        let meaning = if dialect == Dialect::OpenClC { opencl } else { cuda };
        let missing = keyword.starts_with("shuffle") && meaning.is_empty();
        if !missing && uses(word(keyword)) {
            define(keyword, meaning);
        }
    }
}

/// `load_NAME(pointer, index)` and `store_NAME(pointer, index, value)`: halves are stored as halves and
/// computed in f32.
pub(crate) fn access(
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
