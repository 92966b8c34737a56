//! NumPy's `.npy` files, versions 1 to 3: C and Fortran order, both byte orders, every dtype of the library.
//!
//! NumPy has no bfloat16 of its own: as `ml_dtypes` does, it is written as two raw bytes an element (`<V2`), which read
//! back with `.view(ml_dtypes.bfloat16)`.
//!
//! A header is not trusted. What it claims must be exactly what the file holds; memory is taken for what is there, never
//! for what is claimed.

use crate::report::{Failure, Result, While};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use workalike::value::{checked_len, row_major};
use workalike::{DType, Value};

const MAGIC: &[u8] = b"\x93NUMPY";
/// NumPy itself refuses headers above 10,000 bytes.
const MAX_HEADER: usize = 1 << 16;
/// NumPy has no arrays of more axes.
const MAX_AXES: usize = 64;
const ALIGNMENT: usize = 64;

/// What a header says.
#[derive(Debug, PartialEq)]
struct Header {
    dtype: DType,
    big_endian: bool,
    fortran: bool,
    shape: Vec<usize>,
}

/// Reads an array.
pub(crate) fn read(path: &Path) -> Result<Value> {
    let bytes = fs::read(path).during(path.display())?;
    decode(bytes).map_err(Failure::new).during(path.display())
}

/// How many axes an array has, by its header; `None` if that cannot be read.
pub(crate) fn axes(path: &Path) -> Option<usize> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(MAX_HEADER as u64 + 16).read_to_end(&mut head).ok()?;
    Some(read_header(&head).ok()?.0.shape.len())
}

/// Writes an array, in C order and little-endian.
pub(crate) fn write(path: &Path, value: &Value) -> Result<()> {
    let whole = value.contiguous()?;
    let head = header(value.dtype(), value.shape());
    let mut file = File::create(path).during(path.display())?;
    file.write_all(&head).during(path.display())?;
    file.write_all(whole.contiguous_bytes().unwrap_or(&[])).during(path.display())
}

fn header(dtype: DType, shape: &[usize]) -> Vec<u8> {
    let kind = match dtype {
        DType::Bool => "|b1".to_string(),
        DType::BF16 => "<V2".to_string(),
        d => {
            let order = if d.size() == 1 { '|' } else { '<' };
            let letter = if d.is_float() {
                'f'
            } else if d.is_signed() {
                'i'
            } else {
                'u'
            };
            format!("{order}{letter}{}", d.size())
        }
    };
    let shape = workalike::error::shape_text(shape);
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    // Magic, version, length and text with its newline end where elements may start.
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

fn decode(bytes: Vec<u8>) -> Result<Value, String> {
    let (header, start) = read_header(&bytes)?;
    let Header { dtype, big_endian, fortran, shape } = header;
    let len = checked_len(&shape, dtype).map_err(|e| e.to_string())?;
    let (expected, given) = (len * dtype.size(), bytes.len() - start);
    if given != expected {
        let what = workalike::error::array_text(dtype, &shape);
        let why = if given < expected {
            "truncated"
        } else {
            "there is more than one array in it, or it is damaged"
        };
        return Err(format!("{why}: {what} takes {expected} bytes, the file has {given}"));
    }
    let mut bytes = bytes;
    if big_endian {
        bytes[start..].chunks_exact_mut(dtype.size()).for_each(<[u8]>::reverse);
    }
    let read = || -> workalike::Result<Value> {
        if !fortran {
            return Value::from_bytes(dtype, &shape, &bytes[start..]);
        }
        let reversed: Vec<usize> = shape.iter().rev().copied().collect();
        let strides: Vec<isize> = row_major(&reversed).into_iter().rev().collect();
        Value::from_bytes(dtype, &reversed, &bytes[start..])?.view_as(&shape, &strides, 0)?.contiguous()
    };
    read().map_err(|e| e.to_string())
}

/// The header, and where the elements start.
fn read_header(bytes: &[u8]) -> Result<(Header, usize), String> {
    if !bytes.starts_with(MAGIC) {
        return Err("this is not a .npy file".into());
    }
    let cut = || "truncated in the header".to_string();
    let field = |at: usize, size: usize| -> Result<usize, String> {
        let bytes = bytes.get(at..at + size).ok_or_else(cut)?;
        Ok(bytes.iter().rev().fold(0, |n, &b| n << 8 | usize::from(b)))
    };
    let (length, start) = match field(MAGIC.len(), 1)? {
        1 => (field(8, 2)?, 10),
        2 | 3 => (field(8, 4)?, 12),
        other => return Err(format!("version {other} of the .npy format is not known; 1 to 3 are")),
    };
    if length > MAX_HEADER {
        return Err(format!("a header of {length} bytes, more than any array needs"));
    }
    let text = bytes.get(start..start + length).ok_or_else(cut)?;
    let text = std::str::from_utf8(text).map_err(|_| "the header is not text".to_string())?;
    Ok((Literal { rest: text }.header()?, start + length))
}

fn element_type(descr: &str) -> Result<(DType, bool), String> {
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
        "V2" | "bfloat16" => DType::BF16,
        _ => {
            let known: Vec<&str> = DType::ALL.iter().map(|d| d.name()).collect();
            return Err(format!("elements of type '{descr}' are not supported; {} are", known.join(", ")));
        }
    };
    Ok((dtype, order == '>'))
}

