//! Scans from expressions in C: running results of an associative operation.

use super::args::Argument;
use super::bound::BoundArrays;
use super::elementwise::common_count;
use super::module::{Launch, Module, Moved, RawKernel, filled};
use crate::engine::DeviceArray;
use crate::error::{Error, Result};
use crate::ops::Grid;
use std::sync::{Arc, Mutex, PoisonError};
use workalike_device::{Device, Properties};
use workalike_kernels::DType;
use workalike_kernels::custom::{KernelSource, Language};

#[cfg(test)]
mod tests;

/// Running results of an operation over the indices, in segments if the scan has any.
///
/// The operation must be associative. The order in which it is applied depends on the device and the number
/// of elements alone, so that the results of equal calls are equal.
///
/// ```
/// use workalike::custom::{CopyIn, CopyOut, ScanKernel, kernel_args};
/// use workalike::prelude::*;
/// # #[cfg(feature = "host")] {
/// let device = Host::auto().open()?; // or OpenCl::auto(), or Cuda::device(0)
/// let (x, starts) = (array![1i32, 2, 3, 4], array![0u8, 0, 1, 0]);
/// let mut y = Array1::<i32>::zeros(4);
/// let params = "const i32 *x, const u8 *starts, i32 *y";
/// let sums = ScanKernel::new(&device, "sums", params, (DType::I32, "0"), "x[i]", "a + b", "y[i] = item")?;
/// sums.call(kernel_args![CopyIn(&x), CopyIn(&starts), CopyOut(&mut y)])?;
/// assert_eq!(y, array![1, 3, 6, 10]);
/// let by_segment = sums.segmented("starts[i]")?;
/// by_segment.call(kernel_args![CopyIn(&x), CopyIn(&starts), CopyOut(&mut y)])?;
/// assert_eq!(y, array![1, 3, 3, 7]);
/// # }
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScanKernel {
    text: Arc<ScanText>,
    module: Module,
    passes: ScanPasses,
    /// Of one pass, the scan; of three, the one that reduces the parts and the one that scans their results
    /// follow.
    kernels: Vec<RawKernel>,
    /// Of the last call.
    exchange: Arc<Mutex<Option<Exchange>>>,
}

/// What a scan is made from.
#[derive(Clone, Debug)]
struct ScanText {
    name: String,
    params: String,
    dtype: DType,
    neutral: String,
    input: String,
    scan: String,
    output: String,
    /// The expression for starts of segments; empty: none.
    starts: String,
}

impl ScanText {
    fn source(&self, passes: ScanPasses, sizes: ScanGeometry) -> Result<KernelSource> {
        let words = [
            ("$params", self.params.as_str()),
            ("$neutral", &format!("(({}))", self.neutral)),
            ("$input", &self.input),
            ("$scan", &self.scan),
            ("$output", &self.output),
            ("$starts", &self.starts),
            ("$prior", &u8::from(self.output.contains("prev_item")).to_string()),
            ("$segmented", &u8::from(!self.starts.is_empty()).to_string()),
            ("$group", &sizes.group.to_string()),
            ("$each", &sizes.each.to_string()),
            ("$tile", &sizes.tile().to_string()),
        ];
        let text = filled(&passes.text(), &self.name, &words)?;
        Ok(KernelSource::new(Language::Dialect, text, &[("x", self.dtype)])?)
    }
}

/// How often the device goes over the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScanPasses {
    /// Groups look back at what the groups before them found (D. Merrill and M. Garland, "Single-pass
    /// parallel prefix scan with decoupled look-back", 2016), but in an order that does not depend on time.
    One,
    /// Each group reduces a part of the indices, one group scans their results, and each group scans its part
    /// from there on (G. Blelloch, "Prefix Sums and Their Applications", 1990).
    Three,
}

impl ScanPasses {
    fn of(device: &Properties) -> ScanPasses {
        if device.forward_progress { ScanPasses::One } else { ScanPasses::Three }
    }

