//! `review` tells what would become of one object, from a dump, and why.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{CLASS, NAMESPACE, PROJECT, SERVER, binary, machine, repository, request};
use serde_json::{Value, json};

const WORKER_MIGRATED: &str = "stackit.cloud/machine-controller-manager-migrated";

/// What one call printed, and how it ended.
struct Told {
    code: i32,
    out: String,
    err: String,
}

impl Told {
    /// The values of the lines that begin with `name:`.
    fn all(&self, name: &str) -> Vec<&str> {
        self.out.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim).collect()
    }

    fn one(&self, name: &str) -> &str {
        let [value] = self.all(name)[..] else { panic!("not one {name} in {}", self.out) };
        value
    }

    /// The object after the patch.
    fn object(&self) -> Value {
        let (_, yaml) = self.out.split_once("\nobject:\n").unwrap();
        serde_yaml_ng::from_str(yaml).unwrap()
    }

    fn patch(&self) -> Value {
        serde_json::from_str(self.one("patch")).unwrap()
    }

    /// That it ended as a usage error does: nothing on standard output, one line on standard error that says all of `says`.
    fn is_usage(&self, says: &[&str]) {
        assert_eq!((self.code, &*self.out), (64, ""), "{}", self.err);
        assert_eq!(self.err.trim_end().lines().count(), 1, "{}", self.err);
        for said in says {
            assert!(self.err.contains(said), "no {said:?} in {}", self.err);
        }
    }
}

fn review(objects: &Path, file: &str, stdin: &str) -> Told {
    let mut child = Command::new(binary())
        .arg("review")
        .arg("--objects")
        .arg(objects)
        .arg(file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // What does not read it may have ended before.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Told { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// One object, over standard input.
fn told(objects: &Path, object: &Value) -> Told {
    review(objects, "-", &object.to_string())
}

/// The armed shoot of the examples.
fn armed() -> PathBuf {
    repository("examples/objects")
}

/// A copy of it, changed.
fn shoot(change: impl FnOnce(String) -> String) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(armed().join("shoot.yaml")).unwrap();
    std::fs::write(folder.path().join("shoot.yaml"), change(text)).unwrap();
    folder
}

fn worker() -> Value {
    json!({
        "apiVersion": "extensions.gardener.cloud/v1alpha1",
        "kind": "Worker",
        "metadata": {"name": "prod", "namespace": NAMESPACE, "annotations": {"a": "b"}},
        "spec": {"type": "stackit"},
    })
}

fn in_review(request: &Value) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
}

/// That it says the rewrite of [`machine`], and shows it.
fn is_rewritten(told: &Told) {
    assert_eq!((told.code, &*told.err), (0, ""), "{}", told.out);
    assert_eq!(
        (told.one("decision"), told.one("reason"), told.one("what to do")),
        ("changed", "rewritten", "Nothing.")
    );
    let mut after = machine();
    json_patch::patch(&mut after, &serde_json::from_value::<json_patch::Patch>(told.patch()).unwrap()).unwrap();
    let id = format!("stackit://{PROJECT}/{SERVER}");
    assert_eq!((&after["spec"]["providerID"], &told.object()), (&json!(id), &after));
}

#[test]
fn a_machine_as_json_or_yaml_from_a_file_or_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let yaml = serde_yaml_ng::to_string(&machine()).unwrap();
    for text in [machine().to_string(), serde_json::to_string_pretty(&machine()).unwrap(), yaml] {
        let file = folder.path().join("machine");
        std::fs::write(&file, &text).unwrap();
        is_rewritten(&review(&armed(), file.to_str().unwrap(), ""));
        is_rewritten(&review(&armed(), "-", &text));
    }
}

#[test]
fn the_examples_of_the_readme() {
    for file in ["examples/machine.yaml", "examples/review.json"] {
        let told = review(&armed(), repository(file).to_str().unwrap(), "");
        assert_eq!((told.code, told.one("reason")), (0, "rewritten"), "{file}: {}", told.err);
    }
}

#[test]
fn an_admission_review_is_taken_as_it_is() {
    is_rewritten(&told(&armed(), &in_review(&request("CREATE", machine()))));
    let gone = told(&armed(), &in_review(&request("DELETE", machine())));
    assert_eq!((gone.code, gone.one("decision"), gone.one("reason")), (2, "passed", "not-our-object"));
    let yaml = serde_yaml_ng::to_string(&in_review(&request("UPDATE", machine()))).unwrap();
    is_rewritten(&review(&armed(), "-", &yaml));
}

#[test]
fn what_has_migrated_ends_with_0_and_stays_as_it_is() {
    let mut migrated = machine();
    migrated["spec"]["providerID"] = json!(format!("stackit://{PROJECT}/{SERVER}"));
    let mut marked = worker();
    marked["metadata"]["annotations"][WORKER_MIGRATED] = json!("true");
    for (object, reason) in [(migrated, "not-legacy"), (marked, "already-marked")] {
        let told = told(&armed(), &object);
        assert_eq!((told.code, told.one("decision"), told.one("reason")), (0, "passed", reason));
        assert_eq!((told.patch(), told.object()), (json!([]), object));
    }
}

