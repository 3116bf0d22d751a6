#!/usr/bin/env perl
# Answers Paceline's workloads with Mojolicious.
use Mojolicious::Lite -signatures;
use Math::BigInt only => 'GMP';
use Mojo::File qw(path);

my $LARGEST_X = 10_000;
my $page = path($ENV{PACELINE_WORKLOADS}, 'page.txt')->slurp;

get '/hello' => sub ($c) { $c->render(text => "Hello World\n", format => 'txt') };
get '/byte' => sub ($c) { $c->render(text => 'x', format => 'txt') };
get '/page' => sub ($c) { $c->render(text => $page, format => 'txt') };
get '/json' => sub ($c) { $c->render(json => {message => 'Hello, World!'}) };
get '/plaintext' => sub ($c) { $c->render(text => 'Hello, World!', format => 'txt') };
get '/home' => sub ($c) { $c->render(text => 'OK, no problema!', format => 'txt') };

get '/tetra/:x' => sub ($c) {
    my $digits = $c->param('x');
    if ($digits !~ /\A[0-9]{1,5}\z/a || $digits > $LARGEST_X) {
        return $c->render(text => "x must be a whole number from 0 to 10000\n", format => 'txt', status => 400);
    }
    $c->render(text => Math::BigInt->new($digits)->bpow($digits)->bstr, format => 'txt');
};

# `Server` is required by TechEmpower's tests; Mojolicious sends `Date`.
hook after_dispatch => sub ($c) { $c->res->headers->server('Mojolicious') };

app->start;
