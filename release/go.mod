module github.com/stet-dev/stet/release

go 1.26.5
