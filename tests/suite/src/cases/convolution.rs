//! Convolutions and their gradients, in one to three dimensions, with all options.

use super::magnitude;
use crate::data::random;
use crate::group::Group;
use crate::tolerance::{Tier, matmul};
use workalike::Result;
use workalike::grad::vjp;
use workalike::prelude::*;

pub(super) fn groups() -> Vec<Result<Group>> {
    vec![geometries(), exact(), windows(), paddings(), transposed()]
}

/// A convolution; empty lists mean the defaults of [`Conv`].
#[derive(Clone, Copy)]
struct Geometry {
    name: &'static str,
    x: &'static [usize],
    w: &'static [usize],
    stride: &'static [usize],
    padding: &'static [(usize, usize)],
    dilation: &'static [usize],
    groups: usize,
}

const fn plain(name: &'static str, x: &'static [usize], w: &'static [usize]) -> Geometry {
    Geometry { name, x, w, stride: &[], padding: &[], dilation: &[], groups: 1 }
}

const GEOMETRIES: [Geometry; 19] = [
    plain("plain", &[2, 3, 8, 9], &[4, 3, 3, 2]),
    plain("one_by_one", &[2, 5, 6, 7], &[7, 5, 1, 1]),
    plain("one_channel", &[3, 1, 8, 8], &[5, 1, 3, 3]),
    plain("whole", &[2, 3, 5, 6], &[4, 3, 5, 6]),
    plain("batch_of_none", &[0, 3, 8, 8], &[4, 3, 3, 3]),
    plain("no_filters", &[2, 3, 8, 8], &[0, 3, 3, 3]),
    plain("no_channels", &[2, 0, 8, 8], &[4, 0, 3, 3]),
    Geometry { stride: &[2, 3], ..plain("stride", &[2, 3, 11, 9], &[4, 3, 3, 3]) },
    Geometry { padding: &[(1, 2), (0, 3)], ..plain("padding", &[2, 3, 7, 6], &[4, 3, 3, 3]) },
    Geometry { padding: &[(4, 4), (5, 0)], ..plain("much_padding", &[2, 2, 5, 4], &[3, 2, 3, 3]) },
    Geometry { dilation: &[2, 3], ..plain("dilation", &[1, 2, 12, 13], &[3, 2, 3, 3]) },
    Geometry { groups: 3, ..plain("groups", &[2, 6, 8, 7], &[9, 2, 3, 3]) },
    Geometry { groups: 6, padding: &[(1, 1), (1, 1)], ..plain("depthwise", &[2, 6, 9, 8], &[6, 1, 3, 3]) },
    Geometry { groups: 4, stride: &[2, 2], ..plain("depthwise_times_3", &[2, 4, 9, 8], &[12, 1, 3, 3]) },
    Geometry {
        stride: &[2, 1],
        padding: &[(2, 1), (0, 2)],
        dilation: &[1, 2],
        groups: 2,
        ..plain("all_together", &[3, 4, 13, 11], &[6, 2, 3, 3])
    },
    Geometry { padding: &[(1, 1), (1, 1)], ..plain("large", &[4, 16, 20, 18], &[24, 16, 3, 3]) },
    Geometry {
        stride: &[2],
        padding: &[(1, 2)],
        dilation: &[2],
        ..plain("one_axis", &[2, 3, 20], &[4, 3, 5])
    },
    Geometry {
        stride: &[1, 2, 2],
        padding: &[(1, 0), (0, 1), (1, 1)],
        ..plain("three_axes", &[2, 2, 5, 6, 7], &[3, 2, 2, 3, 3])
    },
    Geometry { groups: 2, ..plain("three_axes_in_groups", &[1, 4, 4, 3, 5], &[2, 2, 3, 2, 2]) },
];

impl Geometry {
    fn options(&self) -> Conv {
        let options = Conv::default().stride(self.stride).dilation(self.dilation).groups(self.groups);
        if self.padding.is_empty() { options } else { options.padding(self.padding.to_vec()) }
    }

    fn of(&self, x: &Variable, w: &Variable) -> Variable {
        match x.ndim() {
            3 => x.conv1d(w, self.options()),
            4 => x.conv2d(w, self.options()),
            _ => x.conv3d(w, self.options()),
        }
    }

    /// The extents of the output.
    fn output(&self) -> Vec<usize> {
        let mut shape = vec![self.x[0], self.w[0]];
        for axis in 0..self.x.len() - 2 {
            let of = |list: &[usize]| list.get(axis).copied().unwrap_or(1);
            let (before, after) = self.padding.get(axis).copied().unwrap_or_default();
            let covered = (self.w[axis + 2] - 1) * of(self.dilation) + 1;
            shape.push((self.x[axis + 2] + before + after - covered) / of(self.stride) + 1);
        }
        shape
    }
}

