//! From tokens to typed functions.

mod access;
mod call;
mod declaration;
mod declarator;
mod expression;
mod initializer;
mod operand;
mod operator;
mod statement;

use super::expr::{FunctionDef, LocalVariable, Named};
use super::preprocess::preprocessed;
use super::token::{Lexeme, Token, refuse};
use super::types::{Records, Type};
use crate::custom::{KernelSource, SourceError};
use crate::dtype::DType;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Brackets, statements and the like that may be within each other in a text.
const DEEPEST: usize = 100;
/// Operators that may be within each other, as in a sum of so many terms.
const DEEPEST_EXPR: usize = 256;

type Parsed<T> = Result<T, SourceError>;

/// What a text defines.
pub(super) struct ParsedUnit {
    pub(super) records: Records,
    pub(super) objects: Vec<Named>,
    pub(super) functions: Vec<FunctionDef>,
}

/// What a name stands for.
#[derive(Clone, Debug)]
enum Entity {
    Variable(usize),
    Object(usize),
    Type(Type),
    Number(u64),
    Function(usize),
    Record(usize),
}

/// The function that is being read.
struct Current {
    function: usize,
    is_kernel: bool,
    result: Type,
    variables: Vec<LocalVariable>,
    calls: BTreeSet<usize>,
    has_barrier: bool,
    loops: usize,
    /// The cases of the switches around a statement.
    switches: Vec<Vec<Option<u64>>>,
    /// Loops and switches around a statement: what `break` leaves.
    breakable: usize,
}

struct Parser<'a> {
    source: &'a KernelSource,
    all: Vec<Lexeme>,
    at: usize,
    records: Records,
    objects: Vec<Named>,
    functions: Vec<FunctionDef>,
    scopes: Vec<HashMap<Arc<str>, Entity>>,
    current: Option<Current>,
    /// Bytes of constant memory.
    constant_bytes: u64,
    depth: usize,
}

/// Reads a source in the dialect.
pub(super) fn parse(source: &KernelSource) -> Parsed<ParsedUnit> {
    let all = preprocessed(source.text())?;
    let mut parser = Parser {
        source,
        all,
        at: 0,
        records: Records::default(),
        objects: vec![],
        functions: vec![],
        scopes: vec![HashMap::new()],
        current: None,
        constant_bytes: 0,
        depth: 0,
    };
    parser.constants();
    while parser.peek().is_some() {
        parser.external()?;
    }
    let Parser { records, objects, functions, .. } = parser;
    Ok(ParsedUnit { records, objects, functions })
}

impl Parser<'_> {
    /// The arrays in constant memory that the source was given.
    fn constants(&mut self) {
        for (name, numbers) in self.source.constants() {
            let dtype = numbers.first().map_or(DType::U8, |number| number.dtype());
            let bytes = numbers.iter().flat_map(|number| number.to_le_bytes().into_iter().take(dtype.size()));
            let ty = Type::Array(Arc::new(Type::Number(dtype)), numbers.len() as u64);
            let name: Arc<str> = name.as_str().into();
            let object = Entity::Object(self.objects.len());
            let bytes: Vec<u8> = bytes.collect();
            self.constant_bytes = self.constant_bytes.saturating_add(bytes.len() as u64);
            let bytes = Some(bytes);
            self.objects.push(Named { name: name.clone(), ty, constant: true, bytes, owner: None });
            self.scopes[0].insert(name, object);
        }
    }

    fn peek(&self) -> Option<&Token> {
        self.all.get(self.at).map(|lexeme| &lexeme.token)
    }

    fn peek_at(&self, ahead: usize) -> Option<&Token> {
        self.all.get(self.at + ahead).map(|lexeme| &lexeme.token)
    }

    /// The line of the next token, or of the last one.
    fn line(&self) -> usize {
        self.all.get(self.at).or(self.all.last()).map_or(1, |lexeme| lexeme.line)
    }

    fn refuse<T>(&self, message: impl Into<String>) -> Parsed<T> {
        refuse(self.line(), message)
    }

    /// The next token as errors write it.
    fn found(&self) -> String {
        self.peek().map_or("the end".into(), |token| format!("`{token}`"))
    }

    fn is(&self, mark: &str) -> bool {
        self.peek().is_some_and(|token| token.is(mark))
    }

    fn takes(&mut self, mark: &str) -> bool {
        let takes = self.is(mark);
        self.at += usize::from(takes);
        takes
    }

    fn expect(&mut self, mark: &str) -> Parsed<()> {
        match self.takes(mark) {
            true => Ok(()),
            false => self.refuse(format!("expected `{mark}`, found {}", self.found())),
        }
    }

    fn peek_word(&self) -> Option<&str> {
        self.peek().and_then(Token::word).map(|word| &**word)
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let takes = self.peek_word() == Some(word);
        self.at += usize::from(takes);
        takes
    }

    /// The next token, which is a name.
    fn name(&mut self) -> Parsed<Arc<str>> {
        match self.peek() {
            Some(Token::Word(name)) if !is_reserved(name) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => self.refuse(format!("expected a name, found {}", self.found())),
        }
    }

    /// Reads what is within something else, so that the recursion is bounded.
    fn within<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEEPEST {
            return self.refuse(format!("the text is nested deeper than {DEEPEST}"));
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    fn find(&self, name: &str) -> Option<&Entity> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// Gives a name a meaning in the innermost scope.
    fn declare(&mut self, name: Arc<str>, entity: Entity, line: usize) -> Parsed<()> {
        let Some(scope) = self.scopes.last_mut() else { return Ok(()) };
        if scope.contains_key(&name) {
            return refuse(line, format!("`{name}` is declared twice"));
        }
        scope.insert(name, entity);
        Ok(())
    }

    /// The function that is being read.
    fn current(&mut self) -> Parsed<&mut Current> {
        let line = self.line();
        self.current.as_mut().map_or_else(|| refuse(line, "expected a declaration"), Ok)
    }

    /// The size of a type, for a use in a line.
    fn size(&self, ty: &Type, line: usize) -> Parsed<u64> {
        self.records.size(ty).or_else(|message| refuse(line, message))
    }
}

/// Words that no variable is called.
#[rustfmt::skip]
fn is_reserved(word: &str) -> bool {
    const RESERVED: &[&str] = &[
        "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
        "extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short",
        "signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while",
    ];
    RESERVED.contains(&word) || crate::custom::dialect::is_keyword(word)
}
