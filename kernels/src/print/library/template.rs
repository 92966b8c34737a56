//! Kernels of library ops from files in the dialect of users' kernels (see the crate's README), in which
//! `$word` stands for what differs between plans: types, sizes of groups, expressions.

use super::{LaunchArg, OperandPart, RoutineLaunch, RoutineWriter, Size};
use crate::dtype::DType;
use crate::print::{Target, keywords, prelude};
use std::fmt::Display;

/// A type and the part of an operand that has such elements.
pub(super) type TypedPart = (DType, OperandPart);

/// An operand by its name in a kernel's text.
pub(super) type NamedPart<'a> = (&'a str, TypedPart);

/// A kernel's text, and the launches that share it.
pub(super) struct KernelTemplate<'a> {
    pub(super) name: &'a str,
    pub(super) group: u64,
    pub(super) operands: &'a [NamedPart<'a>],
    pub(super) sizes: &'a [Size],
    /// The file, with its words filled in.
    pub(super) text: &'a str,
}

/// What the files use beside the dialect: name, in OpenCL C, in CUDA C++. Atomic operations return what was
/// there.
const FUNCTIONS: &[(&str, &str, &str)] = &[
    ("ATOMIC_ADD(at, x)", "atomic_add((at), (x))", "atomicAdd((at), (x))"),
    ("ATOMIC_MAX(at, x)", "atomic_max((at), (x))", "atomicMax((at), (x))"),
    ("ATOMIC_MIN(at, x)", "atomic_min((at), (x))", "atomicMin((at), (x))"),
    ("ATOMIC_OR(at, x)", "atomic_or((at), (x))", "atomicOr((at), (x))"),
    ("ATOMIC_EXCHANGE_IF(at, old, x)", "atomic_cmpxchg((at), (old), (x))", "atomicCAS((at), (old), (x))"),
    ("FLOAT_BITS(x)", "as_uint(x)", "__float_as_uint(x)"),
    ("BITS_FLOAT(x)", "as_float(x)", "__uint_as_float(x)"),
    ("LEADING_ZEROS(x)", "clz(x)", "__clz((int)(x))"),
    ("LDEXP(x, n)", "ldexp((x), (n))", "ldexpf((x), (n))"),
];

/// How a kernel begins in its file.
const HEAD: &str = "KERNEL void $name($parameters)\n{\n";

/// A text with these words filled in, also in what they stand for. Other words are filled in later.
pub(super) fn fill(text: &str, words: &[(&str, &dyn Display)]) -> String {
    let mut pieces = text.split('$');
    let mut filled = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let end = piece.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(piece.len());
        let (word, rest) = piece.split_at(end);
        match words.iter().find(|(known, _)| *known == word) {
            Some((_, meaning)) => filled += &fill(&meaning.to_string(), words),
            None => filled.extend(["$", word]),
        }
        filled += rest;
    }
    filled
}

/// A text without the lines that its conditions exclude. A kernel is compiled when it is first needed, so its
/// text has only what it uses. Conditions are `#if` and `#elif` of `0`, `1`, `!0` or `!1`, without
/// indentation.
fn without_excluded(text: &str) -> String {
    // Of each open condition: whether its lines are in, and whether some of an earlier branch were.
    let mut open: Vec<(bool, bool)> = vec![];
    let mut kept = String::new();
    for line in text.lines() {
        let holds = line.ends_with(" 1") || line.ends_with(" !0");
        debug_assert!(
            !line.trim_start().starts_with("#if") && !line.trim_start().starts_with("#elif")
                || holds
                || line.ends_with(" 0")
                || line.ends_with(" !1"),
            "a condition that is not known: {line}"
        );
        match line.split(' ').next().unwrap_or_default() {
            "#if" => open.push((holds, false)),
            word @ ("#elif" | "#else") => {
                if let Some((is_in, was_in)) = open.last_mut() {
                    *was_in |= *is_in;
                    *is_in = !*was_in && (holds || word == "#else");
                }
            }
            "#endif" => drop(open.pop()),
            _ if open.iter().all(|branch| branch.0) => kept.extend([line, "\n"]),
            _ => {}
        }
    }
    kept
}

