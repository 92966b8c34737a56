//! Truncated, damaged, foreign and malicious files: loading returns an error, and never panics, aborts or
//! allocates a large amount of memory.

#![allow(clippy::unwrap_used)]

#[path = "common/random.rs"]
mod random;

use proptest::prelude::*;
use workalike::Error;
use workalike::prelude::*;

/// A file with all features: two methods, shared variables, constants, defaults, names.
fn file() -> Vec<u8> {
    let x = matrix::<f32>("x");
    let y = vector::<i64>("y");
    let w = shared("w", Array2::<f32>::ones((3, 2)));
    let p = softmax(x.dot(&w), -1);
    let cost = categorical_crossentropy(&p, &y).mean(..);
    let g = grad(&cost, [&w]).unwrap();
    let lr = scalar::<f32>("lr");
    let train = function([In::new(&x), In::new(&y), In::new(&lr).default(0.1f32)])
        .output_named("cost", &cost)
        .update(&w, &w - &lr * &g[0])
        .compile()
        .unwrap();
    let predict = function([&x]).output(p.argmax(-1)).compile().unwrap();
    Bundle::new().with("train", &train).with("predict", &predict).to_bytes().unwrap()
}

/// Corrects the checksums of damaged contents, so that the damage reaches the decoder.
fn with_checksums(mut bytes: Vec<u8>) -> Vec<u8> {
    let count = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    for entry in 0..count {
        let at = 16 + 24 * entry;
        let field = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
        let (offset, length) = (field(at + 8), field(at + 16));
        if let Some(section) = offset.checked_add(length).and_then(|end| bytes.get(offset..end)) {
            let crc = crc32fast::hash(section).to_le_bytes();
            bytes[at + 4..at + 8].copy_from_slice(&crc);
        }
    }
    let head = 16 + 24 * count;
    let crc = crc32fast::hash(&bytes[..head]).to_le_bytes();
    bytes[head..head + 4].copy_from_slice(&crc);
    bytes
}

#[test]
fn a_whole_file_comes_back() {
    let bundle = Bundle::from_bytes(&file()).unwrap();
    assert_eq!(bundle.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["train", "predict"]);
    let (train, predict) = (&bundle["train"], &bundle["predict"]);
    assert!(
        std::sync::Arc::ptr_eq(&train.cells()[0], &predict.cells()[0]),
        "the shared variable is one again"
    );
    let out = train.call(args![array![[1f32, 2., 3.]], array![0i64]]).unwrap();
    assert!(out.get("cost").is_some());
}

#[test]
fn every_truncation_is_an_error() {
    let whole = file();
    for length in 0..whole.len() {
        let error = Bundle::from_bytes(&whole[..length]).unwrap_err();
        assert!(matches!(error, Error::Format { .. }), "{length}: {error}");
    }
}

#[test]
fn every_flipped_bit_is_found() {
    let whole = file();
    let mut harmless = 0;
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        // Only the padding between sections is not under a checksum.
        harmless += usize::from(Bundle::from_bytes(&bytes).is_ok());
    }
    assert!(harmless <= 8 * 2 * 64, "{harmless} flipped bits went unnoticed");
}

#[test]
fn foreign_and_newer_files_say_so() {
    let message = |bytes: &[u8]| Bundle::from_bytes(bytes).unwrap_err().to_string();
    assert!(message(b"PK\x03\x04 this is a zip file").contains("not a workalike file"));
    assert!(message(b"").contains("not a workalike file"));
    let mut newer = file();
    newer[8] = 99;
    assert!(message(&newer).contains("99"), "{}", message(&newer));
    let path = std::env::temp_dir().join("workalike-no-such-file.walk");
    assert!(matches!(Bundle::load(&path), Err(Error::File { .. })));
}

#[test]
fn a_claim_of_terabytes_is_refused_at_once() {
    let whole = file();
    let count = u32::from_le_bytes(whole[12..16].try_into().unwrap()) as usize;
    let first = (16 + 24 * count + 4).next_multiple_of(64);
    // The first bytes of the tables are lengths; bincode writes 253 before a u64.
    for at in first..first + 64 {
        let mut bytes = whole.clone();
        bytes[at] = 253;
        bytes[at + 1..at + 9].copy_from_slice(&(1u64 << 46).to_le_bytes());
        let _ = Bundle::from_bytes(&with_checksums(bytes));
    }
}

