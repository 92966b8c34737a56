//! Text that is safe to print. Names and labels come from files, which may come from anywhere, and a terminal
//! interprets control characters in them.
//!
//! Everything that shows a name goes through here: [`debugprint`](crate::graph::debugprint),
//! [`dot`](crate::graph::dot), errors, the labels of [`Print`](crate::ops::Print), JSON, and the command.

/// Whether a terminal, an editor or a browser shows the character and does nothing else: no control
/// characters (C0, DEL, C1), no line or paragraph separators, nothing that turns the direction of the text
/// around it.
pub fn is_printable(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !(c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}'))
}

/// The text on one line: U+FFFD replaces every character that is not [printable](is_printable).
///
/// ```
/// use workalike::printable::printable;
/// assert_eq!(printable("loss"), "loss");
/// assert_eq!(printable("\u{1b}]0;title\u{7}\nx\u{202e}"), "\u{fffd}]0;title\u{fffd}\u{fffd}x\u{fffd}");
/// ```
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if is_printable(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// The same for text of several lines: line feeds and tabs stay.
pub fn printable_lines(text: &str) -> String {
    let keep = |c: char| c == '\n' || c == '\t' || is_printable(c);
    text.chars().map(|c| if keep(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// JSON with all that is not [printable](is_printable) escaped. It is the same JSON: beyond ASCII such
/// characters stand in strings only, and writers of JSON escape those of ASCII themselves.
///
/// ```
/// use workalike::printable::escaped_json;
/// assert_eq!(escaped_json("[\"a\u{9b}\", \"\u{202e}b\"]"), r#"["a\u009b", "\u202eb"]"#);
/// ```
pub fn escaped_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\n' | '\t' | '\r' => escaped.push(c),
            c if is_printable(c) => escaped.push(c),
            // None of them needs a pair of surrogates.
            c => escaped += &format!("\\u{:04x}", u32::from(c)),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_terminals_obey_is_not_printed() {
        let obeyed = (0..0x20).chain(0x7f..0xa0).chain([0x61c, 0x200e, 0x200f, 0x2028, 0x2029]);
        let obeyed = obeyed.chain(0x202a..=0x202e).chain(0x2066..=0x2069).filter_map(char::from_u32);
        for c in obeyed {
            assert!(!is_printable(c), "{c:?}");
            assert_eq!(printable(&c.to_string()), "\u{fffd}");
            assert!(escaped_json(&c.to_string()).is_ascii());
        }
        for text in ["x", "größe", "勾配", "a b", "\u{fffd}", "∇²ψ", "🙂"] {
            assert_eq!((printable(text), escaped_json(text)), (text.into(), text.into()));
        }
        assert_eq!(printable_lines("a\n\tb\r\u{1b}[2J"), "a\n\tb\u{fffd}\u{fffd}[2J");
    }
}
