//! Random integer expressions, compared with C's rules written down once more.

use super::Run;

/// A type by its bits and whether it is signed, as C ranks int, unsigned, long and unsigned long.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Ty {
    bits: u32,
    unsigned: bool,
}

impl Ty {
    fn wrap(self, value: i128) -> i128 {
        let low = value & ((1i128 << self.bits) - 1);
        if !self.unsigned && low >> (self.bits - 1) & 1 == 1 { low - (1 << self.bits) } else { low }
    }

    fn promoted(self) -> Ty {
        if self.bits < 32 { Ty { bits: 32, unsigned: false } } else { self }
    }

    fn common(self, other: Ty) -> Ty {
        let (a, b) = (self.promoted(), other.promoted());
        if a >= b { a } else { b }
    }

    fn name(self) -> String {
        format!("{}{}", if self.unsigned { "u" } else { "i" }, self.bits)
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % below
    }

    fn ty(&mut self) -> Ty {
        Ty { bits: 8 << self.next(4), unsigned: self.next(2) == 1 }
    }

    /// An expression of variables and casts, with its type and value.
    fn expr(&mut self, depth: u32, vars: &[(String, Ty, i128)]) -> (String, Ty, i128) {
        if depth == 0 {
            return vars[self.next(vars.len() as u64) as usize].clone();
        }
        let (a, x, u) = self.expr(depth - 1, vars);
        if self.next(4) == 0 {
            let to = self.ty();
            return (format!("({}){a}", to.name()), to, to.wrap(u));
        }
        if self.next(5) == 0 {
            let to = x.promoted();
            return (format!("(-{a})"), to, to.wrap(-to.wrap(u)));
        }
        let (b, y, v) = self.expr(depth - 1, vars);
        let ty = x.common(y);
        let (p, q) = (ty.wrap(u), ty.wrap(v));
        let int = Ty { bits: 32, unsigned: false };
        let (op, ty, value) = match self.next(11) {
            0 => ("+", ty, p + q),
            1 => ("-", ty, p - q),
            2 => ("*", ty, p.wrapping_mul(q)),
            3 if q != 0 => ("/", ty, p / q),
            4 if q != 0 => ("%", ty, p % q),
            5 => ("&", ty, p & q),
            6 => ("|", ty, p | q),
            7 => ("^", ty, p ^ q),
            8 => ("<", int, i128::from(p < q)),
            9 => ("==", int, i128::from(p == q)),
            _ => {
                let ty = x.promoted();
                // A count beyond the bits is an error.
                let mask = ty.bits - 1;
                let value = ty.wrap(u) >> (y.promoted().wrap(v) & i128::from(mask));
                return (format!("({a} >> ({b} & {mask}))"), ty, ty.wrap(value));
            }
        };
        (format!("({a} {op} {b})"), ty, ty.wrap(value))
    }
}

#[test]
fn integer_expressions_are_those_of_c() {
    let mut random = Random(1);
    for _ in 0..40 {
        let mut vars = Vec::new();
        let (mut declared, mut lines, mut want) = (String::new(), String::new(), Vec::new());
        for at in 0..6 {
            let ty = random.ty();
            let value = ty.wrap(
                (i128::from(random.next(1 << 31)) << random.next(40)) * (1 - 2 * i128::from(random.next(2))),
            );
            let bits = Ty { bits: 64, unsigned: true }.wrap(value);
            declared += &format!("{} v{at} = ({}){bits}ull;\n", ty.name(), ty.name());
            vars.push((format!("v{at}"), ty, value));
        }
        for at in 0..20 {
            let (text, _, value) = random.expr(1 + at % 4, &vars);
            lines += &format!("out[{at}] = (i64){text};\n");
            want.push(Ty { bits: 64, unsigned: false }.wrap(value) as i64);
        }
        let text = format!("KERNEL void k(GLOBAL_MEM i64 *out) {{\n{declared}{lines}}}");
        let found = Run::of(&text).output(&[0i64; 20]).first::<i64>();
        for (at, (found, want)) in found.iter().zip(&want).enumerate() {
            assert_eq!(found, want, "{}", text.lines().nth(7 + at).unwrap());
        }
    }
}
