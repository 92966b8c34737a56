//! Compiled sources, their kernels, and launches.

use super::args::{Argument, HostArray, Store};
use super::bound::{BoundArrays, reordered, same};
use crate::engine::DeviceArray;
use crate::error::{Error, Result};
use crate::ops::Grid;
use crate::value::checked_len;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use workalike_device::{
    Command, Device, DeviceError, DeviceModule as Compiled, LibraryOutput, Numerics, Recording, Region,
};
use workalike_kernels::DType;
use workalike_kernels::custom::{
    CustomLaunch, KernelArg, KernelCall, KernelSignature, KernelSource, Param, ParamKind, fitted,
    is_identifier,
};
use workalike_kernels::library::{LibraryError, LibraryOp};
use workalike_kernels::nest::Operand;

/// A source that was compiled for a device.
#[derive(Clone, Debug)]
pub struct Module {
    device: Arc<dyn Device>,
    source: Arc<KernelSource>,
    /// No Nests: recordings need a module.
    nothing: Arc<dyn Compiled>,
    /// A variable of the text, if one was asked for.
    kept: Arc<OnceLock<DeviceArray>>,
}

impl Module {
    /// Compiles a source. Compiled kernels are kept on disk, so that a later process finds them.
    ///
    /// The host interprets texts in the dialect, so that a program can be tried without a GPU. It is slow,
    /// and checks what a GPU does not: an index beyond an array, a division by zero or a barrier that not all
    /// work items of a group reach is an error of the launch, with the line of the text.
    ///
    /// # Errors
    /// If the device takes no kernels in this language (the host takes the dialect alone), or the text does
    /// not compile: the error has the compiler's log, with the lines of the text.
    pub fn new(device: &Arc<dyn Device>, source: KernelSource) -> Result<Module> {
        let source = Arc::new(source);
        let nothing = device.compile(&[], Numerics::default())?;
        let op = CustomLaunch { source: source.clone(), operands: vec![], calls: vec![], initialized: true };
        if device.library(&op, None).is_none() {
            let language = source.language();
            let what = format!(
                "a kernel of a program's own ({language:?}; the host takes the dialect, OpenCL and CUDA devices their own C as well)"
            );
            return Err(DeviceError::Unsupported { device: device.properties().id.clone(), what }.into());
        }
        device.record(&nothing, &[Command::library(op, [], LibraryOutput::Memory(vec![]))])?;
        Ok(Module { device: device.clone(), source, nothing, kept: Arc::default() })
    }

    /// The device that it was compiled for.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// The kernels, in the order of the text.
    pub fn signatures(&self) -> impl Iterator<Item = &KernelSignature> {
        self.source.signatures()
    }

    /// The kernel of this name.
    ///
    /// # Errors
    /// If there is none; the error lists the kernels.
    pub fn kernel(&self, name: &str) -> Result<RawKernel> {
        let Some(signature) = self.source.signature(name) else {
            let names: Vec<&str> = self.signatures().map(|s| s.name.as_str()).collect();
            let message = format!("expected one of the module's kernels: {}", names.join(", "));
            return Err(Error::Call { function: name.into(), message });
        };
        let (module, signature) = (self.clone(), signature.clone());
        Ok(RawKernel { module, signature, of: None, recent: Arc::default() })
    }

    /// A variable of the text, as an array: CUDA's `__device__` and `__constant__` variables (PyCUDA's
    /// `get_global`). All Modules of one text on one GPU share it. OpenCL has no such variables: a
    /// [`KernelSource::constant`] serves both languages, and an array that is passed.
    ///
    /// # Errors
    /// If the language has no such variables, there is none of this name, or its size is another one.
    pub fn global(&self, name: &str, dtype: DType, shape: &[usize]) -> Result<DeviceArray> {
        let (source, operands, calls) = (self.source.clone(), vec![], vec![]);
        let op = CustomLaunch { source, operands, calls, initialized: true };
        let Region { memory, offset, bytes: found } = self.device.global(&op, name)?;
        let bytes = checked_len(shape, dtype)? * dtype.size();
        if found != bytes as u64 {
            let what = format!("variable {name} of a module");
            return Err(Error::mismatch(what, format!("{found} bytes"), format!("{bytes} bytes")));
        }
        let array = DeviceArray::adopted(&self.device, memory, offset, dtype, shape);
        // The values live as long as the compiled module, which one of its variables keeps.
        self.kept.get_or_init(|| array.clone());
        Ok(array)
    }

    /// A kernel of one that is made from expressions and called `name`. The user does not know the last `own`
    /// parameters.
    pub(super) fn kernel_of(&self, kernel: &str, name: &str, own: usize) -> Result<RawKernel> {
        Ok(RawKernel { of: Some((name.into(), own)), ..self.kernel(kernel)? })
    }

