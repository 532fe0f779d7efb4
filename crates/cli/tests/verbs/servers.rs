//! `naven serve`, `naven dev`, `naven smoke` and `naven config`.
//!
//! Lives here: what these verbs are shown. Not here: their transcripts (`tests/snapshots`).

use crate::scene::{Scene, args};
use crate::support::{Ended, Start};
use crate::verb::Verb;

/// A config file of the scene with this in it; its path.
fn file(scene: &Scene, name: &str, text: &str) -> String {
    std::fs::write(scene.path(name), text).expect("a file");
    scene.path(name)
}

#[test]
fn servers_say_that_they_are_ready_or_why_not() {
    let scene = Scene::start();
    let taken = scene.naven.http.clone();
    let typo = file(&scene, "typo.toml", "redis = 'off'\nhtpp = '127.0.0.1:0'\n");
    for name in ["serve", "dev"] {
        let server = if name == "serve" { Start::serve() } else { Start::dev() };
        let server = server.args(&["--redis", "off"]).ready();
        let (ready, own) = (server.ready.clone(), server.http.clone());
        server.wait_until("all that it says", |server| name == "serve" || server.stdout().contains("/ack"));
        server.signal("TERM");
        let ended = server.ended();
        let stdout = format!("{ready}\n{}", ended.stdout).replace(&own, "<own>");
        let mut verb = Verb::new(&scene, name);
        let said = Ended { stdout, stderr: String::new(), ..ended };
        verb.note(&format!("naven {name} --redis off # until SIGTERM"), &said);
        let data = scene.path("other-data");
        verb.run(&["--data", &data, "--redis", "off", "--http", &taken, "--log", "off"]);
        verb.run(&["--config", &typo]);
        verb.run(&["--http", "here"]);
        verb.check();
    }
}

#[test]
fn shells_are_told_all_verbs() {
    let scene = Scene::start();
    let mut completions = Verb::new(&scene, "completions");
    for shell in ["bash", "zsh", "fish"] {
        let script = scene.run(&["completions", shell], "");
        for word in ["dead-letter", "--backoff-factor", "timeline"] {
            // One shell writes a flag without its hyphens.
            assert!(script.stdout.contains(word.trim_start_matches('-')), "{shell}: {word}");
        }
        let first = script.stdout.lines().next().unwrap_or_default().to_owned();
        let said = Ended { stdout: format!("{first}\n(and so on)"), ..script };
        completions.note(&format!("naven completions {shell}"), &said);
    }
    completions.run(&["sh"]);
    completions.run(&[]);
    completions.check();
}

#[test]
fn the_guarantees_are_proved() {
    let scene = Scene::start();
    let mut smoke = Verb::new(&scene, "smoke");
    let url = scene.naven.url();
    smoke.run(&["--url", &url]);
    smoke.run(&["--url", "http://127.0.0.1:9"]);
    smoke.run(&["--url", &url, "--key", "nvk_wrong"]);
    smoke.check();
}

#[test]
fn settings_are_shown_with_their_sources() {
    let scene = Scene::start();
    let key = format!("nvk_{}_{}", "0".repeat(26), "a".repeat(52));
    let all = "redis = 'off'\nlog = 'debug'\ndata = 'from-file'\ntls_cert = 'c.pem'\ntls_key = 'k.pem'\n\
               segment_bytes = 262144\nallowed_hosts = ['naven.example']\n\
               trusted_proxies = ['10.0.0.0/8', '::1']\n";
    let all = file(&scene, "all.toml", &format!("{all}admin_key = '{key}'\n"));
    let typo = file(&scene, "typo.toml", "redis = 'off'\nhtpp = '127.0.0.1:0'\n");
    let mut show = Verb::new(&scene, "config show");
    let origins = "https://a.example,https://b.example";
    show.forms(|_| args(["--config", &all, "--data", "from-flag", "--cors-origins", origins]));
    show.run(&["--output", "table"]);
    show.run(&["--config", &typo]);
    show.run(&["--redis", "0.0.0.0:1", "--redis-no-auth"]);
    show.run(&["--trusted-proxies", "10.0.0.0/8, 10.0.0.1/8"]);
    show.check();

    let mut reference = Verb::new(&scene, "config reference");
    reference.forms(|_| args([]));
    reference.run(&["more"]);
    reference.check();
}
