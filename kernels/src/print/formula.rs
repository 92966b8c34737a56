//! Functions of the prelude whose text is printed from a formula of the op table.

use super::{Dialect, expr};
use crate::dtype::DType;
use crate::ops::{Build, CForm, Ex, OpBody, ScalarOp};
use crate::scalar::Scalar;
use std::collections::HashMap;

/// Name and text of the functions that kernels call.
pub(super) fn functions(dialect: Dialect, f64: bool, kernels: &str) -> Vec<(String, String)> {
    let dtypes: &[DType] = if f64 { &[DType::F32, DType::F64] } else { &[DType::F32] };
    let mut all = Vec::new();
    for op in ScalarOp::all() {
        let OpBody::Primitive { c: CForm::Written(formula), .. } = op.row().body else { continue };
        for &dtype in dtypes.iter().filter(|d| kernels.contains(&format!("{}(", name(op, **d)))) {
            all.push((name(op, dtype), text(dialect, op, formula, dtype)));
        }
    }
    all
}

/// The name of an op's function.
pub(super) fn name(op: ScalarOp, register: DType) -> String {
    format!("{}_{}", op.row().name, register.short())
}

fn text(dialect: Dialect, op: ScalarOp, formula: fn(&mut dyn Build, &[Ex]) -> Ex, dtype: DType) -> String {
    let t = dtype.short();
    let parameters: Vec<String> = (0..op.row().arity).map(|at| format!("a{at}")).collect();
    let mut body = Statements {
        dialect,
        values: parameters.iter().map(|p| (p.clone(), dtype)).collect(),
        known: HashMap::new(),
        lines: String::new(),
    };
    let args: Vec<Ex> = (0..parameters.len()).collect();
    let result = formula(&mut body, &args);
    let list: Vec<String> = parameters.iter().map(|p| format!("{t} {p}")).collect();
    let result = &body.values[result].0;
    format!("$fn {t} {}({}) {{\n{}    return {result};\n}}\n", name(op, dtype), list.join(", "), body.lines)
}

/// A formula as statements: one for each op, without duplicates.
struct Statements {
    dialect: Dialect,
    values: Vec<(String, DType)>,
    known: HashMap<String, Ex>,
    lines: String,
}

impl Statements {
    fn push(&mut self, text: String, dtype: DType) -> Ex {
        if let Some(&same) = self.known.get(&text) {
            return same;
        }
        let at = self.values.len();
        self.lines += &format!("    const {} v{at} = {text};\n", dtype.register().short());
        self.values.push((format!("v{at}"), dtype));
        self.known.insert(text, at);
        at
    }
}

impl Build for Statements {
    fn op(&mut self, op: ScalarOp, args: &[Ex]) -> Ex {
        let given: Vec<DType> = args.iter().map(|&a| self.values[a].1).collect();
        // The arguments of ops in formulas have dtypes that the rows' signatures accept.
        let Some(signature) = op.signature(&given) else {
            debug_assert!(false, "{op:?} does not accept {given:?}");
            return args.first().copied().unwrap_or(0);
        };
        let args: Vec<Ex> = args.iter().zip(&signature.args).map(|(&a, &d)| self.cast(a, d)).collect();
        if let OpBody::Composition(compose) = op.row().body {
            return compose(self, &args);
        }
        let names: Vec<&str> = args.iter().map(|&a| self.values[a].0.as_str()).collect();
        let text = expr::op(self.dialect, op, signature.computing(), signature.result, &names);
        self.push(text, signature.result)
    }

    fn constant(&mut self, like: Ex, value: f64) -> Ex {
        let dtype = self.values[like].1;
        let text = expr::literal(self.dialect, Scalar::from_f64(dtype, value));
        let at = self.values.len();
        self.values.push((text, dtype));
        at
    }

    fn cast(&mut self, value: Ex, dtype: DType) -> Ex {
        let from = self.values[value].1;
        if from == dtype {
            return value;
        }
        let text = expr::cast(from, dtype, &self.values[value].0);
        self.push(text, dtype)
    }

    fn dtype(&self, value: Ex) -> DType {
        self.values[value].1
    }
}
