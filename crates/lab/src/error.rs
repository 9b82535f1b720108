//! Why a scenario is refused, and why a run gives no result.

use std::borrow::Cow;
use std::fmt;

/// The reason why a run gives no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The run was asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The run could not end, or its result makes no sense: the reason.
    #[error("{0}")]
    Failed(String),
}

/// The value of a parameter that its type allows and no run can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}{} must be {wanted}", stated(.given.as_deref()))]
pub struct Impossible {
    /// The parameter.
    pub key: &'static str,
    /// The refused value, where the error states it.
    pub given: Option<String>,
    /// What would be right.
    pub wanted: Cow<'static, str>,
    /// The list that has the parameter, and the number of the element from 0.
    pub inside: Option<(&'static str, usize)>,
}

/// The refused value as a part of a message.
fn stated(given: Option<&str>) -> String {
    given.map_or_else(String::new, |given| format!(" is {given} and"))
}

impl Impossible {
    /// States the refused value.
    pub(crate) fn given(mut self, value: impl fmt::Display) -> Self {
        self.given = Some(value.to_string());
        self
    }

    /// Places the parameter in this element of a list.
    pub(crate) fn inside(mut self, list: &'static str, index: usize) -> Self {
        self.inside = Some((list, index));
        self
    }
}

/// Refuses a parameter and says what would be right.
pub(crate) fn impossible(key: &'static str, wanted: impl Into<Cow<'static, str>>) -> Impossible {
    Impossible {
        key,
        given: None,
        wanted: wanted.into(),
        inside: None,
    }
}

/// Refuses unless `sound`.
pub(crate) fn require(
    sound: bool,
    key: &'static str,
    wanted: &'static str,
) -> Result<(), Impossible> {
    if sound {
        Ok(())
    } else {
        Err(impossible(key, wanted))
    }
}

/// An error of a component as the reason why a run failed.
pub(crate) fn broken(error: &dyn fmt::Display) -> RunError {
    RunError::Failed(error.to_string())
}
