use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::domain::keys;

/// The format's name and version, in the first line of each export.
pub const FORMAT: &str = "mcm-migration.stackit.cloud/export/v1";

/// Annotations and labels by key.
type Texts = BTreeMap<Box<str>, Box<str>>;

/// One line of an export.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields)]
pub enum Record {
    /// The first line.
    Header(Header),
    /// A Namespace.
    Namespace(NamespaceRecord),
    /// Its `MachineMigration`.
    MachineMigration(MigrationRecord),
    /// A Worker.
    Worker(WorkerRecord),
    /// A MachineClass.
    MachineClass(ClassRecord),
    /// A Machine.
    Machine(MachineRecord),
    /// The server of a Machine.
    Server(ServerRecord),
    /// The servers were asked for, and could not be looked at.
    ServersUnknown(UnknownServers),
    /// The last line.
    Trailer(Trailer),
}

/// What the export is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Header {
    /// [`FORMAT`].
    pub format: Box<str>,
    /// The shoots' namespaces; every other record belongs to one of them.
    pub namespaces: BTreeSet<Box<str>>,
    /// Whether servers were asked for.
    pub servers: bool,
}

/// A Namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamespaceRecord {
    /// Its name.
    pub namespace: Box<str>,
    /// `metadata.uid`
    pub uid: Box<str>,
    /// The label `mcm-migration.stackit.cloud/guard`, as it stands there.
    pub guard: Option<Box<str>>,
}

/// A `MachineMigration`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MigrationRecord {
    /// Its namespace.
    pub namespace: Box<str>,
    /// `metadata.uid`
    pub uid: Box<str>,
    /// `spec.paused`
    pub paused: bool,
    /// See [`kept_annotations`].
    pub annotations: Texts,
}

/// A Worker.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkerRecord {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// `metadata.uid`
    pub uid: Box<str>,
    /// See [`kept_annotations`].
    pub annotations: Texts,
}

/// A MachineClass.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClassRecord {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// `metadata.uid`
    pub uid: Box<str>,
    /// `provider`, as it stands there; empty without one.
    pub provider: Box<str>,
}

/// A Machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MachineRecord {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// `metadata.uid`
    pub uid: Box<str>,
    /// `spec.providerID`; empty without one.
    #[serde(rename = "providerID")]
    pub provider_id: Box<str>,
    /// `spec.class.name`; empty without one.
    pub class: Box<str>,
    /// See [`kept_annotations`].
    pub annotations: Texts,
}

/// The server that a Machine's ID names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServerRecord {
    /// The Machine's namespace.
    pub namespace: Box<str>,
    /// The Machine.
    pub machine: Box<str>,
    /// Where the server is.
    pub region: Box<str>,
    /// Its ID.
    pub id: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// All its labels.
    pub labels: Texts,
}

/// Why a shoot's servers are not in the export.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UnknownServers {
    /// The shoot's namespace.
    pub namespace: Box<str>,
    /// The name of a [`Reason`](crate::domain::Reason).
    pub reason: Box<str>,
}

/// What all lines before it come to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Trailer {
    /// How many lines there are before it.
    pub lines: usize,
    /// SHA-256 of all their bytes, line ends included, in hex.
    pub sha256: Box<str>,
}

/// What an export holds, without its first and last line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Export {
    /// The shoots' namespaces.
    pub namespaces: BTreeSet<Box<str>>,
    /// Whether servers were asked for.
    pub servers: bool,
    /// Everything else, in its one order: by namespace, by kind as [`Record`] names them, by name.
    pub records: BTreeMap<Place, Record>,
}

/// Where a record stands: its namespace, its kind's place, its name. No two have the same.
pub type Place = (Box<str>, u8, Box<str>);

impl Export {
    /// Takes a record up; whether there was none in its place. First and last lines are none.
    pub fn insert(&mut self, record: Record) -> bool {
        match record.place() {
            Some(place) if !self.records.contains_key(&place) => {
                self.records.insert(place, record);
                true
            }
            _ => false,
        }
    }

    /// The records of a namespace, in their order.
    pub fn of<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Record> {
        self.records.iter().filter(move |((of, _, _), _)| &**of == namespace).map(|(_, record)| record)
    }
}

impl Record {
    /// Where it stands; none of a first and a last line.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        let (namespace, kind, name) = match self {
            Self::Header(_) | Self::Trailer(_) => return None,
            Self::Namespace(it) => (&it.namespace, 1, ""),
            Self::MachineMigration(it) => (&it.namespace, 2, ""),
            Self::Worker(it) => (&it.namespace, 3, &*it.name),
            Self::MachineClass(it) => (&it.namespace, 4, &*it.name),
            Self::Machine(it) => (&it.namespace, 5, &*it.name),
            Self::Server(it) => (&it.namespace, 6, &*it.machine),
            Self::ServersUnknown(it) => (&it.namespace, 7, ""),
        };
        Some((namespace.clone(), kind, name.into()))
    }
}

/// Whether an annotation is of the migration. All others are left out: nobody knows what is in them.
#[must_use]
pub fn kept_annotations(key: &str) -> bool {
    [
        keys::MIGRATED_MACHINE,
        keys::MACHINE_SHOULD_BE_MIGRATED,
        keys::WORKER_MIGRATED,
        keys::PREVIOUS_PROVIDER_ID,
        keys::SETTLED,
        keys::EXCEPTION,
        keys::PAUSED_BY_ROLLBACK,
    ]
    .contains(&key)
}
