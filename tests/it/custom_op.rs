//! User-defined ops with a device form, one by a Nest, one by a library op. They use the public API only.

mod batched;
mod readers;
mod refused;

use std::sync::Arc;
use workalike::engine::device::Interpreter;
use workalike::graph::Node;
use workalike::kernels::library::{Definition, DefinitionError, LibraryError};
use workalike::kernels::nest::{Fold, Operand, PhaseKind};
use workalike::kernels::ops as scalar;
use workalike::lower::{At, LibraryOp, Lowered, Lowering, NestBuilder, View};
use workalike::ops::{Gradient, Known, Op};
use workalike::prelude::*;
use workalike::{Error, Result};

type Checked<T> = std::result::Result<T, String>;

/// A sparse matrix with the same number of elements in each row, times a vector: `y[i] = sum over j of
/// values[i, j] * x[columns[i, j]]`.
#[derive(Debug)]
struct SparseDot;

impl Op for SparseDot {
    fn id(&self) -> &'static str {
        "example.sparse_dot"
    }

    fn types(&self, inputs: &[&TensorType]) -> Checked<Vec<TensorType>> {
        let [values, columns, x] = inputs else {
            return Err(format!("expected 3 inputs, got {}", inputs.len()));
        };
        let ranks = [values.ndim(), columns.ndim(), x.ndim()];
        if ranks != [2, 2, 1] || columns.dtype != DType::I64 || !x.dtype.is_float() || values.dtype != x.dtype
        {
            return Err(format!("expected floats, int64 and floats of ranks 2, 2 and 1, got {inputs:?}"));
        }
        Ok(vec![TensorType::new(x.dtype, vec![values.shape[0]])])
    }

    fn shapes(&self, inputs: &[Known]) -> Checked<Vec<Vec<usize>>> {
        if inputs[0].shape != inputs[1].shape {
            return Err(format!("{:?} values have {:?} columns", inputs[0].shape, inputs[1].shape));
        }
        Ok(vec![vec![inputs[0].shape[0]]])
    }

    fn index_inputs(&self, _: usize) -> Vec<usize> {
        vec![1]
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let [values, columns, x] = at.inputs else { return Ok(vec![None; 3]) };
        let Some(g) = &at.output_grads[0] else { return Ok(vec![None; 3]) };
        let g = g.try_expand_dims(1)?;
        let by_values = (&g * x.try_index(idx![columns])?).checked()?.clone();
        let by_x = zeros_like(x).try_inc_index(idx![columns], &g * values)?;
        Ok(vec![Some(by_values), None, Some(by_x)])
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let (values, x) =
            (inputs[0].cast(DType::F64)?.to_vec::<f64>()?, inputs[2].cast(DType::F64)?.to_vec::<f64>()?);
        let columns = inputs[1].to_vec::<i64>()?;
        let (rows, width) = (inputs[0].shape()[0], inputs[0].shape()[1]);
        let mut sums = vec![0f64; rows];
        for (at, (value, &column)) in values.iter().zip(&columns).enumerate() {
            let place = if column < 0 { column + x.len() as i64 } else { column };
            let element = usize::try_from(place).ok().and_then(|place| x.get(place));
            let outside =
                || Error::mismatch("sparse_dot", format!("columns of {}", x.len()), column.to_string());
            sums[at / width] += value * element.ok_or_else(outside)?;
        }
        Ok(vec![Value::from_vec(&[rows], sums)?.cast(inputs[2].dtype())?])
    }

    /// One grid point per row, one inner point per element of the row.
    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        let [values, columns, x] = inputs else { return Err("expected 3 inputs".into()) };
        let (rows, width, extent) = (values.shape()[0], values.shape()[1], x.shape()[0]);
        if extent == 0 {
            return Err("the vector is empty".into());
        }
        let dtype = to.dtype(node.outputs[0]);
        let target = to.temp(dtype, &[rows]);
        let status = to.check_index_of(node.inputs[1], columns, extent);
        let report = status.map(|status| (status, to.report()));

        let mut nest = NestBuilder::new("sparse_dot", &[rows], &[width]);
        let mut reduce = nest.phase(PhaseKind::Reduce, to.program());
        let here = At::axes(2);
        let (value, column) = (reduce.load(values, &here), reduce.load(columns, &here));
        let place = reduce.position(column, extent, report);
        let element = reduce.load(x, &[At::Value(place)]);
        let product = reduce.apply(scalar::MUL, &[value, element]);
        let product = reduce.convert(product, dtype.register());
        let fold = reduce.fold(Fold::Sum, product, None);
        let phase = reduce.finish();
        let mut point = nest.phase(PhaseKind::Point, to.program());
        let sum = point.folded(phase, fold, dtype.register());
        point.store(target, &[rows], &At::axes(1), sum, None);
        point.finish();
        to.push(nest);
        Ok(vec![View::whole(target, &[rows])])
    }
}

