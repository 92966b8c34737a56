//! Several small arrays in one transfer: a transfer takes some microseconds, however little it moves. The
//! memory plan places small inputs next to each other, and small outputs (`engine/memory`).

use crate::engine::memory::SMALL;
use crate::error::Result;
use crate::value::Value;
use std::borrow::Cow;
use std::sync::Arc;
use workalike_device::{Device, Properties, Region};

/// The most bytes of a transfer of several: to gather more takes longer than transfers do.
const MOST: u64 = 256 << 10;

/// Adjacent regions, by the positions of arrays; or a single one.
#[derive(Debug)]
pub(crate) struct PackedTransfer {
    /// All of them, with what lies between them to align them.
    whole: Region,
    /// The position, the offset in `whole`, and the bytes of each.
    parts: Vec<(usize, u64, u64)>,
}

/// Divides regions into transfers. The host device's copies are plain ones, which cost nothing beside their
/// bytes.
pub(crate) fn transfers(mut regions: Vec<(usize, Region)>, properties: &Properties) -> Vec<PackedTransfer> {
    let place = |region: &Region| (Arc::as_ptr(&region.memory).cast::<()>().addr(), region.offset);
    regions.sort_by_key(|(_, region)| place(region));
    let mut all: Vec<PackedTransfer> = Vec::new();
    for (position, region) in regions {
        let beside = |last: &&mut PackedTransfer| {
            let same = Arc::ptr_eq(&last.whole.memory, &region.memory);
            let end = last.whole.offset + last.whole.bytes;
            let small = region.bytes <= SMALL && last.parts.iter().all(|part| part.2 <= SMALL);
            let few = last.whole.bytes + region.bytes <= MOST;
            // Nothing else lies between them: every buffer begins at a multiple of the alignment.
            let next = end.next_multiple_of(properties.alignment.max(1)) == region.offset;
            same && small && few && next && !properties.interprets
        };
        match all.last_mut().filter(beside) {
            Some(last) => {
                last.parts.push((position, region.offset - last.whole.offset, region.bytes));
                last.whole.bytes = region.offset + region.bytes - last.whole.offset;
            }
            None => all.push(PackedTransfer { parts: vec![(position, 0, region.bytes)], whole: region }),
        }
    }
    all
}

impl PackedTransfer {
    pub(crate) fn has_several(&self) -> bool {
        self.parts.len() > 1
    }

    /// Each region by itself.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (usize, Region)> {
        self.parts.iter().map(|&(position, offset, bytes)| {
            (position, Region { offset: self.whole.offset + offset, bytes, ..self.whole.clone() })
        })
    }

    /// Copies arrays of exactly these sizes to their regions, if there are several and `value` has them all.
    pub(crate) fn upload<'v>(
        &self,
        device: &dyn Device,
        value: impl Fn(usize) -> Option<&'v Value>,
    ) -> Result<bool> {
        if !self.has_several() {
            return Ok(false);
        }
        let values: Option<Vec<&Value>> = self.parts.iter().map(|part| value(part.0)).collect();
        let Some(values) = values else { return Ok(false) };
        let mut staged = vec![0u8; self.whole.bytes as usize];
        for (value, &(_, offset, bytes)) in values.into_iter().zip(&self.parts) {
            let to = &mut staged[offset as usize..(offset + bytes) as usize];
            let from = contiguous_bytes(value)?;
            if from.len() != to.len() {
                return Ok(false);
            }
            to.copy_from_slice(&from);
        }
        device.upload(&staged, &self.whole)?;
        Ok(true)
    }

    /// Calls `each` with the position and the bytes of each region.
    pub(crate) fn download(
        &self,
        device: &dyn Device,
        mut each: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut staged = vec![0u8; self.whole.bytes as usize];
        device.download(&self.whole, &mut staged)?;
        let each = |&(position, offset, bytes): &(usize, u64, u64)| {
            each(position, &staged[offset as usize..(offset + bytes) as usize])
        };
        self.parts.iter().try_for_each(each)
    }
}

/// The elements of an array in order, as bytes.
pub(crate) fn contiguous_bytes(value: &Value) -> Result<Cow<'_, [u8]>> {
    Ok(match value.contiguous_bytes() {
        Some(bytes) => Cow::Borrowed(bytes),
        None => Cow::Owned(value.contiguous()?.contiguous_bytes().unwrap_or(&[]).to_vec()),
    })
}

#[cfg(all(test, feature = "host"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::host::Host;
    use workalike_device::Open;

    #[test]
    fn small_regions_side_by_side_are_one_transfer() {
        let device = Host::threads(1).open().unwrap();
        let properties = Properties { interprets: false, alignment: 256, ..device.properties().clone() };
        let [arena, other] = [1 << 20, 4096].map(|bytes| Region::whole(device.allocate(bytes).unwrap()));
        let part = |memory: &Region, offset: u64, bytes: u64| Region { offset, bytes, ..memory.clone() };
        // In any order; one is large, one lies elsewhere, and behind one is room for another buffer.
        let regions = vec![
            (0, part(&arena, 512, 4)),
            (1, part(&arena, 0, 256)),
            (2, part(&arena, 256, 9)),
            (3, part(&arena, 768, 1 << 19)),
            (4, part(&other, 0, 8)),
            (5, part(&arena, (1 << 19) + 768, 4)),
            (6, part(&other, 512, 8)),
        ];
        let parts = |transfers: &[PackedTransfer]| -> Vec<Vec<usize>> {
            let mut all: Vec<Vec<usize>> =
                transfers.iter().map(|t| t.parts().map(|(position, _)| position).collect()).collect();
            all.sort();
            all
        };
        let found = transfers(regions.clone(), &properties);
        assert_eq!(parts(&found), [vec![1, 2, 0], vec![3], vec![4], vec![5], vec![6]]);
        for (position, region) in found.iter().flat_map(PackedTransfer::parts) {
            let given = &regions[position].1;
            assert!(Arc::ptr_eq(&region.memory, &given.memory));
            assert_eq!((region.offset, region.bytes), (given.offset, given.bytes));
        }
        let many: Vec<(usize, Region)> =
            (0..40).map(|i| (i, part(&arena, i as u64 * SMALL, SMALL))).collect();
        let sizes: Vec<usize> = transfers(many, &properties).iter().map(|t| t.parts.len()).collect();
        assert_eq!(sizes, [16, 16, 8]);
        let host = transfers(regions, device.properties());
        assert!(host.iter().all(|transfer| transfer.parts.len() == 1));

        let values = [7u8, 9, 11].map(|x| Value::from(vec![x; 256]));
        let joint = found.iter().find(|transfer| transfer.parts.len() == 3).unwrap();
        let sized = |i: usize| (i == 1).then_some(&values[1]);
        assert!(!joint.upload(device.as_ref(), sized).unwrap(), "not all are given");
        let sizes = [4, 256, 9];
        let values = [0, 1, 2].map(|i: usize| Value::from(vec![i as u8 + 1; sizes[i]]));
        assert!(joint.upload(device.as_ref(), |i| values.get(i)).unwrap());
        let mut seen = vec![];
        joint
            .download(device.as_ref(), |i, bytes| {
                seen.push((i, bytes.to_vec()));
                Ok(())
            })
            .unwrap();
        let want = [1, 2, 0].map(|i: usize| (i, vec![i as u8 + 1; sizes[i]]));
        assert_eq!(seen, want);
    }
}
