//! Former defects, one short test each: the Function, its fused and unfused Simulators on the host and the
//! reference agree on results and state.

#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;
use workalike::Error;
use workalike::engine::device::{
    Command, Device, DeviceModule, DeviceResult, Memory, Numerics, Properties, Recording, Region,
};
use workalike::graph::TensorType;
use workalike::ops::{ARange, Attributes, BroadcastTo, Extent, Gradient, Ix, Known, Op, Side};
use workalike::prelude::*;

type Ran = workalike::Result<(Vec<Value>, Vec<Value>)>;

/// Outputs of all calls and the final state, on copies of the shared variables.
fn ran(
    f: &Function,
    calls: &[Args],
    mut call: impl FnMut(&Function, &[Args]) -> workalike::Result<Vec<Value>>,
) -> Ran {
    let own = f.fork()?;
    let outputs = call(&own, calls)?;
    Ok((outputs, own.cells().iter().map(|c| c.get_value()).collect::<workalike::Result<_>>()?))
}

fn on(f: &Function, calls: &[Args], backend: impl Backend<Simulator = Simulator> + Copy) -> Ran {
    ran(f, calls, |f, calls| {
        let mut sim = f.optimize(backend)?;
        let outputs = calls.iter().map(|a| Ok(sim.call(a.clone())?.into_values()));
        let outputs = outputs.collect::<workalike::Result<Vec<_>>>()?.concat();
        sim.sync_to_parent()?;
        Ok(outputs)
    })
}

/// The results of all ways to run these calls, the reference first.
fn all_ways(f: &Function, calls: &[Args]) -> Vec<Ran> {
    let each = |call: &dyn Fn(&Function, Args) -> workalike::Result<workalike::function::Outputs>| {
        ran(f, calls, |f, calls| {
            let outputs = calls.iter().map(|a| Ok(call(f, a.clone())?.into_values()));
            Ok(outputs.collect::<workalike::Result<Vec<_>>>()?.concat())
        })
    };
    let unfused = Options { strict: true, fuse: false, ..Options::default() };
    vec![
        each(&|f, a| f.call_reference(a)),
        each(&|f, a| f.call(a)),
        on(f, calls, Host::auto().strict()),
        on(f, calls, Host::auto().with_options(unfused)),
    ]
}

#[track_caller]
fn agree(f: &Function, calls: &[Args]) {
    let mut ways = all_ways(f, calls).into_iter().map(Result::unwrap);
    let want = ways.next().unwrap();
    ways.for_each(|got| assert_eq!(got, want));
}

#[track_caller]
fn all_refuse(f: &Function, call: Args) {
    for way in all_ways(f, &[call]) {
        assert!(way.is_err(), "{way:?}");
    }
}

fn none() -> [Variable; 0] {
    []
}

/// Small integers: every order of additions gives the same sum.
fn array(shape: &[usize]) -> Value {
    let len = shape.iter().product();
    Value::from_vec(shape, (0..len).map(|i: usize| (i * 7 % 11) as f32 - 4.0).collect()).unwrap()
}

fn positions(list: &[i64]) -> Value {
    Value::from_vec(&[list.len()], list.to_vec()).unwrap()
}

#[test]
fn a_dynamic_shared_variable_that_is_not_read_may_grow() {
    let w = shared_dynamic("w", array(&[7]), &[0]);
    let x = vector::<f32>("x");
    let f = function([&x]).update(&w, &x * 2.0).compile().unwrap();
    agree(&f, &[args![array(&[70])], args![array(&[5])], args![array(&[0])], args![array(&[3])]]);
}

#[test]
fn run_n_follows_a_state_whose_shape_changes_at_equal_size() {
    let w = shared_dynamic("w", array(&[2, 3]), &[0, 1]);
    let f = function(none()).update(&w, w.t() * 2.0).compile().unwrap();
    let reference = f.fork().unwrap();
    (0..3).for_each(|_| drop(reference.call_reference(args![]).unwrap()));
    let mut sim = f.optimize(Host::auto()).unwrap();
    sim.run_n(3, args![]).unwrap();
    assert_eq!(sim.get_value("w").unwrap(), reference.cells()[0].get_value().unwrap());
}

#[test]
fn a_fixed_shared_variable_keeps_its_shape() {
    let w = shared("w", array(&[7]));
    let x = vector::<f32>("x");
    let f = function([&x]).output(w.sum(..)).update(&w, &x * 2.0).compile().unwrap();
    agree(&f, &[args![array(&[7])]]);
    all_refuse(&f, args![array(&[5])]);
}

