//! The configuration file: Toxiproxy's JSON list of proxies, in which each may
//! bring its toxics and be a blackhole.

use std::path::Path;

use crate::api::body;
use crate::engine::Engine;
use crate::error::Error;

impl Engine {
    /// Creates the proxies of a configuration file, with their toxics.
    /// Returns how many.
    ///
    /// # Errors
    ///
    /// The file cannot be read or makes no sense, which is found before any
    /// proxy is created; or a proxy cannot be created, and those before it stand.
    pub async fn load(&self, path: &Path) -> Result<usize, Error> {
        let fail = |reason: String| Error::Config {
            path: path.display().to_string(),
            reason,
        };
        let bytes = tokio::fs::read(path)
            .await
            .map_err(|error| fail(error.to_string()))?;
        let mut all = Vec::new();
        for (index, members) in body::list(&bytes)
            .map_err(|error| fail(error.to_string()))?
            .iter()
            .enumerate()
        {
            let at = |error: Error| fail(format!("proxy {}: {error}", index + 1));
            let (new, blackhole) = members.new_proxy().map_err(at)?;
            new.check("").map_err(at)?;
            let toxics = members.toxics().map_err(at)?;
            for toxic in &toxics {
                toxic.check().map_err(at)?;
            }
            all.push((new, blackhole, toxics));
        }
        let count = all.len();
        for (new, blackhole, toxics) in all {
            let name = new.name.clone();
            let at = |error: Error| fail(format!("proxy {name}: {error}"));
            self.create_proxy(new).await.map_err(at)?;
            for toxic in toxics {
                self.add_toxic(&name, toxic).map_err(at)?;
            }
            if blackhole {
                self.set_blackhole(&name, true).await.map_err(at)?;
            }
        }
        Ok(count)
    }
}
