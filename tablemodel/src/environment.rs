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

/// The three together. What is waited for has names of its own, for the sake of tests: in the world all of it is time.
#[derive(Clone)]
pub struct Environment {
    /// The clock that fresh sequence numbers start at.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub random: Arc<dyn Random>,
    /// Waiting between attempts, for a reply, and so as not to exceed a rate.
    pub sleep: Arc<dyn Sleep>,
    /// Waiting for a turn: at most so long for other tasks of the program.
    pub turn: Arc<dyn Sleep>,
    /// Waiting until there may be something to do: a relay's, between two rounds.
    pub idle: Arc<dyn Sleep>,
    /// Waiting for other programs, and for what they have under way: a migration's.
    pub others: Arc<dyn Sleep>,
}

impl Environment {
    /// The same, with one way to wait for all.
    pub(crate) fn sleeping(self, sleep: Arc<dyn Sleep>) -> Self {
        Self { turn: sleep.clone(), idle: sleep.clone(), others: sleep.clone(), sleep, ..self }
    }
}

impl Default for Environment {
    fn default() -> Self {
        let sleep: Arc<dyn Sleep> = Arc::new(TokioSleep);
        Self {
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            turn: sleep.clone(),
            idle: sleep.clone(),
            others: sleep.clone(),
            sleep,
        }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}
