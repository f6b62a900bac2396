//! Keys of several components: injective, ordered component by component, legal, and read back.

use proptest::prelude::*;
use tablemodel::key::Codec;
use tablemodel_store::key::compare;

use super::hostile::{case, key, lookup, order, pick};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn keys_of_random_templates_keep_the_laws(case in case(), a in any::<[usize; 3]>(), b in any::<[usize; 3]>()) {
        let template = case.template;
        let (x, y) = (pick(&case.pools, a), pick(&case.pools, b));
        let (Some(x_key), Some(y_key)) = (key(&template, &x), key(&template, &y)) else { return Ok(()) };

        if !template.may_hold_space() {
            prop_assert!(!x_key.contains(|c: char| c.is_control() || " /\\#?%'".contains(c)), "{x_key:?}");
        }
        prop_assert!(!x_key.starts_with("~~"), "{x_key:?}");
        for (part, back) in template.decode(&x_key).unwrap() {
            prop_assert_eq!(Some(back.as_ref()), lookup(&template, &x, part), "{:?}", x_key);
        }

        let by_key = compare(&x_key, &y_key);
        let mut differing = template.parts().enumerate().zip(x.iter().zip(&y)).filter(|(_, (a, b))| order(a, b).is_ne());
        match differing.next() {
            None => prop_assert!(by_key.is_eq(), "{x:?}: {x_key:?}, {y:?}: {y_key:?}"),
            Some(((at, part), (a, b))) => {
                let expected = if part.codec == Codec::Desc { order(b, a) } else { order(a, b) };
                if template.orders(at) {
                    prop_assert_eq!(by_key, expected, "{:?}: {:?}, {:?}: {:?}", x, x_key, y, y_key);
                } else if !part.codec.is_lossy() {
                    prop_assert!(by_key.is_ne(), "{x:?} and {y:?}: {x_key:?}");
                }
            }
        }
    }
}
