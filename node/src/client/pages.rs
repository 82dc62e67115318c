//! A list, page by page: never more than one page in memory.

use serde_json::Value;

use super::{Call, Client, Error};

/// The most items that a node gives in one page.
const MAX_PAGE: u64 = 1000;

/// The pages of one list.
#[derive(Debug)]
pub struct Pages<'a> {
    client: &'a Client,
    call: Call,
    /// How many more items are wanted; `None` is all.
    left: Option<u64>,
    place: Place,
}

#[derive(Debug, PartialEq, Eq)]
enum Place {
    First,
    Next(String),
    Done,
}

impl Client {
    /// Reads the list behind `call`, at most `limit` items of it.
    #[must_use]
    pub fn pages(&self, call: Call, limit: Option<u64>) -> Pages<'_> {
        let place = if limit == Some(0) { Place::Done } else { Place::First };
        Pages { client: self, call, left: limit, place }
    }
}

impl Pages<'_> {
    /// The next page; `None` after the last.
    ///
    /// # Errors
    /// As [`Client::send`]; a page that does not go on, or that is no list, is [`Error::Unusable`].
    pub async fn next(&mut self) -> Result<Option<Vec<Value>>, Error> {
        let size = self.left.unwrap_or(MAX_PAGE).min(MAX_PAGE);
        let call = match &self.place {
            Place::Done => return Ok(None),
            Place::First => self.call.clone().query("limit", &size),
            Place::Next(token) => self.call.clone().query("limit", &size).query("page_token", token),
        };
        let mut body = self.client.send(&call).await?.body;
        let Some(Value::Array(mut items)) = body.get_mut("items").map(Value::take) else {
            return Err(Error::Unusable("the node's answer is no list".into()));
        };
        items.truncate(size as usize);
        self.left = self.left.map(|left| left - items.len() as u64);
        self.place = self.after(&body, items.is_empty())?;
        Ok(Some(items))
    }

    fn after(&self, body: &Value, empty: bool) -> Result<Place, Error> {
        match body.get("next_page_token").and_then(Value::as_str) {
            Some(next) if !next.is_empty() && self.left != Some(0) => {
                // A filter may leave a page empty, but a list that does not move would be read for ever.
                if empty && self.place == Place::Next(next.to_owned()) {
                    return Err(Error::Unusable(
                        "the node's list does not go on: it repeats a page token".into(),
                    ));
                }
                Ok(Place::Next(next.to_owned()))
            }
            _ => Ok(Place::Done),
        }
    }
}
