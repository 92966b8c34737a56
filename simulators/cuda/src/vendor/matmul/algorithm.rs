//! The choice of cuBLASLt's algorithm for a product.

use super::column_major::{MatmulAddresses, MatmulCall};
use super::cublaslt::{Algorithm, CublasLt};
use crate::vendor::autotune;
use crate::vendor::autotune::{Tunable, TuningEnvironment};
use crate::vendor::streams::Streams;
use cudarc::driver::sys::CUstream;
use std::time::Duration;
use workalike_device::DeviceResult;
use workalike_device::cache::CacheKey;

/// Flops below which a product takes about as long as its launch, so that it is not timed.
const FLOPS: f64 = (1 << 24) as f64;
/// The first byte of a stored algorithm: the version of its layout.
const LAYOUT: u8 = 2;
/// Bytes of a stored algorithm.
const BYTES: usize = 1 + size_of::<[u64; 8]>();

/// Trials of algorithms for a call.
pub(super) struct MatmulTrial<'a> {
    cublas_lt: &'a CublasLt,
    streams: &'a Streams,
    call: &'a MatmulCall,
    /// The result is in scratch memory; the operands of the call are only read.
    at: MatmulAddresses,
}

impl MatmulTrial<'_> {
    /// The algorithm of a call, with its kernels loaded; `None` if the library has none. `scratch` are the
    /// call's addresses with its result in scratch memory. Without scratch memory the kernels are loaded in
    /// the capture, which fails if they cannot be.
    pub(super) fn choose(
        cublas_lt: &CublasLt,
        streams: &Streams,
        call: &MatmulCall,
        scratch: Option<MatmulAddresses>,
    ) -> DeviceResult<Option<Algorithm>> {
        let key = key(cublas_lt, streams, call)?;
        let at = scratch.unwrap_or(MatmulAddresses::plain([0; 3]));
        let mut trial = MatmulTrial { cublas_lt, streams, call, at };
        if scratch.is_some() {
            return autotune::choose(streams, &mut trial, key);
        }
        // Not remembered: there may be scratch memory later.
        match autotune::stored(&trial, &key) {
            Some(known) if cublas_lt.accepts(call, known)? => Ok(Some(known)),
            _ => Ok(cublas_lt.candidates(call)?.first().copied()),
        }
    }

    /// Makes the library load its heuristics, for a call.
    pub(super) fn load_heuristics(
        cublas_lt: &CublasLt,
        streams: &Streams,
        call: &MatmulCall,
    ) -> DeviceResult<()> {
        let trial = MatmulTrial { cublas_lt, streams, call, at: MatmulAddresses::plain([0; 3]) };
        match autotune::stored(&trial, &key(cublas_lt, streams, call)?) {
            Some(known) => cublas_lt.accepts(call, known).map(drop),
            None => cublas_lt.candidates(call).map(drop),
        }
    }
}

fn key(cublas_lt: &CublasLt, streams: &Streams, call: &MatmulCall) -> DeviceResult<CacheKey> {
    let place =
        TuningEnvironment::of(&streams.queue.context, cublas_lt.version(), cublas_lt.workspace_bytes())?;
    Ok(place.key(KIND, call))
}

/// The kind of call in keys.
const KIND: &str = "cuda product";

impl Tunable for MatmulTrial<'_> {
    type Algorithm = Algorithm;

    /// With halves, one kernel takes milliseconds.
    const PATIENCE: Duration = Duration::from_millis(10);

    fn candidates(&mut self) -> DeviceResult<Vec<Algorithm>> {
        self.cublas_lt.candidates(self.call)
    }

    fn admits(&mut self, algorithm: Algorithm) -> DeviceResult<bool> {
        let run = |stream| self.cublas_lt.run(self.call, algorithm, self.at, stream);
        Ok(self.cublas_lt.accepts(self.call, algorithm)? && self.streams.runs(run)?)
    }

    fn enqueue(&mut self, algorithm: Algorithm, stream: CUstream) -> DeviceResult<()> {
        self.cublas_lt.run(self.call, algorithm, self.at, stream)
    }

    fn is_worth_timing(&self) -> bool {
        self.call.flops() >= FLOPS
    }

    fn encode(algorithm: Algorithm) -> Vec<u8> {
        encode(algorithm)
    }

    fn decode(&self, bytes: &[u8]) -> Option<Algorithm> {
        decode(bytes)
    }
}

fn encode(algorithm: Algorithm) -> Vec<u8> {
    let words = algorithm.0.iter().flat_map(|word| word.to_le_bytes());
    std::iter::once(LAYOUT).chain(words).collect()
}

