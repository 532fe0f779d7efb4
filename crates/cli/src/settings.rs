//! What the server is told: flag over environment over config file over default.
//!
//! Lives here: the settings, their defaults and the one place where the sources meet. Not here:
//! reading the file (`config_file.rs`), what the settings do (`serve.rs`).

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use naven_server::{Access, MetricsAccess, ParseMetricsAccessError, TRUSTED_PROXIES_MAX, TlsFiles};
use naven_store::embedded::log::segment::{SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN};

use crate::config_file::ConfigFile;
use crate::environment;
use crate::exit::Failure;

const DEFAULT_DATA: &str = "./naven-data";
const DEFAULT_HTTP: &str = "127.0.0.1:7480";
const DEFAULT_REDIS: &str = "127.0.0.1:7379";
pub(crate) const EMBEDDED: &str = "embedded";

/// Arguments of `naven serve` and `naven dev`. The key comes from NAVEN_ADMIN_KEY or the config file.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// The folder that holds everything; made where it is missing. [default: ./naven-data]
    #[arg(long, env = "NAVEN_DATA", value_name = "DIR")]
    data: Option<PathBuf>,

    /// Where the HTTP door listens; port 0 picks a free one. [default: 127.0.0.1:7480]
    #[arg(long, env = "NAVEN_HTTP", value_name = "ADDR")]
    http: Option<String>,

    /// Where the Redis door listens, or off. [default: 127.0.0.1:7379]
    #[arg(long, env = "NAVEN_REDIS", value_name = "ADDR|off")]
    redis: Option<String>,

    /// Let the Redis door do without keys; only where it listens on a loopback address.
    #[arg(long, env = "NAVEN_REDIS_NO_AUTH", value_name = "BOOL",
          num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    redis_no_auth: Option<bool>,

    /// Let FLUSHDB and FLUSHALL on the Redis door delete every stream, for keys with admin on everything.
    #[arg(long, env = "NAVEN_ALLOW_FLUSH", value_name = "BOOL",
          num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    allow_flush: Option<bool>,

    /// The storage engine: embedded. [default: embedded]
    #[arg(long, env = "NAVEN_ENGINE", value_name = "ENGINE", hide_env_values = true)]
    engine: Option<String>,

    /// Length of a new store's log files in bytes, a power of two from 262144 to 67108864. [default: by
    /// the free space]
    #[arg(long, env = "NAVEN_SEGMENT_BYTES", value_name = "N")]
    segment_bytes: Option<u64>,

    /// Both doors speak TLS with this certificate: a PEM file with the chain, the server's own first.
    /// Read again at SIGHUP. [default: none, they speak plainly]
    #[arg(long, env = "NAVEN_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,

    /// The private key of --tls-cert: a PEM file.
    #[arg(long, env = "NAVEN_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,

    /// Origins of web pages that may call from browsers, such as `https://app.example.com`, separated by
    /// commas. [default: none]
    #[arg(long, env = "NAVEN_CORS_ORIGINS", value_name = "ORIGINS", value_delimiter = ',')]
    cors_origins: Option<Vec<String>>,

    /// Host names that the HTTP door answers to, besides loopback ones, separated by commas. [default: on a
    /// loopback address none, else all]
    #[arg(long, env = "NAVEN_ALLOWED_HOSTS", value_name = "NAMES", value_delimiter = ',')]
    allowed_hosts: Option<Vec<String>>,

    /// Proxies that are believed from which address a request came to them (Forwarded, X-Forwarded-For): IP
    /// addresses and networks, separated by commas. [default: none]
    #[arg(long, env = "NAVEN_TRUSTED_PROXIES", value_name = "NETS", value_delimiter = ',')]
    trusted_proxies: Option<Vec<String>>,

    /// Who may look at /metrics: key (one with the scope read or admin that reaches every queue), open
    /// (everybody) or off (nobody). [default: key]
    #[arg(long, env = "NAVEN_METRICS", value_name = "key|open|off")]
    metrics: Option<String>,

    /// A TOML file with these settings, named as the flags but in snake_case.
    #[arg(long, env = "NAVEN_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

impl ServerArgs {
    /// What the config file says; nothing where none is named.
    ///
    /// # Errors
    /// As [`ConfigFile::read`].
    pub(crate) fn file(&self) -> Result<ConfigFile, Failure> {
        Ok(self.config.as_deref().map(ConfigFile::read).transpose()?.unwrap_or_default())
    }
}

