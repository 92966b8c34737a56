//! The lines of users' texts that a compiler's log names.

/// Lines that are quoted at most.
const MOST: usize = 5;

/// The log, followed by the lines that it names of the parts of `text` that users wrote: those behind a
/// `#line` directive. Compilers name a line as `file:3` or `file(3)`.
pub fn with_quotes(log: &str, text: &str) -> String {
    let mut quotes: Vec<String> = Vec::new();
    for (file, lines) in parts(text) {
        for (at, _) in log.match_indices(&file) {
            let rest = &log[at + file.len()..];
            let Some(digits) = rest.strip_prefix([':', '(']) else { continue };
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            let Ok(number) = digits[..end].parse::<usize>() else { continue };
            let Some(line) = number.checked_sub(1).and_then(|at| lines.get(at)) else { continue };
            let quote = format!("{file}:{number} | {}", line.trim_end());
            if !quotes.contains(&quote) && quotes.len() < MOST {
                quotes.push(quote);
            }
        }
    }
    match quotes.is_empty() {
        true => log.into(),
        false => format!("{}\n{}", log.trim_end(), quotes.join("\n")),
    }
}

/// The file name of each `#line 1` directive, and the lines behind it up to the next one.
fn parts(text: &str) -> Vec<(String, Vec<&str>)> {
    let mut parts: Vec<(String, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        let named = line.strip_prefix("#line 1 \"").and_then(|rest| rest.strip_suffix('"'));
        match (named, parts.last_mut()) {
            (Some(file), _) => parts.push((file.into(), vec![])),
            (None, Some((_, lines))) => lines.push(line),
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
        assert_eq!(with_quotes("an error", text), "an error");
        assert_eq!(with_quotes("kernels:", text), "kernels:");
    }
}
