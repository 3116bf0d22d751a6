(* Answers Paceline's workloads with cohttp on Async. *)

open Cohttp
module Server = Cohttp_async.Server

let largest_x = 10_000
let million = 1_000_000
let backlog = 511

(* Source 002 opened ten thousand, Async's own limit. *)
let max_connections = 20_000

(* The `Date` header (RFC 9110, section 6.6.1), formatted once a second. *)
let date =
  let second = ref 0. and formatted = ref "" in
  let days = [| "Sun"; "Mon"; "Tue"; "Wed"; "Thu"; "Fri"; "Sat" |] in
  let months = [| "Jan"; "Feb"; "Mar"; "Apr"; "May"; "Jun"; "Jul"; "Aug"; "Sep"; "Oct"; "Nov"; "Dec" |] in
  fun () ->
    let now = Float.floor (Unix.gettimeofday ()) in
    if now <> !second then begin
      let t = Unix.gmtime now in
      second := now;
      formatted :=
        Printf.sprintf "%s, %02d %s %04d %02d:%02d:%02d GMT" days.(t.tm_wday) t.tm_mday months.(t.tm_mon)
          (1900 + t.tm_year) t.tm_hour t.tm_min t.tm_sec
    end;
    !formatted

type answer = { status : Code.status_code; kind : string; body : string }

let text ?(status = `OK) body = { status; kind = "text/plain"; body }
let json value = { status = `OK; kind = "application/json"; body = Yojson.Safe.to_string value }
let power x = text Z.(to_string (pow (of_int x) x))

let whole_number digits =
  let is_digit c = '0' <= c && c <= '9' in
  (* int_of_string_opt alone would accept a sign, 0x10 and 1_000. *)
  if String.for_all is_digit digits then int_of_string_opt digits else None

let tetra digits =
  match whole_number digits with
  | Some x when x <= largest_x -> power x
  | _ -> text ~status:`Bad_request "x must be a whole number from 0 to 10000\n"

let route page path =
  match String.split_on_char '/' path with
  | [ ""; "hello" ] -> text "Hello World\n"
  | [ ""; "byte" ] -> text "x"
  | [ ""; "page" ] -> text page
  | [ ""; "json" ] -> json (`Assoc [ ("message", `String "Hello, World!") ])
  | [ ""; "plaintext" ] -> text "Hello, World!"
  | [ ""; "home" ] -> text "OK, no problema!"
  | [ ""; "tetra"; digits ] -> tetra digits
  | [ ""; "tetra-million" ] -> power million
  | _ -> text ~status:`Not_found "Not Found\n"

let handler page ~body:_ _address request =
  let { status; kind; body } =
    match Request.meth request with
    | `GET | `HEAD -> route page (Uri.path (Request.uri request))
    | _ -> text ~status:`Method_not_allowed "Method Not Allowed\n"
  in
  let length = string_of_int (String.length body) in
  let headers =
    Header.of_list
      [ ("content-type", kind); ("content-length", length); ("server", "cohttp"); ("date", date ()) ]
  in
  (* cohttp would send the body in answer to HEAD too. *)
  let body = if Request.meth request = `HEAD then `Empty else `String body in
  Server.respond ~headers ~body status

let () =
  let page = In_channel.with_open_bin (Sys.getenv "PAGE") In_channel.input_all in
  let address = Async.Tcp.Bind_to_address.Address (Async.Unix.Inet_addr.of_string (Sys.getenv "HOST")) in
  let port = Async.Tcp.Bind_to_port.On_port (int_of_string (Sys.getenv "PORT")) in
  let place = Async.Tcp.Where_to_listen.bind_to address port in
  let server = Server.create ~max_connections ~backlog ~on_handler_error:`Ignore place (handler page) in
  Async.don't_wait_for (Async.Deferred.map server ~f:(fun _server -> ()));
  Async.never_returns (Async.Scheduler.go ())
