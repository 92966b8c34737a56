//! The kernels of a source text, and the types of their parameters.

use crate::dtype::DType;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

/// A kernel of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSignature {
    /// Its name.
    pub name: String,
    /// Its parameters, in order.
    pub params: Vec<Param>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// What it takes.
    pub kind: ParamKind,
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// An array: a pointer to elements in global memory. `None` for a type that is no dtype, such as
    /// `float4`; it takes arrays of any dtype.
    Array {
        /// The dtype of the elements.
        dtype: Option<DType>,
        /// Whether the kernel may write to them: the elements are not `const`.
        written: bool,
    },
    /// A number.
    Scalar(DType),
    /// Memory of each group, whose size is given at the launch.
    Local,
}

impl fmt::Display for ParamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamKind::Array { dtype, written } => {
                let elements = dtype.map_or("any dtype".into(), |dtype| dtype.to_string());
                write!(f, "an array of {elements}{}", if *written { " to write" } else { "" })
            }
            ParamKind::Scalar(dtype) => write!(f, "a number of {dtype}"),
            ParamKind::Local => f.write_str("bytes of local memory"),
        }
    }
}

/// Why a source is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct SourceError {
    /// The line in the source, from 1 on.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// A kernel in the text: its signature, and the places that are rewritten for a device.
#[derive(Clone, Debug)]
pub(super) struct KernelText {
    pub(super) signature: KernelSignature,
    /// Where its parameters are, in order.
    pub(super) params: Vec<ParamText>,
    /// Just behind the brace that opens the body.
    pub(super) body: usize,
}

/// Where a parameter is in the text.
#[derive(Clone, Debug)]
pub(super) struct ParamText {
    /// All of it.
    pub(super) all: Range<usize>,
    pub(super) name: Range<usize>,
}

/// The words before a kernel's return type.
const MARKS: [&str; 4] = ["KERNEL", "__global__", "__kernel", "kernel"];
/// The dialect's attribute of kernels.
const BOUNDS: &str = "LAUNCH_BOUNDS";
const GLOBAL: [&str; 3] = ["GLOBAL_MEM", "__global", "global"];
const LOCAL: [&str; 4] = ["LOCAL_MEM_ARG", "LOCAL_MEM", "__local", "local"];
/// Qualifiers that do not affect the type.
const QUALIFIERS: [&str; 9] = [
    "const",
    "volatile",
    "restrict",
    "RESTRICT",
    "__restrict__",
    "__restrict",
    "register",
    "__constant",
    "struct",
];

