#!/bin/sh
# One night: yesterday's events into the model, checked, put in the place of the one that is served, which is kept.
# `everypair serve --watch` takes it. To roll back: mv yesterday.ep model.ep
set -eu
cd "${MODELS:-/models}"
events=${1:-/events/$(date +%F).csv}
everypair update model.ep "$events" --output tonight.ep
everypair serve tonight.ep --check --port 0
ln -f model.ep yesterday.ep
mv tonight.ep model.ep
