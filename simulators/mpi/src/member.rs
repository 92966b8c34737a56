//! A member of the group of all processes, and the thread that makes its calls of MPI.

use crate::exchange::{MpiWork, run};
use mpi::Threading;
use mpi::environment::Universe;
use mpi::traits::Communicator;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use workalike_device::group::{Collective, Group, GroupError};

/// What the calling thread asks of the thread of MPI, and where the results go.
struct WorkRequest {
    work: MpiWork,
    reply: SyncSender<Result<Vec<u8>, GroupError>>,
}

/// This process, as a member of the group of all.
#[derive(Debug)]
struct MpiMember {
    rank: usize,
    size: usize,
    patience: Duration,
    state: Mutex<MemberState>,
}

#[derive(Debug)]
struct MemberState {
    /// `None` once the group is closed.
    requests: Option<Sender<WorkRequest>>,
    thread: Option<JoinHandle<()>>,
    closed: Option<GroupError>,
}

/// This process as a member of the group of all processes that the launcher of MPI started. In a collective
/// it waits for the others for as long as `patience`; after that the group is closed, and the process should
/// end. When the member is dropped, MPI is finalized. So a process makes it once.
///
/// A process that dies is the launcher's matter: `mpirun` ends all others then.
///
/// # Errors
/// If MPI cannot be initialized, or has been already.
pub fn world(patience: Duration) -> Result<Arc<dyn Group>, GroupError> {
    let (started, place) = sync_channel(1);
    let (requests, incoming) = channel();
    let serve = move || match mpi::initialize_with_threading(Threading::Funneled) {
        Some((universe, threading)) if threading >= Threading::Funneled => {
            let world = universe.world();
            // The receiver waits for it.
            _ = started.send(Ok((world.rank(), world.size())));
            serve(&universe, &incoming);
        }
        Some((_, threading)) => {
            _ = started
                .send(Err(format!("it offers {threading:?} only; calls of a thread of its own are needed")));
        }
        None => _ = started.send(Err("it has been initialized already: a process is a member once".into())),
    };
    let failed = |message: String| failure("MPI_Init_thread", message);
    let thread = thread::Builder::new().name("workalike-mpi".into()).spawn(serve);
    let thread = thread.map_err(|error| failed(error.to_string()))?;
    let place = place.recv().map_err(|_| failed("its thread ended".into()))?;
    let (rank, size) = place.map_err(failed)?;
    let place = |n| usize::try_from(n).map_err(|_| failure("MPI_Comm_rank", format!("it returned {n}")));
    let state = MemberState { requests: Some(requests), thread: Some(thread), closed: None };
    Ok(Arc::new(MpiMember { rank: place(rank)?, size: place(size)?, patience, state: Mutex::new(state) }))
}

pub(crate) fn failure(call: &str, message: String) -> GroupError {
    GroupError::Transport { transport: "MPI".into(), call: call.into(), message }
}

/// Answers requests until the member is dropped.
fn serve(universe: &Universe, requests: &Receiver<WorkRequest>) {
    let world = universe.world();
    for WorkRequest { work, reply } in requests {
        // A member that waited too long is not there any more.
        _ = reply.send(run(&world, work));
    }
}

impl MpiMember {
    /// The state. It is consistent whenever the lock is free.
    fn lock(&self) -> MutexGuard<'_, MemberState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the thread of MPI do the work.
    fn request(&self, work: MpiWork) -> Result<Vec<u8>, GroupError> {
        let what = work.what.clone();
        let mut state = self.lock();
        if let Some(error) = &state.closed {
            return Err(error.clone());
        }
        let (reply, answer) = sync_channel(1);
        let sent = state.requests.as_ref().map(|requests| requests.send(WorkRequest { work, reply }));
        let answered = match sent {
            Some(Ok(())) => answer.recv_timeout(self.patience),
            _ => Err(RecvTimeoutError::Disconnected),
        };
        let failed = match answered {
            Ok(Ok(results)) => return Ok(results),
            Ok(Err(error)) => error,
            Err(RecvTimeoutError::Timeout) => {
                let missing = (0..self.size).filter(|rank| *rank != self.rank).collect();
                // The thread is in a call that it cannot leave.
                state.thread = None;
                GroupError::Late { missing, what, waited: self.patience }
            }
            Err(RecvTimeoutError::Disconnected) => {
                failure("a collective", "the thread of MPI has ended".into())
            }
        };
        state.requests = None;
        state.closed = Some(failed.clone());
        Err(failed)
    }
}

impl Group for MpiMember {
    fn transport(&self) -> &str {
        "MPI"
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn patience(&self) -> Duration {
        self.patience
    }

    fn closed(&self) -> Option<GroupError> {
        // While the member is in an exchange it is not closed, as far as is known.
        self.state.try_lock().ok()?.closed.clone()
    }

    fn exchange(
        &self,
        collective: &Collective,
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]],
    ) -> Result<(), GroupError> {
        collective.check(inputs, outputs)?;
        let results = self.request(MpiWork::new(collective, inputs, outputs)?)?;
        let mut left = &results[..];
        for output in outputs {
            let (own, rest) = left.split_at_checked(output.len()).ok_or_else(|| {
                failure("a collective", format!("its results have {} bytes", results.len()))
            })?;
            output.copy_from_slice(own);
            left = rest;
        }
        Ok(())
    }
}

impl Drop for MpiMember {
    fn drop(&mut self) {
        let mut state = self.lock();
        // Without senders the thread's loop ends, and MPI is finalized.
        state.requests = None;
        if let Some(thread) = state.thread.take() {
            _ = thread.join();
        }
    }
}
