//! The checks of arguments that every device makes, in one place: the [`Device`] trait is public and safe, so
//! no argument may cause an access outside its memory.
//!
//! A device calls [`check_nests`] in `compile`, [`check_commands`] in `record`, and [`check_transfer`] or
//! [`check_copy`] before a copy outside a recording. The device itself checks that memory and modules are its
//! own, and refuses what it does not support. Replays check nothing.
//!
//! Indices computed from data cannot be checked here. Devices keep them within their dimension while a kernel
//! runs: the host in its loads and stores, generated kernels by [`workalike_kernels::bounds`].

use crate::command::{Command, LibraryOutput, Region};
use crate::device::{Device, DeviceResult};
use crate::error::{ArgumentError, DeviceError};
use std::collections::HashMap;
use workalike_kernels::library::LibraryOp;
use workalike_kernels::nest::{Inst, Nest, Operand, PhaseKind};
use workalike_kernels::verify::Verified;

/// Checks the Nests given to [`Device::compile`]: they add only to dtypes for which the device has atomic
/// adds. [`Verified`] Nests are well-formed.
///
/// # Errors
/// Which Nest is refused, and why.
pub fn check_nests(device: &dyn Device, nests: &[Verified]) -> DeviceResult<()> {
    nests.iter().try_for_each(|nest| check_nest(device, nest, "compile"))
}

/// Checks the commands given to [`Device::record`]; `nests` are the Nests from which the module was compiled.
///
/// # Errors
/// [`DeviceError::Argument`] for the first invalid argument: a region beyond its memory, too small for its
/// operand or not aligned; a result that overlaps another operand; a parameter out of range; a size that
/// overflows.
pub fn check_commands(device: &dyn Device, nests: &[Verified], commands: &[Command]) -> DeviceResult<()> {
    let mut known_sizes = ScratchSizes::new();
    for command in commands {
        match command {
            Command::Launch { nest, args } => {
                let found = || format!("Nest {nest}");
                let known = nests.get(*nest).ok_or_else(|| {
                    refuse(device, "record", "launch", format!("one of {} Nests", nests.len()), found())
                })?;
                let args: Vec<Option<&Region>> = args.iter().map(Some).collect();
                let check = CommandCheck { device, command: &format!("launch of {}", known.name) };
                let alignment = device.properties().alignment;
                check.operands(&known.operands, &args, 0, |_| alignment)?;
            }
            Command::Library { op, inputs, target, scratch } => {
                let given = LibraryCommand { op: &**op, inputs, target, scratch: scratch.as_ref() };
                CommandCheck { device, command: &op.name() }.library(&given, &mut known_sizes)?;
            }
            Command::Copy { source, target } => check_copy(device, source, target)?,
            Command::Clear { target } => {
                CommandCheck { device, command: "clear" }.within("target", target)?
            }
        }
    }
    Ok(())
}

/// Checks a copy between the host and a region; `call` is `upload` or `download`, `bytes` the size on the
/// host.
///
/// # Errors
/// Sizes that differ, a region beyond its memory.
#[inline]
pub fn check_transfer(device: &dyn Device, call: &str, bytes: usize, region: &Region) -> DeviceResult<()> {
    // Every call of a Function makes some of these checks, so the valid case is inlined.
    if bytes as u64 == region.bytes && lies_within(region) {
        Ok(())
    } else {
        refuse_transfer(device, call, bytes, region)
    }
}

#[cold]
fn refuse_transfer(device: &dyn Device, call: &str, bytes: usize, region: &Region) -> DeviceResult<()> {
    let check = CommandCheck { device, command: call };
    check.require(bytes as u64 == region.bytes, || {
        ("the region".into(), format!("{bytes} bytes, as on the host"), format!("{} bytes", region.bytes))
    })?;
    check.within("the region", region)
}

/// Checks a copy between two regions of the device.
///
/// # Errors
/// Sizes that differ, regions beyond their memory, regions that overlap.
pub fn check_copy(device: &dyn Device, source: &Region, target: &Region) -> DeviceResult<()> {
    let check = CommandCheck { device, command: "copy" };
    check.within("source", source)?;
    check.within("target", target)?;
    check.require(source.bytes == target.bytes, || {
        ("target".into(), format!("the source's {} bytes", source.bytes), format!("{} bytes", target.bytes))
    })?;
    check.apart("target", target, "source", source)
}

