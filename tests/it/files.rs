//! Every file that is saved can be loaded; otherwise saving fails with a reason.

use std::sync::Arc;
use workalike::ops::{Attr, Attributes, Gradient, Known, Op};
use workalike::prelude::*;

const NONE: [&Variable; 0] = [];

fn reload(bundle: &Bundle) -> Bundle {
    Bundle::from_bytes(&bundle.to_bytes().unwrap()).unwrap()
}

fn item(f: &Function) -> f32 {
    f.call(args![]).unwrap()[0].item().unwrap()
}

#[test]
fn a_variable_and_its_loaded_copy_stay_two_in_one_function() {
    let w = shared("w", 1f32);
    let g = function(NONE).output(&w).compile().unwrap();
    let loaded = reload(&Bundle::new().with("g", &g));
    let old = loaded["g"].shared("w").unwrap();
    assert_eq!(old.cell().unwrap().id(), w.cell().unwrap().id());
    let f = function(NONE).output(&w - &*old).update(&w, &w + 1.0).compile().unwrap();
    for value in [1f32, 5.0] {
        w.set_value(value).unwrap();
        let back = reload(&Bundle::new().with("f", &f).with("g", &g));
        let (f, g) = (&back["f"], &back["g"]);
        assert_eq!(f.cells().len(), 2);
        assert_eq!(item(f), value - 1.0);
        assert_eq!(item(f), value);
        assert_eq!(item(g), value + 2.0, "the updated one is that of the other method");
        let again = reload(&back);
        assert_eq!(item(&again["f"]), value + 1.0);
        let mut simulator = again["f"].optimize(Host::auto()).unwrap();
        assert_eq!(simulator.call(args![]).unwrap()[0].item::<f32>().unwrap(), value + 2.0);
    }
}

#[test]
fn functions_over_two_variables_of_one_id_are_saved_as_they_are() {
    let w = shared("w", 1f32);
    let f = function(NONE).output(&w).compile().unwrap();
    let bytes = Bundle::new().with("f", &f).to_bytes().unwrap();
    let [one, other] = [(); 2].map(|()| Bundle::from_bytes(&bytes).unwrap()["f"].clone());
    other.cells()[0].set_value(2f32).unwrap();
    let back = reload(&reload(&Bundle::new().with("one", &one).with("other", &other)));
    assert_eq!((item(&back["one"]), item(&back["other"])), (1.0, 2.0));
    assert_eq!(back["one"].cells()[0].id(), back["other"].cells()[0].id());
    assert_eq!(back.cells().count(), 2);
}

/// Doubles its input; a test chooses the id and the attributes.
#[derive(Clone, Debug)]
struct Own {
    id: &'static str,
    attributes: Attributes,
}

impl Op for Own {
    fn id(&self) -> &'static str {
        self.id
    }

    fn attributes(&self) -> Attributes {
        self.attributes.clone()
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
        let doubled = inputs[0].to_vec::<f32>()?.iter().map(|x| 2.0 * x).collect();
        Ok(vec![Value::from_vec(inputs[0].shape(), doubled)?])
    }
}

fn attributes() -> Attributes {
    vec![
        ("n".into(), Attr::Int(-7)),
        ("list".into(), Attr::Ints(vec![1, i64::MIN])),
        ("text".into(), Attr::Text("t".into())),
        ("dtype".into(), Attr::Type(DType::BF16)),
    ]
}

fn own_function(id: &'static str) -> Function {
    let x = vector::<f32>("x");
    let y =
        Variable::apply(Own { id, attributes: attributes() }, std::slice::from_ref(&x)).unwrap().remove(0);
    function([&x]).output(y + 1.0).compile().unwrap()
}

fn registry() -> Registry {
    let known = |op: &workalike::ops::StoredOp| {
        assert_eq!((op.id(), op.version(), op.attributes()), ("tests.own", 1, &attributes()));
        assert_eq!((op.int("n"), op.text("text"), op.dtype("dtype")), (Ok(-7), Ok("t"), Ok(DType::BF16)));
        assert!(op.int("text").unwrap_err().contains("text") && op.ints("nothing").is_err());
        let attributes = op.attributes().clone();
        Ok(Arc::new(Own { id: "tests.own", attributes }) as Arc<dyn Op>)
    };
    Registry::default().with("tests.own", 1, known).unwrap()
}

