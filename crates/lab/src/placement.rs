//! Assigns cores to the server and the generator: disjoint if there are at least two.
//!
//! The lab's own threads stay on the generator's cores. Hardware threads of one core share its execution units, so they
//! are given to the same side if there are enough cores.

use paceline_catalogue::{CoresWanted, Pin, PinBalancer, PinDatabase, PinInstances};
use paceline_record::{CoreTime, Pinning};
use std::io;

/// The cores that this process may use, before it pinned any thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores {
    /// In groups of hardware threads that share one physical core.
    physical: Vec<Vec<u32>>,
}

impl Cores {
    /// Reads the allowed cores. Call it once, at the start: the lab's own pinning would hide some later.
    ///
    /// # Errors
    /// When the system does not report them.
    pub fn allowed() -> io::Result<Self> {
        Ok(Self { physical: paceline_host::physical_cores()? })
    }

    /// Their numbers, ascending.
    pub fn numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.physical.iter().flatten().copied().collect();
        numbers.sort_unstable();
        numbers
    }

    /// At most `most` of these cores, at least one: those that were used least in `times`, with the time that a hypervisor
    /// took. Each is on another physical core if there are enough.
    #[must_use]
    pub fn idlest(self, most: usize, times: &[CoreTime]) -> Self {
        let used_s = |core: &u32| {
            let time = times.iter().find(|time| time.core == *core);
            time.map_or(0.0, |time| time.busy_s + time.steal_s)
        };
        let mut groups: Vec<(f64, Vec<u32>)> = self
            .physical
            .into_iter()
            .map(|threads| (threads.iter().map(used_s).sum::<f64>(), threads))
            .collect();
        groups.sort_by(|a, b| a.0.total_cmp(&b.0));
        let widest = groups.iter().map(|(_, threads)| threads.len()).max().unwrap_or_default();
        let nth = |thread: usize| groups.iter().filter_map(move |(_, threads)| threads.get(thread).copied());
        let chosen: Vec<u32> = (0..widest).flat_map(nth).take(most.max(1)).collect();
        let kept = groups.iter().map(|(_, threads)| {
            threads.iter().copied().filter(|thread| chosen.contains(thread)).collect::<Vec<u32>>()
        });
        let mut physical: Vec<Vec<u32>> = kept.filter(|threads| !threads.is_empty()).collect();
        physical.sort_unstable();
        Self { physical }
    }

    /// The cores of the server, and those of the generator.
    pub fn split(&self, wanted: CoresWanted) -> Pinning {
        split(&self.physical, wanted)
    }

    /// The same, from groups of hardware threads that share one physical core, for a server on a separate machine.
    pub fn apart(physical: &[Vec<u32>], wanted: CoresWanted) -> Pinning {
        let all = physical.concat();
        let server = match wanted {
            CoresWanted::One => all.first().copied().into_iter().collect(),
            CoresWanted::Half => all,
        };
        Pinning { server, disjoint: true, ..Pinning::default() }
    }

    /// The same, for instances on a machine without the generator; the balancer runs on another machine, or on the last
    /// core of this one.
    pub fn balanced_apart(
        physical: &[Vec<u32>],
        wanted: CoresWanted,
        instances: u32,
        balancer: Option<&[Vec<u32>]>,
    ) -> Pinning {
        let mut servers = physical.concat();
        let balancer = match balancer {
            Some(cores) => cores.concat(),
            None if servers.len() > 1 => servers.pop().into_iter().collect(),
            None => servers.clone(),
        };
        let instances = instances.max(1) as usize;
        if wanted == CoresWanted::One {
            // The other cores have no instance.
            servers.truncate(instances);
        }
        let count = servers.len().max(1);
        let of = |instance: usize| {
            let own = servers.iter().enumerate().filter(|(core, _)| match wanted {
                CoresWanted::One => *core == instance % count,
                CoresWanted::Half => core % instances == instance % count,
            });
            own.map(|(_, core)| *core).collect()
        };
        let each = (0..instances).map(of).collect();
        Pinning { server: servers.clone(), disjoint: true, instances: each, balancer, ..Pinning::default() }
    }

    /// As [`Cores::split`] with a database beside the server.
    pub fn split_with_database(&self, wanted: CoresWanted, pin: PinDatabase) -> Pinning {
        split_with_database(&self.physical, wanted, pin)
    }

    /// As [`Cores::split`] for several instances behind a balancer, with a database if `has_database`.
    pub fn split_balanced(
        &self,
        wanted: CoresWanted,
        instances: u32,
        pin: Pin,
        has_database: bool,
    ) -> Pinning {
        split_balanced(&self.physical, wanted, instances.max(1) as usize, pin, has_database)
    }
}