/// Whether a Nest may be given to a device.
fn check_nest(device: &dyn Device, nest: &Nest, call: &str) -> DeviceResult<()> {
    let mut added = nest.phases.iter().flat_map(|p| &p.stores).filter(|s| s.add).map(|s| s.operand);
    match added.find(|operand| !device.adds_to(nest.operands[*operand].dtype)) {
        Some(at) => {
            let dtype = nest.operands[at].dtype;
            let message = format!("Nest `{}` adds to operand {at}, {dtype}; the device does not", nest.name);
            Err(DeviceError::driver(&device.properties().id, call, message))
        }
        None => Ok(()),
    }
}

fn refuse(device: &dyn Device, call: &str, argument: &str, expected: String, found: String) -> DeviceError {
    let device = device.properties().id.clone();
    let (command, argument) = (call.into(), argument.into());
    DeviceError::Argument(Box::new(ArgumentError { device, command, argument, expected, found }))
}

fn lies_within(region: &Region) -> bool {
    region.offset.checked_add(region.bytes).is_some_and(|end| end <= region.memory.bytes())
}

/// Bytes of scratch memory that the device requires, by the addresses of the op and of the epilogue's Nest,
/// and the operand of the Nest that is the result. A recording repeats its ops, and the query may be
/// expensive.
type ScratchSizes = HashMap<(*const (), Option<(*const Nest, usize)>), u64>;

/// [`Command::Library`], borrowed.
struct LibraryCommand<'a> {
    op: &'a dyn LibraryOp,
    inputs: &'a [Region],
    target: &'a LibraryOutput,
    scratch: Option<&'a Region>,
}

/// One command's checks.
struct CommandCheck<'a> {
    device: &'a dyn Device,
    command: &'a str,
}

