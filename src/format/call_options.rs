//! The section with the Functions' options for arguments and outputs. It exists only if a Function has such
//! options. A reader that does not know it must refuse the file, since calls would mean something else.

use super::bad;
use super::codec::Budget;
use crate::error::{Error, Result};
use crate::fallible;
use crate::function::{Bundle, CallOptions, Conversion, Function, StateInput};
use std::collections::HashSet;

/// Its kind.
pub(super) const CALL_OPTIONS: u32 = 3;
/// The version of the section that is written, and the newest that is read.
const VERSION: u8 = 1;
/// Bit of an input's byte: the input is mutable. The other bits are the code of its conversion.
const MUTABLE: u8 = 0x80;
/// Upper bound for the bytes per item of a hash set, at any load factor.
const PER_HASHED: usize = 96;

/// The section's bytes, if a Function has options.
///
/// Version; number of Functions; of each its name, inputs (one byte each), inputs with a value of their own
/// (optional name, position of the shared variable, conversion) and the positions of borrowed outputs.
/// Numbers are u32, little-endian; text and lists start with their length.
pub(super) fn encode(bundle: &Bundle) -> Option<Vec<u8>> {
    let with_options: Vec<(&str, &Function)> =
        bundle.all().filter(|f| has_options(f)).map(|f| (f.name(), f)).collect();
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

fn conversion(code: u8) -> Result<Conversion> {
    match code {
        0 => Ok(Conversion::Lossless),
        1 => Ok(Conversion::Strict),
        2 => Ok(Conversion::Downcast),
        other => bad(format!("the options of calls are damaged: conversion {other}")),
    }
}

/// Bytes being read.
struct ByteReader<'a>(&'a [u8]);

impl<'a> ByteReader<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let Some((bytes, left)) = self.0.split_at_checked(count) else {
            return bad(format!(
                "the options of calls are damaged: {count} bytes expected, {} left",
                self.0.len()
            ));
        };
        self.0 = left;
        Ok(bytes)
    }

    fn byte(&mut self) -> Result<u8> {
        self.bytes(1).map(|b| b[0])
    }

    fn number(&mut self) -> Result<usize> {
        self.bytes(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
    }

    fn text(&mut self) -> Result<&'a str> {
        let length = self.number()?;
        std::str::from_utf8(self.bytes(length)?)
            .or_else(|_| bad("the options of calls are damaged: text is not UTF-8"))
    }
}

/// Sets the options of a section on the Functions of a newly decoded Bundle, in place.
pub(super) fn decode(bytes: &[u8], bundle: &mut Bundle, budget: &mut Budget) -> Result<()> {
    let mut from = ByteReader(bytes);
    let version = from.byte()?;
    if version != VERSION {
        return bad(format!(
            "the options of calls are of version {version}; a newer workalike may read them"
        ));
    }
    let mut seen = HashSet::new();
    for _ in 0..from.number()? {
        let name = from.text()?;
        budget.take(PER_HASHED)?;
        if !seen.insert(name) {
            return bad(format!("function {name} has options twice"));
        }
        read(&mut from, bundle.any_mut(name), budget).map_err(|error| match error {
            Error::Format { what, message } => {
                Error::Format { what, message: format!("function {name}: {message}") }
            }
            other => other,
        })?;
    }
    match from.0.len() {
        0 => Ok(()),
        more => bad(format!("the options of calls are damaged: {more} bytes are left over")),
    }
}

