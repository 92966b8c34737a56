//! Errors of the special functions of one argument, for all magnitudes, at poles and at the ends of the
//! range.

use crate::dtype::DType;
use crate::ops::{self, CForm, OpBody, ScalarOp};

fn fast32(op: ScalarOp, xs: &[f32]) -> Vec<f32> {
    let mut out = vec![f32::NAN; xs.len()];
    let tiles = op.tiles(&op.signature(&[DType::F32]).unwrap()).unwrap();
    (tiles.fast)(&[bytemuck::cast_slice(xs)], bytemuck::cast_slice_mut(&mut out), xs.len());
    out
}

/// The fast loop, and the reference.
fn both64(op: ScalarOp, xs: &[f64]) -> [Vec<f64>; 2] {
    let tiles = op.tiles(&op.signature(&[DType::F64]).unwrap()).unwrap();
    [tiles.fast, tiles.plain].map(|tile| {
        let mut out = vec![f64::NAN; xs.len()];
        tile(&[bytemuck::cast_slice(xs)], bytemuck::cast_slice_mut(&mut out), xs.len());
        out
    })
}

/// The rows whose formula devices have too, and gamma.
fn rows() -> impl Iterator<Item = ScalarOp> {
    let written = |op: &ScalarOp| matches!(op.row().body, OpBody::Primitive { c: CForm::Written(_), .. });
    ScalarOp::all().filter(move |op| written(op) || *op == ops::GAMMA)
}

/// Numbers of every binade, those around the largest known errors, and those around the last finite result.
fn some() -> Vec<f32> {
    let binade =
        |top: u32| (0..128u32).map(move |i| f32::from_bits(top << 23 | i.wrapping_mul(0x9e37_79b9) >> 9));
    let around = |x: f32| (0..64).map(move |i| f32::from_bits(x.to_bits() - 32 + i));
    let known =
        [-96_267.914f32, -55_459.914, 7.502_229, -7.45, 4.050_291e36, 4.084_956e36, -5.016_726_5, 1.461_632];
    (0..512)
        .filter(|top| top & 255 != 255)
        .flat_map(binade)
        .chain(known.into_iter().flat_map(around))
        .collect()
}

#[test]
fn f32_is_within_the_bound_of_the_row() {
    let xs = some();
    let wide: Vec<f64> = xs.iter().map(|x| f64::from(*x)).collect();
    for op in rows() {
        let (bound, scale) = (f64::from(op.row().ulp), op.row().scale.unwrap_or(0.0));
        let [_, want] = both64(op, &wide);
        for ((x, got), want) in xs.iter().zip(fast32(op, &xs)).zip(want) {
            let nearest = want as f32;
            // One ulp before the end of the range, a result may or may not be infinite.
            if want.is_nan() || want.abs() >= f64::from(f32::MAX.next_down()) {
                let same = got == nearest || got.is_nan() && nearest.is_nan();
                assert!(same || got.abs() >= f32::MAX.next_down(), "{op:?} of {x:e}: {got:e}, not {want:e}");
                continue;
            }
            let unit = (nearest.abs().max(f32::MIN_POSITIVE)).max(scale as f32);
            let error = (f64::from(got) - want).abs() / f64::from(unit.next_up() - unit);
            assert!(error <= bound, "{op:?} of {x:e}: {got:e}, not {want:e}, {error} ulp");
        }
    }
}

