//! Elementwise kernels, reductions and scans from expressions.

use super::{on, ramp};
use crate::stage::{Stage, ensure, equal, fails};
use ndarray::ArrayD;
use workalike::Result;
use workalike::custom::{
    CopyIn, CopyInOut, CopyOut, ElementwiseKernel, ReductionKernel, ScanKernel, kernel_args,
};
use workalike::prelude::{Array1, DType, DeviceArray};

pub(super) fn elementwise(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        let kernel = ElementwiseKernel::new(
            device,
            "linear_combination",
            "float a, const float *x, float b, const float *y, float *z",
            "z[i] = a * x[i] + b * y[i]",
        )?;
        for count in [0usize, 1, 63, 1000, 70_001] {
            let (x, y) = (ramp(count), ramp(count).into_iter().rev().collect::<Vec<f32>>());
            let arrays = (DeviceArray::upload(device, &x)?, DeviceArray::upload(device, &y)?);
            let z = DeviceArray::zeros(device, DType::F32, &[count])?;
            kernel.call(kernel_args![2.0, &arrays.0, -4.0, &arrays.1, &z])?;
            let want: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.0 * x - 4.0 * y).collect();
            equal(&format!("{count} elements"), &z.to_value()?, want)?;
        }
        let mut halves = ArrayD::from_elem(vec![3, 4], half::f16::from_f32(1.5));
        let kernel = ElementwiseKernel::new(
            device,
            "squares",
            "f16 *x",
            "const f32 v = load_f16(x, i); store_f16(x, i, v * v + (f32)i)",
        )?;
        kernel.call(kernel_args![CopyInOut(&mut halves)])?;
        let want = (0..12).map(|i| half::f16::from_f32(2.25 + i as f32));
        ensure(halves.iter().copied().eq(want), || format!("{halves}"))?;
        let (a, b) =
            (DeviceArray::zeros(device, DType::F32, &[4])?, DeviceArray::zeros(device, DType::F32, &[5])?);
        let two = ElementwiseKernel::new(device, "copy", "const f32 *x, f32 *y", "y[i] = x[i]")?;
        fails(
            "another number of elements",
            two.call(kernel_args![&a, &b]),
            &["copy", "4 elements", "found 5"],
        )?;
        fails("too few", two.call(kernel_args![&a]), &["copy: expected 2 arguments (x, y), found 1"])?;
        let none = ElementwiseKernel::new(device, "nothing", "f32 x", "x + 1");
        fails("no array", none, &["nothing", "an array"])?;
        let double = ElementwiseKernel::new(device, "double", "f32 *x", "x[i] *= 2");
        fails("a keyword as a name", double, &["double", "no keyword of C"])
    })
}

/// Numbers of elements around the sizes of groups, tiles and parts.
const COUNTS: [usize; 8] = [0, 1, 63, 64, 65, 2049, 70_001, 600_000];

pub(super) fn reductions(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        let int = (DType::I64, "0");
        let dot =
            ReductionKernel::new(device, "dot", "const i32 *x, i32 by", int, "(i64)x[i] * by", "a + b")?;
        let most = ReductionKernel::new(
            device,
            "most",
            "const i32 *x",
            (DType::I32, "-2147483647"),
            "x[i]",
            "a > b ? a : b",
        )?;
        for count in COUNTS {
            let x: Vec<i32> = (0..count as i32).map(|i| i.wrapping_mul(7919) % 1000).collect();
            let array = DeviceArray::upload(device, &x)?;
            let sum = dot.call(kernel_args![&array, 3])?;
            equal(
                &format!("{count} summed"),
                &sum.to_value()?,
                x.iter().map(|x| i64::from(*x) * 3).sum::<i64>(),
            )?;
            let top = most.call(kernel_args![CopyIn(&x)])?;
            equal("the most", &top.to_value()?, x.iter().copied().max().unwrap_or(-2147483647))?;
        }
        // A sum of halves is a sum of float32, rounded once.
        let halves = vec![half::f16::from_f32(0.5); 5000];
        let of_halves = ReductionKernel::new(
            device,
            "halves",
            "const f16 *x",
            (DType::F16, "0"),
            "load_f16(x, i)",
            "a + b",
        )?;
        let sum = of_halves.call(kernel_args![CopyIn(&halves)])?;
        equal("halves", &sum.to_value()?, half::f16::from_f32(2500.0))?;
        // Prepared: the arrays are read anew.
        let (x, out) =
            (DeviceArray::upload(device, vec![1i32; 1000])?, DeviceArray::zeros(device, DType::I64, &[])?);
        let mut launch = dot.prepare(kernel_args![&x, 2], &out)?;
        launch.run()?;
        launch.run()?;
        equal("prepared", &out.to_value()?, 2000i64)?;
        fails("too few", dot.call(kernel_args![&x]), &["dot: expected 2 arguments (x, by), found 1"])?;
        fails(
            "the host's",
            dot.prepare(kernel_args![CopyIn(&[1i32]), 2], &out),
            &["dot", "arrays on the device"],
        )?;
        let wrong = dot.prepare(kernel_args![&x, 2], &x);
        fails("a result of many elements", wrong, &["dot", "one element"])
    })
}

