#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# make_pages.sh REEVE FOLDER: what the program says of itself, as files for man(1) and for shells.
set -e
reeve=$1
rm -rf "$2"
mkdir -p "$2/man1" "$2/completion"
$reeve help --man | gzip -9n >"$2/man1/reeve.1.gz"
for noun in $($reeve completion words -- '' | cut -f 1); do
    $reeve help --man "$noun" | gzip -9n >"$2/man1/reeve-$noun.1.gz"
done
$reeve completion bash >"$2/completion/reeve"
$reeve completion zsh >"$2/completion/_reeve"
$reeve completion fish >"$2/completion/reeve.fish"
