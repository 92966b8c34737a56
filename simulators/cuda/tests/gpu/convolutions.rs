//! Convolutions with cuDNN's epilogues, against the convolution followed by the Nest.

use crate::{Test, open, tests};
use std::sync::Arc;
use workalike::dtype::DType;
use workalike::engine::device::{Command, Device, LibraryOutput, Numerics, Region};
use workalike::error::DeviceError;
use workalike::kernels::Scalar;
use workalike::kernels::library::{ConvolutionDirection, LibraryConvolution, LibraryOp};
use workalike::kernels::nest::{Block, Index, Inst, Nest, Operand, Phase, PhaseKind, Store};
use workalike::kernels::ops::{ADD, MAXIMUM, ScalarOp, TANH};
use workalike::kernels::verify::Verified;

/// All tests of this file.
pub(crate) const TESTS: &[Test] = tests![
    epilogues_are_the_convolution_then_the_nest,
    a_nan_stays_one,
    what_cannot_be_an_epilogue_is_refused,
];

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

/// `(images, channels, filters, groups)`, then extents of the input, of a filter, stride and padding, along
/// every axis.
type Sizes<'a> = ([u64; 4], &'a [u64], u64, [u64; 2]);

fn convolution(
    dtype: DType,
    ([batch, channels, filters, groups], input, window, steps): Sizes,
) -> LibraryConvolution {
    let [stride, padding] = steps;
    let all = |number: u64| vec![number; input.len()];
    let output = input.iter().map(|extent| (extent + 2 * padding - window) / stride + 1).collect();
    LibraryConvolution {
        dtype,
        role: ConvolutionDirection::Forward,
        batch,
        channels,
        filters,
        groups,
        input: input.to_vec(),
        window: all(window),
        output,
        stride: all(stride),
        padding: all(padding),
        dilation: all(1),
        fast: false,
    }
}

/// The epilogue of a convolution.
#[derive(Clone, Copy, Debug)]
struct Form {
    added: bool,
    in_place: bool,
    relu: bool,
}

const FORMS: [Form; 5] = [
    Form { added: false, in_place: false, relu: true },
    Form { added: true, in_place: false, relu: true },
    Form { added: true, in_place: true, relu: true },
    Form { added: false, in_place: false, relu: false },
    Form { added: true, in_place: false, relu: false },
];

/// The Nest of a form. Its operands are the convolution, the addend, the bias and the result; the spatial
/// axes are one.
fn nest(call: &LibraryConvolution, form: Form) -> Nest {
    let (dtype, plane) = (call.dtype, call.output.iter().product());
    let axes = vec![call.batch, call.filters, plane];
    let own = || (0..3).map(Index::axis).collect::<Vec<_>>();
    let mut insts =
        vec![Inst::Load { operand: 0, index: own() }, Inst::Load { operand: 2, index: vec![Index::axis(1)] }];
    let push = |insts: &mut Vec<Inst>, inst| {
        insts.push(inst);
        insts.len() as u32 - 1
    };
    let op = |op: ScalarOp, a: u32, b: u32| Inst::Op { op, args: vec![a, b] };
    let mut value = push(&mut insts, op(ADD, 0, 1));
    if form.added {
        let operand = if form.in_place { 3 } else { 1 };
        let added = push(&mut insts, Inst::Load { operand, index: own() });
        value = push(&mut insts, op(ADD, value, added));
    }
    if form.relu {
        let zero = push(&mut insts, Inst::Const(Scalar::from_f64(dtype, 0.0)));
        value = push(&mut insts, op(MAXIMUM, value, zero));
    }
    let stores = vec![Store { operand: 3, index: own(), value, when: None, add: false }];
    let whole = |written| Operand::contiguous(dtype, &axes, written);
    let bias = Operand::contiguous(dtype, &[call.filters], false);
    let operands = vec![whole(false), whole(false), bias, whole(true)];
    let phases = vec![Phase { kind: PhaseKind::Point, block: Block { insts }, folds: vec![], stores }];
    Nest { name: "form".into(), axes, grid: 3, operands, phases }
}

/// Numbers between -1 and 1 with as many bits as the dtype has.
fn noise(dtype: DType, count: u64, seed: u64) -> Vec<f64> {
    let mut state = seed * 2 + 1;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let value = (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        Scalar::from_f64(dtype, value).to_f64()
    };
    (0..count).map(|_| next()).collect()
}

fn decode(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    bytes.chunks(dtype.size()).map(|v| Scalar::from_le_bytes(dtype, v).unwrap().to_f64()).collect()
}