    /// The kernels. `$` names are replaced.
    fn text(self) -> String {
        let (kernels, look_back) = match self {
            ScanPasses::One => (include_str!("scan/one_pass.c"), include_str!("scan/look_back.c")),
            ScanPasses::Three => (include_str!("scan/three_passes.c"), ""),
        };
        let tile = include_str!("scan/tile.c").replace("$look_back", look_back);
        include_str!("scan/group.c").to_string() + &kernels.replace("$scan_tile", &tile)
    }
}

/// The geometry of a scan's launches.
#[derive(Clone, Copy, Debug)]
struct ScanGeometry {
    /// Work items of a group.
    group: u32,
    /// Elements of a work item in a tile.
    each: u32,
    /// The most groups of three passes.
    most: u64,
}

impl ScanGeometry {
    fn of(device: &Properties, passes: ScanPasses, dtype: DType) -> ScanGeometry {
        // Loads in flight hide the latency of memory; a tile must fit in the memory of a group.
        let each = match passes {
            ScanPasses::One => 128 / dtype.register().size().max(4) as u32,
            ScanPasses::Three => 8,
        };
        match device.is_wide() {
            true => ScanGeometry { group: 256, each, most: u64::from(device.units) * 8 },
            // A processor runs the items of a group one after another, so that none can wait for another
            // group.
            false => {
                let group = if passes == ScanPasses::One { 1 } else { 8 };
                ScanGeometry { group, each, most: u64::from(device.units) * 4 }
            }
        }
    }

    /// Elements of a tile.
    fn tile(self) -> u32 {
        self.group * self.each
    }
}

/// What the groups of one pass tell each other, for a number of tiles. It stays as it is between runs.
#[derive(Clone, Debug)]
struct Exchange {
    tiles: u64,
    /// The number of tiles that were ever taken, and the words of tiles and of blocks.
    arrays: [DeviceArray; 3],
}

impl Exchange {
    fn new(device: &Arc<dyn Device>, dtype: DType, tiles: u64, group: u32) -> Result<Exchange> {
        let zeros = |len: u64| DeviceArray::zeros(device, DType::U64, &[len as usize]);
        let words = dtype.register().size().div_ceil(4) as u64;
        let blocks = tiles / u64::from(group) + 1;
        Ok(Exchange { tiles, arrays: [zeros(1)?, zeros(tiles * words)?, zeros(blocks * words)?] })
    }
}

impl ScanKernel {
    /// A scan over these parameters, separated by commas as in C, of which at least one is an array. Values
    /// have this dtype, whose text is the neutral element; halves are scanned in float32. `input` is an
    /// expression of the [dialect](KernelSource) in the index `i` and the number of elements `n`; `scan` one
    /// in `a` and `b`, which may be evaluated more than once. `output` is one or more statements: `item` is
    /// the result with index `i`, `prev_item` the one before it in its segment, or the neutral element: `y[i]
    /// = item` is an inclusive scan, `y[i] = prev_item` an exclusive one.
    ///
    /// # Errors
    /// If the name cannot be one in C, the parameters have no array, or the text does not compile.
    pub fn new(
        device: &Arc<dyn Device>,
        name: &str,
        params: &str,
        (dtype, neutral): (DType, &str),
        input: &str,
        scan: &str,
        output: &str,
    ) -> Result<ScanKernel> {
        let [name, params, neutral, input, scan, output] =
            [name, params, neutral, input, scan, output].map(String::from);
        let starts = String::new();
        let text = ScanText { name, params, dtype, neutral, input, scan, output, starts };
        ScanKernel::of(device, text, ScanPasses::of(device.properties()))
    }

    /// The same scan in segments: one starts at each index where `start`, an expression in `i`, is not 0.
    ///
    /// # Errors
    /// If the text does not compile.
    pub fn segmented(&self, start: &str) -> Result<ScanKernel> {
        let text = ScanText { starts: start.into(), ..(*self.text).clone() };
        ScanKernel::of(self.module.device(), text, self.passes)
    }