/// Rounded from 60 digits: where digamma's logarithm and cotangent cancel, and at the ends.
#[test]
fn f64_is_near_known_values() {
    let known: &[(ScalarOp, f64, f64)] = &[
        (ops::DIGAMMA, -2.6070816034452218, 0.03931325587522757),
        (ops::DIGAMMA, -3.3, 3.620353460592126),
        (ops::DIGAMMA, -39.77544998778038, 0.0068883316762359875),
        (ops::DIGAMMA, -40.3, 5.991207777718806),
        (ops::DIGAMMA, -999.864135186285, 0.0003641105443100705),
        (ops::DIGAMMA, -1000.3, 9.191055669255658),
        (ops::DIGAMMA, -69999.91262675548, 5.894155118803082e-06),
        (ops::DIGAMMA, -70000.3, 13.438762618004434),
        (ops::DIGAMMA, -4999999.936044703, -7.751380047740186e-09),
        (ops::DIGAMMA, -5000000.3, 17.70744930170932),
        (ops::DIGAMMA, -2999999999.9544873, -8.733648156974973e-05),
        (ops::DIGAMMA, -3000000000.3, 24.10437591821473),
        (ops::DIGAMMA, -3999999999999.966, -0.1272941850239288),
        (ops::DIGAMMA, -4000000000000.3, 31.30276265746715),
        (ops::DIGAMMA, -199999999999999.97, 1.0322129821191577),
        (ops::DIGAMMA, -200000000000000.3, 35.02848358264949),
        (ops::DIGAMMA, 1e-300, -9.999999999999999e+299),
        (ops::DIGAMMA, -1e-300, 9.999999999999999e+299),
        (ops::DIGAMMA, 0.3, -3.502524222200133),
        (ops::DIGAMMA, 1.46, -0.0015805619870834522),
        (ops::DIGAMMA, 7.5, 1.9467574842460869),
        (ops::DIGAMMA, 255.5, 5.541264185935889),
        (ops::DIGAMMA, 256.5, 5.545178080260742),
        (ops::DIGAMMA, 100000000.0, 18.420680738952367),
        (ops::DIGAMMA, 1e+18, 41.44653167389282),
        (ops::DIGAMMA, 1e+300, 690.7755278982137),
        (ops::GAMMALN, 1e-300, 690.7755278982137),
        (ops::GAMMALN, 0.5, 0.5723649429247001),
        (ops::GAMMALN, 2.5, 0.2846828704729192),
        (ops::GAMMALN, 9.99, 12.779315214350193),
        (ops::GAMMALN, 10.5, 13.940625219403763),
        (ops::GAMMALN, 10000000000.0, 220258509288.81058),
        (ops::GAMMALN, 1e+300, 6.897755278982137e+302),
        (ops::GAMMALN, 2.5e+305, 1.7555118602376452e+308),
        (ops::GAMMALN, 2.55e+305, 1.7906725941420033e+308),
        (ops::GAMMALN, 2.5563481638716902e+305, 1.795136786698444e+308),
        (ops::GAMMALN, -0.5, 1.2655121234846454),
        (ops::GAMMALN, -3.25, -0.6231534513209986),
        (ops::GAMMALN, -100000.25, -1051300.6088285744),
        (ops::I0, 1.0, 1.2660658777520084),
        (ops::I0, 3.7, 8.738617524169397),
        (ops::I0, 7.502229, 268.7182189791438),
        (ops::I0, 7.999, 427.1644313152026),
        (ops::I0, 8.001, 427.96417770840884),
        (ops::I0, 30.0, 781672297823.9775),
        (ops::I0, 700.0, 1.5295933476718737e+302),
        (ops::I1, 0.01, 0.005000062500260418),
        (ops::I1, -0.01, -0.005000062500260418),
        (ops::I1, 1.0, 0.565159103992485),
        (ops::I1, 3.7, 7.435745796535337),
        (ops::I1, 7.502229, 250.1084741497606),
        (ops::I1, -7.502229, -250.1084741497606),
        (ops::I1, 7.999, 399.49573621362),
        (ops::I1, 8.001, 400.25089627518514),
        (ops::I1, 30.0, 768532038938.957),
        (ops::I1, 700.0, 1.5285003902339006e+302),
        (ops::I1, -700.0, -1.5285003902339006e+302),
    ];
    for (op, x, want) in known {
        let unit = want.abs().max(op.row().scale.unwrap_or(0.0));
        for got in both64(*op, &[*x]) {
            let error = (got[0] - want).abs() / (unit.next_up() - unit);
            assert!(error <= 16.0, "{op:?} of {x:e}: {:e}, not {want:e}, {error} ulp", got[0]);
        }
    }
}
