//! Each fault at each step: what can happen, how it ends, and what is said of it.

use simulator::{Fault, Operation};

/// The steps that call the cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Token,
    List,
    CanaryPatch,
    CanaryGet,
    CanarySelector,
    Label,
    ListNics,
    PatchNic,
    BootVolume,
    ListAttachments,
    PatchAttachment,
}

impl Step {
    pub const ALL: [Self; 11] = [
        Self::Token,
        Self::List,
        Self::CanaryPatch,
        Self::CanaryGet,
        Self::CanarySelector,
        Self::Label,
        Self::ListNics,
        Self::PatchNic,
        Self::BootVolume,
        Self::ListAttachments,
        Self::PatchAttachment,
    ];

    pub fn operation(self) -> Operation {
        match self {
            Self::Token => Operation::Token,
            Self::List => Operation::ListServers,
            Self::CanaryPatch | Self::Label => Operation::PatchServer,
            Self::CanaryGet | Self::BootVolume => Operation::GetServer,
            Self::CanarySelector => Operation::ListServersBySelector,
            Self::ListNics => Operation::ListServerNics,
            Self::PatchNic => Operation::PatchNic,
            Self::ListAttachments => Operation::ListAttachments,
            Self::PatchAttachment => Operation::PatchAttachment,
        }
    }

    /// How many calls of its operation come before it in a project where all goes well.
    pub fn after(self) -> usize {
        usize::from(matches!(self, Self::Label | Self::BootVolume))
    }

    /// Whether it belongs to *settle*, before the class is switched.
    pub fn settles(self) -> bool {
        matches!(self, Self::ListNics | Self::PatchNic)
    }
}

/// Why a pair cannot fire.
pub fn cannot(fault: Fault, step: Step) -> Option<&'static str> {
    let operation = step.operation();
    match fault {
        Fault::ListCutShort if !operation.is_list() => Some("its answer is no list"),
        Fault::DelayedVisibility
            if !matches!(step, Step::List | Step::CanarySelector | Step::CanaryPatch | Step::Label) =>
        {
            Some("it is neither a list of servers nor a write that one would show")
        }
        Fault::ForeignLabelWriter if matches!(step, Step::Token | Step::ListNics) => {
            Some("it names no object with labels")
        }
        Fault::ForeignLabelWriter if matches!(step, Step::ListAttachments | Step::PatchAttachment) => {
            Some("an attachment has no labels")
        }
        Fault::Attached => Some("it acts on what is read or deleted by its own ID"),
        Fault::ServerDeleted if step == Step::Token => Some("it names no server"),
        Fault::ServerDeleted if step == Step::PatchNic => Some("it names a network interface and no server"),
        _ => None,
    }
}

/// How a shoot ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Complete, by itself.
    Complete,
    /// A Machine waits for `server-gone`; complete once it is gone as well.
    Gone,
    /// The Machine without an ID is let go; complete.
    NoServer,
}

pub fn end(fault: Fault, step: Step) -> End {
    match fault {
        Fault::ServerDeleted if step.settles() => End::NoServer,
        Fault::ServerDeleted => End::Gone,
        _ => End::Complete,
    }
}

/// What a step that meets the fault may say of it. Empty: the client overcomes it, and no step fails.
pub fn reasons(fault: Fault, step: Step) -> &'static [&'static str] {
    match fault {
        Fault::UnauthorizedJson | Fault::UnauthorizedText | Fault::Forbidden if step == Step::Token => {
            &["credentials-invalid"]
        }
        Fault::NotFoundJson | Fault::NotFoundHtml | Fault::Conflict | Fault::Redirect if step == Step::Token => {
            &["cloud-unavailable"]
        }
        Fault::Forbidden => &["cloud-forbidden"],
        Fault::NotFoundJson
            if matches!(
                step.operation(),
                Operation::PatchServer | Operation::GetServer | Operation::ListServerNics | Operation::ListAttachments
            ) =>
        {
            &["server-gone"]
        }
        Fault::NotFoundJson | Fault::NotFoundHtml => &["cloud-refused"],
        Fault::Conflict => &["server-deferred"],
        Fault::Redirect | Fault::NotJson | Fault::ListCutShort => &["cloud-unavailable"],
        _ => &[],
    }
}

/// How often it happens: as often as the client bears, where it bears more than once.
pub fn times(fault: Fault) -> usize {
    match fault {
        Fault::TooManyRequests
        | Fault::TooManyRequestsRetryAfter
        | Fault::InternalServerError
        | Fault::BadGateway
        | Fault::ServiceUnavailable
        | Fault::GatewayTimeout
        | Fault::ResetBeforeHeaders
        | Fault::ResetMidBody
        | Fault::AppliedReplyLost
        | Fault::DelayedVisibility
        | Fault::Hang => 3,
        _ => 1,
    }
}
