//! The header of a `.npy` file: a Python dict in text, parsed and written.

use super::NpyError;
use crate::error::shape_text;
use std::io::{ErrorKind, Read};
use workalike_kernels::DType;

pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// NumPy itself refuses headers above 10,000 bytes.
const MAX_HEADER: usize = 1 << 16;
/// NumPy's maximum rank.
const MAX_AXES: usize = 64;
/// Alignment in bytes of the first element within the file.
pub(super) const ALIGNMENT: usize = 64;

type Result<T> = std::result::Result<T, String>;

/// What a header says.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) dtype: DType,
    pub(super) big_endian: bool,
    pub(super) fortran: bool,
    pub(super) shape: Vec<usize>,
}

/// Everything before the elements, for C order and little-endian elements.
pub(super) fn encode(dtype: DType, shape: &[usize]) -> Vec<u8> {
    let kind = match dtype {
        DType::Bool => "|b1".to_string(),
        DType::BF16 => "<V2".to_string(),
        d => {
            let order = if d.size() == 1 { '|' } else { '<' };
            let letter = match d {
                d if d.is_complex() => 'c',
                d if d.is_float() => 'f',
                d if d.is_signed() => 'i',
                _ => 'u',
            };
            format!("{order}{letter}{}", d.size())
        }
    };
    let shape = shape_text(shape);
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    // Magic, version, length and text with its newline end at a multiple of the alignment.
    let longer = MAGIC.len() + 2 + 4 + text.len() + 1 > u16::MAX as usize;
    let before = MAGIC.len() + 2 + if longer { 4 } else { 2 };
    let padding = (before + text.len() + 1).next_multiple_of(ALIGNMENT) - before - text.len() - 1;
    text.push_str(&" ".repeat(padding));
    text.push('\n');
    let mut head = MAGIC.to_vec();
    if longer {
        head.extend([2, 0]);
        head.extend((text.len() as u32).to_le_bytes());
    } else {
        head.extend([1, 0]);
        head.extend((text.len() as u16).to_le_bytes());
    }
    head.extend(text.as_bytes());
    head
}

/// Reads a header from `source`; returns it with its length in bytes.
pub(super) fn read(source: &mut impl Read) -> std::result::Result<(Header, usize), NpyError> {
    let mut fixed = [0; 8];
    source.read_exact(&mut fixed).map_err(|e| match e.kind() {
        ErrorKind::UnexpectedEof => NpyError::from("this is not a .npy file: it has less than 8 bytes"),
        _ => e.into(),
    })?;
    if fixed.starts_with(b"PK") {
        return Err("this is a .npz archive, not a .npy file; read it with npz::load".into());
    }
    if !fixed.starts_with(MAGIC) {
        return Err("this is not a .npy file".into());
    }
    let field = match fixed[6] {
        1 => 2,
        2 | 3 => 4,
        other => return Err(format!("version {other} of the .npy format is not known; 1 to 3 are").into()),
    };
    let mut length = [0; 4];
    source.read_exact(&mut length[..field]).map_err(in_header)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_HEADER {
        return Err(format!("a header of {length} bytes; no array needs more than {MAX_HEADER}").into());
    }
    let mut text = vec![0; length];
    source.read_exact(&mut text).map_err(in_header)?;
    let text = std::str::from_utf8(&text).map_err(|_| "the header is not UTF-8 text".to_string())?;
    Ok((HeaderParser { rest: text }.header()?, 8 + field + length))
}

fn in_header(error: std::io::Error) -> NpyError {
    match error.kind() {
        ErrorKind::UnexpectedEof => "truncated in the header".into(),
        _ => error.into(),
    }
}

