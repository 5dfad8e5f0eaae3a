"""Counts the tokens of a file: counter.py tiktoken|bpe-openai FILE. Prints their number and the processor time in nanoseconds."""
import sys
import time

name, file = sys.argv[1:]
with open(file, encoding="utf-8", newline="") as f:
    text = f.read()
if name == "tiktoken":
    import tiktoken

    encoding = tiktoken.get_encoding("o200k_base")

    def count():
        return len(encoding.encode_ordinary(text))

else:
    from bpe_openai import _bindings  # the Rust crate; its count makes no list of tokens

    tokenizer = _bindings.tokenizer_for_encoding("o200k_base")

    def count():
        return tokenizer.count(text)


count()  # not measured
began = time.process_time_ns()
n = count()
print(n, time.process_time_ns() - began)
