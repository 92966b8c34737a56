//! Calls: functions of the text, of the dialect, and of the math library.

use super::super::arithmetic::{Fn1, Fn2};
use super::super::expr::{Expr, ExprKind};
use super::super::math::{Math, extreme, magnitude, math};
use super::super::token::refuse;
use super::super::types::{Type, common, promoted};
use super::{Entity, Parsed, Parser};
use crate::dtype::DType;

impl Parser<'_> {
    /// A call of the word that is next.
    pub(super) fn call(&mut self, word: &str, line: usize) -> Parsed<Expr> {
        let entity = self.find(word).cloned();
        if entity.is_none() && !is_builtin(word) && self.access(word).is_none() {
            if word.starts_with("shuffle_") {
                return refuse(line, format!("`{word}` is there only where HAS_SHUFFLE is defined"));
            }
            let double = word.strip_suffix('f').filter(|name| math(name).is_some());
            return match double {
                Some(name) => {
                    refuse(line, format!("`{word}` is not part of the dialect; use {name}, also for f32"))
                }
                None => match super::super::math::instead(word) {
                    Some(_) => self.unknown(word),
                    None => refuse(line, format!("unknown function `{word}`")),
                },
            };
        }
        self.at += 1;
        let args = self.within(Self::arguments)?;
        match entity {
            Some(Entity::Function(at)) => self.call_function(at, args, line),
            Some(_) => refuse(line, format!("`{word}` is no function")),
            None => self.builtin(word, args, line),
        }
    }

    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.expect("(")?;
        let mut args = Vec::new();
        if self.takes(")") {
            return Ok(args);
        }
        loop {
            args.push(self.assignment()?);
            if !self.takes(",") {
                self.expect(")")?;
                return Ok(args);
            }
        }
    }

    fn call_function(&mut self, at: usize, args: Vec<Expr>, line: usize) -> Parsed<Expr> {
        let Some(function) = self.functions.get(at) else { return refuse(line, "an unknown function") };
        let (name, result) = (function.name.clone(), function.result.clone());
        if function.is_kernel {
            return refuse(line, format!("`{name}` is a kernel, which cannot be called"));
        }
        let params: Vec<Type> =
            function.variables.iter().take(function.params).map(|v| v.ty.clone()).collect();
        if params.len() != args.len() {
            return refuse(
                line,
                format!("expected {} arguments of `{name}`, found {}", params.len(), args.len()),
            );
        }
        let args =
            args.into_iter().zip(&params).map(|(arg, ty)| self.converted(arg, ty)).collect::<Parsed<_>>()?;
        self.current()?.calls.insert(at);
        self.node(ExprKind::Call(at, args), result, line)
    }

    fn builtin(&mut self, word: &str, args: Vec<Expr>, line: usize) -> Parsed<Expr> {
        if let Some((access, dtype)) = self.access(word) {
            return self.access_call(word, access, dtype, args, line);
        }
        let found = args.len();
        let wrong = |expected: usize| {
            refuse(line, format!("expected {expected} arguments of `{word}`, found {found}"))
        };
        match word {
            "local_barrier" | "global_barrier" => {
                if found != 0 {
                    return wrong(0);
                }
                self.current()?.has_barrier = true;
                self.node(ExprKind::Barrier, Type::Void, line)
            }
            "abs" => {
                let Ok([of]) = <[Expr; 1]>::try_from(args) else { return wrong(1) };
                let (of, dtype) = self.number(of)?;
                let dtype = promoted(dtype);
                let Some(function) = magnitude(dtype) else {
                    return refuse(line, "expected an integer for `abs`; use fabs for floats");
                };
                let of = self.to_number(of, dtype)?;
                self.apply1(function, of, Type::Number(dtype), line)
            }
            "min" | "max" => {
                let Ok([a, b]) = <[Expr; 2]>::try_from(args) else { return wrong(2) };
                let ((a, x), (b, y)) = (self.number(a)?, self.number(b)?);
                let dtype = common(x, y);
                let Some(function) = extreme(word == "max", dtype) else {
                    return refuse(line, format!("expected numbers for `{word}`"));
                };
                let of = [self.to_number(a, dtype)?, self.to_number(b, dtype)?];
                self.apply2(function, of, Type::Number(dtype), line)
            }
            word => match math(word) {
                Some(function) => self.math_call(word, function, args, line),
                None => refuse(line, format!("unknown function `{word}`")),
            },
        }
    }

    /// A function of the math library, in f32 or f64.
    fn math_call(&mut self, word: &str, function: Math, args: Vec<Expr>, line: usize) -> Parsed<Expr> {
        let expected = match function {
            Math::One(..) | Math::Is(..) => 1,
            Math::Two(..) | Math::WithInt(..) => 2,
            Math::Three(..) => 3,
        };
        if args.len() != expected {
            return refuse(line, format!("expected {expected} arguments of `{word}`, found {}", args.len()));
        }
        let args = args.into_iter().map(|arg| self.number(arg)).collect::<Parsed<Vec<_>>>()?;
        let floats = if matches!(function, Math::WithInt(..)) { &args[..1] } else { &args[..] };
        let dtype = floats.iter().map(|(_, dtype)| *dtype).reduce(common).unwrap_or(DType::F32);
        if !dtype.is_float() {
            return refuse(line, format!("expected a float for `{word}`, found {}", dtype.short()));
        }
        let single = dtype == DType::F32;
        let is_int = matches!(function, Math::Is(..));
        let ty = if is_int { Type::INT } else { Type::Number(dtype) };
        let with_int = matches!(function, Math::WithInt(..));
        let of = args
            .into_iter()
            .enumerate()
            .map(|(at, (arg, _))| self.to_number(arg, if with_int && at == 1 { DType::I32 } else { dtype }));
        let of = of.collect::<Parsed<Vec<Expr>>>()?;
        match (function, <[Expr; 1]>::try_from(of)) {
            (Math::One(f32, f64) | Math::Is(f32, f64), Ok([a])) => {
                let function: Fn1 = if single { f32 } else { f64 };
                self.apply1(function, a, ty, line)
            }
            (Math::Two(f32, f64) | Math::WithInt(f32, f64), Err(of)) => match <[Expr; 2]>::try_from(of) {
                Ok(of) => {
                    let function: Fn2 = if single { f32 } else { f64 };
                    self.apply2(function, of, ty, line)
                }
                Err(_) => refuse(line, "expected two arguments"),
            },
            (Math::Three(f32, f64), Err(of)) => match <[Expr; 3]>::try_from(of) {
                Ok(of) => {
                    let function = if single { f32 } else { f64 };
                    self.node(ExprKind::Apply3(function, Box::new(of)), ty, line)
                }
                Err(_) => refuse(line, "expected three arguments"),
            },
            _ => refuse(line, "expected other arguments"),
        }
    }
}

fn is_builtin(word: &str) -> bool {
    matches!(word, "local_barrier" | "global_barrier" | "min" | "max" | "abs") || math(word).is_some()
}
