//! The string of `einsum`: a name for each axis of the operands and of the result.

use crate::ops::contract::Label;

/// Name of the last axis that `...` stands for; earlier axes count up. It is larger than every letter.
const ELLIPSIS: Label = 1 << 16;

pub(super) fn name(label: Label) -> String {
    match char::from_u32(label) {
        Some(letter) if label < ELLIPSIS => letter.to_string(),
        _ => format!("axis -{} of ...", label - ELLIPSIS + 1),
    }
}

/// The names of the axes of one tensor, and where `...` stands among them.
fn term(text: &str) -> Result<(Vec<Label>, Option<usize>), String> {
    let (mut labels, mut ellipsis) = (Vec::new(), None);
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("...") {
            if ellipsis.replace(labels.len()).is_some() {
                return Err(format!("more than one ... in '{text}'"));
            }
            rest = after;
            continue;
        }
        match letter {
            ' ' => {}
            _ if letter.is_ascii_alphabetic() => labels.push(letter as Label),
            '.' => return Err("a '.' that is not part of '...'".into()),
            '-' | '>' => return Err("the output must follow one '->'".into()),
            other => return Err(format!("'{other}' is no letter")),
        }
        rest = &rest[letter.len_utf8()..];
    }
    Ok((labels, ellipsis))
}

/// Names for the axes of operands of these ranks, and of the result.
pub(super) fn parse(text: &str, ranks: &[usize]) -> Result<(Vec<Vec<Label>>, Vec<Label>), String> {
    let (given, wanted) = match text.split_once("->") {
        Some((given, wanted)) => (given, Some(wanted)),
        None => (text, None),
    };
    let terms: Vec<&str> = given.split(',').collect();
    if terms.len() != ranks.len() {
        return Err(format!("it names {} operands, {} were given", terms.len(), ranks.len()));
    }
    let mut inputs: Vec<Vec<Label>> = Vec::new();
    let mut widest = 0;
    for (at, (text, &rank)) in terms.into_iter().zip(ranks).enumerate() {
        let (mut labels, ellipsis) = term(text)?;
        let more = rank.checked_sub(labels.len());
        let Some(more) = more.filter(|&more| more == 0 || ellipsis.is_some()) else {
            return Err(format!("operand {at} has {rank} axes, '{}' names {}", text.trim(), labels.len()));
        };
        if let Some(position) = ellipsis {
            labels.splice(position..position, (0..more as Label).rev().map(|l| ELLIPSIS + l));
        }
        widest = widest.max(more);
        inputs.push(labels);
    }
    let dots = (0..widest as Label).rev().map(|l| ELLIPSIS + l);
    let count = |label: Label| inputs.iter().flatten().filter(|&&l| l == label).count();
    let Some(wanted) = wanted else {
        let once = inputs.iter().flatten().copied().filter(|&l| l < ELLIPSIS && count(l) == 1);
        let mut letters: Vec<Label> = once.collect();
        letters.sort_unstable();
        return Ok((inputs, dots.chain(letters).collect()));
    };
    let (mut output, ellipsis) = term(wanted)?;
    for (at, &label) in output.iter().enumerate() {
        if count(label) == 0 {
            return Err(format!("{} of the output occurs in no operand", name(label)));
        }
        if output[..at].contains(&label) {
            return Err(format!("{} occurs twice in the output", name(label)));
        }
    }
    match ellipsis {
        Some(position) => drop(output.splice(position..position, dots)),
        None if widest > 0 => {
            return Err(
                "the output lacks the '...' for axes that have no letter; sum over them by letters".into()
            );
        }
        None => {}
    }
    Ok((inputs, output))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(text: &str) -> Vec<Label> {
        text.chars().map(|c| c as Label).collect()
    }

    #[test]
    fn strings_are_read_as_numpy_reads_them() {
        let (inputs, output) = parse("bA", &[2]).unwrap();
        assert_eq!((inputs, output), (vec![letters("bA")], letters("Ab")));
        assert_eq!(parse(" i j , jk ", &[2, 2]).unwrap().1, letters("ik"));
        let (inputs, output) = parse("...i,i...->...", &[3, 2]).unwrap();
        let i = 'i' as Label;
        assert_eq!(inputs, [vec![ELLIPSIS + 1, ELLIPSIS, i], vec![i, ELLIPSIS]]);
        assert_eq!(output, [ELLIPSIS + 1, ELLIPSIS]);
        assert_eq!(parse("ij->...ij", &[2]).unwrap().1, letters("ij"));
        for (text, ranks) in [
            ("i.j", &[2][..]),
            ("ij,jk", &[2]),
            ("ij", &[3]),
            ("ijk", &[2]),
            ("i1", &[2]),
            ("ij->ii", &[2]),
            ("ij->k", &[2]),
            ("...i->i", &[2]),
            ("i...j...", &[3]),
            ("ij-", &[2]),
            ("i>j", &[2]),
            ("ij->i->", &[2]),
        ] {
            assert!(parse(text, ranks).is_err(), "{text}");
        }
    }
}
