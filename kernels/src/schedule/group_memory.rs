//! The arrays in group memory through which the items of a group fold.

use crate::dtype::DType;
use crate::nest::Nest;
use std::collections::BTreeMap;

/// Number of group memory arrays by element type: the maximum over the phases.
pub(crate) fn arrays(nest: &Nest, dtypes: &[Vec<DType>]) -> BTreeMap<&'static str, usize> {
    let mut most = BTreeMap::new();
    for (phase, dtypes) in nest.phases.iter().zip(dtypes) {
        let mut count = BTreeMap::new();
        for fold in &phase.folds {
            *count.entry(array_type(dtypes[fold.value as usize])).or_insert(0) += 1;
            if fold.fold.has_index() {
                *count.entry("i64").or_insert(0) += 1;
            }
        }
        for (dtype, count) in count {
            let entry = most.entry(dtype).or_insert(0);
            *entry = count.max(*entry);
        }
    }
    most
}

/// Bytes of group memory that one item of a group needs.
pub(crate) fn bytes(nest: &Nest, dtypes: &[Vec<DType>]) -> u64 {
    let size = |name| DType::parse(name).map_or(8, DType::size);
    arrays(nest, dtypes).iter().map(|(name, count)| (size(name) * count) as u64).sum()
}

/// The type of the elements of an array of accumulators.
pub(crate) fn array_type(dtype: DType) -> &'static str {
    if dtype == DType::Bool { "u8" } else { dtype.register().short() }
}
