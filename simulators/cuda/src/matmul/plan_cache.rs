//! Chosen algorithms on disk, in the cache of kernels, so that a machine uses the same algorithms each time.

use super::cublaslt::Algorithm;
use super::plan::Call;
use crate::context::{Context, OrDriver};
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use workalike_device::DeviceResult;
use workalike_device::cache::{KernelCache, Key};

/// The first byte of an entry: the version of its layout.
const LAYOUT: u8 = 2;
/// Bytes of an entry.
const BYTES: usize = 1 + size_of::<[u64; 8]>();

/// What a choice depends on, in addition to the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The device's name; devices of the same name share choices.
    pub(super) device: String,
    pub(super) units: i32,
    pub(super) driver: i32,
    /// The library's version.
    pub(super) version: usize,
    /// Bytes of workspace.
    pub(super) workspace: u64,
}

impl Place {
    /// The values for a device. The context must be current.
    pub(crate) fn of(context: &Context, version: usize, workspace: u64) -> DeviceResult<Place> {
        let units = context.cuda.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        Ok(Place {
            device: context.cuda.name().or_driver(&context.id, "cuDeviceGetName")?,
            units: units.or_driver(&context.id, "cuDeviceGetAttribute")?,
            driver: context.driver,
            version,
            workspace,
        })
    }

    /// The key of a call's entry.
    pub(super) fn key(&self, call: &Call) -> Key {
        Key::of(&["cuda product", &format!("{self:?}"), &format!("{call:?}")])
    }
}

/// The stored choice; `None` if there is none, or the entry is damaged or has another layout.
pub(super) fn load(cache: &KernelCache, key: &Key) -> Option<Algorithm> {
    let bytes: [u8; BYTES] = cache.load(key)?.try_into().ok()?;
    let (layout, words) = bytes.split_first()?;
    let mut data = [0; 8];
    for (word, bytes) in data.iter_mut().zip(words.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    (*layout == LAYOUT).then_some(Algorithm(data))
}

/// Stores a choice.
pub(super) fn store(cache: &KernelCache, key: &Key, algorithm: Algorithm) {
    let words = algorithm.0.iter().flat_map(|word| word.to_le_bytes());
    let bytes: Vec<u8> = std::iter::once(LAYOUT).chain(words).collect();
    cache.store(key, &bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matmul::plan::{Added, At, plan};
    use std::path::PathBuf;
    use workalike_device::Matmul;
    use workalike_kernels::DType;

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

    fn place() -> Place {
        Place { device: "GPU".into(), units: 132, driver: 13000, version: 130_100, workspace: 32 << 20 }
    }

    fn call(start: [u64; 3]) -> Call {
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
        plan(&product).unwrap().calls(At::plain(start)).next().unwrap().0
    }

    #[test]
    fn a_choice_comes_back_as_it_went() {
        let folder = folder("round");
        let cache = KernelCache::at(&folder.0, 1 << 20);
        let key = place().key(&call([0; 3]));
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
        let key = place().key(&call([0; 3]));
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
        let mine = place().key(&call([0; 3]));
        for other in [
            Place { version: 130_101, ..place() },
            Place { driver: 13010, ..place() },
            Place { workspace: 4 << 20, ..place() },
            Place { device: "GPU 2".into(), ..place() },
            Place { units: 66, ..place() },
        ] {
            assert_ne!(other.key(&call([0; 3])), mine);
        }
        assert_ne!(place().key(&call([16, 0, 0])), mine);
        assert_ne!(place().key(&Call { k: 785, ..call([0; 3]) }), mine);
        assert_eq!(place().key(&call([256, 512, 1024])), mine);
        let adds = [Some(Added::InPlace), Some(Added::Apart(256)), Some(Added::Apart(4)), None];
        let others = adds
            .iter()
            .flat_map(|&added| [Some(256), Some(4), None].map(|bias| Call { added, bias, ..call([0; 3]) }));
        let keys: Vec<Key> = others.map(|call| place().key(&call)).collect();
        for (at, key) in keys.iter().enumerate() {
            assert!(!keys[..at].contains(key), "{at}");
        }
        assert_eq!(keys.last(), Some(&mine));
    }

    #[test]
    fn without_a_cache_nothing_is_kept() {
        let key = place().key(&call([0; 3]));
        store(&KernelCache::off(), &key, ALGORITHM);
        assert_eq!(load(&KernelCache::off(), &key), None);
    }
}
