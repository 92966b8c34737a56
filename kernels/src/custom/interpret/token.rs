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
    /// What is no token: an error where the text counts.
    Odd { text: Arc<str>, why: Arc<str> },
}

/// Tokens of a text at most.
const MOST_TOKENS: usize = 1 << 18;

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
            Token::Odd { text, .. } => f.write_str(text),
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
            if all.len() == MOST_TOKENS {
                return refuse(line, format!("the text has more than {MOST_TOKENS} words and signs"));
            }
            let token = lexer.token(byte);
            all.push(Lexeme { token, line, first, spaced });
            (first, spaced) = (false, false);
        }
    }
    Ok(all)
}

/// Refuses what is no token.
pub(super) fn require_sound(all: &[Lexeme]) -> Result<(), SourceError> {
    let odd = all.iter().find_map(|lexeme| match &lexeme.token {
        Token::Odd { why, .. } => Some((lexeme.line, why)),
        _ => None,
    });
    odd.map_or(Ok(()), |(line, why)| refuse(line, &**why))
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

    fn token(&mut self, byte: u8) -> Token {
        if byte.is_ascii_alphabetic() || byte == b'_' {
            return Token::Word(self.taken(|_, byte| byte.is_ascii_alphanumeric() || byte == b'_'));
        }
        if byte.is_ascii_digit() || (byte == b'.' && self.byte(1).is_ascii_digit()) {
            let fits = |last: u8, byte: u8| {
                let sign = matches!(byte, b'+' | b'-') && matches!(last, b'e' | b'E' | b'p' | b'P');
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') || sign
            };
            let hex = byte == b'0' && matches!(self.byte(1), b'x' | b'X');
            // In a hexadecimal number an `e` is a digit, which no sign follows.
            let fits = |last, byte| fits(if hex && matches!(last, b'e' | b'E') { 0 } else { last }, byte);
            return Token::Number(self.taken(fits));
        }
        if matches!(byte, b'"' | b'\'') {
            let from = self.at;
            return self.quoted(byte).unwrap_or_else(|why| {
                let all = self.bytes.get(from..self.at).unwrap_or(&[]);
                let bytes: Vec<u8> = all.iter().map(|(byte, _)| *byte).collect();
                Token::Odd { text: String::from_utf8_lossy(&bytes).into(), why: why.into() }
            });
        }
        let fits = |mark: &&&str| (0..).zip(mark.bytes()).all(|(ahead, byte)| self.byte(ahead) == byte);
        let Some(mark) = MARKS.iter().find(fits) else {
            let text: Arc<str> = char::from(byte).escape_default().to_string().into();
            self.at += 1;
            return Token::Odd { why: format!("`{text}` is no character of C").into(), text };
        };
        self.at += mark.len();
        Token::Mark(mark)
    }

    /// A string or a character constant, or why it is none. It is read to its end in any case.
    fn quoted(&mut self, quote: u8) -> Result<Token, String> {
        let (mut bytes, mut unknown) = (Vec::new(), false);
        self.at += 1;
        loop {
            let Some((byte, _)) = self.peek(0).filter(|(byte, _)| *byte != b'\n') else {
                return Err(format!("expected {} before the end of the line", char::from(quote)));
            };
            self.at += 1;
            if byte == quote {
                break;
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
                _ => {
                    unknown = true;
                    continue;
                }
            });
            self.at += 1;
        }
        match (unknown, quote, bytes.as_slice()) {
            (true, ..) => Err("this escape sequence is not supported".into()),
            (_, b'"', all) => Ok(Token::Text(String::from_utf8_lossy(all).into())),
            (_, _, [byte]) => Ok(Token::Char(i64::from(byte.cast_signed()))),
            _ => Err("expected one character in quotes".into()),
        }
    }
}
