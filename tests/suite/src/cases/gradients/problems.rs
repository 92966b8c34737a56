//! Differentiable expressions, one for each op.

use crate::cases::{apply, rows};
use crate::data::{below, uniform};
use workalike::kernels::ops::{ScalarOp, TypeRule};
use workalike::ops::{Ix, range};
use workalike::prelude::*;
use workalike::{Result, idx};

/// A differentiable expression, with values of its inputs away from kinks.
pub(super) struct Problem {
    pub(super) name: String,
    pub(super) inputs: Vec<(Variable, Value)>,
    pub(super) output: Variable,
}

/// Numbers away from 0 and from each other, so that a maximum does not change under a small step.
fn apart(len: usize, seed: u32) -> Vec<f64> {
    let signs = uniform(len, seed);
    let mut order: Vec<usize> = (0..len).collect();
    let keys = uniform(len, seed + 1);
    order.sort_by(|&a, &b| keys[a].total_cmp(&keys[b]));
    order.iter().enumerate().map(|(i, &o)| (0.2 + 1.8 * o as f64 / len as f64).copysign(signs[i])).collect()
}

fn array(shape: &[usize], numbers: Vec<f64>) -> Result<(Variable, Value)> {
    let axes: Vec<Option<usize>> = shape.iter().map(|&e| (e == 1).then_some(1)).collect();
    Ok((tensor::<f64>("x", axes), Value::from_vec(shape, numbers)?))
}

/// Arguments for which an op is defined. The ranges tried are: all numbers, above 0, above 1, within (0, 1),
/// within (-1, 1), below 0.
fn inside(op: ScalarOp, shapes: &[Vec<usize>]) -> Result<Vec<Value>> {
    let ranges: [fn(f64) -> f64; 6] =
        [|v| v, |v| v.abs(), |v| v.abs() + 1.1, |v| v.abs() / 2.2, |v| v / 2.2, |v| -v.abs()];
    for range in ranges {
        let mut values = Vec::new();
        for (position, shape) in shapes.iter().enumerate() {
            let numbers = apart(shape.iter().product(), 10 + 10 * position as u32);
            // No two arguments are equal.
            let numbers: Vec<f64> =
                numbers.into_iter().map(|v| range(0.7 * v) + 0.031 * position as f64).collect();
            values.push(Value::from_vec(shape, numbers)?);
        }
        let inputs: Vec<Variable> = shapes
            .iter()
            .enumerate()
            .map(|(i, s)| {
                tensor::<f64>(&format!("x{i}"), s.iter().map(|&e| (e == 1).then_some(1)).collect::<Vec<_>>())
            })
            .collect();
        let f = function(inputs.iter()).output(apply(op, &inputs)).compile()?;
        let given = values.iter().fold(Args::new(), |args, value| args.with(value));
        if f.call_reference(given)?[0].to_f64s().iter().all(|v| v.is_finite()) {
            return Ok(values);
        }
    }
    Err(workalike::Error::Internal(format!("nowhere is {} defined", op.row().name)))
}

/// The elementwise ops that have a gradient.
fn elementwise() -> Result<Vec<Problem>> {
    let mut list = Vec::new();
    // Special functions of several arguments have no gradient with respect to their orders.
    let differentiable = |op: &ScalarOp| {
        let row = op.row();
        row.derivative.is_some() && !op.is_host_only() && row.types != TypeRule::Draw
    };
    for op in ScalarOp::all().filter(differentiable) {
        let arity = op.row().arity;
        if op == rows::WHERE {
            let choice = constant(below(2, DType::Bool, &[3, 4], 9)?);
            let (x, y) = (array(&[3, 4], apart(12, 20))?, array(&[3, 4], apart(12, 30))?);
            let output = apply(op, &[choice, x.0.clone(), y.0.clone()]);
            list.push(Problem { name: op.row().name.into(), inputs: vec![x, y], output });
            continue;
        }
        // The second argument broadcasts, so that its gradient is summed.
        let shapes: Vec<Vec<usize>> =
            (0..arity).map(|position| vec![if position == 1 { 1 } else { 3 }, 4]).collect();
        let (mut inputs, mut args) = (Vec::new(), Vec::new());
        for (position, value) in inside(op, &shapes)?.into_iter().enumerate() {
            // The result does not depend smoothly on these arguments.
            if [rows::COPYSIGN, rows::NEXTAFTER].contains(&op) && position == 1 {
                args.push(constant(value));
                continue;
            }
            let axes: Vec<Option<usize>> = value.shape().iter().map(|&e| (e == 1).then_some(1)).collect();
            let input = tensor::<f64>("x", axes);
            args.push(input.clone());
            inputs.push((input, value));
        }
        list.push(Problem { name: op.row().name.into(), inputs, output: apply(op, &args) });
    }
    Ok(list)
}

