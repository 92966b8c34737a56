//! `einsum`: products of any number of tensors, written with a letter for each axis.
//!
//! The string becomes names of axes; axes named twice in one tensor become diagonals; then two tensors at a
//! time are contracted ([`super::contract`]), in an order that costs least where extents are known, until one
//! is left.

use super::contract::{Label, arranged, contract, find, summed, without};
use super::creation::arange;
use super::elemwise::cast;
use super::index_expression::Ix;
use super::methods::fail;
use super::shape::{DimShuffle, ShapeOf};
use super::specify_shape::EqualExtents;
use crate::error::Result;
use crate::graph::{Variable, place};
use std::collections::HashMap;

/// Names of axes that `...` stands for, from the last one on: beyond all letters.
const ELLIPSIS: Label = 1 << 16;
/// Up to so many tensors every order of contractions is tried.
const TRY_ALL: usize = 4;

/// NumPy's `einsum`: `einsum("bij,bjk->bik", [&a, &b])`. Every string that NumPy takes is valid, with an
/// output or without, with `...` and with letters that occur twice. The result has the dtype that the tensors
/// promote to, and sums are accumulated in it.
#[track_caller]
#[must_use]
pub fn einsum(subscripts: &str, operands: impl IntoIterator<Item = impl Into<Variable>>) -> Variable {
    try_einsum(subscripts, operands).unwrap_or_else(Variable::poison)
}

/// [`einsum`], with its error at once.
///
/// # Errors
/// If the string is malformed, or does not fit the operands.
#[track_caller]
pub fn try_einsum(
    subscripts: &str,
    operands: impl IntoIterator<Item = impl Into<Variable>>,
) -> Result<Variable> {
    let operands: Vec<Variable> = operands.into_iter().map(Into::into).collect();
    let _scope = place::enter();
    let mut ranks = Vec::new();
    for operand in &operands {
        ranks.push(operand.checked()?.ndim());
    }
    let Some(dtype) = operands.iter().map(Variable::dtype).reduce(crate::DType::promote) else {
        return Err(fail("einsum", "there are no operands".into()));
    };
    let (inputs, output) =
        parse(subscripts, &ranks).map_err(|m| fail("einsum", format!("\"{subscripts}\": {m}")))?;
    let mut list: Vec<(Variable, Vec<Label>)> = Vec::new();
    for (at, (operand, labels)) in operands.iter().zip(inputs).enumerate() {
        even(operand, &labels).map_err(|m| fail("einsum", format!("\"{subscripts}\": operand {at}: {m}")))?;
        list.push(diagonals(cast(operand, dtype)?, labels)?);
    }
    let extents = extents(&list).map_err(|m| fail("einsum", format!("\"{subscripts}\": {m}")))?;
    // An axis of extent 1 broadcasts against the others of its name.
    for (x, labels) in &mut list {
        let ones: Vec<usize> =
            (0..x.ndim()).filter(|&a| x.ty().shape[a] == Some(1) && extents[&labels[a]] != Some(1)).collect();
        (*x, *labels) = without(x, labels, &ones)?;
    }
    for at in 0..list.len() {
        let alone = |l: Label| {
            !output.contains(&l)
                && list.iter().enumerate().all(|(i, (_, other))| i == at || !other.contains(&l))
        };
        let (x, labels) = &list[at];
        list[at] = summed(x, labels, alone)?;
    }
    let names: Vec<Vec<Label>> = list.iter().map(|(_, labels)| labels.clone()).collect();
    for (i, j) in order(names, &output, &extents) {
        let (b, lb) = list.remove(j);
        let (a, la) = &list[i];
        let rest =
            list.iter().enumerate().filter(|(at, _)| *at != i).map(|(_, (_, labels))| labels.as_slice());
        let out = if list.len() == 1 {
            output.clone()
        } else {
            joined(la, &lb, &rest.collect::<Vec<_>>(), &output)
        };
        list[i] = (contract((a, la), (&b, &lb), &out)?, out);
    }
    let (x, labels) = list.swap_remove(0);
    arranged(&x, &labels, &output)
}

