//! The table of elementwise ops. One op is one row; see the parent module for what follows from it.

use super::host::{
    Select as Choose, Tiles, bools, compare, floats, lanes, lanes_mut, numbers, tile, tiles, waves,
};
use super::philox::philox_u64;
use super::vector::Vector;
use super::{Body, Build, CForm, Derivative, Ex, Row, ScalarOp, TypeRule};
use crate::dtype::DType;

/// Declares the table and one constant per row.
macro_rules! rows {
    ($($name:ident = $row:expr;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(u16)]
        enum Position { $($name),* }
        $(
            #[doc = concat!("The row `", stringify!($name), "`.")]
            pub const $name: ScalarOp = ScalarOp(Position::$name as u16);
        )*
        /// Every elementwise op.
        pub static TABLE: &[Row] = &[$($row),*];
    };
}

const fn row(name: &'static str, doc: &'static str, arity: usize, types: TypeRule, body: Body) -> Row {
    Row { name, doc, arity, types, body, derivative: None, flops: 1, ulp: 0 }
}

const fn primitive(host: fn(DType) -> Option<Tiles>, c: CForm) -> Body {
    Body::Primitive { host, c }
}

impl Row {
    const fn derivative(self, derivative: Derivative) -> Row {
        Row { derivative: Some(derivative), ..self }
    }
    const fn costs(self, flops: u32, ulp: u32) -> Row {
        Row { flops, ulp, ..self }
    }
}

use CForm::{Call, Helper, Infix, Prefix, Template};
use TypeRule::{Bits, Compare, Float, Logical, Number, NumberOrI8, Same, Select, TrueDivide};