/// Pins the calling thread, and every thread and process that it starts, to the generator's cores.
///
/// # Errors
/// When the system refuses.
pub fn stay_beside_generator(pinning: &Pinning) -> io::Result<()> {
    match pinning.generator.as_slice() {
        // The server is on another machine, and the generator is not restricted.
        [] => Ok(()),
        cores => paceline_host::pin_self(cores),
    }
}

/// Splits cores, given as groups of hardware threads that share one physical core.
fn split(physical: &[Vec<u32>], wanted: CoresWanted) -> Pinning {
    let all: Vec<u32> = physical.iter().flatten().copied().collect();
    let wanted = match wanted {
        CoresWanted::One => 1,
        CoresWanted::Half => all.len() / 2,
    };
    if all.len() < 2 {
        return Pinning { server: all.clone(), generator: all, disjoint: false, ..Pinning::default() };
    }
    let server: Vec<u32> = all.iter().copied().take(wanted.max(1)).collect();
    let beside = |core: &u32| !server.contains(core);
    // The other hardware threads of a core of the server stay idle, unless there are no others.
    let untouched = physical.iter().filter(|threads| threads.iter().all(beside));
    let mut generator: Vec<u32> = untouched.flatten().copied().collect();
    if generator.is_empty() {
        generator = all.iter().copied().filter(beside).collect();
    }
    Pinning { server, generator, disjoint: true, ..Pinning::default() }
}

/// Splits cores among server, database and generator: all separate where there are three and the plan does not say
/// otherwise, else the database runs beside the server, so that neither disturbs the generator.
fn split_with_database(physical: &[Vec<u32>], wanted: CoresWanted, pin: PinDatabase) -> Pinning {
    let threads: Vec<Vec<u32>> = physical.iter().flatten().map(|thread| vec![*thread]).collect();
    let units = if physical.len() >= 3 { physical } else { &threads };
    if units.len() < 3 || pin != PinDatabase::Own {
        let two = split(physical, wanted);
        let database = match pin {
            PinDatabase::Own | PinDatabase::Server => two.server.clone(),
            PinDatabase::Generator => two.generator.clone(),
        };
        return Pinning { database, ..two };
    }
    let taken = match wanted {
        CoresWanted::One => 1,
        CoresWanted::Half => (units.len() / 3).max(1),
    };
    let (server, rest) = units.split_at(taken);
    let (database, generator) = rest.split_at((rest.len() / 2).max(1));
    // The form for one core gets one of its hardware threads.
    let server = if wanted == CoresWanted::One { vec![server[0][0]] } else { server.concat() };
    Pinning {
        server,
        generator: generator.concat(),
        disjoint: true,
        database: database.concat(),
        ..Pinning::default()
    }
}