fn put(device: &Arc<dyn Device>, dtype: DType, values: &[f64]) -> Region {
    let encode = |v: &f64| Scalar::from_f64(dtype, *v).to_le_bytes()[..dtype.size()].to_vec();
    let bytes: Vec<u8> = values.iter().flat_map(encode).collect();
    let region = Region::whole(device.allocate(bytes.len() as u64).unwrap());
    device.upload(&bytes, &region).unwrap();
    region
}

fn get(device: &Arc<dyn Device>, region: &Region) -> Vec<u8> {
    let mut bytes = vec![0xee; region.bytes as usize];
    device.download(region, &mut bytes).unwrap();
    bytes
}

/// A convolution with the scratch memory that the device requires.
fn command(
    device: &Arc<dyn Device>,
    call: &LibraryConvolution,
    inputs: &[Region; 2],
    target: LibraryOutput,
) -> Option<Command> {
    let epilogue = match &target {
        LibraryOutput::Memory(_) => None,
        LibraryOutput::Epilogue { nest, .. } => Some((nest, 0)),
    };
    let bytes = device.library(call, epilogue)?;
    let scratch = (bytes > 0).then(|| Region::whole(device.allocate(bytes).unwrap()));
    Some(Command::Library { op: Arc::new(call.clone()), inputs: inputs.to_vec(), target, scratch })
}

/// Operands of a convolution and its Nest on a device: input, filters, addend, bias.
struct Case {
    call: LibraryConvolution,
    form: Form,
    nest: Verified,
    values: [Vec<f64>; 4],
}

impl Case {
    fn new(call: &LibraryConvolution, form: Form) -> Case {
        let count = |at: usize| call.operands()[at].shape.iter().product::<u64>();
        let counts = [count(0), count(1), count(2), call.filters];
        let values = [0, 1, 2, 3].map(|at| noise(call.dtype, counts[at], 10 + at as u64));
        Case { call: call.clone(), form, nest: Verified::new(nest(call, form)).unwrap(), values }
    }

    /// With the epilogue, or with the Nest after it. `None` where the device does not compute it so.
    fn run(&self, device: &Arc<dyn Device>, fused: bool) -> Option<Vec<u8>> {
        let dtype = self.call.dtype;
        let [x, w, added, bias] = self.values.each_ref().map(|values| put(device, dtype, values));
        // The result holds NaN before.
        let empty = || put(device, dtype, &vec![f64::NAN; self.values[2].len()]);
        let result = if self.form.in_place { put(device, dtype, &self.values[2]) } else { empty() };
        let (inputs, nests) = ([x, w], [self.nest.clone()]);
        let module = device.compile(&nests, Numerics::default()).unwrap();
        let commands = if fused {
            let args = vec![None, Some(added), Some(bias), Some(result.clone())];
            let target = LibraryOutput::Epilogue { nest: self.nest.clone(), args };
            vec![command(device, &self.call, &inputs, target)?]
        } else {
            let between = empty();
            let first = command(device, &self.call, &inputs, between.clone().into())?;
            vec![first, Command::Launch { nest: 0, args: vec![between, added, bias, result.clone()] }]
        };
        let mut recording = device.record(&module, &commands).unwrap();
        recording.replay().unwrap();
        let once = get(device, &result);
        if !self.form.in_place {
            recording.replay().unwrap();
            assert!(get(device, &result) == once, "two replays of {:?}, {:?}", self.call, self.form);
        }
        Some(once)
    }

    /// Checks that the two agree within the tolerance of products.
    fn check(&self, device: &Arc<dyn Device>) {
        let Case { call, form, .. } = self;
        let dtype = call.dtype;
        let (Some(want), Some(got)) = (self.run(device, false), self.run(device, true)) else {
            // Only one algorithm has an epilogue without ReLU, and it need not have every dtype.
            assert!(dtype != DType::F32 || !form.relu, "{call:?} with {form:?}");
            return;
        };
        let (sums, rounded) = match dtype {
            DType::F64 => (f64::EPSILON, f64::EPSILON),
            DType::F16 => (f32::EPSILON.into(), 1.0 / 1024.0),
            DType::BF16 => (f32::EPSILON.into(), 1.0 / 128.0),
            _ => (f32::EPSILON.into(), f32::EPSILON.into()),
        };
        let terms: f64 = call.operands()[1].shape[1..].iter().map(|extent| *extent as f64).product();
        // All numbers are at most 1, so a sum is at most the number of its terms. Two steps round a half
        // twice.
        let bound = 2.0 * terms * sums * terms + 2.0 * rounded * (terms.sqrt() * 4.0 + 2.0);
        for (at, (got, want)) in decode(dtype, &got).into_iter().zip(decode(dtype, &want)).enumerate() {
            assert!((got - want).abs() <= bound, "{call:?}, {form:?} at {at}: {got}, not {want}");
        }
    }
}

/// A convolution that every cuDNN computes.
pub(crate) fn smallest() -> LibraryConvolution {
    convolution(DType::F32, ([1, 1, 1, 1], &[4, 4], 3, [1, 1]))
}

