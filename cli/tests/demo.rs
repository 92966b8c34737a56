//! The whole demo.

mod common;

use common::{Bench, devices};

#[test]
fn it_learns_on_every_device() {
    for device in devices() {
        let said = Bench::new().ok(&["demo", "--device", device]);
        let line = said.lines().find(|line| line.starts_with("re-hosted on ")).unwrap_or_default();
        assert!(line.contains(device), "{said}");
        for word in
            ["1438 images", "359 held out", "synced back", "called on the CPU", "  host ", "  verified  "]
        {
            assert!(said.contains(word), "{word}: {said}");
        }
        // Every device is shown, whichever trained.
        let verified =
            |id: &str| said.lines().any(|l| l.trim_start().starts_with(id) && l.contains("  yes  "));
        assert!(devices().into_iter().all(verified), "{said}");
    }
}
