//! Convolutions against literal values and plain loops, and their gradients against differences.

use super::arrays::{near, numbers, of, reference, value};
use workalike::ops::{Convolution, ConvolutionRole};
use workalike::prelude::*;

#[track_caller]
fn says<T>(result: workalike::Result<T>, parts: &[&str]) {
    let message = result.err().unwrap().to_string();
    for part in parts {
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
}

/// A convolution of images.
#[derive(Clone)]
struct Case {
    x: [usize; 4],
    w: [usize; 4],
    stride: [usize; 2],
    padding: [(usize, usize); 2],
    dilation: [usize; 2],
    groups: usize,
}

const PLAIN: Case = Case {
    x: [2, 3, 6, 5],
    w: [4, 3, 3, 2],
    stride: [1, 1],
    padding: [(0, 0), (0, 0)],
    dilation: [1, 1],
    groups: 1,
};

fn cases() -> Vec<Case> {
    vec![
        PLAIN,
        Case { stride: [2, 3], ..PLAIN },
        Case { padding: [(1, 2), (0, 3)], ..PLAIN },
        Case { dilation: [2, 3], ..PLAIN },
        Case { x: [2, 3, 6, 5], w: [5, 3, 1, 1], ..PLAIN },
        Case { x: [1, 4, 7, 6], w: [6, 2, 3, 3], groups: 2, ..PLAIN },
        Case { x: [2, 3, 5, 5], w: [6, 1, 3, 3], groups: 3, padding: [(1, 1), (1, 1)], ..PLAIN },
        Case { x: [0, 3, 6, 5], ..PLAIN },
        Case { x: [2, 0, 6, 5], w: [4, 0, 3, 2], ..PLAIN },
        Case { x: [2, 3, 3, 2], ..PLAIN },
        Case { x: [2, 3, 1, 1], padding: [(3, 1), (2, 4)], ..PLAIN },
        Case {
            x: [2, 4, 9, 8],
            w: [6, 2, 3, 2],
            stride: [2, 1],
            padding: [(2, 1), (0, 2)],
            dilation: [1, 2],
            groups: 2,
        },
    ]
}

impl Case {
    fn options(&self) -> Conv {
        let options = Conv::default().stride(self.stride).padding(self.padding).dilation(self.dilation);
        options.groups(self.groups)
    }

    /// Each output, term by term, from the definition.
    fn by_loops(&self, x: &[f64], w: &[f64]) -> (Vec<usize>, Vec<f64>) {
        let ([images, channels, h, width], [filters, own, kh, kw]) = (self.x, self.w);
        let positions = |axis: usize, extent: usize, k: usize| {
            let padded = extent + self.padding[axis].0 + self.padding[axis].1;
            let last = |o: &usize| o * self.stride[axis] + (k - 1) * self.dilation[axis] < padded;
            (0..).take_while(last).count()
        };
        let at = |axis: usize, o: usize, k: usize, extent: usize| {
            let padded = o * self.stride[axis] + k * self.dilation[axis];
            padded.checked_sub(self.padding[axis].0).filter(|&at| at < extent)
        };
        let (oh, ow) = (positions(0, h, kh), positions(1, width, kw));
        let mut y = Vec::new();
        for n in 0..images {
            for o in 0..filters {
                let first = o / (filters / self.groups) * own;
                for i in 0..oh {
                    for j in 0..ow {
                        let mut sum = 0.0;
                        for c in 0..own {
                            for k in 0..kh * kw {
                                let (row, column) = (at(0, i, k / kw, h), at(1, j, k % kw, width));
                                if let (Some(row), Some(column)) = (row, column) {
                                    sum += x[((n * channels + first + c) * h + row) * width + column]
                                        * w[(o * own + c) * kh * kw + k];
                                }
                            }
                        }
                        y.push(sum);
                    }
                }
            }
        }
        (vec![images, filters, oh, ow], y)
    }
}

#[test]
fn small_convolutions_by_hand() {
    let row = of(&[1, 1, 4], &[1.0, 2.0, 4.0, 8.0]);
    let w = of(&[1, 1, 3], &[1.0, 0.0, -1.0]);
    let conv = |options: Conv| value(&row.conv1d(&w, options));
    near(&conv(Conv::default()), &[1, 1, 2], &[-3.0, -6.0]);
    near(&conv(Conv::default().flip_filters(true)), &[1, 1, 2], &[3.0, 6.0]);
    near(&conv(Conv::default().padding(Padding::Same)), &[1, 1, 4], &[-2.0, -3.0, -6.0, 4.0]);
    // NumPy's convolve([1, 2, 4, 8], [1, 0, -1]).
    let full = Conv::default().padding(Padding::Full).flip_filters(true);
    near(&conv(full), &[1, 1, 6], &[1.0, 2.0, 3.0, 6.0, -4.0, -8.0]);
    near(&conv(Conv::default().stride([2]).padding([(1, 0)])), &[1, 1, 2], &[-2.0, -6.0]);
    // With extent 4 and stride 2, one zero is added at the end.
    near(&conv(Conv::default().stride([2]).padding(Padding::Same)), &[1, 1, 2], &[-3.0, 4.0]);
    let image = of(&[1, 1, 3, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
    let corner = of(&[1, 1, 2, 2], &[1.0, 0.0, 0.0, 10.0]);
    near(&value(&image.conv2d(&corner, Conv::default())), &[1, 1, 2, 2], &[51.0, 62.0, 84.0, 95.0]);
    near(&value(&image.conv2d(&corner, Conv::default().dilation([2, 2]))), &[1, 1, 1, 1], &[91.0]);
}

/// Zeros that follow from extents known at run time only: those of the filters, or of the input.
#[test]
fn named_padding_of_any_extents() {
    let (x, w) = (tensor::<f64>("x", [None; 3]), tensor::<f64>("w", [None; 3]));
    let of_shape = |extents: [usize; 3]| {
        let n = extents.iter().product::<usize>();
        Value::from((0..n).map(|i| (i * 7 % 11) as f64 - 4.0).collect::<Vec<f64>>())
            .reshaped(&extents)
            .unwrap()
    };
    for padding in [Padding::Same, Padding::Full] {
        for (stride, dilation) in [(1, 1), (2, 1), (3, 1), (1, 2), (2, 3)] {
            let options = Conv::default().stride([stride]).dilation([dilation]).padding(padding.clone());
            let forward = x.conv1d(&w, options.clone());
            let back = x.conv_transpose1d(&w, options.clone());
            let slopes = grad(forward.sqr().sum(..), [&x, &w]).unwrap();
            let f = function([&x, &w]).output(&forward).output(&back).outputs(&slopes).compile().unwrap();
            for (length, filter) in [(9, 1), (9, 2), (10, 3), (11, 4), (4, 5), (1, 3)] {
                let (row, filters) = (of_shape([2, 3, length]), of_shape([3, 3, filter]));
                let [known_x, known_w] = [&row, &filters].map(|v| Variable::constant(v.clone()));
                let known = known_x.conv1d(&known_w, options.clone());
                let slopes = grad(known.sqr().sum(..), [&known_x, &known_w]).unwrap();
                let back = known_x.try_conv_transpose1d(&known_w, options.clone());
                let name = format!("{padding:?}, stride {stride}, dilation {dilation}, {length}, {filter}");
                let got = f.call(args![&row, &filters]);
                // Of a transpose nothing may be left.
                let Ok(back) = back else { continue };
                let got = got.unwrap_or_else(|e| panic!("{name}: {e}"));
                for (at, want) in [known, back].iter().chain(&slopes).enumerate() {
                    let want = value(want);
                    assert_eq!(got[at].shape(), want.shape(), "{name}, output {at}");
                    let close =
                        got[at].to_f64s().iter().zip(want.to_f64s()).all(|(a, b)| (a - b).abs() < 1e-9);
                    assert!(close, "{name}, output {at}: {:?} and {want:?}", got[at]);
                }
            }
        }
    }
}

#[test]
fn transposed_convolutions_by_hand() {
    let row = of(&[1, 1, 3], &[1.0, 2.0, 3.0]);
    let w = of(&[1, 1, 2], &[10.0, 1.0]);
    let conv = |options: Conv| value(&row.conv_transpose1d(&w, options));
    near(&conv(Conv::default()), &[1, 1, 4], &[10.0, 21.0, 32.0, 3.0]);
    near(&conv(Conv::default().stride([2])), &[1, 1, 6], &[10.0, 1.0, 20.0, 2.0, 30.0, 3.0]);
    near(&conv(Conv::default().stride([3])), &[1, 1, 8], &[10.0, 1.0, 0.0, 20.0, 2.0, 0.0, 30.0, 3.0]);
    let longer = Conv::default().stride([3]).output_padding([1]);
    near(&conv(longer), &[1, 1, 9], &[10.0, 1.0, 0.0, 20.0, 2.0, 0.0, 30.0, 3.0, 0.0]);
    near(&conv(Conv::default().padding([(1, 1)])), &[1, 1, 2], &[21.0, 32.0]);
    near(&conv(Conv::default().padding(Padding::Same)), &[1, 1, 3], &[10.0, 21.0, 32.0]);
    for (stride, extent) in [(1, 3), (2, 6), (3, 9)] {
        let same = Conv::default().stride([stride]).padding(Padding::Same);
        assert_eq!(conv(same).shape(), [1, 1, extent]);
    }
    says(
        row.try_conv_transpose1d(&w, Conv::default().output_padding([1])),
        &["output_padding", "below the stride"],
    );
    says(row.try_conv_transpose1d(&w, Conv::default().padding([(3, 3)])), &["extent -2"]);
}

#[test]
fn convolutions_agree_with_the_definition() {
    for case in cases() {
        let (x, w) = (tensor::<f64>("x", [None; 4]), tensor::<f64>("w", [None; 4]));
        let (a, b) = (numbers(&case.x, 0.3), numbers(&case.w, 1.1));
        let (shape, want) = case.by_loops(&a.to_f64s(), &b.to_f64s());
        let got = reference(&x.conv2d(&w, case.options()), &[(&x, &a), (&w, &b)]);
        near(&got, &shape, &want);
        // Static extents of the arguments give static extents of the result.
        let known = constant(&a).conv2d(constant(&b), case.options());
        assert!(known.ty().admits_shape(&shape) && known.ty().shape.iter().all(Option::is_some));
    }
}

#[test]
fn one_and_three_spatial_axes_agree_with_two() {
    let (a, b) = (numbers(&[2, 4, 1, 9], 0.1), numbers(&[6, 2, 1, 3], 0.2));
    let options = |padding: Vec<(usize, usize)>, stride: Vec<usize>| {
        Conv::default().groups(2).padding(padding).stride(stride)
    };
    let flat = constant(a.reshaped(&[2, 4, 9]).unwrap())
        .conv1d(constant(b.reshaped(&[6, 2, 3]).unwrap()), options(vec![(1, 2)], vec![2]));
    let plane = constant(&a).conv2d(constant(&b), options(vec![(0, 0), (1, 2)], vec![1, 2]));
    let solid = constant(a.reshaped(&[2, 4, 1, 1, 9]).unwrap()).conv3d(
        constant(b.reshaped(&[6, 2, 1, 1, 3]).unwrap()),
        options(vec![(0, 0), (0, 0), (1, 2)], vec![1, 1, 2]),
    );
    let want = value(&plane).to_f64s();
    near(&value(&flat), &[2, 6, 5], &want);
    near(&value(&solid), &[2, 6, 1, 1, 5], &want);
}

#[test]
fn dtypes() {
    let conv = |dtype: DType| {
        let x = constant(numbers(&[1, 2, 7], 0.5)).cast(dtype);
        let w = constant(numbers(&[3, 2, 3], 0.7)).cast(dtype);
        value(&x.conv1d(&w, Conv::default()))
    };
    for dtype in DType::REAL {
        assert_eq!(conv(dtype).dtype(), dtype);
    }
    // Integers wrap.
    let wrapped = constant(vec![100i8, 100, 3])
        .reshape([1, 1, 3])
        .conv1d(constant(vec![1i8, 1]).reshape([1, 1, 2]), Conv::default());
    assert_eq!(value(&wrapped).to_vec::<i8>().unwrap(), [-56, 103]);
    // A float16 accumulator would stop at 2048.
    let ones = constant(Value::from_vec(&[1, 1, 4096], vec![1f32; 4096]).unwrap()).cast(DType::F16);
    assert_eq!(value(&ones.conv1d(&ones, Conv::default())).to_f64s(), [4096.0]);
    // Factors are promoted.
    let mixed = constant(vec![1i8, 2, 3])
        .reshape([1, 1, 3])
        .conv1d(constant(vec![0.5f32]).reshape([1, 1, 1]), Conv::default());
    assert_eq!(mixed.dtype(), DType::F32);
}

#[test]
fn gradients_are_those_of_differences() {
    for mut case in cases().into_iter().filter(|case| !case.x.contains(&0)) {
        case.x[0] = 1;
        let at = [numbers(&case.x, 0.3), numbers(&case.w, 1.1)];
        verify_grad(|x| x[0].conv2d(&x[1], case.options()), &at, 1e-7).unwrap();
        // Gradients of gradients: the other two roles, with respect to both arguments.
        let cost = |x: &[Variable]| x[0].conv2d(&x[1], case.options()).sqr().sum(..);
        verify_grad(|x| grad(cost(x), [&x[0]]).unwrap().swap_remove(0), &at, 1e-6).unwrap();
        verify_grad(|x| grad(cost(x), [&x[1]]).unwrap().swap_remove(0), &at, 1e-6).unwrap();
    }
    let transposed =
        Conv::default().stride([2]).padding([(1, 0)]).dilation([2]).output_padding([1]).groups(2);
    let at = [numbers(&[2, 4, 3], 0.3), numbers(&[4, 2, 3], 1.1)];
    verify_grad(|x| x[0].conv_transpose1d(&x[1], transposed.clone()), &at, 1e-7).unwrap();
    let at = [numbers(&[1, 2, 3, 4, 3], 0.3), numbers(&[2, 2, 2, 2, 2], 1.1)];
    verify_grad(|x| x[0].conv3d(&x[1], Conv::default().stride([1, 2, 1])), &at, 1e-7).unwrap();
    verify_grad(
        |x| x[0].conv2d(&x[1], Conv::default().flip_filters(true)),
        &[numbers(&[1, 1, 3, 3], 0.2), numbers(&[1, 1, 2, 2], 0.4)],
        1e-7,
    )
    .unwrap();
}

#[test]
fn gradients_know_shapes_at_run_time_only() {
    let (x, w) = (tensor::<f64>("x", [None; 4]), tensor::<f64>("w", [None; 4]));
    let cost = x.conv2d(&w, Conv::default().stride([2, 2])).sum(..);
    let g = grad(&cost, [&x, &w]).unwrap();
    // The last row and column are not reached.
    let (a, b) = (numbers(&[2, 1, 4, 4], 0.1), numbers(&[3, 1, 3, 3], 0.2));
    let dx = reference(&g[0], &[(&x, &a), (&w, &b)]);
    assert_eq!(dx.shape(), a.shape());
    assert_eq!(&dx.to_f64s()[12..16], [0.0; 4]);
    assert_eq!(reference(&g[1], &[(&x, &a), (&w, &b)]).shape(), b.shape());
    let t = x.conv_transpose2d(&w, Conv::default().stride([2, 3]).output_padding([1, 0]));
    let got = reference(&t, &[(&x, &numbers(&[2, 3, 4, 5], 0.1)), (&w, &b)]);
    assert_eq!(got.shape(), [2, 1, 10, 15]);
    let short = x.conv_transpose2d(&w, Conv::default().padding([(3, 3), (0, 0)]));
    let f = function([&x, &w]).output(&short).compile().unwrap();
    assert!(f.call_reference(args![numbers(&[1, 3, 1, 1], 0.1), b]).is_err());
}

#[test]
fn what_does_not_fit_is_refused() {
    let x = tensor::<f32>("x", [None, Some(4), Some(6), None]);
    let w = |shape: [usize; 4]| tensor::<f32>("w", shape.map(Some));
    let plain = Conv::default;
    says(x.try_conv2d(w([2, 3, 3, 3]), plain()), &["4 channels", "(?, 4, 6, ?)", "(2, 3, 3, 3)"]);
    says(x.try_conv2d(w([2, 2, 3, 3]), plain().groups(3)), &["3 groups"]);
    says(x.try_conv2d(w([3, 2, 3, 3]), plain().groups(2)), &["2 groups"]);
    says(x.try_conv2d(w([2, 4, 3, 3]), plain().groups(0)), &["at least 1"]);
    says(
        x.try_conv2d(w([2, 4, 7, 3]), plain()),
        &["larger than the padded input", "axis 0", "7 elements", "6"],
    );
    says(x.try_conv2d(w([2, 4, 3, 3]), plain().dilation([3, 1])), &["cover 7"]);
    says(x.try_conv2d(w([2, 4, 0, 3]), plain()), &["at least one element"]);
    says(x.try_conv2d(w([2, 4, 3, 3]), plain().stride([1, 0])), &["stride", "[1, 0]"]);
    says(x.try_conv2d(w([2, 4, 3, 3]), plain().dilation([1])), &["dilation", "2 spatial axes"]);
    says(x.try_conv2d(w([2, 4, 3, 3]), plain().padding([(1, 1)])), &["padding", "2 spatial axes"]);
    says(x.try_conv2d(w([2, 4, 3, 3]), plain().output_padding([1, 1])), &["output_padding"]);
    says(x.try_conv1d(w([2, 4, 3, 3]), plain()), &["conv1d", "1 spatial"]);
    says(x.try_max_pool([7, 1]), &["covers 7", "axis 2"]);
    says(x.try_max_pool([0, 1]), &["at least 1"]);
    says(x.try_max_pool(vec![]), &["at least one axis"]);
    says(x.try_max_pool([2; 5]), &["at least 5 axes"]);
    says(x.try_max_pool(Pool::new([2, 2]).stride([1])), &["stride", "2 axes"]);
    says(x.try_max_pool(Pool::new([2, 2]).padding([(0, 2), (0, 0)])), &["padding below 2", "(0, 2)"]);
    says(x.try_sliding_windows([2, 2], [1, 1], [0, 1]), &["dilation"]);
    // The op itself, whose operands have one dtype.
    let op = Convolution {
        role: ConvolutionRole::InputGradient,
        stride: vec![1, 1],
        padding: vec![(0, 0), (0, 0)],
        dilation: vec![1, 1],
        groups: 1,
    };
    let (dy, like) = (tensor::<f32>("dy", [Some(2), Some(5), Some(3), Some(3)]), w([2, 4, 6, 6]));
    says(
        Variable::apply(op.clone(), &[dy.clone(), w([5, 4, 3, 3]), like.clone()]),
        &["(2, 5, 4, 4)", "(2, 5, 3, 3)"],
    );
    assert!(Variable::apply(op.clone(), &[dy.clone(), w([5, 4, 4, 4]), like.clone()]).is_ok());
    says(Variable::apply(op.clone(), &[dy.clone(), w([5, 4, 4, 4]).cast(DType::F64), like]), &["one dtype"]);
    says(Variable::apply(op, &[dy, w([5, 4, 4, 4])]), &["expected 3 inputs"]);
}

#[test]
fn they_are_saved_and_loaded() {
    let (x, w) = (tensor::<f32>("x", [None; 4]), tensor::<f32>("w", [None; 4]));
    let options = Conv::default().stride([2, 1]).padding([(1, 0), (2, 1)]).dilation([1, 2]).groups(2);
    let pooled = x.conv2d(&w, options).tanh().max_pool(Pool::new([2, 3]).padding([(1, 0), (0, 0)]));
    let outputs = [vec![pooled.clone()], grad(pooled.sqr().sum(..), [&x, &w]).unwrap()].concat();
    let f = function([&x, &w]).outputs(&outputs).compile().unwrap();
    let loaded = Bundle::from_bytes(&Bundle::new().with("f", &f).to_bytes().unwrap()).unwrap();
    let args = args![
        numbers(&[2, 4, 7, 8], 0.1).cast(DType::F32).unwrap(),
        numbers(&[6, 2, 3, 3], 0.2).cast(DType::F32).unwrap()
    ];
    let (want, got) = (f.call_reference(args.clone()).unwrap(), loaded["f"].call_reference(args).unwrap());
    for ((_, want), (_, got)) in want.iter().zip(got.iter()) {
        assert_eq!(want, got);
    }
}

/// Empty arrays with long axes are compiled in constant time.
#[test]
fn empty_arrays_with_long_axes_are_harmless() {
    let long = 1usize << 40;
    let empty = |shape: &[usize]| constant(Value::zeros(DType::F32, shape).unwrap());
    let none = empty(&[long, 0, 4]).conv1d(empty(&[0, 0, 2]), Conv::default());
    assert_eq!(value(&none).shape(), [long, 0, 3]);
    let windows = empty(&[long, 0, 4]).max_pool([2]);
    assert_eq!(value(&windows).shape(), [long, 0, 2]);
    let padded = empty(&[0, 1, 4]).conv1d(empty(&[1, 1, 2]), Conv::default().padding([(long, 0)]));
    assert_eq!(value(&padded).shape(), [0, 1, long + 3]);
}
