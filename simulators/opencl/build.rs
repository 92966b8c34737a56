//! Lets binaries link where no OpenCL library is installed.
//!
//! `cl-sys`, below `ocl`, says `#[link(name = "OpenCL")]`, so every link asks for `-lOpenCL`. On the targets
//! that `src/loader.rs` supports, an empty archive satisfies that request, and the loader module defines the
//! symbols. On other targets nothing is done: macOS has its framework, Windows and other systems their import
//! library.

use std::{env, error::Error, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(runtime_loader)");
    let is = |name: &str, values: &[&str]| env::var(name).is_ok_and(|v| values.contains(&v.as_str()));
    if is("CARGO_CFG_TARGET_OS", &["linux"])
        && is("CARGO_CFG_TARGET_ARCH", &["x86_64", "aarch64"])
        && is("CARGO_CFG_TARGET_POINTER_WIDTH", &["64"])
        && is("CARGO_CFG_TARGET_ENDIAN", &["little"])
    {
        let out = PathBuf::from(env::var("OUT_DIR")?);
        fs::write(out.join("libOpenCL.a"), "!<arch>\n")?;
        println!("cargo::rustc-link-search=native={}", out.display());
        println!("cargo::rustc-cfg=runtime_loader");
    }
    Ok(())
}