/// Everything that a server is told.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) data: PathBuf,
    pub(crate) http: SocketAddr,
    /// None where the Redis door stays closed.
    pub(crate) redis: Option<SocketAddr>,
    pub(crate) redis_no_auth: bool,
    pub(crate) allow_flush: bool,
    /// Installed as the key `admin`.
    pub(crate) admin_key: Option<Secret>,
    /// None: by the disk's free space.
    pub(crate) segment_bytes: Option<u64>,
    /// The certificate of the doors.
    pub(crate) tls: Option<TlsFiles>,
    /// From where the HTTP door may be called.
    pub(crate) access: Access,
    /// Who may look at `/metrics`.
    pub(crate) metrics: MetricsAccess,
    /// The config file's log filter.
    pub(crate) log: Option<String>,
}

/// A text that `Debug` hides.
#[derive(Clone)]
pub(crate) struct Secret(pub(crate) String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Settings {
    /// The settings that `args` (with the environment behind them) and the config file make.
    ///
    /// # Errors
    /// A usage error that names the setting and its rule.
    pub(crate) fn resolve(args: ServerArgs) -> Result<Self, Failure> {
        let file = args.file()?;
        Self::of(args, file)
    }

    /// The settings that `args` (with the environment behind them) and `file` make.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub(crate) fn of(args: ServerArgs, file: ConfigFile) -> Result<Self, Failure> {
        check_engine(&args.engine.or(file.engine).unwrap_or_else(|| EMBEDDED.to_owned()))?;
        let http = args.http.or(file.http).unwrap_or_else(|| DEFAULT_HTTP.to_owned());
        let redis = args.redis.or(file.redis).unwrap_or_else(|| DEFAULT_REDIS.to_owned());
        let admin_key = environment::admin_key().map_err(Failure::usage)?.or(file.admin_key);
        let settings = Self {
            data: args.data.or(file.data).unwrap_or_else(|| DEFAULT_DATA.into()),
            http: address("http", &http)?,
            redis: if redis == "off" { None } else { Some(address("redis", &redis)?) },
            redis_no_auth: args.redis_no_auth.or(file.redis_no_auth).unwrap_or(false),
            allow_flush: args.allow_flush.or(file.allow_flush).unwrap_or(false),
            admin_key: admin_key.map(Secret),
            segment_bytes: args.segment_bytes.or(file.segment_bytes),
            tls: tls(args.tls_cert.or(file.tls_cert), args.tls_key.or(file.tls_key))?,
            access: Access {
                cors_origins: list("cors-origins", args.cors_origins.or(file.cors_origins))?,
                allowed_hosts: list("allowed-hosts", args.allowed_hosts.or(file.allowed_hosts))?,
                trusted_proxies: list("trusted-proxies", args.trusted_proxies.or(file.trusted_proxies))?,
            },
            metrics: metrics(args.metrics.or(file.metrics))?,
            log: file.log,
        };
        if settings.redis_no_auth && settings.redis.is_some_and(|redis| !redis.ip().is_loopback()) {
            return Err(Failure::usage(
                "redis-no-auth: only where the Redis door listens on a loopback address such as 127.0.0.1",
            ));
        }
        if settings.access.trusted_proxies.len() > TRUSTED_PROXIES_MAX {
            return Err(Failure::usage(format!(
                "trusted-proxies: expected at most {TRUSTED_PROXIES_MAX} addresses and networks"
            )));
        }
        let possible = SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX;
        if settings.segment_bytes.is_some_and(|bytes| !(possible.contains(&bytes) && bytes.is_power_of_two()))
        {
            return Err(Failure::usage(format!(
                "segment-bytes: expected a power of two from {SEGMENT_BYTES_MIN} to {SEGMENT_BYTES_MAX}"
            )));
        }
        Ok(settings)
    }
}

/// Both files or none; an empty name, which an empty variable has, is none.
fn tls(certificate: Option<PathBuf>, key: Option<PathBuf>) -> Result<Option<TlsFiles>, Failure> {
    let named = |path: &PathBuf| !path.as_os_str().is_empty();
    match (certificate.filter(named), key.filter(named)) {
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => Ok(Some(TlsFiles { certificate, key })),
        (Some(_), None) => Err(Failure::usage("tls-cert: its private key is missing: set tls-key too")),
        (None, Some(_)) => Err(Failure::usage("tls-key: its certificate is missing: set tls-cert too")),
    }
}

