//! Every error of an ill-typed expression names the source line of the user, and so does every node, for all
//! methods and functions that build expressions. A new one needs an entry here.

use std::collections::HashSet;
use workalike::grad::{Grad, hessian, hvp, jacobian, jvp, vjp};
use workalike::graph::{Kind, Operand};
use workalike::kernels::ops as rows;
use workalike::ops::*;
use workalike::prelude::*;
use workalike::schedules;

/// An expression, and its line.
struct Entry {
    name: &'static str,
    line: u32,
    made: Variable,
    ill_typed: bool,
}

fn first(list: Vec<Variable>) -> Variable {
    list.into_iter().next().unwrap()
}

fn or_poison(result: workalike::Result<Vec<Variable>>) -> Variable {
    result.map_or_else(Variable::poison, first)
}

/// Methods of one argument: none of them refuses a float.
macro_rules! unary {
    ($list:ident, $x:expr; $($name:ident),*) => { $(
        $list.push(Entry { name: stringify!($name), line: line!(), made: $x.$name(), ill_typed: false });
    )* };
}

#[rustfmt::skip]
fn table() -> Vec<Entry> {
    let mut list = vec![];
    macro_rules! ill {
        ($name:ident, $made:expr) => {
            list.push(Entry { name: stringify!($name), line: line!(), made: $made, ill_typed: true })
        };
    }
    macro_rules! well {
        ($name:ident, $made:expr) => {
            list.push(Entry { name: stringify!($name), line: line!(), made: $made, ill_typed: false })
        };
    }
    let x = tensor::<f32>("x", [Some(3), Some(4)]);
    let z = matrix::<Complex<f32>>("z");
    let y = tensor::<f32>("y", [Some(5), Some(6)]);
    let (i, f, c) = (vector::<i64>("i"), vector::<f32>("f"), tensor3::<f32>("c"));
    let s = shared("s", vec![1f32, 2.0]);
    unary!(list, x; exp, log, log1p, expm1, tanh, sigmoid, sqr, sqrt, sin, cos, not, log2, log10, exp2, log1mexp, abs, sign, reciprocal);
    unary!(list, x; cbrt, floor, ceil, trunc, rint, round_half_away, tan, arcsin, arccos, arctan, sinh, cosh, arcsinh, arccosh, arctanh);
    unary!(list, x; deg2rad, rad2deg, softplus, softsign, hard_sigmoid, isnan, isinf, isfinite, signbit, erf, erfc, erfcx, erfinv);
    unary!(list, x; erfcinv, ndtri, gamma, gammaln, digamma, trigamma, i0, i1, j0, j1, xlogx, round, flatten, shape, t);
    unary!(list, x; flatnonzero, argwhere, rsqrt, relu, gelu, silu);
    // Operators.
    ill!(add, &x + &y);
    ill!(sub, &x - &y);
    ill!(mul, x.clone() * y.clone());
    ill!(div, &s / &i.dot(&i).dot(&f).dot(&y));
    ill!(rem, &x % &y);
    ill!(bitand, &x & 1);
    ill!(shl, &x << 1);
    ill!(shr, &x >> 1);
    ill!(neg, -x.greater(0.0));
    ill!(not, !&x);
    ill!(add, &scalar::<i8>("b") + 1000);
    ill!(rem, 1000 % &scalar::<i8>("b"));
    well!(add, 1.0 + &x);
    well!(mul, 2 * &s);
    // Elementwise methods.
    ill!(invert, x.invert());
    ill!(maximum, x.maximum(&y));
    ill!(minimum, x.minimum(&y));
    ill!(equal, x.equal(&y));
    ill!(not_equal, x.not_equal(&y));
    ill!(less, x.less(&y));
    ill!(less_equal, x.less_equal(&y));
    ill!(greater, x.greater(&y));
    ill!(greater_equal, x.greater_equal(&y));
    ill!(and, x.and(&y));
    ill!(or, x.or(&y));
    ill!(xor, x.xor(&y));
    ill!(plus, x.plus(&y));
    ill!(minus, x.minus(&y));
    ill!(times, x.times(&y));
    ill!(over, x.over(&y));
    ill!(floor_divide, x.floor_divide(&y));
    ill!(remainder, x.remainder(&y));
    ill!(fmod, x.fmod(&y));
    ill!(pow, x.pow(&y));
    ill!(hypot, x.hypot(&y));
    ill!(arctan2, x.arctan2(&y));
    ill!(logaddexp, x.logaddexp(&y));
    ill!(fmax, x.fmax(&y));
    ill!(fmin, x.fmin(&y));
    ill!(bitwise_and, x.bitwise_and(&x));
    ill!(bitwise_or, x.bitwise_or(&x));
    ill!(bitwise_xor, x.bitwise_xor(&x));
    ill!(left_shift, x.left_shift(&x));
    ill!(right_shift, x.right_shift(&x));
    ill!(copysign, x.copysign(&y));
    ill!(nextafter, x.nextafter(&y));
    ill!(xlogy, x.xlogy(&y));
    ill!(xlog1py, x.xlog1py(&y));
    ill!(clip, x.clip(&y, 1.0));
    ill!(isclose, x.isclose(&y, 0.1, 0.1));
    ill!(elementwise, x.elementwise(rows::ADD));
    ill!(elementwise, elementwise(rows::EXP, [&x, &y]).unwrap_or_else(Variable::poison));
    ill!(where_, where_(x.greater(0.0), &x, &y));
    for (name, made) in [("gammainc", gammainc(&x, &y)), ("gammaincc", gammaincc(&x, &y)), ("betainc", betainc(&x, &y, 1.0)), ("polygamma", polygamma(&x, &y)), ("jv", jv(&x, &y)), ("iv", iv(&x, &y)), ("ive", ive(&x, &y)), ("kve", kve(&x, &y)), ("owens_t", owens_t(&x, &y)), ("hyp2f1", hyp2f1(&x, &y, 1.0, 1.0))] { list.push(Entry { name, line: line!(), made, ill_typed: true }); }
    // Reductions.
    ill!(sum, x.sum(9));
    ill!(prod, x.prod(9));
    ill!(prod_without_zeros, x.prod_without_zeros(9));
    ill!(mean, x.mean(9));
    ill!(var, x.var(9));
    ill!(std, x.std(9));
    ill!(logsumexp, x.logsumexp(9));
    ill!(norm, x.norm(2.0, 9));
    ill!(max, x.max(9));
    ill!(min, x.min(9));
    ill!(ptp, x.ptp(9));
    ill!(argmax, x.argmax(9));
    ill!(argmin, x.argmin(9));
    ill!(all, x.all(9));
    ill!(any, x.any(9));
    ill!(count_nonzero, x.count_nonzero(9));
    ill!(nansum, x.nansum(9));
    ill!(nanprod, x.nanprod(9));
    ill!(nanmax, x.nanmax(9));
    ill!(nanmin, x.nanmin(9));
    ill!(nanargmax, x.nanargmax(9));
    ill!(nanargmin, x.nanargmin(9));
    ill!(nanmean, x.nanmean(9));
    ill!(nanvar, x.nanvar(9));
    ill!(nanstd, x.nanstd(9));
    ill!(sum, x.sum(over(0).acc_dtype(DType::I64)));
    well!(norm, x.norm(3.0, 0));
    well!(nanvar, x.nanvar(0));
    well!(real, z.real());
    well!(imag, (&z + &z).imag());
    well!(conj, (&z * &x).conj());
    well!(angle, z.pow(2.5).angle());
    // Running folds and sorting.
    ill!(cumsum, x.cumsum(9));
    ill!(cumprod, x.cumprod(9));
    ill!(cummax, x.cummax(9));
    ill!(cummin, c.cummin([0, 1]));
    ill!(sort, x.sort(9));
    ill!(argsort, x.argsort(9));
    ill!(topk, x.topk(2, 9));
    ill!(argtopk, x.argtopk(9, 0));
    ill!(sort_both, x.sort_both(9)[1].clone());
    ill!(bitwise_count, x.bitwise_count());
    ill!(topk_both, x.topk_both(9, 0)[1].clone());
    ill!(median, x.median(9));
    ill!(quantile, x.quantile(2.0, 0));
    ill!(nanmedian, x.nanmedian(9));
    ill!(nanquantile, x.nanquantile(0.5, 9));
    well!(nanquantile, x.nanquantile(0.5, 0));
    // Shapes.
    ill!(transpose, x.transpose([0, 5]));
    ill!(moveaxis, x.moveaxis(0, 9));
    ill!(swapaxes, x.swapaxes(0, 9));
    ill!(squeeze, x.squeeze(0));
    ill!(specify_shape, x.specify_shape([Some(7), Some(4)]));
    ill!(tile, x.tile([usize::MAX]));
    ill!(repeat, x.repeat(2, 9));
    ill!(repeat, x.repeat(-2, 0));
    ill!(repeat, x.repeat(0.5, 0));
    ill!(roll, x.roll(1, 9));
    ill!(roll, x.roll(1, 5));
    ill!(flip, x.flip(9));
    ill!(diff, x.diff(1, 9));
    ill!(tril, f.tril(0));
    ill!(triu, f.triu(0));
    ill!(diagonal, x.diagonal(0, 1, 1));
    ill!(diag, c.sum(0).sum(0).sum(0).diag(0));
    ill!(trace, f.trace(0));
    ill!(fill_diagonal, f.fill_diagonal(1.0));
    ill!(one_hot, f.one_hot(3, DType::F32));
    ill!(pad, x.pad([[1, 2]], Pad::Edge));
    ill!(split, x.split([1, 1], 9)[0].clone());
    ill!(split, x.split([1, 1], 0)[0].clone());
    well!(roll, x.roll(i.sum(..), 0));
    well!(diag, f.diag(1));
    well!(pad, c.pad([[1, 1], [0, 0], [2, 0]], Pad::Reflect));
    well!(cast, x.cast(DType::F64));
    ill!(dot, x.dot(&y));
    ill!(dimshuffle, x.dimshuffle([Some(9)]));
    ill!(expand_dims, x.expand_dims(9));
    ill!(reshape, x.reshape([5, 5]));
    ill!(reshape, x.reshape([-2]));
    ill!(reshape, x.reshape(vec![Operand::Float(0.5)]));
    ill!(reshape, x.reshape(vec![Operand::Variable(f.clone())]));
    ill!(broadcast_to, x.broadcast_to([7]));
    ill!(extent, x.extent(9));
    // Indexing.
    ill!(index, x.index(idx![0, 0, 0]));
    ill!(index, x.index(idx![7]));
    ill!(index, x.index(idx![&f]));
    ill!(index, x.index(idx![usize::MAX]));
    ill!(index, x.index(idx![range(0.5, 1)]));
    ill!(index, x.index(idx![&f.greater(0.0), &i, &y.cast(DType::I64)]));
    ill!(take, x.take(&f, 0));
    ill!(set_index, x.set_index(idx![0], &y));
    ill!(inc_index, x.inc_index(idx![&f], &y));
    ill!(mul_index, x.mul_index(idx![0, 0, 0], 1.0));
    ill!(max_index, x.max_index(idx![0], &y));
    ill!(min_index, x.min_index(idx![0], &y));
    ill!(take_along_axis, x.take_along_axis(&i, 0));
    ill!(put_along_axis, x.put_along_axis(&i, 1.0, 9));
    ill!(add_along_axis, x.add_along_axis(&i, 1.0, 0));
    well!(index, c.index(idx![&i, .., &i]));
    well!(set_index, x.set_index(idx![&f.greater(0.0)], 1.0));
    // Positions, searching, segments.
    ill!(choose, f.choose([x.clone()], Mode::Raise));
    ill!(take_mode, x.take_mode(&f, 0, Mode::Wrap));
    ill!(compress, x.compress(&x, 0));
    ill!(extract, x.extract(&y));
    ill!(nonzero, first(x.sum(..).nonzero()));
    ill!(searchsorted, x.searchsorted(&f, Side::Left));
    ill!(searchsorted_by, x.searchsorted_by(&f, Side::Left, &i));
    ill!(digitize, x.digitize(&x, false));
    ill!(bincount, f.bincount(None, Bins::AtLeast(1)));
    ill!(segment_sum, x.segment_sum(&f, 3));
    ill!(segment_prod, x.segment_prod(&f, 3));
    ill!(segment_max, x.segment_max(&f, 3));
    ill!(segment_min, x.segment_min(&f, 3));
    ill!(segment_mean, x.segment_mean(&f, 3));
    well!(segment_mean, x.segment_mean(&i, 3));
    well!(unique, x.unique().values);
    ill!(assert, x.assert(constant(vec![false]), "m"));
    ill!(in_bounds, x.in_bounds());
    well!(print, x.print("x"));
    well!(transfer, x.transfer("dev1"));
    ill!(all_reduce, z.all_reduce(Reduction::Max, "g"));
    ill!(all_reduce, x.all_reduce(Reduction::Sum, ""));
    ill!(all_gather, x.all_gather(9, "g"));
    ill!(reduce_scatter, x.reduce_scatter(Reduction::Sum, 9, "g"));
    ill!(own_part, x.own_part(9, "g"));
    ill!(broadcast_from, x.broadcast_from(0, ""));
    ill!(collective_permute, x.collective_permute(1, ""));
    ill!(group_rank, group_rank(""));
    ill!(group_size, group_size(""));
    well!(all_reduce, x.all_reduce(Reduction::Mean, "g"));
    // Products.
    ill!(matmul, x.matmul(&y));
    ill!(tensordot, x.tensordot(&y, 1));
    ill!(tensordot, x.tensordot(&y, 9));
    ill!(outer, x.outer(y.sum(9)));
    ill!(inner, x.inner(&y));
    ill!(kron, x.kron(f.sum(9)));
    ill!(vdot, x.vdot(&y));
    ill!(vecdot, x.vecdot(&y, 9));
    ill!(cross, x.cross(&y, -1));
    well!(cross, f.cross(&f, 0));
    // Convolutions and pooling.
    ill!(conv1d, c.conv1d(&x, Conv::default()));
    ill!(conv2d, x.conv2d(&y, Conv::default()));
    ill!(conv2d, c.expand_dims(0).conv2d(c.expand_dims(0), Conv::default().groups(0)));
    ill!(conv3d, c.conv3d(&c, Conv::default()));
    ill!(conv_transpose1d, c.conv_transpose1d(&c, Conv::default().output_padding([1])));
    ill!(conv_transpose2d, x.conv_transpose2d(&y, Conv::default()));
    ill!(conv_transpose3d, c.conv_transpose3d(&c, Conv::default()));
    ill!(sliding_windows, x.sliding_windows([9], [1], [1]));
    ill!(max_pool, x.max_pool([9, 9]));
    ill!(max_pool, x.max_pool(Pool::new([2, 2]).padding([(2, 0), (0, 0)])));
    ill!(average_pool, x.average_pool([9, 9]));
    ill!(sum_pool, f.sum_pool([1, 1]));
    well!(conv1d, c.conv1d(&c, Conv::default().flip_filters(true).groups(2)));
    well!(conv_transpose1d, c.conv_transpose1d(&c, Conv::default().stride([2])));
    well!(max_pool, x.max_pool(Pool::new([2, 2]).padding([(1, 1), (0, 0)])));
    well!(average_pool, c.average_pool(Pool::new([2, 3]).padding([(1, 0), (0, 2)]).ceil_mode(true).count_include_pad(false)));
    // Functions.
    ill!(concatenate, concatenate([&x, &y], 0));
    ill!(concatenate, concatenate([&x, &x], 9));
    ill!(concatenate, concatenate([] as [&Variable; 0], 0));
    ill!(concatenate, concatenate([&x, &x].iter().map(|x| x.sum(9)), 0));
    ill!(stack, stack([&x, &y], 0));
    ill!(stack, stack([&x, &x], 9));
    ill!(einsum, einsum("ij,jk->iz", [&x, &y]));
    ill!(einsum, einsum("ij,jk->ik", [&x, &y]));
    ill!(try_einsum, try_einsum("ij,jk->ik", [&x, &y]).unwrap_or_else(Variable::poison));
    ill!(multi_dot, multi_dot([&x]));
    ill!(multi_dot, multi_dot([&x, &y, &x]));
    ill!(try_multi_dot, try_multi_dot([&x, &y]).unwrap_or_else(Variable::poison));
    ill!(softmax, softmax(&x, 9));
    ill!(log_softmax, log_softmax(&x, 9));
    ill!(categorical_crossentropy, categorical_crossentropy(&x, &f));
    ill!(arange, arange(&x));
    ill!(arange_between, arange_between(&f, 1, 1));
    ill!(eye, eye(&f, 3, 0, DType::F32));
    ill!(tri, tri(&f, 3, 0, DType::F32));
    ill!(full, full([&f], 1.0));
    ill!(full, full([-1], 1.0));
    ill!(full_like, full_like(x.sum(9), 1.0));
    ill!(full_like, full_like(scalar::<i8>("b"), 1000));
    ill!(zeros_like, zeros_like(x.sum(9)));
    ill!(ones_like, ones_like(x.sum(9)));
    ill!(linspace, linspace(&x, &y, 3));
    ill!(meshgrid, first(meshgrid([&x, &y])));
    ill!(unravel_index, first(unravel_index(&x, [3])));
    ill!(unravel_index, first(unravel_index(&i, [1i64 << 40, 1 << 40])));
    ill!(ravel_multi_index, ravel_multi_index([&f], [3], Mode::Clip));
    ill!(eye, eye(-1, 3, 0, DType::F32));
    ill!(cholesky, linalg::cholesky(&i));
    ill!(cholesky_upper, linalg::cholesky_upper(&i));
    ill!(solve, linalg::solve(&i, &x));
    ill!(solve_triangular, linalg::solve_triangular(&i, &x, linalg::SolveTriangular::LOWER));
    ill!(inv, linalg::inv(&i));
    ill!(det, linalg::det(&i));
    ill!(slogdet, linalg::slogdet(&i)[1].clone());
    ill!(fft, fft::fft(x.sum(..)));
    ill!(ifft, fft::ifft(x.sum(..)));
    ill!(rfft, fft::rfft(x.sum(..)));
    ill!(irfft, fft::irfft(x.sum(..)));
    ill!(fftn, fft::fftn(x.sum(..)));
    ill!(ifftn, fft::ifftn(x.sum(..)));
    ill!(rfftn, fft::rfftn(x.sum(..)));
    ill!(irfftn, fft::irfftn(x.sum(..)));
    ill!(irfftn, fft::over([5]).norm(fft::Norm::Ortho).irfft(&x));
    ill!(complex, complex(&z, &x));
    ill!(view_as_real, view_as_real(&x));
    ill!(view_as_complex, view_as_complex(&x));
    ill!(from_polar, from_polar(&z, &x));
    ill!(less, z.less(&x));
    ill!(erf, z.erf());
    ill!(complex, complex(&x, x.sum(9)));
    ill!(fftfreq, fft::fftfreq(&x, 1.0));
    ill!(rfftfreq, fft::rfftfreq(&x, 1.0));
    ill!(try_slogdet, or_poison(linalg::try_slogdet(&i).map(Vec::from)));
    ill!(eye, eye(3, 3, 0.5, DType::F32));
    ill!(arange_between, arange_between(0, 1.5, 0));
    well!(eye, eye(i.sum(..), 3, i.sum(..), DType::F32));
    well!(arange, arange(f.sum(..)));
    well!(arange, arange(2.7));
    ill!(range, match range(0.5, 1) { Ix::Slice { start, .. } => start.unwrap(), _ => x.clone() });
    ill!(consider_constant, consider_constant(x.sum(9)));
    ill!(zero_grad, zero_grad(x.sum(9)));
    ill!(grad_clip, grad_clip(x.sum(9), 0.0, 1.0));
    ill!(grad_scale, grad_scale(x.sum(9), 1.0));
    well!(consider_constant, consider_constant(&x));
    well!(linspace, linspace(f.sum(..), 1.0, 3));
    ill!(draw_uniform, RandomStreams::new(1).draw_uniform::<i64>(&[3]).map_or_else(Variable::poison, constant));
    well!(where_, where_(x.greater(0.0), &x, 1.0));
    ill!(uniform, RandomStreams::new(1).uniform::<i64>([3]));
    ill!(bits, RandomStreams::new(1).bits([usize::MAX]));
    ill!(gamma, RandomStreams::new(1).gamma::<f32>(-1.0, 1.0, [3]));
    ill!(beta, RandomStreams::new(1).beta::<f32>(1.0, &x, [3]));
    ill!(dirichlet, RandomStreams::new(1).dirichlet::<f32>(constant(1f32)));
    ill!(standard_t, RandomStreams::new(1).standard_t::<i8>(1.0, [3]));
    ill!(poisson, RandomStreams::new(1).poisson(-1.0, [3]));
    ill!(binomial, RandomStreams::new(1).binomial(3, 2.0, [3]));
    ill!(multinomial, RandomStreams::new(1).multinomial(3, &i));
    well!(multinomial, RandomStreams::new(1).multinomial(3, &x));
    ill!(from_key, RandomStreams::from_key(&x).bits([3]));
    ill!(split, split(&x, 2));
    ill!(fold_in, fold_in(1, &x));
    // Networks.
    ill!(binary_crossentropy, binary_crossentropy(&i, &f));
    ill!(binary_crossentropy_with_logits, binary_crossentropy_with_logits(&x, &y));
    ill!(categorical_crossentropy_with_logits, categorical_crossentropy_with_logits(&x, &c));
    well!(categorical_crossentropy_with_logits, categorical_crossentropy_with_logits(&x, &i));
    ill!(smooth_labels, smooth_labels(&f, 3, 0.1, DType::F32));
    well!(smooth_labels, smooth_labels(&i, 3, 0.1, DType::F32));
    ill!(huber, huber(&x, &y));
    ill!(dropout, dropout(&i, 0.5, &RandomStreams::new(1)));
    well!(dropout, dropout(&x, 0.5, &RandomStreams::new(1)));
    ill!(layer_norm, layer_norm(&x, &y, &y, 1e-5));
    ill!(train, BatchNormalization::default().train(&f, &f, &f, &s, &s).map_or_else(Variable::poison, |made| made.0));
    ill!(infer, BatchNormalization::default().infer(&x, &x, &f, &f, &f));
    ill!(clip_norm, or_poison(clip_norm([&i], 1.0)));
    ill!(linear, schedules::linear(1.0, &f, 3, 10));
    ill!(cosine, schedules::cosine(&f, 3, 10));
    ill!(exponential_decay, schedules::exponential_decay(&f, 3, 10, 0.5));
    ill!(warm_up, schedules::warm_up(&f, 3, 10));
    ill!(piecewise, schedules::piecewise(&f, 3, [(1, 0.5)]));
    well!(normal, RandomStreams::new(1).normal::<f32>([3]));
    ill!(apply, first(OpFromGraph::new([&f], [f.exp()]).unwrap().apply([&x])));
    ill!(apply, or_poison(Variable::apply(Dot::PLAIN, &[x.clone(), y.clone()])));
    // Derivatives.
    ill!(grad, or_poison(grad(&x, [&x])));
    ill!(grad, or_poison(grad(f.sum(..), [&x])));
    ill!(vjp, or_poison(vjp(&f, [&f], &x)));
    ill!(jvp, jvp(&f, [&f], [&f, &f]).unwrap_or_else(Variable::poison));
    ill!(jacobian, or_poison(jacobian(&c, [&c])));
    ill!(hessian, or_poison(hessian(&x, [&x])));
    ill!(hvp, or_poison(hvp(&x, [&x], [&x])));
    ill!(wrt, or_poison(Grad::known([(&x, &f)]).wrt([&x])));
    ill!(wrt_connected, Grad::of(&x).wrt_connected(std::slice::from_ref(&x)).map_or_else(Variable::poison, |_| x.clone()));
    list
}