fn size(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// Each geometry in each role, in all float dtypes.
fn geometries() -> Result<Group> {
    let mut group = Group::new("convolution");
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        for geometry in GEOMETRIES {
            let name = format!("{}_{}", geometry.name, dtype.short());
            let output = geometry.output();
            let x = group.input(random(dtype, geometry.x, 1)?);
            let w = group.input(random(dtype, geometry.w, 2)?);
            let dy = group.input(random(dtype, &output, 3)?);
            let y = geometry.of(&x, &w);
            let (wide_x, wide_w) = (magnitude(&x), magnitude(&w));
            let wide_y = geometry.of(&wide_x, &wide_w);
            group.case(&name, &y, matmul(size(&geometry.w[1..]), dtype, &wide_y));
            let grads = vjp(&y, [&x, &w], &dy)?;
            let bounds = vjp(&wide_y, [&wide_x, &wide_w], &magnitude(&dy))?;
            let terms = geometry.w[0] / geometry.groups * size(&geometry.w[2..]);
            group.case(format!("{name}_input"), &grads[0], matmul(terms, dtype, &bounds[0]));
            let terms = geometry.x[0] * size(&output[2..]);
            group.case(format!("{name}_filters"), &grads[1], matmul(terms, dtype, &bounds[1]));
        }
    }
    Ok(group)
}

/// Integers and bools.
fn exact() -> Result<Group> {
    let mut group = Group::new("convolution_exact");
    for dtype in [DType::I8, DType::I32, DType::I64, DType::U8, DType::Bool] {
        for geometry in GEOMETRIES.iter().filter(|g| ["plain", "all_together", "one_axis"].contains(&g.name))
        {
            let x = group.input(random(dtype, geometry.x, 4)?);
            let w = group.input(random(dtype, geometry.w, 5)?);
            group.exact(format!("{}_{}", geometry.name, dtype.short()), geometry.of(&x, &w));
        }
    }
    Ok(group)
}

/// Against products of windows.
fn windows() -> Result<Group> {
    let mut group = Group::new("convolution_by_windows");
    for dtype in [DType::F32, DType::F64] {
        let whole = |g: &&Geometry| g.groups == 1 && !g.x.contains(&0) && !g.w.contains(&0);
        let planes = GEOMETRIES.iter().filter(|g| g.x.len() == 4).filter(whole);
        for geometry in planes {
            let x = group.input(random(dtype, geometry.x, 6)?);
            let w = group.input(random(dtype, geometry.w, 7)?);
            let or_ones = |list: &[usize]| if list.is_empty() { vec![1, 1] } else { list.to_vec() };
            let by_windows = |x: &Variable, w: &Variable| {
                let mut widths = vec![[0, 0]; 2];
                widths.extend(geometry.padding.iter().map(|&(before, after)| [before, after]));
                widths.resize(4, [0, 0]);
                let padded = x.pad(widths, Pad::Constant(0.0));
                let (stride, dilation) = (or_ones(geometry.stride), or_ones(geometry.dilation));
                let windows = padded.sliding_windows(&geometry.w[2..], stride, dilation);
                einsum("nchwij,ocij->nohw", [&windows, w])
            };
            let bound = by_windows(&magnitude(&x), &magnitude(&w)) * 2.0;
            let tier = matmul(size(&geometry.w[1..]), dtype, &bound);
            let name = format!("{}_{}", geometry.name, dtype.short());
            group.against(name, geometry.of(&x, &w), &by_windows(&x, &w), tier);
        }
    }
    Ok(group)
}

/// `w` with static extents.
fn known(w: &Variable, shape: &[usize]) -> Variable {
    w.specify_shape(shape.iter().map(|&e| Some(e)).collect::<Vec<_>>())
}

