//! The smallest device: it runs Nests by their definition, point by point, on the calling thread.
//!
//! Functions are called on it where no faster device is built in. It implements only what a device must: it
//! runs the library ops that have a definition, has no kernels and no stream, and runs enqueued work before
//! the call returns.

use crate::command::{Command, LibraryOutput, Region};
use crate::command_check::{check_commands, check_copy, check_nests, operand_bytes};
use crate::device::{
    Device, DeviceModule, DeviceResult, Memory, Numerics, Properties, Recording, definition_failed,
};
use crate::error::DeviceError;
use crate::host_memory::{ALIGNMENT, HostBytes, HostMemory, download, lend, total_memory, upload};
use crate::open::Open;
use std::sync::Arc;
use std::time::{Duration, Instant};
use workalike_kernels::interpret::interpret_verified;
use workalike_kernels::library::{DefinitionError, LibraryOp};
use workalike_kernels::nest::Operand;
use workalike_kernels::verify::Verified;

/// The name in errors.
const ID: &str = "interpreter";

/// Selects the interpreter of Nests: `function.optimize(Interpreter)`.
///
/// ```
/// use workalike::prelude::*;
/// use workalike::engine::device::Interpreter;
/// let x = vector::<f32>("x");
/// let f = function([&x]).output(x.sum(..)).compile()?;
/// let mut sim = f.optimize(Interpreter)?;
/// assert_eq!(sim.call(args![vec![1f32, 2.0]])?[0].item::<f32>()?, 3.0);
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Interpreter;

impl Open for Interpreter {
    fn open(&self) -> DeviceResult<Arc<dyn Device>> {
        let memory = total_memory();
        Ok(Arc::new(InterpreterDevice {
            properties: Properties {
                name: "reference interpreter".into(),
                id: ID.into(),
                driver: format!("workalike {}", env!("CARGO_PKG_VERSION")),
                memory,
                largest_allocation: memory,
                alignment: ALIGNMENT as u64,
                f64: true,
                units: 1,
                lanes: 1,
                interprets: true,
                every_op: true,
                kernel_insts: 4096,
                forward_progress: false,
            },
        }))
    }
}

#[derive(Debug)]
struct InterpreterDevice {
    properties: Properties,
}

impl Device for InterpreterDevice {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, bytes: u64) -> DeviceResult<Arc<dyn Memory>> {
        Ok(Arc::new(HostMemory::new(bytes)?))
    }

    fn upload(&self, source: &[u8], target: &Region) -> DeviceResult<()> {
        upload(self, source, target)
    }

    fn download(&self, source: &Region, target: &mut [u8]) -> DeviceResult<()> {
        download(self, source, target)
    }

    fn lend(&self, source: &Region) -> Option<Arc<dyn HostBytes>> {
        lend(source)
    }

    fn copy(&self, source: &Region, target: &Region) -> DeviceResult<()> {
        check_copy(self, source, target)?;
        write(target, &read(source)?)
    }

    fn compile(&self, nests: &[Verified], _: Numerics) -> DeviceResult<Arc<dyn DeviceModule>> {
        check_nests(self, nests)?;
        Ok(Arc::new(Nests(nests.to_vec())))
    }

    fn record(
        &self,
        module: &Arc<dyn DeviceModule>,
        commands: &[Command],
    ) -> DeviceResult<Box<dyn Recording>> {
        let Some(Nests(nests)) = module.downcast() else {
            return Err(DeviceError::driver(ID, "record", "the module belongs to another device"));
        };
        check_commands(self, nests, commands)?;
        for command in commands {
            for region in command.regions() {
                HostMemory::of_region(region, "record")?;
            }
            // A user's text that does not compile is an error here, as on other devices.
            if let Command::Library { op, .. } = command
                && let Some(Err(error)) = op.definition()
            {
                return Err(definition_failed(ID, "record", error));
            }
        }
        Ok(Box::new(Interpreted { nests: nests.clone(), commands: commands.to_vec() }))
    }

    fn synchronize(&self) -> DeviceResult<()> {
        Ok(())
    }

    fn library(&self, op: &dyn LibraryOp, epilogue: Option<(&Verified, usize)>) -> Option<u64> {
        (epilogue.is_none() && op.verify().is_ok() && op.has_definition()).then_some(0)
    }
}

#[derive(Debug)]
struct Nests(Vec<Verified>);

impl DeviceModule for Nests {}