#[test]
fn errors_and_nodes_name_the_line_they_were_written_on() {
    let mut wrong = vec![];
    for Entry { name, line, made, ill_typed } in table() {
        let place = format!("{}:{line}:", file!());
        match made.checked() {
            Err(error) if ill_typed && error.to_string().contains(&format!("(written at {place}")) => {}
            Err(error) => wrong.push(format!("{name} on line {line}: {error}")),
            Ok(_) if ill_typed => wrong.push(format!("{name} on line {line} is not refused: {made:?}")),
            Ok(made) => {
                let mut left = vec![made.clone()];
                while let Some(variable) = left.pop() {
                    let Kind::Output { apply, .. } = variable.kind() else { continue };
                    if !apply.place.to_string().starts_with(&place) {
                        wrong.push(format!("{name} on line {line}: {} of {}", apply.op.label(), apply.place));
                    }
                    left.extend(apply.inputs.iter().cloned());
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_has_every_method_and_function() {
    let list = table();
    let all: HashSet<&str> = list.iter().map(|e| e.name).collect();
    let refused: HashSet<&str> = list.iter().filter(|e| e.ill_typed).map(|e| e.name).collect();
    // No argument of these is refused.
    let always_fit = ["cast", "print", "transfer"];
    let methods = methods().into_iter().flat_map(|(_, methods)| methods);
    let mut missing: Vec<String> = methods
        .filter(|m| {
            let known = if m.arguments.is_empty() || always_fit.contains(&m.name) { &all } else { &refused };
            !known.contains(m.name)
        })
        .map(|m| m.name.to_string())
        .collect();
    // Other folders hold lowerings, which make no Variables.
    for folder in ["src", "src/ops", "src/ops/random", "src/grad"] {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        for file in entries.filter(|path| path.is_file()) {
            let text = std::fs::read_to_string(file).unwrap();
            missing.extend(functions(&text).filter(|name| !all.contains(name.as_str())));
        }
    }
    assert!(missing.is_empty(), "no entry in the table for {missing:?}");
}

/// The public functions of a source file that return Variables.
fn functions(text: &str) -> impl Iterator<Item = String> {
    text.split("\npub fn ").skip(1).filter_map(|rest| {
        let signature = rest.split_once("{\n")?.0;
        let gives = signature.rsplit_once("->")?.1;
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        (gives.contains("Variable") || gives.contains("Ix")).then_some(name)
    })
}
