//! Expands a plan's loads: one load for each twin and database, with the plan's scale and balancer applied.
//!
//! A pure function of the plan, so that a resumed round has the same loads. The name of a twin is the other load's with
//! a suffix, and both have a group: loads of one group are measured on the same launch.

use super::own_capacity::{ExpandedLoad, with_bases};
use super::planned_load::{LaunchGroup, LoadEnd, LoadPace, LoadWork};
use super::{Balance, LoadHttp, PinDatabase, Plan, PlanLoad, PlannedLoad, Scale};
use paceline_record::{BalancedLoad, DatabaseLoad, Route, Scaled, Variant, VariantKind};
use std::time::Duration;

impl Plan {
    /// The number of loads in [`Plan::expanded`] at most, from the lengths of the lists.
    pub(super) fn max_loads(&self) -> usize {
        let databases = self.databases.len().saturating_mul(self.pool.len().max(1)).saturating_add(1);
        let has_balancer = |load: &PlanLoad| load.balancer.as_ref().or(self.balancer.as_ref()).is_some();
        let twins = |load: &PlanLoad| match has_balancer(load) {
            true => 1 + load.twins.len(),
            false => load.twins.len() + usize::from(load.first_run),
        };
        let loads = self.load.iter().map(|load| 1 + twins(load)).sum::<usize>();
        loads.saturating_mul(databases)
    }

    /// Every load that is measured, in the plan's order, twins after the load they belong to.
    ///
    /// # Errors
    /// What is wrong with a load of a plan that was not checked, or with a share of a load that is not there.
    pub(super) fn expanded(&self) -> Result<Vec<PlannedLoad>, String> {
        let factor = match self.scale {
            Some(Scale::Factor(factor)) => factor,
            Some(Scale::Auto) | None => 1.0,
        };
        let mut loads = Vec::new();
        for written in &self.load {
            let planned = written.planned(self).map_err(|problems| {
                let texts: Vec<String> = problems.into_iter().map(|(_, text)| text).collect();
                format!("load `{}`: {}", written.name, texts.join("; "))
            })?;
            let twins = self.twins(written, scaled(planned, factor)).into_iter();
            let all = twins.flat_map(|load| self.with_databases(written, load));
            loads.extend(all.map(|load| ExpandedLoad { written, load }));
        }
        with_bases(&loads)
    }

    /// A load, then the same with each database and pool: for workloads that need one.
    fn with_databases(&self, written: &PlanLoad, load: PlannedLoad) -> Vec<PlannedLoad> {
        let pools = if self.pool.is_empty() { &[super::POOL][..] } else { &self.pool };
        let pin = written.pin.or(self.pin).unwrap_or_default();
        let pinned = match pin.database {
            PinDatabase::Own => String::new(),
            other => format!(" {other:?}"),
        };
        let pairs =
            self.databases.iter().flat_map(|database| pools.iter().map(move |pool| (database, *pool)));
        let own = pairs.map(|(database, pool)| {
            let ending = if pools.len() > 1 { format!("-pool{pool}") } else { String::new() };
            let ended = |name: &str| format!("{name}-{database}{ending}");
            PlannedLoad {
                name: ended(&load.name),
                variant: load.variant.clone().map(|variant| Variant { of: ended(&variant.of), ..variant }),
                database: Some(DatabaseLoad { database: database.clone(), pool }),
                pin,
                group: LaunchGroup {
                    name: format!("{} {database} pool {pool}{pinned}", load.group.name)
                        .trim_start()
                        .to_owned(),
                    ..load.group.clone()
                },
                ..load.clone()
            }
        });
        let own: Vec<PlannedLoad> = own.collect();
        [load].into_iter().chain(own).collect()
    }

    /// A load with its twins.
    fn twins(&self, written: &PlanLoad, load: PlannedLoad) -> Vec<PlannedLoad> {
        let balance = written.balance().or(&self.balance());
        let Some(balancer) = balance.balancer.clone() else {
            let load = PlannedLoad { group: own_group(written), ..load };
            let twins = written.twins.iter().map(|kind| twin(&load, *kind));
            let first = written.first_run.then(|| twin(&load, VariantKind::FirstRun));
            return first.into_iter().chain([load.clone()]).chain(twins).collect();
        };
        let pin = balance.pin.unwrap_or_default();
        let group = balanced_group(&load.name, &balance, &balancer);
        let load = PlannedLoad { pin, group, ..load };
        let through = |route| BalancedLoad {
            balancer: balancer.clone(),
            policy: balance.policy().to_owned(),
            instances: balance.instances.unwrap_or(1),
            route,
            fault: balance.fault,
        };
        if balance.fault.is_some() {
            // The effect of a fault is compared with the time before it in the same run.
            return vec![PlannedLoad { balanced: Some(through(Route::Balanced)), ..load }];
        }
        let routed = |route, kind| PlannedLoad { balanced: Some(through(route)), ..twin(&load, kind) };
        let balanced = routed(Route::Balanced, VariantKind::Balanced);
        let is_spread = written.twins.contains(&VariantKind::Spread);
        let spread = is_spread.then(|| routed(Route::Spread, VariantKind::Spread));
        let direct = PlannedLoad { balanced: Some(through(Route::Direct)), ..load };
        [direct, balanced].into_iter().chain(spread).collect()
    }
}