    /// Copies the host's arrays to the device.
    pub(super) fn moved<'a>(&self, args: Vec<Argument<'a>>) -> Result<Moved<'a>> {
        let device = &self.device;
        let from_host = args.iter().any(Argument::is_on_host);
        let mut moved = Moved { args: Vec::with_capacity(args.len()), from_host, results: vec![] };
        for arg in args {
            moved.args.push(match arg {
                Argument::CopyIn(value) => Argument::Array(DeviceArray::upload(device, value)?),
                Argument::CopyOut(HostArray { dtype, shape, before, store }) => {
                    let array = match before {
                        Some(value) => DeviceArray::upload(device, value)?,
                        None => DeviceArray::zeros(device, dtype, &shape)?,
                    };
                    moved.results.push((array.clone(), store));
                    Argument::Array(array)
                }
                other => other,
            });
        }
        Ok(moved)
    }

    /// Launches of kernels one after another, over the same arrays.
    pub(super) fn record(&self, calls: Vec<KernelCall>, bound: BoundArrays) -> Result<Launch> {
        let Module { device, source, nothing, .. } = self;
        let operand = |(array, written): &(DeviceArray, bool)| {
            let shape: Vec<u64> = array.shape().iter().map(|extent| *extent as u64).collect();
            Operand::contiguous(array.dtype(), &shape, *written)
        };
        let order = bound.order();
        let operands = order.iter().map(|at| operand(&bound.0[*at])).collect();
        let ordered = calls.iter().map(|call| reordered(call, &order)).collect();
        let op = CustomLaunch { source: source.clone(), operands, calls: ordered, initialized: true };
        op.verify().map_err(|LibraryError { op, argument, expected, found }| Error::Call {
            function: op,
            message: format!("{argument}: expected {expected}, found {found}"),
        })?;
        let regions = |written: bool| -> Vec<Region> {
            let arrays = order.iter().map(|at| &bound.0[*at]).filter(|(_, is)| *is == written);
            arrays.map(|(array, _)| array.region().clone()).collect()
        };
        let command = Command::library(op, regions(false), LibraryOutput::Memory(regions(true)));
        let recording = device.record(nothing, &[command])?;
        Ok(Launch { calls, arrays: bound, recording })
    }
}

/// Arguments, with host arrays copied to the device.
pub(super) struct Moved<'a> {
    pub(super) args: Vec<Argument<'a>>,
    /// Whether some of them were host arrays.
    pub(super) from_host: bool,
    /// Arrays to copy back after the launch.
    pub(super) results: Vec<(DeviceArray, Store<'a>)>,
}

/// The text of a kernel, with its `$` names replaced.
///
/// # Errors
/// If `name` cannot be a name in C.
pub(super) fn filled(text: &str, name: &str, words: &[(&str, &str)]) -> Result<String> {
    if !is_identifier(name) {
        let message = "expected letters, digits and `_`, and no keyword of C, as a kernel's name".into();
        return Err(Error::Call { function: name.into(), message });
    }
    let fill = |text: String, (word, meaning): &(&str, &str)| text.replace(word, meaning);
    Ok(words.iter().chain(&[("$name", name)]).fold(text.to_string(), fill))
}

/// A kernel of a [`Module`].
#[derive(Clone)]
pub struct RawKernel {
    module: Module,
    signature: KernelSignature,
    /// The name that errors give, and the number of parameters at the end that the user does not know, of a
    /// kernel that was made from expressions.
    of: Option<(String, usize)>,
    /// The last launches, which are used again for equal arguments.
    recent: Arc<Mutex<VecDeque<Launch>>>,
}

/// Launches that a kernel remembers: the arrays of a step often take turns.
const RECENT: usize = 4;

impl fmt::Debug for RawKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawKernel({}, {})", self.signature.name, self.module.device.properties().id)
    }
}

impl RawKernel {
    pub(super) fn module(&self) -> &Module {
        &self.module
    }

    /// Its name and parameters.
    pub fn signature(&self) -> &KernelSignature {
        &self.signature
    }

    /// Enqueues one launch. If an argument is a [`CopyOut`](super::CopyOut) or
    /// [`CopyInOut`](super::CopyInOut), the call waits until its results are on the host. The kernel
    /// remembers its last four launches, and keeps their arrays.
    ///
    /// # Errors
    /// If an argument does not fit its parameter, is on another device, or was computed by a call that
    /// failed; if the grid is too large; if the device fails.
    pub fn launch(&self, grid: Grid, args: Vec<Argument<'_>>) -> Result<()> {
        let Moved { args, from_host, results } = self.module.moved(args)?;
        let mut bound = BoundArrays::default();
        let call = self.call(grid, args, &mut bound)?;
        if !from_host {
            let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(launch) = recent.iter_mut().find(|launch| launch.is_of(&call, &bound)) {
                return launch.run();
            }
            let mut launch = self.module.record(vec![call], bound)?;
            launch.run()?;
            recent.truncate(RECENT - 1);
            recent.push_front(launch);
            return Ok(());
        }
        self.module.record(vec![call], bound)?.run()?;
        results.into_iter().try_for_each(|(array, store)| store(array.to_value()?))
    }