/// An empty word, which an empty variable has, is none.
fn metrics(text: Option<String>) -> Result<MetricsAccess, Failure> {
    match text.filter(|text| !text.is_empty()) {
        Some(text) => parsed("metrics", &text, ParseMetricsAccessError),
        None => Ok(MetricsAccess::default()),
    }
}

fn address(name: &str, text: &str) -> Result<SocketAddr, Failure> {
    parsed(name, text, "expected an IP address and a port, such as 127.0.0.1:7480")
}

fn parsed<T: FromStr>(name: &str, text: &str, rule: impl Display) -> Result<T, Failure> {
    text.parse().map_err(|_| Failure::usage(format!("{name}: {rule}, found '{text}'")))
}

/// Each of the texts, without the blanks that lists may have after commas; an empty one, which an empty
/// variable has, is none.
fn list<T: FromStr<Err: Display>>(name: &str, texts: Option<Vec<String>>) -> Result<Vec<T>, Failure> {
    let texts = texts.iter().flatten().map(|text| text.trim()).filter(|text| !text.is_empty());
    texts
        .map(|text| {
            let parsed = text.parse();
            parsed.map_err(|error| Failure::usage(format!("{name}: {error}, found '{text}'")))
        })
        .collect()
}

/// The text is not repeated where it may hold a password.
fn check_engine(engine: &str) -> Result<(), Failure> {
    if engine == EMBEDDED {
        Ok(())
    } else if engine.starts_with("postgres://") || engine.starts_with("postgresql://") {
        Err(Failure::usage("engine: PostgreSQL is not in this version, whose one engine is 'embedded'"))
    } else {
        Err(Failure::usage("engine: expected 'embedded', the one engine of this version"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> ServerArgs {
        ServerArgs {
            data: None,
            http: None,
            redis: None,
            redis_no_auth: None,
            allow_flush: None,
            engine: None,
            segment_bytes: None,
            tls_cert: None,
            tls_key: None,
            cors_origins: None,
            allowed_hosts: None,
            trusted_proxies: None,
            metrics: None,
            config: None,
        }
    }

    fn refusal(args: ServerArgs) -> String {
        Settings::resolve(args).unwrap_err().to_string()
    }

    #[test]
    fn what_nobody_names_has_its_default() {
        let settings = Settings::resolve(args()).unwrap();
        assert_eq!(settings.data, PathBuf::from("./naven-data"));
        assert_eq!(settings.http.to_string(), "127.0.0.1:7480");
        assert_eq!(settings.redis.map(|redis| redis.to_string()).as_deref(), Some("127.0.0.1:7379"));
        assert!(!settings.redis_no_auth);
    }

    #[test]
    fn a_flag_outranks_the_file_and_the_file_the_default() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "http = '127.0.0.1:1'\nredis = 'off'\nadmin_key = 'k'\nlog = 'debug'\n")
            .unwrap();
        let args =
            ServerArgs { http: Some("127.0.0.1:2".to_owned()), config: Some(file.path().into()), ..args() };
        let settings = Settings::resolve(args).unwrap();
        assert_eq!(settings.http.port(), 2);
        assert_eq!(settings.redis, None);
        assert_eq!(settings.log.as_deref(), Some("debug"));
        assert_eq!(format!("{:?}", settings.admin_key), "Some(Secret(..))");
    }

    #[test]
    fn a_key_of_the_file_that_nobody_knows_is_refused_by_name() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "htpp = '127.0.0.1:1'\n").unwrap();
        let refusal = refusal(ServerArgs { config: Some(file.path().into()), ..args() });
        assert!(refusal.contains("htpp"), "{refusal}");
    }

    #[test]
    fn the_redis_door_does_without_keys_on_loopback_only() {
        let no_auth =
            |redis: &str| ServerArgs { redis: Some(redis.to_owned()), redis_no_auth: Some(true), ..args() };
        assert!(refusal(no_auth("0.0.0.0:7379")).contains("loopback"));
        for redis in ["127.0.0.1:7379", "[::1]:7379", "off"] {
            assert!(Settings::resolve(no_auth(redis)).is_ok(), "{redis}");
        }
    }

    #[test]
    fn metrics_are_for_keys_for_everybody_or_for_nobody() {
        let of = |text: &str| Settings::resolve(ServerArgs { metrics: Some(text.to_owned()), ..args() });
        let word = |text| of(text).unwrap().metrics.as_str();
        assert_eq!(["key", "open", "off", ""].map(word), ["key", "open", "off", "key"]);
        assert_eq!(of("on").unwrap_err().to_string(), "metrics: expected key, open or off, found 'on'");
    }

    #[test]
    fn log_files_are_a_power_of_two_within_bounds() {
        let of = |bytes| Settings::resolve(ServerArgs { segment_bytes: Some(bytes), ..args() });
        for good in [262_144, 67_108_864] {
            assert!(of(good).is_ok(), "{good}");
        }
        for bad in [0, 131_072, 262_145, 134_217_728] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_engine_that_is_not_there_is_refused_without_its_password() {
        let engine = |engine: &str| ServerArgs { engine: Some(engine.to_owned()), ..args() };
        let refusal = refusal(engine("postgres://me:pw@db/x"));
        assert!(refusal.contains("not in this version") && !refusal.contains("pw"), "{refusal}");
        assert!(Settings::resolve(engine("sqlite")).is_err());
    }

    #[test]
    fn access_is_named_in_lists() {
        let of = |text: &str| Some(text.split(',').map(str::to_owned).collect());
        let settings = |origins, hosts| {
            Settings::resolve(ServerArgs { cors_origins: of(origins), allowed_hosts: of(hosts), ..args() })
        };
        let access = settings("https://a.example,http://b:3000", "Naven.Example").unwrap().access;
        let origins: Vec<_> = access.cors_origins.iter().map(|origin| origin.as_str()).collect();
        assert_eq!(origins, ["https://a.example", "http://b:3000"]);
        assert_eq!(access.allowed_hosts[0].as_str(), "naven.example");
        assert!(settings("", "").unwrap().access.cors_origins.is_empty(), "an empty variable names none");
        let refusal = |origins, hosts| settings(origins, hosts).unwrap_err().to_string();
        assert!(refusal("https://a.example,*", "").starts_with("cors-origins: expected an origin"));
        assert!(refusal("", "a:80").contains("found 'a:80'"));
    }
    #[test]
    fn proxies_are_addresses_and_networks_in_a_bounded_list() {
        let of = |list: Vec<String>| {
            let settings = Settings::resolve(ServerArgs { trusted_proxies: Some(list), ..args() })?;
            Ok::<_, Failure>(settings.access.trusted_proxies.iter().map(ToString::to_string).collect())
        };
        let split = |text: &str| of(text.split(',').map(str::to_owned).collect());
        let listed: Vec<String> = split("10.0.0.0/8, ::1,192.0.2.1").unwrap();
        assert_eq!(listed, ["10.0.0.0/8", "::1", "192.0.2.1"]);
        assert!(split("").unwrap().is_empty(), "an empty variable names none");
        let refusal = split("10.0.0.1/8").unwrap_err().to_string();
        assert!(refusal.starts_with("trusted-proxies: expected an IP address or a network"), "{refusal}");
        assert!(refusal.ends_with("found '10.0.0.1/8'"), "{refusal}");
        let many = |count: usize| of(vec!["::1".to_owned(); count]);
        assert_eq!(many(1_000).unwrap().len(), 1_000);
        assert!(many(1_001).unwrap_err().to_string().starts_with("trusted-proxies: expected at most 1000"));
    }

    #[test]
    fn proxies_of_the_file_hold_where_no_flag_names_others() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "trusted_proxies = ['10.0.0.0/8', 'fd00::/8']\n").unwrap();
        let proxies = |flag: Option<Vec<String>>| {
            let config = Some(file.path().into());
            let settings = Settings::resolve(ServerArgs { trusted_proxies: flag, config, ..args() }).unwrap();
            settings.access.trusted_proxies.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(proxies(None), ["10.0.0.0/8", "fd00::/8"]);
        assert_eq!(proxies(Some(vec!["::1".to_owned()])), ["::1"]);
    }
}
