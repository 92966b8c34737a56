//! The section with what Functions ask of their arguments and say of their outputs. It is there only if a Function has such
//! options. A reader that does not know it must refuse the file: calls would mean something else.

use crate::function::{Bundle, CallOptions, Conversion, Function, StateInput};
use std::collections::HashSet;

/// Its kind.
pub(super) const CALL_OPTIONS: u32 = 3;
/// The version of the section that is written, and the newest that is read.
const VERSION: u8 = 1;
/// Bit of an input's byte: it is mutable. The others are the code of its conversion.
const MUTABLE: u8 = 0x80;

/// The section's bytes, if a Function has options.
///
/// Version; number of Functions; of each its name, inputs (one byte each), inputs with a value of their own (optional name,
/// position of the shared variable, conversion) and the positions of borrowed outputs. Numbers are u32, little-endian; text and
/// lists start with their length.
pub(super) fn encode(bundle: &Bundle) -> Option<Vec<u8>> {
    let with_options: Vec<(&str, &Function)> = bundle.iter().filter(|(_, f)| has_options(f)).collect();
    if with_options.is_empty() {
        return None;
    }
    let mut bytes = vec![VERSION];
    let number = |bytes: &mut Vec<u8>, n: usize| bytes.extend((n as u32).to_le_bytes());
    let text = |bytes: &mut Vec<u8>, text: &str| {
        number(bytes, text.len());
        bytes.extend(text.as_bytes());
    };
    number(&mut bytes, with_options.len());
    for (name, function) in with_options {
        let options = function.options();
        text(&mut bytes, name);
        number(&mut bytes, function.inputs().len());
        let flags = |mutable: bool| if mutable { MUTABLE } else { 0 };
        bytes.extend(function.inputs().iter().map(|i| code(i.conversion) | flags(i.mutable)));
        number(&mut bytes, options.states.len());
        for state in &options.states {
            bytes.push(u8::from(state.name.is_some()));
            if let Some(name) = &state.name {
                text(&mut bytes, name);
            }
            number(&mut bytes, state.shared);
            bytes.push(code(state.conversion));
        }
        number(&mut bytes, options.borrowed.len());
        options.borrowed.iter().for_each(|&at| number(&mut bytes, at));
    }
    Some(bytes)
}

fn has_options(function: &Function) -> bool {
    let options = function.options();
    let plain = function.inputs().iter().all(|i| i.conversion == Conversion::default() && !i.mutable);
    !plain || !options.states.is_empty() || !options.borrowed.is_empty()
}

fn code(conversion: Conversion) -> u8 {
    match conversion {
        Conversion::Lossless => 0,
        Conversion::Strict => 1,
        Conversion::Downcast => 2,
    }
}

fn conversion(code: u8) -> Result<Conversion, String> {
    match code {
        0 => Ok(Conversion::Lossless),
        1 => Ok(Conversion::Strict),
        2 => Ok(Conversion::Downcast),
        other => Err(format!("the options of calls are damaged: conversion {other}")),
    }
}

/// Bytes being read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], String> {
        let damaged =
            || format!("the options of calls are damaged: {count} bytes expected, {} left", self.0.len());
        let (bytes, left) = self.0.split_at_checked(count).ok_or_else(damaged)?;
        self.0 = left;
        Ok(bytes)
    }

    fn byte(&mut self) -> Result<u8, String> {
        self.bytes(1).map(|b| b[0])
    }

    fn number(&mut self) -> Result<usize, String> {
        self.bytes(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
    }

    fn text(&mut self) -> Result<&'a str, String> {
        let length = self.number()?;
        std::str::from_utf8(self.bytes(length)?)
            .map_err(|_| "the options of calls are damaged: text is not UTF-8".into())
    }
}

/// The Bundle with the options of a section.
pub(super) fn decode(bytes: &[u8], mut bundle: Bundle) -> Result<Bundle, String> {
    let mut from = Reader(bytes);
    let version = from.byte()?;
    if version != VERSION {
        return Err(format!(
            "the options of calls are of version {version}; a newer workalike may read them"
        ));
    }
    let mut seen = HashSet::new();
    for _ in 0..from.number()? {
        let name = from.text()?;
        if !seen.insert(name) {
            return Err(format!("function {name} has options twice"));
        }
        let function = bundle.get(name);
        let with_options = read(&mut from, function).map_err(|m| format!("function {name}: {m}"))?;
        if let Some(function) = with_options {
            bundle = bundle.with(name, &function);
        }
    }
    match from.0.len() {
        0 => Ok(bundle),
        more => Err(format!("the options of calls are damaged: {more} bytes are left over")),
    }
}

