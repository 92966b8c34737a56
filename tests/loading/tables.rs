//! The tables of a file, written without the checks of the library: the types that `src/format` reads,
//! encoded by bincode.

use serde::Serialize;

#[derive(Serialize, Default)]
pub(crate) struct Tables {
    pub(crate) ops: Vec<OpRow>,
    pub(crate) graphs: Vec<GraphRow>,
    pub(crate) functions: Vec<FunctionRow>,
    pub(crate) shared: Vec<SharedRow>,
    pub(crate) tensors: Vec<TensorRow>,
}

#[derive(Serialize, Clone)]
pub(crate) struct OpRow {
    pub(crate) id: String,
    pub(crate) version: u32,
    pub(crate) attributes: Vec<AttributeRow>,
}

/// Kind 0: one number, 1: numbers, 2: text, 3: a dtype's code.
#[derive(Serialize, Clone)]
pub(crate) struct AttributeRow {
    pub(crate) name: String,
    pub(crate) kind: u8,
    pub(crate) numbers: Vec<i64>,
    pub(crate) text: String,
}

#[derive(Serialize, Clone, Default)]
pub(crate) struct GraphRow {
    pub(crate) vars: Vec<VarRow>,
    pub(crate) nodes: Vec<NodeRow>,
    pub(crate) inputs: Vec<u32>,
    pub(crate) shared: Vec<u32>,
    pub(crate) outputs: Vec<u32>,
    pub(crate) updates: Vec<(u32, u32)>,
}

/// Kind 0: input a, 1: shared a, 2: constant tensor a, 3: output b of node a.
#[derive(Serialize, Clone)]
pub(crate) struct VarRow {
    pub(crate) ty: TypeRow,
    pub(crate) name: Option<String>,
    pub(crate) kind: u8,
    pub(crate) a: u32,
    pub(crate) b: u32,
}

#[derive(Serialize, Clone)]
pub(crate) struct TypeRow {
    pub(crate) dtype: u8,
    pub(crate) shape: Vec<i64>,
}

#[derive(Serialize, Clone)]
pub(crate) struct NodeRow {
    pub(crate) op: u32,
    pub(crate) inputs: Vec<u32>,
    pub(crate) outputs: Vec<u32>,
}

#[derive(Serialize, Clone)]
pub(crate) struct FunctionRow {
    pub(crate) name: String,
    pub(crate) graph: u32,
    pub(crate) inputs: Vec<InputRow>,
    pub(crate) outputs: Vec<Option<String>>,
    pub(crate) shared: Vec<u32>,
}

#[derive(Serialize, Clone)]
pub(crate) struct InputRow {
    pub(crate) name: Option<String>,
    pub(crate) ty: TypeRow,
    pub(crate) default: Option<u32>,
}

#[derive(Serialize, Clone)]
pub(crate) struct SharedRow {
    pub(crate) id: (u64, u64),
    pub(crate) name: String,
    pub(crate) ty: TypeRow,
    pub(crate) tensor: u32,
}

#[derive(Serialize, Clone)]
pub(crate) struct TensorRow {
    pub(crate) dtype: u8,
    pub(crate) shape: Vec<u64>,
    pub(crate) offset: u64,
}

/// Encodes tables.
pub(crate) fn bytes(tables: &Tables) -> Vec<u8> {
    bincode::serde::encode_to_vec(tables, bincode::config::standard()).unwrap()
}

/// A file of these tables and tensors, with valid checksums.
pub(crate) fn file(tables: &[u8], tensors: &[u8]) -> Vec<u8> {
    of_sections(&[(1, tables), (2, tensors)])
}

/// A file of these sections, with valid checksums.
pub(crate) fn of_sections(sections: &[(u32, &[u8])]) -> Vec<u8> {
    let mut offset = (16 + sections.len() * 24 + 4).next_multiple_of(64);
    let mut file = b"WALKFILE".to_vec();
    file.extend(1u32.to_le_bytes());
    file.extend((sections.len() as u32).to_le_bytes());
    for &(kind, bytes) in sections {
        file.extend(kind.to_le_bytes());
        file.extend(crc32fast::hash(bytes).to_le_bytes());
        file.extend((offset as u64).to_le_bytes());
        file.extend((bytes.len() as u64).to_le_bytes());
        offset = (offset + bytes.len()).next_multiple_of(64);
    }
    file.extend(crc32fast::hash(&file).to_le_bytes());
    for &(_, bytes) in sections {
        file.resize(file.len().next_multiple_of(64), 0);
        file.extend(bytes);
    }
    file
}

/// Corrects the checksums of damaged sections.
pub(crate) fn with_checksums(mut file: Vec<u8>) -> Vec<u8> {
    let count = u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize;
    for entry in 0..count {
        let at = 16 + 24 * entry;
        let field = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
        let section = &file[field(at + 8)..field(at + 8) + field(at + 16)];
        let sum = crc32fast::hash(section).to_le_bytes();
        file[at + 4..at + 8].copy_from_slice(&sum);
    }
    file
}
