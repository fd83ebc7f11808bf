use std::borrow::Cow;

use super::lenient::{Flag, Shape, Text, view};
use super::object::{Object, OldObject};
use super::{API_VERSION, KIND, ReviewError};

/// What is being done to the object: the operation performed, so a patch that creates is a `CREATE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `CREATE`
    Create,
    /// `UPDATE`
    Update,
    /// `DELETE`
    Delete,
    /// `CONNECT`, or one that is not known.
    Other,
}

impl Operation {
    fn of(text: &str) -> Self {
        match text {
            "CREATE" => Self::Create,
            "UPDATE" => Self::Update,
            "DELETE" => Self::Delete,
            _ => Self::Other,
        }
    }

    /// As the API server writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Other => "OTHER",
        }
    }
}

/// The resource that the rule matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupResource<'a> {
    /// For example `machine.sapcloud.io`.
    pub group: Cow<'a, str>,
    /// The plural, for example `machines`.
    pub resource: Cow<'a, str>,
    /// Empty for the object itself.
    pub sub_resource: Cow<'a, str>,
}

/// One admission request, as far as it decides or is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// Unique for the call, not for the user's request: a reinvocation has another one.
    pub uid: Cow<'a, str>,
    /// What the rule matched.
    pub resource: GroupResource<'a>,
    /// Empty for a CREATE with `generateName`.
    pub name: Cow<'a, str>,
    /// The namespace; also where the object's own is empty.
    pub namespace: Cow<'a, str>,
    /// What is being done.
    pub operation: Operation,
    /// Whether nothing will be persisted.
    pub dry_run: bool,
    /// `userInfo.username`.
    pub user: Cow<'a, str>,
    /// The object after the write; its shape is not [`Shape::Right`] where there is none.
    pub object: Object<'a>,
    /// The object before the write; its shape is not [`Shape::Right`] where there is none.
    pub old_object: OldObject<'a>,
}

view! {
    /// The envelope.
    struct Envelope {
        /// `apiVersion`.
        api_version: Text<'a> = "apiVersion",
        /// `kind`.
        kind: Text<'a> = "kind",
        /// `request`.
        request: RequestView<'a> = "request",
    }
}

view! {
    /// `request`, lenient.
    struct RequestView {
        /// `uid`.
        uid: Text<'a> = "uid",
        /// `resource`.
        resource: ResourceView<'a> = "resource",
        /// `subResource`.
        sub_resource: Text<'a> = "subResource",
        /// `name`.
        name: Text<'a> = "name",
        /// `namespace`.
        namespace: Text<'a> = "namespace",
        /// `operation`.
        operation: Text<'a> = "operation",
        /// `dryRun`.
        dry_run: Flag = "dryRun",
        /// `userInfo`.
        user_info: UserView<'a> = "userInfo",
        /// `object`.
        object: Object<'a> = "object",
        /// `oldObject`.
        old_object: OldObject<'a> = "oldObject",
    }
}

view! {
    /// `request.resource`.
    struct ResourceView {
        /// `group`.
        group: Text<'a> = "group",
        /// `resource`.
        resource: Text<'a> = "resource",
    }
}

view! {
    /// `request.userInfo`.
    struct UserView {
        /// `username`.
        username: Text<'a> = "username",
    }
}

fn cow(text: Text<'_>) -> Cow<'_, str> {
    match text {
        Text::Is(text) => text,
        Text::Absent | Text::Other => Cow::Borrowed(""),
    }
}

/// Reads one `AdmissionReview` of `admission.k8s.io/v1`.
///
/// # Errors
/// [`ReviewError`] when the body is not JSON, not such a review, or has no request or no uid. Everything else that is
/// unexpected is kept in the result and decided on.
pub fn parse(body: &[u8]) -> Result<Request<'_>, ReviewError> {
    let envelope: Envelope<'_> = serde_json::from_slice(body)?;
    if envelope.api_version.text() != API_VERSION || envelope.kind.text() != KIND {
        return Err(ReviewError::NotAReview);
    }
    let request = envelope.request;
    if request.shape != Shape::Right {
        return Err(ReviewError::NoRequest);
    }
    if request.uid.text().is_empty() {
        return Err(ReviewError::NoUid);
    }
    Ok(Request {
        uid: cow(request.uid),
        resource: GroupResource {
            group: cow(request.resource.group),
            resource: cow(request.resource.resource),
            sub_resource: cow(request.sub_resource),
        },
        name: cow(request.name),
        namespace: cow(request.namespace),
        operation: Operation::of(request.operation.text()),
        dry_run: request.dry_run.0,
        user: cow(request.user_info.username),
        object: request.object,
        old_object: request.old_object,
    })
}

/// Reads one plain object (no review around it), for decisions without an API server.
///
/// # Errors
/// [`ReviewError::Json`] when the text is not JSON.
pub fn parse_object(body: &[u8]) -> Result<Object<'_>, ReviewError> {
    Ok(serde_json::from_slice(body)?)
}