impl CommandCheck<'_> {
    /// An error unless `holds`. The texts are the argument, the expectation and what was found.
    fn require(&self, holds: bool, texts: impl FnOnce() -> (String, String, String)) -> DeviceResult<()> {
        if holds {
            return Ok(());
        }
        let (argument, expected, found) = texts();
        Err(refuse(self.device, self.command, &argument, expected, found))
    }

    /// Checks that a region lies within its memory.
    fn within(&self, argument: &str, region: &Region) -> DeviceResult<()> {
        self.require(lies_within(region), || {
            let all = region.memory.bytes();
            let found = format!("{} bytes at byte {}", region.bytes, region.offset);
            (argument.into(), format!("a part of its memory of {all} bytes"), found)
        })
    }

    fn aligned(&self, argument: &str, region: &Region, alignment: u64) -> DeviceResult<()> {
        self.require(region.offset.is_multiple_of(alignment.max(1)), || {
            let found = format!("byte {}", region.offset);
            (argument.into(), format!("a start at a multiple of {alignment} bytes"), found)
        })
    }

    fn holds(&self, argument: &str, region: &Region, least: u64) -> DeviceResult<()> {
        self.require(region.bytes >= least, || {
            (argument.into(), format!("at least {least} bytes"), format!("{} bytes", region.bytes))
        })
    }

    fn apart(&self, argument: &str, region: &Region, other: &str, beside: &Region) -> DeviceResult<()> {
        self.require(!region.overlaps(beside), || {
            let found = format!("bytes {} and {} of one memory", span(region), span(beside));
            (argument.into(), format!("no overlap with {other}"), found)
        })
    }

    /// Checks the regions of a Nest's operands. `None` is a result of `result` bytes that is not stored.
    fn operands(
        &self,
        operands: &[Operand],
        args: &[Option<&Region>],
        result: u64,
        alignment: impl Fn(&Operand) -> u64,
    ) -> DeviceResult<()> {
        self.count(operands.len(), args.len())?;
        for (at, (operand, region)) in operands.iter().zip(args).enumerate() {
            let least = operand_bytes(operand);
            let name = format!("operand {at}");
            let Some(region) = region else {
                self.require(least <= result, || {
                    (name, format!("at most the result's {result} bytes"), format!("{least} bytes"))
                })?;
                continue;
            };
            self.within(&name, region)?;
            self.holds(&name, region, least)?;
            self.aligned(&name, region, alignment(operand))?;
        }
        Ok(())
    }

    fn count(&self, expected: usize, found: usize) -> DeviceResult<()> {
        self.require(expected == found, || {
            ("args".into(), format!("{expected} regions"), format!("{found} regions"))
        })
    }

    fn library(&self, command: &LibraryCommand, known_sizes: &mut ScratchSizes) -> DeviceResult<()> {
        let LibraryCommand { op, inputs, target, scratch } = *command;
        op.verify().map_err(|e| refuse(self.device, self.command, e.argument, e.expected, e.found))?;
        if let Some(complex) = op.operands().iter().find(|operand| operand.dtype.is_complex()) {
            let real = "real and imaginary parts".into();
            return Err(refuse(self.device, self.command, "dtype", real, complex.dtype.to_string()));
        }
        let epilogue = match target {
            LibraryOutput::Memory(regions) => self.results(op, regions).map(|()| None)?,
            LibraryOutput::Epilogue { nest, args } => {
                check_nest(self.device, nest, "record")?;
                Some((nest, self.epilogue(nest, args, &op.outputs())?))
            }
        };
        let operands = op.inputs();
        self.count(operands.len(), inputs.len())?;
        for (at, (operand, region)) in operands.iter().zip(inputs).enumerate() {
            self.operand(op, &format!("input {at}"), operand, region)?;
        }
        let in_place = matches!(target, LibraryOutput::Memory(_));
        for (result, written) in written(target).into_iter().enumerate() {
            for (at, input) in inputs.iter().enumerate() {
                if !(in_place && self.device.overwrites(op, result) == Some(at) && written.is_same(input)) {
                    self.apart("what is stored", written, &format!("input {at}"), input)?;
                }
            }
        }
        let needed = self.needed(op, epilogue, known_sizes)?;
        self.scratch(needed, scratch, inputs.iter().chain(target.regions()))
    }

    /// Bytes of scratch memory that the device requires.
    fn needed(
        &self,
        op: &dyn LibraryOp,
        epilogue: Option<(&Verified, usize)>,
        known_sizes: &mut ScratchSizes,
    ) -> DeviceResult<u64> {
        let nest = epilogue.map(|(nest, result)| (std::ptr::from_ref::<Nest>(nest), result));
        let key = (std::ptr::from_ref(op).cast::<()>(), nest);
        if let Some(needed) = known_sizes.get(&key) {
            return Ok(*needed);
        }
        let Some(needed) = self.device.library(op, epilogue) else {
            let device = self.device.properties().id.clone();
            let with = epilogue.map_or(String::new(), |(nest, _)| format!(" with epilogue {}", nest.name));
            return Err(DeviceError::Unsupported { device, what: format!("{op:?} as a library op{with}") });
        };
        known_sizes.insert(key, needed);
        Ok(needed)
    }

    fn operand(
        &self,
        op: &dyn LibraryOp,
        name: &str,
        operand: &Operand,
        region: &Region,
    ) -> DeviceResult<()> {
        let own = operand.dtype.size() as u64;
        let alignment = if op.starts_anywhere() { own } else { self.device.properties().alignment };
        self.within(name, region)?;
        self.holds(name, region, operand_bytes(operand))?;
        self.aligned(name, region, alignment)
    }

    /// Checks the regions of results, which must not overlap each other.
    fn results(&self, op: &dyn LibraryOp, regions: &[Region]) -> DeviceResult<()> {
        let operands = op.outputs();
        self.count(operands.len(), regions.len())?;
        for (at, (operand, region)) in operands.iter().zip(regions).enumerate() {
            let name = format!("output {at}");
            self.operand(op, &name, operand, region)?;
            for (other, beside) in regions[..at].iter().enumerate() {
                self.apart(&name, region, &format!("output {other}"), beside)?;
            }
        }
        Ok(())
    }

    fn scratch<'r>(
        &self,
        needed: u64,
        given: Option<&Region>,
        mut others: impl Iterator<Item = &'r Region>,
    ) -> DeviceResult<()> {
        let Some(region) = given else {
            return self
                .require(needed == 0, || ("scratch".into(), format!("{needed} bytes"), "none".into()));
        };
        self.within("scratch", region)?;
        self.holds("scratch", region, needed)?;
        self.aligned("scratch", region, self.device.properties().alignment)?;
        others.try_for_each(|other| self.apart("scratch", region, "an operand", other))
    }

    /// Checks an epilogue: it has a point for each element of the only result, and one operand that is the
    /// result. Returns that operand.
    fn epilogue(&self, nest: &Nest, args: &[Option<Region>], results: &[Operand]) -> DeviceResult<usize> {
        let [result] = results else {
            let found = format!("{} results", results.len());
            return Err(refuse(self.device, self.command, "epilogue", "an op of one result".into(), found));
        };
        let (dtype, bytes) = (result.dtype, operand_bytes(result));
        let regions: Vec<Option<&Region>> = args.iter().map(Option::as_ref).collect();
        // The operands of an epilogue may start at any element.
        self.operands(&nest.operands, &regions, bytes, |operand| operand.dtype.size() as u64)?;
        let points = bytes / dtype.size() as u64;
        let is_map = nest.grid == nest.axes.len() && nest.phases.iter().all(|p| p.kind == PhaseKind::Point);
        self.require(is_map && nest.grid_points() == points, || {
            let found = format!("{} with {} points", nest.name, nest.grid_points());
            ("epilogue".into(), format!("Point phases over the result's {points} elements"), found)
        })?;
        let own: Vec<usize> = (0..args.len()).filter(|at| args[*at].is_none()).collect();
        let insts = || nest.phases.iter().flat_map(|p| &p.block.insts);
        let plain = |at: usize| {
            let operand = &nest.operands[at];
            operand.dtype == dtype
                && !operand.written
                && insts().all(|inst| match inst {
                    Inst::Load { operand, index } if *operand == at => {
                        index.iter().all(|i| i.dynamic.is_none())
                    }
                    _ => true,
                })
        };
        let sound = matches!(own[..], [at] if plain(at));
        self.require(sound, || {
            let expected = format!("one operand without a region, of {dtype}, only read, at its own element");
            ("epilogue".into(), expected, format!("{} with {own:?}", nest.name))
        })?;
        Ok(own.first().copied().unwrap_or_default())
    }
}

