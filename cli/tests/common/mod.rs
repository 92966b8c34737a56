//! Runs the built command in a temporary folder, and reads and writes `.npy` files independently of it.
#![allow(dead_code, clippy::unwrap_used)] // each test binary uses its part; a helper that fails fails the test

use serde_json::Value as Json;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A folder for commands, removed when the test ends.
pub(crate) struct Bench {
    folder: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs `workalike` with these arguments.
    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.run_with(words, &[])
    }

    /// Runs `workalike` with these arguments and environment variables.
    pub(crate) fn run_with(&self, words: &[&str], variables: &[(&str, &str)]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_workalike"))
            .args(words)
            .envs(variables.iter().copied())
            .env_remove("WORKALIKE_DEVICE")
            .current_dir(self.folder.path())
            .output()
            .unwrap()
    }

    /// Runs `workalike`, which must succeed; returns its output.
    pub(crate) fn ok(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {complaint}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs `workalike`, which must print one JSON object.
    pub(crate) fn json(&self, words: &[&str]) -> Json {
        let text = self.ok(words);
        let json: Json = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{words:?}: {e}: {text}"));
        assert!(json.is_object(), "{text}");
        json
    }

    /// Runs `workalike`, which must fail with one paragraph that contains `word`, and no other output.
    pub(crate) fn refused(&self, words: &[&str], word: &str) {
        let output = self.run(words);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{words:?} succeeded");
        assert!(output.status.code().is_some(), "{words:?} was killed");
        assert!(output.stdout.is_empty(), "{words:?} printed {}", String::from_utf8_lossy(&output.stdout));
        assert!(complaint.starts_with("error: "), "{words:?}: {complaint}");
        assert!(complaint.contains(word), "{words:?}: {complaint}");
        assert!(!complaint.contains("panicked") && !complaint.trim_end().contains("\n\n"), "{complaint}");
    }

    /// Writes a `.npy` file of version 1.0.
    pub(crate) fn save(&self, name: &str, descr: &str, shape: &str, data: &[u8]) {
        let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        while (10 + text.len() + 1) % 64 != 0 {
            text.push(' ');
        }
        text.push('\n');
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((text.len() as u16).to_le_bytes());
        file.extend(text.as_bytes());
        file.extend(data);
        fs::write(self.path(name), file).unwrap();
    }

    /// Header and data of a `.npy` file of version 1.0.
    pub(crate) fn load(&self, name: &str) -> (String, Vec<u8>) {
        let file = fs::read(self.path(name)).unwrap();
        assert_eq!(&file[..8], b"\x93NUMPY\x01\x00");
        let start = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
        assert_eq!(start % 64, 0);
        (String::from_utf8(file[10..start].to_vec()).unwrap(), file[start..].to_vec())
    }

    pub(crate) fn save_i64(&self, name: &str, shape: &str, data: &[i64]) {
        let bytes: Vec<u8> = data.iter().flat_map(|n| n.to_le_bytes()).collect();
        self.save(name, "<i8", shape, &bytes);
    }

    pub(crate) fn save_f32(&self, name: &str, shape: &str, data: &[f32]) {
        let bytes: Vec<u8> = data.iter().flat_map(|n| n.to_le_bytes()).collect();
        self.save(name, "<f4", shape, &bytes);
    }

    pub(crate) fn load_i64(&self, name: &str) -> Vec<i64> {
        let (header, data) = self.load(name);
        assert!(header.contains("'descr': '<i8'"), "{header}");
        data.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap())).collect()
    }

    pub(crate) fn load_f32(&self, name: &str) -> Vec<f32> {
        let (header, data) = self.load(name);
        assert!(header.contains("'descr': '<f4'"), "{header}");
        data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
    }
}

/// The devices that tests run on: the host and, where `CI=true` asks for it or the machine has it, OpenCL.
pub(crate) fn devices() -> Vec<&'static str> {
    let listed = Bench::new().json(&["devices", "--json"]);
    let usable =
        |d: &Json| d["id"].as_str().is_some_and(|id| id.starts_with("opencl:")) && d["usable"] == true;
    let opencl = listed["devices"].as_array().unwrap().iter().any(usable);
    if opencl || std::env::var("CI").is_ok_and(|ci| ci == "true") {
        vec!["host", "opencl"]
    } else {
        eprintln!("on the host only: this machine has no OpenCL device");
        vec!["host"]
    }
}
