//! The registry of rules and passes. Every rule has a law. User-defined rules and passes need only the public
//! API.

use super::*;
use workalike::kernels::ops::{COS, DIV, EXP, NEG, SIN};
use workalike::rewrite::{Pass, Rule, argument, uniform};
use workalike::{Error, Result};

/// The files of laws.
const LAWS: [&str; 7] = [
    include_str!("algebra.rs"),
    include_str!("complex.rs"),
    include_str!("diagonals.rs"),
    include_str!("layout.rs"),
    include_str!("products.rs"),
    include_str!("slices.rs"),
    include_str!("stability.rs"),
];

fn names(rewrites: &Rewrites) -> Vec<&'static str> {
    rewrites.rules().iter().map(Rule::name).collect()
}

#[test]
fn every_rule_has_a_law() {
    let laws = LAWS.concat();
    let has_law = |name: &str| {
        ["law", "stable", "finite"].iter().any(|kind| laws.contains(&format!("{kind}!({name},")))
    };
    let without: Vec<&str> = names(&Rewrites::default()).into_iter().filter(|name| !has_law(name)).collect();
    assert!(without.is_empty(), "rules without a law of their name: {without:?}");
}

#[test]
fn every_rule_has_a_unique_name_and_a_description() {
    let rewrites = Rewrites::default();
    let mut sorted = names(&rewrites);
    assert!(sorted.len() > 60, "{sorted:?}");
    sorted.sort_unstable();
    assert!(sorted.windows(2).all(|pair| pair[0] != pair[1]), "{sorted:?}");
    assert!(rewrites.rules().iter().all(|rule| !rule.doc().is_empty()));
    let passes: Vec<&str> = rewrites.passes().iter().map(Pass::name).collect();
    assert_eq!(
        passes,
        [
            "merge",
            "simplify",
            "lift",
            "prune",
            "hoist",
            "join_loops",
            "fold_constants",
            "merge",
            "pairs",
            "prune",
            "simplify",
            "merge",
            "prune"
        ]
    );
}

fn tangent() -> Rule {
    Rule::elementwise("test.tangent", "sin(x) / cos(x) is tan(x)", DIV, |inputs| {
        match (argument(&inputs[0], SIN), argument(&inputs[1], COS)) {
            (Some(x), Some(same)) if x.is_same(&same) => Ok(Some(x.try_tan()?)),
            _ => Ok(None),
        }
    })
}

/// `x * 2` as `x + x`, from labels.
fn doubled() -> Rule {
    Rule::new("test.doubled", "x * 2 is x + x", |op, inputs| match inputs {
        [x, two] if op.label() == "multiply" && uniform(two) == Some(2.0) => Ok(Some(x.plus(x))),
        _ => Ok(None),
    })
}

/// The labels of the compiled Function of a vector.
fn compiled(rewrites: Rewrites, of: impl Fn(&Variable) -> Variable) -> Result<Vec<String>> {
    let x = vector::<f64>("x");
    Ok(ops(function([&x]).output(of(&x)).rewrites(rewrites).compile()?.graph()))
}

fn with(rule: Rule) -> Rewrites {
    Rewrites::default().with_rule(rule).unwrap()
}

/// The error message of compiling `exp(x)` with one more rule.
fn refusal(replace: impl Fn(&[Variable]) -> Result<Option<Variable>> + Send + Sync + 'static) -> String {
    let rule = Rule::elementwise("test.wrong", "a rule that is wrong", EXP, replace);
    let message = compiled(with(rule), Variable::exp).unwrap_err().to_string();
    assert!(message.contains("test.wrong"), "{message}");
    message
}

#[test]
fn a_program_adds_rules() {
    let (x, w) = (vector::<f64>("x"), shared("w", array![0.5f64, 2.0]));
    let rewrites = with(tangent()).with_rule(doubled()).unwrap();
    let y = (x.sin() / x.cos() + w.sin() / w.cos()) * 2.0;
    let f = function([&x]).output(&y).update(&w, &w * 2.0).rewrites(rewrites.clone()).compile().unwrap();
    assert_eq!(ops(f.graph()), ["tan", "tan", "add", "add", "add"]);
    let plain = function([&x]).output(&y).compile().unwrap();
    assert!(ops(plain.graph()).contains(&"true_divide".to_string()));
    let given = vec![0.25f64, -1.0];
    let want = plain.call(args![given.clone()]).unwrap()[0].to_f64s();
    let got = f.call(args![given]).unwrap()[0].to_f64s();
    assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-12), "{got:?} {want:?}");
    assert_eq!(w.get_value().unwrap().to_f64s(), [1.0, 4.0]);
    // They come first, in order; a removed one is not applied.
    assert_eq!(names(&rewrites)[..2], ["test.tangent", "test.doubled"]);
    let fewer = rewrites.without("test.tangent").unwrap();
    assert_eq!(compiled(fewer, |x| x.sin() / x.cos()).unwrap(), ["sin", "cos", "true_divide"]);
}

