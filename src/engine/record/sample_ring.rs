//! Samples of many iterations. They are written to a ring on the device, which is copied to the host
//! whenever it is full: no sample is lost, and the host acts once per ring.

use crate::engine::storage::{EngineContext, byte_size};
use crate::error::{DeviceError, Error, Result, array_text};
use crate::value::Value;
use workalike_device::{Device, Region};
use workalike_kernels::DType;

/// Default size of a ring, in bytes; larger only if a single sample is larger.
const RING: u64 = 64 << 20;

/// What a ring samples after an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampledTensor {
    /// The method's output at this position.
    Output(usize),
    /// The state at this position of [`EngineContext::states`], as the iteration leaves it.
    State(usize),
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct SampleRing {
    pub(crate) source: SampledTensor,
    /// Iterations from one sample to the next; at least 1.
    pub(crate) every: u64,
    /// Whether only the method's twin computes it.
    pub(crate) inner: bool,
    what: String,
    /// The number of samples that fit into the ring.
    capacity: u64,
    /// Whether the capacity is reduced where samples are large.
    bounded: bool,
    /// Iterations seen.
    count: u64,
    none: (DType, Vec<usize>),
    entry: Option<(DType, Vec<usize>)>,
    ring: Option<Region>,
    filled: u64,
    drained: Vec<u8>,
    /// The number of samples in `drained`.
    taken: u64,
}

impl SampleRing {
    /// `none` is the dtype and shape of a sample while there is none.
    pub(crate) fn new(
        what: String,
        source: SampledTensor,
        every: u64,
        capacity: u64,
        inner: bool,
        none: (DType, Vec<usize>),
    ) -> SampleRing {
        let (every, capacity) = (every.max(1), capacity.max(1));
        SampleRing {
            source,
            every,
            inner,
            what,
            capacity,
            bounded: false,
            count: 0,
            none,
            entry: None,
            ring: None,
            filled: 0,
            drained: vec![],
            taken: 0,
        }
    }

    /// A ring of the default size for an output at each of `n` iterations.
    pub(crate) fn collecting(output: usize, n: u64) -> SampleRing {
        let ring = SampleRing::new(
            format!("output {output}"),
            SampledTensor::Output(output),
            1,
            n,
            false,
            (DType::F32, vec![]),
        );
        SampleRing { bounded: true, ..ring }
    }

    /// The state that it samples.
    pub(crate) fn position(&self) -> Option<usize> {
        if let SampledTensor::State(position) = self.source { Some(position) } else { None }
    }

    /// Iterations since the last sample.
    pub(crate) fn phase(&self) -> u64 {
        self.count % self.every
    }

    /// Iterations until the next sample; 1 if the next iteration is sampled.
    pub(crate) fn until_due(&self) -> u64 {
        self.every - self.phase()
    }

    /// Counts iterations that were run.
    pub(crate) fn passed(&mut self, steps: u64) {
        self.count += steps;
    }

    /// Keeps `samples` samples, which are contiguous at the start of `from`.
    pub(crate) fn put(
        &mut self,
        context: &EngineContext,
        from: &Region,
        dtype: DType,
        shape: &[usize],
        samples: u64,
    ) -> Result<()> {
        if let Some((_, known)) = &self.entry
            && known != shape
        {
            let samples = self.taken + self.filled;
            return Err(Error::mismatch(
                format!("samples of {} ({samples} so far)", self.what),
                array_text(dtype, known),
                array_text(dtype, shape),
            ));
        }
        let bytes = byte_size(dtype, shape);
        let ring = match (&self.ring, &self.entry) {
            (Some(ring), Some(_)) => ring.clone(),
            _ => {
                if self.bounded {
                    self.capacity = self.capacity.min(RING / bytes.max(1)).max(1);
                }
                let ring = context.allocate(bytes.saturating_mul(self.capacity))?;
                self.entry = Some((dtype, shape.to_vec()));
                self.ring.insert(ring).clone()
            }
        };
        let mut done = 0;
        while done < samples {
            if self.filled == self.capacity {
                self.drain(context.device.as_ref())?;
            }
            let now = (samples - done).min(self.capacity - self.filled);
            if bytes > 0 {
                let part = |r: &Region, at: u64| Region {
                    offset: r.offset + at * bytes,
                    bytes: now * bytes,
                    ..r.clone()
                };
                context.device.copy(&part(from, done), &part(&ring, self.filled))?;
            }
            self.filled += now;
            done += now;
        }
        Ok(())
    }

    /// Copies the content of the ring to the host, in one download.
    fn drain(&mut self, device: &dyn Device) -> Result<()> {
        let (Some((dtype, shape)), Some(ring)) = (&self.entry, &self.ring) else { return Ok(()) };
        let bytes = byte_size(*dtype, shape).saturating_mul(self.filled);
        let (old, more) = (self.drained.len(), usize::try_from(bytes).unwrap_or(usize::MAX));
        if self.drained.try_reserve(more).is_err() {
            let available = format!("{old} bytes of samples of {} are held; read and clear it", self.what);
            let device = "host".into();
            return Err(DeviceError::OutOfMemory { device, requested: bytes, available }.into());
        }
        if more > 0 {
            self.drained.resize(old + more, 0);
            if let Err(error) = device.download(&Region { bytes, ..ring.clone() }, &mut self.drained[old..]) {
                self.drained.truncate(old);
                return Err(error.into());
            }
        }
        self.taken += self.filled;
        self.filled = 0;
        Ok(())
    }

    /// All samples so far, along a new first axis.
    pub(crate) fn read(&self, context: &EngineContext) -> Result<Value> {
        let (dtype, shape) = self.entry.as_ref().unwrap_or(&self.none).clone();
        let samples = (self.taken + self.filled) as usize;
        let whole: Vec<usize> = std::iter::once(samples).chain(shape.iter().copied()).collect();
        Value::try_filled(dtype, &whole, |target| {
            let (first, rest) = target.split_at_mut(self.drained.len().min(target.len()));
            first.copy_from_slice(&self.drained);
            match &self.ring {
                Some(ring) if !rest.is_empty() => {
                    context.device.download(&Region { bytes: rest.len() as u64, ..ring.clone() }, rest)?;
                }
                _ => {}
            }
            Ok(())
        })
    }

    /// Drops all samples; the count of iterations goes on.
    pub(crate) fn clear(&mut self) {
        (self.entry, self.ring, self.filled, self.taken) = (None, None, 0, 0);
        self.drained = vec![];
    }
}
