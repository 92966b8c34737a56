use super::*;
use crate::group::{by_gathering, threads};
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// A transport that carries nothing.
#[derive(Clone, Debug)]
struct Cable {
    name: &'static str,
    place: usize,
    broken: bool,
}

impl DirectTransport for Cable {
    fn name(&self) -> String {
        self.name.into()
    }

    fn place(&self) -> String {
        self.place.to_string()
    }

    fn join(&self, group: &Arc<dyn Group>) -> Result<Arc<dyn Group>, GroupError> {
        match self.broken {
            // Any group of another kind will do.
            false => by_gathering(group.rank(), group.size(), PATIENCE, |_| Ok(vec![])),
            true => Err(GroupError::Transport {
                transport: self.name(),
                call: "plug in".into(),
                message: "it is broken".into(),
            }),
        }
    }
}

/// What carries the members' arrays, or why they could not be joined, given what each has.
fn carried(cables: &[Option<Cable>]) -> Vec<Result<String, String>> {
    let seats = threads(cables.len(), PATIENCE);
    thread::scope(|scope| {
        let work = cables.iter().zip(&seats).map(|(cable, seat)| {
            scope.spawn(move || {
                let transport = cable.clone().map(|cable| Box::new(cable) as Box<dyn DirectTransport>);
                let group = direct(transport, seat).map_err(|error| error.to_string())?;
                Ok(group.transport().into())
            })
        });
        let work: Vec<_> = work.collect();
        work.into_iter().map(|member| member.join().unwrap()).collect()
    })
}

fn cable(name: &'static str, place: usize) -> Option<Cable> {
    Some(Cable { name, place, broken: false })
}

#[test]
fn equal_transports_at_different_places_are_joined() {
    let all = carried(&[cable("A", 0), cable("A", 1), cable("A", 2)]);
    assert_eq!(all, vec![Ok("another library's gathering".into()); 3]);
}

#[test]
fn other_members_stay_in_main_memory() {
    let main_memory = |cables: &[Option<Cable>]| {
        assert_eq!(carried(cables), vec![Ok("threads".into()); cables.len()], "{cables:?}");
    };
    main_memory(&[None, None]);
    main_memory(&[cable("A", 0), None]);
    main_memory(&[None, cable("A", 0)]);
    main_memory(&[cable("A", 0), cable("B", 1)]);
    main_memory(&[cable("A", 0), cable("A", 1), cable("A", 1)]);
    main_memory(&[cable("A", 0)]);
}

#[test]
fn a_transport_that_fails_for_one_is_an_error_for_all() {
    let broken = Some(Cable { name: "A", place: 1, broken: true });
    let all = carried(&[cable("A", 0), broken]);
    assert_eq!(all[1], Err("A: plug in failed: it is broken".into()));
    assert!(all[0].as_ref().unwrap_err().contains("it is broken"), "{all:?}");
}