#[test]
fn parts_at_run_time_positions_are_increased() {
    let x = matrix::<f32>("x");
    let y = matrix::<f32>("y");
    let (a, b) = (scalar::<i64>("a"), scalar::<i64>("b"));
    let one = function([&x, &a]).output(x.inc_index([Ix::from(&a)], 10.0)).compile().unwrap();
    agree(&one, &[args![array(&[5, 3]), -2i64]]);
    let back = x.inc_index([range(&a, &b).step(-2)], &y);
    let f = function([&x, &y, &a, &b]).output(x.inc_index([range(&a, &b)], &y)).output(back);
    let f = f.compile().unwrap();
    agree(
        &f,
        &[
            args![array(&[5, 3]), array(&[1, 3]), 4i64, 5i64],
            args![array(&[5, 3]), array(&[1, 3]), 1i64, 4i64],
        ],
    );
}

#[test]
fn values_written_into_a_run_time_part_must_fit() {
    let (x, y) = (vector::<f32>("x"), vector::<f32>("y"));
    let (a, b) = (scalar::<i64>("a"), scalar::<i64>("b"));
    let f = function([&x, &y, &a, &b]).output(x.set_index([range(&a, &b)], &y)).compile().unwrap();
    agree(&f, &[args![array(&[5]), array(&[2]), 1i64, 3i64], args![array(&[5]), array(&[1]), 0i64, 3i64]]);
    all_refuse(&f, args![array(&[5]), array(&[2]), 1i64, 4i64]);
    all_refuse(&f, args![array(&[5]), array(&[6]), 4i64, 10i64]);
}

#[test]
fn steps_of_any_size_are_taken() {
    let x = vector::<f32>("x");
    let all = |step: i64| Ix::from(..).step(step);
    let f = function([&x]).output(x.index([all(-2)]).index([all(i64::MAX)])).output(x.index([all(i64::MIN)]));
    agree(&f.compile().unwrap(), &[args![array(&[5])], args![array(&[0])]]);
}

#[test]
fn a_scatter_adds_up_where_a_range_wraps_or_repeats() {
    let x = matrix::<f32>("x");
    let i = vector::<i64>("i");
    let wrapped = arange_between(-x.extent(0), x.extent(0), 1);
    let f = function([&x, &i]).output(x.inc_index([Ix::from(wrapped), Ix::from(&i)], 1.0)).compile().unwrap();
    agree(&f, &[args![array(&[2, 3]), positions(&[0, 1, 0, 1])]]);
    let rows = arange(x.extent(0));
    let f = function([&x, &i]).output(x.inc_index([Ix::from(rows), Ix::from(&i)], 1.0)).compile().unwrap();
    agree(&f, &[args![array(&[1, 3]), positions(&[0, 1, 1, 1])], args![array(&[2, 3]), positions(&[1, 1])]]);
}

#[test]
fn an_index_beyond_int64_or_into_nothing_is_out_of_range() {
    let x = matrix::<f32>("x");
    let u = vector::<u64>("u");
    let f = function([&x, &u]).output(x.index([Ix::from(&u)])).output(x.inc_index([Ix::from(&u)], 1.0));
    let f = f.compile().unwrap();
    let at = |n: u64| Value::from_vec(&[1], vec![n]).unwrap();
    agree(&f, &[args![array(&[5, 3]), at(4)]]);
    all_refuse(&f, args![array(&[5, 3]), at(u64::MAX)]);
    all_refuse(&f, args![array(&[0, 3]), at(0)]);
}

#[test]
fn a_shape_that_cannot_be_counted_is_an_error() {
    let x = vector::<f32>("x");
    let n = scalar::<i64>("n");
    let wide = |extents: Vec<Extent>, first: usize| {
        let one = constant(Value::zeros(DType::F32, &[first, 1, 1]).unwrap());
        let inputs = [one, n.clone(), n.clone()];
        Variable::apply(BroadcastTo { extents }, &inputs).unwrap().swap_remove(0)
    };
    for first in [0, 1] {
        let big = wide(vec![Extent::Fixed(first), Extent::Input(0), Extent::Input(1)], first);
        let f = function([&x, &n]).output(big.sum(..) + x.sum(..)).compile().unwrap();
        all_refuse(&f, args![array(&[1]), 1i64 << 40]);
    }
}

/// Reverses the last axis; refuses numbers below -100.
#[derive(Debug)]
struct Mirror;

