//! The integer expressions of `#if`.

use super::super::literal::{NumberLiteral, literal};
use super::super::token::{Lexeme, Token, precedence, refuse};
use super::macros::Macros;
use crate::custom::SourceError;
use crate::dtype::DType;

/// Brackets that may be within each other.
const DEEPEST: usize = 64;

/// Whether the expression is not 0.
pub(super) fn holds(macros: &mut Macros, rest: &[Lexeme], line: usize) -> Result<bool, SourceError> {
    let all = macros.expand(&without_defined(macros, rest, line)?)?;
    let mut reader = ConditionParser { all: &all, at: 0, line, depth: 0, skipped: 0 };
    let value = reader.choice()?;
    match reader.peek() {
        Some(token) => refuse(line, format!("expected an operator in #if, found `{token}`")),
        None => Ok(value != 0),
    }
}

/// The tokens with `defined X` and `defined(X)` replaced by 0 or 1.
fn without_defined(macros: &Macros, rest: &[Lexeme], line: usize) -> Result<Vec<Lexeme>, SourceError> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(lexeme) = rest.get(at) {
        at += 1;
        if lexeme.token.word().is_none_or(|word| &**word != "defined") {
            out.push(lexeme.clone());
            continue;
        }
        let token = |at: usize| rest.get(at).map(|lexeme| &lexeme.token);
        let (name, length) = match (token(at), token(at + 1), token(at + 2)) {
            (Some(Token::Word(name)), _, _) => (name, 1),
            (Some(Token::Mark("(")), Some(Token::Word(name)), Some(Token::Mark(")"))) => (name, 3),
            _ => return refuse(line, "expected a name behind `defined`"),
        };
        at += length;
        let token = Token::Char(i64::from(macros.is_defined(name)));
        out.push(Lexeme { token, ..lexeme.clone() });
    }
    Ok(out)
}

struct ConditionParser<'a> {
    all: &'a [Lexeme],
    at: usize,
    line: usize,
    depth: usize,
    /// Parts around this one whose value does not count, so that it may divide by 0.
    skipped: usize,
}

impl ConditionParser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.all.get(self.at).map(|lexeme| &lexeme.token)
    }

    fn takes(&mut self, mark: &str) -> bool {
        let takes = self.peek().is_some_and(|token| token.is(mark));
        self.at += usize::from(takes);
        takes
    }

    fn expect(&mut self, mark: &str) -> Result<(), SourceError> {
        match self.takes(mark) {
            true => Ok(()),
            false => refuse(self.line, format!("expected `{mark}` in #if")),
        }
    }

    fn choice(&mut self) -> Result<i64, SourceError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return refuse(self.line, format!("an #if is nested deeper than {DEEPEST}"));
        }
        let condition = self.binary(1)?;
        let value = if self.takes("?") {
            let yes = self.skipping(condition == 0, Self::choice)?;
            self.expect(":")?;
            let no = self.skipping(condition != 0, Self::choice)?;
            if condition != 0 { yes } else { no }
        } else {
            condition
        };
        self.depth -= 1;
        Ok(value)
    }

    fn binary(&mut self, least: u8) -> Result<i64, SourceError> {
        let mut left = self.unary()?;
        while let Some(&Token::Mark(mark)) = self.peek() {
            let Some(strength) = precedence(mark).filter(|strength| *strength >= least) else { break };
            self.at += 1;
            let decided = mark == "&&" && left == 0 || mark == "||" && left != 0;
            let right = self.skipping(decided, |reader| reader.binary(strength + 1))?;
            left = match apply(mark, left, right) {
                Ok(value) => value,
                Err(_) if self.skipped > 0 => 0,
                Err(message) => return refuse(self.line, message),
            };
        }
        Ok(left)
    }

    /// Reads a part, whose value may not count.
    fn skipping<T>(&mut self, skips: bool, read: impl FnOnce(&mut Self) -> T) -> T {
        self.skipped += usize::from(skips);
        let done = read(self);
        self.skipped -= usize::from(skips);
        done
    }

    fn unary(&mut self) -> Result<i64, SourceError> {
        // Signs are read in a loop, and applied from the last to the first.
        let mut signs = Vec::new();
        while let Some(&Token::Mark(mark @ ("-" | "+" | "!" | "~"))) = self.peek() {
            signs.push(mark);
            self.at += 1;
        }
        let value = self.primary()?;
        Ok(signs.iter().rev().fold(value, |value, sign| match *sign {
            "-" => value.wrapping_neg(),
            "!" => i64::from(value == 0),
            "~" => !value,
            _ => value,
        }))
    }

    fn primary(&mut self) -> Result<i64, SourceError> {
        let token = self.peek().cloned();
        self.at += 1;
        match token {
            Some(Token::Mark("(")) => {
                let value = self.choice()?;
                self.expect(")")?;
                Ok(value)
            }
            Some(Token::Number(text)) => match literal(&text) {
                Ok(NumberLiteral { dtype: DType::F32 | DType::F64, .. }) => {
                    refuse(self.line, "expected integers in #if, found a float")
                }
                Ok(number) => Ok(number.bits.cast_signed()),
                Err(message) => refuse(self.line, message),
            },
            Some(Token::Char(number)) => Ok(number),
            // A name that is no macro is 0.
            Some(Token::Word(_)) => Ok(0),
            Some(other) => refuse(self.line, format!("expected a number in #if, found `{other}`")),
            None => refuse(self.line, "expected an expression behind #if"),
        }
    }
}

/// The value, or what is wrong.
fn apply(mark: &str, a: i64, b: i64) -> Result<i64, &'static str> {
    Ok(match mark {
        "*" => a.wrapping_mul(b),
        "/" if b != 0 => a.wrapping_div(b),
        "%" if b != 0 => a.wrapping_rem(b),
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "<<" if (0..64).contains(&b) => a.wrapping_shl(b as u32),
        ">>" if (0..64).contains(&b) => a.wrapping_shr(b as u32),
        "<<" | ">>" => return Err("a shift in #if by less than 0 or more than 63 bits"),
        "<" => i64::from(a < b),
        ">" => i64::from(a > b),
        "<=" => i64::from(a <= b),
        ">=" => i64::from(a >= b),
        "==" => i64::from(a == b),
        "!=" => i64::from(a != b),
        "&" => a & b,
        "^" => a ^ b,
        "|" => a | b,
        "&&" => i64::from(a != 0 && b != 0),
        "||" => i64::from(a != 0 || b != 0),
        _ => return Err("a division by zero in #if"),
    })
}
