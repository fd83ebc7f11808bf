//! A folder of manifests is a second source: read as kubectl writes it, taken up when it changes, and kept when it breaks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcm_migration_core::decide::{Known, NamespaceFacts};
use mcm_migration_core::domain::{GuardLabel, Provider};
use mcm_migration_webhook::world::{Resource, World, folder};
use tokio::task::JoinHandle;

const DEADLINE: Duration = Duration::from_secs(120);
const HIDDEN: &str = "hush-hush";

/// As `kubectl get namespace,secret,machineclass … -o yaml` writes it.
const LIST: &str = r#"apiVersion: v1
items:
- apiVersion: v1
  kind: Namespace
  metadata:
    creationTimestamp: "2026-01-01T00:00:00Z"
    labels:
      kubernetes.io/metadata.name: shoot--a--b
      mcm-migration.stackit.cloud/guard: closed
    name: shoot--a--b
    resourceVersion: "7"
  spec:
    finalizers:
    - kubernetes
  status:
    phase: Active
- apiVersion: v1
  data:
    project-id: MmIxZjBhM2MtN2Q1ZS00ZjYwLThhOTEtYjJjM2Q0ZTVmNjAx
    serviceaccount.json: aHVzaC1odXNo
  kind: Secret
  metadata:
    name: cloudprovider
    namespace: shoot--a--b
  type: Opaque
- apiVersion: machine.sapcloud.io/v1alpha1
  kind: MachineClass
  metadata:
    name: pool
    namespace: shoot--a--b
  provider: stackit
  providerSpec:
    region: eu01
- apiVersion: v1
  data:
    a: b
  kind: ConfigMap
  metadata:
    name: unknown
    namespace: shoot--a--b
kind: List
metadata:
  resourceVersion: ""
"#;

fn class(provider: &str) -> String {
    format!(
        "apiVersion: machine.sapcloud.io/v1alpha1\nkind: MachineClass\nmetadata: {{name: more, namespace: shoot--a--b}}\nprovider: {provider}\n"
    )
}

fn facts<R>(world: &World, namespace: &str, look: impl FnOnce(&NamespaceFacts) -> R) -> R {
    world.consult(namespace, |known| match known {
        Known::Fresh(facts) => look(facts),
        Known::Stale(resource) => panic!("{resource} are stale"),
    })
}

fn more(world: &World) -> Option<Provider> {
    world.consult("shoot--a--b", |known| match known {
        Known::Fresh(facts) => facts.classes.get("more").copied(),
        Known::Stale(_) => None,
    })
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let poll = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(DEADLINE, poll).await.expect(what);
}

/// A world that follows a folder until it is dropped.
struct Following(Arc<World>, JoinHandle<()>);

impl Following {
    fn start(path: &Path, max_age: Duration) -> Self {
        let world = Arc::new(World::new(max_age));
        let (task_s, path) = (Arc::clone(&world), path.to_owned());
        let task = tokio::spawn(async move {
            let Err(error) = folder::follow(&path, &task_s).await;
            panic!("{error}");
        });
        Self(world, task)
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.1.abort();
    }
}

#[test]
fn what_kubectl_writes_is_read_wherever_it_lies() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("deep/er")).unwrap();
    fs::write(folder.path().join("deep/er/list.yaml"), LIST).unwrap();
    fs::write(folder.path().join("class.yml"), class("OpenStack")).unwrap();
    let machine = r#"{"apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine", "metadata": {"name": "lost"}}"#;
    fs::write(folder.path().join("machine.json"), machine).unwrap();
    fs::write(folder.path().join("README.md"), "no manifest: [").unwrap();
    fs::write(folder.path().join(".hidden.yaml"), "no manifest: [").unwrap();

    let world = folder::load(folder.path()).unwrap();
    facts(&world, "shoot--a--b", |facts| {
        assert_eq!(facts.guard(), Some(GuardLabel::Closed));
        assert_eq!(
            facts.project.map(|project| project.to_string()).as_deref(),
            Some("2b1f0a3c-7d5e-4f60-8a91-b2c3d4e5f601")
        );
        assert_eq!(facts.classes.len(), 2);
        assert_eq!(facts.openstack_class(), Some("more"));
    });
    // As kubectl does with an object that names no namespace.
    facts(&world, "default", |facts| assert!(facts.machines.contains_key("lost")));
    let memory = format!("{world:?}");
    assert!(!memory.contains(HIDDEN) && !memory.contains("aHVzaC1odXNo"), "{memory}");
}

