//! Invalid results of [`Op::lower`] are refused, and the op runs on the host.

use super::{Checked, Horner};
use workalike::graph::Node;
use workalike::kernels::nest::{Fold, PhaseKind};
use workalike::kernels::ops as scalar;
use workalike::lower::program::Program;
use workalike::lower::{At, Lowered, Lowering, NestBuilder, PhaseBuilder, View};
use workalike::ops::{Gradient, Known, Op};
use workalike::prelude::*;
use workalike::{Error, Result};

/// The `lower` of a test.
type Rule = fn(&mut Lowering<'_>, &Node, &[View]) -> Lowered;

/// The identity of a vector of 6 elements, with an invalid `lower`.
#[derive(Debug)]
struct Wrong(Rule);

impl Op for Wrong {
    fn id(&self) -> &'static str {
        "example.wrong"
    }

    fn types(&self, inputs: &[&TensorType]) -> Checked<Vec<TensorType>> {
        Ok(vec![inputs[0].clone()])
    }

    fn shapes(&self, inputs: &[Known]) -> Checked<Vec<Vec<usize>>> {
        Ok(vec![inputs[0].shape.to_vec()])
    }

    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![None])
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        Ok(vec![inputs[0].clone()])
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        (self.0)(to, node, inputs)
    }
}

