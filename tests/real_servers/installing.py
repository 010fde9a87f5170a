"""The environments of the real servers: each is installed once, two at a time, into the cache of the interop tests.

The pins are in `packages`: NAME.txt for Python, package.json for everything that npm installs, a Node among it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.interop.environments import npm_environment, python_environment

__all__ = ["NPM", "home", "install"]

PACKAGES = Path(__file__).resolve().parent / "packages"
#: The environment of the servers written in JavaScript; the others are those of Python.
NPM = "npm"
# Most of an installation is waiting for the network and unpacking; more at once would only disturb each other.
AT_ONCE = 2


def home(name: str) -> Path:
    """Return the folder of an environment, which is made if it is not there."""
    if name == NPM:
        return npm_environment("real_servers", (PACKAGES / "package.json").read_text())
    return python_environment(f"real_{name}", (PACKAGES / f"{name}.txt").read_text())


def install(names: Iterable[str]) -> dict[str, Path]:
    """Make environments, as far as they are not there, and return the folder of each.

    Raises:
        CannotInstall: One of them cannot be had here.
    """
    wanted = sorted(set(names))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(wanted, pool.map(home, wanted), strict=True))


if __name__ == "__main__":
    started = time.monotonic()
    for folder in install(sys.argv[1:] or [NPM, *(file.stem for file in PACKAGES.glob("*.txt"))]).values():
        print(folder)
    print(f"{time.monotonic() - started:.1f} s")
