//! What stands before a user's text in the dialect: keywords, types and functions.

use crate::dtype::DType;
use crate::nest::Store;
use crate::print::{Dialect, Target, keywords, prelude};

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
    keywords::KEYWORDS.iter().map(|(keyword, ..)| keywords::word(keyword))
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
    keywords::define(&mut define, &|_| true, dialect, keywords::KEYWORDS);
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
        keywords::access(&mut define, &uses, dialect, name, dtype);
        let add = prelude::adding_name(dtype);
        if Store::can_add_to(dtype) && uses(&format!("atomic_add_{name}")) {
            define(&format!("atomic_add_{name}(pointer, value)"), &format!("{add}((pointer), (value))"));
        }
    }
    for (name, dtype) in types {
        define(&format!("type_{name}"), stored(*dtype));
        define(&format!("work_{name}"), if *dtype == DType::Bool { "u8" } else { dtype.register().short() });
        keywords::access(&mut define, &|_| true, dialect, name, *dtype);
    }
    let functions = prelude::prelude(target, f64, &macros);
    dialect.head(f64, false) + &functions + &macros
}