rows! {
    ADD = row("add", "a + b; or, for bool", 2, Same,
        primitive(numbers!(float |a, b| a + b; int |a, b| a.wrapping_add(b); bool |a, b| a | b), Infix("+")))
        .derivative(|_, _, _, g| vec![Some(g), Some(g)]);
    SUB = row("subtract", "a - b", 2, Number,
        primitive(numbers!(float |a, b| a - b; int |a, b| a.wrapping_sub(b)), Infix("-")))
        .derivative(|b, _, _, g| vec![Some(g), Some(b.op(NEG, &[g]))]);
    MUL = row("multiply", "a * b; and, for bool", 2, Same,
        primitive(numbers!(float |a, b| a * b; int |a, b| a.wrapping_mul(b); bool |a, b| a & b), Infix("*")))
        .derivative(|b, x, _, g| vec![Some(b.op(MUL, &[g, x[1]])), Some(b.op(MUL, &[g, x[0]]))]);
    DIV = row("true_divide", "a / b in floats", 2, TrueDivide, primitive(floats!(|a, b| a / b), Infix("/")))
        .derivative(|b, x, y, g| {
            let da = b.op(DIV, &[g, x[1]]);
            let minus = b.op(NEG, &[da]);
            vec![Some(da), Some(b.op(MUL, &[minus, y]))]
        }).costs(4, 3);
    NEG = row("negative", "-a", 1, Number,
        primitive(numbers!(float |a| -a; int |a| a.wrapping_neg()), Prefix("-")))
        .derivative(|b, _, _, g| vec![Some(b.op(NEG, &[g]))]);
    SQR = row("sqr", "a * a", 1, NumberOrI8,
        primitive(numbers!(float |a| a * a; int |a| a.wrapping_mul(a)), Template("{0} * {0}")))
        .derivative(|b, x, _, g| {
            let two = b.constant(x[0], 2.0);
            let slope = b.op(MUL, &[two, x[0]]);
            vec![Some(b.op(MUL, &[g, slope]))]
        });
    SQRT = row("sqrt", "square root", 1, Float, primitive(floats!(|a| a.sqrt()), Call("sqrt")))
        .derivative(|b, _, y, g| {
            let half = b.constant(y, 0.5);
            let top = b.op(MUL, &[g, half]);
            vec![Some(b.op(DIV, &[top, y]))]
        }).costs(4, 3);
    EXP = row("exp", "e to the power a", 1, Float, primitive(floats!(|a| a.exp(); Vector::exp(a)), Call("exp")))
        .derivative(|b, _, y, g| vec![Some(b.op(MUL, &[g, y]))]).costs(8, 4);
    LOG = row("log", "natural logarithm", 1, Float, primitive(floats!(|a| a.ln(); Vector::log(a)), Call("log")))
        .derivative(|b, x, _, g| vec![Some(b.op(DIV, &[g, x[0]]))]).costs(8, 4);
    LOG1P = row("log1p", "log(1 + a), exact near 0", 1, Float, primitive(floats!(|a| a.ln_1p(); Vector::log1p(a)), Call("log1p")))
        .derivative(|b, x, _, g| {
            let one = b.constant(x[0], 1.0);
            let bottom = b.op(ADD, &[one, x[0]]);
            vec![Some(b.op(DIV, &[g, bottom]))]
        }).costs(8, 4);
    EXPM1 = row("expm1", "exp(a) - 1, exact near 0", 1, Float, primitive(floats!(|a| a.exp_m1(); Vector::expm1(a)), Call("expm1")))
        .derivative(|b, _, y, g| {
            let one = b.constant(y, 1.0);
            let slope = b.op(ADD, &[y, one]);
            vec![Some(b.op(MUL, &[g, slope]))]
        }).costs(10, 4);
    TANH = row("tanh", "hyperbolic tangent", 1, Float, primitive(floats!(|a| a.tanh(); Vector::tanh(a)), Call("tanh")))
        .derivative(|b, _, y, g| {
            let one = b.constant(y, 1.0);
            let square = b.op(MUL, &[y, y]);
            let slope = b.op(SUB, &[one, square]);
            vec![Some(b.op(MUL, &[g, slope]))]
        }).costs(16, 5);
    SIN = row("sin", "sine", 1, Float, primitive(waves!(|a| a.sin(); Vector::sin(a)), Call("sin")))
        .derivative(|b, x, _, g| {
            let slope = b.op(COS, &[x[0]]);
            vec![Some(b.op(MUL, &[g, slope]))]
        }).costs(16, 4);
    COS = row("cos", "cosine", 1, Float, primitive(waves!(|a| a.cos(); Vector::cos(a)), Call("cos")))
        .derivative(|b, x, _, g| {
            let sine = b.op(SIN, &[x[0]]);
            let slope = b.op(NEG, &[sine]);
            vec![Some(b.op(MUL, &[g, slope]))]
        }).costs(16, 4);
    SIGMOID = row("sigmoid", "1 / (1 + exp(-a)), without overflow", 1, Float,
        Body::Composition(|b, x| {
            // exp of minus |a| stays in (0, 1]; the two halves of the curve share it.
            let one = b.constant(x[0], 1.0);
            let minus = b.op(NEG, &[x[0]]);
            let magnitude = b.op(MAXIMUM, &[x[0], minus]);
            let negative = b.op(NEG, &[magnitude]);
            let e = b.op(EXP, &[negative]);
            let bottom = b.op(ADD, &[one, e]);
            let zero = b.constant(x[0], 0.0);
            let left = b.op(LT, &[x[0], zero]);
            let top = b.op(WHERE, &[left, e, one]);
            b.op(DIV, &[top, bottom])
        }))
        .derivative(|b, _, y, g| {
            let one = b.constant(y, 1.0);
            let rest = b.op(SUB, &[one, y]);
            let slope = b.op(MUL, &[y, rest]);
            vec![Some(b.op(MUL, &[g, slope]))]
        }).costs(20, 8);
    MAXIMUM = row("maximum", "the larger; NaN if either is", 2, Same,
        primitive(numbers!(float |a, b| if a > b || a.is_nan() { a } else { b }; int |a, b| a.max(b); bool |a, b| a | b),
            Template("({0} > {1} || {0} != {0}) ? {0} : {1}")))
        .derivative(|b, x, y, g| choose_equal(b, x, y, g));
    MINIMUM = row("minimum", "the smaller; NaN if either is", 2, Same,
        primitive(numbers!(float |a, b| if a < b || a.is_nan() { a } else { b }; int |a, b| a.min(b); bool |a, b| a & b),
            Template("({0} < {1} || {0} != {0}) ? {0} : {1}")))
        .derivative(|b, x, y, g| choose_equal(b, x, y, g));
    EQ = row("equal", "a == b", 2, Compare, primitive(compare!(|a, b| a == b), Infix("==")));
    NE = row("not_equal", "a != b", 2, Compare, primitive(compare!(|a, b| a != b), Infix("!=")));
    LT = row("less", "a < b", 2, Compare, primitive(compare!(|a, b| a < b), Infix("<")));
    LE = row("less_equal", "a <= b", 2, Compare, primitive(compare!(|a, b| a <= b), Infix("<=")));
    GT = row("greater", "a > b", 2, Compare, primitive(compare!(|a, b| a > b), Infix(">")));
    GE = row("greater_equal", "a >= b", 2, Compare, primitive(compare!(|a, b| a >= b), Infix(">=")));
    AND = row("logical_and", "both are nonzero", 2, Logical, primitive(bools!(|a, b| a & b), Infix("&&")));
    OR = row("logical_or", "either is nonzero", 2, Logical, primitive(bools!(|a, b| a | b), Infix("||")));
    NOT = row("logical_not", "is zero", 1, Logical, primitive(bools!(|a| a ^ 1), Prefix("!")));
    WHERE = row("where", "the second argument where the first is true, else the third", 3, Select,
        primitive(|dtype| Some(match dtype.size() {
            1 => tiles::<Choose<u8>>(),
            2 => tiles::<Choose<u16>>(),
            4 => tiles::<Choose<u32>>(),
            _ => tiles::<Choose<u64>>(),
        }), Template("{0} ? {1} : {2}")))
        .derivative(|b, x, _, g| {
            let zero = b.constant(g, 0.0);
            vec![None, Some(b.op(WHERE, &[x[0], g, zero])), Some(b.op(WHERE, &[x[0], zero, g]))]
        });
    PHILOX = row("philox", "64 random bits: words 2*lane and 2*lane+1 of Philox4x32-10 at (key, counter)", 3, Bits,
        primitive(|dtype| match dtype {
            DType::U64 => Some(tile!(u64 => u64; |key, counter, lane| philox_u64(key, counter, lane))),
            _ => None,
        }, Helper("philox"))).costs(60, 0);
    SHIFT_RIGHT = row("shift_right_u64", "a >> b for u64, b below 64", 2, Bits,
        primitive(|dtype| match dtype {
            DType::U64 => Some(tile!(u64 => u64; |a, b| a >> (b & 63))),
            _ => None,
        }, Template("{0} >> ({1} & 63)")));
}

/// Gradient of maximum and minimum: to whichever argument was chosen, to the first on ties.
fn choose_equal(b: &mut dyn Build, x: &[Ex], y: Ex, g: Ex) -> Vec<Option<Ex>> {
    let zero = b.constant(g, 0.0);
    let first = b.op(EQ, &[x[0], y]);
    vec![Some(b.op(WHERE, &[first, g, zero])), Some(b.op(WHERE, &[first, zero, g]))]
}
