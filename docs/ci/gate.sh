#!/bin/sh
# The gate in any other CI system. ARCHIVE is the path or URL of Paceline's archive, BASE the branch to compare with.
# Its arguments are more arguments of the gate.
set -eu
# Outside the repository, because new files of the working tree are part of the change; kept for the next job, by the
# archive's name.
program=${XDG_CACHE_HOME:-$HOME/.cache}/paceline/programs/$(basename "$ARCHIVE" .tar.gz)
if [ ! -d "$program" ]; then
  mkdir -p "${program%/*}"
  new=$(mktemp -d "$program.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  case $ARCHIVE in
    http*) curl -fsSL "$ARCHIVE" ;;
    *) cat "$ARCHIVE" ;;
  esac | tar -xz -C "$new" --strip-components 1
  # Another job may have unpacked it meanwhile.
  mv -T "$new" "$program" 2> /dev/null || rm -rf "$new"
fi
# A gate that ends with an error does not write all of them, and an earlier gate may have left its own.
rm -f gate.md gate.html gate.xml
# A cancelled job signals this process, and a shell would not pass it on: the gate still has to write its files. Without
# --pass-undecided, a gate on a machine that was too noisy exits with 4, which a job can show as a warning.
exec "$program/bin/paceline" gate --base "$BASE" --pass-undecided \
  --markdown gate.md --html gate.html --junit gate.xml "$@"