fn epilogues_are_the_convolution_then_the_nest() {
    let device = open();
    let sizes: [Sizes<'_>; 8] = [
        ([2, 8, 16, 1], &[14, 14], 3, [1, 1]),
        ([3, 5, 7, 1], &[11, 13], 3, [2, 1]),
        ([2, 6, 9, 3], &[7, 9], 3, [1, 0]),
        ([2, 8, 8, 8], &[9, 9], 3, [1, 1]),
        ([2, 3, 5, 1], &[1, 1], 1, [1, 0]),
        ([2, 3, 4, 1], &[37], 5, [1, 2]),
        ([2, 3, 1, 1], &[8, 9], 3, [1, 1]),
        ([2, 3, 5, 1], &[5, 6, 7], 3, [1, 1]),
    ];
    for dtype in FLOATS {
        for sizes in sizes {
            let call = convolution(dtype, sizes);
            FORMS.iter().for_each(|form| Case::new(&call, *form).check(&device));
        }
    }
}

fn a_nan_stays_one() {
    let device = open();
    for dtype in FLOATS {
        let call = convolution(dtype, ([2, 4, 6, 1], &[8, 8], 3, [1, 1]));
        for form in FORMS {
            let mut case = Case::new(&call, form);
            case.values[3][1] = f64::NAN;
            let Some(got) = case.run(&device, true) else {
                assert!(dtype != DType::F32 || !form.relu, "{call:?} with {form:?}");
                continue;
            };
            let got = decode(dtype, &got);
            for (at, value) in got.into_iter().enumerate() {
                assert_eq!(value.is_nan(), at / 64 % 6 == 1, "{dtype:?}, {form:?} at {at}: {value}");
            }
        }
    }
}

fn what_cannot_be_an_epilogue_is_refused() {
    let device = open();
    let call = convolution(DType::F32, ([2, 4, 6, 1], &[8, 8], 3, [1, 1]));
    let case = Case::new(&call, FORMS[1]);
    let [x, w, added, bias] = case.values.each_ref().map(|values| put(&device, DType::F32, values));
    let bytes = added.bytes;
    let out = device.allocate(2 * bytes).unwrap();
    let part = |offset: u64| Region { memory: out.clone(), offset, bytes };
    let module = device.compile(&[], Numerics::default()).unwrap();
    let try_it = |args: [Option<&Region>; 4]| {
        let args = args.map(|region| region.cloned()).to_vec();
        let target = LibraryOutput::Epilogue { nest: case.nest.clone(), args };
        let command = command(&device, &call, &[x.clone(), w.clone()], target).unwrap();
        device.record(&module, &[command]).map(drop)
    };
    try_it([None, Some(&added), Some(&bias), Some(&part(0))]).unwrap();
    try_it([None, Some(&part(0)), Some(&bias), Some(&part(0))]).unwrap();
    let short = Region { bytes: bias.bytes - 4, ..bias.clone() };
    let (low, middle, odd) = (part(0), part(256), part(4));
    for args in [
        [None, Some(&middle), Some(&bias), Some(&low)],
        [None, Some(&added), Some(&low), Some(&low)],
        [None, Some(&added), Some(&short), Some(&low)],
        [None, Some(&added), Some(&bias), Some(&odd)],
        [None, Some(&added), Some(&bias), Some(&x)],
        [None, None, Some(&bias), Some(&low)],
    ] {
        let outcome = try_it(args);
        assert!(outcome.is_err(), "{args:?}");
    }
    let mut curved: Nest = (*case.nest).clone();
    let value = curved.phases[0].stores[0].value;
    curved.phases[0].block.insts.push(Inst::Op { op: TANH, args: vec![value] });
    curved.phases[0].stores[0].value = curved.phases[0].block.insts.len() as u32 - 1;
    let curved = Verified::new(curved).unwrap();
    assert!(device.library(&call, Some((&curved, 0))).is_none());
    assert!(device.library(&call, Some((&case.nest, 2))).is_none());
    // A result as long as its bias may be stored over the bias.
    let one = convolution(DType::F32, ([1, 3, 5, 1], &[1, 1], 1, [1, 0]));
    for form in FORMS {
        assert!(device.library(&one, Some((&Case::new(&one, form).nest, 0))).is_none(), "{form:?}");
    }
    let args = [None, Some(added.clone()), Some(bias.clone()), Some(part(0))].to_vec();
    let target = LibraryOutput::Epilogue { nest: curved, args };
    let refused = device.record(&module, &[Command::library(call.clone(), [x.clone(), w.clone()], target)]);
    assert!(matches!(refused, Err(DeviceError::Unsupported { .. })), "{refused:?}");
}
