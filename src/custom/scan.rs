//! Scans from expressions in C: running results of an associative operation.

use super::args::Argument;
use super::elementwise::common_count;
use super::module::{Bound, Launch, Module, Moved, RawKernel, filled};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::custom::{Language, Source};
use crate::ops::Grid;
use crate::rehost::DeviceArray;
use crate::rehost::device::{Device, Properties};
use std::sync::Arc;

/// Running results of an operation over the indices, in segments if the scan has any.
///
/// Each group reduces a part of the indices, one group scans their results, and each group scans its part
/// from there on (Blelloch, "Prefix Sums and Their Applications", 1990). The operation must be associative.
///
/// ```
/// use workalike::custom::{In, Out, ScanKernel, kernel_args};
/// use workalike::prelude::*;
/// # #[cfg(feature = "opencl")] if let Ok(device) = OpenCl::auto().open() {
/// let (x, starts) = (array![1i32, 2, 3, 4], array![0u8, 0, 1, 0]);
/// let mut y = Array1::<i32>::zeros(4);
/// let params = "const i32 *x, const u8 *starts, i32 *y";
/// let sums = ScanKernel::new(&device, "sums", params, (DType::I32, "0"), "x[i]", "a + b", "y[i] = item")?;
/// sums.call(kernel_args![In(&x), In(&starts), Out(&mut y)])?;
/// assert_eq!(y, array![1, 3, 6, 10]);
/// let by_segment = sums.segmented("starts[i]")?;
/// by_segment.call(kernel_args![In(&x), In(&starts), Out(&mut y)])?;
/// assert_eq!(y, array![1, 3, 3, 7]);
/// # }
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScanKernel {
    text: Arc<ScanText>,
    module: Module,
    /// Reduces the parts, scans their results, scans the parts.
    kernels: [RawKernel; 3],
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

/// The kernels. `$` names are replaced. An item is a value with a flag: whether a segment starts in its part;
/// joined to the items before it, a part in which a segment starts keeps its own value.
const TEXT: &str = "#define INPUT_(i) ($input)
#if $segmented
#define NOTE_START_(at_, i) starts_[at_] = ($starts) != 0
#define STARTS_(at_) starts_[at_]
#else
#define NOTE_START_(at_, i)
#define STARTS_(at_) 0
#endif
#define SCAN_(a, b) ($scan)

/* Scans the values of a group's work items: returns the result before this item's, and whether a segment
   starts before it; the arrays hold the results. */
DEVICE_FN work_x scan_group_(work_x value_, u32 flag_, LOCAL_MEM_ARG work_x *values_, LOCAL_MEM_ARG u32 *flags_, u32 *started_)
{
#ifdef HAS_SHUFFLE
    const u32 lane_ = LID_0 % WARP_SIZE;
    for (u32 apart_ = 1; apart_ < WARP_SIZE; apart_ *= 2) {
        const work_x w_ = shuffle_up(value_, apart_);
        const u32 f_ = shuffle_up(flag_, apart_);
        if (lane_ >= apart_) {
            if (!flag_) value_ = SCAN_((w_), (value_));
            flag_ |= f_;
        }
    }
    if (lane_ == WARP_SIZE - 1) {
        values_[LID_0 / WARP_SIZE] = value_;
        flags_[LID_0 / WARP_SIZE] = flag_;
    }
    local_barrier();
    work_x prefix_ = $neutral;
    u32 prefix_flag_ = 0;
    for (u32 k_ = 0; k_ < LID_0 / WARP_SIZE; k_++) {
        const work_x w_ = values_[k_];
        prefix_ = flags_[k_] ? w_ : SCAN_((prefix_), (w_));
        prefix_flag_ |= flags_[k_];
    }
    const work_x last_ = shuffle_up(value_, 1);
    const u32 last_flag_ = shuffle_up(flag_, 1);
    local_barrier();
    if (LID_0 == $group - 1) {
        values_[LID_0] = flag_ ? value_ : SCAN_((prefix_), (value_));
        flags_[LID_0] = prefix_flag_ | flag_;
    }
    local_barrier();
    *started_ = prefix_flag_ | (lane_ == 0 ? 0 : last_flag_);
    if (lane_ == 0) return prefix_;
    return last_flag_ ? last_ : SCAN_((prefix_), (last_));
#else
    values_[LID_0] = value_;
    flags_[LID_0] = flag_;
    local_barrier();
    for (u32 apart_ = 1; apart_ < $group; apart_ *= 2) {
        work_x v_ = values_[LID_0];
        u32 f_ = flags_[LID_0];
        if (LID_0 >= apart_) {
            const work_x w_ = values_[LID_0 - apart_];
            if (!f_) v_ = SCAN_((w_), (v_));
            f_ |= flags_[LID_0 - apart_];
        }
        local_barrier();
        values_[LID_0] = v_;
        flags_[LID_0] = f_;
        local_barrier();
    }
    *started_ = LID_0 == 0 ? 0 : flags_[LID_0 - 1];
    return LID_0 == 0 ? (work_x)($neutral) : values_[LID_0 - 1];
#endif
}

/* Reads a tile: INPUT_ of each index, so that a work item finds eight neighbours. */
#define STAGE_                                                                     \\
    if (count_ == $tile) {                                                         \\
        work_x read_[8];                                                           \\
        UNROLL_                                                                    \\
        for (u32 k_ = 0; k_ < 8; k_++) read_[k_] = INPUT_((from_ + LID_0 + k_ * $group)); \\
        UNROLL_                                                                    \\
        for (u32 k_ = 0; k_ < 8; k_++) staged_[SKEWED_(LID_0 + k_ * $group)] = read_[k_]; \\
    } else {                                                                       \\
        for (u32 k_ = LID_0; k_ < count_; k_ += $group) staged_[SKEWED_(k_)] = INPUT_((from_ + k_)); \\
    }                                                                              \\
    for (u32 k_ = LID_0; $segmented && k_ < count_; k_ += $group) { NOTE_START_(SKEWED_(k_), (from_ + k_)); }
#define SKEWED_(k) ((k) + (k) / 8)
#ifdef HAS_SHUFFLE
#define UNROLL_ _Pragma(\"unroll\")
#else
#define UNROLL_
#endif

KERNEL void $name_reduce($params, const u64 n, const u64 part_, GLOBAL_MEM work_x *totals_, GLOBAL_MEM u32 *started_parts_)
{
    LOCAL_MEM work_x values_[$group], staged_[$tile + $tile / 8];
    LOCAL_MEM u32 flags_[$group];
#if $segmented
    LOCAL_MEM u8 starts_[$tile + $tile / 8];
#endif
    work_x total_ = $neutral;
    u32 any_ = 0;
    const u64 first_ = GID_0 * part_, end_ = min(first_ + part_, n);
    for (u64 from_ = first_; from_ < end_; from_ += $tile) {
        const u32 count_ = (u32)min((u64)$tile, end_ - from_);
        STAGE_
        local_barrier();
        work_x value_ = $neutral;
        u32 flag_ = 0;
        for (u32 k_ = LID_0 * 8; k_ < LID_0 * 8 + 8 && k_ < count_; k_++) {
            const u32 at_ = SKEWED_(k_);
            const work_x own_ = staged_[at_];
            if (STARTS_(at_)) { value_ = own_; flag_ = 1; } else value_ = SCAN_((value_), (own_));
        }
        u32 started_;
        scan_group_(value_, flag_, values_, flags_, &started_);
        const work_x all_ = values_[$group - 1];
        if (flags_[$group - 1]) { total_ = all_; any_ = 1; } else total_ = SCAN_((total_), (all_));
        local_barrier();
    }
    if (LID_0 == 0) { totals_[GID_0] = total_; started_parts_[GID_0] = any_; }
}

KERNEL void $name_totals(GLOBAL_MEM work_x *totals_, GLOBAL_MEM const u32 *started_parts_, const u32 count_)
{
    LOCAL_MEM work_x values_[$group];
    LOCAL_MEM u32 flags_[$group];
    work_x total_ = $neutral;
    for (u32 from_ = 0; from_ < count_; from_ += $group) {
        const u32 at_ = from_ + LID_0;
        const work_x value_ = at_ < count_ ? totals_[at_] : (work_x)($neutral);
        u32 started_;
        work_x before_ = scan_group_(value_, at_ < count_ ? started_parts_[at_] : 0, values_, flags_, &started_);
        if (!started_) before_ = SCAN_((total_), (before_));
        if (at_ < count_) totals_[at_] = before_;
        const work_x all_ = values_[$group - 1];
        total_ = flags_[$group - 1] ? all_ : SCAN_((total_), (all_));
        local_barrier();
    }
}

KERNEL void $name_scan($params, const u64 n, const u64 part_, GLOBAL_MEM const work_x *totals_)
{
    LOCAL_MEM work_x values_[$group], staged_[$tile + $tile / 8];
#if $prior
    LOCAL_MEM work_x prior_[$tile + $tile / 8];
#endif
    LOCAL_MEM u32 flags_[$group];
#if $segmented
    LOCAL_MEM u8 starts_[$tile + $tile / 8];
#endif
    work_x total_ = totals_[GID_0];
    const u64 first_ = GID_0 * part_, end_ = min(first_ + part_, n);
    for (u64 from_ = first_; from_ < end_; from_ += $tile) {
        const u32 count_ = (u32)min((u64)$tile, end_ - from_);
        STAGE_
        local_barrier();
        work_x value_ = $neutral;
        u32 flag_ = 0;
        for (u32 k_ = LID_0 * 8; k_ < LID_0 * 8 + 8 && k_ < count_; k_++) {
            const u32 at_ = SKEWED_(k_);
            const work_x own_ = staged_[at_];
            if (STARTS_(at_)) { value_ = own_; flag_ = 1; } else value_ = SCAN_((value_), (own_));
        }
        u32 started_;
        work_x running_ = scan_group_(value_, flag_, values_, flags_, &started_);
        if (!started_) running_ = SCAN_((total_), (running_));
        for (u32 k_ = LID_0 * 8; k_ < LID_0 * 8 + 8 && k_ < count_; k_++) {
            const u32 at_ = SKEWED_(k_);
            const work_x own_ = staged_[at_];
            if (STARTS_(at_)) running_ = $neutral;
#if $prior
            prior_[at_] = running_;
#endif
            running_ = STARTS_(at_) ? own_ : SCAN_((running_), (own_));
            staged_[at_] = running_;
        }
        const work_x all_ = values_[$group - 1];
        total_ = flags_[$group - 1] ? all_ : SCAN_((total_), (all_));
        local_barrier();
        for (u32 k_ = LID_0; k_ < count_; k_ += $group) {
            const u64 i = from_ + k_;
            const work_x item = staged_[SKEWED_(k_)];
#if $prior
            const work_x prev_item = prior_[SKEWED_(k_)];
#endif
            $output;
        }
        local_barrier();
    }
}
";

/// Elements of a work item in a tile.
const EACH: u32 = 8;

/// Work items of a group, and the most groups.
fn sizes(device: &Properties) -> (u32, u64) {
    match device.is_wide() {
        true => (256, u64::from(device.units) * 8),
        // A processor runs the items of a group one after another.
        false => (8, u64::from(device.units) * 4),
    }
}

impl ScanKernel {
    /// A scan over these parameters, separated by commas as in C, of which at least one is an array. Values
    /// have this dtype, whose text is the neutral element; halves are scanned in float32. `input` is an
    /// expression of the [dialect](Source) in the index `i` and the number of elements `n`; `scan` one in `a`
    /// and `b`, which may be evaluated more than once. `output` is one or more statements: `item` is the
    /// result with index `i`, `prev_item` the one before it in its segment, or the neutral element: `y[i] =
    /// item` is an inclusive scan, `y[i] = prev_item` an exclusive one.
    ///
    /// # Errors
    /// If the name cannot be one in C, the parameters have no array, the device takes no kernels in C, or the text
    /// does not compile.
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
        ScanKernel::of(device, ScanText { name, params, dtype, neutral, input, scan, output, starts })
    }

    /// The same scan in segments: one starts at each index where `start`, an expression in `i`, is not 0.
    ///
    /// # Errors
    /// If the text does not compile.
    pub fn segmented(&self, start: &str) -> Result<ScanKernel> {
        ScanKernel::of(self.module.device(), ScanText { starts: start.into(), ..(*self.text).clone() })
    }

    fn of(device: &Arc<dyn Device>, scan: ScanText) -> Result<ScanKernel> {
        let (group, _) = sizes(device.properties());
        let words = [
            ("$params", scan.params.as_str()),
            ("$neutral", &format!("(({}))", scan.neutral)),
            ("$input", &scan.input),
            ("$scan", &scan.scan),
            ("$output", &scan.output),
            ("$starts", &scan.starts),
            ("$prior", &u8::from(scan.output.contains("prev_item")).to_string()),
            ("$segmented", &u8::from(!scan.starts.is_empty()).to_string()),
            ("$group", &group.to_string()),
            ("$tile", &(group * EACH).to_string()),
        ];
        let source = Source::new(Language::Dialect, filled(TEXT, &scan.name, &words)?, &[("x", scan.dtype)])?;
        let module = Module::new(device, source)?;
        let kernel = |step: &str, own| module.kernel_of(&format!("{}_{step}", scan.name), &scan.name, own);
        let kernels = [kernel("reduce", 4)?, kernel("totals", 0)?, kernel("scan", 3)?];
        kernels[0].require_array()?;
        Ok(ScanKernel { text: Arc::new(scan), module, kernels })
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
        self.kernels[2].require_on_device(&args)?;
        self.bound(args)
    }

    fn bound<'a>(&self, args: Vec<Argument<'a>>) -> Result<Launch> {
        let count = common_count(&self.text.name, &args)?;
        let device = self.module.device();
        let (group, most) = sizes(device.properties());
        let tile = u64::from(group * EACH);
        let tiles = (count as u64).div_ceil(tile);
        let part = tiles.div_ceil(most).max(1) * tile;
        let parts = (count as u64).div_ceil(part);
        let totals = DeviceArray::allocate(device, self.text.dtype.register(), &[parts as usize])?;
        let flags = DeviceArray::allocate(device, DType::U32, &[parts as usize])?;
        let with = |more: Vec<Argument<'a>>| -> Vec<Argument<'a>> {
            let sizes = [Argument::from(count), Argument::from(part)];
            args.iter().filter_map(Argument::shared).chain(sizes).chain(more).collect()
        };
        let [reduce, scan_totals, scan] = &self.kernels;
        let grid = Grid::groups([parts], [group]);
        let mut bound = Bound::default();
        let first = reduce.call(grid, with(vec![(&totals).into(), (&flags).into()]), &mut bound)?;
        let of_totals = vec![Argument::from(&totals), Argument::from(&flags), Argument::from(parts)];
        let second = scan_totals.call(Grid::groups([parts.min(1)], [group]), of_totals, &mut bound)?;
        let third = scan.call(grid, with(vec![(&totals).into()]), &mut bound)?;
        self.module.record(vec![first, second, third], bound)
    }
}
