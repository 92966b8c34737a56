//! Macros and their expansion (D. Prosser's algorithm, with a set of hidden names for each token).

use super::super::token::{Lexeme, Token, refuse};
use crate::custom::{SourceError, dialect};
use std::collections::HashMap;
use std::sync::Arc;

/// Tokens that a text may expand to.
const MOST_TOKENS: usize = 1 << 20;
/// Macros that may be within each other.
const MOST_NESTED: usize = 256;
/// Parameters of a macro at most.
pub(super) const MOST_PARAMS: usize = 256;
/// Arguments of macros that may be within each other.
const DEEPEST: usize = 64;

/// What a name is replaced by.
#[derive(Clone, Debug)]
struct Macro {
    /// Its number among all that were defined.
    number: u32,
    name: Arc<str>,
    /// `None` for a macro without brackets.
    params: Option<Vec<Arc<str>>>,
    body: Vec<Lexeme>,
}

/// The macros that are defined.
#[derive(Debug)]
pub(super) struct Macros {
    known: HashMap<Arc<str>, Arc<Macro>>,
    defined: u32,
    /// Tokens that may still be made.
    budget: usize,
    depth: usize,
}

impl Default for Macros {
    fn default() -> Macros {
        Macros { known: HashMap::new(), defined: 0, budget: MOST_TOKENS, depth: 0 }
    }
}

/// The macros that a token does not expand: their numbers, in order.
type Hidden = Arc<Vec<u32>>;

#[derive(Clone)]
struct PendingLexeme {
    lexeme: Lexeme,
    hidden: Hidden,
}

impl Macros {
    pub(super) fn define(&mut self, name: Arc<str>, params: Option<Vec<Arc<str>>>, body: Vec<Lexeme>) {
        self.defined += 1;
        let is = Macro { number: self.defined, name: name.clone(), params, body };
        self.known.insert(name, Arc::new(is));
    }

    pub(super) fn undefine(&mut self, name: &str) {
        self.known.remove(name);
    }

    /// Whether a name is a macro. On devices the keywords of the dialect are.
    pub(super) fn is_defined(&self, name: &str) -> bool {
        self.known.contains_key(name) || dialect::is_keyword(name)
    }

    /// The tokens with all macros replaced.
    pub(super) fn expand(&mut self, all: &[Lexeme]) -> Result<Vec<Lexeme>, SourceError> {
        let none = Hidden::default();
        let pending =
            all.iter().map(|lexeme| PendingLexeme { lexeme: lexeme.clone(), hidden: none.clone() }).collect();
        Ok(self.expanded(pending)?.into_iter().map(|done| done.lexeme).collect())
    }

    fn expanded(&mut self, mut pending: Vec<PendingLexeme>) -> Result<Vec<PendingLexeme>, SourceError> {
        pending.reverse();
        let mut out = Vec::new();
        while let Some(next) = pending.pop() {
            let known = next.lexeme.token.word().and_then(|name| self.known.get(name));
            let Some(is) = known.filter(|is| next.hidden.binary_search(&is.number).is_err()).cloned() else {
                out.push(next);
                continue;
            };
            let (line, name) = (next.lexeme.line, &is.name);
            let made = match &is.params {
                None => {
                    let hidden = self.union(&next.hidden, &Arc::new(vec![is.number]), line)?;
                    self.body(&is, &[], &hidden, line)?
                }
                Some(params) => {
                    if !pending.last().is_some_and(|after| after.lexeme.token.is("(")) {
                        out.push(next);
                        continue;
                    }
                    let (args, close) = arguments(&mut pending, name, line)?;
                    let given =
                        if params.is_empty() && args.iter().all(Vec::is_empty) { 0 } else { args.len() };
                    if given != params.len() {
                        let expected = format!("{} arguments of macro {name}", params.len());
                        return refuse(line, format!("expected {expected}, found {given}"));
                    }
                    let both = |number: &&u32| close.binary_search(number).is_ok();
                    let common = next.hidden.iter().filter(both).copied().collect();
                    let hidden = self.union(&Arc::new(common), &Arc::new(vec![is.number]), line)?;
                    let args = self.expanded_arguments(args, line)?;
                    self.body(&is, &args, &hidden, line)?
                }
            };
            pending.extend(made.into_iter().rev());
        }
        Ok(out)
    }

