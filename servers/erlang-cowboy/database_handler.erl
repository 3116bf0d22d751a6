%% Answers the database workloads.
-module(database_handler).
-behaviour(cowboy_handler).
-export([routes/0, init/2]).

-define(MOST_QUERIES, 500).

routes() ->
    Page = bbmustache:parse_file("fortunes.mustache"),
    [{"/db", ?MODULE, db}, {"/queries", ?MODULE, queries}, {"/updates", ?MODULE, updates},
     {"/fortunes", ?MODULE, {fortunes, Page}}].

init(Request = #{method := Method}, Route) when Method =:= <<"GET">>; Method =:= <<"HEAD">> ->
    {Status, Type, Body} =
        try answer(Route, Request)
        catch _:Reason ->
            io:format(standard_error, "~0p~n", [Reason]),
            {500, <<"text/plain">>, <<"the database did not answer as it should\n">>}
        end,
    {ok, cowboy_req:reply(Status, #{<<"content-type">> => Type}, Body, Request), Route};
init(Request, Route) ->
    {ok, cowboy_req:reply(405, #{<<"allow">> => <<"GET, HEAD">>}, Request), Route}.

answer(db, _) -> json(hd(database:random_worlds(1)));
answer(queries, Request) -> json(database:random_worlds(queries_asked(Request)));
answer(updates, Request) -> json(database:update_worlds(queries_asked(Request)));
answer({fortunes, Page}, _) ->
    Fortunes = [#{id => Id, message => Message} || {Id, Message} <- database:fortunes()],
    {200, <<"text/html; charset=utf-8">>, bbmustache:compile(Page, #{fortunes => Fortunes}, [{key_type, atom}])}.

json(Rows) -> {200, <<"application/json">>, jsx:encode(Rows)}.

%% The parameter `queries`: 1 if it is missing or not an integer.
queries_asked(Request) ->
    case proplists:get_value(<<"queries">>, cowboy_req:parse_qs(Request)) of
        Text when is_binary(Text) ->
            try binary_to_integer(Text) of
                Queries -> min(max(Queries, 1), ?MOST_QUERIES)
            catch error:badarg -> 1
            end;
        _ -> 1
    end.
