//! Functions of numbers, for elementwise ops of users.

use crate::dtype::DType;
use crate::print::Dialect;

/// A function from numbers to a number, as statements of the [dialect](super::Language::Dialect): an
/// instruction of a Nest ([`Inst::Call`](crate::nest::Inst::Call)). Halves are f32 in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScalarFunction {
    name: String,
    params: Vec<(String, DType)>,
    results: Vec<(String, DType)>,
    /// The result that it returns.
    result: usize,
    statements: String,
}

/// The hash FNV-1a of 64 bits, which is the same in every build: names are part of the text that caches know.
fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Words that mean something in C, C++ or OpenCL C, and that people are tempted to call things.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "and", "auto", "bool", "break", "case", "char", "class", "const", "constant", "continue", "default",
    "delete", "do", "double", "else", "enum", "extern", "float", "for", "global", "goto", "half", "if", "inline",
    "int", "kernel", "local", "long", "new", "not", "operator", "or", "private", "public", "register", "restrict",
    "return", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "typedef", "uint",
    "ulong", "union", "unsigned", "using", "void", "volatile", "while", "xor",
];

/// Whether a word can be a name in C: letters, digits and `_`, not a digit first, and no keyword.
pub fn is_identifier(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(letters)
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && !KEYWORDS.contains(&name)
}

impl ScalarFunction {
    /// The function that runs `statements`, which set all `results`, and returns one of them.
    ///
    /// # Errors
    /// If there is no such result, a name is no identifier of C or occurs twice, or the text has a NUL byte.
    pub fn new(
        name: &str,
        params: Vec<(String, DType)>,
        results: Vec<(String, DType)>,
        result: usize,
        statements: &str,
    ) -> Result<ScalarFunction, String> {
        if result >= results.len() {
            return Err(format!("result {result} of {}", results.len()));
        }
        let names: Vec<&String> = params.iter().chain(&results).map(|(name, _)| name).collect();
        for (at, name) in names.iter().enumerate() {
            if !is_identifier(name) {
                return Err(format!("`{name}` is no name of C"));
            }
            if names[..at].contains(name) {
                return Err(format!("two Variables are called {name}"));
            }
        }
        if statements.contains('\0') {
            return Err("a NUL byte in the text".into());
        }
        Ok(ScalarFunction { name: name.into(), params, results, result, statements: statements.into() })
    }

    /// The dtypes of its arguments.
    pub fn params(&self) -> impl ExactSizeIterator<Item = DType> {
        self.params.iter().map(|(_, dtype)| *dtype)
    }

    /// The dtype of its result.
    pub fn result(&self) -> DType {
        self.results[self.result].1
    }

    /// A guess at its cost in flops: one for an operator, ten for a call.
    pub fn flops(&self) -> u32 {
        let costs = self.statements.chars().map(|c| match c {
            '+' | '-' | '*' | '/' | '%' | '<' | '>' | '?' => 1,
            '(' => 10,
            _ => 0,
        });
        costs.sum::<u32>().max(1)
    }

    /// Whether it computes with float64.
    pub fn uses_f64(&self) -> bool {
        let typed = self.params.iter().chain(&self.results).any(|(_, dtype)| *dtype == DType::F64);
        typed || self.statements.contains("f64") || self.statements.contains("double")
    }

    /// Its name in a text: functions that differ have different ones.
    pub(crate) fn symbol(&self) -> String {
        let valid: String = self.name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let content =
            format!("{:?}", (&self.name, &self.params, &self.results, self.result, &self.statements));
        format!("user_{valid}_{:016x}", fnv1a(content.as_bytes()))
    }

    /// Its definition. Lines of the statements keep their numbers, in a file of the function's name.
    pub(crate) fn definition(&self, dialect: Dialect) -> String {
        let specifier = match dialect {
            Dialect::OpenClC => "static inline",
            Dialect::CudaCpp => "static __device__ __forceinline__",
        };
        let params: Vec<String> =
            self.params.iter().map(|(name, dtype)| format!("{} {name}", dtype.register().short())).collect();
        let results: Vec<String> = self
            .results
            .iter()
            .map(|(name, dtype)| format!("    {} {name};\n", dtype.register().short()))
            .collect();
        let (symbol, returned) = (self.symbol(), &self.results[self.result]);
        let file: String =
            self.name.chars().filter(|c| !matches!(c, '"' | '\\') && !c.is_control()).collect();
        format!(
            "{specifier} {} {symbol}({})\n{{\n{}#line 1 \"{file}\"\n{};\n    return {};\n}}\n",
            returned.1.register().short(),
            params.join(", "),
            results.concat(),
            self.statements,
            returned.0
        )
    }
}
