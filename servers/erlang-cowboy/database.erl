%% Rows of the database workloads, from PostgreSQL by p1_pgsql or from MariaDB by p1_mysql, in a poolboy pool.
-module(database).
-behaviour(gen_server).
-export([start/0, start_link/1, random_worlds/1, update_worlds/1, fortunes/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

-define(WORLD_ROWS, 10000).
-define(MARIADB_TIMEOUT_MS, 60000).

start() ->
    Kind = kind(os:getenv("DATABASE")),
    Size = list_to_integer(os:getenv("DATABASE_POOL")),
    {ok, _} = application:ensure_all_started(stringprep), % p1_pgsql checks passwords with it
    {ok, _} = poolboy:start([{name, {local, ?MODULE}}, {worker_module, ?MODULE}, {size, Size}, {max_overflow, 0}], Kind).

kind("postgresql") -> postgresql;
kind("mariadb") -> mariadb;
kind(Other) -> error({'set DATABASE to postgresql or mariadb, it is', Other}).

%% Called by the pool for each of its workers. A worker connects at its first use and reconnects after its connection
%% has ended. If the connection were the worker, the pool would end when the database is unavailable for a moment.
start_link(Kind) -> gen_server:start_link(?MODULE, Kind, []).

init(Kind) ->
    process_flag(trap_exit, true), % the worker survives the end of its connection
    {ok, {Kind, none}}.

handle_call(connection, _, {Kind, none}) ->
    try connect(Kind) of
        Connection -> {reply, {ok, Connection}, {Kind, Connection}}
    catch
        _:Reason -> {reply, {error, Reason}, {Kind, none}}
    end;
handle_call(connection, _, State = {_, Connection}) -> {reply, {ok, Connection}, State}.

handle_cast(_, State) -> {noreply, State}.

handle_info({'EXIT', Connection, _}, {Kind, Connection}) -> {noreply, {Kind, none}};
handle_info(_, State) -> {noreply, State}.

connect(postgresql) ->
    {ok, Connection} = pgsql_proto:start_link(
        [{host, os:getenv("DATABASE_HOST")}, {port, list_to_integer(os:getenv("DATABASE_PORT"))},
         {database, os:getenv("DATABASE_NAME")}, {user, os:getenv("DATABASE_USER")},
         {password, os:getenv("DATABASE_PASSWORD")}, {as_binary, true}]),
    [{ok, _, _, _} = pgsql:prepare(Connection, Name, Text) ||
        {Name, Text} <- [{"world", "SELECT id, randomNumber FROM world WHERE id = $1"},
                         {"fortunes", "SELECT id, message FROM fortune"},
                         {"update", "UPDATE world SET randomNumber = $1 WHERE id = $2"}]],
    Connection;
connect(mariadb) ->
    Quiet = fun(_Level, _Format, _Arguments) -> ok end,
    {ok, Connection} = p1_mysql_conn:start_link(
        os:getenv("DATABASE_HOST"), list_to_integer(os:getenv("DATABASE_PORT")), os:getenv("DATABASE_USER"),
        os:getenv("DATABASE_PASSWORD"), os:getenv("DATABASE_NAME"), Quiet),
    updated = mariadb(Connection, "SET NAMES utf8mb4"),
    Connection.

%% One SELECT for each row, all on one connection.
random_worlds(Count) ->
    with_connection(fun(Kind, Connection) ->
        [select_world(Kind, Connection, random_number()) || _ <- lists:seq(1, Count)]
    end).

update_worlds(Count) ->
    Changed = [World#{randomNumber := random_number()} || World <- random_worlds(Count)],
    %% Transactions that lock rows in the same order cannot deadlock.
    Worlds = lists:sort(fun(#{id := A}, #{id := B}) -> A =< B end, Changed),
    with_connection(fun(Kind, Connection) -> transaction(Kind, Connection, Worlds) end),
    Worlds.

%% The rows and the one that is added for each request, sorted by message.
fortunes() ->
    Rows = with_connection(fun select_fortunes/2),
    Added = {0, <<"Additional fortune added at request time.">>},
    lists:keysort(2, [Added | [{binary_to_integer(Id), Message} || [Id, Message] <- Rows]]).

%% A request waits for a connection as long as its client does.
with_connection(Use) ->
    Kind = kind(os:getenv("DATABASE")),
    poolboy:transaction(?MODULE, fun(Worker) ->
        case gen_server:call(Worker, connection, infinity) of
            {ok, Connection} -> Use(Kind, Connection);
            {error, Reason} -> error({connect, Reason})
        end
    end, infinity).

select_world(postgresql, Connection, Id) -> world(postgresql(Connection, "world", [Id]));
select_world(mariadb, Connection, Id) ->
    world(mariadb(Connection, ["SELECT id, randomNumber FROM world WHERE id = ", integer_to_binary(Id)])).

world([[Id, Number]]) -> #{id => binary_to_integer(Id), randomNumber => binary_to_integer(Number)}.

select_fortunes(postgresql, Connection) -> postgresql(Connection, "fortunes", []);
select_fortunes(mariadb, Connection) -> mariadb(Connection, "SELECT id, message FROM fortune").

transaction(Kind, Connection, Worlds) ->
    run(Kind, Connection, "BEGIN"),
    try
        [update(Kind, Connection, World) || World <- Worlds],
        run(Kind, Connection, "COMMIT")
    catch
        Class:Reason ->
            catch run(Kind, Connection, "ROLLBACK"),
            erlang:raise(Class, Reason, [])
    end.

update(postgresql, Connection, #{id := Id, randomNumber := Number}) -> postgresql(Connection, "update", [Number, Id]);
update(mariadb, Connection, #{id := Id, randomNumber := Number}) ->
    Text = io_lib:format("UPDATE world SET randomNumber = ~b WHERE id = ~b", [Number, Id]),
    updated = mariadb(Connection, Text).

run(postgresql, Connection, Text) -> {ok, [_]} = pgsql:squery(Connection, Text);
run(mariadb, Connection, Text) -> updated = mariadb(Connection, Text).

%% Runs a prepared statement; every value comes with its type.
postgresql(Connection, Name, Parameters) ->
    case pgsql:execute(Connection, Name, Parameters) of
        {ok, {'UPDATE', 1}} -> updated;
        {ok, {_, Rows}} -> [[Value || {_, Value} <- Row] || Row <- Rows];
        {error, Reason} -> error({postgresql, Reason})
    end.

mariadb(Connection, Text) ->
    Options = [{timeout, ?MARIADB_TIMEOUT_MS}, {result_type, binary}],
    case p1_mysql_conn:squery(Connection, iolist_to_binary(Text), self(), Options) of
        {data, Result} -> p1_mysql:get_result_rows(Result);
        {updated, _} -> updated;
        {error, Result} -> error({mariadb, p1_mysql:get_result_reason(Result)})
    end.

random_number() -> rand:uniform(?WORLD_ROWS).
