//! An export is read as it was written, or not at all: any byte changed, line left out, moved or taken from another export is named by its line.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use mcm_migration_core::archive::{
    ClassRecord, Export, FORMAT, Header, MachineRecord, MigrationRecord, NamespaceRecord, Record, Refused,
    ServerRecord, Trailer, UnknownServers, WorkerRecord, kept_annotations, read, write,
};
use mcm_migration_core::domain::keys;
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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// A file whose checksums are right, whatever its lines hold.
fn forged(records: &[String]) -> String {
    let mut before = [0; 32];
    let line = |record: &String| {
        before = hash(&[&before[..], record.as_bytes()].concat());
        format!("{{\"sha256\":\"{}\",\"record\":{record}}}\n", hex(&before))
    };
    records.iter().map(line).collect::<Vec<_>>().concat()
}

fn json(record: &Record) -> String {
    serde_json::to_string(record).unwrap()
}

fn header() -> String {
    json(&Record::Header(Header { format: FORMAT.into(), namespaces: ["a".into()].into(), servers: false }))
}

/// The last line after these ones, of which it counts and sums up others.
fn trailer(lines: usize, of: &str) -> String {
    json(&Record::Trailer(Trailer { lines, sha256: hex(&hash(of.as_bytes())).into() }))
}

fn machine(namespace: &str, uid: &str) -> Record {
    Record::Machine(MachineRecord {
        namespace: namespace.into(),
        name: "m".into(),
        uid: uid.into(),
        provider_id: "".into(),
        class: "".into(),
        annotations: BTreeMap::new(),
    })
}

/// Why a file with these records is refused, and in which line.
fn why(records: &[String]) -> (usize, &'static str) {
    let Refused { line, why } = read(forged(records).as_bytes(), hash).expect_err("it was taken");
    (line, why)
}

#[test]
fn checksums_alone_make_no_export() {
    // Of a shoot that the first line does not name.
    assert_eq!(
        why(&[header(), json(&machine("b", "u"))]),
        (2, "it belongs to a shoot that the first line does not name")
    );
    let more = r#"{"kind":"Machine","more":1}"#.to_owned();
    assert_eq!(why(&[header(), more]), (2, "it holds a record of another version"));
    assert_eq!(why(&[header(), header()]), (2, "a second export begins"));
    let other = json(&Record::Header(Header { format: "other/v1".into(), namespaces: [].into(), servers: false }));
    assert_eq!(why(&[other]), (1, "the export is of another version"));
    let twice = [header(), json(&machine("a", "u")), json(&machine("a", "v"))];
    assert_eq!(why(&twice), (3, "it is out of order"));
}

#[test]
fn an_export_begins_with_its_first_line() {
    let missing = (1, "the first line of an export is missing");
    assert_eq!(why(&[trailer(0, "")]), missing);
    assert_eq!(why(&[json(&machine("a", "u"))]), missing);
}

#[test]
fn the_last_line_counts_the_lines_before_it_and_sums_up_their_bytes() {
    let first = forged(&[header()]);
    assert!(read(forged(&[header(), trailer(1, &first)]).as_bytes(), hash).is_ok());
    let no_match = (2, "it does not match the lines before it");
    for (lines, of) in [(2, &*first), (0, &*first), (1, ""), (2, "")] {
        assert_eq!(why(&[header(), trailer(lines, of)]), no_match, "{lines} {of:?}");
    }
}

#[test]
fn a_place_is_taken_once_and_what_came_first_stays() {
    let mut export = Export::default();
    assert!(export.insert(machine("a", "first")));
    assert!(!export.insert(machine("a", "second")));
    assert!(export.insert(machine("b", "other")));
    assert!(!export.insert(Record::Trailer(Trailer { lines: 0, sha256: "".into() })));
    assert_eq!(export.of("a").collect::<Vec<_>>(), [&machine("a", "first")]);
    assert_eq!(export.of("b").collect::<Vec<_>>(), [&machine("b", "other")]);
    assert_eq!(export.of("c").count(), 0);
}

#[test]
fn annotations_of_the_migration_are_kept_and_no_others() {
    for key in [
        keys::MIGRATED_MACHINE,
        keys::MACHINE_SHOULD_BE_MIGRATED,
        keys::WORKER_MIGRATED,
        keys::PREVIOUS_PROVIDER_ID,
        keys::SETTLED,
        keys::EXCEPTION,
        keys::PAUSED_BY_ROLLBACK,
    ] {
        assert!(kept_annotations(key), "{key}");
    }
    for key in ["", "xyzzy", "kubectl.kubernetes.io/last-applied-configuration", "gardener.cloud/operation"] {
        assert!(!kept_annotations(key), "{key}");
    }
}
