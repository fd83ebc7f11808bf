use std::borrow::Cow;

use serde::Serialize;

use crate::review::Shape;

/// The value of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// `{}`
    EmptyObject {},
    /// A string.
    Text(String),
}

/// One `add` of RFC 6902. No other operation is ever used: `add` overwrites, so it cannot fail on a member that is there,
/// and a patch that does not apply would refuse the write even with `failurePolicy: Ignore`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "op", rename = "add")]
pub struct Operation {
    /// A JSON pointer (RFC 6901).
    pub path: Cow<'static, str>,
    /// What it adds.
    pub value: Value,
}

/// A JSON patch (RFC 6902): operations in the order in which they apply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct Patch(Vec<Operation>);

impl Patch {
    /// Whether it changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its operations.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.0
    }

    /// The paths that it touches, in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|operation| &*operation.path)
    }

    /// Sets `/spec/providerID`.
    pub(super) fn set_provider_id(&mut self, id: String) {
        self.0.push(Operation { path: Cow::Borrowed("/spec/providerID"), value: Value::Text(id) });
    }

    /// Sets annotations, and makes the map for them where it is absent or null (for a patch both are missing).
    pub(super) fn set_annotations<'v>(
        &mut self,
        map: Shape,
        annotations: impl IntoIterator<Item = (&'v str, &'v str)>,
    ) {
        let mut annotations = annotations.into_iter().peekable();
        if annotations.peek().is_none() {
            return;
        }
        if matches!(map, Shape::Absent | Shape::Null) {
            self.0.push(Operation { path: Cow::Borrowed("/metadata/annotations"), value: Value::EmptyObject {} });
        }
        for (key, value) in annotations {
            let path = format!("/metadata/annotations/{}", escape(key));
            self.0.push(Operation { path: Cow::Owned(path), value: Value::Text(value.to_owned()) });
        }
    }
}

/// RFC 6901, section 3: `~` first, then `/`.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_the_tilde_before_the_slash() {
        assert_eq!(escape("a/b~1c"), "a~1b~01c");
    }

    #[test]
    fn is_written_as_rfc_6902_says() {
        let mut patch = Patch::default();
        patch.set_annotations(Shape::Null, [("a/b", "true")]);
        let text = serde_json::to_string(&patch).unwrap_or_default();
        assert_eq!(
            text,
            r#"[{"op":"add","path":"/metadata/annotations","value":{}},{"op":"add","path":"/metadata/annotations/a~1b","value":"true"}]"#
        );
    }
}
