//! The list of all settings, for people.
//!
//! Lives here: the page `docs/settings.md`, word for word. Not here: the settings (`setting.rs`).

use super::setting::{Setting, built_in, settable};

const HEAD: &str = "# Settings of a server\n\n\
This page is what `naven config reference` prints. What a server would be told on this machine, and by what, is shown by\n\
`naven config show`, which takes the same flags as `naven serve`.\n\n\
A flag outranks its variable, that outranks the config file (`--config FILE` or `NAVEN_CONFIG`), and that the default. The file is TOML: names\n\
as below, texts in quotes, lists in brackets. A name that is none is refused, with its line. The same in variables: lists are separated by\n\
commas.\n\n\
```toml\ndata = \"/var/lib/naven\"\nhttp = \"0.0.0.0:7480\"\ntls_cert = \"/etc/naven/cert.pem\"\ntls_key = \"/etc/naven/key.pem\"\n\
cors_origins = [\"https://app.example.com\"]\n```\n";

const BUILT_IN: &str = "\n## Built in\n\nThese bounds cannot be set in this version.\n\n\
| bound | value | what |\n|---|---|---|\n";

/// The page.
pub(crate) fn page() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("\n| setting | flag, variable | default | bounds | what |\n|---|---|---|---|---|\n");
    page.extend(settable().iter().map(settable_row));
    page.push_str(BUILT_IN);
    page.extend(built_in().iter().map(|setting| {
        let Setting { name, default, what, .. } = setting;
        format!("| `{name}` | {default}{} | {what} |\n", unit(setting))
    }));
    page
}

fn settable_row(setting: &Setting) -> String {
    let Setting { name, flag, variable, bounds, default, what, .. } = setting;
    let by: Vec<_> = flag.iter().chain(variable).map(|name| format!("`{name}`")).collect();
    let what = what.replace('|', "\\|");
    format!("| `{name}` | {} | {default} | {bounds}{} | {what} |\n", by.join(", "), unit(setting))
}

fn unit(setting: &Setting) -> String {
    setting.unit.map(|unit| format!(" {unit}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_in_the_docs_is_this_one() {
        let page = super::page();
        let kept = include_str!("../../../../docs/settings.md");
        #[expect(clippy::disallowed_methods, reason = "whether the page is to be written anew")]
        if std::env::var_os("NAVEN_BLESS").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
            std::fs::write(path, page).unwrap();
        } else {
            assert_eq!(kept, page, "docs/settings.md: NAVEN_BLESS=1 writes it anew");
        }
    }
}
