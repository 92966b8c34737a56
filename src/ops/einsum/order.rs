//! The order in which `einsum` contracts its operands.

use crate::ops::contract::Label;
use std::collections::HashMap;

/// Up to this number of tensors, every order of contractions is tried.
const TRY_ALL: usize = 4;

/// The axes of a product of two tensors that another tensor or the output reads, batch axes first.
pub(super) fn joined(a: &[Label], b: &[Label], rest: &[&[Label]], output: &[Label]) -> Vec<Label> {
    let read = |l: &Label| output.contains(l) || rest.iter().any(|labels| labels.contains(l));
    let (both, left) = (a.iter().filter(|l| b.contains(l)), a.iter().filter(|l| !b.contains(l)));
    both.chain(left).chain(b.iter().filter(|l| !a.contains(l))).copied().filter(|l| read(l)).collect()
}

/// The pairs of tensors that are contracted, in order. The result replaces the first of the pair, and the
/// second is removed.
pub(super) fn order(
    list: Vec<Vec<Label>>,
    output: &[Label],
    extents: &HashMap<Label, Option<usize>>,
) -> Vec<(usize, usize)> {
    let known: Option<HashMap<Label, f64>> = extents.iter().map(|(&l, e)| e.map(|e| (l, e as f64))).collect();
    let steps = list.len() - 1;
    let Some(extents) = known.filter(|_| steps > 1) else { return vec![(0, 1); steps] };
    let search = ContractionSearch { output, extents: &extents };
    if list.len() <= TRY_ALL { search.best(&list).1 } else { search.greedy(list) }
}

/// The search for an order, with all extents known.
struct ContractionSearch<'a> {
    output: &'a [Label],
    extents: &'a HashMap<Label, f64>,
}

impl ContractionSearch<'_> {
    fn size<'l>(&self, labels: impl IntoIterator<Item = &'l Label>) -> f64 {
        labels.into_iter().map(|l| self.extents[l]).product()
    }

    /// Number of multiplications of a contraction of two.
    fn cost(&self, a: &[Label], b: &[Label]) -> f64 {
        self.size(a.iter().chain(b.iter().filter(|l| !a.contains(l))))
    }

    /// The tensors after `i` and `j` are contracted.
    fn after(&self, list: &[Vec<Label>], i: usize, j: usize) -> Vec<Vec<Label>> {
        let rest = (0..list.len()).filter(|&at| at != i && at != j).map(|at| list[at].as_slice());
        let made = joined(&list[i], &list[j], &rest.collect::<Vec<_>>(), self.output);
        let mut list = list.to_vec();
        list[i] = made;
        list.remove(j);
        list
    }

    /// The cheapest of all orders. Its time is factorial in the number of tensors.
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

    /// At each step, contracts the pair whose result adds least memory; among equals, the cheapest.
    fn greedy(&self, mut list: Vec<Vec<Label>>) -> Vec<(usize, usize)> {
        let mut path = Vec::new();
        // How many tensors have each axis. A contraction sums over an axis that no other tensor has.
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
        // The weight of each pair of tensors, in the row of the later one.
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
            // Other weights change only for tensors that share an axis with the pair.
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
        fn plainly(search: &ContractionSearch, mut list: Vec<Vec<Label>>) -> Vec<(usize, usize)> {
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
            let search = ContractionSearch { output: &[0, 5], extents: &extents };
            assert_eq!(search.greedy(list.clone()), plainly(&search, list));
        }
        let extents: HashMap<Label, f64> = (0..=300).map(|l| (l, (1 + l % 7) as f64)).collect();
        let chain: Vec<Vec<Label>> = (0..300).map(|l| vec![l, l + 1]).collect();
        assert_eq!(ContractionSearch { output: &[0, 300], extents: &extents }.greedy(chain).len(), 299);
    }
}
