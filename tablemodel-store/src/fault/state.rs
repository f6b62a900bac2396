//! What a fault store knows: its plan, how many calls were made, and whether it crashed.
//!
//! The plan is asked outside the lock, so that it may use the store itself.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
    time::Duration,
};

use super::{Call, Fault, FaultPlan, Request, closed};
use crate::StoreError;

/// How long a call waits while the plan is asked about one of another thread. It is longer only where the plan waits for this very call.
const LONGEST: Duration = Duration::from_secs(1);

pub(super) struct Shared {
    state: Mutex<State>,
    /// The plan was asked, and is there again.
    answered: Condvar,
}

pub(super) struct State {
    /// None while it is asked.
    plan: Option<Box<dyn FaultPlan>>,
    /// The thread that asks it.
    asked_by: Option<ThreadId>,
    /// How many plans came before it.
    former: usize,
    pub(super) calls: usize,
    pub(super) crashed: bool,
    /// How often it crashed.
    pub(super) crashes: usize,
}

/// A plan that is asked; put back when dropped, also where it panicked.
struct Asked<'a> {
    shared: &'a Shared,
    plan: Option<Box<dyn FaultPlan>>,
    former: usize,
}

impl Shared {
    pub(super) fn new(plan: Box<dyn FaultPlan>) -> Self {
        let plan = Some(plan);
        let state = State { plan, asked_by: None, former: 0, calls: 0, crashed: false, crashes: 0 };
        Self { state: Mutex::new(state), answered: Condvar::new() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another plan; what the last one holds is let go of outside the lock.
    pub(super) fn replan(&self, plan: Box<dyn FaultPlan>) {
        let mut state = self.lock();
        state.former += 1;
        let last = state.plan.replace(plan);
        drop(state);
        self.answered.notify_all();
        drop(last);
    }

    /// What goes wrong with a call, and how often the store had crashed before it. A call that the plan itself makes is not asked about.
    pub(super) fn next_fault(&self, request: Request<'_>) -> Result<(Option<Fault>, usize), StoreError> {
        let own = thread::current().id();
        let is_busy = |state: &mut State| state.plan.is_none() && state.asked_by != Some(own);
        let waited = self.answered.wait_timeout_while(self.lock(), LONGEST, is_busy);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.crashed {
            return Err(closed());
        }
        let (call, crashes) = (Call { number: state.calls, request }, state.crashes);
        state.calls += 1;
        let Some(plan) = state.plan.take() else { return Ok((None, crashes)) };
        state.asked_by = Some(own);
        let mut asked = Asked { shared: self, plan: Some(plan), former: state.former };
        drop(state);
        let fault = asked.plan.as_mut().and_then(|plan| plan.fault(&call));
        Ok((fault, crashes))
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.asked_by = None;
        // Unless another took its place meanwhile.
        if state.former == self.former {
            state.plan = self.plan.take();
        }
        drop(state);
        self.shared.answered.notify_all();
    }
}