fn sparse_dot(values: &Variable, columns: &Variable, x: &Variable) -> Variable {
    let inputs = [values.clone(), columns.clone(), x.clone()];
    Variable::apply(SparseDot, &inputs).unwrap().swap_remove(0)
}

/// A library op that evaluates a polynomial.
#[derive(Clone, Debug)]
struct Horner {
    terms: u64,
    points: u64,
}

impl LibraryOp for Horner {
    fn name(&self) -> String {
        "horner".into()
    }

    fn dtype(&self) -> DType {
        DType::F32
    }

    fn extents(&self) -> Vec<u64> {
        vec![self.terms, self.points]
    }

    fn operands(&self) -> Vec<Operand> {
        let operand = |extent: u64, written: bool| Operand::contiguous(DType::F32, &[extent], written);
        vec![operand(self.terms, false), operand(self.points, false), operand(self.points, true)]
    }

    fn verify(&self) -> std::result::Result<(), LibraryError> {
        let most = 1 << 40;
        if self.terms.max(self.points) <= most {
            return Ok(());
        }
        let (expected, found) = (format!("at most {most}"), format!("{} and {}", self.terms, self.points));
        Err(LibraryError { op: self.name(), argument: "extents", expected, found })
    }

    fn flops(&self) -> f64 {
        2.0 * self.terms as f64 * self.points as f64
    }

    fn definition(&self) -> Option<std::result::Result<Definition, DefinitionError>> {
        let definition: Definition = Box::new(|inputs: &[&[u8]], outputs: &mut [&mut [u8]]| {
            let ([terms, points], [values]) = (inputs, &mut *outputs) else {
                let (expected, found) = ("2 inputs and 1 output".into(), "other operands".into());
                return Err(DefinitionError::Operands { expected, found });
            };
            let number = |bytes: &[u8]| <[u8; 4]>::try_from(bytes).map_or(f32::NAN, f32::from_ne_bytes);
            for (x, y) in points.chunks_exact(4).map(number).zip(values.chunks_exact_mut(4)) {
                let value = terms.chunks_exact(4).rev().fold(0f32, |sum, term| sum * x + number(term));
                y.copy_from_slice(&value.to_ne_bytes());
            }
            Ok(())
        });
        Some(Ok(definition))
    }
}

/// Evaluates the polynomial with the coefficients of the first input at the points of the second.
#[derive(Debug)]
struct Polynomial;

