"""A server that writes ten megabytes to its standard error before each answer."""

import json
import os
import sys

for line in sys.stdin:
    message = json.loads(line)
    for number in range(1024 * 10):
        os.write(2, b"%06d " % number + b"x" * 1016 + b"\n")
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}), flush=True)
