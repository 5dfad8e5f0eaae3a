module github.com/stet-dev/stet/bench

go 1.26.5

replace github.com/stet-dev/stet => ../

require (
	github.com/stet-dev/stet v0.0.0
	github.com/tiktoken-go/tokenizer v0.10.0
)

require (
	github.com/dlclark/regexp2/v2 v2.5.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	golang.org/x/sync v0.24.0 // indirect
	mvdan.cc/sh/v3 v3.14.1 // indirect
)
