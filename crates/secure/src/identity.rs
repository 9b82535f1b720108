//! The certificate by which an end is known, and its fingerprint.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use p256::ecdsa::{DerSignature, SigningKey};
use p256::elliptic_curve::Generate;
use p256::pkcs8::{EncodePrivateKey, EncodePublicKey};
use sha2::{Digest, Sha256};
use thiserror::Error;
use x509_cert::TbsCertificate;
use x509_cert::builder::profile::BuilderProfile;
use x509_cert::builder::{self, Builder, CertificateBuilder};
use x509_cert::der::Encode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::{Extension, ToExtension as _};
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{SubjectPublicKeyInfoOwned, SubjectPublicKeyInfoRef};
use x509_cert::time::Validity;
use zeroize::Zeroizing;

/// The time for which a certificate is valid, in days: browsers make theirs for as long.
const VALID_DAYS: u32 = 30;
const DAY: Duration = Duration::from_secs(86_400);

/// The last year that a certificate's time has two digits for (RFC 5280 §4.1.2.5.1).
const LAST_YEAR_OF_UTC_TIME: u32 = 2_049;

/// No certificate can be made.
#[derive(Debug, Error)]
#[error("cannot make a certificate: {0}")]
pub struct IdentityError(String);

impl IdentityError {
    /// Takes the reason from a library.
    pub(crate) fn new(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

/// A self-signed certificate (ECDSA on P-256) and its private key.
#[derive(Clone)]
pub struct Identity {
    pub(crate) certificate: Vec<u8>,
    pub(crate) private_key: Zeroizing<Vec<u8>>,
}

impl Identity {
    /// Makes a new key, and a certificate that is valid from a day before `now` on.
    ///
    /// # Errors
    ///
    /// Fails if the system has no random numbers.
    pub fn generate(now: SystemTime) -> Result<Self, IdentityError> {
        Self::generate_for(now, &[])
    }

    /// Makes a new key, and a certificate as [`generate`](Self::generate) does that also names addresses of an HTTPS server.
    ///
    /// # Errors
    ///
    /// Fails if the system has no random numbers.
    pub fn generate_for(now: SystemTime, addresses: &[IpAddr]) -> Result<Self, IdentityError> {
        let key = SigningKey::try_generate().map_err(IdentityError::new)?;
        let serial = SigningKey::try_generate().map_err(IdentityError::new)?;
        Self::new(
            &key,
            &serial.to_bytes()[..16],
            [now - DAY, now + VALID_DAYS * DAY],
            addresses,
        )
    }

    /// Derives the key and the certificate, to the byte, from secret numbers. Of these the first is taken that is a key.
    ///
    /// # Errors
    ///
    /// Fails if the library refuses the certificate.
    pub(crate) fn derive(
        secret: impl Fn(u32) -> Zeroizing<[u8; 32]>,
    ) -> Result<Self, IdentityError> {
        // One number of 2^32 is no key.
        let key = (0..4).find_map(|count| SigningKey::from_slice(&*secret(count)).ok());
        let key = key.ok_or_else(|| IdentityError::new("no number is a key"))?;
        let always = [0, LAST_YEAR_OF_UTC_TIME - 1_970]
            .map(|years| SystemTime::UNIX_EPOCH + years * 365 * DAY);
        Self::new(&key, &[1], always, &[])
    }

    fn new(
        key: &SigningKey,
        serial: &[u8],
        validity: [SystemTime; 2],
        addresses: &[IpAddr],
    ) -> Result<Self, IdentityError> {
        let certificate = self_signed(key, serial, validity, addresses);
        let certificate = certificate.map_err(IdentityError::new)?;
        let private_key = key.to_pkcs8_der().map_err(IdentityError::new)?;
        Ok(Self {
            certificate,
            private_key: Zeroizing::new(private_key.as_bytes().to_vec()),
        })
    }

    /// Returns the certificate, in DER.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Returns the private key, in DER (PKCS #8).
    pub fn private_key(&self) -> &[u8] {
        &self.private_key
    }

    /// Returns the fingerprint by which a peer knows this end.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.certificate)
    }
}

fn self_signed(
    key: &SigningKey,
    serial: &[u8],
    [from, until]: [SystemTime; 2],
    addresses: &[IpAddr],
) -> builder::Result<Vec<u8>> {
    let name = Name::from_str("CN=evenkeel")?;
    let public_key = key.verifying_key().to_public_key_der()?;
    let public_key = SubjectPublicKeyInfoOwned::try_from(public_key.as_bytes())?;
    let validity = Validity::new(from.try_into()?, until.try_into()?);
    let serial = SerialNumber::new(serial)?;
    let profile = SelfSigned { name, addresses };
    let builder = CertificateBuilder::new(profile, serial, validity, public_key)?;
    Ok(builder.build::<_, DerSignature>(key)?.to_der()?)
}

/// A certificate whose issuer is its subject.
struct SelfSigned<'a> {
    name: Name,
    /// The addresses of the server that has it; without any the certificate has no extension.
    addresses: &'a [IpAddr],
}