/// The text with comments, strings and preprocessor lines replaced by spaces, byte for byte.
pub(super) fn code_of(text: &str) -> Vec<u8> {
    let mut code = text.as_bytes().to_vec();
    let mut at = 0;
    let blank = |code: &mut [u8], range: Range<usize>| {
        code[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    };
    let find = |from: usize, what: &str| text.get(from..)?.find(what).map(|found| from + found + what.len());
    while at < code.len() {
        let end = match (code[at], code.get(at + 1)) {
            (b'/', Some(b'/')) => line_end(text, at),
            (b'/', Some(b'*')) => find(at + 2, "*/").unwrap_or(text.len()),
            (b'#', _) => line_end(text, at),
            (quote @ (b'"' | b'\''), _) => literal_end(&code, at, quote),
            _ => {
                at += 1;
                continue;
            }
        };
        blank(&mut code, at..end);
        at = end;
    }
    code
}

/// The end of a line, with the lines that backslashes continue.
fn line_end(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    while at < bytes.len() && (bytes[at] != b'\n' || bytes[at - 1] == b'\\') {
        at += 1;
    }
    at
}

fn literal_end(code: &[u8], from: usize, quote: u8) -> usize {
    let mut at = from + 1;
    while at < code.len() && code[at] != quote && code[at] != b'\n' {
        at += if code[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(code.len())
}

/// The kernels of a text. `known` gives the dtype of a type's name that only this source has.
pub(super) fn kernels(
    text: &str,
    known: &dyn Fn(&str) -> Option<DType>,
) -> Result<Vec<KernelText>, SourceError> {
    let code = code_of(text);
    let reader = SignatureParser { code: &code, known, closing: brackets(&code) };
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = reader.word(at) {
        at = word.end;
        if MARKS.contains(&reader.text(&word)) {
            let kernel = reader.kernel(at)?;
            at = kernel.as_ref().map_or(at, |kernel| kernel.body);
            found.extend(kernel);
        }
    }
    Ok(found)
}

/// The line of a byte, from 1 on.
fn line_of(code: &[u8], at: usize) -> usize {
    code[..at.min(code.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The closing bracket of each opening one that has one.
fn brackets(code: &[u8]) -> HashMap<usize, usize> {
    let (mut open, mut pairs) = (Vec::new(), HashMap::new());
    for (at, byte) in code.iter().enumerate() {
        match byte {
            b'(' => open.push(at),
            b')' => pairs.extend(open.pop().map(|open| (open, at))),
            _ => {}
        }
    }
    pairs
}

struct SignatureParser<'a> {
    code: &'a [u8],
    closing: HashMap<usize, usize>,
    known: &'a dyn Fn(&str) -> Option<DType>,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl SignatureParser<'_> {
    fn error(&self, at: usize, message: impl Into<String>) -> SourceError {
        SourceError { line: line_of(self.code, at), message: message.into() }
    }

    /// The next word from a byte on.
    fn word(&self, from: usize) -> Option<Range<usize>> {
        let start = from + self.code.get(from..)?.iter().position(|byte| is_word(*byte))?;
        let length = self.code[start..].iter().position(|byte| !is_word(*byte));
        Some(start..length.map_or(self.code.len(), |length| start + length))
    }

    fn text(&self, range: &Range<usize>) -> &str {
        // The code is a text in which whole characters outside of comments and strings are as they were; a
        // range that is no text has no meaning in C.
        std::str::from_utf8(&self.code[range.clone()]).unwrap_or("")
    }

    /// The byte of the next character that is no space.
    fn next(&self, from: usize) -> Option<usize> {
        Some(from + self.code.get(from..)?.iter().position(|byte| !byte.is_ascii_whitespace())?)
    }

    /// The byte of the bracket that closes the one at `open`.
    fn closing(&self, open: usize) -> Result<usize, SourceError> {
        let missing = || self.error(open, "expected a closing bracket for this one, found the end");
        self.closing.get(&open).copied().ok_or_else(missing)
    }

    /// The kernel whose mark ends at `from`; `None` for a declaration without a body, or another use of the
    /// word.
    fn kernel(&self, from: usize) -> Result<Option<KernelText>, SourceError> {
        let mut at = from;
        // Attributes with brackets may stand before the name.
        let (name, open) = loop {
            let Some(word) = self.word(at) else { return Ok(None) };
            let between = &self.code[at..word.start];
            if between.iter().any(|byte| !byte.is_ascii_whitespace()) {
                return Ok(None);
            }
            at = word.end;
            let Some(next) = self.next(at) else { return Ok(None) };
            if self.code[next] != b'(' {
                // The words behind another mark are read with that one.
                if MARKS.contains(&self.text(&word)) {
                    return Ok(None);
                }
                continue;
            }
            if !self.text(&word).starts_with("__") && self.text(&word) != BOUNDS {
                break (word, next);
            }
            at = self.closing(next)? + 1;
        };
        let close = self.closing(open)?;
        let Some(body) = self.next(close + 1).filter(|at| self.code[*at] == b'{') else { return Ok(None) };
        let params = self.params(open + 1, close)?;
        let signature = KernelSignature {
            name: self.text(&name).into(),
            params: params.iter().map(|(param, _)| param.clone()).collect(),
        };
        let params = params.into_iter().map(|(_, place)| place).collect();
        Ok(Some(KernelText { signature, params, body: body + 1 }))
    }

    /// The parameters between two bytes, each with its place and that of its name.
    fn params(&self, from: usize, to: usize) -> Result<Vec<(Param, ParamText)>, SourceError> {
        let text = self.text(&(from..to)).trim();
        if text.is_empty() || text == "void" {
            return Ok(vec![]);
        }
        let mut all = Vec::new();
        let mut start = from;
        for at in from..=to {
            if at == to || self.code[at] == b',' {
                all.push(self.param(start..at)?);
                start = at + 1;
            }
        }
        Ok(all)
    }

    fn param(&self, all: Range<usize>) -> Result<(Param, ParamText), SourceError> {
        let mut words = Vec::new();
        let mut at = all.start;
        while let Some(word) = self.word(at).filter(|word| word.end <= all.end) {
            at = word.end;
            words.push(word);
        }
        let refuse = |message: String| Err(self.error(self.next(all.start).unwrap_or(all.start), message));
        let text = self.text(&all).trim().to_string();
        let name = match words.pop() {
            Some(name) if !words.is_empty() => name,
            _ => return refuse(format!("expected the type and the name of a parameter, found `{text}`")),
        };
        let pointers = self.code[all.clone()].iter().filter(|byte| **byte == b'*').count();
        if pointers > 1 || self.code[all.clone()].iter().any(|byte| matches!(byte, b'[' | b'&' | b'<')) {
            let expected = "a number or a pointer to elements; arrays, references and templates are not";
            return refuse(format!("expected {expected}, found `{text}`"));
        }
        let star = self.code[all.clone()].iter().position(|byte| *byte == b'*');
        // A const behind the star is of the pointer, not of the elements.
        let is_const = |word: &Range<usize>| {
            self.text(word) == "const" && star.is_none_or(|star| word.start < all.start + star)
        };
        let written = !words.iter().any(is_const);
        let words: Vec<&str> = words.iter().map(|word| self.text(word)).collect();
        let is = |list: &[&str]| words.iter().any(|word| list.contains(word));
        let of_type =
            |word: &&&str| ![&GLOBAL[..], &LOCAL, &QUALIFIERS].iter().any(|list| list.contains(*word));
        let of_type: Vec<&str> = words.iter().filter(of_type).copied().collect();
        let dtype = dtype_of(&of_type, self.known);
        let kind = match (pointers, dtype) {
            (1, _) if is(&LOCAL) => ParamKind::Local,
            (1, dtype) => ParamKind::Array { dtype, written },
            (_, Some(dtype)) => ParamKind::Scalar(dtype),
            _ => return refuse(format!("expected a number, found `{text}`, of an unknown type")),
        };
        Ok((Param { name: self.text(&name).into(), kind }, ParamText { all, name }))
    }
}

/// The dtype of a type in C, given by its words. On all devices `char` is signed, and `long` has 64 bits.
pub(super) fn dtype_of(words: &[&str], known: &dyn Fn(&str) -> Option<DType>) -> Option<DType> {
    if let [word] = words
        && let Some(dtype) = known(word)
    {
        return Some(dtype);
    }
    Some(match words {
        ["float" | "ga_float"] => DType::F32,
        ["double" | "ga_double"] => DType::F64,
        ["half" | "__half" | "ga_half"] => DType::F16,
        ["__nv_bfloat16"] => DType::BF16,
        ["bool" | "ga_bool"] => DType::Bool,
        ["char" | "int8_t" | "ga_byte"] | ["signed", "char"] => DType::I8,
        ["uchar" | "uint8_t" | "ga_ubyte"] | ["unsigned", "char"] => DType::U8,
        ["short" | "int16_t" | "ga_short"] | ["signed", "short"] => DType::I16,
        ["ushort" | "uint16_t" | "ga_ushort"] | ["unsigned", "short"] => DType::U16,
        ["int" | "signed" | "int32_t" | "ga_int"] | ["signed", "int"] => DType::I32,
        ["unsigned" | "uint" | "uint32_t" | "ga_uint"] | ["unsigned", "int"] => DType::U32,
        ["long" | "int64_t" | "ptrdiff_t" | "ssize_t" | "ga_long" | "ga_ssize"]
        | ["long", "long" | "int"]
        | ["signed", "long"]
        | ["long", "long", "int"] => DType::I64,
        ["ulong" | "uint64_t" | "size_t" | "ga_ulong" | "ga_size"]
        | ["unsigned", "long"]
        | ["unsigned", "long", "long" | "int"]
        | ["unsigned", "long", "long", "int"] => DType::U64,
        [word] => DType::REAL.into_iter().find(|dtype| dtype.short() == *word)?,
        _ => return None,
    })
}
