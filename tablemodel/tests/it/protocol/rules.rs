//! Rules as switches: a family's rules are an enum, and a scenario knows which of them are off.

/// An enum of rules, and all of them in a list, so that none can be without its control.
macro_rules! rules {
    ($(#[$doc:meta])* $name:ident { $($(#[$each:meta])* $rule:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum $name { $($(#[$each])* $rule,)* }

        impl $name {
            pub(crate) const ALL: &[Self] = &[$(Self::$rule,)*];
        }

        impl From<$name> for u32 {
            fn from(rule: $name) -> u32 {
                1 << rule as u32
            }
        }
    };
}

pub(crate) use rules;

/// Which rules are switched off: none, unless a control says so.
#[derive(Clone, Copy)]
pub(crate) struct Off(u32);

impl Off {
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn and(self, rule: impl Into<u32>) -> Self {
        Self(self.0 | rule.into())
    }

    pub(crate) fn has(self, rule: impl Into<u32>) -> bool {
        self.0 & rule.into() != 0
    }
}