/// A load that needs a fresh server has separate launches.
fn own_group(load: &PlanLoad) -> LaunchGroup {
    if load.first_run {
        LaunchGroup { name: format!("first-run {}", load.name), is_ordered: true }
    } else {
        LaunchGroup::default()
    }
}

fn balanced_group(load: &str, balance: &Balance, balancer: &str) -> LaunchGroup {
    let instances = balance.instances.unwrap_or(1);
    let pin = balance.pin.unwrap_or_default();
    let name = format!("{balancer} {} x{instances} {:?} {:?}", balance.policy(), pin.instances, pin.balancer);
    if balance.fault.is_some() {
        return LaunchGroup { name: format!("{name} fault {load}"), is_ordered: true };
    }
    LaunchGroup { name, is_ordered: false }
}

fn twin(load: &PlannedLoad, kind: VariantKind) -> PlannedLoad {
    let name = format!("{}-{}", load.name, kind.suffix());
    let mut twin =
        PlannedLoad { name, variant: Some(Variant { of: load.name.clone(), kind }), ..load.clone() };
    match kind {
        VariantKind::Http10 => twin.http = Some(LoadHttp::Http10),
        VariantKind::Close => twin.keep_alive = false,
        VariantKind::Unpipelined => twin.depth = 1,
        VariantKind::FirstRun => twin.warmup = Duration::ZERO,
        VariantKind::Balanced | VariantKind::Spread => {}
    }
    twin
}

