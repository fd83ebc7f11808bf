use super::election::Leadership;

/// The right to write. Asked right before each write.
pub trait Fence: Clone + Send + Sync + 'static {
    /// Whether it holds at this moment; once it does not, it never does again.
    fn holds(&self) -> bool;
}

impl Fence for Leadership {
    fn holds(&self) -> bool {
        Self::holds(self)
    }
}
