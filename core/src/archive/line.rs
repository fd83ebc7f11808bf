use super::record::{Export, FORMAT, Header, Record, Trailer};

/// SHA-256.
pub type Hash = fn(&[u8]) -> [u8; 32];

/// What each line begins with; then 64 hex digits.
pub(super) const BEGIN: &str = r#"{"sha256":""#;
/// What stands between the checksum and the record.
pub(super) const MIDDLE: &str = r#"","record":"#;
/// What each line ends with.
pub(super) const END: &str = "}\n";

/// The checksum of a line: of the one before it (zeros before the first) and of its record's bytes. So a line vouches for all before it,
/// and lines of two exports do not mix.
pub(super) fn chain(before: &[u8; 32], record: &[u8], hash: Hash) -> [u8; 32] {
    let mut bytes = Vec::with_capacity(32 + record.len());
    bytes.extend_from_slice(before);
    bytes.extend_from_slice(record);
    hash(&bytes)
}

pub(super) fn hex(bytes: &[u8; 32]) -> String {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Writes an export. The same content comes to the same bytes.
///
/// # Errors
/// When a record cannot be written as JSON, which no record of ours can.
pub fn write(export: &Export, hash: Hash) -> Result<Vec<u8>, serde_json::Error> {
    let mut out = Vec::new();
    let mut before = [0; 32];
    let mut lines = 0;
    let mut push = |out: &mut Vec<u8>, record: &Record| {
        let record = serde_json::to_vec(record)?;
        before = chain(&before, &record, hash);
        out.extend_from_slice(BEGIN.as_bytes());
        out.extend_from_slice(hex(&before).as_bytes());
        out.extend_from_slice(MIDDLE.as_bytes());
        out.extend_from_slice(&record);
        out.extend_from_slice(END.as_bytes());
        lines += 1;
        Ok::<usize, serde_json::Error>(lines)
    };
    let header = Header { format: FORMAT.into(), namespaces: export.namespaces.clone(), servers: export.servers };
    let mut written = push(&mut out, &Record::Header(header))?;
    for record in export.records.values() {
        written = push(&mut out, record)?;
    }
    let trailer = Trailer { lines: written, sha256: hex(&hash(&out)).into() };
    push(&mut out, &Record::Trailer(trailer))?;
    Ok(out)
}