/// Sums, and a product of affine maps, which does not commute.
pub(super) fn scans(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        let params = "const i32 *x, i64 *y, i64 *z";
        let sums = ScanKernel::new(
            device,
            "sums",
            params,
            (DType::I64, "0"),
            "(i64)x[i]",
            "a + b",
            "y[i] = item; z[i] = prev_item",
        )?;
        // An affine map modulo 2^32 in one word of 64 bits: the factor above the shift.
        let maps = ScanKernel::new(
            device,
            "maps",
            "const u64 *x, u64 *y",
            (DType::U64, "(u64)1 << 32"),
            "x[i]",
            "((((a >> 32) * (b >> 32)) << 32) | (((a & 0xffffffffu) * (b >> 32) + b) & 0xffffffffu))",
            "y[i] = item",
        )?;
        let join = |a: u64, b: u64| {
            let (low, shift) = (0xffff_ffffu64, |x: u64| x & 0xffff_ffff);
            (((a >> 32).wrapping_mul(b >> 32)) << 32) | (shift(a).wrapping_mul(b >> 32).wrapping_add(b) & low)
        };
        for count in COUNTS {
            let x: Vec<i32> = (0..count as i32).map(|i| i.wrapping_mul(7919) % 1000 - 300).collect();
            let [y, z] = [(), ()].map(|()| DeviceArray::zeros(device, DType::I64, &[count]));
            let (y, z) = (y?, z?);
            sums.call(kernel_args![CopyIn(&x), &y, &z])?;
            let mut total = 0i64;
            let inclusive: Vec<i64> = x
                .iter()
                .map(|x| {
                    total += i64::from(*x);
                    total
                })
                .collect();
            let exclusive: Vec<i64> = x.iter().zip(&inclusive).map(|(x, y)| y - i64::from(*x)).collect();
            equal(&format!("{count} running sums"), &y.to_value()?, inclusive)?;
            equal("exclusive", &z.to_value()?, exclusive)?;
            let x: Vec<u64> = (0..count as u64).map(|i| ((i * 2 + 3) << 32) | (i * 77 % 1001)).collect();
            let y = DeviceArray::zeros(device, DType::U64, &[count])?;
            let mut launch = maps.prepare(kernel_args![&DeviceArray::upload(device, &x)?, &y])?;
            launch.run()?;
            let mut state = 1u64 << 32;
            let want: Vec<u64> = x
                .iter()
                .map(|x| {
                    state = join(state, *x);
                    state
                })
                .collect();
            equal(&format!("{count} joined maps"), &y.to_value()?, want)?;
        }
        Ok(())
    })
}

pub(super) fn segmented_scans(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        let params = "const i32 *x, const bool *starts, i32 *y, i32 *z";
        let scan = ScanKernel::new(
            device,
            "in_segments",
            params,
            (DType::I32, "0"),
            "x[i]",
            "a + b",
            "y[i] = item; z[i] = prev_item",
        )?
        .segmented("starts[i]")?;
        for (count, every) in [(1usize, 1usize), (70, 3), (2049, 100), (70_001, 5000), (600_000, 1_000_000)] {
            let x: Vec<i32> = (0..count as i32).map(|i| i % 13 - 4).collect();
            let starts: Vec<bool> = (0..count).map(|i| (i * i + i / 7) % every == every / 2).collect();
            let (mut y, mut z) = (Array1::<i32>::zeros(count), Array1::<i32>::zeros(count));
            scan.call(kernel_args![CopyIn(&x), CopyIn(&starts), CopyOut(&mut y), CopyOut(&mut z)])?;
            let (mut sum, mut want) = (0i32, (vec![], vec![]));
            for (x, start) in x.iter().zip(&starts) {
                let before = if *start { 0 } else { sum };
                sum = before + x;
                want.0.push(sum);
                want.1.push(before);
            }
            ensure(y.to_vec() == want.0, || format!("{count} elements, inclusive"))?;
            ensure(z.to_vec() == want.1, || format!("{count} elements, exclusive"))?;
        }
        Ok(())
    })
}