proptest! {
    #![proptest_config(random::config(2000))]

    /// Damage under valid checksums: the result is an error, or a Bundle whose Functions can be called or
    /// refuse.
    #[test]
    fn damage_behind_the_checksums_never_panics(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = file();
        for (at, byte) in edits {
            let at = 64 + at.index(bytes.len() - 64);
            bytes[at] = byte;
        }
        let bundle = Bundle::from_bytes(&with_checksums(bytes)).unwrap_or_default();
        if let Some(f) = bundle.get("predict") {
            let _ = f.call(args![array![[1f32, 2., 3.]]]);
            let _ = f.call_reference(args![array![[1f32, 2., 3.]]]);
        }
    }
}

#[test]
fn functions_travel_in_messages() {
    let bundle = Bundle::from_bytes(&file()).unwrap();
    let config = bincode::config::standard();
    let bytes = bincode::serde::encode_to_vec(&bundle["predict"], config).unwrap();
    let (back, _): (Function, usize) = bincode::serde::decode_from_slice(&bytes, config).unwrap();
    let x = array![[1f32, 2., 3.]];
    assert_eq!(back.call(args![&x]).unwrap()[0], bundle["predict"].call(args![&x]).unwrap()[0]);
}

/// Empty arrays with long axes, in tiny files, take constant time.
#[test]
fn empty_constants_with_long_axes_are_harmless() {
    let long = 1usize << 40;
    let empty = |shape: &[usize]| constant(Value::zeros(DType::F32, shape).unwrap());
    let indices = |shape: &[usize]| constant(Value::zeros(DType::I64, shape).unwrap());
    let apply = |op: &dyn Fn(&[Variable]) -> workalike::Result<Vec<Variable>>, inputs: &[Variable]| {
        op(inputs).unwrap().swap_remove(0)
    };
    use workalike::ops::*;
    let many = [indices(&[1 << 17, 1]), indices(&[1, 1 << 17])];
    let at = |x: Variable| [x, many[0].clone(), many[1].clone()];
    let dot = |v: &[Variable]| Variable::apply(Dot { batch: 1, contracted: 1 }, v);
    let join = |v: &[Variable]| Variable::apply(Join { axis: 1 }, v);
    let gather = |v: &[Variable]| Variable::apply(AdvancedSubtensor, v);
    let add = |v: &[Variable]| Variable::apply(AdvancedIncSubtensor { set: false }, v);
    let outputs = [
        apply(&dot, &[empty(&[long, 0, 1]), empty(&[1, 1, 1])]),
        apply(&join, &[empty(&[long, 0]), empty(&[long, 0])]),
        empty(&[long, 0]).cumsum(1),
        empty(&[long, 0]).sort(1),
        apply(&gather, &at(empty(&[1, 1, 0]))),
        apply(&add, &[&[empty(&[1, 1, 0]), empty(&[1, 1, 0])][..], &many].concat()),
    ];
    let x = vector::<f32>("x");
    for output in outputs {
        let f = function([&x]).output(output.sum(..) + x.sum(..)).allow_unused_inputs().compile().unwrap();
        let f = &Bundle::from_bytes(&Bundle::new().with("f", &f).to_bytes().unwrap()).unwrap()["f"];
        assert_eq!(f.call(args![vec![1f32, 2.0]]).unwrap()[0].to_f64s(), [3.0]);
        assert_eq!(f.call_reference(args![vec![1f32, 2.0]]).unwrap()[0].to_f64s(), [3.0]);
    }
    // Compilation does not enumerate the points that are written to one element.
    let one = apply(&add, &[&[empty(&[1, 1]), empty(&[1, 1])][..], &many].concat());
    let f = function([&x]).output(x.sum(..)).output(one).compile().unwrap();
    assert!(f.graph().nodes.iter().any(|n| n.op.id() == "advanced_inc_subtensor"));
    // Positions of empty reads are checked as well.
    let beyond = apply(&gather, &[empty(&[1, 1, 0]), indices(&[2]) + 5, indices(&[2])]);
    let f = function([&x]).output(beyond).allow_unused_inputs();
    assert!(f.compile().unwrap().call_reference(args![vec![1f32]]).is_err());
}
