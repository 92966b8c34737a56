//! Products, linear algebra, Fourier transforms, complex numbers as pairs.

use super::{Made, one};
use crate::arguments::{Arguments, list};
use crate::errors::raised;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use workalike::graph::Variable;
use workalike::ops::linalg::SolveTriangular;
use workalike::ops::{self, TensordotAxes, fft, linalg};

pub(super) fn call(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    for family in [products, decompositions, transforms] {
        if let Some(made) = family(name, given)? {
            return Ok(Some(made));
        }
    }
    Ok(None)
}

fn products(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    let pair = |given: &mut Arguments<'_>| -> PyResult<[Variable; 2]> {
        Ok([given.variable("x1")?, given.variable("x2")?])
    };
    match name {
        "dot" | "matmul" | "outer" | "inner" | "kron" | "vdot" => {
            let [a, b] = pair(given)?;
            one(match name {
                "dot" => a.try_dot(b),
                "matmul" => a.try_matmul(b),
                "outer" => a.try_outer(b),
                "inner" => a.try_inner(b),
                "kron" => a.try_kron(b),
                _ => a.try_vdot(b),
            })
        }
        "vecdot" | "cross" => {
            let [a, b] = pair(given)?;
            let axis = given.axis(-1)?;
            one(if name == "cross" { a.try_cross(b, axis) } else { a.try_vecdot(b, axis) })
        }
        "tensordot" => {
            let [a, b] = pair(given)?;
            let axes = match given.option("axes")? {
                None => TensordotAxes::Count(2),
                Some(axes) => match axes.extract::<usize>() {
                    Ok(count) => TensordotAxes::Count(count),
                    Err(_) => {
                        let [first, second] = axes.extract::<[Bound<'_, PyAny>; 2]>()?;
                        TensordotAxes::Lists(list(&first)?, list(&second)?)
                    }
                },
            };
            one(a.try_tensordot(b, axes))
        }
        "einsum" => {
            let subscripts: String = given.get("subscripts")?;
            let operands =
                given.rest().iter().map(crate::operand::variable_of).collect::<PyResult<Vec<_>>>()?;
            one(ops::try_einsum(&subscripts, operands))
        }
        "multi_dot" => one(Ok(ops::multi_dot(given.variables("arrays")?))),
        _ => Ok(None),
    }
}

fn decompositions(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    let Some(name) = name.strip_prefix("linalg.") else { return Ok(None) };
    let a = given.variable("a")?;
    match name {
        "cholesky" => {
            let (upper, on_error) = (given.get_or("upper", false)?, given.option("on_error")?);
            let on_error = on_error.map_or(Ok("raise".to_string()), |text| text.extract())?;
            one(match (on_error.as_str(), upper) {
                ("raise", false) => linalg::try_cholesky(a),
                ("raise", true) => linalg::try_cholesky_upper(a),
                ("nan", false) => linalg::try_cholesky_or_nan(a),
                ("nan", true) => {
                    let lower = a.try_swapaxes(-1, -2).and_then(linalg::try_cholesky_or_nan);
                    lower.and_then(|lower| lower.try_swapaxes(-1, -2))
                }
                (other, _) => {
                    let message = format!("cholesky: on_error is 'raise' or 'nan', got {other:?}");
                    return Err(PyValueError::new_err(message));
                }
            })
        }
        "inv" => one(linalg::try_inv(a)),
        "det" => one(linalg::try_det(a)),
        "solve" => one(linalg::try_solve(a, given.variable("b")?)),
        "slogdet" => {
            let parts = linalg::try_slogdet(a).map_err(raised)?;
            Ok(Some(Made::Several(parts.to_vec())))
        }
        "solve_triangular" => {
            let b = given.variable("b")?;
            let triangle = SolveTriangular {
                lower: given.get_or("lower", false)?,
                transposed: false,
                unit_diagonal: given.get_or("unit_diagonal", false)?,
            };
            let triangle = if given.get_or("trans", 0)? == 0 { triangle } else { triangle.transposed() };
            one(linalg::try_solve_triangular(a, b, triangle))
        }
        "norm" => {
            let order = given.option("ord")?;
            let one_axis = a.ndim() < 2 || given.names("axis");
            let order = match order {
                None => 2.0,
                Some(name) if name.extract::<String>().is_ok_and(|name| name == "fro") => 2.0,
                Some(order) if one_axis => order.extract()?,
                Some(_) => {
                    return given
                        .refuse("of a matrix there is the Frobenius norm alone (ord=None or \"fro\")");
                }
            };
            one(a.try_norm(order, given.reduction("norm")?))
        }
        _ => Ok(None),
    }
}

fn transforms(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    let Some(name) = name.strip_prefix("fft.") else { return Ok(None) };
    if name == "fftfreq" || name == "rfftfreq" {
        let (n, d) = (given.operand("n")?, given.operand_or("d", workalike::graph::Operand::Float(1.0))?);
        return one(Ok(if name == "fftfreq" { fft::fftfreq(n, d) } else { fft::rfftfreq(n, d) }));
    }
    let x = given.variable("x")?;
    one(match name {
        "fft" => fft::try_fft(x),
        "ifft" => fft::try_ifft(x),
        "rfft" => fft::try_rfft(x),
        "irfft" => fft::try_irfft(x),
        "fftn" => fft::try_fftn(x),
        "ifftn" => fft::try_ifftn(x),
        "rfftn" => fft::try_rfftn(x),
        "irfftn" => fft::try_irfftn(x),
        _ => return Ok(None),
    })
}