impl BuilderProfile for SelfSigned<'_> {
    fn get_issuer(&self, subject: &Name) -> Name {
        subject.clone()
    }

    fn get_subject(&self) -> Name {
        self.name.clone()
    }

    fn build_extensions(
        &self,
        _: SubjectPublicKeyInfoRef<'_>,
        _: SubjectPublicKeyInfoRef<'_>,
        _: &TbsCertificate,
    ) -> builder::Result<Vec<Extension>> {
        let names: Vec<_> = self
            .addresses
            .iter()
            .copied()
            .map(GeneralName::from)
            .collect();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let names = SubjectAltName(names).to_extension(&self.name, &[])?;
        Ok(vec![names])
    }
}

/// The SHA-256 of a certificate (RFC 8122 §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Returns the fingerprint of a certificate in DER.
    pub fn of(certificate: &[u8]) -> Self {
        Self(Sha256::digest(certificate).into())
    }

    /// Returns the bytes of the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Fingerprint {
    fn from(hash: [u8; 32]) -> Self {
        Self(hash)
    }
}

/// As SDP has it: pairs of hexadecimal digits with colons in between (RFC 8122 §5).
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, byte) in self.0.iter().enumerate() {
            let colon = if n == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02X}")?;
        }
        Ok(())
    }
}

/// A text that is no fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a SHA-256 fingerprint has 32 pairs of hexadecimal digits with colons in between")]
pub struct FingerprintError;

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let mut hash = [0; 32];
        let mut pairs = text.split(':');
        for byte in &mut hash {
            let pair = pairs.next().ok_or(FingerprintError)?;
            let is_hex = pair.len() == 2 && pair.bytes().all(|digit| digit.is_ascii_hexdigit());
            let pair = is_hex.then(|| u8::from_str_radix(pair, 16));
            *byte = pair.and_then(Result::ok).ok_or(FingerprintError)?;
        }
        pairs
            .next()
            .map_or(Ok(Self(hash)), |_| Err(FingerprintError))
    }
}

#[cfg(test)]
mod tests {
    use x509_cert::Certificate;
    use x509_cert::der::Decode;

    use super::*;

    #[test]
    fn certificate_is_self_signed_and_valid_now() {
        let now = SystemTime::UNIX_EPOCH + 20_000 * DAY;
        let identity = Identity::generate(now).unwrap();
        let certificate = Certificate::from_der(&identity.certificate).unwrap();
        let tbs = certificate.tbs_certificate();
        assert_eq!(tbs.subject(), tbs.issuer());
        let validity = tbs.validity();
        assert!(validity.not_before.to_system_time() < now);
        assert!(validity.not_after.to_system_time() > now + 29 * DAY);
        let another = Identity::generate(now).unwrap();
        assert_ne!(identity.fingerprint(), another.fingerprint());
    }

    #[test]
    fn certificate_of_a_server_names_its_addresses() {
        let addresses = ["192.0.2.7", "2001:db8::7"].map(|text| text.parse().unwrap());
        let now = SystemTime::UNIX_EPOCH + 20_000 * DAY;
        let identity = Identity::generate_for(now, &addresses).unwrap();
        let certificate = Certificate::from_der(identity.certificate()).unwrap();
        let extensions = certificate.tbs_certificate().extensions().unwrap();
        assert_eq!(extensions.len(), 1);
        let names = SubjectAltName::from_der(extensions[0].extn_value.as_bytes()).unwrap();
        assert_eq!(names.0, addresses.map(GeneralName::from));
    }

    #[test]
    fn fingerprint_is_read_as_it_is_written() {
        let fingerprint = Fingerprint::of(b"abc");
        let text = fingerprint.to_string();
        assert!(text.starts_with("BA:78:16:BF:8F:01:CF:EA:41:41:40:DE:5D:AE:22:23"));
        assert_eq!(text.parse(), Ok(fingerprint));
        assert_eq!(text.to_lowercase().parse(), Ok(fingerprint));
        let wrong = [
            "",
            "BA",
            &text[3..],
            &format!("{text}:00"),
            &text.replacen("BA", "+A", 1),
        ];
        for text in wrong {
            assert_eq!(text.parse::<Fingerprint>(), Err(FingerprintError), "{text}");
        }
    }
}
