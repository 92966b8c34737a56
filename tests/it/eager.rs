//! Arrays of a device, without a graph: operators, folds, elements that are set.

use workalike::prelude::*;

fn uploaded(
    device: &std::sync::Arc<dyn workalike::engine::device::Device>,
    value: impl Into<Value>,
) -> DeviceArray {
    DeviceArray::upload(device, value).unwrap()
}

fn numbers(array: workalike::Result<DeviceArray>) -> Vec<f64> {
    array.unwrap().to_value().unwrap().to_f64s()
}

#[test]
fn operators_are_numpys() {
    let device = Host::threads(1).open().unwrap();
    let x = uploaded(&device, ndarray::array![[1f32, 2.0], [3.0, 4.0]]);
    let row = uploaded(&device, vec![10f32, 20.0]);
    for _ in 0..2 {
        assert_eq!(numbers(&x + &row), [11.0, 22.0, 13.0, 24.0]);
        assert_eq!(numbers(&x * 2.0), [2.0, 4.0, 6.0, 8.0]);
        assert_eq!(numbers(1 - &x), [0.0, -1.0, -2.0, -3.0]);
        assert_eq!(numbers(&row / &x), [10.0, 10.0, 10.0 / 3f32 as f64, 5.0].map(|v| f64::from(v as f32)));
        assert_eq!(numbers(-&x), [-1.0, -2.0, -3.0, -4.0]);
        assert_eq!(numbers(x.dot(&row)), [50.0, 110.0]);
        assert_eq!(numbers(x.mean(..)), [2.5]);
        assert_eq!(numbers(x.min(1)), [1.0, 3.0]);
    }
    // A number takes the array's dtype, an array has its own.
    assert_eq!((&x * 2.0).unwrap().dtype(), DType::F32);
    let wide = uploaded(&device, vec![1i64, 2]);
    assert_eq!((&x * &wide).unwrap().dtype(), DType::F64);
    assert_eq!((&wide / 2).unwrap().dtype(), DType::F64);

    let long = uploaded(&device, vec![1f32; 3]);
    let error = (&x + &long).unwrap_err().to_string();
    assert!(error.contains("(2, 2)") && error.contains("3"), "{error}");
    assert!(x.sum(7).is_err() && x.dot(&long).is_err());
    assert_eq!(numbers(&x + &x), [2.0, 4.0, 6.0, 8.0]);
    // A thread keeps the expressions of two devices; here are three.
    for _ in 0..2 {
        for other in [Host::threads(1), Host::threads(2)].map(|host| host.open().unwrap()) {
            assert_eq!(numbers(&uploaded(&other, vec![1f64]) + 1), [2.0]);
        }
        assert_eq!(numbers(x.sum(..)), [10.0]);
    }
}

#[test]
fn numbers_of_other_dtypes_fill() {
    let device = Host::threads(1).open().unwrap();
    let x = uploaded(&device, vec![1f32, 2.0]);
    x.fill(0).unwrap();
    assert_eq!(x.to_value().unwrap().to_f64s(), [0.0; 2]);
    x.fill(0.1).unwrap();
    assert_eq!(x.to_value().unwrap().to_vec::<f32>().unwrap(), [0.1; 2]);
    let n = uploaded(&device, vec![1u8, 2]);
    n.fill(7i64).unwrap();
    n.fill(9.0).unwrap();
    for wrong in [Value::from(300i64), Value::from(-1i64), Value::from(0.5), Value::from(f64::NAN)] {
        let error = n.fill(wrong).unwrap_err().to_string();
        assert!(error.contains("a number that uint8 has"), "{error}");
    }
    assert!(n.fill(vec![1u8]).is_err());
    assert_eq!(n.to_value().unwrap().to_f64s(), [9.0; 2]);
}

#[test]
fn a_shared_variable_takes_an_array_of_the_device() {
    let w = shared("w", [0f32; 2]);
    let f = function(()).output(&w * 2.0).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let array = sim.upload(vec![1f32, 3.0]).unwrap();
    sim.set(&w, &array).unwrap();
    assert_eq!(sim.call(args![]).unwrap()[0].to_f64s(), [2.0, 6.0]);
    sim.set_value("w", (&array * 2.0).unwrap()).unwrap();
    assert_eq!(sim.call(args![]).unwrap()[0].to_f64s(), [4.0, 12.0]);
    assert!(sim.set(&w, each(vec![1f32, 2.0])).is_err() && sim.set(&w, vec![1f32]).is_err());
    assert_eq!(sim.get(&w).unwrap().to_f64s(), [2.0, 6.0]);
}
