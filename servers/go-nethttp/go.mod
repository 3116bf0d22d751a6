module paceline/servers/go-nethttp

go 1.22
