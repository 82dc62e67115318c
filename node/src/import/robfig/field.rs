//! One field of a text, written so that it means here what it means there.

/// A field and its values.
pub(super) struct Field {
    pub(super) name: &'static str,
    low: u32,
    high: u32,
    day: bool,
}

impl Field {
    /// In the order of a text with seconds.
    pub(super) const ALL: [Self; 6] = [
        Self { name: "second", low: 0, high: 59, day: false },
        Self { name: "minute", low: 0, high: 59, day: false },
        Self { name: "hour", low: 0, high: 23, day: false },
        Self { name: "day-of-month", low: 1, high: 31, day: true },
        Self { name: "month", low: 1, high: 12, day: false },
        Self { name: "day-of-week", low: 0, high: 6, day: true },
    ];

    /// `restricted`: whether both day fields of the text are, so that a `*` at the beginning would change how they join.
    pub(super) fn rewrite(&self, text: &str, restricted: bool) -> String {
        if is_star(text) {
            return "*".to_owned();
        }
        let items: Vec<String> =
            text.split(',').filter(|item| !item.is_empty()).map(|item| self.item(item, restricted)).collect();
        // Nothing at all is left to whoever judges the text.
        if items.is_empty() { text.to_owned() } else { items.join(",") }
    }

    fn item(&self, item: &str, restricted: bool) -> String {
        let Some((base, step)) = item.split_once('/') else { return item.to_owned() };
        let Ok(size) = step.parse::<u32>() else { return item.to_owned() };
        let first = if matches!(base, "*" | "?") { self.low.to_string() } else { lowest(base).to_owned() };
        if size > self.high - self.low + 1 {
            return first;
        }
        match base {
            "*" | "?" if self.day && restricted => format!("{}-{}/{step}", self.low, self.high),
            "*" | "?" => format!("*/{step}"),
            _ if base.contains('-') => item.to_owned(),
            _ => format!("{base}-{}/{step}", self.high),
        }
    }
}

/// Whether the field is free: one of its items is a star without a step above 1.
pub(super) fn is_star(text: &str) -> bool {
    text.split(',').any(|item| matches!(item, "*" | "?" | "*/1" | "?/1"))
}

fn lowest(range: &str) -> &str {
    range.split_once('-').map_or(range, |(low, _)| low)
}