/// Asserts that an invalid `lower` is refused with a text that contains these words, and that the op then
/// runs on the host.
fn assert_refused(rule: Rule, words: &str) {
    let x = vector::<f32>("x");
    let y = Variable::apply(Wrong(rule), &[&x + 1f32]).unwrap().swap_remove(0);
    let f = function([&x]).output(y * 2f32).compile().unwrap();
    let given = || args![vec![0f32, 1.0, 2.0, 3.0, 4.0, 5.0]];
    let error = f.optimize(Host::threads(1).strict()).and_then(|mut sim| sim.call(given())).unwrap_err();
    assert!(matches!(&error, Error::Strict(text) if text.contains(words)), "{words:?} is not in: {error}");
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    assert_eq!(sim.call(given()).unwrap()[0].to_vec::<f32>().unwrap(), [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
}

/// A Nest over the 6 elements, whose Point phase loads and stores at these positions.
fn stored(to: &mut Lowering<'_>, x: &View, load: &[At], store: &[At]) -> Lowered {
    let target = to.temp(DType::F32, &[6]);
    let mut nest = NestBuilder::new("stored", &[6], &[]);
    let mut point = nest.phase(PhaseKind::Point, to.program());
    let value = point.load(x, load);
    point.store(target, &[6], store, value, None);
    point.finish();
    to.push(nest);
    Ok(vec![View::whole(target, &[6])])
}

#[test]
fn wrong_positions_are_refused() {
    let cases: [(Rule, &str); 7] = [
        (|to, _, v| stored(to, &v[0], &[], &At::axes(1)), "0 positions"),
        (|to, _, v| stored(to, &v[0], &At::axes(1), &At::axes(2)), "2 positions"),
        (|to, _, v| stored(to, &v[0], &[At::Axis(7)], &At::axes(1)), "axis 7"),
        (|to, _, v| stored(to, &v[0], &[At::Value(7)], &At::axes(1)), "value 7"),
        (|to, _, v| stored(to, &v[0], &At::axes(1), &[At::First]), "store to one element"),
        (
            |to, _, v| stored(to, &View::whole(v[0].buffer(), &[7]), &At::axes(1), &At::axes(1)),
            "does not fit",
        ),
        (|to, _, _| stored(to, &View::whole(usize::MAX, &[6]), &At::axes(1), &At::axes(1)), "no buffer"),
    ];
    cases.into_iter().for_each(|(rule, words)| assert_refused(rule, words));
}

#[test]
fn wrong_views_are_refused() {
    let cases: [(Rule, &str); 9] = [
        (|_, _, v| Ok(vec![v[0].dimshuffle(&[Some(1)])]), "dimshuffle"),
        (|_, _, v| Ok(vec![v[0].dimshuffle(&[None])]), "dimshuffle"),
        (|_, _, v| Ok(vec![v[0].broadcast(&[5])]), "broadcast"),
        (|_, _, v| Ok(vec![v[0].slice(3, 0, 1, None, None)]), "no slice"),
        (|_, _, v| Ok(vec![v[0].slice(0, i64::MAX, i64::MIN, Some(u64::MAX), None)]), "no slice"),
        (|_, _, v| Ok(vec![v[0].windows(0, [6, u64::MAX, 2, u64::MAX])]), "windows"),
        (|_, _, v| Ok(vec![v[0].with_axes_at(4, 9)]), "before axis 9"),
        (|_, _, v| Ok(vec![v[0].slice(0, 0, 1, Some(3), None)]), "expected float32"),
        (|_, _, _| Ok(vec![]), "0 views"),
    ];
    cases.into_iter().for_each(|(rule, words)| assert_refused(rule, words));
}

/// Stores into a buffer, which may belong to another op.
fn into(to: &mut Lowering<'_>, x: &View, target: usize) -> Lowered {
    let mut nest = NestBuilder::new("into", &[6], &[]);
    let mut point = nest.phase(PhaseKind::Point, to.program());
    let value = point.float(DType::F32, 1.0);
    point.store(target, &[6], &At::axes(1), value, None);
    point.finish();
    to.push(nest);
    Ok(vec![x.clone()])
}

#[test]
fn buffers_of_others_are_refused() {
    let cases: [(Rule, &str); 6] = [
        (|to, _, v| into(to, &v[0], v[0].buffer()), "that the op made"),
        (|to, _, v| into(to, &v[0], usize::MAX), "no buffer"),
        (
            |to, _, _| {
                let target = to.temp(DType::F32, &[6]);
                Ok(vec![View::whole(target, &[6])])
            },
            "nothing wrote",
        ),
        (
            |to, _, _| {
                let target = to.temp(DType::F32, &[u64::MAX, 2]);
                Ok(vec![View::whole(target, &[u64::MAX, 2])])
            },
            "64 bits",
        ),
        (
            |to, _, v| {
                let given = vec![(v[0].buffer(), 0), (v[0].buffer(), 0)];
                to.library(Horner { terms: 7, points: 6 }, given, &[&[6]]).ok_or_else(|| "no horner".into())
            },
            "an operand float32 of [7]",
        ),
        (
            |to, _, v| {
                let given = vec![(v[0].buffer(), 0), (v[0].buffer(), 0)];
                to.library(Horner { terms: u64::MAX, points: 6 }, given, &[&[6]]).ok_or_else(|| "none".into())
            },
            "at most",
        ),
    ];
    cases.into_iter().for_each(|(rule, words)| assert_refused(rule, words));
}

#[test]
fn wrong_phases_are_refused() {
    let cases: [(Rule, &str); 8] = [
        (
            |to, _, v| {
                to.push(NestBuilder::new("empty", &[6], &[]));
                Ok(vec![v[0].clone()])
            },
            "no phases",
        ),
        (
            |to, _, v| {
                let mut nest = NestBuilder::new("two", &[6], &[]);
                let mut first = nest.phase(PhaseKind::Point, to.program());
                let value = first.load(&v[0], &At::axes(1));
                first.finish();
                let mut second = nest.phase(PhaseKind::Point, to.program());
                second.apply(scalar::ABS, &[value]);
                second.finish();
                to.push(nest);
                Ok(vec![v[0].clone()])
            },
            "not one of this phase",
        ),
        (|to, _, v| phase(to, v, |point| _ = point.apply(scalar::ADD, &[])), "does not accept"),
        (|to, _, v| phase(to, v, |point| _ = point.axis(1)), "axis 1"),
        (
            |to, _, v| {
                phase(to, v, |point| {
                    let one = point.number(DType::F32, 1);
                    point.fold(Fold::Sum, one, None);
                })
            },
            "only a Reduce phase has folds",
        ),
        (|to, _, v| phase(to, v, |point| _ = point.folded(9, 9, DType::F32)), "fold 9 of phase 9"),
        (
            |to, _, v| {
                let status = to.status();
                phase(to, v, |point| {
                    let number = point.number(DType::I64, 1 << 40);
                    point.store(status, &[], &[], number, None);
                })
            },
            "Lowering::report",
        ),
        (
            |to, _, v| {
                let none = Program::default();
                let mut nest = NestBuilder::new("other", &[6], &[]);
                let mut point = nest.phase(PhaseKind::Point, &none);
                point.load(&v[0], &At::axes(1));
                point.finish();
                to.push(nest);
                Ok(vec![v[0].clone()])
            },
            "no buffer",
        ),
    ];
    cases.into_iter().for_each(|(rule, words)| assert_refused(rule, words));
}

/// A Nest of one Point phase, and the input as the result.
fn phase(to: &mut Lowering<'_>, v: &[View], body: impl FnOnce(&mut PhaseBuilder<'_>)) -> Lowered {
    let mut nest = NestBuilder::new("phase", &[6], &[]);
    let mut point = nest.phase(PhaseKind::Point, to.program());
    body(&mut point);
    point.finish();
    to.push(nest);
    Ok(vec![v[0].clone()])
}
