//! Files that NumPy writes, and hostile ones.

use super::header::{ALIGNMENT, MAGIC};
use super::*;

fn decode(bytes: Vec<u8>) -> Result<Value> {
    from_bytes(&bytes)
}

fn file(version: u8, text: &str, data: &[u8]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    file.extend([version, 0]);
    match version {
        1 => file.extend((text.len() as u16).to_le_bytes()),
        _ => file.extend((text.len() as u32).to_le_bytes()),
    }
    file.extend(text.as_bytes());
    file.extend(data);
    file
}

fn dict(descr: &str, fortran: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
}

#[test]
fn what_is_written_reads_back() {
    for dtype in DType::ALL {
        for shape in [vec![], vec![3], vec![2, 3], vec![0, 4]] {
            let len: usize = shape.iter().product();
            let counting = Value::from((0..len as u8).collect::<Vec<u8>>());
            let value = counting.cast(dtype).unwrap().reshaped(&shape).unwrap();
            let bytes = to_bytes(&value).unwrap();
            assert_eq!((bytes.len() - value.byte_len()) % ALIGNMENT, 0);
            assert_eq!(from_bytes(&bytes).unwrap(), value);
        }
    }
}

#[test]
fn versions_orders_and_spellings() {
    let want = Value::from_vec(&[2, 3], vec![0i16, 1, 2, 3, 4, 5]).unwrap();
    let little: Vec<u8> = (0..6i16).flat_map(i16::to_le_bytes).collect();
    let big: Vec<u8> = (0..6i16).flat_map(i16::to_be_bytes).collect();
    let columns: Vec<u8> = [0, 3, 1, 4, 2, 5i16].into_iter().flat_map(i16::to_be_bytes).collect();
    for version in 1..=3 {
        assert_eq!(decode(file(version, &dict("<i2", "False", "(2, 3)"), &little)).unwrap(), want);
    }
    assert_eq!(decode(file(1, &dict(">i2", "False", "(2, 3)"), &big)).unwrap(), want);
    assert_eq!(decode(file(2, &dict(">i2", "True", "(2, 3)"), &columns)).unwrap(), want);
    let other = "{\"shape\":(2L,3L),\"fortran_order\":False,\"descr\":\"=i2\"}";
    assert_eq!(decode(file(1, other, &little)).unwrap(), want);
    let halves = decode(file(1, &dict("<V2", "False", "(1,)"), &[0x80, 0x3f])).unwrap();
    assert_eq!((halves.dtype(), halves.to_f64s()), (DType::BF16, vec![1.0]));
    assert_eq!(
        decode(file(1, &dict("|b1", "False", "(3,)"), &[0, 1, 7])).unwrap().to_f64s(),
        [0.0, 1.0, 1.0]
    );
}

#[test]
fn claims_are_checked() {
    for (text, data, word) in [
        (dict("<f4", "False", "(4,)"), &[0; 15][..], "truncated"),
        (dict("<f4", "False", "(4,)"), &[0; 17], "more than one array"),
        (dict("<f8", "False", "(9999999999999999, 9999999999999999)"), &[], "address space"),
        (dict("<f8", "False", "(99999999999999999999999,)"), &[], "tuple"),
        (dict("<f8", "False", "(-1,)"), &[], "tuple"),
        (dict("<f8", "Maybe", "(1,)"), &[0; 8], "fortran_order"),
        (dict("<c32", "False", "(1,)"), &[0; 32], "'<c32'"),
        (dict("|O", "False", "(1,)"), &[0; 8], "'|O'"),
        (dict("é", "False", "(1,)"), &[0; 8], "'é'"),
        ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}".into(), &[0; 4], "structured"),
        ("{'descr': '<f4'}".into(), &[], "lacks"),
        ("{'descr': '<f4', 'descr': '<f4'}".into(), &[], "twice"),
        ("{'descr".into(), &[], "damaged"),
        ("{'surprise': 1}".into(), &[], "unknown key"),
        (format!("{}{{", dict("<f4", "False", "()")), &[0; 4], "after its end"),
        (dict("<f4", "False", &format!("({})", "1,".repeat(100))), &[0; 4], "axes"),
    ] {
        let error = decode(file(1, &text, data)).unwrap_err().to_string();
        assert!(error.contains(word), "{text}: {error}");
    }
    assert!(decode(b"hello".to_vec()).unwrap_err().to_string().contains("not a .npy"));
    assert!(decode(file(7, "", &[])).unwrap_err().to_string().contains("version 7"));
    let mut long = MAGIC.to_vec();
    long.extend([2, 0, 0xff, 0xff, 0xff, 0xff]);
    assert!(decode(long).unwrap_err().to_string().contains("no array needs"));
}

#[test]
fn no_prefix_of_a_file_panics() {
    let whole = file(1, &dict("<f4", "False", "(2, 2)"), &[0; 16]);
    for cut in 0..whole.len() {
        assert!(decode(whole[..cut].to_vec()).is_err());
    }
    assert!(decode(whole).is_ok());
}
