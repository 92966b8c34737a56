//! PoCL's two devices as one: small and large Programs and copies alternate on the same memory. Only a
//! process with one thread gets both devices without `POCL_DEVICES`, so this test has no harness.
#![allow(clippy::unwrap_used)] // nothing here but tests

use workalike::dtype::DType;
use workalike::engine::Open;
use workalike::engine::device::{Command, Numerics, Region};
use workalike::error::DeviceError;
use workalike::kernels::Scalar;
use workalike::kernels::nest::{Block, Index, Inst, Nest, Operand, Phase, PhaseKind, Store};
use workalike::kernels::ops::ADD;
use workalike::kernels::verify::Verified;
use workalike_opencl::{DeviceInfo, OpenCl, list};

const ALL: u64 = 1 << 22;
const FEW: u64 = 1000;
const TURNS: usize = 25;

/// `x[..n] += 1`, in place.
fn increment(n: u64) -> Verified {
    let index = vec![Index::axis(0)];
    let mut block = Block::default();
    let x = block.push(Inst::Load { operand: 0, index: index.clone() });
    let one = block.push(Inst::Const(Scalar::from_f64(DType::F32, 1.0)));
    let value = block.push(Inst::Op { op: ADD, args: vec![x, one] });
    let stores = vec![Store { operand: 0, index, value, when: None, add: false }];
    Verified::new(Nest {
        name: "increment".into(),
        axes: vec![n],
        grid: 1,
        operands: vec![Operand::contiguous(DType::F32, &[n], true)],
        phases: vec![Phase { kind: PhaseKind::Point, block, folds: vec![], stores }],
    })
    .unwrap()
}

fn main() {
    let devices = match list() {
        Ok(devices) => devices,
        Err(error @ DeviceError::Missing { .. }) => {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "CI needs an OpenCL platform: {error}");
            return println!("ignored: no OpenCL platform");
        }
        Err(error) => panic!("{error}"),
    };
    let is_pocl = |d: &&DeviceInfo| d.platform_name == "Portable Computing Language";
    let Some(pocl) = devices.iter().find(is_pocl) else { return println!("ignored: no PoCL") };
    if cfg!(target_os = "linux") {
        assert!(
            std::env::var_os("POCL_DEVICES").is_some(),
            "both were asked for, by us or by who started this"
        );
    }
    println!("{}: {}", pocl.id(), pocl.name);

    let device = OpenCl::device(pocl.platform, pocl.device).open().unwrap();
    let bytes = ALL * 4;
    let memory = [device.allocate(bytes).unwrap(), device.allocate(bytes).unwrap()].map(Region::whole);
    device.upload(&vec![0; bytes as usize], &memory[0]).unwrap();
    let part = Region { bytes: FEW * 4, ..memory[0].clone() };
    let recorded = |n: u64, arg: &Region| {
        let module = device.compile(&[increment(n)], Numerics::default()).unwrap();
        device.record(&module, &[Command::Launch { nest: 0, args: vec![arg.clone()] }]).unwrap()
    };
    let (mut few, mut all) = (recorded(FEW, &part), recorded(ALL, &memory[0]));
    let mut some = vec![0u8; FEW as usize * 4];
    for turn in 1..=TURNS {
        all.replay().unwrap();
        few.replay().unwrap();
        // A copy in both directions runs after the last command of either queue.
        device.copy(&memory[0], &memory[1]).unwrap();
        device.copy(&memory[1], &memory[0]).unwrap();
        if turn % 5 == 0 {
            device.download(&part, &mut some).unwrap();
            let expected = 2.0 * turn as f32;
            assert!(some.chunks_exact(4).all(|b| f32::from_ne_bytes(b.try_into().unwrap()) == expected));
        }
    }
    device.synchronize().unwrap();
    let mut found = vec![0u8; bytes as usize];
    device.download(&memory[0], &mut found).unwrap();
    for (i, value) in found.chunks_exact(4).enumerate() {
        let turns = if (i as u64) < FEW { 2 * TURNS } else { TURNS };
        assert_eq!(f32::from_ne_bytes(value.try_into().unwrap()), turns as f32, "element {i}");
    }
    println!("small and large Programs took {TURNS} turns");
}
