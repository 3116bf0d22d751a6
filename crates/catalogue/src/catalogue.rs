//! The catalogue: the servers, workloads, plans, balancers and databases of one tree; broken ones are kept with their
//! errors.
//!
//! Every command that needs it reads it again. A broken file does not hide others; a folder without a manifest is
//! reported and skipped. [`Folders`] finds the tree.

use crate::balancer::BALANCER_FILE;
use crate::document::Document;
use crate::manifest::MANIFEST_FILE;
use crate::{
    Balancer, CatalogueError, DATABASE_FILE, Database, Folders, Manifest, Plan, Select, Workload, nearest,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The contents of one tree.
#[derive(Debug)]
pub struct Catalogue {
    /// Where it was found.
    pub folders: Folders,
    /// Every server with a valid manifest, by id.
    pub servers: Vec<Arc<Manifest>>,
    /// The ids of the servers that are marked as untried but were built on this machine, so that a choice of all servers
    /// includes them. Builds are not part of the tree: the set is empty until the caller fills it.
    pub built_untried: BTreeSet<String>,
    /// Every server whose manifest is wrong.
    pub broken_servers: Vec<BrokenEntry>,
    /// Every valid workload, by name.
    pub workloads: Vec<Arc<Workload>>,
    /// Every workload whose file is wrong.
    pub broken_workloads: Vec<BrokenEntry>,
    /// Every balancer that can be used, by id.
    pub balancers: Vec<Arc<Balancer>>,
    /// Every balancer whose manifest or template is wrong.
    pub broken_balancers: Vec<BrokenEntry>,
    /// Every valid database, by id.
    pub databases: Vec<Arc<Database>>,
    /// Every database whose manifest is wrong.
    pub broken_databases: Vec<BrokenEntry>,
    /// What was skipped, as messages.
    pub notes: Vec<String>,
}

/// A server, workload or balancer that cannot be used.
#[derive(Debug)]
pub struct BrokenEntry {
    /// Its id or name.
    pub id: String,
    /// Its file or folder.
    pub path: PathBuf,
    /// Why.
    pub error: CatalogueError,
}

impl Catalogue {
    /// Reads everything in `folders`.
    ///
    /// # Errors
    /// [`CatalogueError::File`] when one of the folders itself cannot be listed, or a folder of the state folder is
    /// another user's symbolic link. Errors within a manifest or workload
    /// are kept beside the valid ones.
    pub fn read(folders: Folders) -> Result<Self, CatalogueError> {
        folders.check_links()?;
        let mut catalogue = Self {
            servers: Vec::new(),
            built_untried: BTreeSet::new(),
            broken_servers: Vec::new(),
            workloads: Vec::new(),
            broken_workloads: Vec::new(),
            balancers: Vec::new(),
            broken_balancers: Vec::new(),
            databases: Vec::new(),
            broken_databases: Vec::new(),
            notes: Vec::new(),
            folders,
        };
        catalogue.read_databases()?;
        catalogue.read_workloads()?;
        catalogue.read_servers_in(&catalogue.folders.servers_dir.clone())?;
        catalogue.read_balancers()?;
        catalogue.sort();
        Ok(catalogue)
    }

    fn sort(&mut self) {
        self.servers.sort_by(|a, b| a.id.cmp(&b.id));
        self.workloads.sort_by(|a, b| a.name.cmp(&b.name));
        self.balancers.sort_by(|a, b| a.id.cmp(&b.id));
        self.databases.sort_by(|a, b| a.id.cmp(&b.id));
    }

    fn read_workloads(&mut self) -> Result<(), CatalogueError> {
        for folder in self.folders.with_installed(&self.folders.workloads_dir, "workloads") {
            self.read_workloads_in(&folder)?;
        }
        Ok(())
    }

    /// Reads the workloads of a folder; a name that is already known is skipped.
    fn read_workloads_in(&mut self, folder: &Path) -> Result<(), CatalogueError> {
        for path in toml_files(folder)? {
            let id = stem(&path);
            if self.workload(&id).is_some() || self.broken_workload(&id).is_some() {
                continue;
            }
            match self.read_workload(&path) {
                Ok(workload) => self.workloads.push(Arc::new(workload)),
                Err(error) => self.broken_workloads.push(BrokenEntry { id, path, error }),
            }
        }
        Ok(())
    }

    /// Reads a workload and checks the names of its databases; a tree without databases knows no names.
    fn read_workload(&self, path: &Path) -> Result<Workload, CatalogueError> {
        let workload = Workload::read(path)?;
        let valid = self.databases.iter().map(|database| database.id.as_str());
        let known: Vec<&str> =
            valid.chain(self.broken_databases.iter().map(|broken| broken.id.as_str())).collect();
        let mut named = workload.cases.iter().flat_map(|case| &case.databases);
        let unknown = named.find(|name| !known.is_empty() && !known.contains(&name.as_str()));
        let Some(unknown) = unknown else { return Ok(workload) };
        let hint = match nearest(unknown, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("available: {}", known.join(", ")),
        };
        // Read again for the line of the key.
        let document = Document::read(path)?;
        let problem = format!("`databases` names the unknown database `{unknown}`; {hint}");
        Err(document.complain(document.place_of("databases"), problem))
    }

    /// Adds the server in `folder`, which may be anywhere, with the workloads in its own folder `workloads`; then the
    /// servers of the installation. It replaces what has the same name. Returns the server.
    ///
    /// # Errors
    /// [`CatalogueError::Document`] and [`CatalogueError::File`] for its manifest and workloads.
    pub fn add_server(&mut self, folder: &Path) -> Result<Arc<Manifest>, CatalogueError> {
        let error = |source| CatalogueError::File { action: "find", path: folder.into(), source };
        let folder = std::fs::canonicalize(folder).map_err(error)?;
        let workloads = folder.join("workloads");
        if workloads.is_dir() {
            for path in toml_files(&workloads)? {
                let workload = self.read_workload(&path)?;
                self.workloads.retain(|known| known.name != workload.name);
                self.broken_workloads.retain(|known| known.id != workload.name);
                self.workloads.push(Arc::new(workload));
            }
        }
        let server = Arc::new(self.with_known_workloads(Manifest::read(&folder)?)?);
        for folder in self.folders.with_installed(&self.folders.servers_dir, "servers").into_iter().skip(1) {
            self.read_servers_in(&folder)?;
        }
        self.servers.retain(|known| known.id != server.id);
        self.broken_servers.retain(|known| known.id != server.id);
        self.servers.push(Arc::clone(&server));
        self.sort();
        Ok(server)
    }

    /// Reads the servers of a folder; an id that is already known is skipped.
    fn read_servers_in(&mut self, folder: &Path) -> Result<(), CatalogueError> {
        for folder in entries(folder)? {
            let id = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let is_known =
                self.servers.iter().any(|server| server.id == id) || self.broken_server(&id).is_some();
            if id.starts_with('.') || !folder.is_dir() || is_known {
                continue;
            }
            if !folder.join(MANIFEST_FILE).exists() {
                self.notes.push(format!("ignored {}: it has no {MANIFEST_FILE}", folder.display()));
                continue;
            }
            match Manifest::read(&folder).and_then(|manifest| self.with_known_workloads(manifest)) {
                Ok(manifest) => self.servers.push(Arc::new(manifest)),
                Err(error) => self.broken_servers.push(BrokenEntry { id, path: folder, error }),
            }
        }
        Ok(())
    }

    /// As [`Catalogue::read_balancers`].
    fn read_databases(&mut self) -> Result<(), CatalogueError> {
        for folder in self.optional_folders(&self.folders.databases_dir, "databases")? {
            let id = stem(&folder);
            let is_known = self.databases.iter().any(|known| known.id == id)
                || self.broken_databases.iter().any(|known| known.id == id);
            if is_known || !folder.join(DATABASE_FILE).exists() {
                continue;
            }
            match Database::read(&folder) {
                Ok(database) => self.databases.push(Arc::new(database)),
                Err(error) => self.broken_databases.push(BrokenEntry { id, path: folder, error }),
            }
        }
        Ok(())
    }

    /// The database of that id.
    ///
    /// # Errors
    /// [`CatalogueError::Unknown`] with the nearest id; for a broken database, its error.
    pub fn database(&self, id: &str) -> Result<Arc<Database>, CatalogueError> {
        if let Some(database) = self.databases.iter().find(|database| database.id == id) {
            return Ok(Arc::clone(database));
        }
        if let Some(broken) = self.broken_databases.iter().find(|broken| broken.id == id) {
            return Database::read(&broken.path).map(Arc::new);
        }
        let ids = self.databases.iter().map(|database| database.id.as_str());
        Err(CatalogueError::Unknown {
            kind: "database",
            name: id.into(),
            nearest: nearest(id, ids).map(Into::into),
        })
    }

    /// A folder with a manifest is a balancer; a tree without such folders has none.
    fn read_balancers(&mut self) -> Result<(), CatalogueError> {
        for folder in self.optional_folders(&self.folders.balancers_dir, "balancers")? {
            let id = stem(&folder);
            let is_known = self.balancers.iter().any(|known| known.id == id)
                || self.broken_balancers.iter().any(|known| known.id == id);
            if is_known || !folder.join(BALANCER_FILE).exists() {
                continue;
            }
            match Balancer::read(&folder) {
                Ok(balancer) => self.balancers.push(Arc::new(balancer)),
                Err(error) => self.broken_balancers.push(BrokenEntry { id, path: folder, error }),
            }
        }
        Ok(())
    }

    /// The folders in a folder of this tree, which need not exist, then those in the installation's.
    fn optional_folders(&self, own: &Path, name: &str) -> Result<Vec<PathBuf>, CatalogueError> {
        let folders = self.folders.with_installed(own, name);
        let listed = folders.iter().filter(|folder| folder.is_dir()).map(|folder| entries(folder));
        Ok(listed.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// The balancer of that id.
    ///
    /// # Errors
    /// [`CatalogueError::Unknown`] with the nearest id; for a broken balancer, its error.
    pub fn balancer(&self, id: &str) -> Result<Arc<Balancer>, CatalogueError> {
        if let Some(balancer) = self.balancers.iter().find(|balancer| balancer.id == id) {
            return Ok(Arc::clone(balancer));
        }
        if let Some(broken) = self.broken_balancers.iter().find(|broken| broken.id == id) {
            return Balancer::read(&broken.path).map(Arc::new);
        }
        let ids = self.balancers.iter().map(|balancer| balancer.id.as_str());
        Err(CatalogueError::Unknown {
            kind: "balancer",
            name: id.into(),
            nearest: nearest(id, ids).map(Into::into),
        })
    }

    fn with_known_workloads(&self, manifest: Manifest) -> Result<Manifest, CatalogueError> {
        let known = || self.workloads.iter().map(|workload| workload.name.as_str());
        let broken = |name: &str| self.broken_workloads.iter().any(|workload| workload.id == name);
        let unknown = manifest.workloads.iter().filter(|name| self.workload(name).is_none() && !broken(name));
        let errors = unknown.map(|name| {
            let hint = nearest(name, known()).map(|near| format!("; did you mean `{near}`?"));
            let problem = format!("serves the unknown workload `{name}`{}", hint.unwrap_or_default());
            let line = manifest.workloads_line;
            CatalogueError::Document { path: manifest.folder.join(MANIFEST_FILE), line, problem }
        });
        if let Some(error) = CatalogueError::of_all(errors.collect()) {
            return Err(error);
        }
        let mut served = manifest.workloads.iter().filter_map(|name| self.workload(name));
        let needs_static_files = served.any(|workload| workload.static_files.is_some());
        Ok(Manifest { needs_static_files, ..manifest })
    }

    /// The server of that id.
    ///
    /// # Errors
    /// [`CatalogueError::Unknown`] with the nearest id; for a broken manifest, its error.
    pub fn server(&self, id: &str) -> Result<Arc<Manifest>, CatalogueError> {
        if let Some(server) = self.servers.iter().find(|server| server.id == id) {
            return Ok(Arc::clone(server));
        }
        if let Some(broken) = self.broken_server(id) {
            // Read again to return an owned error: the kept one stays where it is.
            return Manifest::read(&broken.path)
                .and_then(|manifest| self.with_known_workloads(manifest))
                .map(Arc::new);
        }
        let ids = self.servers.iter().map(|server| server.id.as_str());
        Err(CatalogueError::Unknown {
            kind: "server",
            name: id.into(),
            nearest: nearest(id, ids).map(Into::into),
        })
    }

    /// The servers that `names` select, as ids or patterns such as `go-*`, each once.
    ///
    /// # Errors
    /// As [`Catalogue::server`]; [`CatalogueError::Unknown`] also for a pattern without a match.
    pub fn servers_named(&self, names: &[String]) -> Result<Vec<Arc<Manifest>>, CatalogueError> {
        let mut meant: Vec<Arc<Manifest>> = Vec::new();
        for name in names {
            let select = Select { servers: vec![name.clone()], ..Select::default() };
            let mut fitting: Vec<_> =
                self.servers.iter().filter(|server| select.admits(server)).cloned().collect();
            if fitting.is_empty() {
                fitting.push(self.server(name)?);
            }
            fitting.retain(|server| !meant.iter().any(|known| known.id == server.id));
            meant.append(&mut fitting);
        }
        Ok(meant)
    }

    /// The workload of that name (not a case's address).
    pub fn workload(&self, name: &str) -> Option<&Arc<Workload>> {
        self.workloads.iter().find(|workload| workload.name == name)
    }

    /// The workload of that name as it is requested from `server`.
    pub fn workload_of(&self, server: &Manifest, name: &str) -> Option<Arc<Workload>> {
        self.workload(name).map(|workload| server.adapt(workload))
    }

    /// The broken server of that id.
    pub fn broken_server(&self, id: &str) -> Option<&BrokenEntry> {
        self.broken_servers.iter().find(|broken| broken.id == id)
    }

    /// The broken workload of that name.
    pub fn broken_workload(&self, name: &str) -> Option<&BrokenEntry> {
        self.broken_workloads.iter().find(|broken| broken.id == name)
    }

    /// Reads the plan `name`: a file, or a plan's name in the plans folder.
    ///
    /// # Errors
    /// [`CatalogueError::Unknown`] with the nearest plan; otherwise as [`Plan::read`].
    pub fn plan(&self, name: &str) -> Result<Plan, CatalogueError> {
        let plans_dirs = self.folders.with_installed(&self.folders.plans_dir, "plans");
        let named =
            plans_dirs.iter().map(|folder| folder.join(format!("{name}.toml"))).find(|file| file.exists());
        let is_path = name.ends_with(".toml") || name.contains('/');
        if is_path && Path::new(name).exists() {
            Plan::read(Path::new(name))
        } else if let Some(named) = named.filter(|_| !is_path) {
            Plan::read(&named)
        } else {
            let plans: Vec<String> = self.plan_names()?;
            // For a path, compare the file's name: its folder is seldom misspelt.
            let wanted = if is_path { stem(Path::new(name)) } else { name.to_owned() };
            let nearest = nearest(&wanted, plans.iter().map(String::as_str)).map(Into::into);
            Err(CatalogueError::Unknown { kind: "plan", name: name.into(), nearest })
        }
    }

    /// The names of the plans in the plans folder; none where there is no such folder.
    ///
    /// # Errors
    /// [`CatalogueError::File`] when the folder is there and cannot be listed.
    pub fn plan_names(&self) -> Result<Vec<String>, CatalogueError> {
        let mut names = Vec::new();
        for folder in self.folders.with_installed(&self.folders.plans_dir, "plans") {
            if folder.is_dir() {
                names.extend(toml_files(&folder)?.iter().map(|path| stem(path)));
            }
        }
        names.sort();
        names.dedup();
        Ok(names)
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn toml_files(folder: &Path) -> Result<Vec<PathBuf>, CatalogueError> {
    let is_toml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    Ok(entries(folder)?.into_iter().filter(is_toml).collect())
}

/// The entries of `folder`, sorted by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, CatalogueError> {
    let error = |source| CatalogueError::File { action: "list", path: folder.into(), source };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(error)? {
        paths.push(entry.map_err(error)?.path());
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests;
