/// Why a body is no admission review that could be answered.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// It is not JSON.
    #[error("the body is not JSON: {0}; send an AdmissionReview of admission.k8s.io/v1")]
    Json(#[from] serde_json::Error),
    /// It is JSON and not a review of the registered version.
    #[error(
        "the body is not an AdmissionReview of admission.k8s.io/v1; register the webhook with admissionReviewVersions: [v1]"
    )]
    NotAReview,
    /// `request` is absent, null or not an object.
    #[error("the AdmissionReview has no request; send one with `request`")]
    NoRequest,
    /// `request.uid` is absent, empty or not a string, so no answer could name it.
    #[error("the AdmissionReview's request has no uid; send one with `request.uid`")]
    NoUid,
}