#[test]
fn what_is_no_business_of_ours_ends_with_2() {
    let mut foreign = machine();
    foreign["spec"]["providerID"] = json!("aws:///eu-central-1/i-1");
    let told = told(&armed(), &foreign);
    assert_eq!((told.code, told.one("decision"), told.one("reason")), (2, "passed", "not-legacy"));
}

#[test]
fn a_machine_that_is_held_is_told_every_closed_gate() {
    let objects = shoot(|text| {
        text.replace("guard: closed", "guard: rolling-back")
            .replace("paused: false", "paused: true")
            .replace("provider: stackit", "provider: OpenStack")
            .replace("provider-stackit", "provider-openstack")
            .replace(PROJECT, "no-uuid")
    });
    let told = told(objects.path(), &machine());
    assert_eq!((told.code, told.one("decision")), (2, "held"));
    let class = format!("class-is-openstack ({CLASS})");
    let classes = format!("openstack-class-in-namespace ({CLASS})");
    let reasons = ["rolling-back", "paused", &*class, &*classes, "openstack-mcm-deployed", "project-unknown"];
    assert_eq!(told.all("reason"), reasons);
    // Each with what it means and what to do about it.
    assert_eq!((told.all("meaning").len(), told.all("what to do").len()), (reasons.len(), reasons.len()));
    assert_eq!((told.patch(), told.object()), (json!([]), machine()));
}

#[test]
fn a_worker_is_marked_or_told_what_is_left() {
    let left = told(&armed(), &worker());
    assert_eq!((left.code, left.one("decision"), left.one("reason")), (2, "held", "labels-unconfirmed"));
    let unguarded = shoot(|text| text.replace("provider: stackit", "provider: OpenStack").replace("guard:", "other:"));
    let left = told(unguarded.path(), &worker());
    let classes = format!("openstack-class-in-namespace ({CLASS})");
    assert_eq!((left.code, left.one("decision")), (2, "passed"));
    assert_eq!(left.all("reason"), [&*classes, "no-class", "labels-unconfirmed"]);

    let labelled =
        shoot(|text| text.replace("- type: Armed", "- {type: Labelled, status: \"True\"}\n    - type: Armed"));
    let marked = told(labelled.path(), &worker());
    assert_eq!((marked.code, marked.one("decision"), marked.one("reason")), (0, "changed", "worker-marked"));
    let mut after = worker();
    after["metadata"]["annotations"][WORKER_MIGRATED] = json!("true");
    assert_eq!(marked.object(), after);
}

#[test]
fn a_value_of_the_object_breaks_no_line() {
    let mut hostile = machine();
    hostile["spec"]["class"]["name"] = json!("a\nreason: rewritten\u{1b}[31m");
    let told = told(&armed(), &hostile);
    assert_eq!(told.code, 2);
    assert_eq!(told.one("reason"), r"class-unknown (a\nreason: rewritten\u{1b}[31m)");
}

#[test]
fn what_holds_nothing_to_evaluate_is_a_usage_error() {
    let of = |text: &str| review(&armed(), "-", text);
    of("{").is_usage(&["- is not one document of JSON or YAML"]);
    of("a: [\n").is_usage(&["- is not one document of JSON or YAML"]);
    let two = format!("{}\n---\n{}", machine(), machine());
    of(&two).is_usage(&["- is not one document of JSON or YAML", "more than one document"]);
    for (text, holds) in [
        ("", "nothing that has a kind"),
        ("[]", "nothing that has a kind"),
        (r#"{"apiVersion": "v1", "kind": "Pod"}"#, "a `Pod` of `v1`"),
        (r#"{"apiVersion": "v1", "kind": "Machine"}"#, "a `Machine` of `v1`"),
        (r#"{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}"#, "of `admission.k8s.io/v1beta1`"),
    ] {
        of(text).is_usage(&[holds, "name one with an AdmissionReview of admission.k8s.io/v1, a Machine or a Worker"]);
    }
    let mut pods = request("UPDATE", machine());
    pods["resource"]["resource"] = json!("pods");
    of(&in_review(&pods).to_string()).is_usage(&["an AdmissionReview about `pods`"]);
    let mut nameless = request("UPDATE", machine());
    nameless["uid"] = json!("");
    of(&in_review(&nameless).to_string()).is_usage(&["no uid"]);
}

#[test]
fn an_object_may_be_deep_and_one_that_is_too_deep_is_told_so() {
    let deep = |levels: usize| {
        let tree = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        machine().to_string().replacen("\"spec\":{", &format!("\"spec\":{{\"deep\":{tree},"), 1)
    };
    let told = review(&armed(), "-", &deep(120));
    assert_eq!((told.code, told.one("reason")), (0, "rewritten"), "{}", told.err);
    for levels in [128, 5_000] {
        review(&armed(), "-", &deep(levels)).is_usage(&["- is nested deeper than 128 levels"]);
    }
}

#[test]
fn what_is_not_there_is_named() {
    review(&armed(), "no-such-file", "").is_usage(&["cannot read no-such-file", "No such file"]);
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no-such-folder");
    told(&missing, &machine()).is_usage(&["no-such-folder"]);
    let broken = shoot(|_| "a: [\n".to_owned());
    told(broken.path(), &machine()).is_usage(&["shoot.yaml"]);
    let none = Command::new(binary()).arg("review").output().unwrap();
    assert_eq!(none.status.code(), Some(64));
}
