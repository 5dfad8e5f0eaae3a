module github.com/stet-dev/stet/bench

go 1.26.5