fn name(label: Label) -> String {
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
fn parse(text: &str, ranks: &[usize]) -> Result<(Vec<Vec<Label>>, Vec<Label>), String> {
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

fn twice(labels: &[Label]) -> Option<(usize, usize)> {
    (0..labels.len()).find_map(|b| find(&labels[..b], labels[b]).map(|a| (a, b)))
}

/// Checks that axes of one name have one extent.
fn even(x: &Variable, labels: &[Label]) -> Result<(), String> {
    for (b, &label) in labels.iter().enumerate() {
        for a in (0..b).filter(|&a| labels[a] == label) {
            if let [Some(m), Some(n)] = [x.ty().shape[a], x.ty().shape[b]]
                && m != n
            {
                return Err(format!("{} has extents {m} and {n}", name(label)));
            }
        }
    }
    Ok(())
}

/// Axes of one name made one, which holds their diagonal.
fn diagonals(mut x: Variable, mut labels: Vec<Label>) -> Result<(Variable, Vec<Label>)> {
    while let Some((a, b)) = twice(&labels) {
        let rest: Vec<usize> = (0..x.ndim()).filter(|&c| c != a && c != b).collect();
        let front = DimShuffle::of(&x, [a, b].into_iter().chain(rest.iter().copied()).map(Some).collect())?;
        let front = EqualExtents::of("einsum", (&front, 1), (&x, a))?;
        let at = [Ix::from(arange(ShapeOf::of(&x, a)?)), Ix::from(arange(ShapeOf::of(&x, b)?))];
        x = front.try_index(at)?;
        labels = std::iter::once(labels[a]).chain(rest.into_iter().map(|c| labels[c])).collect();
    }
    Ok((x, labels))
}

/// The static extent of each name.
fn extents(list: &[(Variable, Vec<Label>)]) -> Result<HashMap<Label, Option<usize>>, String> {
    let mut extents: HashMap<Label, Option<usize>> = HashMap::new();
    for (x, labels) in list {
        for (&label, &extent) in labels.iter().zip(&x.ty().shape) {
            let known = extents.entry(label).or_insert(Some(1));
            match (*known, extent) {
                (_, Some(1)) => {}
                (Some(1), _) | (None, Some(_)) => *known = extent,
                (Some(a), Some(b)) if a != b => {
                    return Err(format!("{} has extents {a} and {b}", name(label)));
                }
                _ => {}
            }
        }
    }
    Ok(extents)
}

/// The axes of a product of two tensors that something still reads, each of the batch first.
fn joined(a: &[Label], b: &[Label], rest: &[&[Label]], output: &[Label]) -> Vec<Label> {
    let read = |l: &Label| output.contains(l) || rest.iter().any(|labels| labels.contains(l));
    let (both, left) = (a.iter().filter(|l| b.contains(l)), a.iter().filter(|l| !b.contains(l)));
    both.chain(left).chain(b.iter().filter(|l| !a.contains(l))).copied().filter(|l| read(l)).collect()
}

/// Which two tensors are contracted, one after the other: the result takes the place of the first, the second
/// goes.
fn order(
    list: Vec<Vec<Label>>,
    output: &[Label],
    extents: &HashMap<Label, Option<usize>>,
) -> Vec<(usize, usize)> {
    let known: Option<HashMap<Label, f64>> = extents.iter().map(|(&l, e)| e.map(|e| (l, e as f64))).collect();
    let steps = list.len() - 1;
    let Some(extents) = known.filter(|_| steps > 1) else { return vec![(0, 1); steps] };
    let search = Search { output, extents: &extents };
    if list.len() <= TRY_ALL { search.best(&list).1 } else { search.greedy(list) }
}

struct Search<'a> {
    output: &'a [Label],
    extents: &'a HashMap<Label, f64>,
}

impl Search<'_> {
    fn size<'l>(&self, labels: impl IntoIterator<Item = &'l Label>) -> f64 {
        labels.into_iter().map(|l| self.extents[l]).product()
    }

    /// Multiplications that a contraction of two takes.
    fn cost(&self, a: &[Label], b: &[Label]) -> f64 {
        self.size(a.iter().chain(b.iter().filter(|l| !a.contains(l))))
    }

    fn after(&self, list: &[Vec<Label>], i: usize, j: usize) -> Vec<Vec<Label>> {
        let rest = (0..list.len()).filter(|&at| at != i && at != j).map(|at| list[at].as_slice());
        let made = joined(&list[i], &list[j], &rest.collect::<Vec<_>>(), self.output);
        let mut list = list.to_vec();
        list[i] = made;
        list.remove(j);
        list
    }

    /// The cheapest of all orders; of few tensors only.
    fn best(&self, list: &[Vec<Label>]) -> (f64, Vec<(usize, usize)>) {
        let mut best: Option<(f64, Vec<(usize, usize)>)> = None;
        for (i, j) in pairs(list.len()) {
            let (rest, path) = self.best(&self.after(list, i, j));
            let cost = self.cost(&list[i], &list[j]) + rest;
            if best.as_ref().is_none_or(|b| cost < b.0) {
                best = Some((cost, std::iter::once((i, j)).chain(path).collect()));
            }
        }
        best.unwrap_or_default()
    }

    /// Step by step the pair that leaves least to be kept, of those the cheapest.
    fn greedy(&self, mut list: Vec<Vec<Label>>) -> Vec<(usize, usize)> {
        let mut path = Vec::new();
        // How many tensors have each axis: one that both of a pair have, and nobody else, is summed over.
        let mut holders: HashMap<Label, usize> = HashMap::new();
        list.iter().flatten().for_each(|&l| *holders.entry(l).or_default() += 1);
        let weight = |list: &[Vec<Label>], holders: &HashMap<Label, usize>, i: usize, j: usize| {
            let (a, b) = (&list[i], &list[j]);
            let read = |l: &&Label| {
                let own = usize::from(a.contains(l)) + usize::from(b.contains(l));
                self.output.contains(l) || holders.get(l).is_some_and(|&all| all > own)
            };
            let made = self.size(a.iter().chain(b.iter().filter(|l| !a.contains(l))).filter(read));
            [made - self.size(a) - self.size(b), self.cost(a, b)]
        };
        // For each pair of tensors its weight, the later one's row; only those of the pair that is contracted
        // change.
        let mut weights: Vec<Vec<[f64; 2]>> =
            (0..list.len()).map(|j| (0..j).map(|i| weight(&list, &holders, i, j)).collect()).collect();
        while list.len() > 1 {
            let next = pairs(list.len()).min_by(|&(i, j), &(k, l)| {
                let (a, b) = (weights[j][i], weights[l][k]);
                a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1]))
            });
            let Some((i, j)) = next else { break };
            list[i].iter().chain(&list[j]).for_each(|&l| {
                if let Some(count) = holders.get_mut(&l) {
                    *count -= 1;
                }
            });
            let touched: Vec<Label> = list[i].iter().chain(&list[j]).copied().collect();
            list = self.after(&list, i, j);
            list[i].iter().for_each(|&l| *holders.entry(l).or_default() += 1);
            weights.remove(j);
            for row in &mut weights[j..] {
                row.remove(j);
            }
            path.push((i, j));
            // Of others only those that have an axis of the two can be summed over more now.
            let stale = |at: usize| at == i || list[at].iter().any(|l| touched.contains(l));
            for (first, second) in pairs(list.len()).filter(|&(a, b)| stale(a) || stale(b)) {
                weights[second][first] = weight(&list, &holders, first, second);
            }
        }
        path
    }
}

fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |i| (i + 1..count).map(move |j| (i, j)))
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

    #[test]
    fn the_order_is_the_cheapest() {
        let extents = |list: &[(char, usize)]| -> HashMap<Label, Option<usize>> {
            list.iter().map(|&(c, e)| (c as Label, Some(e))).collect()
        };
        let chain = vec![letters("ab"), letters("bc"), letters("cd")];
        let wide_end = extents(&[('a', 10), ('b', 10), ('c', 10), ('d', 1)]);
        assert_eq!(order(chain.clone(), &letters("ad"), &wide_end), [(1, 2), (0, 1)]);
        let wide_start = extents(&[('a', 1), ('b', 10), ('c', 10), ('d', 10)]);
        assert_eq!(order(chain.clone(), &letters("ad"), &wide_start), [(0, 1), (0, 1)]);
        let unknown = [('a', None), ('b', Some(2)), ('c', Some(2)), ('d', Some(2))];
        let unknown = unknown.into_iter().map(|(c, e)| (c as Label, e)).collect();
        assert_eq!(order(chain, &letters("ad"), &unknown), [(0, 1), (0, 1)]);
        let many: Vec<Vec<Label>> = ["ab", "bc", "cd", "de", "e"].map(letters).to_vec();
        let same = extents(&[('a', 9), ('b', 9), ('c', 9), ('d', 9), ('e', 9)]);
        assert_eq!(order(many, &letters("a"), &same), [(3, 4), (2, 3), (1, 2), (0, 1)]);
    }

    #[test]
    fn the_greedy_order_is_what_it_says_and_quick() {
        // Step by step, everything worked out anew.
        fn plainly(search: &Search, mut list: Vec<Vec<Label>>) -> Vec<(usize, usize)> {
            let mut path = Vec::new();
            while list.len() > 1 {
                let weight = |(i, j): (usize, usize)| {
                    let made = search.size(&search.after(&list, i, j)[i]);
                    [made - search.size(&list[i]) - search.size(&list[j]), search.cost(&list[i], &list[j])]
                };
                let next = pairs(list.len())
                    .min_by(|&a, &b| weight(a).partial_cmp(&weight(b)).unwrap_or(std::cmp::Ordering::Equal));
                let (i, j) = next.unwrap();
                list = search.after(&list, i, j);
                path.push((i, j));
            }
            path
        }
        let mut seed = 7u64;
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for _ in 0..50 {
            let extents: HashMap<Label, f64> = (0..8).map(|l| (l, (1 + random(6)) as f64)).collect();
            let list: Vec<Vec<Label>> = (0..9).map(|_| (0..8).filter(|_| random(3) == 0).collect()).collect();
            let search = Search { output: &[0, 5], extents: &extents };
            assert_eq!(search.greedy(list.clone()), plainly(&search, list));
        }
        let extents: HashMap<Label, f64> = (0..=300).map(|l| (l, (1 + l % 7) as f64)).collect();
        let chain: Vec<Vec<Label>> = (0..300).map(|l| vec![l, l + 1]).collect();
        assert_eq!(Search { output: &[0, 300], extents: &extents }.greedy(chain).len(), 299);
    }
}