/// All problems.
pub(super) fn problems() -> Result<Vec<Problem>> {
    let mut list = elementwise()?;
    let mut one = |name: &str, shape: &[usize], f: &dyn Fn(&Variable) -> Variable| -> Result<()> {
        let input = array(shape, apart(shape.iter().product(), 30))?;
        let output = f(&input.0);
        list.push(Problem { name: name.into(), inputs: vec![input], output });
        Ok(())
    };
    one("sum_0", &[3, 4], &|x| x.sum(0))?;
    one("sum_all", &[3, 4], &|x| x.sum(..))?;
    one("mean_1", &[3, 4], &|x| x.mean(1))?;
    one("max_0", &[3, 4], &|x| x.max(0))?;
    one("min_all", &[3, 4], &|x| x.min(..))?;
    one("prod_1", &[3, 4], &|x| x.prod(1))?;
    one("prod_with_zeros", &[4, 4], &|x| {
        (x * constant(array![
            [1.0, 0.0, 1.0, 1.0],
            [0.0, 1.0, 1.0, 0.0],
            [1.0, 1.0, 1.0, 1.0],
            [1.0, 1.0, 1.0, 0.0]
        ]))
        .prod(1)
    })?;
    one("var_0", &[3, 4], &|x| x.var(over(0).ddof(1).keepdims()))?;
    one("std_all", &[3, 4], &|x| x.std(..))?;
    one("logsumexp_1", &[3, 4], &|x| x.logsumexp(1))?;
    one("norm_2", &[3, 4], &|x| x.norm(2.0, 0))?;
    one("norm_3", &[3, 4], &|x| x.norm(3.0, ..))?;
    one("ptp", &[3, 4], &|x| x.ptp(1))?;
    one("nanmean", &[3, 4], &|x| where_(constant(array![true, false, true, true]), x, f64::NAN).nanmean(1))?;
    one("cumsum_0", &[3, 4], &|x| x.cumsum(0))?;
    one("cumsum_all", &[3, 4], &|x| x.cumsum(..))?;
    one("cumprod_1", &[3, 4], &|x| x.cumprod(1))?;
    // Subtracts the value at the marked positions, so that the elements there are 0 and depend on x.
    let zeros = constant(array![
        [false, false, true, false],
        [false, true, false, false],
        [true, false, true, false],
        [false, false, false, true]
    ]);
    let here = constant(Value::from_vec(&[4, 4], apart(16, 30))?);
    one("cumprod_with_zeros", &[4, 4], &|x| (x - where_(&zeros, &here, 0.0)).cumprod(1))?;
    one("cumprod_with_zeros_0", &[4, 4], &|x| (x - where_(&zeros, &here, 0.0)).cumprod(0))?;
    one("cummax_1", &[3, 5], &|x| x.cummax(1))?;
    one("cummin_0", &[5, 3], &|x| x.cummin(0))?;
    one("sort_1", &[3, 5], &|x| x.sort(1))?;
    one("sort_all", &[2, 4], &|x| x.sort(..))?;
    one("topk_0", &[5, 3], &|x| x.topk(2, 0))?;
    one("median_0", &[4, 3], &|x| x.median(0))?;
    one("quantile_all", &[3, 4], &|x| x.quantile(0.3, ..))?;
    one("nanmedian_1", &[3, 4], &|x| {
        where_(constant(array![true, false, true, true]), x, f64::NAN).nanmedian(1)
    })?;
    one("concatenate", &[3, 4], &|x| workalike::ops::concatenate([x.sqr(), x.index(idx![0..2])], 0))?;
    one("stack", &[3, 4], &|x| workalike::ops::stack([x.sqr(), x.flip(0)], 1))?;
    one("tile", &[3, 4], &|x| x.tile([2, 2]))?;
    one("repeat", &[3, 4], &|x| x.repeat(2, 1))?;
    one("roll", &[3, 4], &|x| x.roll(1i64, 1).sqr())?;
    one("pad_reflect", &[3, 4], &|x| x.pad([[1, 1], [2, 2]], workalike::ops::Pad::Reflect))?;
    one("pad_mean", &[3, 4], &|x| x.pad([[1, 1], [2, 2]], workalike::ops::Pad::Mean))?;
    one("sliding_windows", &[5, 6], &|x| x.sliding_windows([2, 3], [2, 1], [1, 2]).sqr())?;
    one("max_pool", &[4, 6], &|x| x.max_pool([2, 3]))?;
    one("max_pool_overlapping", &[5, 5], &|x| {
        x.max_pool(Pool::new([3, 2]).stride([2, 1]).padding([(1, 1), (0, 1)]))
    })?;
    one("max_pool_partial", &[2, 5, 4], &|x| x.max_pool(Pool::new([2, 3]).ceil_mode(true)))?;
    one("average_pool", &[5, 5], &|x| {
        x.average_pool(Pool::new([2, 3]).padding([(1, 0), (1, 1)]).ceil_mode(true).count_include_pad(false))
            .sqr()
    })?;
    one("sum_pool", &[7], &|x| x.sum_pool(Pool::new([3]).stride([2])).sqr())?;
    one("diagonal", &[3, 4], &|x| x.diagonal(1, 0, 1))?;
    one("diag", &[4], &|x| x.diag(1))?;
    one("take_1", &[3, 4], &|x| x.take(constant(vec![3i64, 0, 3]), 1))?;
    one("tril", &[3, 4], &|x| x.tril(0).sqr())?;
    one("diff", &[3, 4], &|x| x.diff(1, 1).sqr())?;
    one("clipped_gradient", &[3, 4], &|x| grad_clip(x, -1e9, 1e9).sqr())?;
    one("transposed", &[3, 4], &|x| x.t() * 2.0)?;
    one("new_axes", &[3, 4], &|x| x.dimshuffle([Some(1), None, Some(0)]))?;
    one("reshape", &[3, 4], &|x| x.reshape([2, -1]))?;
    one("broadcast", &[1, 4], &|x| x.broadcast_to([3, 4]))?;
    one("slice", &[6, 4], &|x| x.index(idx![Ix::from(1..5).step(2), Ix::from(..).step(-1)]))?;
    one("run_time_slice", &[6, 4], &|x| x.index([range(x.extent(1) - 3i64, x.extent(1))]))?;
    one("row", &[6, 4], &|x| x.index(idx![-2]))?;
    one("gather", &[6, 4], &|x| x.index(idx![constant(vec![0i64, 5, 0, -1, 2])]))?;
    one("pairs", &[6, 4], &|x| x.index(idx![constant(vec![0i64, 5, 0]), constant(vec![1i64, -1, 1])]))?;
    one("arrays_apart", &[3, 4, 2], &|x| x.index(idx![[0, 2, 2], .., [1, 0, 0]]).sqr())?;
    one("mask", &[6, 4], &|x| x.index(idx![.., [true, false, true, true]]).sqr())?;
    one("mask_of_elements", &[3, 4], &|x| x.index(idx![x.greater(0.0)]).sqr())?;
    one("set_by_mask", &[3, 4], &|x| x.set_index(idx![x.less(0.0)], x.index(idx![0, 0]).sqr()))?;
    one("set_arrays_apart", &[3, 4, 2], &|x| {
        x.set_index(idx![[0, 2], NEWAXIS, .., [1, 0]], x.index(idx![0, .., 1]).sqr())
    })?;
    one("inc_after_slice", &[3, 4, 2], &|x| {
        x.inc_index(idx![1.., [1, 1, 0]], x.index(idx![1.., [0, 3, 3]]).sqr())
    })?;
    one("max_index", &[6, 4], &|x| x.max_index(idx![[0, 1, 1, 5]], x.index(idx![1..5]) * 1.5))?;
    one("min_index", &[6, 4], &|x| x.min_index(idx![.., [0, 3]], x.index(idx![.., 1..3]) * 1.5))?;
    one("mul_index", &[6, 4], &|x| x.mul_index(idx![[0, 1, 1, 0]], x.index(idx![1..5]).sqr()))?;
    one("mul_index_by_zeros", &[6, 4], &|x| {
        let zeros = constant(array![[0., 1., 1., 0.], [1., 1., 0., 0.], [1., 0., 1., 1.]]);
        x.mul_index(idx![[1, 1, 1]], x.index(idx![3..]) * zeros)
    })?;
    one("segment_mean", &[6, 4], &|x| x.sqr().segment_mean(constant(vec![0i64, 2, 2, 1, 0, 2]), 3))?;
    one("segment_max", &[6, 4], &|x| (x * 2.0).segment_max(constant(vec![0i64, 2, 2, 1, 0, 2]), 3))?;
    one("segment_prod", &[6, 4], &|x| x.segment_prod(constant(vec![0i64, 2, 2, 1, 0, 2]), 3))?;
    one("take_along_axis", &[3, 4], &|x| {
        x.take_along_axis(constant(array![[0i64, 0], [3, 1], [2, -4]]), 1).sqr()
    })?;
    one("put_along_axis", &[3, 4], &|x| {
        x.put_along_axis(constant(array![[0i64, 2], [3, 1], [2, 1]]), x.index(idx![.., 1..3]).sqr(), 1)
    })?;
    one("choose", &[3, 4], &|x| {
        constant(array![0i64, 1, 2, 1]).choose([x.sqr(), x.exp(), x * 3.0], workalike::ops::Mode::Raise)
    })?;
    one("bincount_weights", &[6], &|x| {
        constant(vec![0i64, 2, 2, 1, 0, 4]).bincount(Some(&x.sqr()), workalike::ops::Bins::AtLeast(0))
    })?;
    one("set_part", &[6, 4], &|x| x.set_index(idx![1..3], x.index(idx![0]).sqr()))?;
    one("inc_part", &[6, 4], &|x| x.inc_index(idx![1..3], x.index(idx![3..5]).sqr()))?;
    one("scatter_add", &[6, 4], &|x| {
        x.sqr().inc_index(idx![constant(vec![0i64, 0, 3])], x.index(idx![1..4]))
    })?;
    one("scatter_set", &[6, 4], &|x| x.sqr().set_index(idx![constant(vec![0i64, 4])], x.index(idx![1..3])))?;
    one("softmax_1", &[3, 4], &|x| softmax(x, 1))?;
    one("softmax_0", &[3, 4], &|x| softmax(x, 0))?;
    one("log_softmax_1", &[3, 4], &|x| log_softmax(x, -1))?;
    one("log_of_softmax", &[3, 4], &|x| softmax(x, -1).log())?;
    one("crossentropy", &[3, 4], &|x| categorical_crossentropy(softmax(x, -1), constant(vec![2i64, 0, 3])))?;
    one("crossentropy_distributions", &[2, 2], &|x| categorical_crossentropy(softmax(x, -1), rows_of_two()))?;
    one("through_f32", &[3, 4], &|x| x.sqr().cast(DType::F64))?;
    one("used_twice", &[3, 4], &|x| x * x.exp() + x.sum(0))?;
    one("layer_norm", &[3, 4], &|x| {
        let centered = x - x.mean(1).expand_dims(1);
        let variance = centered.sqr().mean(1).expand_dims(1);
        &centered / (&variance + 1e-5).sqrt()
    })?;
    let shapes: [(&str, &[usize], &[usize]); 4] = [
        ("dot_matrices", &[3, 4], &[4, 2]),
        ("dot_matrix_vector", &[3, 4], &[4]),
        ("dot_vector_matrix", &[4], &[4, 2]),
        ("dot_vectors", &[4], &[4]),
    ];
    for (name, a, b) in shapes {
        let inputs = vec![array(a, apart(a.iter().product(), 40))?, array(b, apart(b.iter().product(), 50))?];
        let output = inputs[0].0.dot(&inputs[1].0);
        list.push(Problem { name: name.into(), inputs, output });
    }
    list.extend(products()?);
    Ok(list)
}

