#!/bin/sh
# The walk of docs/tutorials/shop-log.md, where walk.py has written the logs.
set -e
everypair inspect log.csv
everypair evaluate log.csv --missing drop --duplicates count --rank 16 \
    --split time --test-share 0.2
everypair fit log.csv -o shop.ep --missing drop --duplicates count \
    --model OneClassMF --rank 16 --items items.csv
everypair recommend shop.ep --all -n 5 --at-most department=2 -o lists.csv
everypair report shop.ep today.csv --items items.csv -o report.html
everypair card shop.ep
everypair evaluate shop.ep today.csv
everypair evaluate shop.ep today.csv --repeats count
everypair update shop.ep today.csv -o shop.ep
everypair update shop.ep today.csv -o shop.ep || echo 'refused, as it should be'
everypair recommend shop.ep --user anna -n 3 --items items.csv --where department=wool
everypair fit all.csv -o shop.ep --start shop.ep --missing drop --duplicates count \
    --model OneClassMF --rank 16 --items items.csv
