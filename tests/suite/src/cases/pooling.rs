//! Windows and pooling in all modes: adjacent, overlapping, padded, dilated, and partial windows at the end.

use super::magnitude;
use crate::data::random;
use crate::group::Group;
use crate::tolerance::{Tier, eps, sum};
use workalike::Result;
use workalike::grad::vjp;
use workalike::ops::Ix;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![pools(), gradients(), windows()]
}

/// Each with the number of elements of a window.
fn layouts() -> Vec<(&'static str, Pool, usize)> {
    let overlap = Pool::new([3, 3]).stride([2, 1]);
    let padded = Pool::new([3, 3]).stride([2, 2]).padding([(1, 1), (1, 0)]);
    let partial = Pool::new([2, 3]).ceil_mode(true);
    let all = Pool::new([3, 2]).stride([2, 3]).padding([(1, 1), (0, 1)]).ceil_mode(true);
    vec![
        ("side_by_side", Pool::new([2, 2]), 4),
        ("one_element", Pool::new([1, 1]), 1),
        ("all_of_it", Pool::new([9, 8]), 72),
        ("one_axis", Pool::new([3]), 3),
        ("three_axes", Pool::new([2, 2, 2]), 8),
        ("overlap", overlap.clone(), 9),
        ("overlap_excluding", overlap.count_include_pad(false), 9),
        ("padded", padded.clone(), 9),
        ("padded_excluding", padded.count_include_pad(false), 9),
        ("partial", partial, 6),
        ("partial_padded", all.clone(), 6),
        ("partial_padded_excluding", all.count_include_pad(false), 6),
        ("dilated", Pool::new([2, 3]).dilation([3, 2]).stride([1, 2]), 6),
        ("apart", Pool::new([2, 2]).stride([3, 5]), 4),
    ]
}

/// The bound of a mean: that of the sum, the division, and the rounding of the result.
fn mean(n: usize, dtype: DType, magnitude: &Variable) -> Tier {
    let steps = 2.0 * (n.max(2) as f64).log2() + 4.0;
    Tier::Within(magnitude * (steps * eps(dtype.register()) + eps(dtype)))
}

fn pools() -> Result<Group> {
    let mut group = Group::new("pooling");
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64, DType::I32, DType::U8, DType::Bool] {
        let d = dtype.short();
        let x = group.input(random(dtype, &[2, 3, 9, 8], 1)?);
        let none = group.input(random(dtype, &[0, 9, 8], 2)?);
        for (name, pool, n) in layouts() {
            group.exact(format!("max_{name}_{d}"), x.max_pool(&pool));
            let wide = &magnitude(&x);
            let total = x.sum_pool(&pool);
            let tier = match dtype.is_float() {
                true => sum(n, dtype.register(), dtype, &wide.sum_pool(&pool)),
                false => Tier::Exact,
            };
            group.case(format!("sum_{name}_{d}"), total, tier);
            let average = x.average_pool(&pool);
            let tier = mean(n, average.dtype(), &wide.average_pool(&pool));
            group.case(format!("average_{name}_{d}"), average, tier);
        }
        group.exact(format!("max_of_none_{d}"), none.max_pool([2, 2]));
        group.exact(format!("average_of_none_{d}"), none.average_pool([2, 2]));
        group.exact(format!("max_transposed_{d}"), x.swapaxes(2, 3).max_pool([2, 3]));
    }
    // NaN propagates, and padding is less than any number.
    let least = f64::NEG_INFINITY;
    let odd = [f64::NAN, 1.0, least, least, least, -7.0];
    let x = group.input(Value::from_vec(&[6], odd.to_vec())?);
    let want = Value::from(vec![f64::NAN, 1.0, least, -7.0]);
    let padded = Pool::new([2]).padding([(1, 1)]);
    group.golden("nan_and_infinities", x.max_pool(padded), want, Tier::Exact);
    Ok(group)
}

/// Gradients: sums over all windows that contain an element.
fn gradients() -> Result<Group> {
    let mut group = Group::new("pooling_gradients");
    for dtype in [DType::F16, DType::F32, DType::F64] {
        let d = dtype.short();
        let x = group.input(random(dtype, &[2, 3, 9, 8], 3)?);
        for (name, pool, n) in layouts() {
            // The maxima are the cotangents: there is one per window, and they are exact.
            let cotangent = x.max_pool(&pool);
            let wide = magnitude(&x);
            let bound = vjp(&wide.sum_pool(&pool), [&wide], &magnitude(&cotangent))?.swap_remove(0);
            let results =
                [("max", x.max_pool(&pool)), ("sum", x.sum_pool(&pool)), ("average", x.average_pool(&pool))];
            for (mode, y) in results {
                let grad = vjp(&y, [&x], &cotangent)?.swap_remove(0);
                // The share of a window is rounded to the dtype before it is added.
                let steps = 2.0 * (n.max(2) as f64).log2() * eps(dtype.register()) + 4.0 * eps(dtype);
                group.case(format!("{mode}_{name}_{d}"), grad, Tier::Within(&bound * steps));
            }
        }
    }
    Ok(group)
}

/// Windows are views, also of views.
fn windows() -> Result<Group> {
    let mut group = Group::new("windows");
    for dtype in [DType::F32, DType::I64, DType::U8, DType::F16] {
        let d = dtype.short();
        let x = group.input(random(dtype, &[3, 9, 8], 4)?);
        let plain = |x: &Variable| x.sliding_windows([3, 2], [1, 1], [1, 1]);
        group.exact(format!("plain_{d}"), plain(&x));
        group.exact(format!("one_axis_{d}"), x.sliding_windows([4], [2], [1]));
        group.exact(format!("stride_and_dilation_{d}"), x.sliding_windows([3, 2], [2, 3], [1, 4]));
        group.exact(format!("transposed_{d}"), plain(&x.t()));
        group.exact(format!("backwards_{d}"), plain(&x.index([Ix::from(..), Ix::from(..).step(-2)])));
        group.exact(format!("of_windows_{d}"), plain(&plain(&x).max(-1)));
        group.exact(format!("computed_{d}"), plain(&(&x + &x)));
        group.exact(format!("reshaped_{d}"), plain(&x).reshape([3, 7, -1]));
    }
    Ok(group)
}