/// A translation unit of kernels, and functions that they call: before them stands what they use of the
/// dialect.
pub(super) fn unit(target: &Target, f64: bool, kernels: &str) -> String {
    debug_assert!(!kernels.contains('$'), "a word that nothing fills in: {kernels}");
    let kernels = &without_excluded(kernels);
    let (dialect, uses) = (target.dialect, |word: &str| kernels.contains(word));
    let mut macros = String::new();
    let mut define = |name: &str, meaning: &str| macros += &format!("#define {name} {meaning}\n");
    keywords::define(&mut define, &uses, dialect, keywords::KEYWORDS);
    keywords::define(&mut define, &uses, dialect, FUNCTIONS);
    for dtype in DType::REAL {
        keywords::access(&mut define, &uses, dialect, dtype.short(), dtype);
    }
    let text = macros + kernels;
    dialect.head(f64, target.fast) + &prelude::prelude(target, f64, &text) + &text
}

impl RoutineWriter<'_> {
    /// Adds a kernel, unless it is there, and its launch.
    pub(super) fn add(&mut self, groups: u64, kernel: &KernelTemplate<'_>) {
        let name = self.declare(kernel);
        let operands = kernel.operands.iter().map(|(_, (_, part))| LaunchArg::Memory(*part));
        let args = operands.chain(kernel.sizes.iter().map(|size| LaunchArg::Scalar(size.1))).collect();
        let (grid, group) = ([groups, 1, 1], [kernel.group as u32, 1, 1]);
        self.launches.push(RoutineLaunch { name, grid, group, args, waits: true });
    }

    /// Adds a kernel, unless it is there; returns its name. A kernel that only other sizes launch belongs to
    /// the text of all sizes too.
    pub(super) fn declare(&mut self, kernel: &KernelTemplate<'_>) -> String {
        let dialect = self.target.dialect;
        let names = |name: &str| [name.to_string(), format!("{name}_byte")];
        let operands =
            kernel.operands.iter().map(|&(name, (dtype, part))| (names(name), dtype, part.written));
        let sizes = kernel.sizes.iter().map(|(name, n)| format!("const {} {name}", n.dtype().short()));
        let pointers =
            operands.clone().map(|(names, dtype, written)| dialect.parameter(dtype, written, &names));
        let parameters: Vec<String> = pointers.chain(sizes).collect();
        let starts = operands.filter_map(|(names, dtype, written)| dialect.start(dtype, written, &names));
        let begin: String = dialect
            .begin()
            .map(str::to_string)
            .into_iter()
            .chain(starts)
            .map(|line| format!("    {line}\n"))
            .collect();
        let head = format!(
            "{}({})\n{{\n{begin}",
            dialect.kernel("$name", kernel.group as u32),
            parameters.join(", ")
        );
        debug_assert!(kernel.text.contains(HEAD), "{} has another head", kernel.name);
        let text = fill(&kernel.text.replacen(HEAD, &head, 1), &[("group", &kernel.group)]);
        let key = format!("{} {text}", kernel.name);
        if let Some((_, name)) = self.defined.iter().find(|(known, _)| *known == key) {
            return name.clone();
        }
        let name = format!("{}{}", kernel.name, self.defined.len());
        self.kernels.push((name.clone(), format!("\n{}", fill(&text, &[("name", &name)]))));
        self.defined.push((key, name.clone()));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_filled_in() {
        let words: [(&str, &dyn Display); 2] = [("group", &64), ("put", &"y[$at] = $group;")];
        assert_eq!(fill("$put $name $groups", &words), "y[$at] = 64; $name $groups");
    }

    #[test]
    fn excluded_lines_are_left_out() {
        let text = "#if $a\na\n#elif $b\nb\n#if !$a\nc\n#else\nd\n#endif\n#else\ne\n#endif\nf\n";
        let lines = |a: u8, b: u8| without_excluded(&fill(text, &[("a", &a), ("b", &b)])).replace('\n', "");
        assert_eq!([(0, 0), (0, 1), (1, 0), (1, 1)].map(|(a, b)| lines(a, b)), ["ef", "bcf", "af", "af"]);
    }
}
