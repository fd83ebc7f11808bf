//! The CRD that is installed and the type that is read are one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use kube::CustomResourceExt;
use mcm_migration_webhook::world::MachineMigration;
use serde_json::Value;

/// Without what the two may say differently: descriptions, and that an absent status may also be null.
fn essence(crd: &Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(members) => {
                // A property named `description` would be an object.
                members.retain(|key, value| key != "description" || value.is_object());
                if let Some(Value::Array(required)) = members.get_mut("required") {
                    required.sort_by_key(ToString::to_string);
                }
                members.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut spec = crd["spec"].clone();
    for version in spec["versions"].as_array_mut().unwrap() {
        // The two write these by themselves or leave them to the API server.
        let properties = version["schema"]["openAPIV3Schema"]["properties"].as_object_mut().unwrap();
        properties.retain(|key, _| !["apiVersion", "kind", "metadata"].contains(&key.as_str()));
        properties["status"].as_object_mut().unwrap().remove("nullable");
        version["schema"]["openAPIV3Schema"].as_object_mut().unwrap().remove("title");
    }
    let names = spec["names"].as_object_mut().unwrap();
    names.retain(|key, _| !["listKind", "categories"].contains(&key.as_str()));
    strip(&mut spec);
    spec
}

#[test]
fn the_manifest_is_what_the_type_derives() {
    let manifest =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/manifests/guard/machinemigrations.yaml"));
    let manifest: Value = serde_yaml_ng::from_str(&manifest.unwrap()).unwrap();
    let derived = serde_json::to_value(MachineMigration::crd()).unwrap();
    assert_eq!(manifest["metadata"]["name"], derived["metadata"]["name"]);
    let [manifest, derived] = [manifest, derived].map(|crd| serde_json::to_string_pretty(&essence(&crd)).unwrap());
    assert!(manifest == derived, "manifest:\n{manifest}\nderived:\n{derived}");
}
