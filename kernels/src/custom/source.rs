//! The text of a source for a device.

use super::dialect;
use super::function::is_identifier;
use super::interpret::{self, MachineProgram};
use super::signature::{KernelSignature, KernelText, ParamKind, ParamText, SourceError, code_of, kernels};
use crate::dtype::DType;
use crate::print::{Dialect, Target, expr};
use crate::scalar::Scalar;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The language of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// Both of the others, by the keywords of the dialect.
    Dialect,
    /// OpenCL C.
    OpenClC,
    /// CUDA C++, compiled by NVRTC.
    CudaCpp,
}

/// Bytes of a text at most.
const LONGEST: usize = 1 << 22;

/// A text with kernels. Its signatures are read when it is made; it is compiled when a device needs it.
#[derive(Clone, Debug)]
pub struct KernelSource {
    language: Language,
    text: String,
    /// Dtypes by the name of a type parameter.
    types: Vec<(String, DType)>,
    /// Arrays of numbers in constant memory, by name.
    constants: Vec<(String, Vec<Scalar>)>,
    kernels: Vec<KernelText>,
    /// Compiled for main memory, once that is asked for.
    program: OnceLock<Result<Arc<MachineProgram>, SourceError>>,
}

/// The dtype that a word means by a type parameter: `type_x` or `work_x`.
fn type_parameter(types: &[(String, DType)], word: &str) -> Option<DType> {
    let (kind, name) = word.split_once('_')?;
    let dtype = types.iter().find(|(known, _)| known == name)?.1;
    match kind {
        "type" => Some(dtype),
        "work" => Some(dtype.register()),
        _ => None,
    }
}

impl KernelSource {
    /// A text. `types` are the type parameters of a text in the dialect: for `("x", dtype)` it may use
    /// `type_x`, the type in memory; `work_x`, the type to compute in, which is `f32` for halves; and
    /// `load_x(pointer, index)` and `store_x(pointer, index, value)`.
    ///
    /// # Errors
    /// If the text has no kernel, or a kernel has a parameter that is neither a number nor a pointer to
    /// elements.
    pub fn new(
        language: Language,
        text: impl Into<String>,
        types: &[(&str, DType)],
    ) -> Result<KernelSource, SourceError> {
        let text = text.into();
        let types: Vec<(String, DType)> =
            types.iter().map(|(name, dtype)| ((*name).into(), *dtype)).collect();
        let refuse = |message: &str| Err(SourceError { line: 1, message: message.into() });
        if text.len() > LONGEST {
            return refuse(&format!("the text is longer than {LONGEST} bytes"));
        }
        if text.contains('\0') {
            return refuse("expected text, found a NUL byte");
        }
        let kernels = kernels(&text, &|word| type_parameter(&types, word))?;
        if kernels.is_empty() {
            return refuse("expected a kernel: KERNEL void name(..) {..}, found none");
        }
        Ok(KernelSource { language, text, types, constants: vec![], kernels, program: OnceLock::new() })
    }

    /// A text in the dialect, which compiles for OpenCL and CUDA, and runs on the host. See
    /// [`KernelSource::new`].
    ///
    /// # Errors
    /// As [`KernelSource::new`].
    pub fn dialect(text: impl Into<String>) -> Result<KernelSource, SourceError> {
        KernelSource::new(Language::Dialect, text, &[])
    }

    /// With an array of numbers in constant memory, which every kernel of the text can read by this name
    /// (CUDA has room for 64 KiB). Its elements are a part of the compiled text.
    ///
    /// # Errors
    /// If the name is none of C or is taken, there are no numbers, or they differ in dtype or are halves.
    pub fn constant<T: Into<Scalar> + Copy>(
        mut self,
        name: &str,
        numbers: &[T],
    ) -> Result<KernelSource, SourceError> {
        let numbers: Vec<Scalar> = numbers.iter().map(|&number| number.into()).collect();
        let refuse = |message: String| Err(SourceError { line: 1, message });
        let Some(dtype) = numbers.first().map(|number| number.dtype()) else {
            return refuse(format!("constant {name}: expected numbers, found none"));
        };
        if !is_identifier(name) || self.constants.iter().any(|(known, _)| known == name) {
            return refuse(format!("constant {name}: expected a name of C that is not taken"));
        }
        if numbers.iter().any(|number| !number.to_f64().is_finite()) {
            return refuse(format!("constant {name}: expected finite numbers"));
        }
        if dtype.is_half() || numbers.iter().any(|number| number.dtype() != dtype) {
            return refuse(format!(
                "constant {name}: expected numbers of one dtype that C has, found {dtype}"
            ));
        }
        self.constants.push((name.into(), numbers));
        self.program = OnceLock::new();
        Ok(self)
    }

