//! What the framework asks of the world beside data: the time, randomness, and waiting. All of it injected.
//!
//! Only the defaults here touch the real world.

use std::{
    fmt,
    hash::{BuildHasher, Hasher},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use tablemodel_store::clock::{Clock, Sleep, SystemClock};

/// A source of random bits: for operation ids and back-off, never for secrets.
pub trait Random: Send + Sync + 'static {
    /// 64 random bits.
    fn next(&self) -> u64;
}

/// Randomness from the operating system's seed of the standard library's hasher.
#[derive(Debug, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn next(&self) -> u64 {
        std::hash::RandomState::new().build_hasher().finish()
    }
}

/// Waiting by tokio's timer; needs a tokio runtime with time enabled when it is used.
#[derive(Debug, Default)]
pub struct TokioSleep;

#[async_trait]
impl Sleep for TokioSleep {
    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// The three together.
#[derive(Clone)]
pub struct Environment {
    /// The clock that fresh sequence numbers start at.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub random: Arc<dyn Random>,
    /// Waiting between retries.
    pub sleep: Arc<dyn Sleep>,
}

impl Default for Environment {
    fn default() -> Self {
        Self { clock: Arc::new(SystemClock), random: Arc::new(SystemRandom), sleep: Arc::new(TokioSleep) }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}
