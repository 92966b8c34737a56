//! Dimshuffle, reshape, broadcast, new axes and extents: data movement, so exact.

use crate::data::random;
use crate::golden::Golden;
use crate::group::Group;
use crate::tolerance::Tier;
use workalike::Result;
use workalike::graph::IntoOperand;
use workalike::ops::{Pad, concatenate, eye, linspace, meshgrid, stack, tri};
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![shapes(), moved()]
}

fn shapes() -> Result<Group> {
    let mut group = Group::new("shape");
    for dtype in [DType::F32, DType::I64, DType::BF16, DType::Bool] {
        let d = dtype.short();
        let x = group.input(random(dtype, &[3, 4, 5], 1)?);
        let row = group.input(random(dtype, &[1, 5], 2)?);
        let scalar = group.input(random(dtype, &[], 3)?);
        let empty = group.input(random(dtype, &[3, 0, 2], 4)?);
        let orders: [&[usize]; 6] = [&[0, 1, 2], &[0, 2, 1], &[1, 0, 2], &[1, 2, 0], &[2, 0, 1], &[2, 1, 0]];
        let all = dtype == DType::F32;
        for order in if all { &orders[..] } else { &orders[3..4] } {
            let text = order.iter().map(usize::to_string).collect::<String>();
            let axes: Vec<Option<usize>> = order.iter().copied().map(Some).collect();
            group.exact(format!("dimshuffle_{text}_{d}"), x.dimshuffle(axes));
        }
        group.exact(format!("new_axes_{d}"), x.dimshuffle([None, Some(2), None, Some(0), Some(1), None]));
        group.exact(format!("dropped_axis_{d}"), row.dimshuffle([Some(1)]));
        group.exact(format!("scalar_to_matrix_{d}"), scalar.dimshuffle([None, None]));
        for axis in if all { [0isize, 1, 3, -1, -4].iter() } else { [1].iter() } {
            group.exact(format!("expand_dims_{axis}_{d}"), x.expand_dims(*axis));
        }
        let shapes: [&[isize]; 8] =
            [&[60], &[-1], &[12, 5], &[3, 20], &[4, -1, 3], &[5, 4, 3], &[2, 3, 2, 5], &[1, 60, 1]];
        for shape in if all { &shapes[..] } else { &shapes[3..5] } {
            let text = shape.iter().map(isize::to_string).collect::<Vec<_>>().join("x");
            group.exact(format!("reshape_{text}_{d}"), x.reshape(*shape));
            group.exact(format!("reshape_{text}_of_transposed_{d}"), x.t().reshape(*shape));
        }
        group.exact(format!("reshape_empty_{d}"), empty.reshape([0, 7]));
        group.exact(format!("reshape_scalar_{d}"), scalar.reshape([1, 1]));
        group.exact(format!("reshape_twice_{d}"), x.reshape([12, 5]).t().reshape([2, 30]));
        let rows = x.extent(0);
        let run_time = vec![rows.clone().into_operand(), (-1i64).into_operand()];
        group.exact(format!("reshape_by_extent_{d}"), x.reshape(run_time));
        group.exact(format!("broadcast_row_{d}"), row.broadcast_to([4, 5]));
        group.exact(format!("broadcast_more_axes_{d}"), row.broadcast_to([2, 3, 4, 5]));
        group.exact(format!("broadcast_scalar_{d}"), scalar.broadcast_to([3, 2]));
        group.exact(format!("broadcast_to_nothing_{d}"), row.broadcast_to([0, 5]));
        group.exact(format!("broadcast_then_transposed_{d}"), row.broadcast_to([4, 5]).t());
        group.exact(format!("broadcast_then_reshaped_{d}"), row.broadcast_to([4, 5]).reshape([2, 10]));
        group.exact(format!("itself_{d}"), &x);
        group.exact(format!("zeros_like_{d}"), zeros_like(&x));
        for axis in [0isize, 1, -1] {
            group.exact(format!("extent_{axis}_{d}"), x.extent(axis) + x.cast(DType::I64).sum(..));
        }
    }
    let n = group.input(Value::from(6i64));
    let x = group.input(random(DType::F32, &[24], 5)?);
    group.exact("reshape_by_input", x.reshape(vec![(-1i64).into_operand(), n.clone().into_operand()]));
    group.exact("arange_by_input", arange(&n));
    group.exact("arange_between", arange_between(&n, &n * 5i64, 4i64));
    group.exact("arange_down", arange_between(&n, -10i64, -3i64));
    group.exact("arange_empty", arange_between(&n, 2i64, 1i64));
    group.exact("arange_of_extent", arange(x.extent(0)) * &n);
    Ok(group)
}

