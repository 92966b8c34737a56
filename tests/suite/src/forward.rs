//! Devices that wrap another one.

/// The methods of [`Device`](workalike::engine::device::Device) that a wrapper with a field `inner` forwards
/// to it: copies, recordings and waits.
#[macro_export]
macro_rules! forwards_to_inner {
    () => {
        fn upload(
            &self,
            source: &[u8],
            target: &workalike::engine::device::Region,
        ) -> workalike::engine::device::DeviceResult<()> {
            self.inner.upload(source, target)
        }

        fn download(
            &self,
            source: &workalike::engine::device::Region,
            target: &mut [u8],
        ) -> workalike::engine::device::DeviceResult<()> {
            self.inner.download(source, target)
        }

        fn copy(
            &self,
            source: &workalike::engine::device::Region,
            target: &workalike::engine::device::Region,
        ) -> workalike::engine::device::DeviceResult<()> {
            self.inner.copy(source, target)
        }

        fn record(
            &self,
            module: &::std::sync::Arc<dyn workalike::engine::device::DeviceModule>,
            commands: &[workalike::engine::device::Command],
        ) -> workalike::engine::device::DeviceResult<Box<dyn workalike::engine::device::Recording>> {
            self.inner.record(module, commands)
        }

        fn synchronize(&self) -> workalike::engine::device::DeviceResult<()> {
            self.inner.synchronize()
        }
    };
}
