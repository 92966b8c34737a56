//! Names from files with terminal control characters are escaped in text, JSON and errors.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod common;

use common::Bench;
use std::sync::Arc;
use workalike::ops::{Gradient, Known, Op};
use workalike::prelude::*;
use workalike::printable::is_printable;

/// Sets the title, clears the screen, sets a colour by C1, reverses the text direction, ends lines.
const BAD: &str = "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{2066}\u{2028}\u{85}\r\n";

fn file(bench: &Bench) {
    let bad = |name: &str| format!("{name}{BAD}");
    let x = vector::<f32>(&bad("x"));
    let s = shared(&bad("s"), 1f32);
    let y = (x.exp() * &s).named(&bad("y")).print(&bad("label"));
    let sum = y.sum(..);
    let f = function([&x]).name(&bad("f")).output_named(&bad("out"), &y).update(&s, &s + &sum);
    let g = function([&x]).output(x.assert(x.sum(..).greater(1e9f32), &bad("assert")));
    let (f, g) = (f.compile().unwrap(), g.compile().unwrap());
    Bundle::new().with(&bad("f"), &f).with(&bad("g"), &g).save(bench.path("bad.walk")).unwrap();
}

#[test]
fn no_name_is_obeyed() {
    let bench = Bench::new();
    file(&bench);
    let (f, g) = (format!("f{BAD}"), format!("g{BAD}"));
    let x = format!("x{BAD}=3");
    bench.save("x.npy", "<f4", "(3,)", &[0; 12]);
    let given = format!("x{BAD}=x.npy");
    let method = |name: &'static str, more: &[&str]| -> Vec<String> {
        [name, "bad.walk", "--method", &f, "--device", "host"]
            .iter()
            .chain(more)
            .map(|w| w.to_string())
            .collect()
    };
    let mut commands: Vec<Vec<String>> = [&["info", "bad.walk"][..], &["info", "bad.walk", "--debugprint"]]
        .iter()
        .chain(&[&["info", "bad.walk", "--dot"][..], &["info", "bad.walk", "--json"]])
        .map(|words| words.iter().map(|w| w.to_string()).collect())
        .collect();
    commands.push(method("plan", &["--input", &x]));
    commands.push(method("plan", &["--input", &x, "--json"]));
    commands.push(method("profile", &["--input", &given]));
    commands.push(method("profile", &["--input", &given, "--json"]));
    commands.push(method("verify", &["--input", &x]));
    commands.push(method("verify", &["--input", &x, "--json"]));
    commands.push(method("run", &["--input", &given]));
    commands.push(method("run", &["--input", &given, "--json"]));
    // These commands fail with a message.
    let failing = commands.len();
    commands.push(method("run", &[]));
    commands.push(method("run", &["--input", &format!("no{BAD}=x.npy")]));
    commands.push(
        ["run", "bad.walk", "--method", &g, "--device", "host", "--input", &given].map(String::from).into(),
    );
    commands.push(["run", "bad.walk", "--method", BAD].map(String::from).into());
    for (at, command) in commands.iter().enumerate() {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let output = bench.run(&words);
        assert_eq!(output.status.success(), at < failing, "{words:?}: {output:?}");
        for stream in [output.stdout, output.stderr] {
            let text = String::from_utf8(stream).unwrap();
            let bad: Vec<char> =
                text.chars().filter(|c| *c != '\n' && *c != '\t' && !is_printable(*c)).collect();
            assert!(bad.is_empty(), "{words:?} prints {bad:?}: {text:?}");
        }
    }
    let said = bench.json(&["info", "bad.walk", "--json"]);
    assert!(said.to_string().contains("title"), "{said}");
    assert_eq!(said["methods"][0]["name"].as_str(), Some(&*f), "JSON has the name itself");
}

/// A user-defined op: the identity.
#[derive(Debug)]
struct Own;

impl Op for Own {
    fn id(&self) -> &'static str {
        "tests.own"
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        Ok(vec![inputs[0].clone()])
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        Ok(vec![inputs[0].shape.to_vec()])
    }

    fn grad(&self, _: &Gradient) -> workalike::Result<Vec<Option<Variable>>> {
        Ok(vec![None])
    }

    fn perform(&self, inputs: &[Value]) -> workalike::Result<Vec<Value>> {
        Ok(inputs.to_vec())
    }
}

#[test]
fn info_names_methods_with_ops_that_are_not_known() {
    let bench = Bench::new();
    let (x, w) = (vector::<f32>("x"), shared("w", 1f32));
    let own = Variable::apply(Own, &[&x * &w]).unwrap().remove(0);
    let own = function([&x]).output(own).compile().unwrap();
    let plain = function([&x]).output(x.exp()).compile().unwrap();
    let registry = Registry::default().with("tests.own", 1, |_| Ok(Arc::new(Own))).unwrap();
    let bundle = Bundle::new().with(&format!("own{BAD}"), &own).with("plain", &plain);
    bundle.save_with(bench.path("own.walk"), &registry).unwrap();
    let text = bench.ok(&["info", "own.walk"]);
    assert!(text.contains("method plain") && text.contains("cannot be read"), "{text}");
    assert!(text.contains("tests.own") && text.contains("shared   w"), "{text}");
    assert!(text.lines().all(|line| line.chars().all(is_printable)), "{text}");
    let info = bench.json(&["info", "own.walk", "--json"]);
    assert_eq!(info["methods"].as_array().unwrap().len(), 1);
    assert!(info["unreadable"][0]["why"].as_str().unwrap().contains("tests.own"));
}