/// Named padding against explicit padding; flipped filters; layouts.
fn paddings() -> Result<Group> {
    let mut group = Group::new("convolution_padding");
    let (images, filters): (&[usize], &[usize]) = (&[2, 3, 9, 8], &[4, 3, 3, 4]);
    for dtype in [DType::F32, DType::F64] {
        let d = dtype.short();
        let x = group.input(random(dtype, images, 8)?);
        let w = group.input(random(dtype, filters, 9)?);
        let fixed = known(&w, filters);
        let mut add = |name: &str, y: Variable, same: Variable, bound: Variable| {
            group.against(format!("{name}_{d}"), y, &same, matmul(36, dtype, &(bound * 2.0)));
        };
        let by = |x: &Variable, w: &Variable, options: &Conv| x.conv2d(w, options.clone());
        let mut named = |name: &str, options: Conv, numbers: Conv| {
            let bound = by(&magnitude(&x), &magnitude(&w), &numbers);
            let of_known = by(&known(&x, images), &fixed, &options);
            add(name, of_known, by(&x, &w, &numbers), bound.clone());
            add(&format!("{name}_unknown"), by(&x, &w, &options), by(&x, &w, &numbers), bound);
        };
        let conv = Conv::default;
        named("same", conv().padding(Padding::Same), conv().padding([(1, 1), (1, 2)]));
        let dilated = conv().dilation([2, 2]);
        named("same_dilated", dilated.clone().padding(Padding::Same), dilated.padding([(2, 2), (3, 3)]));
        let stride = conv().stride([2, 3]);
        named("same_stride", stride.clone().padding(Padding::Same), stride.padding([(1, 1), (1, 1)]));
        named("full", conv().padding(Padding::Full), conv().padding([(2, 2), (3, 3)]));
        let flipped = by(&x, &w.flip([2, 3]), &conv());
        let bound = by(&magnitude(&x), &magnitude(&w.flip([2, 3])), &conv());
        add("flipped", by(&x, &w, &conv().flip_filters(true)), flipped, bound);
        // Channels last.
        let last = x.transpose([0, 2, 3, 1]);
        let bound = by(&magnitude(&x), &magnitude(&w), &conv());
        add(
            "channels_last",
            by(&(&last * 1.0).transpose([0, 3, 1, 2]), &w, &conv()),
            by(&x, &w, &conv()),
            bound,
        );
        let biased = (by(&x, &w, &conv()) + w.sum([1, 2, 3]).dimshuffle([None, Some(0), None, None])).relu();
        let bound = by(&magnitude(&x), &magnitude(&w), &conv()) + magnitude(&w).sum(..);
        group.case(format!("fused_around_{d}"), biased, matmul(36 + 40, dtype, &bound));
    }
    Ok(group)
}

/// Transposed convolutions with extents known at run time only.
fn transposed() -> Result<Group> {
    let mut group = Group::new("convolution_transposed");
    for dtype in [DType::F32, DType::F64, DType::F16] {
        let d = dtype.short();
        let mut add = |name: &str, x: &[usize], w: &[usize], options: Conv| -> Result<()> {
            let (a, b) = (group.input(random(dtype, x, 10)?), group.input(random(dtype, w, 11)?));
            let of = |x: &Variable, w: &Variable| match x.ndim() {
                3 => x.conv_transpose1d(w, options.clone()),
                4 => x.conv_transpose2d(w, options.clone()),
                _ => x.conv_transpose3d(w, options.clone()),
            };
            // An upper bound: every element of a filter meets an element of the input.
            let tier = matmul(w[0] * size(&w[2..]), dtype, &of(&magnitude(&a), &magnitude(&b)));
            group.case(format!("{name}_{d}"), of(&a, &b), tier);
            Ok(())
        };
        let conv = Conv::default;
        add("plain", &[2, 3, 5, 4], &[3, 2, 3, 3], conv())?;
        add("stride", &[2, 3, 5, 4], &[3, 2, 3, 2], conv().stride([2, 3]))?;
        let longer = conv().stride([2, 3]).output_padding([1, 2]);
        add("output_padding", &[2, 3, 5, 4], &[3, 2, 3, 3], longer)?;
        let cropped = conv().padding([(1, 2), (0, 1)]).dilation([1, 2]).groups(2);
        add("cropped", &[1, 4, 5, 4], &[4, 3, 3, 2], cropped)?;
        add("one_axis", &[2, 3, 7], &[3, 2, 4], conv().stride([2]))?;
        add("three_axes", &[1, 2, 3, 2, 3], &[2, 2, 2, 3, 2], conv().stride([1, 2, 1]))?;
        add("batch_of_none", &[0, 3, 5, 4], &[3, 2, 3, 3], conv())?;
    }
    let x = group.input(random(DType::F64, &[1, 2, 3, 4], 12)?);
    let shape =
        x.conv_transpose2d(zeros_like(&x).transpose([1, 0, 2, 3]), Conv::default().stride([2, 2])).shape();
    group.golden("shape", shape, Value::from(vec![1i64, 1, 7, 10]), Tier::Exact);
    Ok(group)
}
