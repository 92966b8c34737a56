//! A pool of host memory for results: a result's Value owns the block that the device copied to, and the
//! block returns to the pool when the Value is dropped. So a result is copied once, into pages that the
//! system has already mapped.

use super::free_list::{FreeList, size_class};
use crate::error::{Error, Result};
use crate::value::{HostBytes, Value, checked_len};
use std::fmt;
use std::sync::{Arc, Weak};
use workalike_device::{Device, HostBlock, Region};
use workalike_kernels::DType;

/// Results of fewer bytes do not use the pool: the allocator has warm memory for them.
const SMALL: usize = 16 << 10;

/// Maximum number of idle bytes.
const LIMIT: u64 = 1 << 30;

/// See the [module](self).
pub(crate) struct HostPool {
    device: Arc<dyn Device>,
    idle: FreeList<Box<dyn HostBlock>>,
}

/// A block that holds the elements of a Value.
pub(crate) struct ResultBlock {
    /// `Some` until it is dropped.
    block: Option<Box<dyn HostBlock>>,
    bytes: usize,
    pool: Weak<HostPool>,
}

impl HostBytes for ResultBlock {
    fn bytes(&self) -> &[u8] {
        self.block.as_ref().and_then(|b| b.bytes().get(..self.bytes)).unwrap_or(&[])
    }

    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        self.block.as_mut()?.bytes_mut().get_mut(..self.bytes)
    }
}

impl Drop for ResultBlock {
    fn drop(&mut self) {
        if let (Some(block), Some(pool)) = (self.block.take(), self.pool.upgrade()) {
            pool.give(block);
        }
    }
}

/// The bytes of a scalar or a small vector, stored inline.
struct Inline {
    words: [u64; 4],
    bytes: usize,
}

impl HostBytes for Inline {
    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice::<u64, u8>(&self.words)[..self.bytes]
    }

    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        Some(&mut bytemuck::cast_slice_mut::<u64, u8>(&mut self.words)[..self.bytes])
    }
}

/// Ordinary memory, aligned for every dtype.
#[derive(Debug)]
struct HeapBlock(Vec<u64>);

impl HostBlock for HeapBlock {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

impl HostPool {
    pub(crate) fn new(device: Arc<dyn Device>) -> Arc<HostPool> {
        Arc::new(HostPool { device, idle: FreeList::default() })
    }

    /// A copy of a region on the host; waits for the device.
    pub(crate) fn download(
        self: &Arc<HostPool>,
        source: &Region,
        dtype: DType,
        shape: &[usize],
    ) -> Result<Value> {
        self.download_to(source, dtype, shape, &mut std::iter::empty())
    }

    /// [`HostPool::download`] into the next of `blocks`, which come from [`HostPool::result_blocks`].
    pub(crate) fn download_to(
        self: &Arc<HostPool>,
        source: &Region,
        dtype: DType,
        shape: &[usize],
        blocks: &mut impl Iterator<Item = ResultBlock>,
    ) -> Result<Value> {
        let bytes = checked_len(shape, dtype)? * dtype.size();
        let exact;
        let source = if source.bytes == bytes as u64 {
            source
        } else {
            exact = Region { bytes: bytes as u64, ..source.clone() };
            &exact
        };
        if bytes <= size_of::<[u64; 4]>() {
            let mut inline = Inline { words: [0; 4], bytes };
            if bytes > 0 {
                self.device
                    .download(source, &mut bytemuck::cast_slice_mut::<u64, u8>(&mut inline.words)[..bytes])?;
            }
            return Ok(Value::over(dtype, shape, Arc::new(inline)));
        }
        if bytes < SMALL {
            return Value::try_filled(dtype, shape, |target| Ok(self.device.download(source, target)?));
        }
        let mut block = match blocks.next() {
            Some(block) if block.bytes == bytes => block,
            _ => self.result_block(bytes)?,
        };
        let Some(target) = block.block.as_mut().and_then(|block| block.bytes_mut().get_mut(..bytes)) else {
            // The device returned a smaller block than requested.
            return Value::try_filled(dtype, shape, |target| Ok(self.device.download(source, target)?));
        };
        self.device.download(source, target)?;
        Ok(Value::over(dtype, shape, Arc::new(block)))
    }

