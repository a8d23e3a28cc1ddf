"""The pictures of the service's page in docs/pictures, taken from `everypair demo --serve` by Debian's Chromium.

python tools/screenshots.py
"""

from __future__ import annotations

import io
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
PICKED = "#item=coffee-01&item=baking-13"
SHOTS = {  # name → width, height, colours, what is about to be typed
    "serve.png": (1100, 760, "light", ""),
    "serve-search.png": (1100, 560, "light", "yarn"),
    "serve-dark.png": (1100, 760, "dark", ""),
    "serve-phone.png": (390, 844, "light", ""),
}
COLOURS = 64


def shoot(browser: Browser, address: str, name: str) -> None:
    """Take one picture, in few colours."""
    width, height, scheme, typed = SHOTS[name]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{address}/{'' if typed else PICKED}")
    page.wait_for_selector("#suggested button" if typed else "#near li")
    page.reload()  # by now everything has been asked once
    page.wait_for_selector("#suggested button" if typed else "#near li")
    if typed:
        page.fill("#search", typed)
        page.wait_for_selector("#hits li")
        page.press("#search", "ArrowDown")
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(PICTURES / name, optimize=True)
    page.close()


def main() -> None:
    call = [sys.executable, "-m", "everypair", "demo", "--serve", "--port", "0"]
    process = subprocess.Popen(call, stderr=subprocess.PIPE, text=True)
    said = ""
    assert process.stderr is not None
    while "Ctrl-C stops it" not in said:
        said = process.stderr.readline()
        if not said:
            raise SystemExit("the service did not start")
    address = re.search(r"http://\S+", said)[0]  # type: ignore[index]
    time.sleep(0.2)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in SHOTS:
            shoot(browser, address, name)
        browser.close()
    process.send_signal(signal.SIGINT)
    process.wait(30)


if __name__ == "__main__":
    main()