    /// The arrays in constant memory.
    pub fn constants(&self) -> &[(String, Vec<Scalar>)] {
        &self.constants
    }

    /// The definitions of the arrays in constant memory.
    fn definitions(&self, dialect: Dialect) -> String {
        let space = if dialect == Dialect::OpenClC { "__constant" } else { "__constant__" };
        let definition = |(name, numbers): &(String, Vec<Scalar>)| {
            let dtype = numbers.first().map_or(DType::U8, |number| number.dtype());
            let element = if dtype == DType::Bool { "unsigned char" } else { c_type(dialect, dtype) };
            let list: Vec<String> = numbers.iter().map(|number| c_number(dialect, *number)).collect();
            format!("{space} {element} {name}[{}] = {{{}}};\n", numbers.len(), list.join(", "))
        };
        self.constants.iter().map(definition).collect()
    }

    /// The language.
    pub fn language(&self) -> Language {
        self.language
    }

    /// The text, as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The type parameters.
    pub fn types(&self) -> &[(String, DType)] {
        &self.types
    }

    /// The dtype that a word of the text means by a type parameter.
    pub(super) fn type_parameter(&self, word: &str) -> Option<DType> {
        type_parameter(&self.types, word)
    }

    /// The text compiled for main memory. It is in the dialect.
    pub(super) fn program(&self) -> Result<Arc<MachineProgram>, SourceError> {
        self.program.get_or_init(|| interpret::compiled(self).map(Arc::new)).clone()
    }

    /// The kernels, in the order of the text.
    pub fn signatures(&self) -> impl Iterator<Item = &KernelSignature> {
        self.kernels.iter().map(|kernel| &kernel.signature)
    }

    /// The kernel of this name.
    pub fn signature(&self, name: &str) -> Option<&KernelSignature> {
        self.signatures().find(|signature| signature.name == name)
    }

    /// Whether a compiler of this language takes the text.
    pub fn is_for(&self, dialect: Dialect) -> bool {
        match self.language {
            Language::Dialect => true,
            Language::OpenClC => dialect == Dialect::OpenClC,
            Language::CudaCpp => dialect == Dialect::CudaCpp,
        }
    }

    /// The text to compile for a target; `None` if it is in the other language. Lines keep their numbers.
    ///
    /// In OpenCL C a pointer cannot point into the middle of a buffer, so that each array parameter is
    /// followed by the byte at which it starts, which the kernel adds first. In CUDA C++ memory of a group is
    /// no parameter: it is a part of the dynamic shared memory.
    pub fn printed(&self, target: &Target) -> Option<String> {
        if !self.is_for(target.dialect) {
            return None;
        }
        let opencl = target.dialect == Dialect::OpenClC;
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        let code = code_of(&self.text);
        for kernel in &self.kernels {
            let mut first = String::new();
            for (param, ParamText { all, name }) in kernel.signature.params.iter().zip(&kernel.params) {
                let words = without_name(&code, all, name);
                let blanks = code[all.clone()].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                let start = all.start + blanks;
                match param.kind {
                    ParamKind::Array { written, .. } if opencl => {
                        let space = if self.language == Language::Dialect && !is_global(&words) {
                            edits.push((start..start, "__global ".into()));
                            "__global "
                        } else {
                            ""
                        };
                        edits.push((name.end..name.end, format!(", const ulong byte_{}", param.name)));
                        let (name, constant) = (&param.name, if written { "" } else { "const " });
                        let bytes = format!("(__global {constant}char*)");
                        first += &format!(" {name} = ({space}{words})({bytes}{name} + byte_{name});");
                    }
                    ParamKind::Local if !opencl => {
                        edits.push((start..name.end, format!("const unsigned int byte_{}", param.name)));
                        let (name, words) = (&param.name, without_space(&words));
                        first += &format!(" {words} {name} = ({words})(workalike_local + byte_{name});");
                    }
                    _ => {}
                }
            }
            edits.push((kernel.body..kernel.body, first));
        }
        edits.sort_by_key(|(range, _)| range.start);
        let mut text = self.text.clone();
        for (range, new) in edits.iter().rev() {
            text.replace_range(range.clone(), new);
        }
        Some(self.around(target, text))
    }