#[test]
fn a_replacement_is_rewritten_too() {
    // The result of the rule is matched by a rule of this library.
    let rule = Rule::elementwise("test.there_and_back", "exp(-x) is log(exp(sin(-x)))", EXP, |inputs| {
        Ok(if argument(&inputs[0], NEG).is_some() { Some(inputs[0].sin().exp().log()) } else { None })
    });
    assert_eq!(compiled(with(rule), |x| (-x).exp()).unwrap(), ["negative", "sin"]);
}

#[test]
fn a_rule_that_changes_the_type_is_an_error() {
    let message = refusal(|inputs| Ok(Some(inputs[0].cast(DType::F32))));
    assert!(message.contains("exp (written at"), "{message}");
    assert!(message.contains("float32(?,), expected float64(?,)"), "{message}");
    let message = refusal(|inputs| Ok(Some(inputs[0].sum(0))));
    assert!(message.contains("float64(), expected float64(?,)"), "{message}");
    // An operand of one element would broadcast to the other operands.
    let message = refusal(|_| Ok(Some(constant(array![1f64]))));
    assert!(message.contains("float64(1,), expected float64(?,)"), "{message}");
}

#[test]
fn a_rule_without_end_is_an_error() {
    assert!(refusal(|inputs| Ok(Some(inputs[0].exp()))).contains("do not end"));
    let there = Rule::elementwise("test.there", "-x is 0 - x", NEG, |inputs| Ok(Some(0.0 - &inputs[0])));
    let back = Rule::new("test.back", "0 - x is -x", |op, inputs| match inputs {
        [zero, x] if op.label() == "subtract" && uniform(zero) == Some(0.0) => Ok(Some(-x)),
        _ => Ok(None),
    });
    let message = compiled(with(there).with_rule(back).unwrap(), |x| -x).unwrap_err().to_string();
    assert!(message.contains("test.") && message.contains("do not end"), "{message}");
}

#[test]
fn errors_of_a_rule_name_it() {
    assert!(refusal(|_| Err(Error::Compile("not today".into()))).contains("not today"));
    assert!(refusal(|_| Ok(Some(vector::<f64>("elsewhere")))).contains("elsewhere"));
    assert!(refusal(|inputs| Ok(Some(inputs[0].reshape([-3])))).contains("extent -3 is negative"));
}

#[test]
fn names_are_checked() {
    let twice = with(tangent()).with_rule(tangent()).unwrap_err().to_string();
    assert!(twice.contains("test.tangent"), "{twice}");
    let own = Rule::elementwise("log_exp", "taken", EXP, |_| Ok(None));
    assert!(Rewrites::default().with_rule(own).unwrap_err().to_string().contains("log_exp"));
    assert!(Rewrites::default().without("log_exb").unwrap_err().to_string().contains("log_exb"));
    let pass = Pass::new("prune", |graph| Ok(graph.clone()));
    assert!(Rewrites::default().with_pass(pass).unwrap_err().to_string().contains("prune"));
    assert!(Rewrites::none().with_rule(tangent()).is_err(), "no pass would apply it");
}

#[test]
fn fewer_rules_and_passes_find_less() {
    let stays = |rewrites: Rewrites| compiled(rewrites, |x| x.exp().log()).unwrap();
    assert!(stays(Rewrites::default()).is_empty());
    assert_eq!(stays(Rewrites::default().without("log_exp").unwrap()), ["exp", "log"]);
    assert_eq!(stays(Rewrites::default().without("simplify").unwrap()), ["exp", "log"]);
    assert_eq!(stays(Rewrites::none()), ["exp", "log"]);
}

#[test]
fn a_program_adds_passes() {
    let refused = |run: fn(&mut FunctionGraph)| {
        let pass = Pass::new("test.pass", move |graph| {
            let mut graph = graph.clone();
            run(&mut graph);
            Ok(graph)
        });
        compiled(Rewrites::default().with_pass(pass).unwrap(), Variable::exp).map_err(|e| e.to_string())
    };
    // It runs before `prune`, so unused nodes are removed.
    let more = |graph: &mut FunctionGraph| {
        let (op, inputs) = (graph.nodes[0].op.clone(), graph.nodes[0].inputs.clone());
        graph.add_node(op, inputs, vec![TensorType::of_rank(DType::F64, 1)]);
    };
    assert_eq!(refused(more).unwrap(), ["exp"]);
    type Break = fn(&mut FunctionGraph);
    let wrong: [(Break, &str); 3] = [
        (|graph| graph.outputs.clear(), "0 outputs of 1"),
        (|graph| graph.outputs = vec![99], "outputs name Var 99"),
        (|graph| graph.vars[0].ty.dtype = DType::F32, "test.pass"),
    ];
    for (run, says) in wrong {
        let message = refused(run).unwrap_err();
        assert!(message.contains("test.pass") && message.contains(says), "{message}");
    }
    let failing = Pass::new("test.failing", |_| Err(Error::Compile("not today".into())));
    let message = compiled(Rewrites::default().with_pass(failing).unwrap(), Variable::exp).unwrap_err();
    assert!(message.to_string().contains("test.failing"), "{message}");
}
