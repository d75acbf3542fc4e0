//! Decimal numbers of up to 38 digits, for which 0.1 + 0.2 is 0.3. Rounding to 38 digits loses less
//! than the precision of a float.

/// A decimal number: `digits * 10^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: i128,
    exponent: i32,
}

/// Decimal places of a quotient, as in the Go library `decimal`.
const DIVISION_PLACES: i32 = 16;

impl Decimal {
    /// Returns the decimal with the printed digits of a float, or `None` for NaN and infinities.
    pub(super) fn from_float(float: f64) -> Option<Decimal> {
        if !float.is_finite() {
            return None;
        }
        let text = format!("{float:e}");
        let (mantissa, exponent) = text.split_once('e')?;
        let places = mantissa
            .split_once('.')
            .map_or(0, |(_, places)| places.len());
        Some(Decimal {
            digits: mantissa.replace('.', "").parse().ok()?,
            exponent: exponent.parse::<i32>().ok()? - i32::try_from(places).ok()?,
        })
    }

    /// Returns the nearest float.
    pub(super) fn to_float(self) -> f64 {
        format!("{}e{}", self.digits, self.exponent)
            .parse()
            .unwrap_or(0.0)
    }

    pub(super) fn plus(self, other: Decimal) -> Option<Decimal> {
        let (a, b) = self.aligned(other);
        Some(Decimal {
            digits: a.digits.checked_add(b.digits)?,
            exponent: a.exponent,
        })
    }

    pub(super) fn minus(self, other: Decimal) -> Option<Decimal> {
        self.plus(Decimal {
            digits: -other.digits,
            ..other
        })
    }

    pub(super) fn times(self, other: Decimal) -> Option<Decimal> {
        // The product of two numbers of 18 digits fits into 38 digits.
        let (a, b) = (self.shortened(18), other.shortened(18));
        Some(Decimal {
            digits: a.digits.checked_mul(b.digits)?,
            exponent: a.exponent.checked_add(b.exponent)?,
        })
    }

    /// Returns the quotient with 16 decimal places. The last place is rounded half away from zero.
    pub(super) fn over(self, other: Decimal) -> Option<Decimal> {
        let (a, b) = (self.shortened(18), other.shortened(18));
        let shift = a
            .exponent
            .checked_sub(b.exponent)?
            .checked_add(DIVISION_PLACES)?;
        let power = 10_i128.checked_pow(shift.unsigned_abs());
        let scaled = match (shift, power) {
            (0.., Some(power)) => a.digits.checked_mul(power).zip(Some(b.digits)),
            (_, Some(power)) => Some(a.digits).zip(b.digits.checked_mul(power)),
            (_, None) => None,
        };
        match scaled {
            Some((dividend, divisor)) => Some(Decimal {
                digits: rounded_quotient(dividend, divisor)?,
                exponent: -DIVISION_PLACES,
            }),
            // Numbers whose magnitudes differ this much share no digits at this precision.
            None => Decimal::from_float(self.to_float() / other.to_float()),
        }
    }

    /// Converts both numbers to the smaller exponent, as far as the digits fit.
    fn aligned(self, other: Decimal) -> (Decimal, Decimal) {
        let (mut large, mut small) = if self.exponent >= other.exponent {
            (self, other)
        } else {
            (other, self)
        };
        while large.exponent > small.exponent {
            if let Some(digits) = large.digits.checked_mul(10).filter(fits) {
                large.digits = digits;
                large.exponent -= 1;
            } else {
                small.digits /= 10;
                small.exponent += 1;
            }
            if large.digits == 0 || small.digits == 0 {
                let exponent = if large.digits == 0 { small } else { large }.exponent;
                large.exponent = exponent;
                small.exponent = exponent;
            }
        }
        (large, small)
    }

    /// Reduces a number to at most `most` digits.
    fn shortened(mut self, most: u32) -> Decimal {
        let bound = 10_i128.pow(most);
        while self.digits.abs() >= bound {
            self.digits /= 10;
            self.exponent += 1;
        }
        self
    }
}

/// Whether there is room for one more digit in a sum.
fn fits(digits: &i128) -> bool {
    digits.abs() < i128::MAX / 2
}

fn rounded_quotient(dividend: i128, divisor: i128) -> Option<i128> {
    let quotient = dividend.checked_div(divisor)?;
    let rest = dividend.checked_rem(divisor)?;
    let up = rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2);
    let away = if (dividend < 0) == (divisor < 0) {
        1
    } else {
        -1
    };
    Some(if up { quotient + away } else { quotient })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(float: f64) -> Decimal {
        Decimal::from_float(float).unwrap()
    }

    #[test]
    fn tenths_add_up() {
        let three = number(0.1).plus(number(0.2)).unwrap();
        assert_eq!(three.to_float(), 0.3);
        assert_eq!(number(1.1).times(number(1.1)).unwrap().to_float(), 1.21);
        assert_eq!(number(0.3).minus(number(0.1)).unwrap().to_float(), 0.2);
    }

    #[test]
    fn quotients_have_sixteen_places() {
        let third = number(1.0).over(number(3.0)).unwrap();
        assert_eq!(third.to_float(), 0.333_333_333_333_333_3);
        assert_eq!(number(7.0).over(number(2.0)).unwrap().to_float(), 3.5);
        assert_eq!(number(-7.0).over(number(2.0)).unwrap().to_float(), -3.5);
        assert_eq!(number(1e300).over(number(1e-5)).unwrap().to_float(), 1e305);
    }

    #[test]
    fn numbers_far_apart_do_not_hang() {
        let sum = number(1e300).plus(number(1e-300)).unwrap();
        assert_eq!(sum.to_float(), 1e300);
        assert_eq!(number(0.0).plus(number(1e-300)).unwrap().to_float(), 1e-300);
    }
}