/// Reads one Function's options; without a Function they are skipped.
fn read(from: &mut ByteReader, function: Option<&mut Function>, budget: &mut Budget) -> Result<()> {
    let count = from.number()?;
    let flags = from.bytes(count)?;
    // At most the possible numbers of items, for which memory may be allocated.
    let (most_states, most_borrowed) = match &function {
        Some(function) => (function.cells().len(), function.output_names().len()),
        None => (0, 0),
    };
    let given_states = from.number()?;
    let mut states = list(given_states, most_states, budget)?;
    for _ in 0..given_states {
        let name = if from.byte()? == 0 { None } else { Some(from.text()?) };
        let (shared, conversion) = (from.number()?, conversion(from.byte()?)?);
        if states.len() < most_states {
            budget.take(name.map_or(0, str::len))?;
            states.push(StateInput { name: name.map(Into::into), shared, conversion });
        }
    }
    let given_borrowed = from.number()?;
    let mut borrowed = list(given_borrowed, most_borrowed, budget)?;
    for _ in 0..given_borrowed {
        let at = from.number()?;
        if borrowed.len() < most_borrowed {
            borrowed.push(at);
        }
    }
    let Some(function) = function else { return Ok(()) };
    if given_states > most_states {
        return bad("its options name more shared variables than it has");
    }
    if given_borrowed > most_borrowed
        || borrowed.iter().any(|&at| at >= most_borrowed)
        || borrowed.windows(2).any(|pair| pair[0] >= pair[1])
    {
        return bad("its options name outputs that it does not have");
    }
    check_states(function, &states, budget)?;
    let Some((inputs, options)) = function.inputs_and_options_mut() else {
        return Err(Error::Internal("a Function that was just decoded is shared".into()));
    };
    if flags.len() != inputs.len() {
        return bad(format!("it has {} inputs, and options for {}", inputs.len(), flags.len()));
    }
    for (input, flags) in inputs.iter_mut().zip(flags) {
        (input.conversion, input.mutable) = (conversion(flags & !MUTABLE)?, flags & MUTABLE != 0);
    }
    *options = CallOptions { states, borrowed, device: None };
    Ok(())
}

/// An empty list with room for `count` items, and at most for `most`.
fn list<T>(count: usize, most: usize, budget: &mut Budget) -> Result<Vec<T>> {
    let count = count.min(most);
    budget.take(count.saturating_mul(size_of::<T>()))?;
    fallible::with_capacity(count)
}

fn check_states(function: &Function, states: &[StateInput], budget: &mut Budget) -> Result<()> {
    if states.is_empty() {
        return Ok(());
    }
    let updates = &function.graph().updates;
    budget.take((updates.len() + function.inputs().len() + states.len()).saturating_mul(PER_HASHED))?;
    // An update is removed from the set when it is used: a shared variable is the value of one input.
    let mut updated: HashSet<usize> = updates.iter().map(|u| u.0 as usize).collect();
    let mut names: HashSet<&str> = function.inputs().iter().filter_map(|i| i.name.as_deref()).collect();
    for state in states {
        if !updated.remove(&state.shared) {
            return bad(format!("shared variable {} is not the value of one input", state.shared));
        }
        if state.name.as_deref().is_some_and(|name| !names.insert(name)) {
            return bad("two inputs have one name");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    fn decoded(bytes: &[u8], mut bundle: Bundle) -> Result<Bundle> {
        decode(bytes, &mut bundle, &mut Budget::new(1 << 20)).map(|()| bundle)
    }

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
        let back = decoded(&bytes, plain).unwrap();
        assert_eq!(encode(&back).unwrap(), bytes);
        let f = &back["f"];
        assert_eq!((f.inputs()[0].conversion, f.inputs()[0].mutable), (Conversion::Strict, true));
        assert_eq!(f.state_inputs(), function().state_inputs());
        assert_eq!(f.borrowed_outputs(), [1]);
        // Functions that could not be read are skipped.
        assert!(decoded(&bytes, Bundle::new()).unwrap().is_empty());
    }

    #[test]
    fn damaged_options_are_refused() {
        let plain = || Bundle::new().with("f", &function().without_options());
        let bytes = encode(&Bundle::new().with("f", &function())).unwrap();
        for end in 0..bytes.len() {
            assert!(decoded(&bytes[..end], plain()).is_err(), "{end} bytes");
        }
        let (mut refused, mut taken) = (0, 0);
        for at in 0..bytes.len() {
            for byte in [0, 1, 2, 3, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = byte;
                match decoded(&damaged, plain()) {
                    Err(_) => refused += 1,
                    Ok(bundle) => taken += usize::from(bundle.len() == 1),
                }
            }
        }
        assert!(refused > taken);
        assert!(decoded(&[2], plain()).unwrap_err().to_string().contains("newer"));
    }
}
