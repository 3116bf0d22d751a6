#!/bin/sh
# The gate in any other CI system. ARCHIVE is the path or URL of Paceline's archive, BASE the branch to compare with.
set -eu
# New files of the working tree are part of the change: neither the program nor an earlier result may be one.
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
rm -f gate.md gate.html gate.xml
case $ARCHIVE in
  http*) curl -fsSL "$ARCHIVE" ;;
  *) cat "$ARCHIVE" ;;
esac | tar -xz -C "$tools" --strip-components 1
status=0
"$tools/bin/paceline" gate --base "$BASE" --markdown gate.md --html gate.html --junit gate.xml || status=$?
# 4: undecided, because the machine was too noisy. A job can show it as a warning instead of a failure.
if [ "$status" = 4 ]; then exit 0; fi
exit "$status"
