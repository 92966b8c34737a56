//! The tokens of a text, each with its line.

use crate::custom::SourceError;
use std::fmt;
use std::sync::Arc;

/// A token of C.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name or a keyword.
    Word(Arc<str>),
    /// A number as it is written.
    Number(Arc<str>),
    /// The number of a character constant.
    Char(i64),
    /// A string, without its quotes.
    Text(Arc<str>),
    /// An operator or a bracket.
    Mark(&'static str),
}

/// A token and where it is.
#[derive(Clone, Debug)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    /// From 1 on.
    pub(super) line: usize,
    /// Whether it is the first of its line.
    pub(super) first: bool,
    /// Whether a space is before it.
    pub(super) spaced: bool,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(text) | Token::Number(text) => f.write_str(text),
            Token::Char(number) => write!(f, "the character {number}"),
            Token::Text(text) => write!(f, "\"{text}\""),
            Token::Mark(mark) => f.write_str(mark),
        }
    }
}

impl Token {
    /// The word, if it is one.
    pub(super) fn word(&self) -> Option<&Arc<str>> {
        match self {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Whether it is this operator or bracket.
    pub(super) fn is(&self, mark: &str) -> bool {
        matches!(self, Token::Mark(own) if *own == mark)
    }
}

/// Operators and brackets; longer ones first.
const MARKS: &[&str] = &[
    "<<=", ">>=", "...", "##", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=",
    "*=", "/=", "%=", "&=", "|=", "^=", "+", "-", "*", "/", "%", "=", "<", ">", "!", "~", "&", "|", "^", "?",
    ":", ";", ",", ".", "(", ")", "{", "}", "[", "]", "#",
];

/// How strongly a binary operator binds; operators of one strength group from left to right.
pub(super) fn precedence(mark: &str) -> Option<u8> {
    Some(match mark {
        "*" | "/" | "%" => 10,
        "+" | "-" => 9,
        "<<" | ">>" => 8,
        "<" | ">" | "<=" | ">=" => 7,
        "==" | "!=" => 6,
        "&" => 5,
        "^" => 4,
        "|" => 3,
        "&&" => 2,
        "||" => 1,
        _ => return None,
    })
}

/// An error in a line.
pub(super) fn refuse<T>(line: usize, message: impl Into<String>) -> Result<T, SourceError> {
    Err(SourceError { line, message: message.into() })
}

/// The tokens of a text. Comments are spaces; a backslash at a line's end continues the line.
pub(super) fn tokens(text: &str) -> Result<Vec<Lexeme>, SourceError> {
    let mut lexer = Lexer { bytes: spliced(text), at: 0 };
    let mut all = Vec::new();
    let (mut first, mut spaced) = (true, false);
    while let Some((byte, line)) = lexer.peek(0) {
        if byte.is_ascii_whitespace() {
            first |= byte == b'\n';
            spaced = true;
            lexer.at += 1;
        } else if lexer.skip_comment(line)? {
            spaced = true;
        } else {
            let token = lexer.token(byte, line)?;
            all.push(Lexeme { token, line, first, spaced });
            (first, spaced) = (false, false);
        }
    }
    Ok(all)
}

/// The bytes of a text with their lines, without the line ends that a backslash continues.
fn spliced(text: &str) -> Vec<(u8, usize)> {
    let bytes = text.as_bytes();
    let mut all = Vec::with_capacity(bytes.len());
    let (mut at, mut line) = (0, 1);
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let splice = [b"\\\n".as_slice(), b"\\\r\n"].into_iter().find(|splice| rest.starts_with(splice));
        if let Some(splice) = splice {
            line += 1;
            at += splice.len();
            continue;
        }
        all.push((byte, line));
        line += usize::from(byte == b'\n');
        at += 1;
    }
    all
}

struct Lexer {
    bytes: Vec<(u8, usize)>,
    at: usize,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<(u8, usize)> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.peek(ahead).map_or(0, |(byte, _)| byte)
    }

    fn skip_comment(&mut self, line: usize) -> Result<bool, SourceError> {
        match (self.byte(0), self.byte(1)) {
            (b'/', b'/') => {
                while self.peek(0).is_some_and(|(byte, _)| byte != b'\n') {
                    self.at += 1;
                }
                Ok(true)
            }
            (b'/', b'*') => {
                self.at += 2;
                while (self.byte(0), self.byte(1)) != (b'*', b'/') {
                    if self.peek(0).is_none() {
                        return refuse(line, "expected `*/` at the end of this comment, found the end");
                    }
                    self.at += 1;
                }
                self.at += 2;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// The text of the bytes while they fit.
    fn taken(&mut self, fits: impl Fn(u8, u8) -> bool) -> Arc<str> {
        let mut text = String::new();
        let mut last = 0;
        while let Some((byte, _)) = self.peek(0).filter(|(byte, _)| fits(last, *byte)) {
            text.push(char::from(byte));
            last = byte;
            self.at += 1;
        }
        text.into()
    }

    fn token(&mut self, byte: u8, line: usize) -> Result<Token, SourceError> {
        if byte.is_ascii_alphabetic() || byte == b'_' {
            return Ok(Token::Word(self.taken(|_, byte| byte.is_ascii_alphanumeric() || byte == b'_')));
        }
        if byte.is_ascii_digit() || (byte == b'.' && self.byte(1).is_ascii_digit()) {
            let fits = |last: u8, byte: u8| {
                let sign = matches!(byte, b'+' | b'-') && matches!(last, b'e' | b'E' | b'p' | b'P');
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') || sign
            };
            let hex = byte == b'0' && matches!(self.byte(1), b'x' | b'X');
            // In a hexadecimal number an `e` is a digit, which no sign follows.
            let fits = |last, byte| fits(if hex && matches!(last, b'e' | b'E') { 0 } else { last }, byte);
            return Ok(Token::Number(self.taken(fits)));
        }
        if byte == b'"' {
            return self.quoted(line, b'"').map(|bytes| Token::Text(String::from_utf8_lossy(&bytes).into()));
        }
        if byte == b'\'' {
            let bytes = self.quoted(line, b'\'')?;
            return match bytes.as_slice() {
                [byte] => Ok(Token::Char(i64::from(byte.cast_signed()))),
                _ => refuse(line, "expected one character in quotes"),
            };
        }
        let fits = |mark: &&&str| (0..).zip(mark.bytes()).all(|(ahead, byte)| self.byte(ahead) == byte);
        let Some(mark) = MARKS.iter().find(fits) else {
            let shown = char::from(byte).escape_default();
            return refuse(line, format!("`{shown}` is no character of C"));
        };
        self.at += mark.len();
        Ok(Token::Mark(mark))
    }

    /// The bytes of a string or a character constant.
    fn quoted(&mut self, line: usize, quote: u8) -> Result<Vec<u8>, SourceError> {
        let mut bytes = Vec::new();
        self.at += 1;
        loop {
            let Some((byte, _)) = self.peek(0).filter(|(byte, _)| *byte != b'\n') else {
                return refuse(line, format!("expected {} before the end of the line", char::from(quote)));
            };
            self.at += 1;
            if byte == quote {
                return Ok(bytes);
            }
            if byte != b'\\' {
                bytes.push(byte);
                continue;
            }
            bytes.push(match self.byte(0) {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'0' => 0,
                byte @ (b'\\' | b'\'' | b'"') => byte,
                _ => return refuse(line, "this escape sequence is not supported"),
            });
            self.at += 1;
        }
    }
}