#[derive(Debug)]
struct Interpreted {
    nests: Vec<Verified>,
    commands: Vec<Command>,
}

impl Recording for Interpreted {
    fn replay(&mut self) -> DeviceResult<()> {
        self.commands.iter().try_for_each(|command| run(&self.nests, command))
    }

    fn timed(&mut self) -> DeviceResult<Vec<Duration>> {
        let timed = self.commands.iter().map(|command| {
            let start = Instant::now();
            run(&self.nests, command).map(|()| start.elapsed())
        });
        timed.collect()
    }
}

fn run(nests: &[Verified], command: &Command) -> DeviceResult<()> {
    match command {
        Command::Launch { nest, args } => {
            let missing = || DeviceError::driver(ID, "replay", format!("there is no Nest {nest}"));
            launch(nests.get(*nest).ok_or_else(missing)?, args)
        }
        Command::Copy { source, target } => write(target, &read(source)?),
        Command::Clear { target } => write(target, &zeros(target)?),
        Command::Library { op, inputs, target: LibraryOutput::Memory(outputs), .. } => {
            define(&**op, inputs, outputs)
        }
        Command::Library { .. } => Err(DeviceError::driver(ID, "replay", "it has no epilogues")),
    }
}

/// Operands may share memory, so each is copied, and only the bytes that a store changed are written back.
fn launch(nest: &Verified, args: &[Region]) -> DeviceResult<()> {
    let before = args.iter().map(read).collect::<DeviceResult<Vec<_>>>()?;
    let mut after = args.iter().map(read).collect::<DeviceResult<Vec<_>>>()?;
    interpret_verified(nest, &mut after).map_err(|error| DeviceError::driver(ID, "replay", error))?;
    let results = nest.operands.iter().zip(args).zip(before.iter().zip(&after));
    for ((_, region), (old, new)) in results.filter(|((operand, _), _)| operand.written) {
        let mut current = read(region)?;
        let changed = current.iter_mut().zip(old.iter().zip(new)).filter(|(_, (old, new))| old != new);
        changed.for_each(|(byte, (_, new))| *byte = *new);
        write(region, &current)?;
    }
    Ok(())
}

/// A library op by its definition, on copies of the operands.
fn define(op: &dyn LibraryOp, inputs: &[Region], outputs: &[Region]) -> DeviceResult<()> {
    let missing = || DeviceError::driver(ID, "replay", format!("{op:?} has no definition"));
    let failed = |error: DefinitionError| definition_failed(ID, "replay", error);
    let definition = op.definition().ok_or_else(missing)?.map_err(failed)?;
    let (inputs, outputs) = (fitted(&op.inputs(), inputs), fitted(&op.outputs(), outputs));
    let given = inputs.iter().map(read).collect::<DeviceResult<Vec<_>>>()?;
    let mut results = outputs.iter().map(read).collect::<DeviceResult<Vec<_>>>()?;
    let given: Vec<&[u8]> = given.iter().map(Vec::as_slice).collect();
    let mut written: Vec<&mut [u8]> = results.iter_mut().map(Vec::as_mut_slice).collect();
    definition(&given, &mut written).map_err(failed)?;
    outputs.iter().zip(&results).try_for_each(|(region, bytes)| write(region, bytes))
}

/// The regions, each shortened to end with its operand's last element.
fn fitted(operands: &[Operand], regions: &[Region]) -> Vec<Region> {
    let fit =
        |(operand, region): (&Operand, &Region)| Region { bytes: operand_bytes(operand), ..region.clone() };
    operands.iter().zip(regions).map(fit).collect()
}

/// Zeros of a region's size.
fn zeros(region: &Region) -> DeviceResult<Vec<u8>> {
    let refused = || DeviceError::OutOfMemory {
        device: ID.into(),
        requested: region.bytes,
        available: format!("the machine has {} bytes", total_memory()),
    };
    let count = usize::try_from(region.bytes).map_err(|_| refused())?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(count).map_err(|_| refused())?;
    bytes.resize(count, 0);
    Ok(bytes)
}

fn read(region: &Region) -> DeviceResult<Vec<u8>> {
    let mut bytes = zeros(region)?;
    HostMemory::of_region(region, "replay")?.read(region.offset, &mut bytes)?;
    Ok(bytes)
}

fn write(region: &Region, bytes: &[u8]) -> DeviceResult<()> {
    HostMemory::of_region(region, "replay")?.write(region.offset, bytes)
}
