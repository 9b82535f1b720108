//! The codec, policy and filler, which viewers of the page choose while the call runs.

use std::sync::{Mutex, MutexGuard, PoisonError};

use evenkeel_codec::Codec;
use evenkeel_media::filler::Filler;
use evenkeel_media::policy::Rules;

use crate::page::Knobs;

/// The codec, policy and filler of a sending end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) codec: Codec,
    pub(crate) rules: Rules,
    pub(crate) filler: Filler,
}

/// The present choice of the sending ends of a call, and the alternatives.
///
/// The capturing thread reads the choice before each picture, so that a change falls between two of them.
#[derive(Debug)]
pub(crate) struct Choices {
    now: Mutex<Choice>,
    codecs: Vec<Codec>,
    policies: Vec<Rules>,
    fillers: Vec<Filler>,
}

impl Choices {
    /// Creates a choice without alternatives.
    pub(crate) fn fixed(choice: Choice) -> Self {
        let policies = vec![choice.rules];
        Self::new(choice, vec![choice.codec], policies, vec![choice.filler])
    }

    /// Creates a choice with these alternatives.
    pub(crate) fn new(
        choice: Choice,
        codecs: Vec<Codec>,
        policies: Vec<Rules>,
        fillers: Vec<Filler>,
    ) -> Self {
        Self {
            now: Mutex::new(choice),
            codecs,
            policies,
            fillers,
        }
    }

    /// Returns the present choice.
    pub(crate) fn get(&self) -> Choice {
        *self.lock()
    }

    /// Returns the codecs that can be chosen.
    pub(crate) fn codecs(&self) -> &[Codec] {
        &self.codecs
    }

    /// Returns the policies that can be chosen.
    pub(crate) fn policies(&self) -> &[Rules] {
        &self.policies
    }

    /// Returns the fillers that can be chosen.
    pub(crate) fn fillers(&self) -> &[Filler] {
        &self.fillers
    }

    /// Refuses a codec, policy or filler that this call cannot have.
    pub(crate) fn check(&self, knobs: &Knobs) -> Result<(), Unavailable> {
        let refused = |field, value, possible| {
            Err(Unavailable {
                field,
                value,
                possible,
            })
        };
        if let Some(codec) = knobs.codec
            && !self.codecs.contains(&codec)
        {
            let possible = self.codecs.iter().map(|codec| codec.name()).collect();
            return refused("codec", codec.name(), possible);
        }
        if let Some(policy) = knobs.policy
            && !self.policies.contains(&policy)
        {
            let possible = self.policies.iter().map(|policy| policy.name()).collect();
            return refused("policy", policy.name(), possible);
        }
        if let Some(filler) = knobs.filler
            && !self.fillers.contains(&filler)
        {
            let possible = self.fillers.iter().map(|filler| filler.name()).collect();
            return refused("filler", filler.name(), possible);
        }
        Ok(())
    }

    /// Sets checked knobs; a choice that they leave out stays.
    pub(crate) fn set(&self, knobs: &Knobs) {
        let mut now = self.lock();
        now.codec = knobs.codec.unwrap_or(now.codec);
        now.rules = knobs.policy.unwrap_or(now.rules);
        now.filler = knobs.filler.unwrap_or(now.filler);
    }

    /// Locks the choice, which is whole at any time, even if a thread died while it set one.
    fn lock(&self) -> MutexGuard<'_, Choice> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A codec, policy or filler that exists and to which this call cannot change.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}: this call can have {}", possible.join(", "))]
pub(crate) struct Unavailable {
    field: &'static str,
    value: &'static str,
    possible: Vec<&'static str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Choice = Choice {
        codec: Codec::Mjpeg,
        rules: Rules::Evenkeel,
        filler: Filler::None,
    };

    #[test]
    fn choice_left_out_of_a_change_stays() {
        let codecs = vec![Codec::Mjpeg, Codec::H264];
        let choices = Choices::new(START, codecs, Rules::ALL.to_vec(), vec![Filler::None]);
        let knobs = Knobs {
            codec: Some(Codec::H264),
            policy: Some(Rules::Thesis),
            ..Knobs::default()
        };
        assert_eq!(choices.check(&knobs), Ok(()));
        choices.set(&knobs);
        let expected = Choice {
            codec: Codec::H264,
            rules: Rules::Thesis,
            ..START
        };
        assert_eq!(choices.get(), expected);
    }

    #[test]
    fn impossible_choice_is_refused_with_the_alternatives() {
        let choices = Choices::fixed(START);
        let refusal = |knobs: Knobs| choices.check(&knobs).unwrap_err().to_string();
        let codec = refusal(Knobs {
            codec: Some(Codec::Raw),
            ..Knobs::default()
        });
        assert_eq!(codec, "codec is raw: this call can have mjpeg");
        let policy = refusal(Knobs {
            policy: Some(Rules::Thesis),
            ..Knobs::default()
        });
        assert_eq!(policy, "policy is thesis: this call can have evenkeel");
        let filler = refusal(Knobs {
            filler: Some(Filler::Fec),
            ..Knobs::default()
        });
        assert_eq!(filler, "filler is fec: this call can have none");
        assert_eq!(choices.get(), START);
    }
}
