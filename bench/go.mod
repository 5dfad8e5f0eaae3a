module github.com/stet-dev/stet/bench

go 1.26.5

replace github.com/stet-dev/stet => ../

require (
	github.com/stet-dev/stet v0.0.0
	github.com/tiktoken-go/tokenizer v0.10.0
)

require github.com/dlclark/regexp2/v2 v2.5.1 // indirect
