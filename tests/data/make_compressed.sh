#!/usr/bin/env bash
# Makes the compressed fixtures of corpus_test.cpp with the usual tools, so that the reader is tested
# against something that it did not write.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/texts"
printf 'first document\nsecond line\n\nanother document\n' > "$folder/texts/a.txt"
printf 'third, in a second file\n' > "$folder/texts/b.txt"
for tool in gzip bzip2 xz zstd; do
  declare -A ending=([gzip]=gz [bzip2]=bz2 [xz]=xz [zstd]=zst)
  "$tool" -c < "$folder/texts/a.txt" > "compressed.txt.${ending[$tool]}"
done
# Two gzip members one after the other are one text.
{ gzip -c "$folder/texts/a.txt"; printf '\n' | gzip -c; gzip -c "$folder/texts/b.txt"; } > members.txt.gz
tar -C "$folder" --owner=0 --group=0 --mtime=@0 --sort=name -czf archive.tar.gz texts
python3 -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as archive:
    for path in sys.argv[2:]:
        archive.write(path, path.rsplit("/", 1)[1])' archive.zip "$folder"/texts/*.txt
# Names with letters beyond ASCII, which a zip marks as UTF-8.
python3 -c 'import zipfile
with zipfile.ZipFile("names.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr(zipfile.ZipInfo("größe.jsonl"), "{\"text\": \"eine Zeile\"}\n")
    archive.writestr(zipfile.ZipInfo("notés.md"), "une note\n")'
