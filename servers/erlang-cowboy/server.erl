%% Answers Paceline's workloads with Cowboy.
-module(server).
-behaviour(cowboy_handler).
-export([start/0, init/2]).

-define(LARGEST_X, 10000).
-define(STOP_LIMIT_MS, 200). % for each of the ten supervisors of connections, one after the other

%% Starts the listener; the runtime stops it, and itself, on SIGTERM.
start() ->
    {ok, _} = application:ensure_all_started(cowboy),
    {ok, Page} = file:read_file(filename:join(os:getenv("PACELINE_WORKLOADS"), "page.txt")),
    {ok, Host} = inet:parse_address(os:getenv("PACELINE_HOST")),
    Port = list_to_integer(os:getenv("PACELINE_PORT")),
    Transport = #{socket_opts => [{ip, Host}, {port, Port}], max_connections => infinity, shutdown => ?STOP_LIMIT_MS},
    Routes = routes(Page) ++ database_routes(os:getenv("DATABASE")),
    Protocol = #{env => #{dispatch => cowboy_router:compile([{'_', Routes}])}, max_keepalive => infinity},
    {ok, _} = cowboy:start_clear(http, Transport, Protocol),
    ok.

routes(Page) ->
    [{"/hello", ?MODULE, {text, <<"Hello World\n">>}},
     {"/byte", ?MODULE, {text, <<"x">>}},
     {"/page", ?MODULE, {text, Page}},
     {"/json", ?MODULE, json},
     {"/plaintext", ?MODULE, {text, <<"Hello, World!">>}},
     {"/home", ?MODULE, {text, <<"OK, no problema!">>}},
     {"/tetra/:x", ?MODULE, tetra}].

database_routes(false) -> [];
database_routes(_) ->
    database:start(),
    database_handler:routes().

%% Called for each request with the argument of its route.
init(Request = #{method := Method}, Route) when Method =:= <<"GET">>; Method =:= <<"HEAD">> ->
    {Status, Type, Body} = answer(Route, Request),
    {ok, cowboy_req:reply(Status, #{<<"content-type">> => Type}, Body, Request), Route};
init(Request, Route) ->
    {ok, cowboy_req:reply(405, #{<<"allow">> => <<"GET, HEAD">>}, Request), Route}.

answer({text, Body}, _) -> {200, <<"text/plain">>, Body};
answer(json, _) -> {200, <<"application/json">>, jsx:encode(#{message => <<"Hello, World!">>})};
answer(tetra, Request) ->
    case whole_number(cowboy_req:binding(x, Request)) of
        X when X =< ?LARGEST_X -> {200, <<"text/plain">>, integer_to_binary(power(X, X))};
        _ -> {400, <<"text/plain">>, <<"x must be a whole number from 0 to 10000\n">>}
    end.

%% `none`, an atom, is greater than every number. binary_to_integer alone would accept a sign.
whole_number(Digits) when byte_size(Digits) =< 5 ->
    case << <<D>> || <<D>> <= Digits, D >= $0, D =< $9 >> of
        Digits -> binary_to_integer(Digits);
        _ -> none
    end;
whole_number(_) -> none.

%% math:pow supports only floating point.
power(_, 0) -> 1;
power(X, N) when N rem 2 =:= 0 -> power(X * X, N div 2);
power(X, N) -> X * power(X, N - 1).