    /// A launch with its arguments bound, to be run many times.
    ///
    /// # Errors
    /// As [`RawKernel::launch`]; arguments must be on the device.
    pub fn prepare(&self, grid: Grid, args: Vec<Argument<'_>>) -> Result<Launch> {
        self.require_on_device(&args)?;
        let mut bound = BoundArrays::default();
        let call = self.call(grid, args, &mut bound)?;
        self.module.record(vec![call], bound)
    }

    pub(super) fn require_on_device(&self, args: &[Argument<'_>]) -> Result<()> {
        match args.iter().find(|arg| arg.is_on_host()) {
            Some(arg) => self.refuse(format!("expected arrays on the device, found {arg:?}")),
            None => Ok(()),
        }
    }

    /// An error if the user gives no array.
    pub(super) fn require_array(&self) -> Result<()> {
        let is_array = |param: &Param| matches!(param.kind, ParamKind::Array { .. });
        match self.known_params().iter().any(is_array) {
            true => Ok(()),
            false => self.refuse("expected an array among the parameters, found none".into()),
        }
    }

    /// The parameters that the user gives.
    fn known_params(&self) -> &[Param] {
        let own = self.of.as_ref().map_or(0, |(_, own)| *own);
        let params = &self.signature.params;
        &params[..params.len().saturating_sub(own)]
    }

    /// The name that errors give.
    pub(super) fn name(&self) -> &str {
        self.of.as_ref().map_or(&self.signature.name, |(name, _)| name)
    }

    fn refuse<T>(&self, message: String) -> Result<T> {
        Err(Error::Call { function: self.name().into(), message })
    }

    /// A call with these arguments, checked against the parameters. Adds its arrays to `bound`.
    pub(super) fn call(
        &self,
        grid: Grid,
        args: Vec<Argument<'_>>,
        bound: &mut BoundArrays,
    ) -> Result<KernelCall> {
        let params = &self.signature.params;
        if params.len() != args.len() {
            let known = self.known_params();
            let names: Vec<&str> = known.iter().map(|param| param.name.as_str()).collect();
            let found = (args.len() + known.len()).saturating_sub(params.len());
            let expected = format!("{} arguments ({})", known.len(), names.join(", "));
            return self.refuse(format!("expected {expected}, found {found}"));
        }
        let mut given = Vec::with_capacity(args.len());
        for (param, arg) in params.iter().zip(&args) {
            let fits = match (param.kind, arg) {
                (ParamKind::Array { dtype, written }, Argument::Array(array) | Argument::Strided(array)) => {
                    self.check_array(param, array)?;
                    let fits = dtype.is_none_or(|dtype| dtype == array.dtype());
                    fits.then(|| bound.array(array.clone(), written))
                }
                (ParamKind::Scalar(dtype), Argument::Number(number)) => {
                    fitted(*number, dtype).map(KernelArg::Scalar)
                }
                (ParamKind::Local, Argument::Local(bytes)) => Some(KernelArg::Local(*bytes)),
                _ => None,
            };
            let Some(fits) = fits else {
                return self.refuse(format!("`{}`: expected {}, found {arg:?}", param.name, param.kind));
            };
            given.push(fits);
        }
        let (grid, group) = grid.on(self.module.device.properties());
        Ok(KernelCall { kernel: self.signature.name.clone(), grid, group, args: given })
    }

    /// The array must be on this stream, and the calls that computed it must have succeeded.
    fn check_array(&self, param: &Param, array: &DeviceArray) -> Result<()> {
        let own = &self.module.device;
        if array.is_on(own) {
            return array.check();
        }
        let [own, other] = [own, array.device()].map(|device| device.properties().id.clone());
        let expected = format!("expected an array on the stream of {own}");
        self.refuse(format!("`{}`: {expected}, found one on another stream, of {other}", param.name))
    }
}

/// A launch with its arguments bound. It keeps their memory.
#[derive(Debug)]
pub struct Launch {
    calls: Vec<KernelCall>,
    arrays: BoundArrays,
    recording: Box<dyn Recording>,
}

impl Launch {
    /// Enqueues it.
    ///
    /// # Errors
    /// If the device fails.
    pub fn run(&mut self) -> Result<()> {
        Ok(self.recording.replay()?)
    }

    /// Runs it once, waits, and returns the time by the device's clock.
    ///
    /// # Errors
    /// If the device fails.
    pub fn timed(&mut self) -> Result<std::time::Duration> {
        Ok(self.recording.timed()?.into_iter().sum())
    }

    fn is_of(&self, call: &KernelCall, bound: &BoundArrays) -> bool {
        let equal = |((a, _), (b, _)): (&(DeviceArray, bool), &(DeviceArray, bool))| same(a, b);
        matches!(&self.calls[..], [own] if own == call)
            && self.arrays.0.len() == bound.0.len()
            && self.arrays.0.iter().zip(&bound.0).all(equal)
    }
}