/// Dtype and whether it is big-endian.
fn element_type(descr: &str) -> Result<(DType, bool)> {
    let (order, kind) = match descr.chars().next() {
        Some(order @ ('<' | '>' | '|' | '=')) => (order, &descr[1..]),
        _ => ('=', descr),
    };
    let dtype = match kind {
        "b1" => DType::Bool,
        "i1" => DType::I8,
        "i2" => DType::I16,
        "i4" => DType::I32,
        "i8" => DType::I64,
        "u1" => DType::U8,
        "u2" => DType::U16,
        "u4" => DType::U32,
        "u8" => DType::U64,
        "f2" => DType::F16,
        "f4" => DType::F32,
        "f8" => DType::F64,
        "c8" => DType::C64,
        "c16" => DType::C128,
        "V2" | "bfloat16" => DType::BF16,
        _ => {
            let known: Vec<&str> = DType::ALL.iter().map(|d| d.name()).collect();
            return Err(format!("elements of type '{descr}' are not supported; {} are", known.join(", ")));
        }
    };
    Ok((dtype, order == '>'))
}

/// Reads the one Python literal that a header is: a dict of three keys.
struct HeaderParser<'a> {
    rest: &'a str,
}

impl<'a> HeaderParser<'a> {
    fn header(mut self) -> Result<Header> {
        let (mut element, mut fortran, mut shape) = (None, None, None);
        self.expect('{')?;
        while !self.eat('}') {
            let key = self.string()?;
            self.expect(':')?;
            let again = match key {
                "descr" => element.replace(element_type(self.descr()?)?).is_some(),
                "fortran_order" => fortran.replace(self.truth()?).is_some(),
                "shape" => shape.replace(self.tuple()?).is_some(),
                other => return Err(format!("the header has an unknown key '{other}'")),
            };
            if again {
                return Err(format!("the header has '{key}' twice"));
            }
            if !self.eat(',') {
                self.expect('}')?;
                break;
            }
        }
        if !self.rest.trim().is_empty() {
            return Err("the header goes on after its end".into());
        }
        match (element, fortran, shape) {
            (Some((dtype, big_endian)), Some(fortran), Some(shape)) => {
                Ok(Header { dtype, big_endian, fortran, shape })
            }
            _ => Err("the header lacks one of descr, fortran_order and shape".into()),
        }
    }

    fn eat(&mut self, c: char) -> bool {
        let trimmed = self.rest.trim_start();
        let found = trimmed.strip_prefix(c);
        self.rest = found.unwrap_or(trimmed);
        found.is_some()
    }

    fn expect(&mut self, c: char) -> Result<()> {
        if self.eat(c) { Ok(()) } else { Err(format!("the header is damaged: no '{c}' where one must be")) }
    }

    fn string(&mut self) -> Result<&'a str> {
        let rest = self.rest.trim_start();
        let quoted = rest.chars().next().filter(|q| matches!(q, '\'' | '"'));
        let text = quoted.and_then(|quote| rest[1..].split_once(quote));
        let (text, rest) = text.ok_or("the header is damaged: no text where one must be")?;
        self.rest = rest;
        Ok(text)
    }

    fn descr(&mut self) -> Result<&'a str> {
        match self.rest.trim_start().chars().next() {
            Some('[' | '(') => Err("structured elements are not supported".into()),
            _ => self.string(),
        }
    }

    fn truth(&mut self) -> Result<bool> {
        let rest = self.rest.trim_start();
        let truth = [("True", true), ("False", false)].into_iter();
        let mut found = truth.filter_map(|(word, truth)| Some((truth, rest.strip_prefix(word)?)));
        let (truth, rest) =
            found.next().ok_or("the header is damaged: fortran_order is neither True nor False")?;
        self.rest = rest;
        Ok(truth)
    }

    fn tuple(&mut self) -> Result<Vec<usize>> {
        let mut extents = Vec::new();
        self.expect('(')?;
        while !self.eat(')') {
            let rest = self.rest.trim_start();
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let extent =
                rest[..digits].parse().map_err(|_| "the shape is not a tuple of extents".to_string())?;
            // Python 2 wrote long integers with an L.
            self.rest = rest[digits..].strip_prefix('L').unwrap_or(&rest[digits..]);
            extents.push(extent);
            if extents.len() > MAX_AXES {
                return Err(format!("more than {MAX_AXES} axes"));
            }
            if !self.eat(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(extents)
    }
}