impl Op for Mirror {
    fn id(&self) -> &'static str {
        "tests.mirror"
    }
    fn attributes(&self) -> Attributes {
        vec![]
    }
    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        Ok(vec![inputs[0].clone()])
    }
    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        Ok(vec![inputs[0].shape.to_vec()])
    }
    fn grad(&self, _: &Gradient) -> workalike::Result<Vec<Option<Variable>>> {
        Ok(vec![None])
    }
    fn perform(&self, inputs: &[Value]) -> workalike::Result<Vec<Value>> {
        let mut elements = inputs[0].to_vec::<f32>()?;
        if elements.iter().any(|&e| e < -100.0) {
            return Err(Error::mismatch("mirror", "numbers from -100", "less"));
        }
        elements.chunks_mut(inputs[0].shape()[inputs[0].ndim() - 1]).for_each(<[f32]>::reverse);
        Ok(vec![Value::from_vec(inputs[0].shape(), elements)?])
    }
}

fn mirror(x: &Variable) -> Variable {
    Variable::apply(Mirror, std::slice::from_ref(x)).unwrap().swap_remove(0)
}

#[test]
fn a_host_node_sees_its_inputs_reshaped() {
    let x = matrix::<f32>("x");
    let f = function([&x]).output(mirror(&x.reshape([3, 2]))).output(mirror(&(&x * 2.0).reshape([1, 6])));
    let f = f.output(mirror(&x.t())).compile().unwrap();
    let x = array(&[2, 3]);
    let want = f.call_reference(args![x.clone()]).unwrap().into_values();
    assert_eq!(f.call(args![x]).unwrap().into_values(), want);
}

#[test]
fn nothing_is_updated_if_a_host_node_fails_late() {
    let w = shared("w", 1f32);
    let x = vector::<f32>("x");
    let f = function([&x]).output(mirror(&(&x * &w))).update(&w, x.sum(..)).compile().unwrap();
    f.call(args![vec![-1000f32]]).unwrap_err();
    assert_eq!(w.get_value().unwrap().item::<f32>().unwrap(), 1.0);
    f.call(args![vec![3f32, 4.0]]).unwrap();
    assert_eq!(w.get_value().unwrap().item::<f32>().unwrap(), 7.0);
}

/// The host, but without float64.
#[derive(Debug)]
struct Narrow(Arc<dyn Device>, Properties);

#[derive(Clone, Copy)]
struct NarrowHost;

impl Open for NarrowHost {
    fn open(&self) -> DeviceResult<Arc<dyn Device>> {
        let host = Host::auto().open()?;
        let properties = Properties { f64: false, ..host.properties().clone() };
        Ok(Arc::new(Narrow(host, properties)))
    }
}

impl Device for Narrow {
    fn properties(&self) -> &Properties {
        &self.1
    }
    fn allocate(&self, bytes: u64) -> DeviceResult<Arc<dyn Memory>> {
        self.0.allocate(bytes)
    }
    fn upload(&self, source: &[u8], target: &Region) -> DeviceResult<()> {
        self.0.upload(source, target)
    }
    fn download(&self, source: &Region, target: &mut [u8]) -> DeviceResult<()> {
        self.0.download(source, target)
    }
    fn copy(&self, source: &Region, target: &Region) -> DeviceResult<()> {
        self.0.copy(source, target)
    }
    fn compile(
        &self,
        nests: &[workalike::kernels::verify::Verified],
        numerics: Numerics,
    ) -> DeviceResult<Arc<dyn DeviceModule>> {
        let doubles = nests.iter().flat_map(|n| &n.operands).any(|o| o.dtype == DType::F64);
        assert!(!doubles, "a Nest on float64");
        self.0.compile(nests, numerics)
    }
    fn record(
        &self,
        module: &Arc<dyn DeviceModule>,
        commands: &[Command],
    ) -> DeviceResult<Box<dyn Recording>> {
        self.0.record(module, commands)
    }
    fn synchronize(&self) -> DeviceResult<()> {
        self.0.synchronize()
    }
}

#[test]
fn a_device_without_float64_moves_it_and_computes_it_on_the_host() {
    let (x, y) = (matrix::<f64>("x"), matrix::<f32>("y"));
    let i = vector::<i64>("i");
    let w = shared("w", Array1::<f64>::ones(3));
    // The first gather is refused after it requested the status word; the second one needs a status word of
    // its own.
    let f = function([&x, &y, &i]).output(x.index([Ix::from(&i)])).output(y.index([Ix::from(&i)]));
    let f = f.output(x.t()).output((x.t() + 1.0).reshape([-1])).update(&w, x.sum(0) + &w).compile().unwrap();
    let x = array(&[2, 3]).cast(DType::F64).unwrap();
    let call = |at: &[i64]| args![x.clone(), array(&[2, 3]), positions(at)];
    for fuse in [true, false] {
        let got =
            on(&f, &[call(&[0, 1, -1])], NarrowHost.with_options(Options { fuse, ..Options::default() }));
        assert_eq!(got.unwrap(), all_ways(&f, &[call(&[0, 1, -1])])[0].clone().unwrap());
        let mut sim = f.optimize(NarrowHost.with_options(Options { fuse, ..Options::default() })).unwrap();
        sim.call(call(&[2])).unwrap_err();
    }
}

