//! Errors of elementwise functions over all binades, in ulp, against float64.
//!
//! Arguments are drawn from all finite numbers of a dtype, each binade as often as any other, and more
//! densely from those around 1. The reference is the op on the same arguments in float64, so that errors of
//! float64 itself include those of its reference.

use crate::cases::apply;
use crate::data::uniform;
use crate::devices::Tested;
use crate::tolerance::{Bound, Tier, compare, ulp};
use std::collections::BTreeMap;
use workalike::Result;
use workalike::kernels::ops::{ERFC, NEXTAFTER, ScalarOp};
use workalike::prelude::*;
use workalike::rewrite::Rewrites;

/// Arguments of one call.
const CHUNK: usize = 1 << 14;

/// Half of the arguments have a magnitude within two to the power of this, and its inverse.
const NEAR: f64 = 14.0;

/// The worst error of an op.
#[derive(Clone, Debug, Default)]
pub struct Worst {
    /// In ulp of the result, or of the row's `scale` if that is larger.
    pub ulps: f64,
    /// Its arguments.
    pub at: Vec<f64>,
    /// What is beyond the row's bound, if anything is.
    pub beyond: Option<String>,
}

/// The ops of so many floats that give a float, computed by generated code.
fn of_floats(arity: usize, dtype: DType) -> Vec<ScalarOp> {
    let is_of_floats = |op: &ScalarOp| {
        let signature = op.signature(&vec![dtype; arity]);
        signature.is_some_and(|s| s.result == dtype && s.args.iter().all(|arg| *arg == dtype))
    };
    // The float next to another one differs in float64.
    let is_other = |op: &ScalarOp| op.is_host_only() || *op == NEXTAFTER;
    let native = ScalarOp::all().filter(|op| op.row().arity == arity && !is_other(op));
    native.filter(is_of_floats).collect()
}

/// The worst errors of all ops of one and two arguments of a dtype, by name, over so many arguments.
///
/// # Errors
/// If the device cannot compute them.
pub fn measure(device: &Tested, dtype: DType, count: usize) -> Result<BTreeMap<&'static str, Worst>> {
    let mut worst = BTreeMap::new();
    for arity in [1, 2] {
        let ops = of_floats(arity, dtype);
        let inputs = |dtype| {
            (0..arity).map(move |at| Variable::input(&format!("x{at}"), TensorType::of_rank(dtype, 1)))
        };
        let (narrow, wide): (Vec<_>, Vec<_>) = (inputs(dtype).collect(), inputs(DType::F64).collect());
        let all = |inputs: &[Variable]| ops.iter().map(|op| apply(*op, inputs)).collect::<Vec<_>>();
        let f = function(&narrow).outputs(all(&narrow)).rewrites(Rewrites::none()).compile()?;
        let reference = function(&wide).outputs(all(&wide)).rewrites(Rewrites::none()).compile()?;
        let mut sim = device.optimize(&f)?;
        for start in (0..count.max(1)).step_by(CHUNK) {
            let n = CHUNK.min(count - start);
            let seed = |at: usize| (start / CHUNK * 4 + at) as u32;
            let args = (0..arity).map(|at| arguments(seed(at), dtype, n)).collect::<Result<Vec<_>>>()?;
            let given = |args: &[Value]| args.iter().fold(Args::new(), |all, arg| all.with(arg));
            let exact = args.iter().map(|arg| arg.cast(DType::F64)).collect::<Result<Vec<_>>>()?;
            let (got, want) = (sim.call(given(&args))?, reference.call_reference(given(&exact))?);
            for (at, op) in ops.iter().enumerate() {
                let entry = worst.entry(op.row().name).or_default();
                note(entry, *op, device, &exact, (&got[at], &want[at]));
            }
        }
    }
    Ok(worst)
}

/// Adds the errors of one call.
fn note(worst: &mut Worst, op: ScalarOp, device: &Tested, args: &[Value], (got, want): (&Value, &Value)) {
    let dtype = got.dtype();
    let scale = op.row().scale.map_or(0.0, |scale| ulp(scale, dtype));
    let (numbers, wanted) = (got.to_f64s(), want.to_f64s());
    for (i, (got, want)) in numbers.iter().zip(&wanted).enumerate() {
        if got.is_finite() && want.is_finite() {
            let ulps = (got - want).abs() / ulp(*want, dtype).max(scale);
            if ulps > worst.ulps {
                worst.ulps = ulps;
                worst.at = args.iter().map(|arg| arg.to_f64s()[i]).collect();
            }
        }
    }
    let bound = match (op.row().ulp, Tier::Op(op).bound(dtype, device.is_host(), None)) {
        // Exact ones are rounded once more, from float64.
        (0, _) => Bound::Ulp(0.51),
        // The reference, of `libm`, is itself wrong by up to 2.9 ulp: erfc(2.0440566819495842) by mpmath.
        (_, Bound::Ulp(ulps)) if op == ERFC && dtype == DType::F64 => Bound::Ulp(ulps + 3.0),
        (_, bound) => bound,
    };
    if worst.beyond.is_none() {
        worst.beyond = compare(got, want, &bound).err();
    }
}

/// Finite numbers of a dtype: half of them of any magnitude, half near 1.
fn arguments(seed: u32, dtype: DType, n: usize) -> Result<Value> {
    let (least, most) = match dtype {
        DType::F16 => (-24.0, 16.0),
        DType::BF16 | DType::F32 => (-149.0, 128.0),
        _ => (-1074.0, 1024.0),
    };
    let draws = uniform(4 * n, seed);
    let number = |i: usize| {
        let draw = |at: usize| (draws[4 * i + at] + 1.0) / 2.0;
        let (low, high) = if i.is_multiple_of(2) { (least, most) } else { (-NEAR, NEAR) };
        let exponent: f64 = (low + draw(0) * (high - low)).floor();
        let magnitude = 1.0 + draw(1) + draw(2) * 2f64.powi(-32);
        // In two steps, since the power of two may be subnormal.
        let power = (exponent / 2.0).floor();
        (if draw(3) < 0.5 { -magnitude } else { magnitude }) * power.exp2() * (exponent - power).exp2()
    };
    let rounded = Value::from_vec(&[n], (0..n).map(number).collect::<Vec<f64>>())?.cast(dtype)?;
    // What rounds up to infinity is replaced.
    let finite: Vec<f64> =
        rounded.to_f64s().into_iter().map(|x| if x.is_finite() { x } else { 1.5 }).collect();
    Value::from_vec(&[n], finite)?.cast(dtype)
}
