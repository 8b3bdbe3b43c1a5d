//! Prices of tokens: `prices:` in liza.yaml, by model, for providers that report tokens but no cost. None are built in:
//! prices change, and a wrong one is worse than none.

use super::prelude::*;

const PER: f64 = 1_000_000.0;

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input that was not read from a cache.
    pub input: f64,
    pub output: f64,
    /// Input read from a cache; without it, the same as other input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
}

impl Price {
    pub fn of(&self, input: u64, output: u64, cached: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "no session uses 2^53 tokens")]
        let cost = |tokens: u64, price: f64| tokens as f64 * price / PER;
        cost(input, self.input) + cost(output, self.output) + cost(cached, self.cached.unwrap_or(self.input))
    }
}

/// Prices by the name of a model, or of a provider for sessions whose model is not known.
pub type Prices = BTreeMap<String, Price>;

/// The price of a session: of the model that its provider named, or that was asked for, or else of its provider.
pub fn price_of<'p>(
    prices: &'p Prices,
    named: Option<&str>,
    asked: Option<&str>,
    provider: &str,
) -> Option<&'p Price> {
    [named, asked, Some(provider)].into_iter().flatten().find_map(|name| prices.get(name))
}

/// Refuses negative or infinite prices.
pub fn check(prices: &Prices) -> Result<(), String> {
    let is_price = |amount: f64| amount.is_finite() && amount >= 0.0;
    for (name, price) in prices {
        for (what, amount) in
            [("input", Some(price.input)), ("output", Some(price.output)), ("cached", price.cached)]
        {
            if let Some(amount) = amount.filter(|amount| !is_price(*amount)) {
                return Err(format!(
                    "prices.{name}.{what} is {amount}; a price is US dollars for a million tokens"
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_costs_what_its_model_costs() {
        let price = |input, output, cached| Price { input, output, cached };
        let prices: Prices =
            [("big".to_owned(), price(3.0, 15.0, Some(0.3))), ("codex".to_owned(), price(1.0, 2.0, None))]
                .into();
        let cost = |named, asked| {
            price_of(&prices, named, asked, "codex").map(|price| price.of(1_000_000, 100_000, 2_000_000))
        };
        assert_eq!(cost(Some("big"), None), Some(3.0 + 1.5 + 0.6));
        assert_eq!(cost(None, Some("big")), Some(5.1));
        assert_eq!(cost(Some("other"), None), Some(1.0 + 0.2 + 2.0));
        assert_eq!(price_of(&prices, None, None, "gemini"), None);
        assert!(check(&prices).is_ok());
        assert!(check(&[("x".to_owned(), price(-1.0, 0.0, None))].into()).is_err());
    }
}