#[test]
fn ops_of_a_program_are_saved_with_a_registry_only() {
    let bundle = Bundle::new().with("f", &own_function("tests.own"));
    let error = bundle.to_bytes().unwrap_err().to_string();
    assert!(
        error.contains("function f") && error.contains("tests.own") && error.contains("save_with"),
        "{error}"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.walk");
    assert!(bundle.save(&path).is_err() && !path.exists());
    bundle.save_with(&path, &registry()).unwrap();
    let back = Bundle::load_with(&path, &registry()).unwrap();
    let out = back["f"].call(args![vec![1f32, 2.0]]).unwrap();
    assert_eq!(out[0].to_vec::<f32>().unwrap(), [3.0, 5.0]);
}

#[test]
fn simulators_with_ops_of_a_program_are_saved_and_restored_with_a_registry() {
    let sim = own_function("tests.own").optimize(Host::threads(1)).unwrap();
    assert!(sim.to_bytes().unwrap_err().to_string().contains("tests.own"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.walk");
    sim.save_with(&path, &registry()).unwrap();
    let error = Simulator::load(&path, Host::threads(1)).unwrap_err().to_string();
    assert!(error.contains("tests.own") && error.contains("load_with"), "{error}");
    let mut back = Simulator::load_with(&path, Host::threads(1), &registry()).unwrap();
    assert_eq!(back.call(args![vec![1f32, 2.0]]).unwrap()[0].to_vec::<f32>().unwrap(), [3.0, 5.0]);
}

#[test]
fn an_unknown_op_spoils_only_the_functions_that_hold_it() {
    let w = shared("weights", vec![1f32, 2.0]);
    let hidden = shared("hidden", 3f32);
    let x = vector::<f32>("x");
    let y = Variable::apply(Own { id: "tests.own", attributes: attributes() }, &[&x * &w]).unwrap().remove(0);
    let own = function([In::new(&x).strict()]).output(y * &hidden).compile().unwrap();
    let weights = function(NONE).output(&w).compile().unwrap();
    let bytes = Bundle::new().with("own", &own).with("weights", &weights).to_bytes_with(&registry()).unwrap();
    // Loaded, saved and loaded again by a program that does not know the op.
    let mut bundle = Bundle::from_bytes(&bytes).unwrap();
    for _ in 0..2 {
        assert_eq!(bundle.iter().map(|f| f.0).collect::<Vec<_>>(), ["weights"]);
        assert_eq!(bundle["weights"].call(args![]).unwrap()[0].to_vec::<f32>().unwrap(), [1.0, 2.0]);
        assert!(bundle.get("own").is_none() && bundle.len() == 1);
        let error = bundle.function("own").unwrap_err().to_string();
        assert!(
            error.contains("tests.own") && error.contains("function own") && error.contains("load_with"),
            "{error}"
        );
        let unreadable: Vec<_> =
            bundle.unreadable().map(|(name, error)| (name.to_string(), error.to_string())).collect();
        assert_eq!(unreadable, [("own".to_string(), error)]);
        assert_eq!(bundle.cells().map(|c| c.name()).collect::<Vec<_>>(), ["weights", "hidden"]);
        let again = bundle.to_bytes().unwrap();
        assert_eq!(again, bytes, "nothing is lost");
        bundle = Bundle::from_bytes(&again).unwrap();
    }
    let back = Bundle::from_bytes_with(&bundle.to_bytes().unwrap(), &registry()).unwrap();
    let out = back["own"].call(args![vec![1f32, 1.0]]).unwrap();
    assert_eq!(out[0].to_vec::<f32>().unwrap(), [6.0, 12.0]);
    // The only Function of a file.
    let alone = Bundle::new().with("own", &own).to_bytes_with(&registry()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.walk");
    std::fs::write(&path, alone).unwrap();
    assert!(Function::load(&path).unwrap_err().to_string().contains("tests.own"));
    // The name goes to a readable Function.
    assert_eq!(bundle.with("own", &weights).len(), 2);
}

#[test]
fn ops_that_do_not_come_back_are_refused() {
    // A user's op with the id of an op of the library, whose attributes differ.
    for id in ["reduce", "sum_like"] {
        let error = Bundle::new().with("f", &own_function(id)).to_bytes().unwrap_err().to_string();
        assert!(error.contains(id), "{error}");
    }
    let other = |_: &workalike::ops::StoredOp| {
        Ok(Arc::new(Own { id: "tests.own", attributes: vec![] }) as Arc<dyn Op>)
    };
    let forgets = Registry::default().with("tests.own", 1, other).unwrap();
    let error = Bundle::new().with("f", &own_function("tests.own")).to_bytes_with(&forgets).unwrap_err();
    assert!(error.to_string().contains("other attributes"), "{error}");
    assert!(Registry::default().with("reduce", 1, other).is_err());
    assert!(forgets.with("tests.own", 1, other).unwrap_err().to_string().contains("registered already"));
}

#[test]
fn arrays_have_at_most_64_axes() {
    assert!(Value::zeros(DType::F32, &[1; 64]).is_ok());
    let error = Value::zeros(DType::F32, &[1; 65]).unwrap_err().to_string();
    assert!(error.contains("64") && error.contains("65"), "{error}");
    let x = tensor::<f32>("x", vec![None; 65]);
    assert!(function([&x]).output(&x).compile().is_err());
}

#[cfg(unix)]
#[test]
fn saving_keeps_links_and_permissions() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let f = function(NONE).output(constant(1f32)).compile().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (file, link, fifo) = (folder.path().join("a"), folder.path().join("b"), folder.path().join("c"));
    f.save(&file).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&file, &link).unwrap();
    f.save(&link).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for path in [fifo.as_path(), folder.path()] {
        assert!(f.save(path).unwrap_err().to_string().contains("expected a regular file"));
    }
}
