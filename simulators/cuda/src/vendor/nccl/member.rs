//! A member of a group whose arrays NCCL carries.

use super::api::api;
use super::communicator::Communicator;
use crate::context::{PrimaryContext, lock};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use workalike_device::group::{Collective, DirectTransport, Group, GroupError, gather};

/// NCCL for the members that are on GPUs of their own.
pub(crate) struct Nccl {
    context: Arc<PrimaryContext>,
}

impl Nccl {
    /// For the GPU of a context; `None` if NCCL is not installed.
    pub(crate) fn on(context: &Arc<PrimaryContext>) -> Option<Nccl> {
        api().ok().map(|_| Nccl { context: context.clone() })
    }
}

impl DirectTransport for Nccl {
    fn name(&self) -> String {
        format!("NCCL {}", api().map_or(0, |api| api.version_number()))
    }

    fn place(&self) -> String {
        let uuid = self
            .context
            .cuda
            .uuid()
            .map_or_else(|_| self.context.id.clone(), |uuid| format!("{:?}", uuid.bytes));
        format!("GPU {uuid}")
    }

    fn join(&self, group: &Arc<dyn Group>) -> Result<Arc<dyn Group>, GroupError> {
        let current = Mutex::new(Some(Arc::new(Communicator::new(&self.context, group)?)));
        Ok(Arc::new(NcclMember { below: group.clone(), context: self.context.clone(), current }))
    }
}

impl fmt::Debug for Nccl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nccl({})", self.context.id)
    }
}

/// A member of a group on GPUs. It carries what is in main memory through the group that it was made over.
pub(super) struct NcclMember {
    /// `None` if the last attempt to make one failed. Dropped before `below`, which its thread uses: so it is
    /// this thread that leaves the group below.
    current: Mutex<Option<Arc<Communicator>>>,
    context: Arc<PrimaryContext>,
    below: Arc<dyn Group>,
}

/// The longest wait until NCCL has let go of a communicator that is replaced.
const RETIRING: Duration = Duration::from_secs(60);

impl NcclMember {
    /// The communicator for what is enqueued next. If the group was closed and opened again, it is a new one,
    /// which all members make at the same time.
    ///
    /// # Errors
    /// If the group is closed, or a member does not come.
    pub(super) fn communicator(&self) -> Result<Arc<Communicator>, GroupError> {
        let mut current = lock(&self.current);
        if let Some(error) = self.below.closed() {
            return Err(error);
        }
        let openings = self.below.openings();
        if let Some(own) = current.as_ref().filter(|own| own.openings == openings) {
            return own.watch.failed().map_or_else(|| Ok(own.clone()), Err);
        }
        if let Some(old) = current.take() {
            old.retire(RETIRING);
        }
        // What NCCL frees for one member may wait for the other members' GPUs, which must not exchange
        // anything yet.
        gather(&self.below, &[])?;
        let made = Arc::new(Communicator::new(&self.context, &self.below)?);
        Ok(current.insert(made).clone())
    }
}

impl Group for NcclMember {
    fn transport(&self) -> &str {
        "NCCL"
    }

    fn rank(&self) -> usize {
        self.below.rank()
    }

    fn size(&self) -> usize {
        self.below.size()
    }

    fn patience(&self) -> Duration {
        self.below.patience()
    }

    fn exchange(
        &self,
        collective: &Collective,
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]],
    ) -> Result<(), GroupError> {
        self.below.exchange(collective, inputs, outputs)
    }

    fn close(&self, why: &str) {
        self.below.close(why);
    }

    fn closed(&self) -> Option<GroupError> {
        let failed = || {
            // While a new one is made there is none that has failed.
            let current = self.current.try_lock().ok()?;
            let own = current.as_ref().filter(|own| own.openings == self.below.openings());
            own.and_then(|own| own.watch.failed())
        };
        self.below.closed().or_else(failed)
    }

    fn openings(&self) -> u64 {
        self.below.openings()
    }

    fn needs_check(&self) -> bool {
        true
    }

    fn reopen(&self) -> Result<(), GroupError> {
        self.below.reopen()
    }
}

impl fmt::Debug for NcclMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NcclMember({} of {}, {})", self.rank(), self.size(), self.context.id)
    }
}
