//! The checks that every device makes of what it is given, in one place: the [`Device`] trait is public and safe, so no
//! argument may reach memory that is not its own.
//!
//! A device calls [`check_nests`] in `compile`, [`check_commands`] in `record`, and [`check_transfer`] or [`check_copy`]
//! before it moves bytes at once. What is left to the device: that memory and modules are its own, and what it does not
//! support. Replays check nothing.
//!
//! Indices computed from data cannot be checked here. Devices keep them within their dimension while a kernel runs: the
//! host in its loads and stores, generated kernels by [`workalike_kernels::bounds`].

use crate::command::{Command, Matmul, Region, Target};
use crate::device::{Device, DeviceResult};
use crate::error::{ArgumentError, DeviceError};
use std::collections::HashSet;
use std::sync::Arc;
use workalike_kernels::DType;
use workalike_kernels::call::Call;
use workalike_kernels::nest::{Inst, Nest, Operand, PhaseKind};
use workalike_kernels::verify::verify;

/// Checks the Nests given to [`Device::compile`]: they are well-formed, and add only to dtypes to which the device adds.
///
/// # Errors
/// Which Nest is refused, and why.
pub fn check_nests(device: &dyn Device, nests: &[Arc<Nest>]) -> DeviceResult<()> {
    nests.iter().try_for_each(|nest| check_nest(device, nest, "compile"))
}

/// Checks the commands given to [`Device::record`]; `nests` are those that the module was compiled from.
///
/// # Errors
/// [`DeviceError::Argument`] for the first argument that does not fit: regions beyond their memory, too small for what is
/// bound to them or not aligned; results that overlap what they must not; parameters out of range; sizes that overflow.
pub fn check_commands(device: &dyn Device, nests: &[Arc<Nest>], commands: &[Command]) -> DeviceResult<()> {
    // A block of steps names the same epilogue again and again.
    let mut epilogues: HashSet<*const Nest> = HashSet::new();
    for command in commands {
        match command {
            Command::Launch { nest, args } => {
                let found = || format!("Nest {nest}");
                let known = nests.get(*nest).ok_or_else(|| {
                    refuse(device, "record", "launch", format!("one of {} Nests", nests.len()), found())
                })?;
                let args: Vec<Option<&Region>> = args.iter().map(Some).collect();
                let check = Check { device, command: &format!("launch of {}", known.name) };
                let alignment = device.properties().alignment;
                check.operands(&known.operands, &args, 0, |_| alignment)?;
            }
            Command::Matmul { product, a, b, c } => {
                Check { device, command: "matmul" }.matmul(product, [a, b], c, &mut epilogues)?;
            }
            Command::Call { call, args } => Check { device, command: &call.name() }.call(call, args)?,
            Command::Copy { source, target } => check_copy(device, source, target)?,
            Command::Clear { target } => Check { device, command: "clear" }.within("target", target)?,
        }
    }
    Ok(())
}

/// Checks a copy between the host and a region; `call` is `upload` or `download`, `bytes` the size on the host.
///
/// # Errors
/// Sizes that differ, a region beyond its memory.
#[inline]
pub fn check_transfer(device: &dyn Device, call: &str, bytes: usize, region: &Region) -> DeviceResult<()> {
    // Each call makes some of these: what is right takes the short way.
    if bytes as u64 == region.bytes && lies_within(region) {
        Ok(())
    } else {
        refuse_transfer(device, call, bytes, region)
    }
}

#[cold]
fn refuse_transfer(device: &dyn Device, call: &str, bytes: usize, region: &Region) -> DeviceResult<()> {
    let check = Check { device, command: call };
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
    let check = Check { device, command: "copy" };
    check.within("source", source)?;
    check.within("target", target)?;
    check.require(source.bytes == target.bytes, || {
        ("target".into(), format!("the source's {} bytes", source.bytes), format!("{} bytes", target.bytes))
    })?;
    check.apart("target", target, "source", source)
}