/// Products of several tensors.
fn products() -> Result<Vec<Problem>> {
    type Of = fn(&[Variable]) -> Variable;
    let list: [(&str, &[&[usize]], Of); 25] = [
        ("matmul", &[&[2, 3, 4], &[2, 4, 2]], |x| x[0].matmul(&x[1])),
        ("matmul_shared", &[&[2, 3, 4], &[4, 2]], |x| x[0].matmul(&x[1])),
        ("matmul_shared_left", &[&[3, 4], &[2, 4, 2]], |x| x[0].matmul(&x[1])),
        ("matmul_broadcast", &[&[2, 1, 3, 4], &[3, 4, 2]], |x| x[0].matmul(&x[1])),
        ("matmul_both_broadcast", &[&[2, 1, 3, 2], &[1, 3, 2, 2]], |x| x[0].matmul(&x[1])),
        ("matmul_one", &[&[1, 3, 4], &[1, 4, 2]], |x| x[0].matmul(&x[1])),
        ("matmul_vector", &[&[4], &[2, 4, 3]], |x| x[0].matmul(&x[1])),
        ("matmul_with_itself", &[&[2, 3, 4]], |x| x[0].matmul(x[0].swapaxes(1, 2))),
        ("dot_tensors", &[&[2, 3], &[2, 3, 2]], |x| x[0].dot(&x[1])),
        ("tensordot", &[&[2, 3, 4], &[3, 2, 5]], |x| x[0].tensordot(&x[1], ([1, 0], [0, 1]))),
        ("einsum_two", &[&[2, 3, 4], &[3, 4, 2]], |x| einsum("ajk,jkb->ba", x)),
        ("einsum_batch", &[&[2, 3, 4], &[3, 5, 2]], |x| einsum("abk,bna->nab", x)),
        ("einsum_three", &[&[2, 3], &[3, 4], &[4, 2]], |x| einsum("ij,jk,kl->il", x)),
        ("einsum_all", &[&[2, 3], &[3, 2]], |x| einsum("ij,ki->", x)),
        ("einsum_diagonal", &[&[3, 3], &[3, 2]], |x| einsum("ii,ij->ij", x)),
        ("inner", &[&[2, 3], &[4, 3]], |x| x[0].inner(&x[1])),
        ("outer", &[&[3], &[2, 2]], |x| x[0].outer(&x[1])),
        ("kron", &[&[2, 3], &[3, 2]], |x| x[0].kron(&x[1])),
        ("vecdot", &[&[2, 3], &[3]], |x| x[0].vecdot(&x[1], -1)),
        ("cross", &[&[2, 3], &[3]], |x| x[0].cross(&x[1], -1)),
        ("conv1d", &[&[2, 4, 7], &[2, 2, 2]], |x| {
            x[0].conv1d(&x[1], Conv::default().groups(2).dilation([2]).stride([2]).padding([(1, 0)]))
        }),
        ("conv2d", &[&[2, 2, 4, 5], &[3, 2, 3, 2]], |x| x[0].conv2d(&x[1], Conv::default())),
        ("conv2d_same", &[&[1, 2, 4, 3], &[2, 2, 3, 2]], |x| {
            x[0].conv2d(
                x[1].specify_shape([None, None, Some(3), Some(2)]),
                Conv::default().padding(Padding::Same),
            )
        }),
        ("conv3d_depthwise", &[&[1, 2, 3, 3, 2], &[2, 1, 2, 2, 2]], |x| {
            x[0].conv3d(&x[1], Conv::default().groups(2).padding([(1, 0), (0, 0), (0, 1)]))
        }),
        ("conv_transpose2d", &[&[1, 2, 2, 3], &[2, 3, 2, 3]], |x| {
            x[0].conv_transpose2d(
                &x[1],
                Conv::default().stride([2, 1]).padding([(0, 1), (1, 1)]).output_padding([1, 0]),
            )
        }),
    ];
    let problem = |(name, shapes, of): &(&str, &[&[usize]], Of)| -> Result<Problem> {
        let numbers =
            |(i, shape): (usize, &&[usize])| array(shape, apart(shape.iter().product(), 70 + 10 * i as u32));
        let inputs: Vec<_> = shapes.iter().enumerate().map(numbers).collect::<Result<_>>()?;
        let variables: Vec<Variable> = inputs.iter().map(|i| i.0.clone()).collect();
        Ok(Problem { name: (*name).into(), inputs, output: of(&variables) })
    };
    list.iter().map(problem).collect()
}

/// Two distributions over two classes.
fn rows_of_two() -> Variable {
    constant(vec![0.25, 0.75, 0.5, 0.5]).reshape([2, 2])
}