/// A load at a part of its size: connections, rate and requests by the same factor, none below 1.
fn scaled(mut load: PlannedLoad, factor: f64) -> PlannedLoad {
    if factor == 1.0 {
        return load;
    }
    let part = |whole: f64| (whole * factor).round().max(1.0);
    load.scaled = Some(Scaled {
        factor,
        connections: load.connections,
        rate_per_s: load.work.rate_per_s(),
        requests: load.work.requests(),
    });
    load.connections = part(f64::from(load.connections)) as u32;
    if let LoadWork::Fixed { pace, end } = &mut load.work {
        if let LoadPace::Rate { per_s, .. } = pace {
            *per_s *= factor;
        }
        if let LoadEnd::Requests { count, .. } = end {
            *count = part(*count as f64) as u64;
        }
    }
    load
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(text: &str) -> Vec<PlannedLoad> {
        let text = format!("name = \"p\"\nrepeats = 1\nworkloads = [\"hello\"]\n{text}");
        Plan::parse("p.toml", &text).unwrap().expanded().unwrap()
    }

    #[test]
    fn the_number_of_loads_is_computed_without_expanding_them() {
        let load = "[[load]]\nname = \"a\"\nconnections = 2\nduration = \"1s\"\n";
        for (keys, text) in [
            ("", load.to_owned()),
            ("", format!("{load}first_run = true\ntwins = [\"close\", \"http10\"]\n")),
            ("databases = [\"x\", \"y\"]\npool = [1, 2, 3]\n", format!("{load}twins = [\"close\"]\n")),
            ("balancer = \"b\"\ninstances = 2\n", load.to_owned()),
            ("balancer = \"b\"\ninstances = 2\n", format!("{load}twins = [\"spread\"]\n")),
        ] {
            let text = format!("name = \"p\"\nrepeats = 1\nworkloads = [\"hello\"]\n{keys}{text}");
            let plan = Plan::parse("p.toml", &text).unwrap();
            assert_eq!(plan.max_loads(), plan.expanded().unwrap().len(), "{text}");
        }
    }

    fn names(text: &str) -> Vec<String> {
        loads(text).into_iter().map(|load| load.name).collect()
    }

    #[test]
    fn a_first_run_precedes_its_twin_and_has_no_warm_up() {
        let text = "[[load]]\nname = \"ab\"\nconnections = 50\nduration = \"3s\"\nfirst_run = true\ntwins = [\"http10\"]\n";
        let all = loads(text);
        assert_eq!(names(text), ["ab-first", "ab", "ab-http10"]);
        assert!(all.iter().all(|load| load.group == all[0].group && load.group.is_ordered));
        assert_eq!((all[0].warmup.as_secs(), all[1].warmup.as_secs()), (0, 1));
        assert_eq!((all[1].http, all[2].http), (None, Some(LoadHttp::Http10)));
    }

    #[test]
    fn a_balanced_load_has_a_direct_twin_on_the_same_launch() {
        let text = "instances = 4\nbalancer = \"haproxy\"\n[[load]]\nname = \"c\"\nconnections = 8\nduration = \"3s\"\n\
                    [[load]]\nname = \"k\"\nconnections = 8\nduration = \"3s\"\nfault = \"kill-one\"\n";
        assert_eq!(names(text), ["c", "c-balanced", "k"]);
        let all = loads(text);
        let routes: Vec<Route> = all.iter().filter_map(|load| Some(load.balanced.as_ref()?.route)).collect();
        assert_eq!(routes, [Route::Direct, Route::Balanced, Route::Balanced]);
        assert_eq!(all[0].group, all[1].group);
        assert_ne!(all[0].group, all[2].group);
        assert!(all.iter().all(|load| {
            load.balanced.as_ref().is_some_and(|b| b.instances == 4 && b.policy == "roundrobin")
        }));
    }

    #[test]
    fn a_spread_load_is_on_the_launch_of_the_balanced_one() {
        let text = "instances = 4\nbalancer = \"haproxy\"\n[[load]]\nname = \"c\"\nconnections = 8\n\
                    duration = \"3s\"\ntwins = [\"spread\"]\n";
        assert_eq!(names(text), ["c", "c-balanced", "c-spread"]);
        let all = loads(text);
        let routes: Vec<Route> = all.iter().filter_map(|load| Some(load.balanced.as_ref()?.route)).collect();
        assert_eq!(routes, [Route::Direct, Route::Balanced, Route::Spread]);
        assert!(all.iter().all(|load| load.group == all[0].group));
        let spread = Variant { of: "c".to_owned(), kind: VariantKind::Spread };
        assert_eq!(all[2].variant, Some(spread));
    }

    #[test]
    fn each_database_and_pool_is_a_load_with_a_separate_launch() {
        let text = "databases = [\"a\", \"b\"]\npool = [8, 32]\n[[load]]\nname = \"c\"\nconnections = 8\n\
                    duration = \"3s\"\n";
        assert_eq!(names(text), ["c", "c-a-pool8", "c-a-pool32", "c-b-pool8", "c-b-pool32"]);
        let all = loads(text);
        assert!(all.iter().all(|one| all.iter().filter(|other| other.group == one.group).count() == 1));
        let one = loads(&text.replace(", \"b\"", "").replace("pool = [8, 32]\n", ""));
        assert_eq!(one[1].name, "c-a");
        assert_eq!(one[1].database, Some(DatabaseLoad { database: "a".into(), pool: 32 }));
    }

    #[test]
    fn a_database_behind_instances_may_be_pinned() {
        let text = "instances = 2\nbalancer = \"haproxy\"\ndatabases = [\"a\"]\n[[load]]\nname = \"c\"\n\
                    connections = 8\nduration = \"3s\"\npin = { database = \"generator\" }\n";
        assert_eq!(names(text), ["c", "c-a", "c-balanced", "c-balanced-a"]);
        let all = loads(text);
        assert_eq!(all[3].variant.as_ref().unwrap().of, "c-a");
        assert_eq!(all[1].group, all[3].group);
        assert!(all[1].group.name.ends_with("a pool 32 Generator"), "{:?}", all[1].group);
        assert_eq!(all[1].pin.database, PinDatabase::Generator);
        let plain = loads(&text.replace("pin = { database = \"generator\" }\n", ""));
        assert!(plain[1].group.name.ends_with("a pool 32"), "{:?}", plain[1].group);
    }

    #[test]
    fn one_factor_scales_connections_rate_and_requests() {
        let text = "scale = 0.25\n[[load]]\nname = \"o\"\nconnections = 10000\nrate_per_s = 30000\nduration = \"3s\"\n\
                    [[load]]\nname = \"n\"\nconnections = 2\nrequests = 1000\n";
        let all = loads(text);
        assert_eq!((all[0].connections, all[0].work.rate_per_s()), (2500, Some(7500.0)));
        assert_eq!((all[1].connections, all[1].work.requests()), (1, Some(250)));
        assert_eq!(all[0].scaled.map(|scaled| scaled.connections), Some(10_000));
    }
}