    /// The text with what stands before and behind it.
    fn around(&self, target: &Target, text: String) -> String {
        const LINE: &str = "#line 1 \"kernels\"\n";
        const LOCAL: &str = "extern __shared__ __align__(16) unsigned char workalike_local[];\n";
        let cuda = target.dialect == Dialect::CudaCpp;
        let definitions = self.definitions(target.dialect);
        match self.language {
            Language::Dialect => {
                // libgpuarray's header of the same keywords.
                let text = text.replace("#include \"cluda.h\"", "");
                let head = dialect::head(target, &self.text, &self.types);
                format!("{head}{definitions}{}{LINE}{text}\n", if cuda { LOCAL } else { "" })
            }
            Language::CudaCpp if !self.text.contains("extern \"C\"") => {
                format!("{definitions}extern \"C\" {{\n{LINE}{text}\n}}\n")
            }
            _ => format!("{definitions}{LINE}{text}\n"),
        }
    }
}

/// The type of a dtype in plain C, since texts in one language have none of the dialect's names.
fn c_type(dialect: Dialect, dtype: DType) -> &'static str {
    match dtype {
        DType::I8 => "signed char",
        DType::U8 | DType::Bool => "unsigned char",
        DType::I16 => "short",
        DType::U16 | DType::F16 | DType::BF16 => "unsigned short",
        DType::I32 => "int",
        DType::U32 => "unsigned int",
        DType::I64 if dialect == Dialect::OpenClC => "long",
        DType::U64 if dialect == Dialect::OpenClC => "unsigned long",
        DType::I64 => "long long",
        DType::U64 => "unsigned long long",
        DType::F32 => "float",
        DType::F64 => "double",
        DType::C64 => "float2",
        DType::C128 => "double2",
    }
}

/// A finite number in plain C.
fn c_number(dialect: Dialect, number: Scalar) -> String {
    let long = if dialect == Dialect::OpenClC { "L" } else { "LL" };
    let value = number.to_i128();
    match number.dtype() {
        dtype if dtype.is_float() => expr::literal(dialect, number),
        DType::I64 if value == i128::from(i64::MIN) => format!("(-{}{long} - 1)", i64::MAX),
        DType::I32 if value == i128::from(i32::MIN) => format!("(-{} - 1)", i32::MAX),
        DType::I64 => format!("{value}{long}"),
        DType::U64 => format!("{value}U{long}"),
        DType::U32 => format!("{value}u"),
        _ => value.to_string(),
    }
}

/// The text of a parameter without its name and comments.
fn without_name(code: &[u8], all: &Range<usize>, name: &Range<usize>) -> String {
    let part = |range: Range<usize>| String::from_utf8_lossy(&code[range]).into_owned();
    format!("{} {}", part(all.start..name.start), part(name.end..all.end)).trim().into()
}

fn is_global(words: &str) -> bool {
    words
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| ["GLOBAL_MEM", "__global", "global"].contains(&word))
}

/// A type without the words for the memory of a group.
fn without_space(words: &str) -> String {
    ["LOCAL_MEM_ARG", "LOCAL_MEM"].iter().fold(words.to_string(), |words, word| words.replace(word, ""))
}