/// NumPy's functions that move, repeat and cut out elements, and functions that create arrays.
fn moved() -> Result<Group> {
    let golden = Golden::shapes();
    let mut group = Group::new("moved");
    for dtype in [DType::F32, DType::I64, DType::U8, DType::Bool] {
        let [x, v, cube] = ["x", "v", "cube"].map(|name| golden.value(&format!("{name}.{dtype}")));
        let [x, v, cube] = [group.input(x?), group.input(v?), group.input(cube?)];
        let one = group.input(Value::from(1i64));
        let mut results = movements(&x, &v, &cube, &one);
        if dtype != DType::Bool {
            results.extend(pads(&x, &v));
        }
        for (name, output) in results {
            let value = golden.value(&format!("{name}.{dtype}"))?;
            group.golden(format!("{name}_{}", dtype.short()), output, value, Tier::Exact);
        }
        // Computed values: exact for integers.
        let near = |output: &Variable, shape: &Variable| match output.dtype() {
            DType::F32 => Tier::Within(zeros_like(shape.cast(DType::F64)) + 1e-4),
            _ => Tier::Exact,
        };
        let mut computed = vec![("trace", x.trace(0))];
        if dtype != DType::Bool {
            computed.extend(computed_pads(&x, &v));
        }
        for (name, output) in computed {
            let value = golden.value(&format!("{name}.{dtype}"))?;
            let tier = near(&output, &output);
            group.golden(format!("{name}_{}", dtype.short()), output, value, tier);
        }
        group.exact(format!("squeeze_{}", dtype.short()), x.index(workalike::idx![0..1]).squeeze(0));
        group.exact(format!("shape_{}", dtype.short()), cube.shape());
        group.exact(format!("fill_diagonal_{}", dtype.short()), cube.fill_diagonal(true));
        let parts = x.split([1, 2, 1], 1);
        group.exact(format!("split_{}", dtype.short()), concatenate([&parts[2], &parts[0], &parts[1]], 1));
    }
    let n = group.input(Value::from(3i64));
    group.golden("eye", eye(&n, 4i64, 1, DType::F32), golden.value("eye")?, Tier::Exact);
    group.golden("tri", tri(&n, 5i64, -1, DType::I64), golden.value("tri")?, Tier::Exact);
    let near = Tier::Within(constant(vec![4.0 * f64::EPSILON; 7]));
    group.golden("linspace", linspace(-1.5, 2.25, 7), golden.value("linspace")?, near);
    group.exact("one_hot", arange(&n).one_hot(4, DType::F32));
    group.exact("full", workalike::ops::full([&n, &(&n + 1i64)], 2.5f32));
    Ok(group)
}

/// Functions that move elements, by their names in the golden file: `x` is a matrix, `v` a vector.
fn movements(x: &Variable, v: &Variable, cube: &Variable, one: &Variable) -> Vec<(String, Variable)> {
    let first = x.index(workalike::idx![0..1]);
    let flipped = x.flip(0);
    let grids = meshgrid([v.clone(), x.index(workalike::idx![0])]);
    let results = vec![
        ("concatenate_0", concatenate([x, &first, x], 0)),
        ("concatenate_1", concatenate([x, x], -1)),
        ("stack_0", stack([x, &flipped], 0)),
        ("stack_last", stack([x, x], -1)),
        ("tile", x.tile([2, 3])),
        ("tile_more", v.tile([2, 1, 2])),
        ("tile_fewer", x.tile([2])),
        ("repeat_0", x.repeat(2, 0)),
        ("repeat_1", x.repeat(one + 2i64, -1)),
        ("repeat_each_0", x.repeat(constant(vec![2i64, 0, 3]), 0)),
        ("repeat_each_1", x.repeat(constant(vec![1u8, 0, 0, 4]), 1)),
        ("roll_0", x.roll(one, 0)),
        ("roll_back", x.roll(-6i64, 1)),
        ("flip_all", x.flip(..)),
        ("flip_1", x.flip(1)),
        ("moveaxis", cube.moveaxis(0, 2)),
        ("moveaxis_back", cube.moveaxis(-1, 0)),
        ("swapaxes", cube.swapaxes(0, 2)),
        ("transpose", cube.transpose([2, 0, 1])),
        ("take_0", x.take(constant(vec![2i64, 0, -1]), 0)),
        ("take_1", x.take(constant(array![[3i64, 0], [-4, 1]]), 1)),
        ("tril", cube.tril(1)),
        ("triu", x.triu(-1)),
        ("diagonal", x.diagonal(0, 0, 1)),
        ("diagonal_above", cube.diagonal(1, 2, 0)),
        ("diagonal_below", cube.diagonal(-1, 1, 2)),
        ("diagonal_none", x.diagonal(9, 0, 1)),
        ("diag", v.diag(0)),
        ("diag_above", v.diag(2)),
        ("diag_below", v.diag(-1)),
        ("diff", x.diff(1, -1)),
        ("diff_twice_0", x.diff(2, 0)),
        ("flatten", x.flatten()),
        ("meshgrid_0", grids[0].clone()),
        ("meshgrid_1", grids[1].clone()),
    ];
    results.into_iter().map(|(name, v)| (name.into(), v)).collect()
}

/// Pads that move elements.
fn pads(x: &Variable, v: &Variable) -> Vec<(String, Variable)> {
    let modes = [
        ("constant", Pad::Constant(7.0)),
        ("edge", Pad::Edge),
        ("maximum", Pad::Maximum),
        ("minimum", Pad::Minimum),
        ("reflect", Pad::Reflect),
        ("symmetric", Pad::Symmetric),
        ("wrap", Pad::Wrap),
    ];
    let mut results = vec![];
    for (mode, pad) in modes {
        results.push((format!("pad_{mode}"), x.pad([[1, 2], [3, 0]], pad)));
        results.push((format!("pad_{mode}_wide"), v.pad([[11, 13]], pad)));
    }
    results
}

/// Pads that compute elements.
fn computed_pads(x: &Variable, v: &Variable) -> Vec<(&'static str, Variable)> {
    vec![
        ("pad_mean", x.pad([[1, 2], [3, 0]], Pad::Mean)),
        ("pad_mean_wide", v.pad([[11, 13]], Pad::Mean)),
        ("pad_median", x.pad([[1, 2], [3, 0]], Pad::Median)),
        ("pad_median_wide", v.pad([[11, 13]], Pad::Median)),
        ("pad_linear_ramp", x.pad([[1, 2], [3, 0]], Pad::LinearRamp(2.0))),
        ("pad_linear_ramp_wide", v.pad([[11, 13]], Pad::LinearRamp(2.0))),
    ]
}
