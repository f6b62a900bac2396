//! Sums without rounding: of integers as they are, of floats in fixed point, wide enough for every float.
//!
//! So a sum depends on its terms alone, not on their order, and what was added can be taken away again. Pure numbers;
//! nothing of rows here.

/// Binary digits of a limb.
const LIMB_BITS: usize = 32;
/// From 2^-1074, the least float, to 2^1023, the exponent of the greatest, and room for 2^64 of those.
const LIMBS: usize = 68;
/// Bytes of a stored sum.
const BYTES: usize = LIMBS * 4;
/// Bits below the point.
const POINT: i32 = 1074;
const MANTISSA_BITS: usize = 52;

/// An exact sum of floats: two's complement, the least limb first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exact([u32; LIMBS]);

impl Exact {
    pub(crate) const ZERO: Self = Self([0; LIMBS]);

    /// A stored sum.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut limbs = [0; LIMBS];
        let (chunks, rest) = bytes.as_chunks::<4>();
        if bytes.len() != BYTES || !rest.is_empty() {
            return None;
        }
        limbs.iter_mut().zip(chunks).for_each(|(limb, bytes)| *limb = u32::from_le_bytes(*bytes));
        Some(Self(limbs))
    }

    /// As it is stored.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|limb| limb.to_le_bytes()).collect()
    }

    /// With a float added. It must be finite.
    pub(crate) fn add(&mut self, term: f64) {
        let (mantissa, shift) = parts(term.abs());
        let (limb, bits) = (shift / LIMB_BITS, shift % LIMB_BITS);
        let mut carried = u128::from(mantissa) << bits;
        let negative = term.is_sign_negative();
        let mut carry = 0_i64;
        for limb in self.0.iter_mut().skip(limb) {
            let part = i64::from((carried & u128::from(u32::MAX)) as u32);
            carried >>= LIMB_BITS;
            let sum = i64::from(*limb) + if negative { -part } else { part } + carry;
            *limb = sum as u32; // the low limb; what is above is carried
            carry = sum >> LIMB_BITS;
            if carried == 0 && carry == 0 {
                break;
            }
        }
    }

    /// With another sum added.
    pub(crate) fn join(&mut self, other: &Self) {
        let mut carry = 0_u64;
        for (limb, other) in self.0.iter_mut().zip(&other.0) {
            let sum = u64::from(*limb) + u64::from(*other) + carry;
            *limb = sum as u32; // the low limb; what is above is carried
            carry = sum >> LIMB_BITS;
        }
    }

    /// With a float taken away. It must be finite.
    pub(crate) fn sub(&mut self, term: f64) {
        self.add(-term);
    }

    /// The nearest float, to even where two are; none beyond the greatest.
    pub(crate) fn rounded(&self) -> Option<f64> {
        let negative = self.0.last().is_some_and(|top| top >> (LIMB_BITS - 1) == 1);
        let magnitude = if negative { self.negated() } else { self.clone() };
        let value = magnitude.magnitude()?;
        Some(if negative { -value } else { value })
    }

    fn negated(&self) -> Self {
        let mut carry = true;
        let mut limbs = self.0;
        for limb in &mut limbs {
            let (value, carried) = (!*limb).overflowing_add(u32::from(carry));
            (*limb, carry) = (value, carried);
        }
        Self(limbs)
    }

    fn bit(&self, at: usize) -> bool {
        self.0.get(at / LIMB_BITS).is_some_and(|limb| limb >> (at % LIMB_BITS) & 1 == 1)
    }

    /// Of a sum that is not negative.
    fn magnitude(&self) -> Option<f64> {
        let top = (0..LIMBS * LIMB_BITS).rev().find(|at| self.bit(*at));
        let Some(top) = top else { return Some(0.0) };
        let low = top.saturating_sub(MANTISSA_BITS);
        let mut mantissa = (low..=top).rev().fold(0_u64, |bits, at| bits << 1 | u64::from(self.bit(at)));
        if low > 0 && self.bit(low - 1) && (mantissa & 1 == 1 || (0..low - 1).any(|at| self.bit(at))) {
            mantissa += 1;
        }
        // Both factors are exact, and so is the product: it has no more than 53 bits, or is beyond the greatest float.
        let value = mantissa as f64 * power(low as i32 - POINT);
        value.is_finite().then_some(value)
    }
}

/// Mantissa and shift: the float is the mantissa, shifted left, in units of 2^-1074.
fn parts(float: f64) -> (u64, usize) {
    let bits = float.to_bits();
    let (exponent, mantissa) = (bits >> MANTISSA_BITS & 0x7FF, bits & ((1 << MANTISSA_BITS) - 1));
    match exponent {
        0 => (mantissa, 0),
        _ => (mantissa | 1 << MANTISSA_BITS, exponent as usize - 1),
    }
}

/// Two to this power, from -1074 on.
fn power(exponent: i32) -> f64 {
    match exponent {
        ..-1022 => f64::from_bits(1 << (exponent + POINT)),
        _ => f64::from_bits(((exponent + 1023) as u64) << MANTISSA_BITS),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(terms: &[f64]) -> Exact {
        let mut sum = Exact::ZERO;
        terms.iter().for_each(|term| sum.add(*term));
        sum
    }

    fn finite() -> impl Strategy<Value = f64> {
        any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |float| float.is_finite())
    }

    proptest! {
        #[test]
        fn one_float_is_itself(float in finite()) {
            prop_assert_eq!(sum(&[float]).rounded(), Some(float));
        }

        #[test]
        fn two_floats_are_rounded_as_the_machine_does(a in finite(), b in finite()) {
            let machine = a + b;
            prop_assert_eq!(sum(&[a, b]).rounded(), machine.is_finite().then_some(machine));
        }

        #[test]
        fn near_floats_too(a in -1e6..1e6_f64, b in -1.0..1.0_f64) {
            prop_assert_eq!(sum(&[a, b]).rounded(), Some(a + b));
        }

        #[test]
        fn sums_that_are_joined_are_the_sum_of_all_terms(
            mut terms in prop::collection::vec(finite(), 0..6), others in prop::collection::vec(finite(), 0..6),
        ) {
            let mut joined = sum(&terms);
            joined.join(&sum(&others));
            terms.extend(others);
            prop_assert_eq!(joined, sum(&terms));
        }

        #[test]
        fn order_does_not_matter_and_what_was_added_can_be_taken(
            mut terms in prop::collection::vec(finite(), 0..12), gone in finite(),
        ) {
            let mut forth = sum(&terms);
            let stored = Exact::read(&forth.bytes()).unwrap();
            prop_assert_eq!(&stored, &forth);
            terms.reverse();
            prop_assert_eq!(&forth, &sum(&terms));
            forth.add(gone);
            forth.sub(gone);
            prop_assert_eq!(forth, stored);
        }
    }

    #[test]
    fn what_addition_would_lose_is_kept() {
        assert_eq!(sum(&[1e300, 1.0, -1e300]).rounded(), Some(1.0));
        assert_eq!(sum(&[f64::MAX, f64::MAX]).rounded(), None);
        assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX]).rounded(), Some(f64::MAX));
        assert_eq!(sum(&[0.1; 10]).rounded(), Some(1.0));
        assert_eq!(Exact::read(&[0; 3]), None);
    }
}
