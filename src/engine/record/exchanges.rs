//! Exchanges of members of a group through main memory, on devices that have no code of their own for them.

use super::regions::Regions;
use crate::engine::compile::Compiled;
use crate::error::Result;
use crate::fallible;
use crate::lower::program::{BufferId, HostNode};
use workalike_device::group::{Collective, GroupError};
use workalike_device::{Device, Region};

impl Compiled {
    /// Exchanges copies of arrays with the members of a group.
    pub(super) fn exchange(
        &self,
        device: &dyn Device,
        regions: &Regions,
        node: &HostNode,
        collective: &Collective,
    ) -> Result<()> {
        let failed = |error: GroupError| {
            let written = &self.definition.graph.nodes[node.node];
            written.failed(node.node, &error.to_string())
        };
        let part = |buffer: BufferId, bytes: usize| -> Result<Region> {
            Ok(Region { bytes: bytes as u64, ..regions.get(buffer)?.clone() })
        };
        let sizes = |bytes: Vec<u64>| bytes.into_iter().map(|n| n as usize).collect::<Vec<_>>();
        let [inputs, results] = collective.bytes().map_err(failed)?.map(sizes);
        let mut given = Vec::with_capacity(node.inputs.len());
        for (&buffer, bytes) in node.inputs.iter().zip(inputs) {
            let mut copy = fallible::filled(0u8, bytes)?;
            if bytes > 0 {
                device.download(&part(buffer, bytes)?, &mut copy)?;
            }
            given.push(copy);
        }
        let mut taken =
            results.iter().map(|&bytes| fallible::filled(0u8, bytes)).collect::<Result<Vec<_>>>()?;
        let inputs: Vec<&[u8]> = given.iter().map(Vec::as_slice).collect();
        let mut outputs: Vec<&mut [u8]> = taken.iter_mut().map(Vec::as_mut_slice).collect();
        collective.group.exchange(collective, &inputs, &mut outputs).map_err(failed)?;
        for (&buffer, bytes) in node.outputs.iter().zip(&taken).filter(|(_, bytes)| !bytes.is_empty()) {
            device.upload(bytes, &part(buffer, bytes.len())?)?;
        }
        Ok(())
    }
}
