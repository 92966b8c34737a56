//! The lines of users' texts that a compiler's log names.

/// Lines that are quoted at most.
const MOST: usize = 5;

/// What NVIDIA's OpenCL calls every text. It counts the lines of the whole text, whatever `#line` says.
const WHOLE_TEXT: &str = "<kernel>";

/// The log, followed by the lines that it names of the parts of `text` that users wrote: those behind a
/// `#line` directive. Compilers name a line as `file:3` or `file(3)`.
pub fn with_quotes(log: &str, text: &str) -> String {
    let mut quotes: Vec<String> = Vec::new();
    let mut quote = |part: &SourceSection, number: usize| {
        let Some(line) = number.checked_sub(1).and_then(|at| part.lines.get(at)) else { return };
        let quote = format!("{}:{number} | {}", part.file, line.trim_end());
        if !quotes.contains(&quote) && quotes.len() < MOST {
            quotes.push(quote);
        }
    };
    for part in &parts(text) {
        numbers(log, part.file).for_each(|number| quote(part, number));
        numbers(log, WHOLE_TEXT).for_each(|number| quote(part, number.saturating_sub(part.before)));
    }
    match quotes.is_empty() {
        true => log.into(),
        false => format!("{}\n{}", log.trim_end(), quotes.join("\n")),
    }
}

/// The numbers of the lines of `file` that a log names.
fn numbers<'a>(log: &'a str, file: &'a str) -> impl Iterator<Item = usize> + 'a {
    log.match_indices(file).filter_map(move |(at, _)| {
        let digits = log[at + file.len()..].strip_prefix([':', '('])?;
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().ok()
    })
}

/// What stands between two `#line` directives.
struct SourceSection<'a> {
    file: &'a str,
    lines: Vec<&'a str>,
    /// The lines of the whole text before the first one here.
    before: usize,
}

/// The parts behind a `#line 1` directive.
fn parts(text: &str) -> Vec<SourceSection<'_>> {
    let mut parts: Vec<SourceSection> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let named = line.strip_prefix("#line 1 \"").and_then(|rest| rest.strip_suffix('"'));
        match (named, parts.last_mut()) {
            (Some(file), _) => parts.push(SourceSection { file, lines: vec![], before: at + 1 }),
            (None, Some(part)) => part.lines.push(line),
            (None, None) => {}
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_a_log_names_are_quoted_once() {
        let text = "head\n#line 1 \"soft plus\"\nf32 t = x;\ny = t + q;\n    return y;\n#line 1 \"kernels\"\nKERNEL void k()\n";
        let log = "kernels:1:3: error: k\nsoft plus(2): error: q\nsoft plus(2): note: q\nkernels:99: note\nfile:1: x\n";
        let quoted = with_quotes(log, text);
        assert!(quoted.starts_with(log.trim_end()), "{quoted}");
        let quotes: Vec<&str> = quoted.lines().skip(5).collect();
        assert_eq!(quotes, ["soft plus:2 | y = t + q;", "kernels:1 | KERNEL void k()"]);
        let quoted = with_quotes("<kernel>:4:9: error: q\n<kernel>:1:1: error\n", text);
        assert_eq!(quoted.lines().nth(2), Some("soft plus:2 | y = t + q;"), "{quoted}");
        assert_eq!(with_quotes("an error", text), "an error");
        assert_eq!(with_quotes("kernels:", text), "kernels:");
    }
}
