//! The preprocessor: directives, macros and conditions.

mod condition;
mod macros;

use super::token::{Lexeme, Token, refuse, require_sound, tokens};
use crate::custom::SourceError;
use macros::{MOST_PARAMS, Macros};
use std::sync::Arc;

/// The tokens of a text behind the preprocessor.
pub(super) fn preprocessed(text: &str) -> Result<Vec<Lexeme>, SourceError> {
    let all = tokens(text)?;
    let mut run = Preprocessor { macros: Macros::default(), open: vec![], out: vec![] };
    let mut at = 0;
    while at < all.len() {
        let is_directive = |lexeme: &Lexeme| lexeme.first && lexeme.token.is("#");
        let rest = &all[at..];
        if is_directive(&all[at]) {
            let length = rest.iter().skip(1).position(|lexeme| lexeme.first);
            let end = length.map_or(all.len(), |length| at + 1 + length);
            run.directive(&all[at + 1..end], all[at].line)?;
            at = end;
        } else {
            let end = rest.iter().position(is_directive).map_or(all.len(), |length| at + length);
            if run.active() {
                require_sound(&all[at..end])?;
                let expanded = run.macros.expand(&all[at..end])?;
                run.out.extend(expanded);
            }
            at = end;
        }
    }
    match run.open.last() {
        Some(open) => refuse(open.line, "expected #endif for this condition, found the end"),
        None => without_pragmas(run.out),
    }
}

/// The tokens without `_Pragma("..")`.
fn without_pragmas(all: Vec<Lexeme>) -> Result<Vec<Lexeme>, SourceError> {
    let mut out = Vec::with_capacity(all.len());
    let mut rest = all.into_iter();
    while let Some(lexeme) = rest.next() {
        if lexeme.token.word().is_none_or(|word| &**word != "_Pragma") {
            out.push(lexeme);
            continue;
        }
        let follows: Vec<Option<Token>> = (0..3).map(|_| rest.next().map(|next| next.token)).collect();
        let [Some(Token::Mark("(")), Some(Token::Text(_)), Some(Token::Mark(")"))] = &follows[..] else {
            return refuse(lexeme.line, "expected _Pragma(\"..\")");
        };
    }
    Ok(out)
}

/// An `#if` that has not ended.
struct OpenConditional {
    line: usize,
    /// Whether the text around it counts.
    outer: bool,
    /// Whether the text here counts.
    active: bool,
    /// Whether a part of it counted.
    taken: bool,
    /// Whether its `#else` was seen.
    last: bool,
}

struct Preprocessor {
    macros: Macros,
    open: Vec<OpenConditional>,
    out: Vec<Lexeme>,
}

impl Preprocessor {
    fn active(&self) -> bool {
        self.open.last().is_none_or(|open| open.active)
    }

    /// A directive: what is behind its `#`.
    fn directive(&mut self, line: &[Lexeme], number: usize) -> Result<(), SourceError> {
        let Some((first, rest)) = line.split_first() else { return Ok(()) };
        let word = first.token.word().map_or("", |word| word);
        match word {
            "if" | "ifdef" | "ifndef" => {
                let outer = self.active();
                let holds = outer && self.holds(word, rest, number)?;
                self.open.push(OpenConditional {
                    line: number,
                    outer,
                    active: holds,
                    taken: holds,
                    last: false,
                });
                return Ok(());
            }
            "elif" | "else" => return self.alternative(word, rest, number),
            "endif" => {
                let open = self.open.pop();
                return open.map(|_| ()).map_or_else(|| refuse(number, "#endif without #if"), Ok);
            }
            _ if !self.active() => return Ok(()),
            _ => {}
        }
        match word {
            "define" => self.define(rest, number),
            "undef" => {
                let name = name_of(rest, number)?;
                self.macros.undefine(&name);
                Ok(())
            }
            "include" => match rest {
                [Lexeme { token: Token::Text(file), .. }] if &**file == "cluda.h" => Ok(()),
                _ => refuse(number, "expected #include \"cluda.h\"; there are no other files"),
            },
            "error" => {
                let words: Vec<String> = rest.iter().map(|lexeme| lexeme.token.to_string()).collect();
                refuse(number, format!("#error {}", words.join(" ")))
            }
            "pragma" | "line" | "warning" => Ok(()),
            _ => refuse(number, format!("#{} is no directive that is supported", first.token)),
        }
    }

    fn alternative(&mut self, word: &str, rest: &[Lexeme], number: usize) -> Result<(), SourceError> {
        let Some(open) = self.open.last().filter(|open| !open.last) else {
            return refuse(number, format!("#{word} without #if"));
        };
        let may = open.outer && !open.taken;
        let holds = may && (word == "else" || self.holds("if", rest, number)?);
        if let Some(open) = self.open.last_mut() {
            open.active = holds;
            open.taken |= holds;
            open.last = word == "else";
        }
        Ok(())
    }

    fn holds(&mut self, word: &str, rest: &[Lexeme], number: usize) -> Result<bool, SourceError> {
        match word {
            "ifdef" => Ok(self.macros.is_defined(&name_of(rest, number)?)),
            "ifndef" => Ok(!self.macros.is_defined(&name_of(rest, number)?)),
            _ => {
                require_sound(rest)?;
                condition::holds(&mut self.macros, rest, number)
            }
        }
    }

    fn define(&mut self, rest: &[Lexeme], number: usize) -> Result<(), SourceError> {
        let name = match rest.first().map(|lexeme| &lexeme.token) {
            Some(Token::Word(name)) if &**name != "defined" => name.clone(),
            _ => return refuse(number, "expected a name behind #define"),
        };
        let rest = &rest[1..];
        let is_function = rest.first().is_some_and(|lexeme| lexeme.token.is("(") && !lexeme.spaced);
        let (params, body) = if is_function { params(&rest[1..], number)? } else { (None, rest) };
        require_sound(body)?;
        self.macros.define(name, params, body.to_vec());
        Ok(())
    }
}

/// The only name of a line.
fn name_of(rest: &[Lexeme], number: usize) -> Result<Arc<str>, SourceError> {
    match rest.first().map(|lexeme| &lexeme.token) {
        Some(Token::Word(name)) => Ok(name.clone()),
        _ => refuse(number, "expected a name"),
    }
}

type Params<'a> = (Option<Vec<Arc<str>>>, &'a [Lexeme]);

/// The parameters of a macro behind its opening bracket, and its body.
fn params(rest: &[Lexeme], number: usize) -> Result<Params<'_>, SourceError> {
    let Some(end) = rest.iter().position(|lexeme| lexeme.token.is(")")) else {
        return refuse(number, "expected `)` behind the parameters of the macro");
    };
    let mut names = Vec::new();
    for (at, lexeme) in rest[..end].iter().enumerate() {
        match &lexeme.token {
            Token::Word(_) if names.len() == MOST_PARAMS => {
                return refuse(number, format!("a macro has more than {MOST_PARAMS} parameters"));
            }
            Token::Word(name) if at % 2 == 0 => names.push(name.clone()),
            Token::Mark(",") if at % 2 == 1 && at + 1 < end => {}
            Token::Mark("...") => return refuse(number, "macros with `...` are not supported"),
            other => return refuse(number, format!("expected names as parameters, found `{other}`")),
        }
    }
    Ok((Some(names), &rest[end + 1..]))
}