    /// A small array of these bytes.
    pub(crate) fn small(dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<Value> {
        if bytes.len() <= size_of::<[u64; 4]>() {
            let mut words = [0; 4];
            bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
            return Ok(Value::over(dtype, shape, Arc::new(Inline { words, bytes: bytes.len() })));
        }
        Value::filled(dtype, shape, |target| target.copy_from_slice(bytes))
    }

    /// A block for each result of these sizes that is large enough for the pool, in order. A block that is
    /// not used returns to the pool.
    pub(crate) fn result_blocks(
        self: &Arc<HostPool>,
        sizes: impl Iterator<Item = u64>,
    ) -> Result<Vec<ResultBlock>> {
        let mut blocks = vec![];
        for bytes in sizes {
            match usize::try_from(bytes) {
                Ok(bytes) if bytes >= SMALL => blocks.push(self.result_block(bytes)?),
                _ => {}
            }
        }
        Ok(blocks)
    }

    fn result_block(self: &Arc<HostPool>, bytes: usize) -> Result<ResultBlock> {
        Ok(ResultBlock { block: Some(self.take(bytes)?), bytes, pool: Arc::downgrade(self) })
    }

    fn take(&self, bytes: usize) -> Result<Box<dyn HostBlock>> {
        let class = size_class(bytes as u64);
        let idle = self.idle.take(class);
        if let Some(block) = idle.or_else(|| self.device.host_memory(class as usize)) {
            return Ok(block);
        }
        let mut words: Vec<u64> = Vec::new();
        let count = class.div_ceil(8) as usize;
        words
            .try_reserve_exact(count)
            .map_err(|_| Error::mismatch("result", "host memory for it", format!("{bytes} bytes")))?;
        words.resize(count, 0);
        Ok(Box::new(HeapBlock(words)))
    }

    fn give(&self, block: Box<dyn HostBlock>) {
        let bytes = block.bytes().len() as u64;
        self.idle.give(block, bytes, LIMIT);
    }

    /// Frees all idle blocks, and returns their size in bytes.
    pub(crate) fn trim(&self) -> u64 {
        self.idle.trim()
    }

    /// The number of idle bytes.
    pub(crate) fn idle(&self) -> u64 {
        self.idle.bytes()
    }
}

impl fmt::Debug for HostPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} idle bytes", self.idle())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Host;
    use workalike_device::Open;

    #[test]
    fn a_result_lies_in_a_block_that_comes_back() {
        let device = Host::threads(1).open().unwrap();
        let blocks = HostPool::new(device.clone());
        let memory = device.allocate(1 << 20).unwrap();
        let region = Region::whole(memory);
        let first = blocks.download(&region, DType::F32, &[1 << 18]).unwrap();
        let at = first.contiguous_bytes().unwrap().as_ptr();
        assert_eq!(blocks.idle(), 0);
        let view = first.view_as(&[2], &[1], 5).unwrap();
        drop(first);
        assert_eq!(blocks.idle(), 0, "a view holds the block");
        drop(view);
        assert_eq!(blocks.idle(), 1 << 20);
        device.upload(&vec![1u8; 1 << 20], &region).unwrap();
        let second = blocks.download(&region, DType::U8, &[1000, 1000]).unwrap();
        assert_eq!(second.contiguous_bytes().unwrap().as_ptr(), at);
        assert!(second.contiguous_bytes().unwrap() == vec![1u8; 1_000_000]);
        drop(second);
        assert_eq!(blocks.trim(), 1 << 20);
        assert_eq!(blocks.idle(), 0);
    }

    #[test]
    fn small_and_empty_results_need_no_block() {
        let device = Host::threads(1).open().unwrap();
        let blocks = HostPool::new(device.clone());
        let region = Region::whole(device.allocate(1024).unwrap());
        device.upload(&[7; 1024], &region).unwrap();
        for shape in [&[][..], &[0], &[3, 0], &[32], &[33], &[31, 33]] {
            let value = blocks.download(&region, DType::U8, shape).unwrap();
            assert_eq!(value.to_vec::<u8>().unwrap(), vec![7; shape.iter().product()]);
        }
        assert_eq!(blocks.idle(), 0);
    }
}