/// Whether a Nest may be given to a device. The host's planner and the printers rely on it.
fn check_nest(device: &dyn Device, nest: &Nest, call: &str) -> DeviceResult<()> {
    let refused = |e: &dyn ToString| DeviceError::driver(&device.properties().id, call, e.to_string());
    verify(nest).map_err(|e| refused(&e))?;
    let mut added = nest.phases.iter().flat_map(|p| &p.stores).filter(|s| s.add).map(|s| s.operand);
    match added.find(|operand| !device.adds_to(nest.operands[*operand].dtype)) {
        Some(at) => {
            let dtype = nest.operands[at].dtype;
            Err(refused(&format!("Nest `{}` adds to operand {at}, {dtype}; the device does not", nest.name)))
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

/// One command's checks.
struct Check<'a> {
    device: &'a dyn Device,
    command: &'a str,
}

impl Check<'_> {
    /// The texts are: the argument, what was expected, what was found.
    fn require(&self, holds: bool, texts: impl FnOnce() -> (String, String, String)) -> DeviceResult<()> {
        if holds {
            return Ok(());
        }
        let (argument, expected, found) = texts();
        Err(refuse(self.device, self.command, &argument, expected, found))
    }

    /// A region lies within its memory.
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
        self.require(!overlap(region, beside), || {
            let found = format!("bytes {} and {} of one memory", span(region), span(beside));
            (argument.into(), format!("no overlap with {other}"), found)
        })
    }

    /// The operands of a Nest with their regions. `None` stands for a product that is not stored, of `product` bytes.
    fn operands(
        &self,
        operands: &[Operand],
        args: &[Option<&Region>],
        product: u64,
        alignment: impl Fn(&Operand) -> u64,
    ) -> DeviceResult<()> {
        self.count(operands.len(), args.len())?;
        for (at, (operand, region)) in operands.iter().zip(args).enumerate() {
            let least = operand_bytes(operand);
            let name = format!("operand {at}");
            let Some(region) = region else {
                self.require(least <= product, || {
                    (name, format!("at most the product's {product} bytes"), format!("{least} bytes"))
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

    fn call(&self, call: &Call, args: &[Region]) -> DeviceResult<()> {
        call.verify().map_err(|e| refuse(self.device, self.command, e.argument, e.expected, e.found))?;
        let Some(scratch) = self.device.call_scratch(call) else {
            let device = self.device.properties().id.clone();
            return Err(DeviceError::Unsupported { device, what: format!("{call:?} as a library call") });
        };
        let inputs = call.inputs().len();
        let arrays = call.inputs().into_iter().chain(call.outputs());
        let mut sizes: Vec<u64> = arrays.map(|(dtype, count)| count * dtype.size() as u64).collect();
        sizes.extend((scratch > 0).then_some(scratch));
        self.count(sizes.len(), args.len())?;
        for (at, (region, least)) in args.iter().zip(sizes).enumerate() {
            let name = format!("argument {at}");
            self.within(&name, region)?;
            self.holds(&name, region, least)?;
            self.aligned(&name, region, self.device.properties().alignment)?;
            // What is written, with all that comes before it.
            for (other, beside) in args[..at].iter().enumerate().filter(|_| at >= inputs) {
                self.apart(&name, region, &format!("argument {other}"), beside)?;
            }
        }
        Ok(())
    }

    fn matmul(
        &self,
        product: &Matmul,
        factors: [&Region; 2],
        target: &Target,
        epilogues: &mut HashSet<*const Nest>,
    ) -> DeviceResult<()> {
        let Matmul { dtype, batch, m, n, k, .. } = *product;
        let size = dtype.size() as u64;
        let result = extent_product(&[batch, m, n, size]);
        let result = result.ok_or_else(|| {
            let found = format!("{batch} x {m} x {n} elements of {dtype}");
            refuse(self.device, self.command, "product", "a result of less than 2^63 bytes".into(), found)
        })?;
        let shapes = [([batch, m, k], product.a), ([batch, k, n], product.b)];
        for ((name, region), (extents, steps)) in ["a", "b"].into_iter().zip(factors).zip(shapes) {
            self.within(name, region)?;
            self.aligned(name, region, size)?;
            let fits = result == 0 || k == 0 || reaches_within(extents, steps, region.bytes / size);
            self.require(fits, || {
                let expected = format!("room for {extents:?} elements of {dtype} in steps of {steps:?}");
                (name.into(), expected, format!("{} bytes", region.bytes))
            })?;
        }
        match target {
            Target::Memory(c) => {
                self.within("c", c)?;
                self.aligned("c", c, size)?;
                self.holds("c", c, result)?;
            }
            Target::Epilogue { nest, args } => {
                if epilogues.insert(Arc::as_ptr(nest)) {
                    check_nest(self.device, nest, "record")?;
                }
                self.epilogue(nest, args, (dtype, result))?;
            }
        }
        if result == 0 {
            return Ok(());
        }
        for written in written(target) {
            for (name, factor) in ["a", "b"].into_iter().zip(factors) {
                self.apart("what is stored", written, name, factor)?;
            }
        }
        Ok(())
    }

    /// An epilogue has a point for each element of the product, and one operand that is the product.
    fn epilogue(
        &self,
        nest: &Nest,
        args: &[Option<Region>],
        (dtype, bytes): (DType, u64),
    ) -> DeviceResult<()> {
        let regions: Vec<Option<&Region>> = args.iter().map(Option::as_ref).collect();
        // As a product's factors, what an epilogue reads and writes may start at any element.
        self.operands(&nest.operands, &regions, bytes, |operand| operand.dtype.size() as u64)?;
        let points = bytes / dtype.size() as u64;
        let is_map = nest.grid == nest.axes.len() && nest.phases.iter().all(|p| p.kind == PhaseKind::Point);
        self.require(is_map && nest.grid_points() == points, || {
            let found = format!("{} with {} points", nest.name, nest.grid_points());
            ("epilogue".into(), format!("Point phases over the product's {points} elements"), found)
        })?;
        let products: Vec<usize> = (0..args.len()).filter(|at| args[*at].is_none()).collect();
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
        self.require(products.len() == 1 && plain(products[0]), || {
            let expected = format!("one operand without a region, of {dtype}, only read, at its own element");
            ("epilogue".into(), expected, format!("{} with {products:?}", nest.name))
        })
    }
}

/// The regions that a product's target writes.
fn written(target: &Target) -> Vec<&Region> {
    match target {
        Target::Memory(c) => vec![c],
        Target::Epilogue { nest, args } => {
            let operands = nest.operands.iter().zip(args).filter(|(operand, _)| operand.written);
            operands.filter_map(|(_, region)| region.as_ref()).collect()
        }
    }
}

/// Bytes from an operand's first element to the end of its last; at most `i64::MAX` for a Nest that was verified.
fn operand_bytes(operand: &Operand) -> u64 {
    if operand.shape.contains(&0) {
        return 0;
    }
    let last = operand.shape.iter().zip(&operand.strides).fold(0u64, |sum, (extent, stride)| {
        sum.saturating_add((extent - 1).saturating_mul(u64::try_from(*stride).unwrap_or(u64::MAX)))
    });
    last.saturating_add(1).saturating_mul(operand.dtype.size() as u64)
}

/// The product, if it fits in 63 bits even where extents of zero are left out.
fn extent_product(extents: &[u64]) -> Option<u64> {
    let mut rest = extents.iter().filter(|extent| **extent > 0);
    let product = rest.try_fold(1i64, |all, extent| all.checked_mul(i64::try_from(*extent).ok()?))?;
    Some(if extents.contains(&0) { 0 } else { product as u64 })
}

/// Whether all of a factor of these extents and steps lies within so many elements from its first.
fn reaches_within(extents: [u64; 3], steps: [i64; 3], elements: u64) -> bool {
    let (mut low, mut high) = (0i128, 0i128);
    for (extent, step) in extents.into_iter().zip(steps) {
        let reach = i128::from(extent.saturating_sub(1)).saturating_mul(i128::from(step));
        if reach < 0 { low = low.saturating_add(reach) } else { high = high.saturating_add(reach) }
    }
    low >= 0 && high < i128::from(elements)
}

/// Whether two regions have a byte together. Wrappers of one memory are that memory.
fn overlap(one: &Region, other: &Region) -> bool {
    let memory = |region: &Region| std::ptr::from_ref(region.memory.as_any()).cast::<()>();
    let ends_after = |a: &Region, b: &Region| a.offset.saturating_add(a.bytes) > b.offset;
    let bytes = one.bytes > 0 && other.bytes > 0;
    bytes && memory(one) == memory(other) && ends_after(one, other) && ends_after(other, one)
}

fn span(region: &Region) -> String {
    format!("{}..{}", region.offset, region.offset.saturating_add(region.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn products_of_extents_do_not_wrap() {
        assert_eq!(extent_product(&[2, 3, 4]), Some(24));
        assert_eq!(extent_product(&[0, 3]), Some(0));
        assert_eq!(extent_product(&[0, 1 << 40, 1 << 40]), None);
        assert_eq!(extent_product(&[1 << 32, 1 << 32, 1]), None);
        assert_eq!(extent_product(&[1 << 63]), None);
        assert!(reaches_within([2, 3, 4], [12, 4, 1], 24));
        assert!(!reaches_within([2, 3, 4], [12, 4, 1], 23));
        assert!(!reaches_within([2, 2, 2], [i64::MAX, i64::MAX, 1], u64::MAX));
        assert!(!reaches_within([1, 2, 1], [0, -1, 0], 100));
    }
}
