//! Values: views, conversions, foreign memory.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use super::*;
use ndarray::{Array2, array, s};

#[test]
fn views_share_memory_and_copies_agree() {
    let v = Value::from(array![[1f32, 2., 3.], [4., 5., 6.]]);
    let t = v.view_as(&[3, 2], &[1, 3], 0).unwrap();
    assert_eq!(t.to_vec::<f32>().unwrap(), [1., 4., 2., 5., 3., 6.]);
    assert_eq!(t.view::<f32>().unwrap()[[2, 1]], 6.0);
    assert!(v.view_as(&[4, 2], &[1, 3], 0).is_err());
    assert_eq!(v.broadcast_to(&[2, 2, 3]).unwrap().len(), 12);
    assert!(v.broadcast_to(&[3, 3]).is_err());
}

#[test]
fn bools_of_other_bytes_are_true() {
    let foreign: Arc<dyn HostBytes> = Arc::new(vec![0u8, 1, 2, 255]);
    let value = Value::from_buffer(DType::Bool, &[4], foreign.clone()).unwrap();
    assert_eq!(value.contiguous_bytes(), Some(&[0u8, 1, 1, 1][..]));
    assert!(Value::from_buffer(DType::Bool, &[5], foreign).is_err());
}

#[test]
fn owned_arrays_are_taken_as_they_are() {
    let whole = Array2::from_shape_fn((4, 3), |(i, j)| (i * 3 + j) as f32);
    let at = whole.as_ptr().cast::<u8>();
    let taken = Value::from(whole.clone());
    assert_eq!(taken.to_vec::<f32>().unwrap(), whole.iter().copied().collect::<Vec<_>>());
    assert_eq!(Value::from(whole.slice(s![1..3, ..])).to_vec::<f32>().unwrap(), [3., 4., 5., 6., 7., 8.]);
    assert_eq!(Value::from(whole.slice(s![.., 1])).to_vec::<f32>().unwrap(), [1., 4., 7., 10.]);
    assert_eq!(Value::from(whole.t().to_owned()).shape(), [3, 4]);
    let part = whole.clone().slice_move(s![2.., ..]);
    assert_eq!(Value::from(part).to_vec::<f32>().unwrap(), [6., 7., 8., 9., 10., 11.]);
    assert_eq!(Value::from(whole).contiguous_bytes().unwrap().as_ptr(), at);
}

#[test]
fn empty_arrays_are_viewed() {
    for shape in [&[0, 2][..], &[2, 0], &[0, 0, 3], &[0]] {
        let v = Value::zeros(DType::F64, shape).unwrap();
        assert_eq!(v.to_array::<f64>().unwrap().shape(), shape);
        assert_eq!(v.view::<f64>().unwrap().shape(), shape);
    }
}

#[test]
fn absurd_sizes_are_errors() {
    assert!(Value::zeros(DType::F64, &[usize::MAX, 2]).is_err());
    assert!(Value::zeros(DType::F64, &[1 << 50]).is_err());
    assert!(Value::from_bytes(DType::F32, &[3], &[0; 11]).is_err());
}

#[test]
fn slices_and_arrays_are_values_and_back() {
    let list = vec![1f32, 2.0];
    for value in
        [Value::from(&list), Value::from(&list[..]), Value::from([1f32, 2.0]), Value::from(&[1f32, 2.0])]
    {
        assert_eq!(value, Value::from(list.clone()));
    }
    let matrix = Value::from([[1, 2, 3], [4, 5, 6]]);
    assert_eq!((matrix.shape(), matrix.to_vec::<i32>().unwrap()), (&[2, 3][..], vec![1, 2, 3, 4, 5, 6]));
    assert_eq!(Value::from([[0u8; 0]; 3]).shape(), [3, 0]);
    assert_eq!(Vec::<i32>::try_from(&matrix).unwrap().len(), 6);
    assert_eq!(f64::try_from(&Value::from(2.5)).unwrap(), 2.5);
    assert!(f32::try_from(&Value::from(2.5)).is_err() && i32::try_from(&matrix).is_err());
}

#[test]
fn axes_of_one_element_may_have_any_stride() {
    let v = Value::from((0..10).map(|n| n as f32).collect::<Vec<_>>());
    let one = v.view_as(&[1, 1, 1], &[isize::MAX, isize::MIN, isize::MAX], 5).unwrap();
    assert_eq!(one.contiguous().unwrap().to_vec::<f32>().unwrap(), [5.0]);
    let two = v.view_as(&[1, 2], &[isize::MIN, -3], 5).unwrap();
    assert_eq!(two.to_vec::<f32>().unwrap(), [5.0, 2.0]);
}

/// Memory that gets shorter once it was looked at a number of times.
struct Shrinking(std::sync::atomic::AtomicUsize, Vec<f32>);

impl HostBytes for Shrinking {
    fn bytes(&self) -> &[u8] {
        let bytes: &[u8] = bytemuck::cast_slice(&self.1);
        match self.0.load(std::sync::atomic::Ordering::Relaxed) {
            0 => &bytes[..8],
            left => {
                self.0.store(left - 1, std::sync::atomic::Ordering::Relaxed);
                bytes
            }
        }
    }
}

#[test]
fn memory_that_shrinks_is_an_error() {
    use crate::op::Op;
    use crate::ops::elemwise::Elemwise;
    use crate::ops::{Sort, Sorted};
    let mut refused = 0;
    for looks in 1..8 {
        let lying = || {
            let buffer = Arc::new(Shrinking(looks.into(), vec![1.0; 6]));
            Value::from_buffer(DType::F32, &[6], buffer).unwrap()
        };
        let sort = Sort { axis: 0, descending: false, first: None, gives: Sorted::Both };
        refused += usize::from(sort.perform(&[lying()]).is_err());
        refused += usize::from(Elemwise { op: workalike_kernels::ops::EXP }.perform(&[lying()]).is_err());
        refused += usize::from(lying().to_vec::<f32>().is_err());
        let reversed = lying().view_as(&[6], &[-1], 5);
        refused += usize::from(reversed.and_then(|v| v.contiguous()).is_err());
    }
    assert!(refused > 4, "{refused}");
}

#[test]
fn casts_go_through_scalars() {
    let v = Value::from(array![1.5f32, -2.5, f32::NAN]);
    assert_eq!(v.cast(DType::I8).unwrap().to_vec::<i8>().unwrap(), [1, -2, 0]);
    assert_eq!(Value::from(array![300i64]).cast(DType::U8).unwrap().to_vec::<u8>().unwrap(), [44]);
}
