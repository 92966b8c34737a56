//! Macros and their expansion (D. Prosser's algorithm, with a set of hidden names for each token).

use super::super::token::{Lexeme, Token, refuse};
use crate::custom::{SourceError, dialect};
use std::collections::HashMap;
use std::sync::Arc;

/// Tokens that a text may expand to.
const MOST_TOKENS: usize = 1 << 20;
/// Macros that may be within each other.
const MOST_NESTED: usize = 256;
/// Arguments of macros that may be within each other.
const DEEPEST: usize = 64;

/// What a name is replaced by.
#[derive(Clone, Debug)]
pub(super) struct Macro {
    /// `None` for a macro without brackets.
    pub(super) params: Option<Vec<Arc<str>>>,
    pub(super) body: Vec<Lexeme>,
}

/// The macros that are defined.
#[derive(Debug)]
pub(super) struct Macros {
    known: HashMap<Arc<str>, Arc<Macro>>,
    /// Tokens that may still be made.
    budget: usize,
    depth: usize,
}

impl Default for Macros {
    fn default() -> Macros {
        Macros { known: HashMap::new(), budget: MOST_TOKENS, depth: 0 }
    }
}

/// The names that a token does not expand.
type Hidden = Arc<Vec<Arc<str>>>;

#[derive(Clone)]
struct Pending {
    lexeme: Lexeme,
    hidden: Hidden,
}

impl Macros {
    pub(super) fn define(&mut self, name: Arc<str>, is: Macro) {
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
            all.iter().map(|lexeme| Pending { lexeme: lexeme.clone(), hidden: none.clone() }).collect();
        Ok(self.expanded(pending)?.into_iter().map(|done| done.lexeme).collect())
    }

    fn expanded(&mut self, mut pending: Vec<Pending>) -> Result<Vec<Pending>, SourceError> {
        pending.reverse();
        let mut out = Vec::new();
        while let Some(next) = pending.pop() {
            let name = match &next.lexeme.token {
                Token::Word(name) if !next.hidden.contains(name) => name.clone(),
                _ => {
                    out.push(next);
                    continue;
                }
            };
            let line = next.lexeme.line;
            let Some(is) = self.known.get(&name).cloned() else {
                out.push(next);
                continue;
            };
            let made = match &is.params {
                None => {
                    let hidden = with(&next.hidden, name, line)?;
                    self.body(&is, &[], &hidden, line)?
                }
                Some(params) => {
                    if !pending.last().is_some_and(|after| after.lexeme.token.is("(")) {
                        out.push(next);
                        continue;
                    }
                    let (args, close) = arguments(&mut pending, &name, line)?;
                    let given =
                        if params.is_empty() && args.iter().all(Vec::is_empty) { 0 } else { args.len() };
                    if given != params.len() {
                        let expected = format!("{} arguments of macro {name}", params.len());
                        return refuse(line, format!("expected {expected}, found {given}"));
                    }
                    let common = next.hidden.iter().filter(|name| close.contains(name)).cloned().collect();
                    let hidden = with(&Arc::new(common), name, line)?;
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
        args: Vec<Vec<Pending>>,
        line: usize,
    ) -> Result<Vec<Vec<Pending>>, SourceError> {
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
        args: &[Vec<Pending>],
        hidden: &Hidden,
        line: usize,
    ) -> Result<Vec<Pending>, SourceError> {
        let mut made: Vec<Pending> = Vec::new();
        for lexeme in &is.body {
            let param = |word: &Arc<str>| is.params.as_ref()?.iter().position(|param| param == word);
            let arg = lexeme.token.word().and_then(param).and_then(|at| args.get(at));
            let count = arg.map_or(1, Vec::len);
            let Some(left) = self.budget.checked_sub(count.max(1)) else {
                return refuse(line, format!("macros expand to more than {MOST_TOKENS} tokens"));
            };
            self.budget = left;
            match arg {
                Some(arg) => {
                    for token in arg {
                        let hidden = union(&token.hidden, hidden, line)?;
                        made.push(Pending { lexeme: Lexeme { line, ..token.lexeme.clone() }, hidden });
                    }
                }
                None => {
                    made.push(Pending { lexeme: Lexeme { line, ..lexeme.clone() }, hidden: hidden.clone() })
                }
            }
        }
        // An empty body counts as well, so that the number of steps is bounded.
        self.budget = self.budget.saturating_sub(1);
        match self.budget {
            0 => refuse(line, format!("macros expand to more than {MOST_TOKENS} tokens")),
            _ => Ok(made),
        }
    }
}

fn with(hidden: &Hidden, name: Arc<str>, line: usize) -> Result<Hidden, SourceError> {
    union(hidden, &Arc::new(vec![name]), line)
}

fn union(a: &Hidden, b: &Hidden, line: usize) -> Result<Hidden, SourceError> {
    let missing: Vec<Arc<str>> = b.iter().filter(|name| !a.contains(name)).cloned().collect();
    if missing.is_empty() {
        return Ok(a.clone());
    }
    if a.is_empty() {
        return Ok(b.clone());
    }
    if a.len() + missing.len() > MOST_NESTED {
        return refuse(line, format!("macros are nested deeper than {MOST_NESTED}"));
    }
    Ok(Arc::new(a.iter().cloned().chain(missing).collect()))
}

/// The arguments of a macro, whose opening bracket is next, and the hidden names of the closing bracket.
fn arguments(
    pending: &mut Vec<Pending>,
    name: &str,
    line: usize,
) -> Result<(Vec<Vec<Pending>>, Hidden), SourceError> {
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