/// Splits cores among instances, balancer, database and generator. The generator has at least one of its own where
/// there are two, the balancer where there are three and the plan wants it, the database where one more is left.
/// Instances get the others, one each while there are enough.
fn split_balanced(
    physical: &[Vec<u32>],
    wanted: CoresWanted,
    instances: usize,
    pin: Pin,
    has_database: bool,
) -> Pinning {
    // Whole cores where there are enough for all, else hardware threads.
    let threads: Vec<Vec<u32>> = physical.iter().flatten().map(|thread| vec![*thread]).collect();
    let units = if physical.len() >= 3 { physical } else { &threads };
    let [_, _, ..] = units else {
        let all = units.concat();
        let each = vec![all.clone(); instances];
        return Pinning {
            server: all.clone(),
            generator: all.clone(),
            disjoint: false,
            instances: each,
            database: if has_database { all.clone() } else { Vec::new() },
            balancer: all,
        };
    };
    let has_own = pin.balancer == PinBalancer::Own && units.len() >= 3;
    let database_is_apart =
        has_database && pin.database == PinDatabase::Own && units.len() >= 3 + usize::from(has_own);
    let free = units.len() - 1 - usize::from(has_own) - usize::from(database_is_apart);
    let taken = match (pin.instances, wanted) {
        (PinInstances::Together, CoresWanted::One) => 1,
        (_, CoresWanted::One) => instances.min(free),
        (_, CoresWanted::Half) => (units.len() / 2).clamp(1, free),
    };
    let (servers, rest) = units.split_at(taken);
    // The form for one core gets one of its hardware threads.
    let part = |unit: &Vec<u32>| if wanted == CoresWanted::One { unit[..1].to_vec() } else { unit.clone() };
    let servers: Vec<Vec<u32>> = servers.iter().map(part).collect();
    let each = (0..instances).map(|instance| match pin.instances {
        PinInstances::Together => servers.concat(),
        // Several cores for each where there are more cores than instances.
        PinInstances::Apart => servers
            .iter()
            .enumerate()
            .filter(|(core, _)| core % instances == instance % taken)
            .flat_map(|(_, c)| c.clone())
            .collect(),
    });
    let each: Vec<Vec<u32>> = each.collect();
    let (own, rest) = rest.split_at(usize::from(has_own));
    let (database, generator) = rest.split_at(usize::from(database_is_apart));
    let generator = generator.concat();
    let database = match pin.database {
        _ if !has_database => Vec::new(),
        PinDatabase::Own if database_is_apart => database.concat(),
        PinDatabase::Own | PinDatabase::Server => servers.concat(),
        PinDatabase::Generator => generator.clone(),
    };
    let balancer = match pin.balancer {
        PinBalancer::Own if has_own => own.iter().flat_map(part).collect(),
        PinBalancer::Own | PinBalancer::Instances => servers.concat(),
        PinBalancer::Generator => generator.clone(),
    };
    Pinning { server: servers.concat(), generator, disjoint: true, instances: each, balancer, database }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pinning(server: &[u32], generator: &[u32], disjoint: bool) -> Pinning {
        Pinning { server: server.into(), generator: generator.into(), disjoint, ..Pinning::default() }
    }

    #[test]
    fn two_cores_are_split_evenly() {
        let cores = [vec![0], vec![1]];
        assert_eq!(split(&cores, CoresWanted::One), pinning(&[0], &[1], true));
        assert_eq!(split(&cores, CoresWanted::Half), pinning(&[0], &[1], true));
        assert_eq!(split(&[vec![0, 1]], CoresWanted::One), pinning(&[0], &[1], true));
    }

    #[test]
    fn the_idlest_cores_are_on_different_physical_ones() {
        let cores = Cores { physical: vec![vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]] };
        let time =
            |core: u32, busy_s: f64| CoreTime { core, over_s: 1.0, busy_s, interrupt_s: 0.0, steal_s: 0.05 };
        let times = [time(0, 0.9), time(5, 0.5), time(3, 0.1)];
        let idlest = |most: usize| cores.clone().idlest(most, &times).physical;
        assert_eq!(idlest(0), [[2]]);
        assert_eq!(idlest(2), [[2], [3]]);
        assert_eq!(idlest(3), [[1], [2], [3]]);
        assert_eq!(idlest(6), [vec![0], vec![1], vec![2, 6], vec![3, 7]]);
        assert_eq!(idlest(99), cores.physical);
    }

    #[test]
    fn one_core_is_shared_and_recorded() {
        assert_eq!(split(&[vec![3]], CoresWanted::Half), pinning(&[3], &[3], false));
    }

    fn balanced(cores: u32, instances: usize, pin: Pin) -> (Vec<Vec<u32>>, Vec<u32>, Vec<u32>) {
        let physical: Vec<Vec<u32>> = (0..cores).map(|core| vec![core]).collect();
        let split = split_balanced(&physical, CoresWanted::One, instances, pin, false);
        assert_eq!(split.disjoint, cores > 1);
        (split.instances, split.balancer, split.generator)
    }

    #[test]
    fn instances_and_balancer_get_the_cores_left_by_the_generator() {
        let own = Pin::default();
        assert_eq!(balanced(1, 2, own), (vec![vec![0]; 2], vec![0], vec![0]));
        assert_eq!(balanced(2, 2, own), (vec![vec![0]; 2], vec![0], vec![1]));
        assert_eq!(balanced(3, 2, own), (vec![vec![0]; 2], vec![1], vec![2]));
        assert_eq!(balanced(4, 4, own), (vec![vec![0], vec![1], vec![0], vec![1]], vec![2], vec![3]));
        assert_eq!(balanced(8, 2, own), (vec![vec![0], vec![1]], vec![2], vec![3, 4, 5, 6, 7]));
        let together =
            Pin { instances: PinInstances::Together, balancer: PinBalancer::Instances, ..Pin::default() };
        assert_eq!(balanced(8, 2, together).0, vec![vec![0]; 2]);
        assert_eq!(balanced(8, 2, together).1, [0]);
        let beside = Pin { balancer: PinBalancer::Generator, ..own };
        assert_eq!(balanced(2, 2, beside).1, [1]);
    }

    #[test]
    fn on_other_machines_no_core_is_reserved_for_the_generator() {
        let machine: Vec<Vec<u32>> = (0..4).map(|core| vec![core]).collect();
        let split = |wanted, balancer| {
            let split = Cores::balanced_apart(&machine, wanted, 2, balancer);
            assert!(split.generator.is_empty() && split.disjoint);
            (split.instances, split.balancer)
        };
        let other = [vec![0, 4], vec![1, 5]];
        assert_eq!(split(CoresWanted::One, None), (vec![vec![0], vec![1]], vec![3]));
        assert_eq!(split(CoresWanted::One, Some(&other)), (vec![vec![0], vec![1]], vec![0, 4, 1, 5]));
        assert_eq!(split(CoresWanted::Half, Some(&other)).0, [[0, 2], [1, 3]]);
        let used = Cores::balanced_apart(&machine, CoresWanted::One, 2, Some(&other));
        assert_eq!(used.server, [0, 1]);
        let one = Cores::balanced_apart(&machine[..1], CoresWanted::One, 2, None);
        assert_eq!((one.instances, one.balancer), (vec![vec![0], vec![0]], vec![0]));
    }

    #[test]
    fn cores_are_divided_among_instances() {
        let cores: Vec<Vec<u32>> = (0..8).map(|core| vec![core]).collect();
        let split = split_balanced(&cores, CoresWanted::Half, 2, Pin::default(), false);
        assert_eq!((split.instances, split.balancer), (vec![vec![0, 2], vec![1, 3]], vec![4]));
    }

    #[test]
    fn a_database_has_separate_cores_with_three_or_more() {
        let split = |cores: u32, wanted| {
            let physical: Vec<Vec<u32>> = (0..cores).map(|core| vec![core]).collect();
            let split = split_with_database(&physical, wanted, PinDatabase::Own);
            (split.server, split.database, split.generator)
        };
        assert_eq!(split(1, CoresWanted::One), (vec![0], vec![0], vec![0]));
        assert_eq!(split(2, CoresWanted::One), (vec![0], vec![0], vec![1]));
        assert_eq!(split(3, CoresWanted::One), (vec![0], vec![1], vec![2]));
        assert_eq!(split(6, CoresWanted::Half), (vec![0, 1], vec![2, 3], vec![4, 5]));
    }

    #[test]
    fn a_plan_may_pin_the_database_elsewhere() {
        let cores: Vec<Vec<u32>> = (0..4).map(|core| vec![core]).collect();
        let split = |cores, pin| {
            let split = split_with_database(cores, CoresWanted::One, pin);
            (split.server, split.database, split.generator)
        };
        assert_eq!(split(&cores, PinDatabase::Server), (vec![0], vec![0], vec![1, 2, 3]));
        assert_eq!(split(&cores, PinDatabase::Generator), (vec![0], vec![1, 2, 3], vec![1, 2, 3]));
        assert_eq!(split(&cores[..2], PinDatabase::Generator), (vec![0], vec![1], vec![1]));
    }

    #[test]
    fn a_database_behind_instances_has_a_core_where_one_is_left() {
        let split = |cores: u32, pin| {
            let physical: Vec<Vec<u32>> = (0..cores).map(|core| vec![core]).collect();
            let split = split_balanced(&physical, CoresWanted::One, 2, pin, true);
            (split.instances, split.balancer, split.database, split.generator)
        };
        let own = Pin::default();
        assert_eq!(split(1, own), (vec![vec![0]; 2], vec![0], vec![0], vec![0]));
        assert_eq!(split(2, own), (vec![vec![0]; 2], vec![0], vec![0], vec![1]));
        assert_eq!(split(3, own), (vec![vec![0]; 2], vec![1], vec![0], vec![2]));
        assert_eq!(split(5, own), (vec![vec![0], vec![1]], vec![2], vec![3], vec![4]));
        let beside = Pin { database: PinDatabase::Generator, ..own };
        assert_eq!(split(2, beside).2, [1]);
    }

    #[test]
    fn hardware_threads_stay_on_one_side() {
        let cores = [vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]];
        assert_eq!(split(&cores, CoresWanted::One), pinning(&[0], &[1, 5, 2, 6, 3, 7], true));
        assert_eq!(split(&cores, CoresWanted::Half), pinning(&[0, 4, 1, 5], &[2, 6, 3, 7], true));
    }
}
