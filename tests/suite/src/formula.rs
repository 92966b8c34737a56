//! Formulas as text, from the expressions in the rows of the table.

use workalike::DType;
use workalike::kernels::ops::{self as rows, Build, Ex, ScalarOp, Slope};

/// Operator precedence: the higher, the tighter.
const ATOM: u8 = 9;
const PREFIX: u8 = 7;

/// The infix operator of an op, and its precedence.
fn infix(op: ScalarOp) -> Option<(&'static str, u8)> {
    let known = [
        (rows::MUL, "*", 6),
        (rows::DIV, "/", 6),
        (rows::ADD, "+", 5),
        (rows::SUB, "-", 5),
        (rows::LT, "<", 4),
        (rows::LE, "<=", 4),
        (rows::GT, ">", 4),
        (rows::GE, ">=", 4),
        (rows::EQ, "==", 4),
        (rows::NE, "!=", 4),
        (rows::AND, "and", 3),
        (rows::OR, "or", 2),
    ];
    known.iter().find(|k| k.0 == op).map(|k| (k.1, k.2))
}

/// A builder of formulas as text.
struct Text(Vec<(String, u8, DType)>);

impl Text {
    fn push(&mut self, text: String, strength: u8, dtype: DType) -> Ex {
        self.0.push((text, strength, dtype));
        self.0.len() - 1
    }

    /// An operand of an operator of this precedence, in parentheses if necessary.
    fn part(&self, ex: Ex, strength: u8) -> String {
        let (text, own, _) = &self.0[ex];
        if *own < strength { format!("({text})") } else { text.clone() }
    }
}

impl Build for Text {
    fn op(&mut self, op: ScalarOp, args: &[Ex]) -> Ex {
        let given: Vec<DType> = args.iter().map(|&a| self.0[a].2).collect();
        let result = op.signature(&given).map_or(given[0], |s| s.result);
        if let (Some((sign, strength)), &[a, b]) = (infix(op), args) {
            let text = format!("{} {sign} {}", self.part(a, strength), self.part(b, strength + 1));
            return self.push(text, strength, result);
        }
        if op == rows::NEG {
            let text = format!("-{}", self.part(args[0], PREFIX));
            return self.push(text, PREFIX, result);
        }
        let args: Vec<String> = args.iter().map(|&a| self.part(a, 0)).collect();
        self.push(format!("{}({})", op.row().name, args.join(", ")), ATOM, result)
    }

    fn constant(&mut self, like: Ex, value: f64) -> Ex {
        let strength = if value < 0.0 { PREFIX } else { ATOM };
        let dtype = self.0[like].2;
        self.push(number(value), strength, dtype)
    }

    fn cast(&mut self, value: Ex, dtype: DType) -> Ex {
        let text = self.part(value, 0);
        self.push(format!("{dtype}({text})"), ATOM, dtype)
    }

    fn dtype(&self, value: Ex) -> DType {
        self.0[value].2
    }
}

/// A number with the digits that a reader needs.
fn number(value: f64) -> String {
    let short = format!("{value}");
    if short.len() <= 6 { short } else { format!("{value:.6}") }
}

/// The gradient of each argument `a`, `b`, `c`, `d` of an op with result `y` and its gradient `g`, of
/// float64.
pub fn gradients(op: ScalarOp) -> Vec<String> {
    let arity = op.row().arity;
    let Some(derivative) = op.row().derivative else { return vec!["0".into(); arity] };
    let dtypes = op.arguments_of(DType::F64);
    let mut text = Text(Vec::new());
    let args: Vec<Ex> =
        (0..arity).map(|i| text.push(["a", "b", "c", "d"][i].into(), ATOM, dtypes[i])).collect();
    let (y, g) = (text.push("y".into(), ATOM, DType::F64), text.push("g".into(), ATOM, DType::F64));
    let slopes = derivative(&mut text, &args, y, g);
    let said = |slope: &Slope| match *slope {
        Slope::Flat => "0".into(),
        Slope::Unknown => "unknown".into(),
        Slope::Is(ex) => text.part(ex, 0),
    };
    slopes.iter().map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_read_as_they_are_written() {
        assert_eq!(gradients(rows::MUL), ["g * b", "g * a"]);
        assert_eq!(gradients(rows::SUB), ["g", "-g"]);
        assert_eq!(gradients(rows::FLOOR), ["0"]);
        assert_eq!(gradients(rows::TAN), ["g * (y * y + 1)"]);
        assert_eq!(gradients(rows::WHERE)[0], "0");
    }
}