impl Op for Polynomial {
    fn id(&self) -> &'static str {
        "example.polynomial"
    }

    fn types(&self, inputs: &[&TensorType]) -> Checked<Vec<TensorType>> {
        let vector = |ty: &&TensorType| ty.dtype == DType::F32 && ty.ndim() == 1;
        if inputs.len() != 2 || !inputs.iter().all(vector) {
            return Err(format!("expected 2 vectors of float32, got {inputs:?}"));
        }
        Ok(vec![inputs[1].clone()])
    }

    fn shapes(&self, inputs: &[Known]) -> Checked<Vec<Vec<usize>>> {
        Ok(vec![inputs[1].shape.to_vec()])
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let Some(g) = &at.output_grads[0] else { return Ok(vec![None, None]) };
        let (terms, x) = (&at.inputs[0], &at.inputs[1]);
        let exponents = (ones_like(terms).try_cumsum(0isize)? - 1f32).checked()?.clone();
        let powers = x.try_expand_dims(1)?.try_pow(&exponents)?;
        let by_terms = (g.try_expand_dims(1)? * powers).try_sum(0)?;
        let slopes = (terms * &exponents).try_index(idx![1..])?;
        let by_x = g * Variable::apply(Polynomial, &[slopes, x.clone()])?.swap_remove(0);
        Ok(vec![Some(by_terms), Some(by_x)])
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let terms = inputs[0].to_vec::<f32>()?;
        let value = |x: f32| terms.iter().rev().fold(0.0, |sum, term| sum * x + term);
        let values = inputs[1].to_vec::<f32>()?.into_iter().map(value).collect();
        Ok(vec![Value::from_vec(inputs[1].shape(), values)?])
    }

    /// Lowers to the library op if the device has it, else to a Nest.
    fn lower(&self, to: &mut Lowering<'_>, _: &Node, inputs: &[View]) -> Lowered {
        let [terms, x] = inputs else { return Err("expected 2 inputs".into()) };
        let (count, points) = (terms.shape()[0], x.shape()[0]);
        let horner = Horner { terms: count, points };
        if to.abilities().has(&horner) {
            let given = [terms, x].map(|view| (to.whole(view), 0));
            if let Some(views) = to.library(horner, given.to_vec(), &[&[points]]) {
                return Ok(views);
            }
        }
        if count > 64 {
            return Err(format!("{count} coefficients are too many for a kernel"));
        }
        let target = to.temp(DType::F32, &[points]);
        let mut nest = NestBuilder::new("polynomial", &[points], &[]);
        let mut point = nest.phase(PhaseKind::Point, to.program());
        let at = point.load(x, &At::axes(1));
        let mut value = point.float(DType::F32, 0.0);
        for term in (0..i64::try_from(count).unwrap_or(0)).rev() {
            let term = point.load(&terms.slice(0, term, 1, None, None), &[]);
            value = point.apply(scalar::MUL, &[value, at]);
            value = point.apply(scalar::ADD, &[value, term]);
        }
        point.store(target, &[points], &At::axes(1), value, None);
        point.finish();
        to.push(nest);
        Ok(vec![View::whole(target, &[points])])
    }
}

fn polynomial(terms: &Variable, x: &Variable) -> Variable {
    Variable::apply(Polynomial, &[terms.clone(), x.clone()]).unwrap().swap_remove(0)
}

fn registry() -> Registry {
    Registry::default()
        .with("example.sparse_dot", 1, |_| Ok(Arc::new(SparseDot)))
        .and_then(|known| known.with("example.polynomial", 1, |_| Ok(Arc::new(Polynomial))))
        .unwrap()
}

/// Strict Simulators of a Function on each device that is built in and present: the host, the interpreter,
/// the first OpenCL device, the first GPU. A device that is listed must open. If `CI` is set, an OpenCL
/// device must be present.
fn simulators(f: &Function) -> Vec<Simulator> {
    #[allow(unused_mut)] // without other devices
    let mut all =
        vec![f.optimize(Host::threads(2).strict()).unwrap(), f.optimize(Interpreter.strict()).unwrap()];
    #[cfg(feature = "opencl")]
    if std::env::var_os("CI").is_some() || workalike::opencl::list().is_ok_and(|listed| !listed.is_empty()) {
        all.push(f.optimize(OpenCl::device(0, 0).strict()).unwrap());
    }
    #[cfg(feature = "cuda-any")]
    if !workalike::cuda::list().is_empty() {
        all.push(f.optimize(Cuda::device(0).strict()).unwrap());
    }
    all
}

fn assert_close(got: &[f32], want: &[f32]) {
    let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
    assert!(got.len() == want.len() && got.iter().zip(want).all(close), "{got:?}, not {want:?}");
}

/// Values and columns of 3 rows with 2 elements each, and a vector of 4.
fn sparse() -> (Array2<f32>, Array2<i64>, Vec<f32>) {
    (
        array![[1f32, 2.0], [3.0, -1.0], [0.5, 4.0]],
        array![[0i64, 3], [1, 1], [-1, 2]],
        vec![1f32, 2.0, -3.0, 0.25],
    )
}

/// Both ops among elementwise ops, and a shared variable that sums the results.
fn model() -> Function {
    let (values, columns, x) = (matrix::<f32>("values"), matrix::<i64>("columns"), vector::<f32>("x"));
    let (terms, total) = (constant(vec![0.5f32, -1.0, 0.25]), shared("total", 0f32));
    let product = sparse_dot(&(&values * 2.0), &columns, &x.tanh());
    let y = polynomial(&terms, &(&product - 0.5)).exp();
    let slope = grad(y.sum(..), [&x]).unwrap().swap_remove(0);
    let f = function([&values, &columns, &x]).output(&y).output(slope);
    f.update(&total, &*total + product.sum(..)).name("model").compile().unwrap()
}

