//! An export is read as it was written, or not at all: any byte changed, line left out, moved or taken from another export is named by its line.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use mcm_migration_core::archive::{
    ClassRecord, Export, MachineRecord, MigrationRecord, NamespaceRecord, Record, ServerRecord, UnknownServers,
    WorkerRecord, read, write,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

/// No SHA-256, which this library leaves to its callers; but no single change of any text goes unseen by it.
fn hash(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    for (lane, to) in out.chunks_mut(8).enumerate() {
        let mut state = 0xcbf2_9ce4_8422_2325_u64 ^ ((lane as u64) << 32);
        for byte in bytes {
            state = (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(7);
        }
        to.copy_from_slice(&state.to_be_bytes());
    }
    out
}

fn word() -> impl Strategy<Value = Box<str>> {
    prop_oneof![4 => "[a-z0-9-]{0,12}", 1 => ".{0,6}"].prop_map(Into::into)
}

fn texts() -> impl Strategy<Value = BTreeMap<Box<str>, Box<str>>> {
    btree_map(word(), word(), 0..3)
}

fn record() -> impl Strategy<Value = Record> {
    let namespace = || prop_oneof![Just("shoot--p--a"), Just("shoot--p--b")].prop_map(Box::<str>::from);
    prop_oneof![
        (namespace(), word(), proptest::option::of(word()))
            .prop_map(|(namespace, uid, guard)| Record::Namespace(NamespaceRecord { namespace, uid, guard })),
        (namespace(), word(), any::<bool>(), texts()).prop_map(|(namespace, uid, paused, annotations)| {
            Record::MachineMigration(MigrationRecord { namespace, uid, paused, annotations })
        }),
        (namespace(), word(), word(), texts()).prop_map(|(namespace, name, uid, annotations)| {
            Record::Worker(WorkerRecord { namespace, name, uid, annotations })
        }),
        (namespace(), word(), word(), word()).prop_map(|(namespace, name, uid, provider)| {
            Record::MachineClass(ClassRecord { namespace, name, uid, provider })
        }),
        (namespace(), word(), word(), word(), word(), texts()).prop_map(
            |(namespace, name, uid, provider_id, class, annotations)| {
                Record::Machine(MachineRecord { namespace, name, uid, provider_id, class, annotations })
            }
        ),
        (namespace(), word(), word(), word(), word(), texts()).prop_map(
            |(namespace, machine, region, id, name, labels)| {
                Record::Server(ServerRecord { namespace, machine, region, id, name, labels })
            }
        ),
        (namespace(), word())
            .prop_map(|(namespace, reason)| Record::ServersUnknown(UnknownServers { namespace, reason })),
    ]
}

fn export() -> impl Strategy<Value = Export> {
    (vec(record(), 0..12), any::<bool>()).prop_map(|(records, servers)| {
        let mut export = Export { servers, ..Export::default() };
        export.namespaces.extend(["shoot--p--a".into(), "shoot--p--b".into()]);
        for record in records {
            export.insert(record);
        }
        export
    })
}

fn bytes(export: &Export) -> Vec<u8> {
    write(export, hash).unwrap()
}

/// The lines, each with its end.
fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

fn line_of(bytes: &[u8], at: usize) -> usize {
    bytes[..at].split(|byte| *byte == b'\n').count()
}

fn refused(lines: &[Vec<u8>]) -> usize {
    read(&lines.concat(), hash).expect_err("it was taken").line
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_is_written_is_read_again_and_to_the_same_bytes(export in export()) {
        let written = bytes(&export);
        let again = read(&written, hash).unwrap();
        prop_assert_eq!(&again, &export);
        prop_assert_eq!(bytes(&again), written);
    }

    #[test]
    fn a_changed_byte_is_refused_in_its_line(export in export(), at in any::<prop::sample::Index>(), flip in 1..=255_u8) {
        let written = bytes(&export);
        let at = at.index(written.len());
        let mut changed = written.clone();
        changed[at] ^= flip;
        let refused = read(&changed, hash).expect_err("it was taken");
        prop_assert_eq!(refused.line, line_of(&written, at), "{}", refused);
    }

    #[test]
    fn a_part_is_refused(export in export(), at in any::<prop::sample::Index>()) {
        let written = bytes(&export);
        prop_assert!(read(&written[..at.index(written.len())], hash).is_err());
    }

    #[test]
    fn a_line_that_is_left_out_doubled_or_moved_is_refused_there(
        export in export(), at in any::<prop::sample::Index>(), to in any::<prop::sample::Index>(),
    ) {
        let lines = lines(&bytes(&export));
        let (at, to) = (at.index(lines.len()), to.index(lines.len()));
        let mut shorter = lines.clone();
        shorter.remove(at);
        prop_assert_eq!(refused(&shorter), at + 1);
        let mut longer = lines.clone();
        longer.insert(at, lines[at].clone());
        prop_assert_eq!(refused(&longer), at + 2);
        if at != to {
            let mut swapped = lines.clone();
            swapped.swap(at, to);
            prop_assert_eq!(refused(&swapped), at.min(to) + 1);
        }
    }

    #[test]
    fn two_exports_do_not_mix(one in export(), other in export(), at in any::<prop::sample::Index>()) {
        prop_assume!(one != other);
        let (one, other) = (lines(&bytes(&one)), lines(&bytes(&other)));
        let at = at.index(one.len().min(other.len()));
        let mixed: Vec<_> = one[..at].iter().chain(&other[at..]).cloned().collect();
        if mixed != one && mixed != other {
            prop_assert!(read(&mixed.concat(), hash).is_err());
        }
        prop_assert_eq!(refused(&[one.clone(), other].concat()), one.len() + 1);
    }
}

#[test]
fn what_is_no_export_says_so() {
    for (text, line, why) in
        [("", 1, "missing"), ("{}\n", 1, "no line of an export"), ("apiVersion: v1", 1, "breaks off")]
    {
        let refused = read(text.as_bytes(), hash).unwrap_err();
        assert!(refused.line == line && refused.to_string().contains(why), "{text:?}: {refused}");
    }
}

/// A file whose checksums are right, but that nobody's export would write.
#[test]
fn checksums_alone_make_no_export() {
    let machine = |namespace: &str| {
        Record::Machine(MachineRecord {
            namespace: namespace.into(),
            name: "m".into(),
            uid: "u".into(),
            provider_id: "".into(),
            class: "".into(),
            annotations: BTreeMap::new(),
        })
    };
    // Of a shoot that the header does not name.
    let mut export = Export::default();
    export.namespaces.insert("a".into());
    export.insert(machine("b"));
    assert_eq!(read(&bytes(&export), hash).unwrap_err().line, 2);
    // A record that is not known, in a line that fits.
    let text = r#"{"kind":"Machine","more":1}"#;
    let known = String::from_utf8(bytes(&Export::default())).unwrap();
    let first = known.lines().next().unwrap();
    let before: Vec<u8> =
        (0..32).map(|n| u8::from_str_radix(&first[11 + 2 * n..13 + 2 * n], 16).unwrap()).chain(text.bytes()).collect();
    let sum = hash(&before).map(|byte| format!("{byte:02x}")).concat();
    let forged = format!("{first}\n{{\"sha256\":\"{sum}\",\"record\":{text}}}\n");
    let refused = read(forged.as_bytes(), hash).unwrap_err();
    assert_eq!((refused.line, refused.why), (2, "it holds a record of another version"));
}
