//! Where the serving certificate comes from, and how it is renewed without a lost call.
//!
//! | file | holds |
//! |---|---|
//! | `pair` | a certificate chain and its key, checked |
//! | `store` | the pair that is served now; swapped under a fixed TLS configuration |
//! | `folder` | source: a folder with `tls.crt` and `tls.key`, such as a mounted Secret |
//! | [`authority`] | making a CA and certificates under it |
//! | `shared` | source: the Secret that all replicas share, parsed |
//! | [`rotation`] | what to do next with it: a pure function |
//! | `shelf` | where Secret and webhook configurations are: the API server |
//! | `self_managed` | the loop that carries the rotation out |

pub mod authority;
mod folder;
mod pair;
pub mod rotation;
mod self_managed;
mod shared;
mod shelf;
mod store;

pub use folder::{CertificateFolder, FolderError};
pub use pair::{PairError, ServingPair};
pub use self_managed::{RotationError, Round, SelfManaged, SelfManagedConfig, round};
pub use shared::{SharedTls, SharedTlsError};
pub use shelf::{KubeShelf, Shelf, ShelfError, Stored, WebhookBundles};
pub use store::CertificateStore;