#[test]
fn they_agree_with_their_references_on_each_device() {
    let f = model();
    let (values, columns, x) = sparse();
    let given = || args![values.clone(), columns.clone(), x.clone()];
    let want = f.fork().unwrap().call_reference(given()).unwrap();
    for (number, mut sim) in simulators(&f).into_iter().enumerate() {
        let got = sim.call(given()).unwrap();
        // The host and the interpreter run the library op's definition, other devices the Nest.
        assert_eq!(sim.explain().contains("library horner"), number < 2, "{}", sim.explain());
        for at in 0..2 {
            assert_close(&got[at].to_vec::<f32>().unwrap(), &want[at].to_vec::<f32>().unwrap());
        }
        sim.run_n(3, given()).unwrap();
        let total = sim.get_value("total").unwrap().item::<f32>().unwrap();
        assert_close(&[total], &[4.0 * expected_product().iter().sum::<f32>()]);
    }
}

/// The result of [`SparseDot`] in [`model`].
fn expected_product() -> [f32; 3] {
    let (values, columns, x) = sparse();
    [0, 1, 2].map(|row| {
        let place = |column: i64| usize::try_from(column.rem_euclid(4)).unwrap();
        (0..2).map(|j| 2.0 * values[[row, j]] * x[place(columns[[row, j]])].tanh()).sum()
    })
}

#[test]
fn their_gradients_are_those_of_differences() {
    let (values, columns, x) = sparse();
    let columns = constant(columns);
    let dot = |v: &[Variable]| sparse_dot(&v[0], &columns, &v[1]).sqr();
    verify_grad(dot, &[Value::from(values), Value::from(x)], 1e-7).unwrap();
    // The polynomial is of float32.
    let (terms, x) = (vector::<f32>("terms"), vector::<f32>("x"));
    let cost = polynomial(&terms, &x).sum(..);
    let slopes = grad(&cost, [&terms, &x]).unwrap();
    let f = function([&terms, &x]).output(&slopes[0]).output(&slopes[1]).compile().unwrap();
    let got = f.call(args![vec![1f32, 2.0, 3.0], vec![2f32, -1.0]]).unwrap();
    assert_close(&got[0].to_vec::<f32>().unwrap(), &[2.0, 1.0, 5.0]);
    assert_close(&got[1].to_vec::<f32>().unwrap(), &[14.0, -4.0]);
}

#[test]
fn an_index_out_of_range_is_an_error_and_updates_nothing() {
    let (values, mut columns, x) = sparse();
    columns[[1, 0]] = 4;
    let f = model();
    for mut sim in simulators(&f) {
        let error = sim.call(args![values.clone(), columns.clone(), x.clone()]).unwrap_err().to_string();
        assert!(error.contains("out of range"), "{error}");
        assert_eq!(sim.get_value("total").unwrap().item::<f32>().unwrap(), 0.0);
    }
    // Without an update, the op's own Nest reports the error.
    let inputs = (matrix::<f32>("values"), matrix::<i64>("columns"), vector::<f32>("x"));
    let product = sparse_dot(&inputs.0, &inputs.1, &inputs.2);
    let f = function([&inputs.0, &inputs.1, &inputs.2]).output(product).compile().unwrap();
    for mut sim in simulators(&f) {
        let error = sim.call(args![values.clone(), columns.clone(), x.clone()]).unwrap_err().to_string();
        assert!(error.contains("out of range"), "{error}");
    }
}

#[test]
fn they_are_saved_and_loaded_with_a_registry() {
    let f = model();
    let (values, columns, x) = sparse();
    let given = || args![values.clone(), columns.clone(), x.clone()];
    let want = f.fork().unwrap().call_reference(given()).unwrap()[0].to_vec::<f32>().unwrap();
    let bytes = Bundle::new().with("model", &f).to_bytes_with(&registry()).unwrap();
    let back = Bundle::from_bytes_with(&bytes, &registry()).unwrap();
    let mut sim = back["model"].optimize(Host::threads(1).strict()).unwrap();
    assert_close(&sim.call(given()).unwrap()[0].to_vec::<f32>().unwrap(), &want);
}
