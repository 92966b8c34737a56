//! Shared variables that are updated together, by the old values of each other.

use super::{counted, distance, failed, random};
use proptest::prelude::*;
use workalike::ops::Ix;
use workalike::prelude::{Host, Open, Options, function, shared, tensor};
use workalike::{Value, args};
use workalike_suite::wide::Wide;

/// One update of a vector by the old value of the first, second or another variable of the Function.
#[derive(Clone, Debug)]
struct Change {
    length: usize,
    from: usize,
    how: u8,
}

fn change() -> impl Strategy<Value = Change> {
    let length = prop_oneof![Just(1usize), Just(4), Just(5), Just(700)];
    (length, 0usize..16, 0u8..7).prop_map(|(length, from, how)| Change { length, from, how })
}

/// Runs all updates together, three times: on devices that join them, on one that does not, and by the
/// reference.
fn check_updates(changes: &[Change]) -> workalike::Result<Result<(), String>> {
    let cells: Vec<_> = (changes.iter().enumerate())
        .map(|(i, change)| {
            let values = counted(&[change.length]).mapv(|v| (v + i as f64) / 64.0);
            shared(&format!("cell{i}"), Value::from(&values))
        })
        .collect();
    let x = tensor::<f64>("x", [Some(5)]).named("x");
    let mut f = function([&x]).output(&x * 2.0);
    for (own, change) in cells.iter().zip(changes) {
        let other = &cells[change.from % cells.len()];
        let new = match change.how {
            0 => own * 0.5 + 1.0,
            1 => own - other.sum(..) * 0.01,
            2 => own + other.max(..),
            3 => own.index([Ix::from(..).step(-1)]) * 0.75,
            4 => own * 0.5 + other.index([Ix::from(..1)]) + x.sum(..),
            5 => (own * 0.5).tanh() + own.sum(..) * 0.001,
            // The new value of another variable, which that variable is assigned too.
            _ => own * 0.25 - other.index([Ix::from(..).step(-1)]).sum(..) * 0.01,
        };
        f = f.update(own, new).output(own.sum(..));
    }
    let f = f.compile()?;
    let plain = Options { strict: true, fuse: false, ..Options::default() };
    let mut devices = [
        ("fused", f.fork()?.optimize(Host::threads(2).strict())?),
        ("fused wide", f.fork()?.optimize(Wide.strict())?),
        ("unfused", f.fork()?.optimize(Host::threads(1).with_options(plain))?),
    ];
    for step in 0..3 {
        let args = || args![counted(&[5]) + f64::from(step)];
        let want = f.call_reference(args())?;
        for (what, simulator) in &mut devices {
            let got = simulator.call(args())?;
            for (i, want) in want.iter().map(|(_, want)| want).enumerate() {
                let off = distance(&got[i], want);
                if off > 1e-10 {
                    return Ok(Err(format!(
                        "step {step}, output {i}, {what}: {:?} is {off:e} from {want:?}",
                        got[i]
                    )));
                }
            }
            for (i, cell) in cells.iter().enumerate() {
                let name = format!("cell{i}");
                let (got, want) = (simulator.get_value(&name)?, cell.get_value()?);
                let off = distance(&got, &want);
                if off > 1e-10 {
                    return Ok(Err(format!("step {step}, {name}, {what}: {got:?} is {off:e} from {want:?}")));
                }
            }
        }
    }
    Ok(Ok(()))
}

proptest! {
    #![proptest_config(random::config(400))]

    #[test]
    fn updates_side_by_side_are_the_references(changes in prop::collection::vec(change(), 1..12)) {
        check_updates(&changes).map_err(failed)?.map_err(failed)?;
    }
}
