//! What a bottleneck does to packets besides queueing them, as experiments describe it.

use evenkeel_link::{GilbertElliott, Jitter, LinkConfig, Loss, Policer, QueueLimit, Reordering};
use serde::Deserialize;

use crate::error::{Impossible, require};
use crate::units::{BitRate, Share, Size, Time};

/// What happens to packets along the data, before the queue or behind it; nothing unless given.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Impairments {
    /// What is lost before the queue.
    pub loss: Option<Losses>,
    /// Delay that varies behind the queue and never reorders.
    pub jitter: Option<Jitters>,
    /// Packets that fall behind, so that later ones overtake them.
    pub reordering: Option<Late>,
    /// The share of packets that arrive twice.
    pub duplication: Option<Share>,
}

/// [`Loss`] as experiments name it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Losses {
    /// Each packet with this probability, by itself.
    Bernoulli(Share),
    /// The n-th packet, the 2n-th and so on.
    Periodic(u64),
    /// In bursts: two states, between which every packet may change.
    GilbertElliott {
        /// That the good state turns bad before a packet.
        to_bad: Share,
        /// That the bad state turns good before a packet: a burst has `1 / to_good` packets on average.
        to_good: Share,
        /// What is lost in the good state.
        good_loss: Share,
        /// What is lost in the bad state.
        bad_loss: Share,
    },
    /// What exceeds a rate, without a queue.
    Policer {
        /// The rate in the long run.
        rate: BitRate,
        /// What may exceed it at a time.
        burst: Size,
    },
    /// The packets of these numbers: the first that comes is 0.
    Packets(Vec<u64>),
}

/// [`Jitter`] as experiments name it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Jitters {
    /// |N(0, σ²)| up to 3σ (RFC 8868 §4.5.3), with this σ.
    Normal(Time),
    /// Evenly distributed from zero to this.
    Uniform(Time),
}

/// [`Reordering`] as experiments name it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Late {
    /// The share of packets that fall behind.
    pub share: Share,
    /// By how much at most.
    pub by: Time,
}

impl Impairments {
    /// Does it lose packets besides those that its queue drops?
    pub(crate) fn loses(&self) -> bool {
        self.loss.is_some()
    }

    /// Are its losses listed packet by packet?
    pub(crate) fn is_scripted(&self) -> bool {
        matches!(self.loss, Some(Losses::Packets(_)))
    }

    /// The numbers of packets that are lost for sure.
    pub(crate) fn script(&self) -> &[u64] {
        match &self.loss {
            Some(Losses::Packets(numbers)) => numbers,
            _ => &[],
        }
    }

    pub(crate) fn verify(&self) -> Result<(), Impossible> {
        self.loss.as_ref().map_or(Ok(()), Losses::verify)?;
        let late = self.jitter.is_none_or(|jitter| {
            let (Jitters::Normal(most) | Jitters::Uniform(most)) = jitter;
            !most.0.is_zero()
        });
        require(late, "jitter", "above 0s, or left out")?;
        if let Some(Late { share, by }) = self.reordering {
            require(share.0 > 0.0, "share", "above 0%: or leave reordering out")?;
            require(!by.0.is_zero(), "by", "above 0s: or leave reordering out")?;
        }
        let some = self.duplication.is_none_or(|share| share.0 > 0.0);
        require(some, "duplication", "above 0%, or left out")
    }

    pub(crate) fn apply(&self, config: &mut LinkConfig) {
        config.loss = self.loss.as_ref().map_or(Loss::None, Losses::model);
        config.jitter = match self.jitter {
            None => Jitter::None,
            Some(Jitters::Normal(sigma)) => Jitter::Normal(sigma.0),
            Some(Jitters::Uniform(most)) => Jitter::Uniform(most.0),
        };
        config.reordering = self
            .reordering
            .map_or_else(Reordering::default, |late| Reordering {
                probability: late.share.0,
                delay: late.by.0,
            });
        config.duplication = self.duplication.map_or(0.0, |share| share.0);
    }
}

impl Losses {
    /// Refuses what loses nothing and what lets nothing through: neither is a path.
    pub(crate) fn verify(&self) -> Result<(), Impossible> {
        match self {
            Self::Bernoulli(share) => require(
                share.0 > 0.0 && share.0 < 1.0,
                "bernoulli",
                "above 0% and below 100%",
            ),
            Self::Periodic(every) => require(*every >= 2, "periodic", "at least 2"),
            Self::GilbertElliott {
                to_bad,
                to_good,
                good_loss,
                bad_loss,
            } => {
                require(to_bad.0 > 0.0, "to_bad", "above 0%")?;
                require(to_good.0 > 0.0, "to_good", "above 0%")?;
                require(good_loss.0 < 1.0, "good_loss", "below 100%")?;
                require(bad_loss > good_loss, "bad_loss", "above good_loss")
            }
            Self::Policer { burst, .. } => {
                let least = QueueLimit::LEAST_BYTES;
                require(burst.0 >= least, "burst", "a packet or more")
            }
            Self::Packets(numbers) => {
                let listed = !numbers.is_empty() && numbers.is_sorted_by(|a, b| a < b);
                require(
                    listed,
                    "packets",
                    "one or more numbers, each above the last",
                )
            }
        }
    }

