"""The page in a browser: search, pick, lists, reasons, neighbours, a user; keyboard, phone, dark, screen readers."""

import os
import re
import shutil

import pytest

from .running import running, wait

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None:
    pytest.skip("these tests need a browser: apt-get install chromium", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="these tests need the package playwright")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="these tests need axe-playwright-python")
if not hasattr(os, "fork"):
    pytest.skip("this system knows no fork", allow_module_level=True)


@pytest.fixture(scope="module")
def service(tmp_path_factory, models, films):
    import pandas as pd

    folder = tmp_path_factory.mktemp("page")
    models["OneClassMF"].save(folder / "films.ep")
    pd.DataFrame(films).to_csv(folder / "items.csv", index=False)
    (folder / "token").write_text("a secret of enough letters\n")
    with running("films.ep", "--items", "items.csv", "--workers", 1, cwd=folder) as one:
        one.home = folder
        yield one


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser, service):
    """The page, which must neither fail nor ask anybody else."""
    opened = browser.new_page(viewport={"width": 1200, "height": 900})
    wrong, asked = [], []
    opened.on("pageerror", lambda failure: wrong.append(str(failure)))
    opened.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(f"http://127.0.0.1:{service.port}/")
    opened.wait_for_selector("#suggested button")
    yield opened
    opened.close()
    assert all(url.startswith(f"http://127.0.0.1:{service.port}/") for url in asked)
    assert [one for one in wrong if "status of 4" not in one] == []


def titles(page, of="#list"):
    return page.locator(f"{of} .name").evaluate_all("names => names.map(name => name.firstChild.textContent)")


def picked(page, title):
    page.fill("#search", title)
    page.wait_for_selector("#hits li")
    page.press("#search", "Enter")
    page.wait_for_selector("#list li")


def settled(page):
    wait(lambda: re.search(r" in \d+ ms", page.inner_text("#status")))


def title_of(item):
    return f"The <b>{item}</b> & other stories"


def test_search_pick_and_recommend(page, service):
    page.fill("#search", "film 1")
    page.wait_for_selector("#hits li")
    assert page.get_attribute("#search", "aria-expanded") == "true"
    page.press("#search", "ArrowDown")
    page.press("#search", "ArrowDown")
    assert page.get_attribute("#search", "aria-activedescendant") == "hit-1"
    page.press("#search", "ArrowUp")
    page.press("#search", "Enter")
    settled(page)
    item = re.search(r"item=([^&]+)", page.url)[1].replace("+", " ")
    right = service.recommend(items=[item])["items"]
    assert titles(page) == [found["title"] for found in right]
    assert "for somebody new with these items" in page.inner_text("#status")
    assert page.inner_text("#list .why >> nth=0").startswith(f"because of {title_of(item)} +")
    assert page.inner_text("#near-title") == f"Neighbours of {title_of(item)}"
    wait(lambda: len(titles(page, "#near")) == 8)
    assert page.locator("#picked li").count() == 1
    first = titles(page)[0]
    page.click("#list button >> nth=0")
    wait(lambda: page.locator("#picked li").count() == 2)
    settled(page)
    assert first not in titles(page)
    page.click("#list button:text('Neighbours') >> nth=2")
    wait(lambda: page.inner_text("#near-title") == f"Neighbours of {titles(page)[2]}")
    page.reload()  # what was picked is in the address
    page.wait_for_selector("#list li")
    assert page.locator("#picked button").all_inner_texts() == [title_of(item), first]
    page.click("#picked button >> nth=0")
    wait(lambda: page.locator("#picked li").count() == 1)
    page.click("#picked button >> nth=0")
    page.wait_for_selector("#list-hint:visible")
    assert titles(page) == titles(page, "#near") == []


def test_users(page, service, models):
    page.fill("#user", "u3")
    page.press("#user", "Enter")
    settled(page)
    assert titles(page) == [title_of(item) for item in models["OneClassMF"].recommend(["u3"])[0][0]]
    assert "for a user of the model" in page.inner_text("#status")
    page.fill("#user", "nobody")
    page.press("#user", "Enter")
    page.wait_for_selector("#status.wrong")
    assert "user 'nobody' is not known" in page.inner_text("#status").lower()
    assert titles(page) == []


def test_columns_filter_and_more_are_shown(page, films):
    kinds = {title_of(name): kind for name, kind in zip(films["item"], films["kind"])}
    page.click("#suggested button >> nth=1")
    settled(page)
    page.select_option("#filter-0", label="long")
    wait(lambda: titles(page) and {kinds[title] for title in titles(page)} == {"long"})
    page.select_option("#filter-0", label="any")
    wait(lambda: {kinds[title] for title in titles(page)} == {"long", "short"})
    page.click("#more")
    wait(lambda: len(titles(page)) > 10)


def test_nothing_is_found(page):
    page.fill("#search", "no such words")
    wait(lambda: page.inner_text("#status").startswith("No item"))
    page.press("#search", "Enter")
    assert page.locator("#picked li").count() == 0
    assert page.locator("#hits").is_hidden()


def test_the_card(page):
    text = page.inner_text("#cards")
    for words in ("OneClassMF", "Known pairs", "The objective fell from"):
        assert words in text
    assert page.get_attribute("#cards svg", "aria-label").startswith("The objective fell")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_everybody_can_use_it(page, scheme, width):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    picked(page, "film 1")
    settled(page)
    page.fill("#search", "film 2")
    page.wait_for_selector("#hits li")
    page.press("#search", "ArrowDown")
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background))) < 200) == (scheme == "dark")


def test_by_keyboard_alone(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("film 3")
    page.wait_for_selector("#hits li")
    page.keyboard.press("Escape")
    assert page.locator("#hits").is_hidden()
    page.keyboard.type(" ")
    page.wait_for_selector("#hits li")
    page.keyboard.press("Enter")
    settled(page)
    assert page.evaluate("document.activeElement.id") == "search"
    for _ in range(3):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Remove ")
    page.keyboard.press("Enter")
    wait(lambda: page.locator("#picked li").count() == 0)
    assert page.evaluate("document.activeElement.id") == "search"


def test_the_interface_page(page, service):
    page.goto(f"http://127.0.0.1:{service.port}/docs")
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_a_token_is_asked_for(browser, service):
    with running("films.ep", "--token-file", "token", "--workers", 1, cwd=service.home) as guarded:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{guarded.port}/")
        page.wait_for_selector("#gate:visible")
        page.fill("#token", "wrong")
        page.press("#token", "Enter")
        page.wait_for_selector("#status.wrong")
        page.fill("#token", "a secret of enough letters")
        page.press("#token", "Enter")
        page.wait_for_selector("#suggested button")
        assert page.locator("#gate").is_hidden()
        assert page.context.cookies() == []
        page.close()