#[test]
fn the_host_sums_to_a_shape_where_the_device_has_no_float64() {
    let (x, y) = (vector::<f64>("x"), vector::<f64>("y"));
    // Only the shape of `moved` is needed, until the sum runs on the host.
    let moved = x.exp();
    let slope = grad((&moved * &y).sum(..), [&moved]).unwrap();
    let f = function([&x, &y]).output(&slope[0]).compile().unwrap();
    let mut sim = f.optimize(NarrowHost).unwrap();
    for (x, want) in [(vec![2f64], vec![6f64]), (vec![1.0; 3], vec![1.0, 2.0, 3.0])] {
        let found = sim.call(args![x, vec![1f64, 2.0, 3.0]]).unwrap();
        assert_eq!(found[0].to_vec::<f64>().unwrap(), want);
    }
}

#[test]
fn a_method_added_with_keep_leaves_every_parent_in_step() {
    let w = shared("w", 1f32);
    let f = function(none()).update(&w, &w + 1.0).compile().unwrap();
    let get = function(none()).output(&w).compile().unwrap();
    let mut sim = f.optimize(Host::auto()).unwrap();
    w.set_value(10f32).unwrap();
    sim.add_method_keeping("incoming", &get, Keep::Parent).unwrap();
    sim.call(args![]).unwrap();
    sim.sync_to_parent().unwrap();
    assert_eq!(w.get_value().unwrap().item::<f32>().unwrap(), 11.0);
    w.set_value(20f32).unwrap();
    sim.add_method_keeping("kept", &get, Keep::Simulator).unwrap();
    assert_eq!(sim.sync_to_parent().unwrap(), ["w"]);
    assert_eq!(w.get_value().unwrap().item::<f32>().unwrap(), 11.0);
}

#[test]
fn searches_in_an_empty_vector_find_its_end() {
    let (v, x, end) = (vector::<i64>("v"), vector::<i64>("x"), scalar::<i64>("end"));
    let taken = v.index(idx![v.index(idx![range(0, &end)])]);
    let f =
        function([&v, &x, &end]).output(taken.searchsorted(&x, Side::Left)).output(&taken).compile().unwrap();
    let call = || args![Vec::<i64>::new(), vec![3i64, -1], 0i64];
    for out in [f.call(call()).unwrap(), f.call_reference(call()).unwrap()] {
        assert_eq!(out[0].to_vec::<i64>().unwrap(), [0, 0]);
        assert!(out[1].is_empty());
    }
}

/// Positions in uint8 wrap at 256, so the last of 300 increments go to the first elements again.
#[test]
fn ranges_of_narrow_integers_wrap() {
    let (x, y) = (vector::<f32>("x"), vector::<f32>("y"));
    let bounds = [Variable::constant(0i64), x.extent(0), Variable::constant(1i64)];
    let positions = Variable::apply(ARange { dtype: DType::U8 }, &bounds).unwrap().remove(0);
    let f = function([&x, &y]).output(x.inc_index(idx![&positions], &y)).compile().unwrap();
    let given = || args![vec![0f32; 300], vec![1f32; 300]];
    let want: Vec<f32> =
        (0..300).map(|at| [2.0, 1.0, 0.0][usize::from(at >= 44) + usize::from(at >= 256)]).collect();
    let mut sim = f.optimize(Host::auto()).unwrap();
    for out in [f.call(given()).unwrap(), f.call_reference(given()).unwrap(), sim.call(given()).unwrap()] {
        assert_eq!(out[0].to_vec::<f32>().unwrap(), want);
    }
}

/// Uniform halves have all bits that their dtype has below 1.
#[test]
fn uniform_halves_have_all_their_bits() {
    for (dtype, bits) in [(DType::F16, 11), (DType::BF16, 8)] {
        let draws = match dtype {
            DType::F16 => RandomStreams::new(1).draw_uniform::<half::f16>(&[1 << 17]),
            _ => RandomStreams::new(1).draw_uniform::<half::bf16>(&[1 << 17]),
        };
        let mut numbers = draws.unwrap().to_f64s();
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        let steps = f64::from(1 << bits);
        assert_eq!(numbers.len(), 1 << bits, "{dtype}");
        assert!(numbers.iter().all(|n| *n >= 0.0 && *n < 1.0 && (n * steps).fract() == 0.0), "{dtype}");
        assert!((mean - (1.0 - 1.0 / steps) / 2.0).abs() < 0.005, "{dtype}: {mean}");
    }
}
