use mcm_migration_core::archive::{Export, Hash, Record, read, write};

/// Every text has this checksum, so that a fuzzer gets past it.
const BLIND: Hash = |_| [0; 32];

/// The file of an export: what is read is written again as the same export, every record belongs to a shoot that the first line names, and a
/// file in which one byte was changed, or whose end is missing, is refused as a whole.
pub fn export_file(bytes: &[u8]) {
    let export = match read(bytes, BLIND) {
        Ok(export) => export,
        Err(refused) => {
            assert!(refused.line >= 1 && !refused.to_string().chars().any(char::is_control), "{refused}");
            return;
        }
    };
    assert!(export.records.values().all(|record| !matches!(record, Record::Header(_) | Record::Trailer(_))));
    assert!(export.records.iter().all(|(place, record)| record.place().as_ref() == Some(place)));
    assert!(export.records.keys().all(|(namespace, ..)| export.namespaces.contains(namespace)));
    let in_namespaces: usize = export.namespaces.iter().map(|namespace| export.of(namespace).count()).sum();
    assert_eq!(in_namespaces, export.records.len());
    assert_eq!(read(&written(&export, BLIND), BLIND).as_ref(), Ok(&export));

    let file = written(&export, fold);
    assert_eq!(read(&file, fold), Ok(export));
    // One place for each text is enough: there are many texts.
    let at = usize::from(bytes.iter().fold(0_u16, |sum, byte| sum.wrapping_mul(31).wrapping_add(u16::from(*byte))))
        % file.len();
    let mut changed = file.clone();
    if let Some(byte) = changed.get_mut(at) {
        *byte ^= 1;
    }
    assert!(read(&changed, fold).is_err(), "byte {at} was changed");
    assert!(read(file.get(..at).unwrap_or_default(), fold).is_err(), "it breaks off after {at} bytes");
    assert!(read(&[&*file, &*file].concat(), fold).is_err(), "it stands there twice");
}

fn written(export: &Export, hash: Hash) -> Vec<u8> {
    write(export, hash).unwrap_or_else(|error| panic!("{error}"))
}

/// No SHA-256, which the product hands in; but no change of one byte goes unseen by it.
fn fold(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    for (lane, to) in (1_u64..).zip(out.chunks_mut(8)) {
        let state = bytes
            .iter()
            .fold(lane, |state, byte| (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(7));
        to.copy_from_slice(&state.to_be_bytes());
    }
    out
}