/// The regions that a target writes.
fn written(target: &LibraryOutput) -> Vec<&Region> {
    match target {
        LibraryOutput::Memory(regions) => regions.iter().collect(),
        LibraryOutput::Epilogue { nest, args } => {
            let operands = nest.operands.iter().zip(args).filter(|(operand, _)| operand.written);
            operands.filter_map(|(_, region)| region.as_ref()).collect()
        }
    }
}

/// Bytes from an operand's first element to the end of its last, 0 if it has no elements. At most `i64::MAX`
/// for a verified Nest.
pub fn operand_bytes(operand: &Operand) -> u64 {
    if operand.shape.contains(&0) {
        return 0;
    }
    let last = operand.shape.iter().zip(&operand.strides).fold(0u64, |sum, (extent, stride)| {
        sum.saturating_add((extent - 1).saturating_mul(u64::try_from(*stride).unwrap_or(u64::MAX)))
    });
    last.saturating_add(1).saturating_mul(operand.dtype.size() as u64)
}

fn span(region: &Region) -> String {
    format!("{}..{}", region.offset, region.offset.saturating_add(region.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use workalike_kernels::DType;

    #[test]
    fn an_operand_needs_what_its_strides_reach() {
        assert_eq!(operand_bytes(&Operand::contiguous(DType::F32, &[3, 4], false)), 48);
        assert_eq!(operand_bytes(&Operand::contiguous(DType::F32, &[3, 0], false)), 0);
        assert_eq!(operand_bytes(&Operand::contiguous(DType::F64, &[], false)), 8);
        let broadcast = Operand { dtype: DType::F16, shape: vec![9, 4], strides: vec![0, 3], written: false };
        assert_eq!(operand_bytes(&broadcast), 20);
        let huge = Operand { shape: vec![u64::MAX, 2], strides: vec![i64::MAX, -1], ..broadcast };
        assert_eq!(operand_bytes(&huge), u64::MAX);
    }
}
