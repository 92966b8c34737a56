//! A member of a group whose arrays go from GPU to GPU.

use super::communicator::{Carriers, Communicator};
use super::mailbox::{failure, reach_each_other};
use super::nccl;
use crate::context::{PrimaryContext, lock};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use workalike_device::group::{Collective, DirectTransport, Group, GroupError, gather};

/// NCCL, and mailboxes in each other's memory, for members that are on GPUs of their own.
pub(crate) struct GpuTransport {
    context: Arc<PrimaryContext>,
}

impl GpuTransport {
    /// For the GPU of a context.
    pub(crate) fn on(context: &Arc<PrimaryContext>) -> GpuTransport {
        GpuTransport { context: context.clone() }
    }
}

impl DirectTransport for GpuTransport {
    fn name(&self) -> String {
        match nccl::version() {
            Some(version) => format!("NCCL {version}"),
            None => "GPUs without NCCL".into(),
        }
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
        // All members have the same version, or none.
        let nccl = nccl::version().is_some();
        self.context.enter().map_err(|error| failure("a call of CUDA", error))?;
        let carriers = Carriers { nccl, mailboxes: reach_each_other(&self.context, group)? };
        if !carriers.nccl && !carriers.mailboxes {
            return Ok(group.clone());
        }
        let current = Mutex::new(Some(Arc::new(Communicator::new(&self.context, group, carriers)?)));
        Ok(Arc::new(GpuMember { below: group.clone(), context: self.context.clone(), carriers, current }))
    }
}

impl fmt::Debug for GpuTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GpuTransport({})", self.context.id)
    }
}

/// A member of a group on GPUs. It carries what is in main memory through the group that it was made over.
pub(super) struct GpuMember {
    /// `None` if the last attempt to make one failed. Dropped before `below`, which its thread uses: so it is
    /// this thread that leaves the group below.
    current: Mutex<Option<Arc<Communicator>>>,
    context: Arc<PrimaryContext>,
    /// The same for all members.
    pub(super) carriers: Carriers,
    below: Arc<dyn Group>,
}

/// The longest wait until NCCL has let go of a communicator that is replaced.
const RETIRING: Duration = Duration::from_secs(60);

impl GpuMember {
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
        let made = Arc::new(Communicator::new(&self.context, &self.below, self.carriers)?);
        Ok(current.insert(made).clone())
    }
}

impl Group for GpuMember {
    fn transport(&self) -> &str {
        match self.carriers {
            Carriers { nccl: true, mailboxes: true } => "NCCL and the memory of other GPUs",
            Carriers { nccl: true, .. } => "NCCL",
            _ => "the memory of other GPUs",
        }
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

impl fmt::Debug for GpuMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GpuMember({} of {}, {})", self.rank(), self.size(), self.context.id)
    }
}