/// Reads one Function's options; gives it with them, unless it could not be read itself.
fn read(from: &mut Reader, function: Option<&Function>) -> Result<Option<Function>, String> {
    let count = from.number()?;
    let flags = from.bytes(count)?;
    let mut states: Vec<StateInput> = Vec::new();
    for _ in 0..from.number()? {
        let name = if from.byte()? == 0 { None } else { Some(from.text()?.to_string()) };
        states.push(StateInput { name, shared: from.number()?, conversion: conversion(from.byte()?)? });
    }
    let mut borrowed = Vec::new();
    for _ in 0..from.number()? {
        borrowed.push(from.number()?);
    }
    let Some(function) = function else { return Ok(None) };
    let mut inputs = function.inputs().to_vec();
    if flags.len() != inputs.len() {
        return Err(format!("it has {} inputs, and options for {}", inputs.len(), flags.len()));
    }
    for (input, flags) in inputs.iter_mut().zip(flags) {
        (input.conversion, input.mutable) = (conversion(flags & !MUTABLE)?, flags & MUTABLE != 0);
    }
    check_states(function, &states)?;
    let outputs = function.output_names().len();
    if borrowed.iter().any(|&at| at >= outputs) || borrowed.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err("its options name outputs that it does not have".into());
    }
    Ok(Some(function.with_inputs(inputs).with_options(CallOptions { states, borrowed })))
}

fn check_states(function: &Function, states: &[StateInput]) -> Result<(), String> {
    for (position, state) in states.iter().enumerate() {
        let updated = function.graph().updates.iter().any(|u| u.0 as usize == state.shared);
        let before = &states[..position];
        if !updated || before.iter().any(|s| s.shared == state.shared) {
            return Err(format!("shared variable {} is not the value of one input", state.shared));
        }
        let mut names = function.inputs().iter().map(|i| &i.name).chain(before.iter().map(|s| &s.name));
        if state.name.is_some() && names.any(|name| *name == state.name) {
            return Err("two inputs have one name".into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    fn function() -> Function {
        let (x, s) = (scalar::<f32>("x"), scalar::<f32>("s"));
        let inputs =
            (In::new(&x).strict().mutable(), In::new(&s).default(0).update(&s + &x).allow_downcast());
        crate::function::function(inputs)
            .output(&x + 1.0)
            .output(Out::new(&s * 2.0).borrow(true))
            .compile()
            .unwrap()
    }

    #[test]
    fn options_come_back() {
        let bundle = Bundle::new().with("f", &function());
        let plain = Bundle::new().with("f", &function().without_options());
        assert!(encode(&plain).is_none());
        let bytes = encode(&bundle).unwrap();
        let back = decode(&bytes, plain).unwrap();
        assert_eq!(encode(&back).unwrap(), bytes);
        let f = &back["f"];
        assert_eq!((f.inputs()[0].conversion, f.inputs()[0].mutable), (Conversion::Strict, true));
        assert_eq!(f.state_inputs(), function().state_inputs());
        assert_eq!(f.borrowed_outputs(), [1]);
        // Functions that could not be read are passed over.
        assert!(decode(&bytes, Bundle::new()).unwrap().is_empty());
    }

    #[test]
    fn damaged_options_are_refused() {
        let plain = || Bundle::new().with("f", &function().without_options());
        let bytes = encode(&Bundle::new().with("f", &function())).unwrap();
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end], plain()).is_err(), "{end} bytes");
        }
        let (mut refused, mut taken) = (0, 0);
        for at in 0..bytes.len() {
            for byte in [0, 1, 2, 3, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = byte;
                match decode(&damaged, plain()) {
                    Err(_) => refused += 1,
                    Ok(bundle) => taken += usize::from(bundle.len() == 1),
                }
            }
        }
        assert!(refused > taken);
        assert!(decode(&[2], plain()).unwrap_err().contains("newer"));
    }
}
