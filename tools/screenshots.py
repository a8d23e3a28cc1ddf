"""The pictures of the service's page in docs/pictures, taken from `everypair demo --serve` by Debian's Chromium.

The drawings in DRAWN are taken too, for pages that show no SVG with the site's colours.

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
DRAWN = ("quality-and-cost",)
STYLES = PICTURES.parent / "assets" / "site.css"


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


def rendered(browser: Browser, name: str) -> None:
    """A drawing as the site shows it, twice as fine."""
    page = browser.new_page(viewport={"width": 760, "height": 400}, device_scale_factor=2)
    drawn = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")
    style = STYLES.read_text(encoding="utf-8")
    page.set_content(f"<style>{style}</style><body style='margin:0;background:#fff'>{drawn}</body>")
    picture = Image.open(io.BytesIO(page.locator("svg").screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(PICTURES / f"{name}.png", optimize=True)
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
        for name in DRAWN:
            rendered(browser, name)
        browser.close()
    process.send_signal(signal.SIGINT)
    process.wait(30)


if __name__ == "__main__":
    main()