    fn of(device: &Arc<dyn Device>, scan: ScanText, passes: ScanPasses) -> Result<ScanKernel> {
        let sizes = ScanGeometry::of(device.properties(), passes, scan.dtype);
        let module = Module::new(device, scan.source(passes, sizes)?)?;
        let kernel = |step: &str, own| module.kernel_of(&format!("{}_{step}", scan.name), &scan.name, own);
        let kernels = match passes {
            ScanPasses::One => vec![kernel("scan", 5)?],
            ScanPasses::Three => vec![kernel("scan", 3)?, kernel("reduce", 4)?, kernel("totals", 0)?],
        };
        kernels[0].require_array()?;
        Ok(ScanKernel { text: Arc::new(scan), module, passes, kernels, exchange: Arc::default() })
    }

    /// Scans arrays that all have as many elements.
    ///
    /// # Errors
    /// If arrays differ in their number of elements, or as [`RawKernel::launch`].
    pub fn call(&self, args: Vec<Argument<'_>>) -> Result<()> {
        let Moved { args, results, .. } = self.module.moved(args)?;
        self.bound(args)?.run()?;
        results.into_iter().try_for_each(|(array, store)| store(array.to_value()?))
    }

    /// A scan with its arguments bound, to be run many times.
    ///
    /// # Errors
    /// As [`ScanKernel::call`]; arguments must be on the device.
    pub fn prepare(&self, args: Vec<Argument<'_>>) -> Result<Launch> {
        self.kernels[0].require_on_device(&args)?;
        self.bound(args)
    }

    fn bound(&self, args: Vec<Argument<'_>>) -> Result<Launch> {
        let count = common_count(&self.text.name, &args)?;
        match self.passes {
            ScanPasses::One => self.one_pass(args, count),
            ScanPasses::Three => self.three_passes(&args, count),
        }
    }

    fn one_pass(&self, mut args: Vec<Argument<'_>>, count: usize) -> Result<Launch> {
        let device = self.module.device();
        let sizes = ScanGeometry::of(device.properties(), self.passes, self.text.dtype);
        let tiles = (count as u64).div_ceil(u64::from(sizes.tile()));
        // A scan is one launch on one stream, so that all of them can use the same arrays.
        let mut last = self.exchange.lock().unwrap_or_else(PoisonError::into_inner);
        let exchange = match last.take().filter(|last| last.tiles == tiles) {
            Some(last) => last,
            None => Exchange::new(device, self.text.dtype, tiles, sizes.group)?,
        };
        args.extend([count as u64, tiles].map(Argument::from));
        args.extend(exchange.arrays.iter().map(Argument::from));
        *last = Some(exchange);
        let mut bound = BoundArrays::default();
        let call = self.kernels[0].call(Grid::groups([tiles], [sizes.group]), args, &mut bound)?;
        self.module.record(vec![call], bound)
    }

    fn three_passes<'a>(&self, args: &[Argument<'a>], count: usize) -> Result<Launch> {
        let device = self.module.device();
        let sizes = ScanGeometry::of(device.properties(), self.passes, self.text.dtype);
        let tile = u64::from(sizes.tile());
        let tiles = (count as u64).div_ceil(tile);
        let part = tiles.div_ceil(sizes.most).max(1) * tile;
        let parts = (count as u64).div_ceil(part);
        let totals = DeviceArray::allocate(device, self.text.dtype.register(), &[parts as usize])?;
        let flags = DeviceArray::allocate(device, DType::U32, &[parts as usize])?;
        let with = |more: Vec<Argument<'a>>| -> Vec<Argument<'a>> {
            let sizes = [Argument::from(count), Argument::from(part)];
            args.iter().filter_map(Argument::shared).chain(sizes).chain(more).collect()
        };
        let [scan, reduce, scan_totals] = &self.kernels[..] else {
            return Err(Error::Internal("a scan of three passes has three kernels".into()));
        };
        let group = sizes.group;
        let grid = Grid::groups([parts], [group]);
        let mut bound = BoundArrays::default();
        let first = reduce.call(grid, with(vec![(&totals).into(), (&flags).into()]), &mut bound)?;
        let of_totals = vec![Argument::from(&totals), Argument::from(&flags), Argument::from(parts)];
        let second = scan_totals.call(Grid::groups([parts.min(1)], [group]), of_totals, &mut bound)?;
        let third = scan.call(grid, with(vec![(&totals).into()]), &mut bound)?;
        self.module.record(vec![first, second, third], bound)
    }
}