    fn expanded_arguments(
        &mut self,
        args: Vec<Vec<PendingLexeme>>,
        line: usize,
    ) -> Result<Vec<Vec<PendingLexeme>>, SourceError> {
        if self.depth == DEEPEST {
            return refuse(line, format!("macros are nested deeper than {DEEPEST} in arguments"));
        }
        self.depth += 1;
        let all = args.into_iter().map(|arg| self.expanded(arg)).collect();
        self.depth -= 1;
        all
    }

    /// The body of a macro with its arguments, in the line where it is used.
    fn body(
        &mut self,
        is: &Macro,
        args: &[Vec<PendingLexeme>],
        hidden: &Hidden,
        line: usize,
    ) -> Result<Vec<PendingLexeme>, SourceError> {
        if let Some(sign) = is.body.iter().find(|lexeme| lexeme.token.is("#") || lexeme.token.is("##")) {
            return refuse(line, format!("`{}` in macro {} is not supported", sign.token, is.name));
        }
        let mut made: Vec<PendingLexeme> = Vec::new();
        for lexeme in &is.body {
            let param = |word: &Arc<str>| is.params.as_ref()?.iter().position(|param| param == word);
            let arg = lexeme.token.word().and_then(param).and_then(|at| args.get(at));
            let count = arg.map_or(1, Vec::len);
            self.spend(count.max(1), line)?;
            match arg {
                Some(arg) => {
                    for token in arg {
                        let hidden = self.union(&token.hidden, hidden, line)?;
                        made.push(PendingLexeme { lexeme: Lexeme { line, ..token.lexeme.clone() }, hidden });
                    }
                }
                None => made.push(PendingLexeme {
                    lexeme: Lexeme { line, ..lexeme.clone() },
                    hidden: hidden.clone(),
                }),
            }
        }
        // An empty body counts as well, so that the number of steps is bounded.
        self.spend(1, line)?;
        Ok(made)
    }

    /// Deducts tokens from the budget of expansion.
    fn spend(&mut self, tokens: usize, line: usize) -> Result<(), SourceError> {
        match self.budget.checked_sub(tokens) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => refuse(line, format!("macros expand to more than {MOST_TOKENS} tokens")),
        }
    }

    /// Both sets. Large ones count as tokens, so that their time and memory is bounded.
    fn union(&mut self, a: &Hidden, b: &Hidden, line: usize) -> Result<Hidden, SourceError> {
        self.spend((a.len() + b.len()) / 8, line)?;
        if a.is_empty() || Arc::ptr_eq(a, b) {
            return Ok(b.clone());
        }
        let mut all: Vec<u32> = a.iter().chain(b.iter()).copied().collect();
        all.sort_unstable();
        all.dedup();
        match all.len() <= MOST_NESTED {
            true => Ok(if all.len() == a.len() { a.clone() } else { Arc::new(all) }),
            false => refuse(line, format!("macros are nested deeper than {MOST_NESTED}")),
        }
    }
}

/// The arguments of a macro, whose opening bracket is next, and the hidden names of the closing bracket.
fn arguments(
    pending: &mut Vec<PendingLexeme>,
    name: &str,
    line: usize,
) -> Result<(Vec<Vec<PendingLexeme>>, Hidden), SourceError> {
    pending.pop();
    let mut args = vec![vec![]];
    let mut depth = 0usize;
    while let Some(next) = pending.pop() {
        match &next.lexeme.token {
            Token::Mark(")") if depth == 0 => return Ok((args, next.hidden)),
            Token::Mark(",") if depth == 0 => {
                args.push(vec![]);
                continue;
            }
            Token::Mark("(") => depth += 1,
            Token::Mark(")") => depth -= 1,
            _ => {}
        }
        if let Some(last) = args.last_mut() {
            last.push(next);
        }
    }
    refuse(line, format!("expected `)` behind the arguments of macro {name}, found the end"))
}
