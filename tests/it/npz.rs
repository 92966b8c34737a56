//! `.npz` archives: written by NumPy, written here, and malicious.
//!
//! `npz/stored.npz` and `npz/deflated.npz` are written by `np.savez` and `np.savez_compressed` of NumPy 2:
//! `x=np.arange(6, dtype='f4').reshape(2, 3)`, `h=np.array([1, -2], 'f2')`, `flags=np.array([True, False])`,
//! `n=np.int64(7)`, `columns=np.asfortranarray(np.arange(6, dtype='>i2').reshape(2, 3))`; the second also has
//! `zeros=np.zeros((64, 64))`.

use std::collections::BTreeMap;
use workalike::prelude::*;
use workalike::{npy, npz};

const STORED: &[u8] = include_bytes!("npz/stored.npz");
const DEFLATED: &[u8] = include_bytes!("npz/deflated.npz");

#[test]
fn archives_of_numpy_are_read() {
    for (bytes, count) in [(STORED, 5), (DEFLATED, 6)] {
        let arrays = npz::from_bytes(bytes).unwrap();
        assert_eq!(arrays.len(), count);
        assert_eq!(arrays["x"], Value::from_vec(&[2, 3], vec![0f32, 1., 2., 3., 4., 5.]).unwrap());
        assert_eq!((arrays["h"].dtype(), arrays["h"].to_f64s()), (DType::F16, vec![1.0, -2.0]));
        assert_eq!(arrays["flags"].to_vec::<bool>().unwrap(), [true, false]);
        assert_eq!(arrays["n"], Value::from(7i64));
        assert_eq!(arrays["columns"], Value::from_vec(&[2, 3], vec![0i16, 1, 2, 3, 4, 5]).unwrap());
    }
}

#[test]
fn what_is_saved_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.npz");
    let mut arrays = BTreeMap::new();
    for dtype in DType::ALL {
        for shape in [&[][..], &[3], &[2, 3], &[0, 4], &[300, 7]] {
            let value = Value::from(0.0).broadcast_to(shape).unwrap().cast(dtype).unwrap();
            arrays.insert(format!("{dtype}{shape:?}"), value);
        }
    }
    arrays.insert("layer/ä".into(), Value::from(vec![1u8, 2, 3]));
    npz::save(&file, &arrays).unwrap();
    let stored = std::fs::metadata(&file).unwrap().len();
    assert_eq!(npz::load(&file).unwrap(), arrays);
    npz::save_compressed(&file, &arrays).unwrap();
    assert!(std::fs::metadata(&file).unwrap().len() < stored);
    assert_eq!(npz::load(&file).unwrap(), arrays);
    let open = npz::Npz::open(&file).unwrap();
    assert_eq!(open.names().count(), arrays.len());
    let error = open.get("w").unwrap_err().to_string();
    assert!(error.contains("no array \"w\"") && error.contains("layer/ä"), "{error}");
    npz::save(&file, Vec::<(&str, Value)>::new()).unwrap();
    assert!(npz::load(&file).unwrap().is_empty());
}

#[test]
fn names_that_an_archive_does_not_keep_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.npz");
    let save = |names: &[&str]| npz::save(&file, names.iter().map(|name| (name, Value::from(1))));
    for names in [&[""][..], &["../x"], &["/x"], &["a//b"], &["a\\b"], &["x", "y", "x"]] {
        let error = save(names).unwrap_err().to_string();
        assert!(error.contains("a.npz") && error.contains("name"), "{error}");
    }
    assert!(!file.exists());
}

#[test]
fn hostile_archives_are_errors() {
    let refused = |bytes: &[u8], word: &str| {
        let error = npz::from_bytes(bytes).unwrap_err().to_string();
        assert!(error.contains(word), "{word}: {error}");
    };
    refused(b"", "no .npz archive");
    refused(&npy::to_bytes(Value::from(1)).unwrap(), "no .npz archive");
    assert!(npy::from_bytes(STORED).unwrap_err().to_string().contains("npz::load"));
    for whole in [STORED, DEFLATED] {
        for cut in 0..whole.len() {
            assert!(npz::from_bytes(&whole[..cut]).is_err(), "cut to {cut}");
        }
        let good = npz::from_bytes(whole).unwrap();
        for at in 0..whole.len() {
            for bit in [0x01, 0x10, 0x80] {
                let mut bad = whole.to_vec();
                bad[at] ^= bit;
                // The checksums cover the arrays, but not names and unused fields.
                if let Ok(arrays) = npz::from_bytes(&bad) {
                    let same = |(name, value)| good.get(name).is_none_or(|whole: &Value| whole == value);
                    assert!(arrays.iter().all(same), "byte {at}");
                }
            }
        }
    }
}

#[test]
fn a_bad_array_spoils_only_itself() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.npz");
    let mut bytes = STORED.to_vec();
    let descr = bytes.windows(4).position(|w| w == b"<f2'").unwrap();
    bytes[descr + 1] = b'c';
    std::fs::write(&file, bytes).unwrap();
    let archive = npz::Npz::open(&file).unwrap();
    assert!(archive.get("x").is_ok());
    assert_eq!(archive.get_type("columns").unwrap(), (DType::I16, vec![2, 3]));
    let error = archive.get("h").unwrap_err().to_string();
    assert!(error.contains("a.npz: array \"h\"") && error.contains("'<c2'"), "{error}");
    assert!(npz::load(&file).is_err());
}
