//! A loop as a file holds it.

use super::ScanOp;
use super::body::ScanBody;
use crate::op::{Attr, AttrGraph, Attributes, Op};
use crate::ops::stored_op::StoredOp;
use std::sync::Arc;

/// The first version that can say what the op does: only the second has loops that go backwards.
pub(super) fn version(op: &ScanOp) -> u32 {
    if op.backwards { 2 } else { 1 }
}

/// The attributes: `name`; `body`; `sequences`, their number; `lags`, for each recurrence the number of its
/// taps, then how many iterations each looks back; `steps`, the number of iterations, -1 if it may vary;
/// `truncated`, the number of iterations that the gradient flows through, -1 if all; from version 2 on
/// `backwards`, 1 if it goes backwards.
pub(super) fn attributes(op: &ScanOp) -> Attributes {
    let body = &op.body;
    let lags = body.lags.iter().flat_map(|lags| std::iter::once(lags.len()).chain(lags.iter().copied()));
    let mut list = vec![
        ("name".into(), Attr::Text(body.name.clone())),
        ("body".into(), Attr::Graph(AttrGraph(body.closed.graph.clone()))),
        ("sequences".into(), Attr::Int(body.sequences as i64)),
        ("lags".into(), Attr::Ints(lags.map(|n| n as i64).collect())),
        ("steps".into(), Attr::Int(op.steps.map_or(-1, |n| n as i64))),
        ("truncated".into(), Attr::Int(op.truncated.map_or(-1, |n| n as i64))),
    ];
    if op.backwards {
        list.push(("backwards".into(), Attr::Int(1)));
    }
    list
}

/// The op.
///
/// # Errors
/// If the attributes contradict each other.
pub(in crate::ops) fn decode(op: &StoredOp) -> Result<Arc<dyn Op>, String> {
    let count = |n: i64| usize::try_from(n).map_err(|_| format!("{n} is no number of things"));
    let sequences = count(op.int("sequences")?)?;
    let mut numbers = op.ints("lags")?.iter().copied();
    let mut lags = Vec::new();
    while let Some(taps) = numbers.next() {
        let list: Vec<usize> = numbers.by_ref().take(count(taps)?).map(count).collect::<Result<_, _>>()?;
        if list.len() as i64 != taps {
            return Err("attribute lags is too short".into());
        }
        lags.push(list);
    }
    let graph = op.graph("body")?.clone();
    let number = |name: &str| Ok::<_, String>(usize::try_from(op.int(name)?).ok());
    let (steps, truncated) = (number("steps")?, number("truncated")?);
    let backwards = op.version() >= 2 && op.int("backwards")? != 0;
    let body = Arc::new(ScanBody::stored(op.text("name")?, sequences, lags, graph)?);
    Ok(Arc::new(ScanOp { body, steps, truncated, lockstep: false, backwards, states: vec![] }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ops::loops::scan::builder::Scan;
    use crate::ops::registry::Registry;
    use crate::prelude::*;

    fn a_loop() -> Arc<dyn Op> {
        let (xs, h) = (matrix::<f32>("xs"), matrix::<f32>("h"));
        let scanned = Scan::new().sequence(&xs).recurrent_taps(&h, [-3, -1]).steps(4);
        let history = scanned.run(|v| vec![&v[0] + &v[1] * &v[2], v[2].exp()]).history(0);
        let (part, _) = history.owner().unwrap();
        part.inputs[0].owner().unwrap().0.op.clone()
    }

    fn decoded(attributes: &Attributes) -> Result<Arc<dyn Op>, String> {
        Registry::default().decode(&StoredOp::new("scan", 1, attributes))
    }

    #[test]
    fn the_loop_of_a_gradient_goes_backwards_in_files_too() {
        let (xs, h) = (matrix::<f32>("xs"), vector::<f32>("h"));
        let slope = grad(crate::ops::loops::scan(&xs, &h, |x, h| (x * h).sin()).sum(..), [&xs]).unwrap();
        let all = crate::graph::ancestors(&slope, |_| false);
        let mut ops = all.iter().filter_map(|v| Some(&v.owner()?.0.op));
        let op = ops.rfind(|op| op.id() == "scan" && op.version() == 2).unwrap();
        let (version, attributes) = (op.version(), op.attributes());
        let back = Registry::default().decode(&StoredOp::new("scan", version, &attributes)).unwrap();
        assert_eq!((back.version(), back.attributes()), (version, attributes));
    }

    #[test]
    fn a_loop_comes_back_from_its_attributes() {
        let op = a_loop();
        let attributes = op.attributes();
        assert_eq!(decoded(&attributes).unwrap().attributes(), attributes);
    }

    #[test]
    fn attributes_that_do_not_fit_are_errors() {
        let good = a_loop().attributes();
        let with = |name: &str, attr: Attr| {
            let mut list = good.clone();
            list.iter_mut().filter(|(own, _)| own == name).for_each(|(_, own)| *own = attr.clone());
            decoded(&list).unwrap_err()
        };
        let refused = [
            with("sequences", Attr::Int(-1)),
            with("sequences", Attr::Int(i64::MAX)),
            with("sequences", Attr::Int(7)),
            with("lags", Attr::Ints(vec![2, 3])),
            with("lags", Attr::Ints(vec![-1])),
            with("lags", Attr::Ints(vec![i64::MAX, 1])),
            with("lags", Attr::Ints(vec![2, 0, 1])),
            with("lags", Attr::Ints(vec![2, 3, i64::MAX])),
            with("lags", Attr::Ints(vec![1, 1, 1, 1, 1, 1])),
            with("body", Attr::Int(0)),
        ];
        assert!(refused.iter().all(|message| message.starts_with("op scan: ")), "{refused:?}");
        assert!(decoded(&good).is_ok());
    }
}
