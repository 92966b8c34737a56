//! The sizes in a kernel's text: literals, or arguments of the kernel.
//!
//! Sizes are extents, strides, offsets, and constants that may come from them. If they are literals, the
//! compiler computes with them, and the text serves these sizes alone. If they are
//! [arguments](super::ForSizes::Any), Nests that differ only in sizes have one text, which is compiled
//! once; the values of a launch are in [`KernelEntry::sizes`](super::KernelEntry::sizes).
//!
//! The form of a kernel, such as its loops, lanes and address types, may depend on sizes too, and then so
//! does the text. Schedules for any size depend on thresholds only. Offsets and steps that are 0 or 1 are
//! part of the form, so that contiguous memory is accessed as such.

use super::kernel::Printer;
use crate::dtype::DType;
use crate::scalar::Scalar;
use std::cell::RefCell;

/// The arguments of a kernel that are sizes; `None` if sizes are literals.
#[derive(Debug)]
pub(super) struct SizeArguments(Option<RefCell<Vec<SizeArgument>>>);

/// One argument.
#[derive(Debug)]
struct SizeArgument {
    /// Its place in the form of the kernel. Equal values of one place share an argument; those of different
    /// places do not, for at other sizes they may differ.
    place: String,
    value: Scalar,
}

impl SizeArguments {
    /// Literals, or arguments if `any` is true.
    pub(super) fn new(any: bool) -> SizeArguments {
        SizeArguments(any.then(RefCell::default))
    }

    /// Whether sizes are arguments.
    pub(super) fn are_arguments(&self) -> bool {
        self.0.is_some()
    }

    /// The name of the argument for a value, if sizes are arguments.
    fn argument(&self, place: &str, value: Scalar) -> Option<String> {
        let mut sizes = self.0.as_ref()?.borrow_mut();
        let same = |size: &SizeArgument| size.place == place && size.value == value;
        let at = sizes.iter().position(same).unwrap_or_else(|| {
            sizes.push(SizeArgument { place: place.into(), value });
            sizes.len() - 1
        });
        Some(format!("size{at}"))
    }

    /// The declarations of the arguments.
    pub(super) fn parameters(&self) -> Vec<String> {
        let declare =
            |(at, size): (usize, &SizeArgument)| format!("const {} size{at}", size.value.dtype().short());
        self.0
            .iter()
            .flat_map(|sizes| sizes.borrow().iter().enumerate().map(declare).collect::<Vec<_>>())
            .collect()
    }

    /// The values of the arguments.
    pub(super) fn values(self) -> Vec<Scalar> {
        let sizes = self.0.map(RefCell::into_inner).unwrap_or_default();
        sizes.into_iter().map(|size| size.value).collect()
    }
}

impl Printer<'_> {
    /// A size of the type of linear point numbers.
    pub(super) fn count_at(&self, place: &str, n: u64) -> String {
        let dtype = if self.walks.fits_31_bits { DType::U32 } else { DType::U64 };
        self.sizes.argument(place, Scalar::from_i128(dtype, n.into())).unwrap_or_else(|| self.number(n))
    }

    /// A size of the type of positions and addresses.
    pub(super) fn index_at(&self, place: &str, n: impl Into<i128>) -> String {
        let (n, dtype) = (n.into(), if self.walks.fits_31_bits { DType::I32 } else { DType::I64 });
        self.sizes.argument(place, Scalar::from_i128(dtype, n)).unwrap_or_else(|| n.to_string())
    }

    /// The argument for a constant that may come from a size.
    pub(super) fn constant_at(&self, phase: usize, at: usize, constant: Scalar) -> Option<String> {
        let value = may_be_size(constant).filter(|_| self.sizes.are_arguments())?;
        self.sizes.argument(&format!("constant {phase} {at}"), value)
    }
}

/// The register's value of a constant that may come from a size: an integer, a whole float or the reciprocal
/// of one. Narrow integers are no sizes.
fn may_be_size(constant: Scalar) -> Option<Scalar> {
    let dtype = constant.dtype();
    if dtype.is_integer() {
        return (dtype.size() >= 4).then_some(constant);
    }
    let x = constant.to_f64();
    let is_count = |n: f64| n.abs() >= 2.0 && n.abs() < 2f64.powi(53) && n.fract() == 0.0;
    let count = x.recip().round();
    let reciprocal = is_count(count) && Scalar::from_f64(dtype, count.recip()).bits() == constant.bits();
    (dtype.is_float() && (is_count(x) || reciprocal)).then(|| Scalar::from_f64(dtype.register(), x))
}
