//! Convolutions written as products with patches of the images (im2col), rather than by the op for them.

use super::{CallMode, NONE, Workload, WorkloadSettings};
use workalike::prelude::*;
use workalike_cli_common::random::{integers, normal};

/// The extent of filters.
const FILTER: usize = 5;
/// The extent of the images of `lenet_step`.
const IMAGE: usize = 28;

fn signed<const N: usize>(extents: [usize; N]) -> [isize; N] {
    extents.map(|extent| extent as isize)
}

/// All patches of each image as columns, by slices: [images, channels * taps, positions].
fn by_slices(x: &Variable, out: usize, shape: [isize; 3]) -> Variable {
    let at = |tap: usize| {
        let (i, j) = (tap / FILTER, tap % FILTER);
        x.index(idx![.., .., i..i + out, j..j + out])
    };
    stack((0..FILTER * FILTER).map(at), 2).reshape(shape)
}

/// The same, by index arrays.
fn by_index_arrays(x: &Variable, out: usize, shape: [isize; 3]) -> workalike::Result<Variable> {
    let (taps, positions) = (FILTER * FILTER, out * out);
    let at = |index: fn(usize, usize) -> usize| {
        let all = (0..taps).flat_map(|tap| (0..positions).map(move |position| (tap, position)));
        let list = all.map(|(tap, position)| (index(tap, FILTER) + index(position, out)) as i64).collect();
        Ok::<_, workalike::Error>(constant(Value::from_vec(&[taps, positions], list)?))
    };
    let (i, j) = (at(|at, width| at / width)?, at(|at, width| at % width)?);
    Ok(x.index(idx![.., .., &i, &j]).reshape(shape))
}

/// The cross-correlation of square images [n, c, h, h] with filters, without padding.
fn correlated(
    x: &Variable,
    [n, c, h]: [usize; 3],
    w: &Variable,
    filters: usize,
    form: &str,
) -> workalike::Result<Variable> {
    let (out, taps) = (h - FILTER + 1, FILTER * FILTER);
    let shape = signed([n, c * taps, out * out]);
    let patches = match form {
        "index_arrays" => by_index_arrays(x, out, shape)?,
        _ => by_slices(x, out, shape),
    };
    Ok(w.reshape(signed([filters, c * taps])).matmul(patches).reshape(signed([n, filters, out, out])))
}

/// The extent of an image, no smaller than a filter.
fn extent(s: &WorkloadSettings) -> usize {
    s.n("extent").max(FILTER)
}

pub(super) const CONV5X5: Workload = Workload {
    name: "conv5x5",
    about: "a convolution of images with filters of 5 x 5, as a product with patches",
    settings: &[
        ("batch", "500", "64"),
        ("channels", "20", "20"),
        ("filters", "50", "50"),
        ("extent", "12", "12"),
        ("form", "index_arrays", "index_arrays"),
    ],
    build: |s| {
        let (n, c, filters, h) = (s.n("batch"), s.n("channels"), s.n("filters"), extent(s));
        let x = shared("x", normal(901, &[n, c, h, h], 1.0)?);
        let w = shared("w", normal(902, &[filters, c, FILTER, FILTER], 1.0)?);
        function(NONE).output_named("y", correlated(&x, [n, c, h], &w, filters, s.get("form"))?).compile()
    },
    least: |s| {
        let (n, c, filters) = (s.float("batch"), s.float("channels"), s.float("filters"));
        let (h, taps) = (extent(s) as f64, (FILTER * FILTER) as f64);
        let out = filters * (h - FILTER as f64 + 1.0).powi(2);
        (4.0 * (n * (c * h * h + out) + filters * c * taps), 2.0 * n * out * c * taps)
    },
    lines: |large| {
        let checked = [("batch", "3"), ("channels", "4"), ("filters", "6"), ("extent", "9")];
        CONV5X5.forms(large, CallMode::Device, &checked, &["index_arrays", "slices"])
    },
};

pub(super) const LENET_STEP: Workload = Workload {
    name: "lenet_step",
    about: "a step of gradient descent of a network of two convolutions, which are products with patches",
    settings: &[
        ("batch", "500", "32"),
        ("filters1", "20", "20"),
        ("filters2", "50", "50"),
        ("hidden", "500", "500"),
        ("classes", "10", "10"),
        ("form", "slices", "slices"),
    ],
    build: |s| {
        let [n, c1, c2] = ["batch", "filters1", "filters2"].map(|key| s.n(key));
        let (hidden, classes, form) = (s.n("hidden"), s.n("classes"), s.get("form"));
        let x = shared("x", normal(911, &[n, 1, IMAGE, IMAGE], 1.0)?);
        let y = shared("y", integers(912, n, classes as u64)?);
        let w1 = shared("w1", normal(913, &[c1, 1, FILTER, FILTER], 0.1)?);
        let w2 = shared("w2", normal(914, &[c2, c1, FILTER, FILTER], 0.05)?);
        let w3 = shared("w3", normal(915, &[c2 * 16, hidden], 0.05)?);
        let w4 = shared("w4", normal(916, &[hidden, classes], 0.05)?);
        let pooled = |h: Variable, channels: usize, half: usize| {
            h.reshape(signed([n, channels, half, 2, half, 2])).max([3, 5])
        };
        let h = pooled(correlated(&x, [n, 1, IMAGE], &w1, c1, form)?, c1, 12).tanh();
        let h = pooled(correlated(&h, [n, c1, 12], &w2, c2, form)?, c2, 4).tanh();
        let h = h.reshape([n as isize, -1]).dot(&w3).tanh();
        let cost = categorical_crossentropy(softmax(h.dot(&w4), -1), &y).mean(..);
        let weights = [&w1, &w2, &w3, &w4];
        function(NONE).updates(sgd(weights, grad(&cost, weights)?, 0.1)?).compile()
    },
    least: |s| {
        let [n, c1, c2, hidden, classes] =
            ["batch", "filters1", "filters2", "hidden", "classes"].map(|key| s.float(key));
        let weights = 25.0 * c1 * (1.0 + c2) + hidden * (16.0 * c2 + classes);
        let products = 25.0 * c1 * (576.0 + 64.0 * c2) + hidden * (16.0 * c2 + classes);
        (4.0 * (2.0 * weights + 784.0 * n), 6.0 * n * products)
    },
    lines: |large| {
        let checked =
            [("batch", "3"), ("filters1", "2"), ("filters2", "3"), ("hidden", "5"), ("classes", "4")];
        LENET_STEP.forms(large, CallMode::Steps, &checked, &["slices", "index_arrays"])
    },
};