/// Reads the one Python literal that a header is: a dict of three keys.
struct Literal<'a> {
    rest: &'a str,
}

impl<'a> Literal<'a> {
    fn header(mut self) -> Result<Header, String> {
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

    fn expect(&mut self, c: char) -> Result<(), String> {
        if self.eat(c) { Ok(()) } else { Err(format!("the header is damaged: no '{c}' where one must be")) }
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let rest = self.rest.trim_start();
        let quoted = rest.chars().next().filter(|q| matches!(q, '\'' | '"'));
        let text = quoted.and_then(|quote| rest[1..].split_once(quote));
        let (text, rest) = text.ok_or("the header is damaged: no text where one must be")?;
        self.rest = rest;
        Ok(text)
    }

    fn descr(&mut self) -> Result<&'a str, String> {
        match self.rest.trim_start().chars().next() {
            Some('[' | '(') => Err("structured elements are not supported".into()),
            _ => self.string(),
        }
    }

    fn truth(&mut self) -> Result<bool, String> {
        let rest = self.rest.trim_start();
        let truth = [("True", true), ("False", false)].into_iter();
        let mut found = truth.filter_map(|(word, truth)| Some((truth, rest.strip_prefix(word)?)));
        let (truth, rest) =
            found.next().ok_or("the header is damaged: fortran_order is neither True nor False")?;
        self.rest = rest;
        Ok(truth)
    }