fn decode(bytes: &[u8]) -> Option<Algorithm> {
    let bytes: [u8; BYTES] = bytes.try_into().ok()?;
    let (layout, words) = bytes.split_first()?;
    let mut data = [0; 8];
    for (word, bytes) in data.iter_mut().zip(words.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    (*layout == LAYOUT).then_some(Algorithm(data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendor::matmul::column_major::{Added, plan};
    use std::path::PathBuf;
    use workalike_device::Matmul;
    use workalike_device::cache::KernelCache;
    use workalike_kernels::DType;

    fn load(cache: &KernelCache, key: &CacheKey) -> Option<Algorithm> {
        decode(&cache.load(key)?)
    }

    fn store(cache: &KernelCache, key: &CacheKey, algorithm: Algorithm) {
        cache.store(key, &encode(algorithm));
    }

    const ALGORITHM: Algorithm = Algorithm([55, 15 << 32 | 4, u64::MAX, 3, 0, 0, 7, 1]);

    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn folder(name: &str) -> Folder {
        let name = format!("workalike-products-{name}-{}", std::process::id());
        Folder(std::env::temp_dir().join(name))
    }

    fn place() -> TuningEnvironment {
        TuningEnvironment {
            device: "GPU".into(),
            units: 132,
            driver: 13000,
            version: 130_100,
            workspace: 32 << 20,
        }
    }

    fn call(start: [u64; 3]) -> MatmulCall {
        let product = Matmul {
            dtype: DType::F32,
            batch: 1,
            m: 512,
            n: 500,
            k: 784,
            a: [0, 784, 1],
            b: [0, 500, 1],
            fast: false,
        };
        plan(&product).unwrap().calls(MatmulAddresses::plain(start)).next().unwrap().0
    }

    #[test]
    fn a_choice_comes_back_as_it_went() {
        let folder = folder("round");
        let cache = KernelCache::at(&folder.0, 1 << 20);
        let key = place().key(KIND, &call([0; 3]));
        assert_eq!(load(&cache, &key), None);
        store(&cache, &key, ALGORITHM);
        assert_eq!(load(&cache, &key), Some(ALGORITHM));
        let later = KernelCache::at(&folder.0, 1 << 20);
        assert_eq!(load(&later, &key), Some(ALGORITHM));
    }

    #[test]
    fn a_damaged_or_foreign_entry_is_none() {
        let folder = folder("damaged");
        let cache = KernelCache::at(&folder.0, 1 << 20);
        let key = place().key(KIND, &call([0; 3]));
        store(&cache, &key, ALGORITHM);
        let mut entries = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path());
        let file = entries.find(|path| path.extension().is_some_and(|e| e == "kernels")).unwrap();
        let mut bytes = std::fs::read(&file).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&file, &bytes).unwrap();
        assert_eq!(load(&cache, &key), None);
        bytes.pop();
        std::fs::write(&file, &bytes).unwrap();
        assert_eq!(load(&cache, &key), None);
        // Valid entries of the cache with another layout or length.
        for value in [[LAYOUT - 1; BYTES].as_slice(), &[LAYOUT; BYTES - 1], &[]] {
            cache.store(&key, value);
            assert_eq!(load(&cache, &key), None);
        }
        store(&cache, &key, ALGORITHM);
        assert_eq!(load(&cache, &key), Some(ALGORITHM));
    }

    #[test]
    fn another_library_device_or_product_has_another_choice() {
        let mine = place().key(KIND, &call([0; 3]));
        for other in [
            TuningEnvironment { version: 130_101, ..place() },
            TuningEnvironment { driver: 13010, ..place() },
            TuningEnvironment { workspace: 4 << 20, ..place() },
            TuningEnvironment { device: "GPU 2".into(), ..place() },
            TuningEnvironment { units: 66, ..place() },
        ] {
            assert_ne!(other.key(KIND, &call([0; 3])), mine);
        }
        assert_ne!(place().key(KIND, &call([16, 0, 0])), mine);
        assert_ne!(place().key(KIND, &MatmulCall { k: 785, ..call([0; 3]) }), mine);
        assert_eq!(place().key(KIND, &call([256, 512, 1024])), mine);
        let adds = [Some(Added::InPlace), Some(Added::Apart(256)), Some(Added::Apart(4)), None];
        let others = adds.iter().flat_map(|&added| {
            [Some(256), Some(4), None].map(|bias| MatmulCall { added, bias, ..call([0; 3]) })
        });
        let keys: Vec<CacheKey> = others.map(|call| place().key(KIND, &call)).collect();
        for (at, key) in keys.iter().enumerate() {
            assert!(!keys[..at].contains(key), "{at}");
        }
        assert_eq!(keys.last(), Some(&mine));
    }

    #[test]
    fn without_a_cache_nothing_is_kept() {
        let key = place().key(KIND, &call([0; 3]));
        store(&KernelCache::off(), &key, ALGORITHM);
        assert_eq!(load(&KernelCache::off(), &key), None);
    }
}