#[test]
fn a_broken_file_is_named_with_its_line_and_nothing_of_a_secret() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("good.yaml"), LIST).unwrap();
    let broken =
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: cloudprovider}}\ndata:\n  a: {HIDDEN}\n b: [\n");
    fs::write(folder.path().join("broken.yaml"), broken).unwrap();
    let error = folder::load(folder.path()).unwrap_err().to_string();
    assert!(error.contains("broken.yaml") && error.contains("line 6") && !error.contains(HIDDEN), "{error}");
    let error = folder::load(&folder.path().join("absent")).unwrap_err().to_string();
    assert!(error.contains("absent"), "{error}");
}

#[tokio::test]
async fn changes_are_taken_up_and_a_broken_file_keeps_its_last_good_state() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("class.yaml");
    fs::write(folder.path().join("list.yaml"), LIST).unwrap();
    let following = Following::start(folder.path(), DEADLINE);
    let world = &following.0;
    world.filled().await;
    assert_eq!(more(world), None);

    fs::write(&file, class("OpenStack")).unwrap();
    until("the new file is taken up", || more(world) == Some(Provider::OpenStack)).await;
    fs::write(&file, "provider: [").unwrap();
    // That the broken file was looked at shows in a change of another one that was made after it.
    let other = folder.path().join("other.yaml");
    fs::write(&other, "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n").unwrap();
    until("the other file is taken up", || facts(world, "other", |facts| facts.namespace.is_some())).await;
    assert_eq!(more(world), Some(Provider::OpenStack));
    fs::write(&file, class("stackit")).unwrap();
    until("the mended file is taken up", || more(world) == Some(Provider::Stackit)).await;
    fs::remove_file(&file).unwrap();
    until("the file that is gone is forgotten", || more(world).is_none()).await;
}

#[tokio::test]
async fn the_swap_of_a_mounted_folder_s_links_is_seen() {
    use std::os::unix::fs::symlink;
    let mount = tempfile::tempdir().unwrap();
    let version = |name: &str, provider: &str| {
        fs::create_dir(mount.path().join(name)).unwrap();
        fs::write(mount.path().join(name).join("class.yaml"), class(provider)).unwrap();
    };
    version("..first", "OpenStack");
    symlink("..first", mount.path().join("..data")).unwrap();
    symlink("..data/class.yaml", mount.path().join("class.yaml")).unwrap();
    let following = Following::start(mount.path(), DEADLINE);
    following.0.filled().await;
    for (name, provider, expected) in
        [("..second", "stackit", Provider::Stackit), ("..third", "other", Provider::Other)]
    {
        version(name, provider);
        symlink(name, mount.path().join("..data_tmp")).unwrap();
        fs::rename(mount.path().join("..data_tmp"), mount.path().join("..data")).unwrap();
        until(name, || more(&following.0) == Some(expected)).await;
    }
}

#[tokio::test]
async fn a_folder_that_is_gone_turns_stale_and_heals() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("objects");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("class.yaml"), class("stackit")).unwrap();
    let following = Following::start(&folder, Duration::from_secs(3));
    let world = &following.0;
    world.filled().await;
    fs::rename(&folder, parent.path().join("elsewhere")).unwrap();
    until("stale", || world.stale() == Some(Resource::Namespaces)).await;
    fs::rename(parent.path().join("elsewhere"), &folder).unwrap();
    until("fresh again, with what it held", || more(world) == Some(Provider::Stackit)).await;
}

#[tokio::test]
async fn what_is_broken_at_the_start_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("broken.yaml"), "kind: [").unwrap();
    let world = World::new(DEADLINE);
    let followed = tokio::time::timeout(DEADLINE, folder::follow(folder.path(), &world)).await.unwrap();
    let Err(error) = followed;
    assert!(error.to_string().contains("broken.yaml"), "{error}");
    assert!(world.stale().is_some());
}