    fn tuple(&mut self) -> Result<Vec<usize>, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn file(version: u8, text: &str, data: &[u8]) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        file.extend([version, 0]);
        match version {
            1 => file.extend((text.len() as u16).to_le_bytes()),
            _ => file.extend((text.len() as u32).to_le_bytes()),
        }
        file.extend(text.as_bytes());
        file.extend(data);
        file
    }

    fn dict(descr: &str, fortran: &str, shape: &str) -> String {
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
    }

    #[test]
    fn what_is_written_reads_back() {
        for dtype in DType::ALL {
            for shape in [vec![], vec![3], vec![2, 3], vec![0, 4]] {
                let len: usize = shape.iter().product();
                let counting = Value::from((0..len as u8).collect::<Vec<u8>>());
                let value = counting.cast(dtype).unwrap().reshaped(&shape).unwrap();
                let mut bytes = header(dtype, &shape);
                assert_eq!(bytes.len() % ALIGNMENT, 0);
                bytes.extend(value.contiguous_bytes().unwrap());
                assert_eq!(decode(bytes).unwrap(), value);
            }
        }
    }

    #[test]
    fn versions_orders_and_spellings() {
        let want = Value::from_vec(&[2, 3], vec![0i16, 1, 2, 3, 4, 5]).unwrap();
        let little: Vec<u8> = (0..6i16).flat_map(i16::to_le_bytes).collect();
        let big: Vec<u8> = (0..6i16).flat_map(i16::to_be_bytes).collect();
        let columns: Vec<u8> = [0, 3, 1, 4, 2, 5i16].into_iter().flat_map(i16::to_be_bytes).collect();
        for version in 1..=3 {
            assert_eq!(decode(file(version, &dict("<i2", "False", "(2, 3)"), &little)).unwrap(), want);
        }
        assert_eq!(decode(file(1, &dict(">i2", "False", "(2, 3)"), &big)).unwrap(), want);
        assert_eq!(decode(file(2, &dict(">i2", "True", "(2, 3)"), &columns)).unwrap(), want);
        let other = "{\"shape\":(2L,3L),\"fortran_order\":False,\"descr\":\"=i2\"}";
        assert_eq!(decode(file(1, other, &little)).unwrap(), want);
        let halves = decode(file(1, &dict("<V2", "False", "(1,)"), &[0x80, 0x3f])).unwrap();
        assert_eq!((halves.dtype(), halves.to_f64s()), (DType::BF16, vec![1.0]));
        assert_eq!(
            decode(file(1, &dict("|b1", "False", "(3,)"), &[0, 1, 7])).unwrap().to_f64s(),
            [0.0, 1.0, 1.0]
        );
    }

    #[test]
    fn claims_are_checked() {
        for (text, data, word) in [
            (dict("<f4", "False", "(4,)"), &[0; 15][..], "truncated"),
            (dict("<f4", "False", "(4,)"), &[0; 17], "more than one array"),
            (dict("<f8", "False", "(9999999999999999, 9999999999999999)"), &[], "address space"),
            (dict("<f8", "False", "(99999999999999999999999,)"), &[], "tuple"),
            (dict("<f8", "False", "(-1,)"), &[], "tuple"),
            (dict("<f8", "Maybe", "(1,)"), &[0; 8], "fortran_order"),
            (dict("<c8", "False", "(1,)"), &[0; 8], "'<c8'"),
            (dict("|O", "False", "(1,)"), &[0; 8], "'|O'"),
            (dict("é", "False", "(1,)"), &[0; 8], "'é'"),
            (
                "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}".into(),
                &[0; 4],
                "structured",
            ),
            ("{'descr': '<f4'}".into(), &[], "lacks"),
            ("{'descr': '<f4', 'descr': '<f4'}".into(), &[], "twice"),
            ("{'descr".into(), &[], "damaged"),
            ("{'surprise': 1}".into(), &[], "unknown key"),
            (format!("{}{{", dict("<f4", "False", "()")), &[0; 4], "after its end"),
            (dict("<f4", "False", &format!("({})", "1,".repeat(100))), &[0; 4], "axes"),
        ] {
            let error = decode(file(1, &text, data)).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
        assert!(decode(b"hello".to_vec()).unwrap_err().contains("not a .npy"));
        assert!(decode(file(7, "", &[])).unwrap_err().contains("version 7"));
        let mut long = MAGIC.to_vec();
        long.extend([2, 0, 0xff, 0xff, 0xff, 0xff]);
        assert!(decode(long).unwrap_err().contains("more than any array needs"));
    }

    #[test]
    fn no_prefix_of_a_file_panics() {
        let whole = file(1, &dict("<f4", "False", "(2, 2)"), &[0; 16]);
        for cut in 0..whole.len() {
            assert!(decode(whole[..cut].to_vec()).is_err());
        }
        assert!(decode(whole).is_ok());
    }
}
