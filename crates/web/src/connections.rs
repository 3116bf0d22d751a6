//! Open connections, up to a limit: one more closes the connection that has been quiet longest, of the client that has
//! the most.
//!
//! A client that opens many connections, or answers slowly on all of them, so takes places only from itself. A browser
//! opens a closed connection again when it needs it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::AbortHandle;

/// The open connections of a server.
#[derive(Clone, Debug)]
pub struct Connections(Arc<Mutex<ConnectionTable>>);

#[derive(Debug)]
struct ConnectionTable {
    most: usize,
    /// Counts connections and requests: a lower number was active earlier.
    clock: u64,
    open: HashMap<u64, OpenConnection>,
}

#[derive(Debug)]
struct OpenConnection {
    client: IpAddr,
    /// When it last began a request, by the table's clock.
    active: u64,
    /// Ends its task; none until the task runs.
    task: Option<AbortHandle>,
}

/// An open connection, removed when dropped.
#[derive(Debug)]
pub struct ConnectionPlace {
    connections: Connections,
    number: u64,
}

impl Connections {
    /// None yet, and at most this many.
    pub fn at_most(most: usize) -> Self {
        Self(Arc::new(Mutex::new(ConnectionTable { most, clock: 0, open: HashMap::new() })))
    }

    /// A place for a connection of this client; at the limit another connection is closed.
    pub fn place(&self, client: IpAddr) -> ConnectionPlace {
        let mut table = self.table();
        if table.open.len() >= table.most {
            table.close_one();
        }
        table.clock += 1;
        let number = table.clock;
        table.open.insert(number, OpenConnection { client, active: number, task: None });
        ConnectionPlace { connections: self.clone(), number }
    }

    /// Notes the task of a connection, which ends with it. A connection that was closed meanwhile is ended.
    pub fn run_by(&self, number: u64, task: AbortHandle) {
        match self.table().open.get_mut(&number) {
            Some(connection) => connection.task = Some(task),
            None => task.abort(),
        }
    }

    /// Marks a connection as active: it begins a request.
    pub fn touch(&self, number: u64) {
        let mut table = self.table();
        table.clock += 1;
        let now = table.clock;
        if let Some(connection) = table.open.get_mut(&number) {
            connection.active = now;
        }
    }

    fn table(&self) -> MutexGuard<'_, ConnectionTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionTable {
    /// Closes the connection that has been quiet longest, of the client with the most connections.
    fn close_one(&mut self) {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        self.open.values().for_each(|connection| *counts.entry(connection.client).or_default() += 1);
        let most = counts.values().max().copied().unwrap_or(0);
        let of_busiest = self.open.iter().filter(|(_, open)| counts.get(&open.client) == Some(&most));
        let quietest = of_busiest.min_by_key(|(_, open)| open.active).map(|(number, _)| *number);
        if let Some(closed) = quietest.and_then(|number| self.open.remove(&number))
            && let Some(task) = closed.task
        {
            task.abort();
        }
    }
}

impl ConnectionPlace {
    /// The number of the connection, by which it is marked as active.
    pub fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.connections.table().open.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    /// The connections that are open, by number.
    fn open(connections: &Connections) -> Vec<u64> {
        let mut open: Vec<u64> = connections.table().open.keys().copied().collect();
        open.sort_unstable();
        open
    }

    #[test]
    fn the_quietest_connection_of_the_busiest_client_makes_room() {
        let connections = Connections::at_most(3);
        let visitor = connections.place(client(1));
        let flood: Vec<ConnectionPlace> = (0..5).map(|_| connections.place(client(2))).collect();
        assert_eq!(open(&connections), [visitor.number(), flood[3].number(), flood[4].number()]);
        connections.touch(flood[3].number());
        let next = connections.place(client(2));
        assert_eq!(open(&connections), [visitor.number(), flood[3].number(), next.number()]);
        drop(flood);
        assert_eq!(open(&connections), [visitor.number(), next.number()], "a place ends with its connection");
    }
}