    /// As the link has it.
    pub(crate) fn model(&self) -> Loss {
        match self {
            Self::Bernoulli(share) => Loss::Bernoulli(share.0),
            Self::Periodic(every) => Loss::Periodic(*every),
            Self::GilbertElliott {
                to_bad,
                to_good,
                good_loss,
                bad_loss,
            } => Loss::GilbertElliott(GilbertElliott {
                to_bad: to_bad.0,
                to_good: to_good.0,
                good_loss: good_loss.0,
                bad_loss: bad_loss.0,
            }),
            Self::Policer { rate, burst } => Loss::Policer(Policer {
                rate: rate.0,
                burst: burst.0,
            }),
            Self::Packets(_) => Loss::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc::time::Duration;

    fn read(text: &str) -> Impairments {
        toml::from_str(text).unwrap()
    }

    fn link(text: &str) -> LinkConfig {
        let mut config = LinkConfig::default();
        let impairments = read(text);
        assert_eq!(impairments.verify(), Ok(()), "{text}");
        impairments.apply(&mut config);
        config
    }

    #[test]
    fn all_that_a_link_can_do_can_be_asked_for() {
        assert_eq!(link(""), LinkConfig::default());
        assert_eq!(link("loss.bernoulli = '1%'").loss, Loss::Bernoulli(0.01));
        assert_eq!(link("loss.periodic = 100").loss, Loss::Periodic(100));
        let bursts = link(
            "loss.gilbert-elliott = { to_bad = '1%', to_good = '20%', good_loss = '0%', bad_loss = '100%' }",
        );
        let Loss::GilbertElliott(model) = bursts.loss else {
            panic!("another model");
        };
        assert_eq!(
            [model.to_bad, model.to_good, model.good_loss, model.bad_loss],
            [0.01, 0.2, 0.0, 1.0]
        );
        assert_eq!(read("loss.packets = [3, 17]").script(), [3, 17]);
        let millis = Duration::from_millis;
        assert_eq!(
            link("jitter.normal = '5ms'").jitter,
            Jitter::Normal(millis(5))
        );
        assert_eq!(
            link("jitter.uniform = '9ms'").jitter,
            Jitter::Uniform(millis(9))
        );
        assert_eq!(
            link("reordering = { share = '2%', by = '30ms' }").reordering,
            Reordering {
                probability: 0.02,
                delay: millis(30),
            }
        );
        assert_eq!(link("duplication = '0.5%'").duplication, 0.005);
    }

    #[test]
    fn a_path_that_lets_nothing_through_or_does_not_do_what_it_names_is_refused() {
        let bursts = |to_bad: &str, to_good: &str, good_loss: &str, bad_loss: &str| {
            format!(
                "loss.gilbert-elliott = {{ to_bad = '{to_bad}', to_good = '{to_good}', \
                 good_loss = '{good_loss}', bad_loss = '{bad_loss}' }}"
            )
        };
        for (text, key) in [
            ("loss.bernoulli = '0%'".to_owned(), "bernoulli"),
            ("loss.bernoulli = '100%'".to_owned(), "bernoulli"),
            ("loss.periodic = 1".to_owned(), "periodic"),
            ("loss.packets = []".to_owned(), "packets"),
            ("loss.packets = [5, 5]".to_owned(), "packets"),
            (bursts("0%", "1%", "0%", "9%"), "to_bad"),
            (bursts("1%", "0%", "0%", "9%"), "to_good"),
            (bursts("1%", "1%", "100%", "100%"), "good_loss"),
            (bursts("1%", "1%", "9%", "9%"), "bad_loss"),
            ("jitter.normal = '0s'".to_owned(), "jitter"),
            (
                "reordering = { share = '0%', by = '1ms' }".to_owned(),
                "share",
            ),
            ("reordering = { share = '1%', by = '0ms' }".to_owned(), "by"),
            ("duplication = '0%'".to_owned(), "duplication"),
        ] {
            let refused = read(&text).verify();
            assert_eq!(refused.map_err(|wrong| wrong.key), Err(key), "{text}");
        }
    }
}
