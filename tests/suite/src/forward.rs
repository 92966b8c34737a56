//! Devices that wrap another one.

/// The methods of [`Device`](workalike::rehost::device::Device) that a wrapper with a field `inner` forwards
/// to it: copies, recordings and waits.
#[macro_export]
macro_rules! forwards_to_inner {
    () => {
        fn upload(
            &self,
            source: &[u8],
            target: &workalike::rehost::device::Region,
        ) -> workalike::rehost::device::DeviceResult<()> {
            self.inner.upload(source, target)
        }

        fn download(
            &self,
            source: &workalike::rehost::device::Region,
            target: &mut [u8],
        ) -> workalike::rehost::device::DeviceResult<()> {
            self.inner.download(source, target)
        }

        fn copy(
            &self,
            source: &workalike::rehost::device::Region,
            target: &workalike::rehost::device::Region,
        ) -> workalike::rehost::device::DeviceResult<()> {
            self.inner.copy(source, target)
        }

        fn record(
            &self,
            module: &::std::sync::Arc<dyn workalike::rehost::device::DeviceModule>,
            commands: &[workalike::rehost::device::Command],
        ) -> workalike::rehost::device::DeviceResult<Box<dyn workalike::rehost::device::Recording>> {
            self.inner.record(module, commands)
        }

        fn synchronize(&self) -> workalike::rehost::device::DeviceResult<()> {
            self.inner.synchronize()
        }
    };
}
